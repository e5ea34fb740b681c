"""Sixty machines on two stores, or as many as the variable says: nobody is signed out.

    python -m pytest Tests/PostgreSQL/test_fleet.py
    EINLASS_STORM=200 python -m pytest Tests/PostgreSQL/test_fleet.py
"""
import os
import threading

import pytest

from machines import Fleet
from rotation import PATIENCE

pytestmark = pytest.mark.usefixtures("built")
MACHINES = int(os.environ.get("EINLASS_STORM", "60"))
ACCOUNTS = 4


def all_ask(fleets):
    """Returns the tokens by account, after every machine has asked for every account at the same time."""
    asked = [(fleet, process, account, process.send("credentials.get", account=account))
             for fleet in fleets for account in fleet.families for process in fleet.processes]
    got = {}
    for fleet, process, account, number in asked:
        answer = process.answer(number)
        assert answer and "result" in answer, answer
        got.setdefault(account, set()).add(answer["result"]["credential"]["token"])
    return got


@pytest.fixture
def fleets(start_cluster):
    cluster = start_cluster(max_connections=2 * MACHINES + 50)
    fleets = [Fleet(cluster, name, 1) for name in ("first", "second")]
    for fleet in fleets:
        fleet.grow(MACHINES // 2 - 1)
    yield fleets
    for fleet in fleets:
        fleet.close()


def test_many_machines_on_two_stores_refresh_each_account_once(fleets):
    for round in (1, 2):
        for fleet in fleets:
            fleet.families = dict(fleet.add(f"user{number}") for number in range(ACCOUNTS))
        got = all_ask(fleets)
        for fleet in fleets:
            assert len(fleet.provider.requests) == round * ACCOUNTS
            for account, family in fleet.families.items():
                family = fleet.provider.families[family]
                assert got[account] == {family["access"]} and not family["revoked"]
            assert {entry["health"] for entry in fleet.accounts()} == {"ok"}


def test_the_control_without_leases_an_account_is_signed_out(shared):
    """The provider holds the first request until a second one arrives."""
    fleet = Fleet(shared, "leaseless", 4, "--test")
    for process in fleet.processes:
        process.call("test.withoutLeases")
    account, family = fleet.add()
    second = threading.Event()
    fleet.provider.gate = lambda number, when: second.set() if number else second.wait(PATIENCE)
    fleet.get(account)
    assert len(fleet.provider.requests) > 1 and fleet.provider.families[family]["revoked"]
    assert fleet.processes[0].call("accounts.renew", account=account)["result"]["result"] == "rejected"
    fleet.close()
