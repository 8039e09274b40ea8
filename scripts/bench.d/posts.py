"""Sends the POST requests of a file at once, each on a connection of its own, and keeps the connections open for some seconds.

Usage: posts.py FILE HOST:PORT SECONDS; a line of the file is a path, a blank and a body. Prints how many requests had no
answer meanwhile, and then waits for a line of standard input.
"""
import socket
import sys
import time

file, address, seconds = sys.argv[1:]
host, _, port = address.rpartition(":")
connections = []
for line in open(file, encoding="utf-8"):
    path, _, body = line.rstrip("\n").partition(" ")
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    connections.append(connection)
time.sleep(float(seconds))
waiting = 0
for connection in connections:
    connection.setblocking(False)
    try:
        connection.recv(1)
    except BlockingIOError:
        waiting += 1
print(waiting, flush=True)
sys.stdin.readline()
