#!/usr/bin/env python3
"""A handler that answers every event immediately."""
import json
import sys

for line in sys.stdin.buffer:
    call = json.loads(line)
    if "id" in call:
        if call["method"] == "initialize":
            result = {"protocolVersion": "1", "events": ["text"]}
        elif call["method"] == "event":
            result = {"replies": ["ok"]}
        else:
            result = {}
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
