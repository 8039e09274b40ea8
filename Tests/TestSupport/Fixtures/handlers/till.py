#!/usr/bin/env python3
"""A handler that asks for a payment at each text, and charges each token as long after its call as the token says.

Its provider is the file TILL: a line `charge KEY` or `reversal KEY` for each. With the argument `serial` it does one
thing at a time, as a program without threads does.
"""
import base64
import json
import os
import sys
import threading

TILL = os.environ["TILL"]
SERIAL = sys.argv[1:] == ["serial"]
lock = threading.Lock()


def write(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def record(line):
    with lock, open(TILL, "a") as till:
        till.write(line + "\n")


def charge(call):
    params = call["params"]
    token = base64.b64decode(params["payment"]["paymentToken"]["paymentData"]["data"]).decode()
    if token == "throw":
        return write({"id": call["id"], "error": {"code": -32001, "message": "no"}})
    threading.Event().wait(3600 if token.startswith("never") else float(token.split()[0]))
    if "remembers" in token and f"reversal {params['attempt']}\n" in open(TILL).read():
        return write({"id": call["id"], "result": {"status": "STATUS_FAILURE"}})
    record("charge " + params["attempt"])
    write({"id": call["id"], "result": {
        "status": "STATUS_SUCCESS", "charged": params["sheet"]["total"], "reference": "ch_1"}})


def reverse(call):
    record("reversal " + call["params"]["attempt"])
    write({"id": call["id"], "result": {}})


for line in sys.stdin.buffer:
    call = json.loads(line)
    method = call.get("method")
    if method == "initialize":
        write({"id": call["id"], "result": {
            "protocolVersion": "1", "handler": {"name": "till"}, "events": ["text"], "maxInFlight": 8,
            "payments": ["paymentGateway"]}})
    elif method == "payment":
        work = charge if call["params"]["call"] == "paymentGateway" else reverse
        if SERIAL:
            work(call)
        else:
            threading.Thread(target=work, args=[call], daemon=True).start()
    elif method == "event":
        write({"id": call["id"], "result": {"replies": [json.loads(os.environ["REQUEST"])]}})
    elif method == "cancel":
        record("cancel")
    elif method == "ping" and SERIAL:
        write({"id": call["id"], "result": {}})
    elif "id" in call and method:
        write({"id": call["id"], "result": {}})
