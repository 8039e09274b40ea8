"""Fills a data directory with conversations whose oldest lines are due, and trims them while customers write."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from datetime import datetime, timedelta, timezone

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
from loaded_server import BUSINESS, Customer, LoadedServer

OLD, KEPT, DAYS = 3, 9, 30


def instant(days):
    return (datetime.now(timezone.utc) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def fill(data, count):
    """Writes the conversations, and a journal that begins behind their records."""
    first = count * (OLD + KEPT) + 1
    (data / "journal").mkdir(parents=True)
    (data / "VERSION").write_text("2\n")
    line = f'{{"record":{first},"batch":{first},"type":"segment","format":1,"at":"{instant(0)}"'
    (data / "journal" / f"{first:012}.jsonl").write_text(f'{line},"crc32":"{zlib.crc32(line.encode()):08x}"}}\n')
    old, new, record = instant(DAYS + 100), instant(1), 0
    for number in range(count):
        customer = f"urn:mbid:old-{number}"
        name = hashlib.sha256(customer.encode()).hexdigest()
        folder = data / "conversations" / BUSINESS / name[:2]
        if number < 5000:
            folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for sequence in range(1, OLD + KEPT + 1):
            record += 1
            at = old if sequence <= OLD else new
            lines.append(
                f'{{"seq":{sequence},"at":"{at}","direction":"inbound","id":"{number}-{sequence}","kind":"text","customer":"{customer}",'
                f'"record":{record},"message":{{"type":"text","body":"{"a message of the customer " * 8}"}}}}\n')
        (folder / (name + ".jsonl")).write_text("".join(lines))


def p99(waits):
    return sorted(waits)[int(len(waits) * 0.99)] * 1000 if waits else float("nan")


def main():
    program, count, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as name:
        rig = LoadedServer(program, pathlib.Path(name))
        (rig.folder / "businesses" / "one.json").write_text(json.dumps(
            {"businessID": BUSINESS, "name": "One", "handler": {"builtin": "none"}, "retention": {"messagesDays": DAYS}}))
        fill(rig.folder / "data", count)
        server = rig.start()
        while "index of conversations built" not in (rig.folder / "log").read_text():
            time.sleep(0.2)
        customers = [Customer(rig.port, word) for word in ("ann", "bob")]
        for customer in customers:
            customer.start()
        time.sleep(seconds)
        begun = time.monotonic()
        trim = subprocess.Popen([program, "conversations", "trim", "--data", str(rig.folder / "data")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        ended = time.monotonic()
        for customer in customers:
            customer.ends.set()
        for customer in customers:
            customer.join()
        trim.kill()
        trim.wait()
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        before = [wait for customer in customers for at, wait in customer.waits if at < begun]
        during = [wait for customer in customers for at, wait in customer.waits if begun <= at < ended]
        trimmed = sum(path.read_bytes().startswith(b'{"format":2') for path in (rig.folder / "data" / "conversations").rglob("*.jsonl"))
        print(f"trim-test: {count} conversations of {OLD + KEPT} lines, {trimmed} trimmed in {ended - begun:.0f} s; p99 of answers {p99(before):.2f} ms "
              f"before, {p99(during):.2f} ms during: {p99(during) / p99(before):.2f} ({len(before)} and {len(during)} answers)")
        if trimmed == 0:
            sys.exit("trim-test: FAILED, nothing was trimmed\n" + (rig.folder / "log").read_text()[-1000:])
        verified = subprocess.run([program, "conversations", "verify", "--data", str(rig.folder / "data")], capture_output=True, text=True)
        if verified.returncode != 0:
            sys.exit(f"trim-test: FAILED verify: {verified.stdout[-1000:]}{verified.stderr[-1000:]}")


main()
