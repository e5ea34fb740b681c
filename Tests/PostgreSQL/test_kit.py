"""The servers, the wire and the poolers of these tests do to a plain client as the tests of einlass expect."""
import subprocess
import threading

import pytest

import pooler
from cluster import Standby, program, run
from wire import Wire, socket_of


def psql(address, statement, **more):
    """Runs the statement with a program of its own."""
    return subprocess.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", statement], capture_output=True,
                          text=True, **more)


def through(cluster, wire):
    return cluster.address(**wire.parameters)


@pytest.fixture
def table(shared):
    shared.sql("CREATE TABLE kit (number integer)", role="einlass")
    yield shared
    shared.sql("DROP TABLE kit", role="einlass")


def test_a_frozen_wire_hangs_until_it_is_thawed(shared, wire):
    wire.freeze()
    with pytest.raises(subprocess.TimeoutExpired):
        psql(through(shared, wire), "SELECT 1", timeout=1)
    wire.thaw()
    assert psql(through(shared, wire), "SELECT 1").stdout == "1\n"


def test_a_cut_wire_ends_a_statement(shared, wire):
    cut = threading.Timer(0.5, wire.cut)
    cut.start()
    assert "closed the connection" in psql(through(shared, wire), "SELECT pg_sleep(30)").stderr
    assert psql(through(shared, wire), "SELECT 1").stdout == "1\n"
    wire.refuse()
    assert psql(through(shared, wire), "SELECT 1").returncode == 2


@pytest.mark.parametrize("pattern, kept", [(("out", b"COMMIT"), []), (("in", b"COMMIT"), [("7",)])])
def test_a_dropped_commit_is_undone_and_a_dropped_answer_is_not(table, wire, pattern, kept):
    trap = wire.trap(("out", b"INSERT INTO kit"), pattern, do=lambda: "drop")
    script = "BEGIN;\nINSERT INTO kit VALUES (7);\nCOMMIT;\n"
    done = subprocess.run(["psql", "-Xq", "-d", through(table, wire)], input=script, capture_output=True, text=True)
    trap.wait()
    assert "closed the connection" in done.stderr
    assert table.sql("SELECT number FROM kit") == kept


def test_a_pattern_is_found_across_chunks_and_only_once(shared, wire):
    trap = wire.trap(("out", b"first"), ("out", b"second"))
    look = lambda chunk, tail=b"": trap.look(1, "out", chunk, tail)  # noqa: E731
    look(b"second fi")
    look(b"rst sec", b"second fi")
    assert not trap.sprung.is_set()
    look(b"ond", b"second first sec")
    assert trap.sprung.is_set()


@pytest.mark.parametrize("mode", ["session", "transaction"])
@pytest.mark.skipif(pooler.PROGRAM is None, reason=str(pooler.WHY_NOT))
def test_a_pooler_passes_notifications_in_session_mode_alone(shared, mode):
    with pooler.Pooler(shared, mode) as front:
        listening = subprocess.Popen(["psql", "-XqAt", "-d", front.address()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)
        listening.stdin.write("LISTEN kit;\nSELECT 'ready';\n")
        listening.stdin.flush()
        assert listening.stdout.readline() == "ready\n"
        # Another client gets the server connection of the first one in transaction mode.
        for _ in range(3):
            assert psql(front.address(), "NOTIFY kit").returncode == 0
        heard = listening.communicate("SELECT 'end';\n", timeout=30)[0]
        assert ("Asynchronous" in heard) == (mode == "session"), heard


@pytest.mark.parametrize("waits", [True, False])
def test_a_standby_without_synchronous_commit_loses_the_last_commit(start_cluster, waits):
    primary = start_cluster()
    with Wire(socket_of(primary)) as between:
        with Standby(primary, "second", **between.parameters) as standby:
            standby.wait_until_streaming()
            primary.sql("CREATE TABLE kit (number integer)")
            if waits:
                primary.set(synchronous_standby_names="*")
                primary.reload()
            primary.sql("INSERT INTO kit VALUES (1)")
            standby.wait_until_caught_up()
            between.freeze()
            last = subprocess.Popen(["psql", "-Xq", "-d", primary.address(role="postgres"), "-c", "INSERT INTO kit VALUES (2)"],
                                    stderr=subprocess.PIPE, text=True)
            if waits:
                # Not acknowledged, so not lost.
                with pytest.raises(subprocess.TimeoutExpired):
                    last.wait(1)
            else:
                assert last.wait(30) == 0
            primary.interrupt()
            primary.wait_for_end()
            last.communicate()
            standby.promote()
            assert standby.sql("SELECT number FROM kit") == [("1",)]
            standby.sql("INSERT INTO kit VALUES (3)")


@pytest.mark.parametrize("keeps", [True, False])
def test_a_server_interrupted_after_a_commit_keeps_it_only_if_the_commit_waited_for_the_log(start_cluster, keeps):
    cluster = start_cluster(wal_writer_delay="10s")
    cluster.sql("CREATE TABLE kit (number integer)")
    cluster.sql(f"SET synchronous_commit = {'on' if keeps else 'off'}; INSERT INTO kit VALUES (1)")
    cluster.interrupt()
    cluster.restart()
    assert cluster.sql("SELECT number FROM kit") == ([("1",)] if keeps else [])


def test_the_programs_are_of_one_version():
    assert run(program("postgres"), "--version").split()[2].split(".")[0] == program("x").split("/")[-3]
