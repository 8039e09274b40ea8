#!/usr/bin/env python3
"""Fills the store of a running server, and calls each operation of its business API until it answers with 2xx.

    walk.py fill BALLOON DEV ADDRESS TOKEN SERVER AGENT    conversations, files, dead letters and replies; prints their names as JSON
    walk.py walk DOCUMENT ADDRESS TOKEN NAMES        an answer of 2xx of every operation, which fits the document

`DEV` is the data directory of a `balloon dev`, whose gateway the server uses, `SERVER` the server's address for webhooks,
and `AGENT` the token of the person Ana.
An operation without a call here, or a call without an operation, fails the walk.
"""
import hashlib
import http.client
import json
import pathlib
import subprocess
import sys
import time
import urllib.request
import uuid


class API:
    """The business API at an address."""

    def __init__(self, address, token):
        self.address, self.token = address, token

    def call(self, method, path, body=None, **fields):
        """The status, the header fields and the body of an answer."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", **{name.replace("_", "-"): value for name, value in fields.items()}}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if isinstance(body, dict):
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        result = answer.status, dict((name.lower(), value) for name, value in answer.getheaders()), answer.read()
        connection.close()
        return result

    def read(self, path):
        status, _, body = self.call("GET", path)
        assert status == 200, (path, status, body)
        return json.loads(body)


def until(what, probe):
    """The first true value of a probe, which is repeated for a minute."""
    end = time.monotonic() + 60
    while not (found := probe()):
        if time.monotonic() > end:
            raise SystemExit(f"api: {what} did not come")
        time.sleep(0.1)
    return found


def fill(balloon, dev, address, token, server, agent):
    api = API(address, token)
    known = json.loads((pathlib.Path(dev) / "dev.json").read_text())

    def misbehave(rules):
        urllib.request.urlopen(urllib.request.Request(
            known["gateway"] + "/_simulator/misbehaviour", rules.encode(), method="POST"), timeout=30).close()

    def say(customer, *arguments):
        subprocess.run([balloon, "simulate", *arguments, "--data", dev, "--to", server, "--customer", f"urn:mbid:{customer}"],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)

    def conversation(customer):
        found = api.read(f"/v1/businesses/fish/conversations?customer=urn:mbid:{customer}")["conversations"]
        return found[0]["id"] if found else None

    picture = pathlib.Path(dev) / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    for customer in ("claimed", "other", "closed", "typing", "offered"):
        say(customer, "text", "--text", "hello")
    say("files", "text", "--text", "look", "--attach", str(picture))
    say("waiting", "text", "--text", "person")
    for _ in range(3):
        say("dead", "text", "--text", "reject")
    # Every reply is accepted before the gateway begins to refuse them.
    until("the accepted replies", lambda: all(
        any(line.get("direction") == "outbound" for line in api.read(f"/v1/businesses/fish/conversations/{c}/messages")["lines"])
        for c in filter(None, map(conversation, ("claimed", "other", "closed", "typing", "files", "waiting", "offered")))))
    misbehave("message=400,times=3")
    for customer in ("refused", "refused", "refused"):
        say(customer, "text", "--text", "hello")
    refused = until("refused replies", lambda: (found := api.read("/v1/businesses/fish/replies?status=refused")["replies"])[2:] and found)
    say("closed", "close")
    dead = until("dead letters", lambda: (found := api.read("/v1/businesses/fish/deliveries?status=dead")["deliveries"])[2:] and found)
    names = {customer: until(customer, lambda: conversation(customer))
             for customer in ("claimed", "other", "closed", "typing", "files", "waiting", "offered")}
    person = {"id": "ana", "name": "Ana"}
    assert api.call("POST", f"/v1/businesses/fish/conversations/{names['claimed']}/claim", {"person": person})[0] == 200
    offered = f"/v1/businesses/fish/conversations/{names['offered']}"
    assert api.call("POST", f"{offered}/claim", {"person": {"id": "lea"}})[0] == 200
    assert api.call("POST", f"{offered}/release", {"to": "waiting", "person": person})[0] == 200
    names["agent"] = agent
    lines = api.read(f"/v1/businesses/fish/conversations/{names['files']}/messages")["lines"]
    names["file"] = next(line["id"] for line in lines if line.get("files"))
    names["message"] = lines[-1]["id"]
    names["dead"] = [one["record"] for one in dead]
    names["refused"] = [one["id"] for one in refused]
    print(json.dumps(names))


def calls(names):
    """The calls by operation: its arguments for `API.call`; the first 2xx counts."""
    fish = "/v1/businesses/fish"
    conversation = f"{fish}/conversations/{names['claimed']}"
    other = f"{fish}/conversations/{names['other']}"
    new = lambda: {"Idempotency_Key": str(uuid.uuid4())}
    upload = b"hello"
    digest = "sha-256=:" + __import__("base64").b64encode(hashlib.sha256(upload).digest()).decode() + ":"
    person = {"id": "ana", "name": "Ana"}
    as_ana = {"Authorization": f"Bearer {names['agent']}"}
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    invitation = {"type": "interactive", "interactiveData": {
        "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
        "data": {"version": "1.0", "requestIdentifier": str(uuid.uuid4()), "notification": {
            "templateId": "binaryChoice.engage.noImage", "referenceId": "campaign-7", "locale": "en-us",
            "parameters": {"brandName": "Sam's Fish"}}}}}
    return {
        "GET /v1/businesses": [("/v1/businesses",)],
        "GET /v1/openapi.json": [("/v1/openapi.json",)],
        "GET /v1/events": [("/v1/events?after=0", None, {"Accept": "application/json"})],
        "GET /v1/businesses/{slug}/conversations": [(f"{fish}/conversations?q=hello",)],
        "GET /v1/businesses/{slug}/conversations/{c}": [(conversation,)],
        "GET /v1/businesses/{slug}/conversations/{c}/messages": [(f"{conversation}/messages",)],
        "POST /v1/businesses/{slug}/conversations/{c}/messages": [(f"{conversation}/messages", {"text": "hi", "person": person}, new())],
        "GET /v1/businesses/{slug}/conversations/{c}/messages/{id}": [(f"{fish}/conversations/{names['files']}/messages/{names['message']}",)],
        "GET /v1/businesses/{slug}/conversations/{c}/messages/{id}/attachments/{n}": [
            (f"{fish}/conversations/{names['files']}/messages/{names['file']}/attachments/0",)],
        "POST /v1/businesses/{slug}/conversations/{c}/typing": [(f"{fish}/conversations/{names['typing']}/typing", {"typing": True})],
        "POST /v1/businesses/{slug}/conversations/{c}/claim": [(f"{other}/claim", {"person": person})],
        "POST /v1/businesses/{slug}/conversations/{c}/release": [(f"{other}/release", {"to": "waiting", "note": "later"})],
        "POST /v1/businesses/{slug}/conversations/{c}/decline": [(f"{fish}/conversations/{names['offered']}/decline", None, as_ana)],
        "POST /v1/businesses/{slug}/conversations/{c}/snooze": [(f"{conversation}/snooze", {"until": tomorrow})],
        "POST /v1/businesses/{slug}/conversations/{c}/notes": [(f"{conversation}/notes", {"text": "Wants the blue one.", "person": person}, new())],
        "POST /v1/businesses/{slug}/conversations/{c}/customer": [
            (f"{conversation}/customer", {"name": "Ana Sousa", "addTags": ["vip"], "person": person})],
        "PUT /v1/businesses/{slug}/saved-replies/{id}": [(f"{fish}/saved-replies/hours", {"title": "Hours", "text": "We open at 9."})],
        "GET /v1/businesses/{slug}/saved-replies": [(f"{fish}/saved-replies",)],
        "DELETE /v1/businesses/{slug}/saved-replies/{id}": [(f"{fish}/saved-replies/hours",)],
        "GET /v1/businesses/{slug}/report": [(f"{fish}/report?by=hour",)],
        "GET /v1/businesses/{slug}/report.csv": [(f"{fish}/report.csv?by=queue",)],
        "POST /v1/businesses/{slug}/take-next": [(f"{fish}/take-next", {"person": person})],
        "GET /v1/businesses/{slug}/queues": [(f"{fish}/queues",)],
        "GET /v1/businesses/{slug}/waiting": [(f"{fish}/waiting",)],
        # A body is not needed.
        "POST /v1/businesses/{slug}/conversations/{c}/close": [(f"{other}/close",)],
        "GET /v1/businesses/{slug}/deliveries": [(f"{fish}/deliveries",)],
        "GET /v1/businesses/{slug}/deliveries/{record}": [(f"{fish}/deliveries/{names['dead'][0]}",)],
        "POST /v1/businesses/{slug}/deliveries/replay": [(f"{fish}/deliveries/replay", {"records": names["dead"][:1]})],
        "POST /v1/businesses/{slug}/deliveries/drop": [(f"{fish}/deliveries/drop", {"records": names["dead"][1:2]})],
        "GET /v1/businesses/{slug}/replies": [(f"{fish}/replies",)],
        "POST /v1/businesses/{slug}/replies/{id}/retry": [(f"{fish}/replies/{names['refused'][0]}/retry",)],
        "POST /v1/businesses/{slug}/replies/{id}/drop": [(f"{fish}/replies/{names['refused'][1]}/drop",)],
        "POST /v1/businesses/{slug}/messages": [
            (f"{fish}/messages", {"customer": "tel:+4915550001234", "message": invitation}, new())],
        "POST /v1/businesses/{slug}/attachments": [
            (f"{fish}/attachments", upload, {"Content_Type": "application/octet-stream", "Content_Digest": digest})],
        "GET /v1/businesses/{slug}/people": [(f"{fish}/people",)],
        "PUT /v1/businesses/{slug}/people": [(f"{fish}/people", {"open": True})],
        "GET /v1/businesses/{slug}/people/persons": [(f"{fish}/people/persons",)],
        "PUT /v1/businesses/{slug}/people/persons": [(f"{fish}/people/persons", {"state": "available"}, as_ana)],
        "GET /v1/businesses/{slug}/handler/log": [(f"{fish}/handler/log",)],
        "POST /v1/businesses/{slug}/handler/restart": [(f"{fish}/handler/restart",)],
    }


# Operations that have no answer of 2xx here, with the reason.
EXCLUDED = {
    "POST /v1/businesses/{slug}/payments/withdraw": "needs a merchant of Apple Pay; PaymentServerTests withdraws a request over the API",
}


def walk(document, address, token, names):
    import jsonschema

    api = API(address, token)
    description = json.loads(pathlib.Path(document).read_text())
    table = calls(json.loads(pathlib.Path(names).read_text()))
    operations = {f"{method.upper()} {path}": operation for path, item in description["paths"].items()
                  for method, operation in item.items() if method in ("get", "post", "put", "delete", "patch")}
    problems = [f"{name} has no call in walk.py" for name in operations if name not in table and name not in EXCLUDED]
    problems += [f"{name} is no operation" for name in [*table, *EXCLUDED] if name not in operations]
    for name, attempts in table.items():
        method = name.split()[0]
        answers = [api.call(method, path, *(rest[:1] or [None]), **(rest[1] if len(rest) > 1 else {})) for path, *rest in attempts]
        found = [answer for answer in answers if 200 <= answer[0] < 300]
        if not found:
            problems.append(f"{name} answered {[(status, body[:200].decode(errors='replace')) for status, _, body in answers]}")
            continue
        status, fields, body = found[0]
        content = operations.get(name, {}).get("responses", {}).get(str(status), {}).get("content", {})
        media = fields.get("content-type", "").split(";")[0]
        if media not in content and "*/*" not in content:
            problems.append(f"{name} answered {status} with {media}, which the document does not have")
        elif media == "application/json":
            schema = {**content[media]["schema"], "components": description["components"]}
            for error in jsonschema.Draft202012Validator(schema).iter_errors(json.loads(body)):
                problems.append(f"{name}: {error.json_path}: {error.message[:200]}")
    close = operations["POST /v1/businesses/{slug}/conversations/{c}/close"]
    if close["requestBody"]["required"]:
        problems.append("the document requires a body of close")
    if "text/event-stream" not in operations["GET /v1/events"]["responses"]["200"]["content"]:
        problems.append("the document does not describe /v1/events as a stream")
    for problem in problems:
        print("api:", problem)
    for name, reason in EXCLUDED.items():
        print(f"api: left out: {name}: {reason}")
    if problems:
        raise SystemExit(1)
    print(f"api: each of {len(table)} operations has an answer of 2xx that fits the document")


if __name__ == "__main__":
    {"fill": fill, "walk": walk}[sys.argv[1]](*sys.argv[2:])
