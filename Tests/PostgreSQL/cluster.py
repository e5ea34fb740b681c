"""PostgreSQL servers in temporary folders.

    cluster = Cluster(template, fsync="on")
    cluster.sql("SELECT 1")
    cluster.address("team")             # the store `team` in its database
"""
import csv
import glob
import io
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

FOLDER = "/tmp"  # because the path of a socket has at most 107 bytes
PROGRAMS = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), reverse=True)), None)
WHY_NOT = None if PROGRAMS else "skipped: there is no PostgreSQL server"
PATIENCE = 60
DATABASE = ROLE = "einlass"

# Other users of this machine cannot enter the folder of the socket, so that every role of the tests may go in there.
ACCESS = """
local all einlass peer map=tests
local all,replication all trust
hostssl all certified all cert
host all all all scram-sha-256
"""
SETTINGS = {
    "listen_addresses": "", "max_connections": 100, "shared_buffers": "32MB", "fsync": "off", "log_min_messages": "warning",
    # The standby of a test is behind by as little as possible.
    "wal_receiver_status_interval": "1s", "max_wal_senders": 4, "wal_keep_size": "64MB"}


def program(name):
    return str(Path(PROGRAMS).with_name(name))


def keeper():
    """Returns the user of the servers, because these refuse to run as root; `None` for the own one."""
    if os.geteuid():
        return None
    names = {user.pw_name for user in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def as_keeper(*command):
    """Returns a command line for the user of the servers. The program ends with the thread that starts it."""
    user = keeper()
    change = ["--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--init-groups"] if user else []
    return ["setpriv", *change, "--pdeathsig", "QUIT", *map(str, command)]


def give(*paths):
    """Gives the files and folders to the user of the servers."""
    if user := keeper():
        for path in paths:
            shutil.chown(path, user, pwd.getpwnam(user).pw_gid)


def folder(prefix="pg-"):
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=FOLDER))
    give(made)
    return made


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, (command[0], done.stderr, done.stdout)
    return done.stdout


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def make_template(place):
    """Makes the files of a server with the role and the database of the tests; `Cluster` copies them."""
    give(place)
    data = place / "data"
    run(*as_keeper(program("initdb"), "-D", data, "--no-sync", "-E", "UTF8", "--locale=C", "-U", "postgres"))
    with Cluster(data) as cluster:
        cluster.sql(f"CREATE ROLE {ROLE} LOGIN", f"CREATE DATABASE {DATABASE} OWNER {ROLE}", database="postgres")
        cluster.stop()
        shutil.rmtree(data)
        shutil.copytree(cluster.data, data)
    return data


