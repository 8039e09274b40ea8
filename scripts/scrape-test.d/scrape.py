"""Writes conversations of many customers, starts a server on them, and times its /metrics beside arriving messages."""

import hashlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
from loaded_server import BUSINESS, Customer, LoadedServer


def main():
    program, customers, businesses = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as name:
        rig = LoadedServer(program, pathlib.Path(name))
        with socket.create_server(("127.0.0.1", 0)) as one:
            admin = one.getsockname()[1]
        token = {"name": "t", "sha256": "0a" * 32, "may": ["read"]}
        (rig.folder / "server.json").write_text(json.dumps({
            "mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": f"127.0.0.1:{admin}", "api": {"tokens": [token]}}))
        for number in range(1, businesses):
            (rig.folder / "businesses" / f"s{number}.json").write_text(json.dumps(
                {"businessID": f"id-{number}", "name": "B", "handler": {"builtin": "none"}}))
        data = rig.folder / "data"
        (data / "journal").mkdir(parents=True)
        (data / "VERSION").write_text("2\n")
        line = f'{{"record":{customers + 1},"batch":{customers + 1},"type":"segment","format":1,"at":"2026-11-01T00:00:00.000Z"'
        (data / "journal" / f"{customers + 1:012}.jsonl").write_text(f'{line},"crc32":"{zlib.crc32(line.encode()):08x}"}}\n')
        made = set()
        for number in range(customers):
            customer = f"urn:mbid:c{number}"
            hashed = hashlib.sha256(customer.encode()).hexdigest()
            folder = f"{data}/conversations/{BUSINESS if number % businesses == 0 else f'id-{number % businesses}'}/{hashed[:2]}"
            if folder not in made:
                os.makedirs(folder)
                made.add(folder)
            with open(f"{folder}/{hashed}.jsonl", "w") as file:
                file.write(f'{{"seq":1,"at":"2026-11-01T00:00:00.000Z","direction":"inbound","id":"m","kind":"text","customer":"{customer}",'
                           f'"record":{number + 1},"message":{{"type":"text","body":"hello"}}}}\n')
        server = rig.start()
        while "index of conversations built" not in (rig.folder / "log").read_text():
            time.sleep(0.5)
        writers = [Customer(rig.port, word) for word in ("ann", "bob")]
        for writer in writers:
            writer.start()
        times = []
        for _ in range(60):
            time.sleep(0.25)
            begun = time.monotonic()
            text = urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=30).read()
            times.append((time.monotonic() - begun) * 1000)
        for writer in writers:
            writer.ends.set()
            writer.join()
        memory = next(line for line in pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        series = sum(1 for line in text.splitlines() if line and not line.startswith(b"#"))
        lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        print(f"scrape-test: {businesses} businesses, {customers} customers: {series} series, {len(text) >> 10} KiB, median {statistics.median(times):.1f} ms, "
              f"longest of {len(times)} {max(times):.1f} ms beside {sum(len(writer.answered) for writer in writers)} messages; {memory.split(None, 1)[1]}; promtool {lint.returncode}")
        if lint.returncode != 0 or series > 5000:
            sys.exit("scrape-test: FAILED\n" + lint.stderr.decode()[-2000:] + lint.stdout.decode()[-2000:])


main()
