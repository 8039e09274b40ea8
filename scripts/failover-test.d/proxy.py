"""HAProxy with the settings of config/kubernetes, in front of the servers of the failover test."""

import pathlib
import re
import signal
import socket
import subprocess
import textwrap
import time


def settings():
    """The file haproxy.cfg in config/kubernetes/balloon.yaml."""
    text = pathlib.Path("config/kubernetes/balloon.yaml").read_text()
    return textwrap.dedent(re.search(r"^  haproxy\.cfg: \|\n((?:    .*\n)+)", text, re.MULTILINE)[1])


class Proxy:
    """Serves on `proxy_ports` of the servers."""

    def __init__(self, folder, servers):
        # Messages have a backend of their own. Here the servers have ports of their own, and no names.
        text, count = re.subn(r" port 8080 resolvers cluster init-addr none", "", settings())
        text, binds = re.subn(r"bind :808([01])", lambda match: f"bind 127.0.0.1:{servers.proxy_ports[int(match[1])]}", text)
        lines = ["", ""]
        for index, (port, admin) in enumerate(zip(servers.ports, servers.admin_ports)):
            lines[0] += f"    server s{index} 127.0.0.1:{port}\n"
            lines[1] += f"    server s{index} 127.0.0.1:{admin} port {port}\n"
        text, templates = re.subn(
            r"    server-template server \d balloon-servers:808([01])\n", lambda match: lines[int(match[1])], text)
        assert (count, binds, templates) == (1, 2, 3), "the settings of config/kubernetes have changed"
        (folder / "haproxy.cfg").write_text(text)
        self.process = subprocess.Popen(["haproxy", "-q", "-f", str(folder / "haproxy.cfg")], stderr=open(folder / "log-haproxy", "ab"))
        limit = time.monotonic() + 10
        while time.monotonic() < limit and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", servers.proxy_ports[0])) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit("failover-test: haproxy does not start\n" + (folder / "log-haproxy").read_text())

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
