"""Posts messages to two servers alternately, and prints the rate, the processor time and the allocations of each message."""

import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
from loaded_server import LoadedServer

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def allocations(process, log):
    """The count that the preloaded library reports, or None without it."""
    before = log.read_text().count("\nallocations ")
    process.send_signal(signal.SIGUSR2)
    for _ in range(100):
        found = re.findall(r"^allocations (\d+)$", log.read_text(), re.M)
        if len(found) > before:
            return int(found[-1])
        time.sleep(0.05)
    sys.exit("bench: the server did not report its allocations")


def measure(program, seconds, library=None):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rig = LoadedServer(program, folder)
        if library:
            os.environ["LD_PRELOAD"] = library
        process = rig.start()
        os.environ.pop("LD_PRELOAD", None)
        os.sched_setaffinity(process.pid, {0})
        for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {0})
        rig.load("warm", 1).communicate()
        counted = allocations(process, folder / "log") if library else 0
        begun, used = time.monotonic(), processor_seconds(process)
        output = rig.load("flood", seconds).communicate()[0]
        # The answered messages are also recorded and delivered.
        time.sleep(1)
        used = processor_seconds(process) - used
        requests = int(re.search(r"(\d+) requests in", output)[1])
        rate = requests / (time.monotonic() - begun - 1)
        counted = allocations(process, folder / "log") - counted if library else 0
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        return rate, used / requests * 1e6, counted / requests


def main():
    with_metrics, without, pairs, seconds, library = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    os.sched_setaffinity(0, {1})
    rates, costs = [], []
    for number in range(pairs):
        order = [with_metrics, without] if number % 2 == 0 else [without, with_metrics]
        found = {program: measure(program, seconds) for program in order}
        rates.append((found[with_metrics][0], found[without][0]))
        costs.append((found[with_metrics][1], found[without][1]))
        print(f"pair {number + 1}: {rates[-1][0]:.0f} and {rates[-1][1]:.0f} messages/s, {costs[-1][0]:.1f} and {costs[-1][1]:.1f} us", file=sys.stderr)
    counts = [measure(program, 2, library)[2] for program in (with_metrics, without)]

    def row(name, values, unit, bar):
        ratios = sorted(one / other for one, other in values)
        on, off = (statistics.median(column) for column in zip(*values))
        print(f"| {name} | {on:.1f} {unit} | {off:.1f} {unit} | {statistics.median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}) | {bar} |")

    print("| | with metrics | without | ratio, median of the pairs (spread) | bar |\n|---|---|---|---|---|")
    row("messages answered in a second", rates, "/s", "0.99, or")
    row("processor time of a message, with its delivery", costs, "us", "1.015")
    print(f"| allocations of a message, with its delivery | {counts[0]:.2f} | {counts[1]:.2f} | {counts[0] / counts[1]:.3f} | no more |")


main()
