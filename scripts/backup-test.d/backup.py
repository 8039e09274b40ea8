"""Backs up a server under load, kills one of both in the middle, and compares what was answered with what is restored."""

import base64
import gzip
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SECRET = bytes(32)
BUSINESS = "b-1"
SECONDS = 6


def token():
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    head = part(b'{"alg":"HS256","typ":"JWT"}') + b"." + part(json.dumps({"aud": "m", "iat": int(time.time())}).encode())
    return (head + b"." + part(hmac.new(SECRET, head, hashlib.sha256).digest())).decode()


class Customer(threading.Thread):
    """Sends messages one after another, and remembers those that were answered with 200."""

    def __init__(self, port, name):
        super().__init__(daemon=True)
        self.port, self.name, self.answered = port, name, []
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
            try:
                connection.request("POST", "/message", gzip.compress(json.dumps(body).encode()), fields)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 200:
                    self.answered.append(name)
            except (OSError, http.client.HTTPException):
                # The server was killed.
                return


class Rig:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({"businessID": BUSINESS, "name": "One", "handler": {"builtin": "none"}}))
        (folder / "server.json").write_text(json.dumps({"mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": "off"}))
        (folder / "bodies").mkdir()
        for number in range(1, 9):
            text = {"type": "text", "v": 1, "destinationId": BUSINESS, "body": f"message {number} " * 20}
            (folder / "bodies" / f"{number}.gz").write_bytes(gzip.compress(json.dumps(text).encode()))
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
        sys.exit("backup-test: the server is not ready\n" + (self.folder / "log").read_text()[-2000:])

    def backup(self, name):
        return subprocess.Popen(
            [self.program, "backup", str(self.folder / name), "--data", str(self.folder / "data")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def load(self, word):
        return subprocess.Popen(
            ["wrk", "--threads", "1", "--connections", "64", "--duration", f"{SECONDS}s", "--script", "scripts/bench.d/message.lua",
             f"http://127.0.0.1:{self.port}", "--", str(self.folder / "bodies"), token(), BUSINESS, word],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def restored(self, name):
        """The identifiers of the messages in a restored directory."""
        target = self.folder / "restored"
        shutil.rmtree(target, ignore_errors=True)
        begun = time.monotonic()
        result = subprocess.run(
            [self.program, "restore", str(self.folder / name), "--data", str(target), "--erasures", str(self.folder / "data" / "erasures.jsonl"), "--json"],
            capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"backup-test: restore ended with {result.returncode}\n{result.stdout}{result.stderr[-2000:]}")
        found = set()
        for path in (target / "journal").glob("*.jsonl"):
            found.update(re.findall(rb'"id":"([a-z]+-[0-9-]+)"', path.read_bytes()))
        lines = sum(path.read_bytes().count(b"\n") for path in (target / "conversations").rglob("*.jsonl"))
        return {one.decode() for one in found}, lines, json.loads(result.stdout), time.monotonic() - begun


def one_round(rig, number, victim):
    server = rig.start()
    customers = [Customer(rig.port, f"{word}-{number}") for word in ("ann", "bob", "cleo")]
    for customer in customers:
        customer.start()
    load = rig.load(f"load-{number}")
    time.sleep(SECONDS / 3)
    answered = [name for customer in customers for name in list(customer.answered)]
    begun = time.monotonic()
    name = f"backup-{number}.tar"
    backup = rig.backup(name)
    if victim != "nobody":
        unfinished = rig.folder / (name + ".new")
        while backup.poll() is None and not (unfinished.exists() and unfinished.stat().st_size > 100_000):
            time.sleep(0.001)
    if victim == "server":
        server.kill()
    if victim == "backup":
        backup.kill()
        backup.communicate()
        if (rig.folder / name).exists():
            sys.exit("backup-test: the backup was complete before it was killed")
        (rig.folder / (name + ".new")).unlink(missing_ok=True)
        backup = rig.backup(name)
    output, errors = backup.communicate()
    seconds = time.monotonic() - begun
    if backup.returncode != 0:
        sys.exit(f"backup-test: backup ended with {backup.returncode}: {errors}")
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", load.communicate()[0])
    for customer in customers:
        customer.ends.set()
    for customer in customers:
        customer.join()
    server.send_signal(signal.SIGTERM)
    server.wait(60)
    found, lines, report, restoring = rig.restored(name)
    missing = [one for one in answered if one not in found]
    print(f"round {number}, killed {victim}: {len(answered)} messages of three customers answered before, {len(missing)} missing; "
          f"{report['files']} files, {report['bytes'] >> 20} MiB in {seconds:.1f} s; restored in {restoring:.1f} s with {lines} lines; "
          f"load {rate[1] if rate else 'none'} messages/s")
    if missing or not answered:
        sys.exit("backup-test: FAILED " + ", ".join(missing[:5]))
    (rig.folder / name).unlink()


def main():
    program, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        rig = Rig(program, pathlib.Path(name))
        for number in range(rounds):
            one_round(rig, number, ["nobody", "server", "backup"][number % 3])
    print(f"backup-test: {rounds} backups restored")


main()
