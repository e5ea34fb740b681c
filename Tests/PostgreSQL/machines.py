"""Machines: einlass processes that share nothing but a database and copies of the key's file.

    fleet = Fleet(cluster, "team", 3)
    fleet = Fleet(cluster, "team", 3, reaching=wire.parameters)
"""
import os
import shutil
import tempfile
import time
from pathlib import Path

from cluster import FOLDER
from rotation import CLIENT, Process, World

FOLDERS = {"HOME": "home", "XDG_CONFIG_HOME": "home/.config", "XDG_DATA_HOME": "home/.local/share",
           "XDG_STATE_HOME": "home/.local/state", "XDG_CACHE_HOME": "home/.cache", "XDG_RUNTIME_DIR": "run"}


class Machine:
    """The folders of a machine."""

    def __init__(self, like=None):
        """`like` is the folder with the files that the machine gets a copy of."""
        self.folder = Path(tempfile.mkdtemp(prefix="machine-", dir=FOLDER))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PG", "EINLASS_"))}
        for name, path in FOLDERS.items():
            (self.folder / path).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.environment[name] = str(self.folder / path)
        if like:
            for name in ("providers.json", "config.json"):
                shutil.copy(like / name, self.folder / name)

    @property
    def key(self):
        return self.folder / "keys/key"

    @property
    def state(self):
        return self.folder / FOLDERS["XDG_STATE_HOME"] / "einlass"

    def take_key(self, other):
        self.key.parent.mkdir(mode=0o700)
        shutil.copy(other.key, self.key)

    def start(self, address, *options, is_introduced=True, **spawning):
        environment = self.environment | spawning.pop("env", {})
        return Process(self.folder, *options, store=address, is_introduced=is_introduced, env=environment, cwd=self.folder,
                       **spawning)

    def remove(self):
        shutil.rmtree(self.folder)


class Fleet(World):
    """A provider, a store in a database, and machines with a process each."""

    def __init__(self, cluster, store, count, *options, reaching={}, address=None, **provider):
        self.cluster, self.store = cluster, store
        self.address = address or cluster.address(store, **reaching)
        self.machines = []
        super().__init__(0, *options, **provider)
        self.is_in_database = True
        if count:
            # The first one makes the store and the key.
            self.processes = [self.spawn()]
            self.allow()
            self.grow(count - 1)

    def spawn(self, address=None, **spawning):
        machine = Machine(self.folder)
        if self.machines:
            machine.take_key(self.machines[0])
        self.machines.append(machine)
        process = machine.start(address or self.address, *self.options, **spawning)
        process.machine = machine
        return process

    def grow(self, count):
        """Starts machines at the same time."""
        new = [self.spawn(is_introduced=False) for _ in range(count)]
        numbers = [process.send("initialize", client={"name": "sharing"}, applications={"rotating": {"clientId": CLIENT}})
                   for process in new]
        for process, number in zip(new, numbers):
            assert "result" in process.answer(number)
        self.processes += new
        return new

    def rows(self, statement):
        return self.cluster.sql(statement, schema=f"einlass_{self.store}")

    def health(self, account, process=None):
        listed = (process or self.processes[0]).call("accounts.list")["result"]["accounts"]
        return next(entry["health"] for entry in listed if entry["account"] == account)

    def is_kept(self, account, family, process=None):
        """Whether this machine has the provider's current token in the store, without asking the provider."""
        before = len(self.provider.requests)
        answer = (process or self.processes[-1]).call("credentials.get", account=account)
        assert "result" in answer, answer
        return (len(self.provider.requests) == before
                and answer["result"]["credential"]["token"] == self.provider.families[family]["access"])

    def close(self):
        super().close()
        for machine in self.machines:
            machine.remove()


def timed(process, method, **params):
    """Returns the answer and the seconds until it came."""
    since = time.monotonic()
    answer = process.call(method, **params)
    return answer, time.monotonic() - since
