"""PostgreSQL on a unix socket in a temporary folder."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Cluster:
    """A server of Debian's PostgreSQL with a cluster of its own; root runs it as the user postgres, because it refuses root.

    Each commit waits for `commit_milliseconds` more, as on a database that is far away or busy.
    """

    def __init__(self, folder, commit_milliseconds=0):
        self.folder, self.data, self.commit_milliseconds = folder, folder / "cluster", commit_milliseconds
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
        if not programs:
            sys.exit("failover-test: PostgreSQL is missing; install it with: apt-get install postgresql")
        self.programs = programs[-1].parent
        # Unlike runuser, setpriv becomes the program, so that a signal reaches it.
        self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        self.data.mkdir()
        if self.prefix:
            # The folder above is this user's only.
            folder.chmod(0o711)
            shutil.chown(self.data, "postgres")
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8", check=True)
        self.start()

    @property
    def address(self):
        """The keywords of a connection, without the database."""
        return f"host={self.data} user=postgres"

    @property
    def socket(self):
        return str(self.data / ".s.PGSQL.5432")

    def run(self, program, *arguments, check=False):
        return subprocess.run([*self.prefix, str(self.programs / program), *arguments], check=check, stdout=subprocess.DEVNULL)

    def start(self):
        """Starts the server, again when it refuses because processes of a killed one have not noticed that yet."""
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            self.process = subprocess.Popen(
                [*self.prefix, str(self.programs / "postgres"), "-D", str(self.data), "-c", "listen_addresses=",
                 "-c", f"unix_socket_directories={self.data}", "-c", "max_connections=50",
                 "-c", f"commit_delay={1000 * self.commit_milliseconds}", "-c", "commit_siblings=0"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.folder / "log-postgres", "ab"))
            while self.process.poll() is None and time.monotonic() < limit:
                if self.run("pg_isready", "-q", "-h", str(self.data)).returncode == 0:
                    return
                time.sleep(0.05)
        self.process.kill()
        sys.exit("failover-test: PostgreSQL does not start\n" + (self.folder / "log-postgres").read_text()[-2000:])

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(60)

    def signal(self, number):
        """Sends a signal to all processes of the server."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], stdout=subprocess.PIPE, text=True).stdout
        for process in [self.process.pid, *map(int, children.split())]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def create(self, name):
        self.run("createdb", "-h", str(self.data), "-U", "postgres", name, check=True)


if __name__ == "__main__":
    # Runs a command with the address of a new server in REPLICATION_TEST_POSTGRES.
    # In memory where there is room, so that the tests do not wait for a disk that others use.
    memory = "/dev/shm"
    has_room = os.path.isdir(memory) and shutil.disk_usage(memory).free > 1 << 30
    with tempfile.TemporaryDirectory(dir=memory if has_room else None) as name:
        cluster = Cluster(pathlib.Path(name))
        try:
            status = subprocess.run(sys.argv[1:], env={**os.environ, "REPLICATION_TEST_POSTGRES": cluster.address}).returncode
        finally:
            cluster.end(signal.SIGINT)
    sys.exit(status)
