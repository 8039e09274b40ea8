"""PostgreSQL on a unix socket in a temporary folder."""

import os
import pathlib
import shutil
import signal
import subprocess
import time


class Cluster:
    """A server of Debian's PostgreSQL with a cluster of its own; root runs it as the user postgres, because it refuses root."""

    def __init__(self, folder):
        self.folder, self.data = folder, folder / "cluster"
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        if not programs:
            raise SystemExit("failover-test: PostgreSQL is missing; install it with: apt-get install postgresql")
        self.programs = programs[-1]
        self.prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        self.data.mkdir()
        if self.prefix:
            # The folders above are this user's only.
            folder.chmod(0o711)
            shutil.chown(self.data, "postgres")
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8")
        self.start()

    @property
    def address(self):
        """The keywords of a connection, without the database."""
        return f"host={self.data} user=postgres"

    def run(self, program, *arguments):
        subprocess.run([*self.prefix, str(self.programs / program), *arguments], check=True, stdout=subprocess.DEVNULL)

    def start(self):
        options = f"-c listen_addresses='' -c unix_socket_directories={self.data} -c max_connections=50"
        self.run("pg_ctl", "-D", str(self.data), "-o", options, "-l", str(self.data / "log"), "-w", "start")

    def kill(self):
        """Ends the server as the end of its machine would."""
        process = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(process, signal.SIGKILL)
        # Its children end by themselves, when they notice it.
        while subprocess.run(["pgrep", "-P", str(process)], stdout=subprocess.DEVNULL).returncode == 0 or pathlib.Path(f"/proc/{process}").exists():
            time.sleep(0.05)

    def stop(self):
        self.run("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")

    def create(self, name):
        self.run("createdb", "-h", str(self.data), "-U", "postgres", name)


if __name__ == "__main__":
    import sys
    import tempfile

    # Runs a command with the address of a new server in REPLICATION_TEST_POSTGRES.
    with tempfile.TemporaryDirectory() as name:
        cluster = Cluster(pathlib.Path(name))
        try:
            status = subprocess.run(sys.argv[1:], env={**os.environ, "REPLICATION_TEST_POSTGRES": cluster.address}).returncode
        finally:
            cluster.stop()
            if os.geteuid() == 0:
                shutil.rmtree(cluster.data)
    sys.exit(status)
