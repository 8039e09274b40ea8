#!/usr/bin/env python3
"""A handler that asks each customer to sign in, and greets by the result; with `later` it asks without an event."""
import json
import sys

REQUEST = {"signIn": {"receivedMessage": {"title": "Sign in"}}, "fallback": "Please call us."}


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def replies(event):
    if event["kind"] == "text":
        if "later" not in sys.argv:
            return [REQUEST]
        params = {"customer": event["customer"], "key": event["id"], "message": REQUEST}
        write({"id": "later", "method": "reply", "params": params})
        return []
    result = event.get("signIn", {"result": "nothing"})
    words = [result["result"], result.get("subject"), result.get("claims", {}).get("email"), result.get("code")]
    return [" ".join(word for word in words if word)]


for line in sys.stdin.buffer:
    call = json.loads(line)
    if call.get("method") == "initialize":
        handler = {"name": "signin"}
        events = ["text", "authentication"]
        write({"id": call["id"], "result": {"protocolVersion": "1", "handler": handler, "events": events}})
    elif call.get("method") == "event":
        write({"id": call["id"], "result": {"replies": replies(call["params"]["event"])}})
    elif "method" in call and "id" in call:
        write({"id": call["id"], "result": {}})
