"""Ends one of two servers of one store after the other, and compares what was answered with what is stored and handled."""

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
from cluster import Cluster
from loaded_server import BUSINESS, SECRET, token

LIMIT = 10
# The lease of the owner of a store in PostgreSQL, in seconds.
LEASE = 3
# How a round ends the present server, in turn.
KINDS = ["kill", "kill", "stop"]
# With PostgreSQL, it is also frozen for twice the lease, started again at once, and the database is killed.
KINDS_WITH_POSTGRES = ["kill", "freeze", "stop", "database", "restart"]


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
    """Two servers: of one data directory, or with a `cluster` of PostgreSQL of one each."""

    def __init__(self, program, folder, cluster):
        self.program, self.folder, self.cluster = program, folder, cluster
        self.environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(SECRET).decode()}
        store = {}
        if cluster:
            cluster.create("balloon")
            self.environment["BALLOON_POSTGRES"] = cluster.address + " dbname=balloon"
            store = {"store": {"postgres": {"url": {"env": "BALLOON_POSTGRES"}, "leaseSeconds": LEASE}}}
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
                "gateway": {"url": f"http://127.0.0.1:{self.gateway.server_port}/v1"}, **store}))
        if cluster:
            subprocess.run(
                [program, "store", "migrate", "--config", str(folder / "server-0.json")], env=self.environment, check=True,
                stdout=subprocess.DEVNULL)

    def data(self, index):
        return self.folder / (f"data-{index}" if self.cluster else "data")

    def start(self, index):
        self.processes[index] = subprocess.Popen(
            [self.program, "serve", "--config", str(self.folder / f"server-{index}.json"), "--data", str(self.data(index)),
             "--listen", f"127.0.0.1:{self.ports[index]}", "--standby"],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=open(self.folder / f"log-{index}", "ab"))
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

    def end_by(self, kind, active):
        """Ends the present server or its database; returns the server that answers then."""
        other = active if kind in ("database", "restart") else 1 - active
        status, expected = None, {"kill": -9, "restart": -9, "stop": 0, "freeze": 75}.get(kind)
        if kind == "database":
            self.cluster.kill()
            time.sleep(LEASE + 1)
            self.cluster.start()
        elif kind == "freeze":
            self.processes[active].send_signal(signal.SIGSTOP)
            time.sleep(2 * LEASE)
            self.wait(other, "/readyz")
            status = self.end(active, signal.SIGCONT)
        else:
            status = self.end(active, signal.SIGTERM if kind == "stop" else signal.SIGKILL)
            if kind == "restart":
                self.start(active)
        if status != expected:
            sys.exit(f"failover-test: {kind}: the server ended with {status}\n" + (self.folder / f"log-{active}").read_text()[-2000:])
        self.wait(other, "/readyz")
        return other


def main():
    program, rounds, has_postgres = os.path.abspath(sys.argv[1]), int(sys.argv[2]), "--postgres" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cluster = Cluster(folder) if has_postgres else None
        try:
            run(program, rounds, folder, cluster)
        finally:
            if cluster:
                cluster.stop()
                subprocess.run([*cluster.prefix, "rm", "-r", str(cluster.data)], stderr=subprocess.DEVNULL)


def run(program, rounds, folder, cluster):
    servers = Servers(program, folder, cluster)
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
        kinds = KINDS_WITH_POSTGRES if cluster else KINDS
        kind = kinds[number % len(kinds)]
        begun = time.monotonic()
        other = servers.end_by(kind, active)
        rounds_of[kind].append((begun, time.monotonic()))
        if other != active:
            servers.start(active)
            active = other
    for one in customers + askers:
        one.ends.set()
    for one in customers + askers:
        one.join()
    if not cluster and servers.end(1 - active, signal.SIGTERM) != 0:
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
    if servers.end(active, signal.SIGTERM) != 0:
        sys.exit("failover-test: the last server did not end with 0")
    if cluster:
        # The other one has taken the store, with what it copied.
        active = 1 - active
        servers.wait(active, "/readyz")
        servers.end(active, signal.SIGTERM)
    faults = [fault for person in staff for fault in person.faults]
    handled = set((folder / "handled").read_text().split())
    stored, holders = collections.defaultdict(list), collections.defaultdict(list)
    for path in (servers.data(active) / "conversations").rglob("*.jsonl"):
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
