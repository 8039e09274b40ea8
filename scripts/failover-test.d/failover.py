"""Ends servers of one store, one after the other, and compares what was answered with what is stored and handled."""

import base64
import collections
import contextlib
import gzip
import http.client
import json
import math
import os
import pathlib
import random
import shutil
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
from link import Link
from proxy import Proxy
from loaded_server import BUSINESS, SECRET, token

# Longer than any takeover on a machine that has other work; a run prints how long they took.
LIMIT = 30
# The lease of the owner of a store in PostgreSQL, in seconds.
LEASE = 3
# How a round ends the present server, in turn.
KINDS = ["kill", "kill", "stop"]
# With PostgreSQL, it is also frozen, or cut from PostgreSQL, for twice the lease, or killed and started again at once; its statements
# arrive by half for a second, or late for two; and PostgreSQL is killed and started again at once, or when the lease is over, or frozen for longer, or killed for
# ever, and its synchronous standby promoted; or that standby is killed, so that no commit ends; or PostgreSQL ends half of the
# connections, again and again, many of them during a COMMIT.
KINDS_WITH_POSTGRES = ["kill", "freeze", "stop", "cut", "database", "restart", "outage", "halves", "hang", "late", "promote", "absent", "backends"]
# In these, messages wait for the next owner and none is refused.
UNREFUSED = ["kill", "freeze", "stop", "restart", "late", "backends"]
# The last signal to a server, and its exit status.
ENDS = {"kill": (signal.SIGKILL, -9), "restart": (signal.SIGKILL, -9), "stop": (signal.SIGTERM, 0), "freeze": (signal.SIGCONT, 75),
        "cut": (signal.SIGCONT, 75)}


class Customer(threading.Thread):
    """Sends messages one after another, each with one id to the ports in turn until it is answered with 200, as a proxy does.

    With `asks`, each is of a new customer, who asks for a person. With a short `patience`, another server has the message of a frozen
    one; with a long one, the answer of the frozen server counts when it continues.
    """

    def __init__(self, ports, name, asks=False, patience=30):
        super().__init__(daemon=True)
        self.ports, self.name, self.asks, self.patience = list(ports), name, asks, patience
        self.answered, self.times, self.refused = [], [], []
        self.ends = threading.Event()

    def run(self):
        number = 0
        while not self.ends.is_set():
            number += 1
            text = f"{self.name}-{number}"
            while not self.post(text):
                self.ports.append(self.ports.pop(0))
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
            connection = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=self.patience)
            connection.request("POST", "/message", gzip.compress(json.dumps(body).encode()), fields)
            status = connection.getresponse().status
            if status != 200:
                self.refused.append(time.monotonic())
            return status == 200
        except (OSError, http.client.HTTPException):
            return False


