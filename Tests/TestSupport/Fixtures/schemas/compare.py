"""Compares what the tests say of messages with what a public JSON Schema validator says; prints every difference.

Called with a schema and a file of lines: what is expected, a tab, and the message. Of an outbound message "sound" or
"wrong" is expected; of an inbound one its kind, with "=" before it where the schema must find that kind, and "~" where
it must find no other.
"""
import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
kinds = [kind["$ref"] for kind in schema.get("oneOf", [])]
validators = {
    kind: Draft202012Validator({"$ref": kind, "$defs": schema["$defs"]}) for kind in kinds
} or {"sound": Draft202012Validator(schema)}


def verdict(message):
    found = [kind.split("/")[-1] for kind, validator in validators.items() if validator.is_valid(message)]
    return found if kinds else found or ["wrong"]


with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        expected, message = line.rstrip("\n").split("\t")
        found = verdict(json.loads(message))
        if expected.startswith("~"):
            agrees = set(found) <= {expected[1:]}
        else:
            agrees = found == [expected.lstrip("=")]
        if not agrees:
            print(expected, found, message)
