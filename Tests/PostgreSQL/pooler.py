"""pgbouncer in front of a PostgreSQL server."""
import os
import shutil
import subprocess
import time

from cluster import DATABASE, PATIENCE, ROLE, as_keeper, folder, free_port, give

PROGRAM = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
WHY_NOT = None if PROGRAM else "skipped: there is no pgbouncer"
CONFIGURATION = """
[databases]
{database} = host={sockets} port={port}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {own}
pool_mode = {mode}
auth_type = trust
auth_file = {folder}/users
max_client_conn = 500
default_pool_size = {size}
logfile = {folder}/log
pidfile =
"""


class Pooler:
    """A pooler with one mode, `session` or `transaction`."""

    def __init__(self, cluster, mode, size=20):
        self.cluster, self.mode = cluster, mode
        self.folder, self.port = folder("pool-"), free_port()
        (self.folder / "users").write_text(f'"{ROLE}" ""\n')
        (self.folder / "ini").write_text(CONFIGURATION.format(
            database=DATABASE, sockets=cluster.sockets, port=cluster.port, folder=self.folder, own=self.port, mode=mode,
            size=size))
        give(self.folder / "users", self.folder / "ini")
        self.process = subprocess.Popen(as_keeper(PROGRAM, "-q", self.folder / "ini"), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not (self.folder / f".s.PGSQL.{self.port}").exists():
            assert self.process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)
        shutil.rmtree(self.folder)

    @property
    def parameters(self):
        return {"host": self.folder, "port": self.port}

    def address(self, store=None):
        return self.cluster.address(store, **self.parameters)
