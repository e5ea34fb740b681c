"""Machines that reach their database by the server's socket, or by pgbouncer in either mode.

    python -m pytest Tests/PostgreSQL/test_poolers.py
"""
import time

import pytest

import pooler
from machines import Fleet

pytestmark = pytest.mark.usefixtures("built")
# The seconds until another machine's change is announced. In transaction mode einlass asks every two seconds.
SOON = {"socket": 1, "session": 1, "transaction": 4}


@pytest.fixture(params=SOON)
def way(request, shared):
    """Yields the name of the way to the server and libpq's parameters for it."""
    if request.param == "socket":
        yield request.param, {}
    elif pooler.WHY_NOT:
        pytest.skip(pooler.WHY_NOT)
    else:
        with pooler.Pooler(shared, request.param, size=40) as front:
            yield request.param, front.parameters


def heard(process, method, since):
    process.wait_for(method)
    return time.monotonic() - since


def test_a_change_of_another_machine_is_announced(shared, way):
    name, parameters = way
    fleet = Fleet(shared, f"announced_{name}", 2, reaching=parameters)
    here, there = fleet.processes
    # The self-test of the notifications has ended.
    time.sleep(2.5)
    for number in range(3):
        there.notifications.clear()
        since = time.monotonic()
        fleet.add(f"user{number}")
        assert heard(there, "accounts.changed", since) < SOON[name]
    fleet.close()


def test_a_change_within_the_self_test_is_announced(shared, way):
    name, parameters = way
    fleet = Fleet(shared, f"early_{name}", 1, reaching=parameters)
    late, = fleet.grow(1)
    since = time.monotonic()
    fleet.add()
    assert heard(late, "accounts.changed", since) < SOON[name] + 2
    fleet.close()


def test_eight_machines_refresh_once(shared, way):
    name, parameters = way
    fleet = Fleet(shared, f"refresh_{name}", 8, reaching=parameters)
    for number in range(5):
        account, family = fleet.add(f"user{number}")
        before = len(fleet.provider.requests)
        got = {answer["result"]["credential"]["token"] for answer in fleet.get(account)}
        assert got == {fleet.provider.families[family]["access"]}
        assert len(fleet.provider.requests) == before + 1
        assert fleet.is_kept(account, family)
    fleet.close()
