"""A network that hangs: nothing is reset, and nothing arrives.

    python -m pytest Tests/PostgreSQL/test_hanging.py
"""
import subprocess
import time

import pytest

from cluster import Cluster
from machines import Fleet, timed
from network import FAR, Network
from tls import House

pytestmark = pytest.mark.usefixtures("built")
# The seconds within which a request that needs the database fails, an immediate request behind it is answered, and
# one alone.
BOUND, BEHIND, AT_ONCE = 30, 3, 1
IMMEDIATE = [
    ("accounts.list", {}), ("access.list", {}), ("providers.list", {}), ("prompt.list", {}), ("auth.list", {}),
    ("network.status", {}), ("rpc.discover", {}), ("settings.get", {"provider": "rotating"}), ("users.current", {}),
    ("users.list", {})]
# These ask the database. The immediate requests after them keep the order, for two seconds at most.
ASKING = [
    ("accounts.update", {"displayName": "Ada"}), ("access.set", {"provider": "rotating", "state": "granted"}),
    ("credentials.get", {"forceRefresh": True}), ("store.status", {})]


def test_requests_end_and_immediate_ones_do_not_wait(shared, wire):
    fleet = Fleet(shared, "hanging", 1, reaching=wire.parameters)
    process, = fleet.processes
    account, family = fleet.add()
    token = fleet.get(account)[0]["result"]["credential"]["token"]
    requests = len(fleet.provider.requests)
    used = [(method, {"account": account, **params} if method in ("accounts.update", "credentials.get") else params)
            for method, params in ASKING]
    for method, params in IMMEDIATE:
        assert "result" in process.call(method, **params), method
    time.sleep(2.5)
    wire.freeze()
    since = time.monotonic()
    plain = subprocess.Popen(["psql", "-Xq", "-d", shared.address(**wire.parameters), "-c", "SELECT 1"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for method, params in [*IMMEDIATE, ("credentials.get", {"account": account})] * 2:
        answer, seconds = timed(process, method, **params)
        assert "result" in answer and seconds < AT_ONCE, (method, seconds, answer)
        if method == "credentials.get":
            assert answer["result"]["credential"]["token"] == token
    waiting = [process.send(method, **params) for method, params in used]
    for method, params in IMMEDIATE:
        answer, seconds = timed(process, method, **params)
        assert answer and seconds < BEHIND, (method, seconds, answer)
    for number in waiting:
        answer = process.answer(number)
        assert answer["error"]["code"] == 1009 and answer["error"]["data"]["detail"] == "unreachable", answer
        assert answer["error"]["data"]["retryable"]
    assert time.monotonic() - since < BOUND
    # The control: a plain client still waits.
    assert plain.poll() is None
    plain.kill()
    plain.wait()
    assert len(fleet.provider.requests) == requests
    wire.thaw()
    deadline = time.monotonic() + BOUND
    while "error" in process.call("accounts.update", account=account, displayName="Grace"):
        assert time.monotonic() < deadline
    assert fleet.accounts()[0]["displayName"] == "Grace"
    fleet.close()


def test_a_start_against_a_hanging_server_ends_too(shared, wire):
    fleet = Fleet(shared, "starting", 1, reaching=wire.parameters)
    wire.freeze()
    since = time.monotonic()
    late = fleet.spawn(is_introduced=False)
    answer = late.call("store.check")
    assert (answer["error"]["code"], answer["error"]["data"]["detail"]) == (1009, "unreachable")
    assert time.monotonic() - since < BOUND
    answer, seconds = timed(late, "network.status")
    assert "result" in answer and seconds < AT_ONCE
    since = time.monotonic()
    late.close()
    assert time.monotonic() - since < 2
    wire.thaw()
    fleet.close()


def test_a_refused_connection_is_reported_at_once(shared, wire):
    fleet = Fleet(shared, "refusing", 1, reaching=wire.parameters)
    account, family = fleet.add()
    wire.refuse()
    answer, seconds = timed(fleet.processes[0], "accounts.update", account=account, displayName="Ada")
    assert answer["error"]["data"]["detail"] == "unreachable" and answer["error"]["data"]["retryable"] and seconds < 5
    wire.refuse(False)
    # The next request connects again.
    assert "result" in fleet.processes[0].call("accounts.update", account=account, displayName="Ada")
    fleet.close()


def test_a_change_during_an_interruption_is_announced_afterwards(shared, wire):
    fleet = Fleet(shared, "interrupted", 1)
    cut = fleet.spawn(shared.address("interrupted", **wire.parameters))
    fleet.add("ada")
    cut.wait_for("accounts.changed")
    cut.notifications.clear()
    wire.refuse()
    fleet.add("grace")
    wire.refuse(False)
    since = time.monotonic()
    cut.wait_for("accounts.changed")
    assert time.monotonic() - since < 10
    cut.close()
    fleet.close()


@pytest.fixture
def network():
    network = Network()
    yield network
    network.close()


def test_lost_packets_are_noticed(template, network, tmp_path):
    with Cluster(template, inside=network.far.inside, listen_addresses="*") as cluster:
        house = House(cluster, tmp_path, hostaddr=FAR)
        fleet = Fleet(cluster, "lost", 0, address=house.address("lost", "certified", **house.by_certificate))
        process = fleet.spawn(before=network.near.inside)
        fleet.processes = [process]
        account, family = fleet.add()
        network.lose()
        answer, seconds = timed(process, "accounts.update", account=account, displayName="Ada")
        assert answer["error"]["data"]["detail"] == "unreachable" and seconds < BOUND, (answer, seconds)
        assert timed(process, "network.status")[1] < AT_ONCE and timed(process, "accounts.list")[1] < BOUND
        network.heal()
        deadline = time.monotonic() + BOUND
        while "error" in process.call("accounts.update", account=account, displayName="Grace"):
            assert time.monotonic() < deadline
        fleet.add("alan")
        process.wait_for("accounts.changed")
        fleet.close()
