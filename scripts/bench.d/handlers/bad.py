#!/usr/bin/env python3
"""A faulty handler: as its argument says, it is slow, crashes, writes too much output, or does not read its input."""
import json
import os
import signal
import sys
import time

fault = sys.argv[1]
for line in sys.stdin.buffer:
    call = json.loads(line)
    if "id" not in call:
        continue
    result = {"protocolVersion": "1", "events": ["text"]} if call["method"] == "initialize" else {}
    if call["method"] == "event":
        if fault == "slow":
            time.sleep(3600)
        if fault == "crashing":
            os._exit(1)
        if fault == "flooding":
            for number in range(10000):
                print("noise", number)
                print("log", number, file=sys.stderr)
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
    if fault == "deaf":
        signal.pause()
