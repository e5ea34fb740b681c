"""The primary server is lost, and its standby takes its place.

    python -m pytest Tests/PostgreSQL/test_standby.py
"""
import threading
import time

import pytest

from cluster import Standby, free_port
from machines import Fleet
from wire import Wire, socket_of

pytestmark = pytest.mark.usefixtures("built")


class Pair:
    """Two servers, and the wire between them."""

    def __init__(self, start_cluster, is_synchronous):
        self.first = start_cluster()
        self.between = Wire(socket_of(self.first))
        self.second = Standby(self.first, "second", **self.between.parameters)
        self.second.wait_until_streaming()
        if is_synchronous:
            self.first.set(synchronous_standby_names="*")
            self.first.reload()

    def fleet(self, store, count):
        hosts = {"host": f"{self.first.sockets},{self.second.sockets}", "port": f"{self.first.port},{self.second.port}"}
        return Fleet(self.first, store, count, reaching=hosts)

    def fail_over(self):
        """Loses the first server for good."""
        self.first.interrupt()
        self.first.wait_for_end()
        self.second.promote()

    def close(self):
        self.between.close()
        self.second.close()


@pytest.fixture
def pair(start_cluster, request):
    pair = Pair(start_cluster, request.param)
    yield pair
    pair.close()


def synchronous(is_synchronous):
    return pytest.mark.parametrize("pair", [is_synchronous], indirect=True, ids=["synchronous" if is_synchronous else "asynchronous"])


@synchronous(True)
def test_a_token_that_waits_for_the_standby_outlives_the_primary(pair):
    """The standby is out of reach at the COMMIT, so the token is handed out after the failover, from the standby."""
    fleet = pair.fleet("waiting", 2)
    asking, other = fleet.processes
    calm, calm_family = fleet.add("calm")
    fleet.get(calm)
    account, family = fleet.add()
    rotated = threading.Event()

    def gate(number, when):
        if when == "after":
            pair.between.freeze()
            rotated.set()

    fleet.provider.gate = gate
    number = asking.send("credentials.get", account=account)
    assert rotated.wait(60)
    fleet.provider.gate = lambda number, when: None
    time.sleep(2)
    # Nothing is handed out before the standby has it.
    asking.call("network.status")
    assert number not in asking.answers
    pair.fail_over()
    answer = asking.answer(number)
    assert answer["result"]["credential"]["token"] == fleet.provider.families[family]["access"]
    assert len(fleet.provider.requests) == 2
    for kept, its_family in ((account, family), (calm, calm_family)):
        assert fleet.is_kept(kept, its_family, other)
    fleet.close()


@synchronous(False)
def test_the_documented_loss_a_token_that_the_standby_has_not_got(pair):
    """The control: without synchronous commit the last token is lost, and the account keeps its id."""
    fleet = pair.fleet("hasty", 2)
    asking, other = fleet.processes
    calm, calm_family = fleet.add("calm")
    fleet.get(calm)
    account, family = fleet.add()
    # Both are at the standby before the wire hangs.
    pair.second.wait_until_caught_up()
    pair.between.freeze()
    assert "result" in asking.call("credentials.get", account=account)
    pair.fail_over()
    fleet.cluster = pair.second
    answer = other.call("credentials.get", account=account)
    assert answer["error"]["code"] == 1005 and fleet.provider.families[family]["revoked"]
    assert {entry["account"]: entry["health"] for entry in other.call("accounts.list")["result"]["accounts"]} == {
        account: "reloginNeeded", calm: "ok"}
    assert fleet.is_kept(calm, calm_family, other)
    fleet.close()


def test_a_first_server_that_hangs_leaves_the_second_in_reach(shared):
    """The first one takes the connection and says nothing."""
    with Wire(socket_of(shared)) as hanging:
        hanging.freeze()
        hosts = {"host": f"{hanging.parameters['host']},{shared.sockets}", "port": f"{hanging.parameters['port']},{shared.port}"}
        fleet = Fleet(shared, "second", 2, reaching=hosts)
        account, family = fleet.add()
        assert {answer["result"]["credential"]["token"] for answer in fleet.get(account)} == {
            fleet.provider.families[family]["access"]}
        fleet.close()


def test_a_server_out_of_reach_may_be_the_one_that_takes_writes(shared):
    """The other one is read-only, as a standby is until its promotion."""
    hosts = {"host": f"{shared.sockets},{shared.sockets}", "port": f"{free_port()},{shared.port}",
             "options": "-cdefault_transaction_read_only=on"}
    fleet = Fleet(shared, "away", 1)
    both, one = (fleet.machines[0].start(shared.address("away", **place), is_introduced=False)
                 for place in (hosts, {"options": hosts["options"]}))
    error = both.call("store.check")["error"]
    assert error["data"]["detail"] == "unreachable" and error["data"]["retryable"] and "read-only" in error["message"]
    # The control: alone it is read-only.
    assert one.call("store.check")["error"]["data"]["detail"] == "readOnly"
    fleet.processes += [both, one]
    fleet.close()


def test_the_audit_trail_keeps_no_connection_while_a_standby_is_missing(start_cluster):
    cluster = start_cluster()
    fleet = Fleet(cluster, "missing", 2)
    asking, changing = fleet.processes
    account, _ = fleet.add()
    fleet.get(account)
    sent = "SELECT count(*) FROM audit WHERE convert_from(line, 'UTF8') LIKE '%credentials.get%'"
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

    def wait_for(statement, count):
        deadline = time.monotonic() + 30
        while fleet.rows(statement) != [(str(count),)]:
            assert time.monotonic() < deadline, (statement, fleet.rows(statement))
            time.sleep(0.1)

    wait_for(sent, 2)
    cluster.set(synchronous_standby_names="missing")
    cluster.reload()
    assert "result" in asking.call("credentials.get", account=account)
    wait_for(sent, 3)
    time.sleep(1)
    assert fleet.rows(waiting) == [("0",)]
    # The control: a change of the store waits for the standby.
    number = changing.send("accounts.setPreferred", provider="rotating", account=account)
    wait_for(waiting, 1)
    cluster.set(synchronous_standby_names="")
    cluster.reload()
    assert "result" in changing.answer(number)
    fleet.close()


@synchronous(False)
def test_machines_go_to_the_server_that_takes_writes(pair):
    fleet = pair.fleet("several", 3)
    account, family = fleet.add()
    pair.second.wait_until_caught_up()
    pair.fail_over()
    fleet.cluster = pair.second
    got = {answer["result"]["credential"]["token"] for answer in fleet.get(account)}
    assert got == {fleet.provider.families[family]["access"]} and len(fleet.provider.requests) == 1
    fleet.close()