class Cluster:
    """A running server with the settings of the tests and these."""

    def __init__(self, template, inside=(), **settings):
        """`inside` is the beginning of a command line, for another network namespace."""
        self.folder, self.inside = folder(), list(inside)
        self.data, self.sockets = self.folder / "data", self.folder
        self.port = free_port()
        self.copy(template)
        self.set(**SETTINGS | {"unix_socket_directories": self.sockets, "port": self.port} | settings)
        self.write("pg_hba.conf", ACCESS)
        users = {pwd.getpwuid(os.geteuid()).pw_name, keeper() or ""} - {""}
        self.write("pg_ident.conf", "".join(f"tests {user} {ROLE}\n" for user in users))
        self.log = (self.folder / "log").open("w")
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def copy(self, template):
        shutil.copytree(template, self.data)
        for path in [self.data, *self.data.rglob("*")]:
            give(path)
        self.data.chmod(0o700)

    def write(self, name, text, mode="w"):
        path = self.data / name
        with path.open(mode) as file:
            file.write(text)
        give(path)
        return path

    def set(self, **settings):
        """Adds settings, which count at the next start or `reload`."""
        self.write("postgresql.auto.conf", "".join(f"{name} = '{value}'\n" for name, value in settings.items()), "a")

    def reload(self):
        self.sql("SELECT pg_reload_conf()", database="postgres")

    def start(self):
        """Starts the server and waits for its first answer. The server ends with this thread."""
        self.process = subprocess.Popen([*self.inside, *as_keeper(PROGRAMS, "-D", self.data)], stdout=self.log, stderr=self.log,
                                        cwd=self.folder)
        self.wait_until_ready()

    def wait_until_ready(self):
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([program("pg_isready"), "-q", "-h", self.sockets, "-p", str(self.port)]).returncode:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.02)

    def interrupt(self):
        """Ends every process of the server at once, as `pg_ctl stop -m immediate`, and does not wait for the end."""
        self.process.send_signal(signal.SIGQUIT)

    def stop(self):
        """Ends the server with its connections, as `pg_ctl stop -m fast`."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE) == 0

    def wait_for_end(self):
        self.process.wait(PATIENCE)

    def restart(self):
        self.wait_for_end()
        self.start()

    def close(self):
        if self.process.poll() is None:
            self.interrupt()
            self.wait_for_end()
        self.log.close()
        shutil.rmtree(self.folder)

    def sql(self, *statements, role="postgres", database=DATABASE, schema="public"):
        """Runs the statements, each in a session of its own. Returns the rows of the last one, as text."""
        environment = {**os.environ, "PGOPTIONS": f"-c search_path={schema}"}
        command = ["psql", "-XqAt", "--csv", "-v", "ON_ERROR_STOP=1", "-h", str(self.sockets), "-p", str(self.port), "-U", role,
                   "-d", database]
        for statement in statements[:-1]:
            run(*command, "-c", statement, env=environment)
        return [tuple(row) for row in csv.reader(io.StringIO(run(*command, "-c", statements[-1], env=environment)))]

    def address(self, store=None, role=ROLE, database=DATABASE, **parameters):
        """Returns the address of a store by the Unix socket, or by these parameters of libpq."""
        given = {"host": self.sockets, "port": self.port} | parameters
        return f"postgresql://{role}@/{database}?" + urlencode(
            {name: value for name, value in given.items() if value is not None} | ({"einlass_store": store} if store else {}),
            safe="/,:")

    def promote(self):
        """Makes a standby the primary server."""
        assert self.sql("SELECT pg_promote(true, 30)", database="postgres") == [("t",)]


class Standby(Cluster):
    """A copy of a running server that follows it, by its socket or by these parameters of libpq."""

    def __init__(self, primary, name, **reaching):
        self.primary = primary
        self.reaching = {"host": primary.sockets, "port": primary.port} | reaching
        self.name = name
        super().__init__(None, primary_conninfo=self.line(application_name=name), hot_standby="on")

    def line(self, **more):
        return " ".join(f"{name}={value}" for name, value in {"user": "postgres", **self.reaching, **more}.items())

    def copy(self, _):
        run(*as_keeper(program("pg_basebackup"), "-D", self.data, "-c", "fast", "--no-sync", "-X", "stream", "-d",
                       f"user=postgres host={self.primary.sockets} port={self.primary.port}"))
        # Settings of the primary that its standby must not have.
        kept = (self.data / "postgresql.auto.conf").read_text().splitlines(keepends=True)
        self.write("postgresql.auto.conf", "".join(line for line in kept if not line.startswith("synchronous_")))
        self.write("standby.signal", "")

    def wait_until_streaming(self):
        self.wait_until("state = 'streaming'")

    def wait_until_caught_up(self):
        """Waits until the standby has all that the primary has written until now."""
        end = self.primary.sql("SELECT pg_current_wal_flush_lsn()", database="postgres")[0][0]
        self.wait_until(f"replay_lsn >= '{end}'")

    def wait_until(self, condition):
        deadline = time.monotonic() + PATIENCE
        ask = f"SELECT 1 FROM pg_stat_replication WHERE application_name = '{self.name}' AND {condition}"
        while self.primary.sql(ask, database="postgres") != [("1",)]:
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.05)
