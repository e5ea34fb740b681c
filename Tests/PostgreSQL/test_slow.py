"""A database that is slow, but answers: a slow network, and many writers.

    python -m pytest Tests/PostgreSQL/test_slow.py

An immediate request waits two seconds for a database without an answer, and up to ten while it answers.
"""
import subprocess
import time

import pytest

from machines import Fleet, timed

pytestmark = pytest.mark.usefixtures("built")
# The seconds that an immediate request waits for a silent database, for one that answers, and for a new connection.
SILENT, ANSWERING, CONNECTING = 2, 10, 3


def holding(cluster, store, statement, seconds, waiting=0, lock="SELECT FROM meta FOR UPDATE"):
    """Starts a transaction that keeps a lock for so long. Returns it once it has the lock or waits for it."""
    line = f"SET search_path TO einlass_{store}; BEGIN; {lock}; SELECT pg_sleep({seconds}); {statement}; COMMIT"
    process = subprocess.Popen(["psql", "-Xq", "-d", cluster.address(role="postgres"), "-c", line], stdout=subprocess.DEVNULL)
    event = "wait_event_type = 'Lock'" if waiting else "wait_event = 'PgSleep'"
    deadline = time.monotonic() + 30
    while int(cluster.sql(f"SELECT count(*) FROM pg_stat_activity WHERE {event}")[0][0]) < max(waiting, 1):
        assert time.monotonic() < deadline, "psql does not come to the lock"
    return process


def test_the_first_request_over_a_slow_network_succeeds(shared, wire):
    wire.delay = 0.2
    fleet = Fleet(shared, "slow", 0, reaching=wire.parameters)
    process = fleet.spawn()
    fleet.processes = [process]
    answer, seconds = timed(process, "accounts.add", provider="rotating", username="ada", credential=fleet.provider.family()[1])
    assert "result" in answer, answer
    # The control: the request took longer than a silent database is waited for.
    assert SILENT < seconds < ANSWERING
    wire.delay = 0.7
    answer, seconds = timed(process, "store.status")
    assert answer["result"]["accounts"] == 1 and seconds > SILENT, (answer, seconds)
    fleet.close()


def test_the_lock_of_a_moving_queue_is_waited_for(shared):
    fleet = Fleet(shared, "queue", 2)
    account, family = fleet.add()
    process, other = fleet.processes
    queue = [holding(shared, "queue", "UPDATE meta SET revision = revision + 1", 1.5, waiting=number) for number in range(4)]
    answer, seconds = timed(process, "accounts.update", account=account, displayName="Ada")
    assert "result" in answer and SILENT < seconds < ANSWERING, (answer, seconds)
    assert [each.wait() for each in queue] == [0] * 4
    assert "result" in process.call("accounts.update", account=account, displayName="Alonzo")
    # The control: a lock that is kept without a change is not waited for.
    holder = holding(shared, "queue", "SELECT 1", 8)
    since = time.monotonic()
    waiting = [(each, each.send("accounts.update", account=account, displayName=name))
               for each in (process, other) for name in ("Grace", "Alan", "Edsger")]
    reading = process.send("accounts.list")
    for each, number in waiting:
        answer = each.answer(number)
        assert answer["error"]["data"]["detail"] == "locked", answer
        # A process that has not seen the last changes takes them for those of a moving queue, once.
        assert time.monotonic() - since < (SILENT if each is process else 2 * SILENT) + 1
    assert process.answer(reading)["result"]["accounts"][0]["displayName"] == "Alonzo"
    assert holder.poll() is None, "the holder has ended before the answers"
    assert holder.wait() == 0
    assert "result" in process.call("accounts.update", account=account, displayName="Grace")
    fleet.close()


@pytest.mark.parametrize("table, method", [("audit", "audit.list"), ("lease", "store.status"), ("begun_renewal", "store.status")])
def test_a_locked_table_ends_a_request_as_locked(shared, table, method):
    connections = "SELECT pid FROM pg_stat_activity WHERE usename = 'einlass'"
    former = set(shared.sql(connections))
    fleet = Fleet(shared, f"locked_{table}", 1)
    account, family = fleet.add()
    process, = fleet.processes
    # The control. It also forwards the audit lines so far, and a later request does not wait for that.
    assert "result" in process.call(method)
    deadline = time.monotonic() + 30
    while len((before := set(shared.sql(connections))) - former) < 2:
        assert time.monotonic() < deadline, "the process does not listen"
    holder = holding(shared, fleet.store, "SELECT 1", 8, lock=f"LOCK TABLE {table}")
    since = time.monotonic()
    for number in [process.send(method) for _ in range(6)]:
        answer = process.answer(number)
        assert answer["error"]["data"]["detail"] == "locked" and time.monotonic() - since < SILENT + 0.5, answer
    # A request that waits for the table leaves the connection to others in between.
    refreshing = process.send("credentials.get", account=account, forceRefresh=True)
    for name in ("Ada", "Grace", "Alan"):
        answer, seconds = timed(process, "accounts.update", account=account, displayName=name)
        assert "result" in answer and seconds < SILENT + 0.5, (answer, seconds)
    # A statement that is cut off would cost the connection, and wait on in the server.
    assert set(shared.sql(connections)) <= before
    answer = process.answer(refreshing)
    assert "result" in answer if table != "lease" else answer["error"]["data"]["detail"] == "locked", answer
    assert holder.poll() is None and holder.wait() == 0
    assert "result" in process.call(method)
    fleet.close()


def test_requests_that_come_during_a_silence_do_not_add_up(shared, wire):
    fleet = Fleet(shared, "silent", 1, reaching=wire.parameters)
    account, family = fleet.add()
    process, = fleet.processes
    wire.freeze()
    waiting = []
    for name in range(10):
        waiting.append((process.send("accounts.update", account=account, displayName=str(name)), time.monotonic()))
        time.sleep(0.3)
    for number, since in waiting:
        answer = process.answer(number)
        assert answer["error"]["data"]["detail"] == "unreachable", answer
        assert time.monotonic() - since < SILENT + CONNECTING + 1
    wire.thaw()
    deadline = time.monotonic() + 30
    while "error" in process.call("accounts.update", account=account, displayName="Ada"):
        assert time.monotonic() < deadline
    fleet.close()


def test_a_start_waits_once_for_hosts_that_are_silent(shared, wire):
    fleet = Fleet(shared, "start", 1)
    wire.freeze()
    ends = {"host": f"{wire.parameters['host']},{wire.parameters['host']}", "port": "5432,5432"}
    since = time.monotonic()
    late = fleet.spawn(shared.address("start", **ends), is_introduced=False)
    answer = late.call("initialize", client={"name": "late"})
    assert answer["result"]["store"]["problem"]["detail"] == "unreachable", answer
    # Both hosts once, not once for the start and once more for the request.
    assert time.monotonic() - since < 2 * CONNECTING + 1
    late.close()
    wire.thaw()
    fleet.close()
