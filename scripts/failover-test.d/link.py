"""The network between one server and PostgreSQL."""

import contextlib
import socket
import threading
import time


class Link:
    """Forwards each connection on `port` to the socket at `path`.

    `state` is "open"; "late": everything arrives a tenth of a second later; "cut": nothing arrives any more, and no end is told; or
    "halved": of the next bytes of each connection only the first half arrives, and then the connection ends.
    """

    def __init__(self, path):
        self.path, self.state, self.changed = path, "open", threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def set(self, state):
        with self.changed:
            self.state = state
            self.changed.notify_all()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self.path)
            except OSError:
                client.close()
                continue
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.forward, args=pair, daemon=True).start()

    def forward(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                with self.changed:
                    self.changed.wait_for(lambda: self.state != "cut")
                    state = self.state
                if state == "late":
                    time.sleep(0.1)
                target.sendall(data[:len(data) // 2] if state == "halved" else data)
                if state == "halved":
                    break
        with self.changed:
            self.changed.wait_for(lambda: self.state != "cut")
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
