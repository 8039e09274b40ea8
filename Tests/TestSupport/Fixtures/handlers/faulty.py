#!/usr/bin/env python3
"""A handler that goes wrong in the way that its argument names."""
import json
import os
import select
import signal
import subprocess
import sys

fault = sys.argv[1]
config = {}
told = []
events = 0


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def result(call, value):
    return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": value})


def introduce(call):
    if fault == "silent":
        return
    if fault == "badConfig":
        write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32003, "message": "no greeting"}}))
        return
    if fault == "garbage":
        for number in range(60):
            write(f"starting up, step {number}")
        signal.pause()
    if fault == "noise":
        write("Loading the catalogue ...")
    version = "7" if fault == "wrongVersion" else "1"
    wanted = {"failures": ["text", "replyFailed"], "consents": ["text", "consent"], "everything": "*", "unknownKind": ["text", "picture"]}.get(fault, ["text"])
    line = result(call, {"protocolVersion": version, "handler": {"name": fault}, "events": wanted, "maxInFlight": 4 if fault == "builder" else 1})
    config.update(call["params"].get("config", {}))
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
    global events
    events += 1
    params = call["params"]
    answer = result(call, {"replies": [f"{fault} {params['attempt']}"]})
    first = params["attempt"] == 1
    if fault == "state":
        count = params["state"].get("count", 0) + 1
        # Forgotten at three.
        write(result(call, {"replies": [f"state {count}"], "state": {"count": count} if count < 3 else None}))
        return
    if params["event"]["kind"] == "replyFailed":
        failure = params["event"]["message"]
        if "refuses" in config:
            write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32001, "message": "not now"}}))
            return
        outcome = [entry["outcome"] for entry in params["history"] if entry["id"] == failure["reply"]]
        words = [failure["kind"], failure["status"], str(failure["httpStatus"]), str(failure["attempts"])] + outcome
        write(result(call, {"replies": ["sorry: " + " ".join(words)], "state": {"failed": failure["inReplyTo"]}}))
        return
    if fault == "failures" and params["state"]:
        write(result(call, {"replies": ["failed before: " + params["state"]["failed"]]}))
        return
    if fault == "history":
        words = [":".join(filter(None, [entry["kind"], entry.get("outcome")])) for entry in params["history"]]
        write(result(call, {"replies": [" ".join(words)]}))
        return
    if fault == "later":
        # The first call must be answered before the program continues.
        while events > 1 and len(told) < 3:
            take(json.loads(sys.stdin.buffer.readline()))
        write(result(call, {"replies": ["at once: " + " ".join(told)]}))
        for key in ["ready", "ready", ""]:
            write(json.dumps({"jsonrpc": "2.0", "id": "r" + key, "method": "reply", "params": {
                "customer": params["event"]["customer"], "key": key, "message": "later: " + key}}))
        return
    if fault == "who":
        write(result(call, {"replies": [f"{config.get('name')} {os.getpid()}"]}))
        return
    if fault == "slow":
        # A file that is called as the text lets it go on.
        while "gates" in config and not os.path.exists(f"{config['gates']}/{params['event'].get('text')}"):
            select.select([], [], [], 0.01)
        select.select([], [], [], config.get("seconds", 0.3))
        write(result(call, {"replies": [f"{config.get('name')}: {params['event'].get('text')}"]}))
        return
    if fault == "stuck":
        while not os.path.exists(config["gate"]):
            select.select([], [], [], 0.01)
        os._exit(8)
    if fault == "mute":
        return
    if fault == "builder":
        problem = {"rule": "quickReplyCount", "pointer": "/replies/0", "found": "1 item", "allowed": "2 to 5 items"}
        write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {
            "code": -32002, "message": "wrong", "data": {"problems": [problem]}}}))
        return
    if fault == "path":
        path = params["event"]["messagePath"]
        with open(path) as file:
            length = len(json.load(file)["body"])
        write(result(call, {"replies": [f"{length} {os.stat(path).st_mode & 0o777:o} {'message' in params['event']}"]}))
        return
    if params["event"].get("text") == "corrected":
        answer = result(call, {"replies": ["corrected"]})
    elif fault == "handoff" and "afterPerson" in params:
        answer = result(call, {"replies": [f"after {params['afterPerson']}"]})
    elif fault == "handoff":
        answer = result(call, {"outcome": "handoff", "reason": "asked", "replies": ["A colleague answers soon."]})
    elif fault == "iPhoneOnly":
        answer = result(call, {"replies": ["hello"] if "QUICK" in params["event"].get("capabilities", []) else []})
    elif fault == "refusedReply":
        answer = result(call, {"replies": ["fine", {"type": "interactive"}]})
    elif fault == "unknownMember":
        answer = result(call, {"reply": "hi"})
    elif fault in ["badFile", "relativeFile"]:
        path = "/nowhere/offer.pdf" if fault == "badFile" else "offer.pdf"
        attachment = {"path": path, "name": "offer.pdf", "mimeType": "application/pdf"}
        answer = result(call, {"replies": [{"type": "text", "body": "Look:", "attachments": [attachment]}]})
    elif fault in ["unshowable", "fallback"]:
        question = {"type": "interactive", "interactiveData": {
            "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
            "data": {"version": "1.0", "requestIdentifier": "r", "quick-reply": {"summaryText": "Collect?", "items": [
                {"identifier": "y", "title": "Yes"}, {"identifier": "n", "title": "No"}]}}}}
        if fault == "fallback":
            answer = result(call, {"replies": [{**question, "fallback": "Write yes or no."}]})
        else:
            answer = result(call, {"replies": ["fine", question]})
    if fault == "crash":
        os._exit(5)
    if fault == "small" and os.path.getsize(params["event"].get("messagePath", "/")) > 1 << 20:
        os._exit(6)
    if fault == "flood":
        for number in range(2000):
            write(f"noise {number}")
            sys.stderr.write(f"log {number}\n")
    if fault == "noise":
        write("Thinking ...")
        write("")
    if fault == "long" and params["event"].get("text") != "corrected":
        write(result(call, {"replies": ["x" * (2 << 20)]}))
        return
    if fault == "half" and first:
        sys.stdout.write(answer[:20])
        sys.stdout.flush()
        os._exit(3)
    if fault == "exit" and first:
        os._exit(4)
    if fault == "halfDeadline" and events == 1:
        select.select([], [], [], 10.1)
    if fault == "late" and first:
        # Until it is told that nobody waits any more.
        sys.stdin.buffer.readline()
    if fault == "wrongID":
        answer = result({"id": 1}, {})
    if fault == "unknown":
        write(json.dumps({"jsonrpc": "2.0", "id": 99999, "result": {"replies": ["unasked"]}}))
    if fault == "refusing" and first:
        write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32004, "message": "busy"}}))
        return
    if fault == "malformed" and params["event"].get("text") != "corrected":
        answer = result(call, {"outcome": "perhaps"})
    write(answer)
    if fault == "duplicate":
        write(answer)
    if fault == "children":
        os._exit(0)
    if fault == "environment":
        with open("environment.json", "w") as file:
            json.dump(dict(os.environ), file)


if fault == "stillborn":
    sys.exit(7)
if fault == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def take(answer):
    """Notes an answer to a call of ours."""
    told.append(answer["result"]["messageId"] if "result" in answer else str(answer["error"]["code"]))


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def lines():
    """What was sent; with a fault, what of it there is at once."""
    if fault == "splitting":
        # As readline of Node 24 does; the parts of a line that it splits are skipped.
        for line in sys.stdin.buffer:
            yield from filter(is_json, line.decode().splitlines())
    elif fault != "pieces":
        yield from sys.stdin.buffer
    while fault == "pieces" and (piece := os.read(0, 4 << 20)):
        yield from filter(None, piece.split(b"\n"))


for line in lines():
    call = json.loads(line)
    if fault == "mute":
        with open("calls", "a") as file:
            file.write(" ".join([call["method"], str(call["params"].get("deliveryId", ""))]) + "\n")
    if "method" not in call:
        take(call)
        continue
    if call["method"] == "initialize":
        introduce(call)
    elif call["method"] == "event":
        event(call)
    elif "id" in call:
        write(result(call, {}))
if fault == "stubborn":
    signal.pause()
