"""Machines with one store in PostgreSQL: einlass processes that share a database and a copy of the key, nothing else."""

import http.client
import itertools
import json
import os
import pathlib
import selectors
import shutil
import sys
import time

from .process import EINLASS, ROOT, Session
from .provider import Provider

sys.path.append(str(ROOT / "Tests/PostgreSQL"))
import cluster as clusters  # noqa: E402

FOLDERS = {"HOME": "home", "XDG_CONFIG_HOME": "home/config", "XDG_DATA_HOME": "home/data", "XDG_STATE_HOME": "home/state",
           "XDG_CACHE_HOME": "home/cache", "XDG_RUNTIME_DIR": "run"}
DESCRIPTOR = {"providers": [{
    "id": "bench", "name": "Bench", "accounts": "many", "registration": ["clientId"],
    "setup": {"documentation": "https://example.org"},
    "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://bench.example/authorize"},
               "token": {"method": "POST", "url": "https://bench.example/token"}, "refresh": {},
               "clientAuthentication": "none"}]}]}


class Machine:
    """A folder of its own with the files of an einlass process, and a copy of another machine's key."""

    def __init__(self, stores, port, key=None):
        self.folder = stores.path / f"machine-{time.monotonic_ns()}"
        self.folder.mkdir(mode=0o700)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PG"))}
        for name, path in FOLDERS.items():
            (self.folder / path).mkdir(mode=0o700, parents=True)
            self.environment[name] = str(self.folder / path)
        self.key = self.folder / "keys/key"
        self.key.parent.mkdir(mode=0o700)
        if key:
            shutil.copy(key, self.key)
        configuration = {"origins": {"https://bench.example": f"http://127.0.0.1:{port}"},
                         "applications": {"*": {"bench": {"clientId": "application"}}}}
        for name, content in (("providers.json", DESCRIPTOR), ("config.json", configuration)):
            (self.folder / name).write_text(json.dumps(content))
            (self.folder / name).chmod(0o600)

    def start(self, store, listens=True):
        """Starts einlass. `listens`: whether it is told of changes by other machines, as after `initialize`."""
        files = [option for name, path in (("--key-file", self.key), ("--providers", self.folder / "providers.json"),
                                           ("--config", self.folder / "config.json")) for option in (name, str(path))]
        session = Session([EINLASS, "--store", store, *files], environment=self.environment)
        if listens:
            session.request("initialize", {"client": {"name": "benchmarks"}})
        return session


class Fleet:
    """A provider that rotates refresh tokens, and a store with accounts; the first one has the number 0."""

    def __init__(self, stores, store=None):
        self.stores, self.provider = stores, Provider()
        self.first = Machine(stores, self.provider.port)
        self.store = store or str(self.first.folder / "store.db")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.provider.__exit__()

    def start(self, **options):
        machine = Machine(self.stores, self.provider.port, self.first.key) if self.first.key.exists() else self.first
        return machine.start(self.store, **options)

    @staticmethod
    def end(sessions):
        """Ends the sessions by the end of their input, because a killed process keeps its leases for 45 seconds."""
        for session in sessions:
            session.process.stdin.close()
        for session in sessions:
            while os.read(session.out, 1 << 20):
                pass
            session.process.wait()
            session.process.stdout.close()

    def add(self, session, numbers):
        """Adds accounts and lets applications have their tokens. Returns their ids."""
        added = [session.request("accounts.add", {
            "provider": "bench", "username": f"person{number}", "credential": {
                "type": "oauth2", "clientId": "application", "token": f"a{number}.0", "refreshToken": f"{number}.0",
                "expiresAt": int(time.time()) + 86_400}})["account"] for number in numbers]
        # Without `initialize` an application is anonymous.
        for application in ("benchmarks", "anonymous"):
            session.request("access.set", {"provider": "bench", "application": application, "state": "granted"})
        return added

    def asked(self, path):
        """Returns the provider's number of requests for a token (`/count`) or of reused refresh tokens (`/reused`)."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.provider.port))
        try:
            connection.request("GET", path)
            return int(connection.getresponse().read())
        finally:
            connection.close()


def refreshes(sessions, accounts, seconds):
    """Each session refreshes its share of the accounts, one after the other, again and again for this time. Returns the
    number of new tokens, the number of refusals because an account's lease was held, and the seconds until the last
    answer."""
    shares = {session: itertools.cycle(accounts[index::len(sessions)]) for index, session in enumerate(sessions)}
    rest, waiting, count, refused = dict.fromkeys(sessions, b""), set(), 0, 0
    begin = time.perf_counter()

    def ask(session):
        if time.perf_counter() - begin < seconds:
            session.send("credentials.get", {"account": next(shares[session]), "forceRefresh": True}, 7)
            waiting.add(session)
    with selectors.DefaultSelector() as selector:
        for session in sessions:
            selector.register(session.out, selectors.EVENT_READ, session)
            ask(session)
        while waiting:
            for key, _ in selector.select():
                session = key.data
                lines = (rest[session] + os.read(session.out, 1 << 20)).split(b"\n")
                rest[session] = lines.pop()
                for line in lines:
                    # The others are notifications.
                    if line.startswith(b'{"jsonrpc":"2.0","id":7,'):
                        if b'"detail":"locked"' in line:
                            refused += 1
                        elif b'"error":' in line[:80]:
                            raise RuntimeError(line.decode())
                        else:
                            count += 1
                        waiting.remove(session)
                        ask(session)
    for session in sessions:
        session.rest = rest[session]
    return count, refused, time.perf_counter() - begin


def processor_seconds(pids):
    """Returns the processor time of these processes so far, in seconds."""
    ticks = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def idle_seconds():
    """Returns the idle time of all processors so far, in seconds."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")
