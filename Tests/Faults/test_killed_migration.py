"""A process is killed while it migrates a store of an older schema: the store has the old schema or the new one."""
import functools
import os
import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from stores import ROUNDS, Einlass, Home

OLD = 1
# Enough rows that copying and migrating the store takes a while.
GRANTS = 20_000
USERNAMES = {f"user{number}" for number in range(6)}
FOLDER = Path(__file__).parent


@functools.cache
def newest():
    """Returns the schema version of a new store."""
    with Home() as home, Einlass(home) as process:
        process.add("somebody")
        return process.call("store.status")["schema"]


def store_of_schema_1():
    home = Home()
    for folder in (home.data, home.keys):
        folder.mkdir(mode=0o700)
    shutil.copyfile(FOLDER / "schema1.key", home.keys / "key")
    connection = sqlite3.connect(home.database)
    connection.executescript((FOLDER / "schema1.sql").read_text())
    connection.execute("""
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
        INSERT INTO access_grant SELECT 'application' || n, 'example', 'denied', '', NULL, n FROM number""", (GRANTS,))
    connection.commit()
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    for file in (home.database, home.keys / "key"):
        file.chmod(0o600)
    return home


@pytest.fixture(scope="module")
def old():
    with store_of_schema_1() as home:
        yield home


def schema(home):
    """Returns the store's schema version; fails for a mixture of two schemas."""
    version = home.sql("PRAGMA user_version")[0][0]
    columns = [row[1] for row in home.sql("PRAGMA table_info(access_grant)")]
    assert version in (OLD, newest()) and ("includes" in columns) == (version > OLD), f"schema {version} with {columns}"
    assert home.sql("SELECT count(*) FROM access_grant") == [(GRANTS + 1,)]
    assert home.sql("PRAGMA integrity_check") == [("ok",)]
    return version


def copies(home):
    return sorted(path.name for path in home.data.iterdir() if ".schema1." in path.name)


def judge(home):
    """Returns the schema after a kill. The next process must complete the migration."""
    # Looks at a copy, because opening the store would complete an interrupted change.
    with home.copy() as seen:
        found = schema(seen)
    if found != OLD:
        assert len(copies(home)) == 1, "migrated without a copy"
    assert set(home.accounts()) == USERNAMES
    assert schema(home) == newest()
    (name,) = copies(home)
    with home.copy() as seen:
        seen.database = seen.data / name
        assert schema(seen) == OLD
        assert set(seen.accounts()) == USERNAMES, "the copy does not open"
    return found


def stage(home):
    """Returns the stage of the migration, from the files beside the store."""
    names = os.listdir(home.data)
    if any(".schema1." in name and ".new" not in name for name in names):
        return "copied"
    return "copying" if any(".new" in name for name in names) else "not begun"


def kill_at(moment, home, process, usual):
    """Kills the process at a random time, at the beginning or the end of its copy, or after its answer."""
    process.send("accounts.list")
    if moment == "any":
        time.sleep(random.uniform(0, usual))
    elif moment == "answered":
        process.message()
    else:
        while stage(home) not in (moment, "copied"):
            assert process.process.poll() is None
    process.kill()


def test_a_kill_leaves_the_old_schema_or_the_new_one(old, report):
    with old.copy() as home, Einlass(home) as process:
        start = time.monotonic()
        assert len(process.accounts()) == len(USERNAMES)
        usual = time.monotonic() - start
    found = []
    for number in range(ROUNDS):
        with old.copy() as home:
            kill_at(["any", "any", "copying", "copied", "answered"][number % 5], home, Einlass(home), usual)
            is_begun = stage(home) != "not begun"
            found.append((judge(home), is_begun))
    interrupted, new = found.count((OLD, True)), found.count((newest(), True))
    report(rounds=ROUNDS, old=ROUNDS - new, interrupted=interrupted, new=new)
    if ROUNDS >= 20:
        assert interrupted > 0 and new > 0, "no kill fell into the migration, or none after it"


def test_the_negative_control_a_migration_in_two_steps_is_found(old):
    with old.copy() as home:
        home.sql("ALTER TABLE access_grant ADD COLUMN includes TEXT NOT NULL DEFAULT ''")
        with pytest.raises(AssertionError, match="schema 1 with"):
            judge(home)
