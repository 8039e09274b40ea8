"""Ends one of two servers of a data directory after the other, and compares what was answered with what is stored and handled."""

import base64
import collections
import gzip
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
import people
from loaded_server import BUSINESS, SECRET, token

LIMIT = 10


class Customer(threading.Thread):
    """Sends messages one after another, each with one id to both servers in turn until it is answered with 200, as a proxy does.

    With `asks`, each is of a new customer, who asks for a person.
    """

    def __init__(self, ports, name, asks=False):
        super().__init__(daemon=True)
        self.ports, self.name, self.asks, self.answered, self.times = list(ports), name, asks, [], []
        self.ends = threading.Event()

    def run(self):
        number = 0
        while not self.ends.is_set():
            number += 1
            text = f"{self.name}-{number}"
            while not self.post(text):
                self.ports.reverse()
                time.sleep(0.005)
            self.answered.append(text)
            self.times.append(time.monotonic())

    def post(self, text):
        body = {"id": text, "type": "text", "v": 1, "sourceId": f"urn:mbid:{self.name}", "destinationId": BUSINESS, "body": text}
        if self.asks:
            body.update({"sourceId": f"urn:mbid:{text}", "body": "agent", "intent": random.choice(["returns", "question"])})
        fields = {
            "Authorization": "Bearer " + token(), "Content-Encoding": "gzip", "Content-Type": "application/json",
            "id": text, "source-id": body["sourceId"], "destination-id": BUSINESS}
        if self.asks:
            time.sleep(0.02)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=30)
            connection.request("POST", "/message", gzip.compress(json.dumps(body).encode()), fields)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False


class Servers:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        here = pathlib.Path("scripts/failover-test.d").resolve()
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({
            "businessID": BUSINESS, "name": "One", "people": people.PEOPLE, "handler": {
                "exec": ["python3", str(here / "handler.py")],
                "environment": {"WITNESS": str(folder / "handled"), "BALLOON_PYTHON": str(pathlib.Path("config/handlers/python").resolve())}}}))
        self.gateway = people.Gateway()
        holders = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        ports = [holder.getsockname()[1] for holder in holders]
        for holder in holders:
            holder.close()
        self.ports, self.admin_ports, self.processes = ports[:2], ports[2:], [None, None]
        for index, port in enumerate(self.admin_ports):
            (folder / f"server-{index}.json").write_text(json.dumps({
                "mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": f"127.0.0.1:{port}", "api": people.API,
                "gateway": {"url": f"http://127.0.0.1:{self.gateway.server_port}/v1"}}))

    def start(self, index):
        environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(SECRET).decode()}
        self.processes[index] = subprocess.Popen(
            [self.program, "serve", "--config", str(self.folder / f"server-{index}.json"), "--data", str(self.folder / "data"),
             "--listen", f"127.0.0.1:{self.ports[index]}", "--standby"],
            env=environment, stdout=subprocess.DEVNULL, stderr=open(self.folder / f"log-{index}", "ab"))
        self.wait(index, "/livez")

    def wait(self, index, path):
        """Returns when the server answers `path` with 200."""
        begun = time.monotonic()
        while time.monotonic() - begun < LIMIT:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.ports[index], timeout=LIMIT)
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.01)
        sys.exit(f"failover-test: {path} has no 200 within {LIMIT} s\n" + (self.folder / f"log-{index}").read_text()[-2000:])

    def end(self, index, number):
        self.processes[index].send_signal(number)
        return self.processes[index].wait(60)


def main():
    program, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        servers = Servers(program, folder)
        servers.start(0)
        servers.wait(0, "/readyz")
        servers.start(1)
        customers = [Customer(servers.ports, word) for word in ("ann", "bob", "cleo", "dora")]
        askers = [Customer(servers.ports, word, asks=True) for word in ("eve", "fred")]
        staff_ends = threading.Event()
        staff = [people.Person(servers.admin_ports, f"p{number}", staff_ends) for number in range(1, 7)]
        for one in customers + askers + staff:
            one.start()
        active, rounds_of = 0, collections.defaultdict(list)
        for number in range(rounds):
            time.sleep(0.3 + number % 5 * 0.07)
            kind = signal.SIGTERM if number % 3 == 2 else signal.SIGKILL
            begun = time.monotonic()
            status = servers.end(active, kind)
            if status != (0 if kind == signal.SIGTERM else -kind):
                sys.exit(f"failover-test: the server ended with {status}\n" + (folder / f"log-{active}").read_text()[-2000:])
            servers.wait(1 - active, "/readyz")
            rounds_of[kind.name].append((begun, time.monotonic()))
            servers.start(active)
            active = 1 - active
        for one in customers + askers:
            one.ends.set()
        for one in customers + askers:
            one.join()
        if servers.end(1 - active, signal.SIGTERM) != 0:
            sys.exit("failover-test: the standby did not end with 0")
        expected = {text for customer in customers for text in customer.answered}
        asked = [text for asker in askers for text in asker.answered]

        def is_settled():
            return (expected <= set((folder / "handled").read_text().split()) and len(servers.gateway.texts) >= len(asked)
                    and not any(staff[0].call("GET", f"/conversations?state={state}")[1]["conversations"] for state in ("waiting", "person")))

        limit = time.monotonic() + 60
        while time.monotonic() < limit and not is_settled():
            time.sleep(0.1)
        staff_ends.set()
        for person in staff:
            person.join()
        servers.end(active, signal.SIGTERM)
        faults = [fault for person in staff for fault in person.faults]
        handled = set((folder / "handled").read_text().split())
        stored, holders = collections.defaultdict(list), collections.defaultdict(list)
        for path in (folder / "data" / "conversations").rglob("*.jsonl"):
            for line in map(json.loads, path.read_text().splitlines()):
                if line.get("direction") == "inbound":
                    stored[line["customer"]].append(line["id"])
                elif line.get("kind") == "assignment":
                    holders[line["customer"]].append(line["message"].get("person", {}).get("id"))
        for customer in customers:
            if stored[f"urn:mbid:{customer.name}"] != customer.answered:
                faults.append(f"{customer.name}: {len(customer.answered)} answered, {len(stored[f'urn:mbid:{customer.name}'])} stored, or in another order")
        if expected - handled:
            faults.append(f"{len(expected - handled)} messages reached no handler, such as {sorted(expected - handled)[0]}")
        for text in asked:
            faults += people.faults(f"urn:mbid:{text}", stored, holders, servers.gateway.texts)
        answers = sorted(one for customer in customers for one in customer.times)
        gaps = list(zip(answers, answers[1:]))
        for kind, spans in rounds_of.items():
            silent = [max(after - before for before, after in gaps if before < end + 0.2 and after > begun) for begun, end in spans]
            print(f"failover-test: {len(silent)} x {kind}: no message was answered for {statistics.median(silent):.2f} s (median), {max(silent):.2f} s (longest)")
        answered = sum(person is not None for one in holders.values() for person in one)
        print(f"failover-test: {len(expected)} messages answered, {len(asked)} customers asked for a person, {answered} times a person had one, {len(faults)} faults")
        for fault in faults:
            print("  " + fault)
        sys.exit(1 if faults else 0)


main()
