"""The rules of balloon.py are those of `balloon validate`: both look at the samples of every kind, and at thousands of variants."""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import balloon  # noqa: E402

SAMPLES = pathlib.Path(__file__).parents[3] / "Tests/TestSupport/Fixtures/outbound"
# The rules that the library has besides those of the schema.
PARTS = {"quickReplyIdentifiers", "listItemIdentifiers", "slotIdentifiers", "pageIdentifiers", "pageItemIdentifiers",
         "imageIdentifiers", "startTime", "nextPage", "startPage", "reusableContent"}


def schema_rules(value=balloon.SCHEMA):
    if isinstance(value, dict):
        own = {value["rule"]} if isinstance(value.get("rule"), str) else set()
        return own.union(*map(schema_rules, value.values()))
    return set().union(*map(schema_rules, value)) if isinstance(value, list) else set()


RULES = schema_rules() | PARTS | {"type", "required", "empty"}


def places(value, path=()):
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from places(member, path + (name,))


def variants(message):
    """The message, and it without each member, and with each member replaced by others, repeated or swapped."""
    yield message
    for path in places(message):
        if not path:
            continue
        for change in ("drop", "double", None, 17, "", {}, [], "x" * 600, True):
            other = copy.deepcopy(message)
            owner = other
            for name in path[:-1]:
                owner = owner[name]
            if change == "drop":
                del owner[path[-1]]
            elif change == "double":
                if not isinstance(owner, list):
                    continue
                owner.append(copy.deepcopy(owner[path[-1]]))
            else:
                owner[path[-1]] = change
            yield other


@pytest.mark.skipif(shutil.which("balloon") is None or not SAMPLES.exists(), reason="needs the repository and balloon")
@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.json")) if SAMPLES.exists() else [], ids=lambda path: path.stem)
def test_the_library_finds_the_errors_that_the_server_finds(sample, tmp_path):
    messages = list(variants(json.loads(sample.read_text())))
    files = []
    for number, message in enumerate(messages):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(message))
    expected = {str(file): set() for file in files}
    for start in range(0, len(files), 500):
        ended = subprocess.run(["balloon", "validate", "--json", *map(str, files[start:start + 500])],
                               capture_output=True)
        for line in filter(None, ended.stdout.split(b"\n")):
            problem = json.loads(line)
            if problem["severity"] == "error" and problem["rule"] in RULES:
                expected[problem["file"]].add((problem["rule"], problem["pointer"]))
    for file, message in zip(files, messages):
        found = {(rule, pointer) for rule, pointer, _, _ in balloon.problems(message)}
        assert found == expected[str(file)], json.dumps(message)[:2000]
