"""A handler that chooses its answer by the text of the event. A slow event does not delay the answers to others."""
import json
import sys
import threading

LOCK = threading.Lock()


def write(**message):
    with LOCK:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(call, result):
    write(id=call["id"], result=result)


def event(call):
    words = call["params"]["event"].get("text", "")
    attempt = call["params"]["attempt"]
    if words == "silent":
        return
    if words == "broken" or (words == "recovers" and attempt == 1):
        write(id=call["id"], error={"code": -32001, "message": "not now"})
    elif words == "slow":
        threading.Timer(0.4, answer, (call, {"replies": ["slow"]})).start()
    elif words == "nothing":
        answer(call, {"replies": []})
    elif words == "rejects":
        answer(call, {"outcome": "reject", "reason": "no"})
    elif words == "refused":
        answer(call, {"replies": ["one", {"type": "close"}]})
    elif words == "person":
        answer(call, {"outcome": "handoff", "reason": "asked"})
    else:
        answer(call, {"replies": ["one", "two", "three"]})


for line in sys.stdin.buffer:
    call = json.loads(line)
    if call.get("method") == "initialize":
        answer(call, {"protocolVersion": "1", "handler": {"name": "waits"}, "events": ["text"], "maxInFlight": 256})
    elif call.get("method") == "event":
        event(call)
    elif "id" in call:
        answer(call, {})