class Servers:
    """Two servers of one data directory, or with a `cluster` of PostgreSQL three with one each.

    `command`, `balloon serve` by default, is followed by a configuration file, in which `handler` is in place of the witness.
    """

    def __init__(self, program, folder, cluster, command=None, handler=None):
        self.command, self.folder, self.cluster = command or [program, "serve", "--config"], folder, cluster
        self.environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(SECRET).decode()}
        store = {}
        if cluster:
            cluster.create("balloon")
            self.links = [Link(cluster.socket) for _ in range(3)]
            store = {"store": {"postgres": {"url": {"env": "BALLOON_POSTGRES"}, "leaseSeconds": LEASE}}}
        witness = {
            "exec": ["python3", str(pathlib.Path("scripts/failover-test.d/handler.py").resolve())],
            "environment": {"WITNESS": str(folder / "handled"), "BALLOON_PYTHON": str(pathlib.Path("config/handlers/python").resolve())}}
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({
            "businessID": BUSINESS, "name": "One", "people": people.PEOPLE, "handler": handler or witness}))
        self.gateway = people.Gateway()
        count = 3 if cluster else 2
        holders = [socket.create_server(("127.0.0.1", 0)) for _ in range(2 * count + 2)]
        ports = [holder.getsockname()[1] for holder in holders]
        for holder in holders:
            holder.close()
        self.ports, self.admin_ports, self.processes = ports[:count], ports[count:2 * count], [None] * count
        # How often a server lost the store although nothing had ended it.
        self.lost = 0
        # For messages and for people.
        self.proxy_ports = ports[2 * count:]
        api = {**people.API, "hosts": [f"127.0.0.1:{self.proxy_ports[1]}"]}
        for index, port in enumerate(self.admin_ports):
            (folder / f"server-{index}.json").write_text(json.dumps({
                "mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": f"127.0.0.1:{port}", "api": api, "drainDelaySeconds": 1,
                "listen": f"127.0.0.1:{self.ports[index]}", "dataDirectory": str(self.data(index)),
                "gateway": {"url": f"http://127.0.0.1:{self.gateway.server_port}/v1"}, **store}))
        if cluster:
            subprocess.run(
                [program, "store", "migrate", "--config", str(folder / "server-0.json")], env=self.variables(0), check=True,
                stdout=subprocess.DEVNULL)

    def read(self, port, path):
        """Returns the status and the body of a server's answer; 0 and the reason when it gives none."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, f"{error}\n"

    def metrics(self, index):
        """The samples without labels of a server."""
        lines = [line.split() for line in self.read(self.admin_ports[index], "/metrics")[1].splitlines()]
        return {line[0]: float(line[1]) for line in lines if len(line) == 2}

    def variables(self, index):
        """The environment of a server; each has its own way to PostgreSQL."""
        address = {"BALLOON_POSTGRES": f"host=127.0.0.1 port={self.links[index].port} user=postgres dbname=balloon"} if self.cluster else {}
        return {**self.environment, **address}

    def data(self, index):
        return self.folder / (f"data-{index}" if self.cluster else "data")

    def start(self, index):
        self.launch(index)
        self.wait([index], "/livez")

    def launch(self, index):
        self.processes[index] = subprocess.Popen(
            [*self.command, str(self.folder / f"server-{index}.json"), *([] if self.cluster else ["--standby"])],
            env=self.variables(index), stdout=subprocess.DEVNULL, stderr=open(self.folder / f"log-{index}", "ab"))

    def wait(self, indexes, path):
        """Returns the first of the servers that answers `path` with 200."""
        begun = time.monotonic()
        while time.monotonic() - begun < LIMIT:
            for index in indexes:
                if self.read(self.ports[index], path)[0] == 200:
                    return index
            time.sleep(0.01)
        sys.exit(f"failover-test: {path} of {indexes} has no 200 within {LIMIT} s\n" + "\n".join(map(self.report, range(len(self.ports)))))

    def report(self, index):
        """The state of a server, and the end of its log."""
        if self.processes[index] is None:
            return f"server {index}: not begun"
        status = self.processes[index].poll()
        state = self.read(self.admin_ports[index], "/readyz?verbose")[1] if status is None else f"ended with {status}\n"
        return f"server {index}: {state}" + (self.folder / f"log-{index}").read_text()[-2000:]

    def end(self, index, number, expected):
        self.processes[index].send_signal(number)
        status = self.processes[index].wait(60)
        if status != expected:
            sys.exit(f"failover-test: after {number.name} the server ended with {status}, not {expected}\n" + self.report(index))

    def kill(self):
        for process in filter(None, self.processes):
            process.kill()
            process.wait()

    def present(self):
        """Returns the server that answers, after starting again those that lost the store by themselves.

        On a busy machine a beat, or the start of a server, may take longer than the lease.
        """
        for index, process in enumerate(self.processes):
            if (status := process.poll()) is None:
                continue
            if status != 75:
                sys.exit(f"failover-test: a server ended by itself with {status}\n" + self.report(index))
            self.lost += 1
            self.start(index)
        return self.wait(range(len(self.ports)), "/readyz")

    def end_by(self, kind, active):
        """Ends the present server or PostgreSQL, starts again what ended, and waits until a server answers."""
        others = [(active + step) % len(self.ports) for step in range(1, len(self.ports))]
        if kind in ("database", "outage"):
            self.cluster.end(signal.SIGKILL)
            time.sleep(LEASE + 1 if kind == "outage" else 0)
            self.cluster.start()
            return self.wait(range(len(self.ports)), "/readyz")
        if kind == "promote":
            primary, self.cluster = self.cluster, self.cluster.make_standby()
            time.sleep(0.5)
            primary.end(signal.SIGKILL)
            self.cluster.promote()
            for link in self.links:
                link.path = self.cluster.socket
            return self.wait(range(len(self.ports)), "/readyz")
        if kind in ("hang", "absent"):
            standby = self.cluster.make_standby() if kind == "absent" else None
            if standby:
                standby.end(signal.SIGKILL)
            else:
                self.cluster.signal(signal.SIGSTOP)
            time.sleep(LEASE + 1)
            answers = [self.read(self.ports[active], path)[0] for path in ("/livez", "/readyz")]
            if standby:
                self.cluster.stop_waiting()
            else:
                self.cluster.signal(signal.SIGCONT)
            if answers != [200, 503]:
                sys.exit(f"failover-test: without the database the owner's /livez and /readyz answer {answers}\n" + self.report(active))
            return self.wait(range(len(self.ports)), "/readyz")
        if kind == "backends":
            for _ in range(20):
                self.cluster.query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'balloon' AND pid <> pg_backend_pid() AND random() < 0.5")
                time.sleep(random.uniform(0, 0.1))
            return self.wait(range(len(self.ports)), "/readyz")
        if kind in ("halves", "late"):
            self.links[active].set("halved" if kind == "halves" else "late")
            time.sleep(1 if kind == "halves" else 2)
            self.links[active].set("open")
            return self.wait(range(len(self.ports)), "/readyz")
        if kind == "freeze":
            self.processes[active].send_signal(signal.SIGSTOP)
            time.sleep(2 * LEASE)
            self.wait(others, "/readyz")
        if kind == "cut":
            self.links[active].set("cut")
            time.sleep(2 * LEASE)
            self.wait(others, "/readyz")
            if (status := self.read(self.ports[active], "/readyz")[0]) != 503:
                sys.exit(f"failover-test: a server without its database answers /readyz with {status}\n" + self.report(active))
            self.links[active].set("open")
        ended = [active, *others[1:]] if kind == "kill" else [active]
        for index in ended:
            self.end(index, *ENDS[kind])
        # A follower that dies with the owner loses its disk, and the third server takes the store.
        for index in ended[1:]:
            shutil.rmtree(self.data(index))
        if kind == "restart":
            self.start(active)
            return self.wait(range(len(self.ports)), "/readyz")
        self.wait([index for index in others if index not in ended], "/readyz")
        for index in ended:
            self.start(index)

    def end_alike(self, active):
        """Ends the servers when their files are equal; returns the last owner, and the files that another one has otherwise."""
        followers = [index for index in range(len(self.ports)) if index != active]
        self.end(active, signal.SIGTERM, 0)
        owner = self.wait(followers, "/readyz")
        self.start(active)
        followers[followers.index(owner)] = active
        # The owner soon has nothing to do, so the others reach it. Its end writes again.
        limit = time.monotonic() + LIMIT
        while (differences := self.differences(owner, followers)) and time.monotonic() < limit:
            time.sleep(0.1)
        for index in (*followers, owner):
            self.end(index, signal.SIGTERM, 0)
        return owner, differences

    def differences(self, owner, followers):
        files = self.files(owner)
        return [f"{name} differs between the directories {owner} and {index}" for index in followers
                for name in sorted({name for name, _ in files.items() ^ self.files(index).items()})]

    def files(self, index):
        """The journal and the conversations of a server, by path."""
        files = {}
        for folder in ("journal", "conversations"):
            for path in (self.data(index) / folder).rglob("*.*"):
                # A follower replaces files meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    files[str(path.relative_to(self.data(index)))] = path.read_bytes()
        return files


def main():
    program, rounds, has_postgres = os.path.abspath(sys.argv[1]), int(sys.argv[2]), "--postgres" in sys.argv
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ends:
        cluster = None
        if has_postgres:
            cluster = Cluster(pathlib.Path(name), commit_milliseconds=10)
            # The present one: a promoted standby takes its place.
            ends.callback(lambda: servers.cluster.end(signal.SIGINT))
        servers = Servers(program, pathlib.Path(name), cluster)
        ends.callback(servers.kill)
        proxy = Proxy(pathlib.Path(name), servers)
        ends.callback(proxy.end)
        run(servers, rounds)


def run(servers, rounds):
    servers.start(0)
    servers.wait([0], "/readyz")
    for index in range(1, len(servers.ports)):
        servers.start(index)
    customers = [
        Customer(servers.ports, "ann"), Customer(servers.proxy_ports[:1], "bob"), Customer(servers.ports, "cleo", patience=1),
        Customer(servers.proxy_ports[:1], "dora", patience=1)]
    for customer in customers:
        customer.has_proxy = customer.ports == servers.proxy_ports[:1]
    askers = [Customer(servers.ports, word, asks=True) for word in ("eve", "fred")]
    staff_ends = threading.Event()
    staff = [people.Person(servers.proxy_ports[1:] if number % 2 else servers.admin_ports, f"p{number}", staff_ends) for number in range(1, 7)]
    for one in customers + askers + staff:
        one.start()
    rounds_of = collections.defaultdict(list)
    for number in range(rounds):
        time.sleep(0.3 + number % 5 * 0.07)
        active = servers.present()
        kinds = KINDS_WITH_POSTGRES if servers.cluster else KINDS
        kind = kinds[number % len(kinds)]
        begun = time.monotonic()
        servers.end_by(kind, active)
        rounds_of[kind].append((begun, time.monotonic()))
    for one in customers + askers:
        one.ends.set()
    for one in customers + askers:
        one.join()
    active = servers.present()
    if not servers.cluster:
        servers.end(1 - active, signal.SIGTERM, 0)
    expected = {text for customer in customers for text in customer.answered}
    asked = [text for asker in askers for text in asker.answered]

    def is_settled():
        return (expected <= set((servers.folder / "handled").read_text().split()) and len(servers.gateway.texts) >= len(asked)
                and not any(staff[0].call("GET", f"/conversations?state={state}")[1]["conversations"] for state in ("waiting", "person")))

    limit = time.monotonic() + 60
    while time.monotonic() < limit and not is_settled():
        time.sleep(0.1)
    staff_ends.set()
    for person in staff:
        person.join()
    faults = [fault for person in staff for fault in person.faults]
    if servers.cluster:
        active = servers.present()
        metrics = servers.metrics(active)
        # Absent when the owner saw no other server.
        lag = metrics.get("balloon_store_follower_lag_seconds", math.inf)
        if metrics["balloon_store_followers"] < 2 or metrics["balloon_store_beat_age_seconds"] > LEASE or lag > 90:
            faults.append(f"the owner's metrics are {metrics}")
        active, differences = servers.end_alike(active)
        faults += differences
    else:
        servers.end(active, signal.SIGTERM, 0)
    handled = set((servers.folder / "handled").read_text().split())
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
        # One without the proxy may be refused by the server that ends.
        refused = [sum(begun < at < end + 0.2 for customer in customers if customer.has_proxy for at in customer.refused) for begun, end in spans]
        if servers.cluster and kind in UNREFUSED and (count := sum(refused)):
            faults.append(f"{count} messages were refused in rounds of {kind}")
        print(f"failover-test: {len(silent)} x {kind}: no message was answered for {statistics.median(silent):.2f} s (median), {max(silent):.2f} s (longest);"
              f" {sum(refused)} refused")
    answered = sum(person is not None for one in holders.values() for person in one)
    print(f"failover-test: {len(expected)} messages answered, {len(asked)} customers asked for a person, {answered} times a person had one, {len(faults)} faults")
    if servers.cluster:
        print(f"failover-test: {servers.lost} times a server lost the store by itself")
    for fault in faults:
        print("  " + fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
