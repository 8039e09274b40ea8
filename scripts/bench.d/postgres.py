"""Posts messages to a server that keeps its files on the disk and to one whose store is PostgreSQL, in turn, and prints medians in Markdown.

--binary FILE: the server (default .build/release/balloon). --seconds N: the length of a measurement (default 5). --rounds N (default 3).
PostgreSQL, a follower of the store and the load run on the same processors.
"""

import argparse
import base64
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = ["scripts/loaded-server.d", "scripts/failover-test.d"]
sys.dont_write_bytecode = True
from cluster import Cluster
from loaded_server import BUSINESS, SECRET, token, write_bodies


class Server:
    def __init__(self, binary, folder, name, store, environment):
        (folder / f"{name}.json").write_text(json.dumps({
            "mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": "off", "listen": "127.0.0.1:0", "dataDirectory": str(folder / name),
            "limits": {"shards": 2}, **store}))
        self.output = folder / f"{name}.out"
        self.process = subprocess.Popen(
            [binary, "serve", "--config", str(folder / f"{name}.json")], env=environment, stdout=open(self.output, "w"), stderr=subprocess.DEVNULL)

    def port(self):
        while not (port := re.search(r"listening on .*:(\d+)", self.output.read_text())):
            time.sleep(0.05)
        return int(port[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def post(port, folder, connections, seconds, word):
    """Returns messages a second, and the 50th and 99th percentile in milliseconds."""
    report = subprocess.run(
        ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s", "--latency", "--script", "scripts/bench.d/message.lua",
         f"http://127.0.0.1:{port}", "--", str(folder / "bodies"), token(), BUSINESS, word], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in report:
        sys.exit("bench: a message was not answered with 200\n" + report)
    percentiles = []
    for percent in ("50%", "99%"):
        number, unit = re.search(rf"{percent}\s+([\d.]+)(us|ms|s)", report).groups()
        percentiles.append(float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit])
    return float(re.search(r"Requests/sec:\s+([\d.]+)", report)[1]), *percentiles


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=".build/release/balloon", type=os.path.abspath)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({"businessID": BUSINESS, "name": "One", "handler": {"builtin": "none"}}))
        write_bodies(folder)
        cluster = Cluster(folder)
        try:
            for number in range(options.rounds):
                for mode in ("files", "PostgreSQL", "PostgreSQL with a follower"):
                    environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(SECRET).decode()}
                    store, word = {}, f"{number}-{mode.count(' ')}"
                    if mode != "files":
                        database = f"bench_{number}_{mode.count(' ')}"
                        cluster.create(database)
                        environment["BALLOON_POSTGRES"] = f"{cluster.address} dbname={database}"
                        store = {"store": {"postgres": {"url": {"env": "BALLOON_POSTGRES"}}}}
                    servers = []
                    for role in range(mode.count("follower") + 1):
                        name = f"{mode.replace(' ', '-')}-{number}-{role}"
                        if store and not servers:
                            (folder / "migrate.json").write_text(json.dumps({"mspID": "m", "secret": {"env": "BALLOON_SECRET"}, **store}))
                            subprocess.run(
                                [options.binary, "store", "migrate", "--config", str(folder / "migrate.json")], env=environment, check=True, stdout=subprocess.DEVNULL)
                        servers.append(Server(options.binary, folder, name, store, environment))
                        servers[0].port()
                    port = servers[0].port()
                    post(port, folder, 64, 1, word + "w")
                    many = post(port, folder, 64, options.seconds, word + "m")
                    one = post(port, folder, 1, options.seconds, word + "o")
                    figures.setdefault(mode, []).append((many[0], many[2], one[1]))
                    for server in reversed(servers):
                        server.stop()
        finally:
            cluster.end(signal.SIGINT)
    print("| store | messages/s, 64 connections | p99, ms | p50 of one connection, ms |\n|---|---|---|---|")
    for mode, rounds in figures.items():
        rate, high, low = (statistics.median(column) for column in zip(*rounds))
        print(f"| {mode} | {rate:,.0f} | {high:.1f} | {low:.2f} |")


main()
