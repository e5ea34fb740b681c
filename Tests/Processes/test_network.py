"""`network.status` and `network.changed`, on a machine with interfaces and routes of its own.

    EINLASS_FAULT_ROUNDS=100 python -m pytest Tests/Processes/test_network.py

The long run watches a silent network for 60 s.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cable import Cable
from session import Session

SILENT_SECONDS = 60 if int(os.environ.get("EINLASS_FAULT_ROUNDS", "50")) >= 100 else 2


@pytest.fixture
def cable():
    cable = Cable()
    yield cable
    cable.close()


@pytest.fixture
def spawn(built):
    """Starts front ends that ask for `network.changed`."""
    sessions = []

    def spawn(before, **capabilities):
        session = Session(before=before)
        sessions.append(session)
        session.greeting = session.call("initialize", client={"name": "network-test"},
                                        capabilities={"network": True, **capabilities})
        return session

    yield spawn
    for session in sessions:
        session.process.send_signal(signal.SIGCONT)
        session.close()


def status(session):
    return session.call("network.status")


def announced(session):
    """Returns the announcements so far. An answer to `network.status` comes after those of earlier changes."""
    status(session)
    return [message["params"]["online"] for message in session.notifications if message["method"] == "network.changed"]


def watches(cable):
    """Returns the netlink sockets that receive notifications: their port, and the number of lost messages."""
    lines = cable.run("cat", "/proc/net/netlink").stdout.splitlines()
    rows = [dict(zip(lines[0].split(), line.split())) for line in lines[1:]]
    return [(int(row["Pid"]), int(row["Drops"])) for row in rows if row["Eth"] == "0" and int(row["Groups"], 16)]


def wakeups(session):
    """Returns the number of voluntary context switches of all threads so far."""
    def switches(task):
        return next(int(line.split()[1]) for line in (task / "status").read_text().splitlines()
                    if line.startswith("voluntary_ctxt_switches:"))
    return sum(switches(task) for task in Path(f"/proc/{session.process.pid}/task").iterdir())


# The state of the network before each change, and the commands of ip(8) that take the machine offline and online.
CHANGES = {
    "cable": ([], ["link set far down"], ["link set far up"]),
    # The kernel removes the route of an interface that goes down, and does not report that.
    "interface": ([], ["link set near down"], ["link set near up", "route add default via 192.0.2.2"]),
    "route": ([], ["route delete default"], ["route add default dev near"]),
    "address": ([], ["address delete 192.0.2.1/24 dev near"],
                ["address add 192.0.2.1/24 dev near", "route add default via 192.0.2.2"]),
    "IPv6": (["route delete default", "route add ::/0 dev near"], ["route delete ::/0 dev near"],
             ["route add ::/0 dev near"]),
    "two paths": (["link add other type veth peer name end", "link set other up", "route delete default",
                   "route add default nexthop dev near nexthop dev other"], ["link set far down"], ["link set end up"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_announced_within_a_second(cable, spawn, change):
    before, *changes = CHANGES[change]
    cable.ip(*before)
    session = spawn(cable.inside)
    assert session.greeting["capabilities"]["network"] is True and status(session) == {"online": True}
    for online, commands in zip((False, True), changes):
        cable.ip(*commands)
        begin = time.monotonic()
        assert session.until("network.changed") == {"online": online}
        assert time.monotonic() - begin < 1
        assert status(session) == {"online": online}
    assert announced(session) == [False, True]


def test_unrelated_changes_are_not_announced(cable, spawn):
    session = spawn(cable.inside)
    cable.ip("address add 192.0.2.77/32 dev lo", "address add 192.0.2.78/24 dev near",
             "link add other type veth peer name end", "link set end up", "link set other up",
             "route add 198.51.100.0/24 dev other", "route add default dev other table 7",
             "route add default dev other metric 9", "link delete other", "route add unreachable default metric 10")
    assert announced(session) == []
    cable.pull()  # the control
    assert session.until("network.changed") == {"online": False}
    cable.ip("route add default dev lo metric 3", "route add ::/0 dev lo", "route add default dev near table 7",
             "link add other type veth peer name end", "link set end up", "link set other up")
    assert announced(session) == [False] and status(session) == {"online": False}


def test_a_burst_of_messages_is_announced_once_even_if_messages_are_lost(cable, spawn):
    session = spawn(cable.inside)
    session.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, session.process.pid, os.WSTOPPED)
    cable.ip(*(f"link set near alias name{number}" for number in range(400)), "link set far down")
    (_, lost), = watches(cable)
    assert lost > 0
    session.process.send_signal(signal.SIGCONT)
    assert session.until("network.changed") == {"online": False}
    cable.plug()
    assert session.until("network.changed") == {"online": True}
    assert announced(session) == [False, True]


def test_a_change_that_is_undone_before_it_is_seen_is_not_announced(cable, spawn):
    session = spawn(cable.inside)
    session.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, session.process.pid, os.WSTOPPED)
    cable.ip("route delete default", "route add default via 192.0.2.2")
    session.process.send_signal(signal.SIGCONT)
    assert announced(session) == []
    cable.pull()  # the control
    assert session.until("network.changed") == {"online": False}


def test_only_a_front_end_that_asks_for_it_has_a_socket_and_is_notified(cable, spawn):
    session = spawn(cable.inside, network=False)
    assert session.greeting["capabilities"]["network"] is False
    assert status(session) == {"online": True} and watches(cable) == []
    cable.ip("route delete default")
    assert status(session) == {"online": False} and announced(session) == []
    spawn(cable.inside)  # the control
    assert len(watches(cable)) == 1


def test_a_silent_network_wakes_nothing(cable, spawn):
    session = spawn(cable.inside)
    status(session)
    cable.ip("address add 192.0.2.77/32 dev lo")
    assert announced(session) == []
    # The kernel counts the last wake-up when the thread sleeps again, and that may be after the first look here.
    for _ in range(3):
        before = wakeups(session)
        time.sleep(SILENT_SECONDS)
        if wakeups(session) == before:
            break
    else:
        pytest.fail("the process does not sleep")
    cable.pull()  # the control
    session.until("network.changed")
    cable.plug()
    session.until("network.changed")
    assert wakeups(session) > before


def test_a_request_is_sent_while_the_machine_is_offline(cable, spawn, tmp_path):
    session = spawn(cable.inside)
    cable.pull()
    assert session.until("network.changed") == {"online": False}
    serve = [sys.executable, "-um", "http.server", "0", "--bind", "127.0.0.1", "--directory", tmp_path]
    with subprocess.Popen([*cable.inside, *serve], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as server:
        issuer = "http://127.0.0.1:" + re.search(r"port (\d+)", server.stdout.readline())[1]
        document = tmp_path / ".well-known/openid-configuration"
        document.parent.mkdir()
        document.write_text(json.dumps({"issuer": issuer, "authorization_endpoint": issuer + "/authorize",
                                        "token_endpoint": issuer + "/token"}))
        assert session.call("providers.add", issuer=issuer, id="mine") == {"provider": "mine", "created": True}
        server.terminate()
    assert session.refused("providers.add", issuer=issuer, id="other") == "networkFailure"  # the control


def test_a_machine_without_netlink_answers_without_a_state(cable, spawn):
    session = spawn([*cable.inside, sys.executable, str(Path(__file__).with_name("without_netlink.py"))])
    assert session.greeting["capabilities"]["network"] is False and status(session) == {}
    cable.ip("route delete default")
    assert announced(session) == []
    assert status(spawn(cable.inside)) == {"online": False}  # the control
