"""A machine ends, or stops, while it has the lease of an account. The four cases wait for the same 45 seconds.

    python -m pytest Tests/PostgreSQL/test_leases.py
"""
import signal
import threading
import time

import pytest

from machines import Fleet
from rotation import PATIENCE
from wire import Wire, socket_of

pytestmark = pytest.mark.usefixtures("built")
LEASE_SECONDS = 45
# The answer to the statement that takes the lease: its holder knows nothing of it yet.
TAKEN = [("out", b".lease AS held"), ("in", b"INSERT 0 1")]


class Case:
    """Two machines with an account each has to refresh, and the moment at which the first one is hit."""

    def __init__(self, cluster, store):
        self.wire = Wire(socket_of(cluster))
        self.fleet = Fleet(cluster, store, 2, reaching=self.wire.parameters)
        self.first, self.second = self.fleet.processes
        self.provider, self.hit = self.fleet.provider, threading.Event()
        self.account, self.family = self.fleet.add()
        self.first_number, self.free_after, self.answer = None, None, None

    def stop(self):
        self.first.process.send_signal(signal.SIGSTOP)
        self.since = time.monotonic()
        self.hit.set()

    def kill(self):
        self.first.kill()
        self.since = time.monotonic()
        self.hit.set()

    def resume(self):
        self.first.process.send_signal(signal.SIGCONT)

    def at_the_lease(self, do):
        self.wire.trap(*TAKEN, do=do)

    def at_the_request(self, do, result):
        def gate(number, when):
            if number == 0 and when == "before":
                do()
                return result

        self.provider.gate = gate

    def ask(self):
        self.first_number = self.first.send("credentials.get", account=self.account)
        assert self.hit.wait(PATIENCE)

    def wait_for_the_account(self):
        """Asks by the second machine until it gets an answer other than `locked`."""
        deadline = self.since + 3 * LEASE_SECONDS
        while time.monotonic() < deadline:
            self.answer = self.second.call("credentials.get", account=self.account)
            if self.answer.get("error", {}).get("data", {}).get("detail") != "locked":
                break
        self.free_after = time.monotonic() - self.since

    def close(self):
        self.fleet.close()
        self.wire.close()


@pytest.fixture
def cases(shared):
    """Returns a function that makes a case of this name."""
    made = []

    def make(name):
        made.append(Case(shared, name))
        return made[-1]

    yield make
    for case in made:
        case.resume() if case.first.process.poll() is None else None
        case.close()


def test_a_lease_ends_with_its_time_and_a_late_holder_spends_nothing(cases):
    killed = cases("killed")
    killed.at_the_request(killed.kill, "drop")
    early = cases("stopped_early")
    early.at_the_lease(early.stop)
    late = cases("stopped_late")
    late.at_the_request(late.stop, None)
    # The control of the second case: stopped at the same moment, and for a short time.
    briefly = cases("stopped_briefly")
    briefly.at_the_lease(briefly.stop)
    for case in (killed, early, late, briefly):
        case.ask()
    time.sleep(5)
    assert briefly.provider.requests == []
    briefly.resume()
    got = briefly.first.answer(briefly.first_number)["result"]["credential"]["token"]
    assert len(briefly.provider.requests) == 1 and got == briefly.provider.families[briefly.family]["access"]

    waits = [threading.Thread(target=case.wait_for_the_account) for case in (killed, early, late)]
    for wait in waits:
        wait.start()
    for wait in waits:
        wait.join()
    assert [case for case in (killed, early, late) if not LEASE_SECONDS - 10 < case.free_after < LEASE_SECONDS + 5] == []

    # Killed before the provider had rotated anything: nothing is lost.
    assert killed.answer["result"]["credential"]["token"] == killed.provider.families[killed.family]["access"]

    # Stopped before its last look at the lease: the other machine has spent the token, and this one does not.
    new = early.provider.families[early.family]["access"]
    assert early.answer["result"]["credential"]["token"] == new and len(early.provider.requests) == 1
    early.resume()
    answer = early.first.answer(early.first_number)
    if "error" in answer:
        assert answer["error"]["code"] == 1009 and answer["error"]["data"]["retryable"], answer
    else:
        assert answer["result"]["credential"]["token"] == new
    assert len(early.provider.requests) == 1 and not early.provider.families[early.family]["revoked"]
    assert early.first.call("credentials.get", account=early.account)["result"]["credential"]["token"] == new

    # Stopped with its request sent: the documented loss. The account keeps its id.
    assert late.answer["error"]["code"] == 1005 and late.provider.families[late.family]["revoked"]
    late.resume()
    late.first.answer(late.first_number)
    for process in late.fleet.processes:
        assert process.call("credentials.get", account=late.account, forceRefresh=True)["error"]["code"] == 1005
        listed = process.call("accounts.list")["result"]["accounts"]
        assert [(entry["account"], entry["health"]) for entry in listed] == [(late.account, "reloginNeeded")]
