"""Backs up a server under load, kills one of both in the middle, and compares what was answered with what is restored."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
from loaded_server import Customer, LoadedServer

SECONDS = 6


class Rig(LoadedServer):
    def backup(self, name):
        return subprocess.Popen(
            [self.program, "backup", str(self.folder / name), "--data", str(self.folder / "data")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

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
    load = rig.load(f"load-{number}", SECONDS)
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
