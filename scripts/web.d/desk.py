"""A server that plays the inspector's operations from fixtures, so that the phone can be shown any message."""
import base64, http.server, json, pathlib, re, threading, urllib.parse

from messages import IMAGES

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
CUSTOMER = "urn:mbid:AQAA/one+two="


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(data), "Cache-Control": "no-store", "Content-Security-Policy": POLICY}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self):
        desk = self.server.desk
        address = urllib.parse.urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        found = re.fullmatch(r"/(?:assets/v/([a-z-]+\.(?:css|js|svg)))?", address.path)
        if found:
            name = found[1] or "phone.html"
            if not (desk.folder / name).is_file():
                return self.answer(404, {})
            data = (desk.folder / name).read_bytes()
            return self.answer(200, data.replace(b"~", b"v") if name.endswith("html") else data, TYPES[name.split(".")[-1]])
        if self.headers.get("Authorization") != f"Bearer {desk.token}":
            return self.answer(401, {"title": "Unauthorized", "status": 401, "detail": "the token is unknown"})
        body = json.loads(raw) if raw and self.headers.get("Content-Type") == "application/json" else raw
        if self.command != "GET":
            with desk.changed:
                desk.posted.append((self.command, address.path, body))
        if address.path == "/dev/v1/events":
            return self.stream(desk)
        status, answer = desk.answer(self.command, address.path, dict(urllib.parse.parse_qsl(address.query)), body)
        return self.answer(status, answer)

    def stream(self, desk):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        place = 0
        while not desk.is_stopped:
            with desk.changed:
                if len(desk.events) == place:
                    desk.changed.wait(1)
                events = desk.events[place:place + 1000]
            place += len(events)
            try:
                self.wfile.write("".join(f"id: x-{place}\nevent: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode() or b": \n\n")
                self.wfile.flush()
            except OSError:
                return

    do_GET = do_POST = do_PUT = handle_one


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    # A browser opens several connections at once; five waiting ones are too few.
    request_queue_size = 128

    def handle_error(self, request, address):
        """A browser that closes a connection is no error."""


class Desk:
    """Customers, threads and deliveries that a test fills; `posted` has what the page sent."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.token = "desk-token-0123456789"
        self.changed = threading.Condition()
        self.is_stopped = False
        self.events, self.posted, self.thread, self.deliveries = [], [], [], {}
        self.refusal = None
        self.rules = []
        self.typing = False
        # A test takes `thread_answers` to hold back an answer with the thread; `thread_asked` tells that one is held back.
        self.thread_answers, self.thread_asked = threading.Lock(), threading.Event()
        self.customers = [{"id": CUSTOMER, "business": "fish", "businessID": "b-1", "name": "Ann", "device": "iphone", "locale": "en_GB", "zone": "Europe/Berlin",
                           "capabilities": ["QUICK", "LIST", "TIME", "AUTH", "AUTH2", "FORM"], "last": 0}]
        self.http = Listener(("127.0.0.1", 0), Handler)
        self.http.desk = self
        self.origin = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.is_stopped = True
        with self.changed:
            self.changed.notify_all()
        self.http.shutdown()
        self.http.server_close()

    def tell(self, *events):
        with self.changed:
            for name, data in events:
                # A thread that is read after the event has the same indicator, as with the real server.
                if name == "typing":
                    self.typing = data["typing"]
            self.events.extend(events)
            self.changed.notify_all()

    def add(self, kind, message, direction="outbound", **more):
        """A line of the thread."""
        seq = len(self.thread) + 1
        entry = {"seq": seq, "id": f"id-{seq}", "at": "2026-11-23T09:00:00Z", "direction": direction, "kind": kind, "answered": False, "record": 50 + seq,
                 "line": {"seq": seq, "kind": kind, "direction": direction, "at": "2026-11-23T09:00:00Z", "message": message}, **more}
        if direction == "outbound":
            entry.setdefault("status", "accepted")
        self.thread.append(entry)
        self.tell(("phone", {"customer": CUSTOMER, "last": seq}))
        return entry

    def interactive(self, kind, data, received=None, **more):
        return self.add(kind, {"v": 1, "type": "interactive", "interactiveData": {"bid": "b", "data": {"version": "1.0", "requestIdentifier": f"r-{len(self.thread)}", **data},
                                                                                 "receivedMessage": received or {}, "replyMessage": {}, **more}})

    def answer(self, method, path, query, body):
        if path == "/dev/v1":
            return 200, {"version": "0.2.0", "businesses": [{"slug": "fish", "id": "b-1", "name": "Sam's Fish", "handler": "python3 bot.py"}],
                         "devices": ["iphone", "ipad", "mac", "old-iphone"], "misbehaviour": self.rules, "endpoints": ["message", "blob"]}
        if path == "/dev/v1/customers" and method == "GET":
            return 200, {"customers": self.customers}
        if path == "/dev/v1/customers":
            made = {**self.customers[0], "id": f"urn:mbid:new{len(self.customers)}", **body}
            self.customers.append(made)
            return 201, made
        if path == "/dev/v1/misbehaviour":
            if method == "PUT":
                if self.refusal:
                    return self.refusal
                self.rules = body["rules"]
            return 200, {"rules": self.rules}
        if path == "/dev/v1/handlers":
            return 200, {"handlers": [{"business": "fish", "health": "ready", "restarts": 1, "process": 4711, "inFlight": 0, "waiting": 0, "delaySeconds": 0, "stopped": False}]}
        if path == "/dev/v1/scenarios":
            return 200, {"folder": "tests", "scenarios": [{"name": "hello", "steps": 2}, {"name": "broken", "problem": "is no JSON"}]}
        if path.endswith("/replay") and body.get("to"):
            return 200, {"trial": "1", "runs": [{"outcome": "handled", "ms": 12.5, "replies": [{"kind": "text", "message": {"type": "text", "body": "Good evening"}}], "stderr": ["it is late"]},
                                                {"outcome": "failed", "ms": 3, "reason": "the process ended", "stderr": [], "problems": [{"rule": "size", "pointer": "/replies/0", "found": "7 items", "allowed": "at most 5"}]}]}
        if path == "/dev/v1/expressions":
            try:
                return 200, {"isValid": True, "matches": re.fullmatch(body["expression"], body["text"]) is not None}
            except re.error:
                return 200, {"isValid": False, "matches": True}
        if path == "/dev/v1/files":
            return 201, {"file": "file-1"}
        if path.startswith("/dev/v1/deliveries/"):
            record = path.split("/")[4]
            if path.endswith("/replay"):
                return 200, {"posts": [{"id": "x", "status": 200, "milliseconds": 1.5, "body": ""}] * body["times"]}
            found = self.deliveries.get(record)
            return (200, found) if found else (404, {"title": "Not Found", "status": 404})
        if not path.startswith("/dev/v1/customers/"):
            return 404, {"title": "Not Found", "status": 404}
        if "/attachments/" in path:
            return 200, base64.b64decode(IMAGES[0]["data"])
        if method == "PUT":
            self.customers[0].update(body)
            return 200, self.customers[0]
        if path.endswith("/phone"):
            if urllib.parse.unquote(path.split("/")[4]) != CUSTOMER:
                return 200, {"thread": [], "typing": False, "next": 0}
            limit = int(query["limit"])
            if "before" in query:
                found = [one for one in self.thread if one["seq"] < int(query["before"])][-limit:]
            else:
                after = int(query["after"])
                found = [one for one in self.thread if one["seq"] > after]
                found = found[-limit:] if after == 0 else found[:limit]
            answer = {"thread": found, "typing": self.typing, "next": found[-1]["seq"] if found else int(query.get("after", 0))}
            self.thread_asked.set()
            with self.thread_answers:
                return 200, answer
        if self.refusal:
            status, refusal = self.refusal
            return status, refusal
        return 200, {"posts": [{"id": "x", "status": 200, "milliseconds": 2.5, "body": ""}]}
