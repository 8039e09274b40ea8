#!/usr/bin/env python3
"""A handler of an app with the fault that its argument names: silent, crash, error, lie, unknown, events or slow."""
import json
import os
import select
import sys

MODE = sys.argv[1]
ANSWERS = {
    "lie": {"message": "nonsense"},
    "unknown": {"messages": "stay"},
    "slow": {"message": "stay"},
}


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


for line in sys.stdin.buffer:
    call = json.loads(line)
    method = call.get("method")
    if method == "initialize":
        events = ["text"] if MODE == "events" else ["retention"]
        write({"id": call["id"], "result": {"protocolVersion": "1", "handler": {"name": MODE}, "events": events}})
    elif method == "retention":
        if MODE == "crash":
            os._exit(1)
        if MODE == "slow":
            select.select([], [], [], float(sys.argv[2]))
        if MODE == "error":
            write({"id": call["id"], "error": {"code": -32001, "message": "tired"}})
        elif MODE in ANSWERS:
            write({"id": call["id"], "result": ANSWERS[MODE]})
    elif "method" in call and "id" in call:
        write({"id": call["id"], "result": {}})
