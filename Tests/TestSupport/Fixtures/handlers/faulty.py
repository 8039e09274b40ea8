#!/usr/bin/env python3
"""A handler that goes wrong in the way that its argument names."""
import json
import os
import select
import signal
import subprocess
import sys

fault = sys.argv[1]


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def result(call, value):
    return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": value})


def introduce(call):
    if fault == "silent":
        return
    if fault == "garbage":
        for number in range(60):
            write(f"starting up, step {number}")
        signal.pause()
    if fault == "noise":
        write("Loading the catalogue ...")
    version = "7" if fault == "wrongVersion" else "1"
    line = result(call, {"protocolVersion": version, "handler": {"name": fault}, "events": ["text"], "maxInFlight": 1})
    if fault == "unflushed":
        sys.stdout.write(line + "\n")
        signal.pause()
    write(line)
    if fault == "deaf":
        signal.pause()
    if fault == "children":
        for _ in range(5):
            subprocess.Popen(["tail", "-f", "/dev/null"])


def event(call):
    params = call["params"]
    answer = result(call, {"replies": [f"{fault} {params['attempt']}"]})
    first = params["attempt"] == 1
    if fault == "noise":
        write("Thinking ...")
        write("")
    if fault == "long" and first:
        write(result(call, {"replies": ["x" * (2 << 20)]}))
        return
    if fault == "half" and first:
        sys.stdout.write(answer[:20])
        sys.stdout.flush()
        os._exit(3)
    if fault == "exit" and first:
        os._exit(4)
    if fault == "late" and first:
        select.select([], [], [], 1.2)
    if fault == "unknown":
        write(json.dumps({"jsonrpc": "2.0", "id": 99999, "result": {"replies": ["nobody asked"]}}))
    if fault == "refusing" and first:
        write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32004, "message": "busy"}}))
        return
    if fault == "malformed" and first:
        answer = result(call, {"outcome": "perhaps"})
    write(answer)
    if fault == "duplicate":
        write(answer)
    if fault == "children":
        os._exit(0)
    if fault == "environment":
        with open("environment.json", "w") as file:
            json.dump(dict(os.environ), file)


if fault == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "initialize":
        introduce(call)
    elif call["method"] == "event":
        event(call)
    elif "id" in call:
        write(result(call, {}))
if fault == "stubborn":
    signal.pause()
