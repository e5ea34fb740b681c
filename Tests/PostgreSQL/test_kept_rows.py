"""The rows that a machine has kept, while others rotate the key, or move or drop the store.

    python -m pytest Tests/PostgreSQL/test_kept_rows.py
"""
import os
import subprocess
import time

import pytest

import pooler
from machines import Fleet
from rotation import EINLASS, PATIENCE

pytestmark = pytest.mark.usefixtures("built")
CONTROL = os.environ.get("EINLASS_CONTROL", str(EINLASS).removesuffix("einlass") + "einlassctl")


def test_a_rotated_key_reaches_the_machines_that_run(shared):
    fleet = Fleet(shared, "rotated", 2)
    try:
        accounts = [fleet.add(name)[0] for name in ("ada", "bob")]
        one, two = fleet.processes
        assert "result" in two.call("credentials.get", account=accounts[0])
        assert "result" in one.call("store.rotateKey")
        for account in reversed(accounts):
            assert "result" in two.call("credentials.get", account=account)
        _, credential = fleet.provider.family()
        credential["expiresAt"] = int(time.time()) + 3600
        added = two.call("accounts.add", provider="rotating", username="cy", credential=credential)["result"]["account"]
        # A machine that starts now, and the one that has rotated the key, open what the other one has sealed.
        for process in fleet.grow(1) + [one]:
            for account in [*accounts, added]:
                assert "result" in process.call("credentials.get", account=account)
    finally:
        fleet.close()


def move(fleet):
    machine = fleet.machines[0]
    fleet.processes.pop(0).close()
    deadline = time.monotonic() + PATIENCE
    while True:
        done = subprocess.run(
            [CONTROL, "store", "move", fleet.address, str(machine.folder / "moved.db"), "--key-file", str(machine.key), "--config",
             str(machine.folder / "config.json")], env=machine.environment | {"EINLASS": EINLASS}, capture_output=True, text=True)
        if done.returncode == 0:
            return
        # A lease ends a moment after the answer.
        assert "under way" in done.stderr and time.monotonic() < deadline, done.stderr


def drop(fleet):
    fleet.cluster.sql(f'DROP SCHEMA "einlass_{fleet.store}" CASCADE')


@pytest.mark.parametrize("take_away", [move, drop])
def test_a_refresh_token_of_a_store_that_has_gone_is_not_spent(shared, take_away):
    fleet = Fleet(shared, f"gone_{take_away.__name__}", 2)
    try:
        account, family = fleet.add()
        two = fleet.processes[1]
        assert "result" in two.call("credentials.get", account=account)
        take_away(fleet)
        before = len(fleet.provider.requests)
        answer = two.call("credentials.get", account=account, minValiditySeconds=7200)
        assert answer["error"]["data"]["reason"] == "unknownAccount", answer
        assert len(fleet.provider.requests) == before
    finally:
        fleet.close()


@pytest.mark.parametrize("take_away", [move, drop])
def test_no_token_of_a_store_that_has_gone_is_handed_out(shared, take_away):
    """Behind a pooler nothing is heard, so the machine asks for the revision every two seconds."""
    if pooler.WHY_NOT:
        pytest.skip(pooler.WHY_NOT)
    with pooler.Pooler(shared, "transaction") as front:
        store = f"kept_{take_away.__name__}"
        fleet = Fleet(shared, store, 2, address=front.address(store))
        try:
            account, _ = fleet.add()
            two = fleet.processes[1]
            # It notices after two seconds that it hears nothing, and keeps the rows that it reads from then on.
            deadline = time.monotonic() + 4
            while time.monotonic() < deadline:
                assert "result" in two.call("credentials.get", account=account)
                time.sleep(0.2)
            take_away(fleet)
            deadline = time.monotonic() + 10
            while "result" in (answer := two.call("credentials.get", account=account)):
                assert time.monotonic() < deadline, "the kept token is handed out without end"
                time.sleep(0.2)
            assert answer["error"]["data"]["reason"] == "unknownAccount", answer
        finally:
            fleet.close()
