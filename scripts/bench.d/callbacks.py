"""Sends the callbacks of all open sign-ins of a data directory at once, and keeps the connections open for some seconds.

Usage: callbacks.py DIRECTORY HOST:PORT ISSUER SECONDS. Prints how many callbacks were consumed and got no answer meanwhile.
"""
import json
import pathlib
import socket
import sys
import time
import urllib.parse

directory, address, issuer, seconds = sys.argv[1:]
host, _, port = address.rpartition(":")
requests = pathlib.Path(directory, "requests")


def read():
    """The open requests; the server replaces their files at any time."""
    for path in requests.glob("*/*.json"):
        try:
            yield json.loads(path.read_text())
        except FileNotFoundError:
            continue


connections = []
for request in read():
    query = urllib.parse.urlencode({"code": "c", "state": request["payload"]["state"], "iss": issuer})
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"GET /auth/signin/callback?{query} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
    connections.append(connection)
time.sleep(float(seconds))
answered = 0
for connection in connections:
    connection.setblocking(False)
    try:
        answered += bool(connection.recv(1))
    except BlockingIOError:
        continue
consumed = sum(request["phase"] == "consumed" for request in read())
print(consumed - answered, flush=True)
sys.stdin.readline()
