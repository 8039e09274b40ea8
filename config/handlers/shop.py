#!/usr/bin/env python3
"""A shop as a handler in Python: questions by quick reply, list picker, time picker and form.

It speaks balloon-handler/1: one JSON object per line on standard input and output. Standard error is the log.
"""
import json
import sys
import uuid

APPLE = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"


def interactive(data, title):
    """A message with one of Apple's interactive types, as Apple describes it."""
    data = {"version": "1.0", "requestIdentifier": str(uuid.uuid4()), **data}
    bubble = {"title": title, "style": "icon"}
    return {"type": "interactive",
            "interactiveData": {"bid": APPLE, "data": data, "receivedMessage": bubble, "replyMessage": bubble}}


def text(event):
    items = [{"identifier": "order", "title": "Order bread"}, {"identifier": "person", "title": "Talk to a person"}]
    return [interactive({"quick-reply": {"summaryText": "What can we do for you?", "items": items}}, "Welcome")]


def quick_reply(event):
    items = [{"identifier": name, "title": name.title(), "order": place, "style": "default"}
             for place, name in enumerate(["rye", "wheat"])]
    section = {"title": "Bread", "order": 0, "multipleSelection": False, "items": items}
    return [interactive({"listPicker": {"sections": [section]}}, "Which bread?")]


def list_picker(event):
    slots = [{"identifier": "morning", "startTime": "2030-07-10T08:00+0000", "duration": 3600},
             {"identifier": "evening", "startTime": "2030-07-10T17:00+0000", "duration": 3600}]
    return [interactive({"event": {"identifier": "collect", "title": "Collect it", "timeslots": slots}}, "When?")]


def time_picker(event):
    page = {"pageIdentifier": "name", "type": "input", "title": "Your name", "subtitle": "Who collects it?",
            "submitForm": True, "options": {"required": True, "inputType": "singleline"}}
    form = {"version": "1.1", "template": "messageForms", "data": {"startPageIdentifier": "name", "pages": [page]}}
    return [interactive({"dynamic": form}, "Your name")]


def form(event):
    return ["Thank you! Your bread will be ready."]


HANDLERS = {"text": text, "quickReply": quick_reply, "listPicker": list_picker, "timePicker": time_picker,
            "form": form}


def answer(call):
    """The result of one call of the server."""
    if call["method"] == "initialize":
        return {"protocolVersion": "1", "handler": {"name": "shop.py"}, "events": list(HANDLERS), "maxInFlight": 1}
    if call["method"] == "event":
        event = call["params"]["event"]
        if event.get("selectedIdentifier") == "person":
            return {"outcome": "handoff", "reason": "the customer asked for a person"}
        return {"outcome": "handled", "replies": HANDLERS[event["kind"]](event)}
    return {}


for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answer(call)}), flush=True)
