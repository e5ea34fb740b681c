"""Stores in files, or in a database as `place` says, and the processes that share them.

The tests judge a store's file with Python's SQLite, and each store with `store.check`.
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# Here and not in conftest.py, because some tests run their file again in a namespace, without pytest.
sys.path.append(str(Path(__file__).parents[1] / "Oracles"))

from place import ADDRESS, place, rows

PROJECT = Path(__file__).parents[2]
EINLASS = os.environ.get("EINLASS_BINARY", str(PROJECT / ".build/release-static/release/einlass"))
# Rounds of each random test; `Tests/run --only long` sets more.
ROUNDS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "50"))
# Turns a hang into a failure; no test measures with it.
PATIENCE_SECONDS = 300


class Home:
    """A private folder for a store and its key."""

    def __init__(self, folder=None):
        self.path = Path(tempfile.mkdtemp(prefix="einlass-", dir=folder))
        self.data, self.keys = self.path / "data", self.path / "keys"
        self.database = self.data / "store.db"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def copy(self):
        """Returns another home with a copy of the files."""
        other = Home()
        for name in ("data", "keys"):
            if (self.path / name).exists():
                shutil.copytree(self.path / name, other.path / name)
        return other

    @property
    def options(self):
        return ["--store", place(self.database), "--key-file", str(self.keys / "key")]

    def sql(self, *statements):
        """Runs the statements with Python's SQLite, or in the database, and returns the rows of the last one."""
        if ADDRESS:
            return rows(self.database, *statements)
        connection = sqlite3.connect(self.database, isolation_level=None)
        try:
            return [connection.execute(statement).fetchall() for statement in statements][-1]
        finally:
            connection.close()

    def accounts(self):
        """Returns display names by username from a new process, after it has found the whole store sound."""
        with Einlass(self) as process:
            check = process.call("store.check")
            assert check["sound"], check
            accounts = process.accounts()
            assert check["accounts"] == len(accounts)
            assert check["sealedValues"] == 3 * len(accounts), "an account without its secrets"
        if accounts and not ADDRESS:
            assert self.sql("PRAGMA integrity_check") == [("ok",)]
        return {account["username"]: account.get("displayName") for account in accounts}


class Refused(Exception):
    """A request was answered with an error."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error
        self.detail = error["data"].get("detail")


class Ended(Exception):
    """The process's output ended before the answer."""


class Einlass:
    """An einlass process. The methods send one request at a time."""

    def __init__(self, home, *options, **spawning):
        self.process = subprocess.Popen([EINLASS, *home.options, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **spawning)
        self.next_id = 0
        self.hangs = False
        self.watch = threading.Timer(PATIENCE_SECONDS, self.give_up)
        self.watch.daemon = True
        self.watch.start()

    def give_up(self):
        self.hangs = True
        self.process.kill()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.kill()
        else:
            self.end()

    def send(self, method, **params):
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Ended from error
        return self.next_id

    def message(self):
        """Returns the next message; raises `Ended` at the end of the output."""
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            if self.hangs:
                raise TimeoutError(f"no answer within {PATIENCE_SECONDS} s")
            raise Ended
        return json.loads(line)

    def call(self, method, **params):
        """Returns the result of a request and skips notifications."""
        asked = self.send(method, **params)
        while True:
            message = self.message()
            if message.get("id") == asked:
                if "error" in message:
                    raise Refused(message["error"])
                return message["result"]

    def add(self, username):
        return self.call("accounts.add", provider="twitter", username=username,
                         credential={"type": "oauth1", "key": f"key of {username}", "secret": "s",
                                     "clientId": "c", "clientSecret": "z"})["account"]

    def fill(self, usernames):
        """Adds accounts until three were refused, because SQLite's files may have room left after the first refusal.
        Returns the acknowledged and the refused usernames."""
        added, refused = set(), set()
        for name in usernames:
            try:
                self.add(name)
                added.add(name)
            except Refused as refusal:
                assert refusal.detail == "full", refusal.error
                refused.add(name)
            if len(refused) == 3:
                return added, refused
        raise AssertionError("there is room without end")

    def accounts(self):
        accounts, cursor = [], {}
        while True:
            page = self.call("accounts.list", **cursor)
            accounts += page["accounts"]
            if "nextCursor" not in page:
                return accounts
            cursor = {"cursor": page["nextCursor"]}

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.watch.cancel()
        self.close()

    def end(self):
        """Closes the input; the process must exit with code 0."""
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.watch.cancel()
        self.process.stdout.close()

    def close(self):
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def pause(seconds):
    """Sleeps a random time, so that a kill falls at a random moment."""
    time.sleep(random.uniform(0, seconds))
