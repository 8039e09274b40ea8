"""Erases customers of a loaded server, kills it in the middle, and searches every byte of its data directory."""

import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
from loaded_server import Customer, LoadedServer


class Rig(LoadedServer):
    def erase(self, customer):
        return subprocess.Popen(
            [self.program, "erase", "--customer", customer, "--yes", "--data", str(self.folder / "data")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def traces(self, name):
        """The files with the customer's name, which is in the customer's identifier, texts and message identifiers."""
        hashed = hashlib.sha256(f"urn:mbid:{name}".encode()).hexdigest()
        found = []
        for path in (self.folder / "data").rglob("*"):
            if path.is_file() and (hashed in path.name or name.encode() in path.read_bytes() or hashed.encode() in path.read_bytes()):
                found.append(str(path.relative_to(self.folder)))
        return found

    def conversation(self, customer):
        hashed = hashlib.sha256(customer.encode()).hexdigest()
        return (self.folder / "data" / "conversations" / "b-1" / hashed[:2] / (hashed + ".jsonl")).read_bytes()


def p99(waits):
    return sorted(waits)[int(len(waits) * 0.99)] * 1000 if waits else float("nan")


def worst(answers, begun, ended, seconds=5):
    """The largest p99 of a part of the erasure of this many seconds."""
    parts = {}
    for at, wait in answers:
        if begun <= at < ended:
            parts.setdefault(int((at - begun) / seconds), []).append(wait)
    return max((p99(waits) for waits in parts.values() if len(waits) >= 100), default=float("nan"))


def one_round(rig, number, kills):
    server = rig.start()
    victim = Customer(rig.port, f"victim-{number}")
    others = [Customer(rig.port, f"{word}-{number}") for word in ("ann", "bob")]
    for customer in [victim, *others]:
        customer.start()
    time.sleep(4)
    victim.ends.set()
    victim.join()
    quiet = rig.conversation("urn:mbid:bench-5")
    begun = time.monotonic()
    erasure = rig.erase(f"urn:mbid:{victim.name}")
    if kills:
        while erasure.poll() is None and not (rig.folder / "data" / "erasing").exists():
            time.sleep(0.001)
        time.sleep(0.05 * number)
        server.kill()
        server.wait()
        erasure.communicate()
        # The start completes the erasure.
        server = rig.start()
    else:
        output, errors = erasure.communicate()
        if erasure.returncode != 0:
            sys.exit(f"erase-test: erase ended with {erasure.returncode}: {errors}")
    ended = time.monotonic()
    for customer in others:
        customer.ends.set()
    for customer in others:
        customer.join()
    server.send_signal(signal.SIGTERM)
    server.wait(60)
    before = [wait for customer in others for at, wait in customer.waits if at < begun]
    during = [wait for customer in others for at, wait in customer.waits if begun <= at < ended]
    traces = rig.traces(victim.name)
    print(f"round {number}, {'server killed' if kills else 'no kill'}: {len(victim.answered)} messages erased in {ended - begun:.1f} s; p99 of answers "
          f"{p99(before):.1f} ms before, {p99(during):.1f} ms during ({len(before)} and {len(during)} answers), "
          f"{worst([one for customer in others for one in customer.waits], begun, ended):.1f} ms in the worst 5 s; {len(traces)} files with a trace")
    if traces or not victim.answered:
        sys.exit("erase-test: FAILED " + ", ".join(traces[:5]))
    if rig.conversation("urn:mbid:bench-5") != quiet:
        sys.exit("erase-test: FAILED another conversation has changed")
    verified = subprocess.run([rig.program, "conversations", "verify", "--data", str(rig.folder / "data")], capture_output=True, text=True)
    if verified.returncode != 0:
        sys.exit(f"erase-test: FAILED verify: {verified.stdout[-1000:]}{verified.stderr[-1000:]}")


def main():
    program, seconds, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as name:
        rig = Rig(program, pathlib.Path(name))
        server = rig.start()
        rate = re.search(r"(\d+) requests in", rig.load("flood", seconds).communicate()[0])
        server.send_signal(signal.SIGTERM)
        server.wait(60)
        print(f"{rate[1] if rate else 'no'} messages of 1,000 other customers before")
        for number in range(rounds):
            one_round(rig, number, kills=number % 2 == 1)
    print(f"erase-test: {rounds} customers erased")


main()
