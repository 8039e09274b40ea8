"""A `balloon serve` under load, for tests that kill it: customers that remember what was answered, and a flood of other messages."""

import base64
import gzip
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECRET = bytes(32)
BUSINESS = "b-1"


def token():
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    head = part(b'{"alg":"HS256","typ":"JWT"}') + b"." + part(json.dumps({"aud": "m", "iat": int(time.time())}).encode())
    return (head + b"." + part(hmac.new(SECRET, head, hashlib.sha256).digest())).decode()


class Customer(threading.Thread):
    """Sends messages one after another, and remembers those that were answered with 200."""

    def __init__(self, port, name):
        super().__init__(daemon=True)
        self.port, self.name, self.answered, self.waits = port, name, [], []
        self.ends = threading.Event()

    def run(self):
        connection, number = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30), 0
        while not self.ends.is_set():
            number += 1
            name = f"{self.name}-{number}"
            body = {"id": name, "type": "text", "v": 1, "sourceId": f"urn:mbid:{self.name}", "destinationId": BUSINESS, "body": name}
            fields = {
                "Authorization": "Bearer " + token(), "Content-Encoding": "gzip", "Content-Type": "application/json",
                "id": name, "source-id": body["sourceId"], "destination-id": BUSINESS}
            begun = time.monotonic()
            try:
                connection.request("POST", "/message", gzip.compress(json.dumps(body).encode()), fields)
                answer = connection.getresponse()
                answer.read()
                self.waits.append((begun, time.monotonic() - begun))
                if answer.status == 200:
                    self.answered.append(name)
            except (OSError, http.client.HTTPException):
                # The server was killed.
                return


def write_bodies(folder):
    """Writes the messages that `load` sends."""
    (folder / "bodies").mkdir()
    for number in range(1, 9):
        text = {"type": "text", "v": 1, "destinationId": BUSINESS, "body": f"message {number} " * 20}
        (folder / "bodies" / f"{number}.gz").write_bytes(gzip.compress(json.dumps(text).encode()))


def load(port, folder, word, seconds):
    """Starts wrk, which sends messages of a thousand customers on 64 connections."""
    return subprocess.Popen(
        ["wrk", "--threads", "1", "--connections", "64", "--duration", f"{seconds}s", "--script", "scripts/bench.d/message.lua",
         f"http://127.0.0.1:{port}", "--", str(folder / "bodies"), token(), BUSINESS, word],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


class LoadedServer:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({"businessID": BUSINESS, "name": "One", "handler": {"builtin": "none"}}))
        (folder / "server.json").write_text(json.dumps({"mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": "off"}))
        write_bodies(folder)
        with socket.create_server(("127.0.0.1", 0)) as one:
            self.port = one.getsockname()[1]

    def start(self):
        environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(SECRET).decode()}
        server = subprocess.Popen(
            [self.program, "serve", "--config", str(self.folder / "server.json"), "--data", str(self.folder / "data"), "--listen", f"127.0.0.1:{self.port}"],
            env=environment, stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "ab"))
        for _ in range(600):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return server
            except OSError:
                pass
            time.sleep(0.1)
        sys.exit("the server is not ready\n" + (self.folder / "log").read_text()[-2000:])

    def load(self, word, seconds):
        return load(self.port, self.folder, word, seconds)
