"""People who answer customers over the API while one server takes over from another, and a gateway that keeps what was sent."""

import gzip
import hashlib
import http.client
import http.server
import json
import random
import threading
import time

TOKEN = "bln_failover"
QUEUES = {"returns": {"p1", "p2", "p3"}, "general": {"p1", "p2", "p3", "p4", "p5", "p6"}}
# As members of server.json and of the business's file.
API = {"tokens": [{"name": "test", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest(), "may": ["read", "send"]}],
       "requestsPerMinute": 1000000}
PEOPLE = {"text": "Soon.", "queues": [{"id": "general"}, {"id": "returns", "persons": sorted(QUEUES["returns"]), "priority": 5}],
          "rules": [{"queue": "returns", "intent": "returns"}]}


class Gateway(http.server.ThreadingHTTPServer):
    """Answers each message with 200; `texts` are the texts of each customer by the message's id."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), GatewayRequest)
        self.texts, self.lock = {}, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A server that is killed resets its connections."""


class GatewayRequest(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        if "body" in message:
            with self.server.lock:
                self.server.texts.setdefault(message["destinationId"], {}).setdefault(message["id"], set()).add(message["body"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def faults(customer, stored, holders, texts):
    """Compares a customer's stored messages, who had the conversation (None for nobody), and the texts by id that were sent."""
    if len(stored[customer]) != 1:
        yield f"{customer} has {len(stored[customer])} messages, not one"
    if any(a and b for a, b in zip(holders[customer], holders[customer][1:])) or not holders[customer] or holders[customer][-1]:
        yield f"{customer} was with {holders[customer]}"
    sent = texts.get(customer, {})
    if any(len(bodies) > 1 for bodies in sent.values()):
        yield f"{customer} got different messages with one id"
    words = sorted(body.split()[-1] for bodies in sent.values() for body in bodies if body.startswith("hello"))
    if words != sorted(filter(None, holders[customer])):
        yield f"{customer} was with {holders[customer]} and got messages of {words}"


class Person(threading.Thread):
    """Takes the next customer, answers, and releases, transfers or closes; each call is repeated until one of the servers answers."""

    def __init__(self, ports, name, ends):
        super().__init__(daemon=True)
        self.ports, self.name, self.ends = list(ports), name, ends
        self.random, self.calls, self.faults = random.Random(name), 0, []

    def run(self):
        while True:
            is_end = self.ends.is_set()
            # A take whose answer was lost is in this list.
            held = self.call("GET", f"/conversations?state=person&person={self.name}")[1]["conversations"]
            for one in held:
                self.serve(one["id"], one.get("queue", {}).get("id"))
            taken = self.call("POST", "/take-next", {"person": {"id": self.name}})[1]
            # A person who released a customer looks again, so the last one leaves none.
            if is_end and not held and "conversation" not in taken:
                return
            time.sleep(0.02)

    def serve(self, customer, queue):
        if self.name not in QUEUES.get(queue, ()):
            self.faults.append(f"{self.name} has a customer of the queue {queue}")
        path = f"/conversations/{customer}"
        tag = self.call("GET", path)[2]
        status, answer, _ = self.call("POST", path + "/messages", {"text": f"hello of {self.name}", "person": {"id": self.name}})
        if status != 201:
            self.faults.append(f"a message of {self.name} was answered with {status} {answer.get('code')}")
        way = self.random.choice(["close", "handler", "waiting"])
        if way == "close":
            self.call("POST", path + "/close", {}, tag)
        else:
            self.call("POST", path + "/release", {"to": way, **({"queue": "general"} if way == "waiting" else {})}, tag)

    def call(self, method, path, body=None, tag=None):
        """Returns status, body and `ETag`. With a tag, a repetition of what was done is refused and changes nothing."""
        self.calls += 1
        fields = {"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": f"{self.name}-{self.calls}", "Content-Type": "application/json"}
        if tag:
            fields["If-Match"] = tag
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=30)
                connection.request(method, "/v1/businesses/one" + path, None if body is None else json.dumps(body), fields)
                answer = connection.getresponse()
                text = answer.read()
                # A proxy answers 502 and 504 itself.
                if answer.status not in (502, 503, 504):
                    return answer.status, json.loads(text), answer.headers["ETag"]
            except (OSError, http.client.HTTPException):
                pass
            self.ports.append(self.ports.pop(0))
            time.sleep(0.01)
