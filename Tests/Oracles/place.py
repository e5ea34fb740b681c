"""The store of a test: a file, or with this variable a store of its own in a PostgreSQL database.

    EINLASS_TEST_STORE='postgresql://einlass@/einlass?host=/tmp/sockets' python -m pytest Tests/Processes/test_sharing.py

Tests/PostgreSQL/run_suites starts a server and runs the suites with it.
"""
import csv
import hashlib
import io
import os
import subprocess

import pytest

ADDRESS = os.environ.get("EINLASS_TEST_STORE")


def place(path):
    """Returns the value of `--store` for the store with this path."""
    if not ADDRESS:
        return str(path)
    return f"{ADDRESS}{'&' if '?' in ADDRESS else '?'}einlass_store={name(path)}"


def name(path):
    return "t" + hashlib.sha256(str(path).encode()).hexdigest()[:30]


def rows(path, *statements):
    """Runs the statements in the schema of this store. Returns the rows, as text."""
    return sql(ADDRESS, f"einlass_{name(path)}", *statements)


def sql(address, schema, *statements):
    # In one transaction, because a pooler may give the next one to another session.
    command = ["psql", "-XqAt1", "--csv", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", f"SET LOCAL search_path TO {schema}"]
    for statement in statements:
        command += ["-c", statement]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [tuple(row) for row in csv.reader(io.StringIO(done.stdout))]


def about_files(why):
    """Marks a test that has no meaning for a store in a database."""
    return pytest.mark.skipif(bool(ADDRESS), reason=f"skipped with a store in a database: {why}")
