"""Posts a message whose handler ends its server to three servers of a store in PostgreSQL, each restarted after more than a lease.

Fails when the message has ended more than `LIMIT_OF_DEATHS` servers, and when the next message of its customer, or one of other customers, who
go on writing meanwhile, has no answer.
"""

import contextlib
import pathlib
import signal
import sys
import tempfile
import time

from cluster import Cluster
from failover import LEASE, Customer, Servers

LIMIT_OF_DEATHS = 8
SECONDS = 300


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as ends:
        cluster = Cluster(pathlib.Path(name), commit_milliseconds=10)
        ends.callback(cluster.end, signal.SIGINT)
        servers = Servers(
            str(program), pathlib.Path(name), cluster, [str(program.parent / "CrashTestServer")], {"builtin": "token"})
        ends.callback(servers.kill)
        run(servers)


def run(servers):
    servers.start(0)
    servers.wait([0], "/readyz")
    for index in (1, 2):
        servers.start(index)
    others = [Customer(servers.ports, name, patience=1) for name in ("ann", "bob")]
    poisoner = Customer(servers.ports, "poisoner", patience=1)
    for one in others:
        one.start()
    # Its second message is posted when the first is accepted.
    unsent = ["crash", "next"]
    deaths, due = 0, [0] * 3
    limit = time.monotonic() + SECONDS

    def has_answer(customer, count):
        return len(servers.gateway.texts.get(f"urn:mbid:{customer}", ())) >= count

    while not has_answer("poisoner", 1):
        if time.monotonic() > limit or deaths > LIMIT_OF_DEATHS:
            sys.exit(f"failover-test: a message has ended {deaths} servers, and the next one has no answer\n"
                     + "\n".join(map(servers.report, range(3))))
        if unsent and poisoner.post(unsent[0]):
            unsent.pop(0)
        else:
            poisoner.ports.append(poisoner.ports.pop(0))
        for index, process in enumerate(servers.processes):
            if process and process.poll() is not None:
                # One that lost the store by itself, on a busy machine, ended with 75.
                deaths += process.returncode == -signal.SIGKILL
                servers.processes[index], due[index] = None, time.monotonic() + LEASE + 1
            elif process is None and time.monotonic() > due[index]:
                servers.launch(index)
        time.sleep(0.02)
    for one in others:
        one.ends.set()
    for one in others:
        one.join()
    limit = time.monotonic() + SECONDS
    while not all(has_answer(one.name, len(one.answered)) for one in others):
        if time.monotonic() > limit:
            sys.exit("failover-test: a message of another customer has no answer\n" + "\n".join(map(servers.report, range(3))))
        time.sleep(0.1)
    print(f"failover-test: a message ended {deaths} servers and is a dead letter; {sum(len(one.answered) for one in others)} others were answered")


main()
