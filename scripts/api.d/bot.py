#!/usr/bin/env python3
"""The handler of the contract test: rejects "reject", hands off "person", and repeats every other text."""
import json
import sys

for line in sys.stdin.buffer:
    call = json.loads(line)
    if "id" not in call:
        continue
    result = {}
    if call["method"] == "initialize":
        result = {"protocolVersion": "1", "handler": {"name": "contract"}, "events": ["text"]}
    elif call["method"] == "event":
        words = call["params"]["event"].get("text") or "nothing"
        print(f"a text of {len(words)} characters", file=sys.stderr, flush=True)
        result = {"outcome": "handled", "replies": ["You wrote: " + words]}
        if words == "reject":
            result = {"outcome": "reject", "reason": "as told"}
        if words == "person":
            result = {"outcome": "handoff", "reason": "as told", "replies": ["A colleague answers soon."]}
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
