"""Holds a listening socket, restarts the server on it, and sends signed webhooks meanwhile."""

import base64
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, "scripts/loaded-server.d")
sys.dont_write_bytecode = True
from loaded_server import BUSINESS, SECRET, load, token, write_bodies


def message():
    number = str(uuid.uuid4())
    body = {"id": number, "type": "text", "v": 1, "sourceId": "urn:mbid:restart", "destinationId": BUSINESS, "body": "hello"}
    fields = {
        "Authorization": "Bearer " + token(), "Content-Encoding": "gzip", "Content-Type": "application/json",
        "id": number, "source-id": body["sourceId"], "destination-id": BUSINESS}
    return gzip.compress(json.dumps(body).encode()), fields


class Client(threading.Thread):
    """Sends messages on one connection as long as the server keeps it open, or each on a new one."""

    def __init__(self, port, keeps_open):
        super().__init__(daemon=True)
        self.port, self.keeps_open = port, keeps_open
        self.count, self.longest, self.failures = 0, 0.0, []
        self.ends = threading.Event()

    def run(self):
        connection = None
        while not self.ends.is_set():
            begun = time.monotonic()
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                body, fields = message()
                connection.request("POST", "/message", body, fields)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    self.failures.append(f"status {answer.status}")
                if answer.will_close or not self.keeps_open:
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
                connection = None
            self.count += 1
            self.longest = max(self.longest, time.monotonic() - begun)
            self.ends.wait(0.02)


def main():
    program, restarts, clients, records = os.path.abspath(sys.argv[1]), *map(int, sys.argv[2:5])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "businesses").mkdir()
        (folder / "businesses" / "one.json").write_text(json.dumps({"businessID": BUSINESS, "name": "One", "handler": {"builtin": "none"}}))
        (folder / "server.json").write_text(json.dumps({"mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": "off"}))
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notified.bind(str(folder / "notify"))
        notified.settimeout(20)
        port = listener.getsockname()[1]
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)

        def start():
            environment = {
                **os.environ, "BALLOON_SECRET": base64.b64encode(SECRET).decode(), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "public",
                "NOTIFY_SOCKET": str(folder / "notify")}
            # The shell sets the process id that the program will have.
            process = subprocess.Popen(
                ["sh", "-c", 'export LISTEN_PID=$$; exec "$0" "$@"', program, "serve", "--config", str(folder / "server.json"), "--data", str(folder / "data")],
                env=environment, pass_fds=(3,), stdout=subprocess.DEVNULL, stderr=open(folder / "log", "ab"))
            try:
                while notified.recv(4096) != b"READY=1":
                    pass
            except TimeoutError:
                sys.exit("restart-test: the server did not report that it is ready\n" + (folder / "log").read_text()[-2000:])
            return process

        process = start()
        flooded, round_number = 0, 0
        if records:
            write_bodies(folder)
        while flooded < records:
            round_number += 1
            output = load(port, folder, f"flood-{round_number}", 20).communicate()[0]
            flooded += int(re.search(r"(\d+) requests in", output)[1])
        all_clients = [Client(port, number % 2 == 0) for number in range(clients)]
        for client in all_clients:
            client.start()
        times = []
        for number in range(restarts):
            time.sleep(0.7)
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            status = process.wait(60)
            if status != 0:
                print((folder / "log").read_text()[-2000:])
                sys.exit(f"restart-test: the server ended with {status}")
            if records and number == restarts // 2:
                # Without its snapshot, the server reads the whole journal.
                (folder / "data" / "snapshot").unlink()
            process = start()
            if records and number == restarts // 2:
                print(f"restart-test: {flooded} records recovered in {time.monotonic() - begun:.2f} s, the stop included")
            times.append(time.monotonic() - begun)
        time.sleep(0.7)
        for client in all_clients:
            client.ends.set()
        for client in all_clients:
            client.join()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        count = sum(client.count for client in all_clients)
        failures = [failure for client in all_clients for failure in client.failures]
        stored = sum(file.read_bytes().count(b'"direction":"inbound"') for file in (folder / "data" / "conversations").rglob("*.jsonl"))
        print(f"restart-test: {restarts} restarts, {count} requests, {len(failures)} failed, {stored} stored, "
              f"longest wait {max(client.longest for client in all_clients):.2f} s, median restart {sorted(times)[len(times) // 2]:.2f} s, longest {max(times):.2f} s")
        for failure in failures[:10]:
            print("  " + failure)
        sys.exit(1 if failures else 0)


main()
