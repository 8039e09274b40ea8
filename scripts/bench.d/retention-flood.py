"""Posts bodies at a steady rate over a few connections: PORT FILE RATE SECONDS; prints the reached rate.

Requests are pipelined in batches, so that the generator costs less than the server.
"""
import selectors
import socket
import sys
import time

port, path, rate, seconds = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
with open(path, "rb") as file:
    bodies = file.read().splitlines()
head = "POST /retention/rules/production HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
requests = [(head % len(body)).encode() + body for body in bodies]
sockets = []
for _ in range(8):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setblocking(False)
    sockets.append([connection, b""])
selector = selectors.DefaultSelector()
for entry in sockets:
    selector.register(entry[0], selectors.EVENT_READ)
begin = time.monotonic()
sent = answered = 0
while (now := time.monotonic()) < begin + seconds:
    due = int((now - begin) * rate)
    while sent < due:
        sockets[sent % len(sockets)][1] += requests[sent % len(requests)]
        sent += 1
    for entry in sockets:
        if entry[1]:
            try:
                entry[1] = entry[1][entry[0].send(entry[1]):]
            except BlockingIOError:
                pass
    for key, _ in selector.select(0.002):
        answered += key.fileobj.recv(1 << 16).count(b"HTTP/1.1 ")
print(int(answered / seconds))
