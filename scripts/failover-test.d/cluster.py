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

    Each commit waits for `commit_milliseconds` more, as on a database that is far away or busy. With `primary`, it is that one's standby.
    """

    def __init__(self, folder, commit_milliseconds=0, primary=None):
        self.folder, self.commit_milliseconds = folder, commit_milliseconds
        self.data = folder / f"cluster-{len(list(folder.glob('cluster-*')))}"
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
        if not programs:
            sys.exit("failover-test: PostgreSQL is missing; install it with: apt-get install postgresql")
        self.programs = programs[-1].parent
        # Unlike runuser, setpriv becomes the program, so that a signal reaches it.
        self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        self.data.mkdir(0o700)
        if self.prefix:
            # The folder above is this user's only.
            folder.chmod(0o711)
            shutil.chown(self.data, "postgres")
        if primary:
            self.run("pg_basebackup", "-D", str(self.data), "-h", str(primary.data), "-U", "postgres", "-R", "-c", "fast", check=True)
            # The copy of the primary's folder has the lock of its socket.
            (self.data / ".s.PGSQL.5432.lock").unlink()
        else:
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
        with open(self.folder / "log-postgres", "ab") as log:
            return subprocess.run([*self.prefix, str(self.programs / program), *arguments], check=check, stdout=subprocess.DEVNULL, stderr=log)

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

    def query(self, *statements):
        """Runs statements as the superuser; returns what they print."""
        return subprocess.run(
            [*self.prefix, str(self.programs / "psql"), "-h", str(self.data), "-U", "postgres", "-qAt", *(part for one in statements for part in ("-c", one))],
            check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def make_standby(self):
        """Starts a standby for which each commit waits from now on, and returns it."""
        standby = Cluster(self.folder, self.commit_milliseconds, primary=self)
        self.query("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        limit = time.monotonic() + 30
        while self.query("SELECT sync_state FROM pg_stat_replication") != "sync":
            if time.monotonic() > limit:
                sys.exit("failover-test: the standby of PostgreSQL does not follow\n" + (self.folder / "log-postgres").read_text()[-2000:])
            time.sleep(0.05)
        return standby

    def stop_waiting(self):
        """Ends the waiting of commits for a standby."""
        self.query("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")

    def promote(self):
        """Ends the recovery of a standby, which waits for no other one: it was copied before its primary waited for it."""
        self.run("pg_ctl", "promote", "-w", "-D", str(self.data), check=True)

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
