"""Floods a server with texts and with choices that repeat, and prints rate, processor time and memory of each interval in Markdown.

--server FILE: the server of scripts/bench.d/server, as `BALLOON_BENCH=1 swift build -c release --product BenchServer` builds it.
--seconds N: the length of the flood (default 600). Sends on 64 connections from a thousand customers; half of the messages are choices,
and a customer sends the same one again every second.
"""

import argparse
import base64
import gzip
import json
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
from loaded_server import BUSINESS, SECRET, load

BID = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"


def write_bodies(folder):
    (folder / "bodies").mkdir()
    choice = {"version": "1.0", "requestIdentifier": "flood", "listPicker": {"sections": [
        {"title": "Bread", "order": 0, "multipleSelection": False, "items": [{"identifier": "rye", "title": "Rye", "order": 0}]}]},
        "replyMessage": {"title": "Rye"}}
    for number in range(1, 9):
        body = {"v": 1, "destinationId": BUSINESS}
        if number % 2:
            body |= {"type": "text", "body": f"message {number} " * 20}
        else:
            body |= {"type": "interactive", "interactiveData": {"bid": BID, "data": choice}}
        (folder / "bodies" / f"{number}.gz").write_bytes(gzip.compress(json.dumps(body).encode()))


def figures(process):
    """The processor time in seconds, the resident memory and its peak in MiB."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    rss, peak = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("VmRSS", "VmHWM"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), rss, peak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True, type=os.path.abspath)
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({"businessID": BUSINESS, "name": "One", "handler": {"builtin": "trivial"}}))
        secret = folder / "secret"
        secret.touch(mode=0o600)
        secret.write_bytes(base64.b64encode(SECRET))
        (folder / "server.json").write_text(json.dumps({
            "mspID": "m", "secret": {"file": str(secret)}, "publicURL": "https://bench.example", "listen": "127.0.0.1:0", "adminListen": "off",
            "dataDirectory": str(folder / "data"), "gateway": {"url": "https://bench.example/v1"}, "limits": {"shards": 2}}))
        write_bodies(folder)
        output = folder / "output"
        server = subprocess.Popen(
            [options.server, "delivery", str(folder / "server.json")], stdout=open(output, "w"), stderr=subprocess.DEVNULL)

        def accepted():
            lines = output.read_text().count("\n")
            server.send_signal(signal.SIGUSR1)
            while output.read_text().count("\n") == lines:
                time.sleep(0.02)
            return int(re.findall(r"accepted (\d+)", output.read_text())[-1])

        while not (port := re.search(r"listening on .*:(\d+)", output.read_text())):
            time.sleep(0.05)
        time.sleep(2)
        print(f"idle: {figures(server)[1]:.1f} MB\n\n| second | messages/s | µs of processor time each | MB | peak MB |\n|---|---|---|---|---|", flush=True)
        load_process = load(port[1], folder, "flood", options.seconds)
        begun = then = time.monotonic()
        last = (accepted(), figures(server)[0])
        for second in [10, *range(60, options.seconds + 1, 60)]:
            time.sleep(max(0.0, begun + second - time.monotonic()))
            now, count, (used, rss, peak) = time.monotonic(), accepted(), figures(server)
            messages = max(1, count - last[0])
            print(f"| {second} | {messages / (now - then):.0f} | {(used - last[1]) / messages * 1e6:.0f} | {rss:.0f} | {peak:.0f} |", flush=True)
            last, then = (count, used), now
        load_process.communicate()
        time.sleep(20)
        print(f"\n20 s after it: {figures(server)[1]:.0f} MB")
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        status = server.wait(60)
        print(f"stop: {time.monotonic() - begun:.1f} s, status {status}")


main()
