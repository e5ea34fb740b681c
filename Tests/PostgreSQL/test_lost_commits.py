"""The server ends without a word at the COMMIT of a rotated token.

    EINLASS_FAULT_ROUNDS=200 python -m pytest Tests/PostgreSQL/test_lost_commits.py
"""
import json
import os
import subprocess
import urllib.parse
import urllib.request

import pytest

from machines import Fleet
from rotation import Provider
from wire import Wire, socket_of

pytestmark = pytest.mark.usefixtures("built")
ROUNDS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "5"))
# The statements of one connection that store a token; the last one is its COMMIT, or the answer to that.
SENT = [("out", b"credential"), ("out", b"COMMIT")]
ANSWERED = [*SENT, ("in", b"COMMIT")]


@pytest.fixture
def cluster(start_cluster):
    return start_cluster()


@pytest.fixture
def wire(cluster):
    with Wire(socket_of(cluster)) as wire:
        yield wire


class Moments:
    """The moments at which the server ends, and whether it has made the commit durable by then."""

    def __init__(self, cluster, wire):
        def drop():
            cluster.interrupt()
            return "drop"
        self.wire, self.cluster = wire, cluster
        self.all = {"before": (SENT, drop), "at once": (SENT, cluster.interrupt), "after": (ANSWERED, drop)}

    def arm(self, provider, moment):
        """Sets the trap when the provider has rotated the token and not answered yet."""
        armed = []

        def gate(number, when):
            if when == "after" and not armed:
                patterns, do = self.all[moment]
                armed.append(self.wire.trap(*patterns, do=do))

        provider.gate = gate
        return armed


def test_no_token_is_lost(cluster, wire):
    fleet = Fleet(cluster, "commits", 2, reaching=wire.parameters)
    moments = Moments(cluster, wire)
    asking, other = fleet.processes
    for round in range(ROUNDS):
        moment = list(moments.all)[round % 3]
        account, family = fleet.add(f"user{round % 2}")
        armed, before = moments.arm(fleet.provider, moment), len(fleet.provider.requests)
        number = asking.send("credentials.get", account=account)
        cluster.wait_for_end()
        armed[0].wait()
        cluster.start()
        answer = asking.answer(number)
        fleet.provider.gate = lambda number, when: None
        assert "result" in answer, (moment, answer)
        assert answer["result"]["credential"]["token"] == fleet.provider.families[family]["access"], moment
        assert len(fleet.provider.requests) == before + 1, moment
        assert fleet.is_kept(account, family, other), moment
    assert fleet.processes[0].call("store.check")["result"]["sound"]
    fleet.close()


def test_the_negative_control_a_killed_machine_loses_the_token(cluster, wire):
    """Nobody else has the token, whose write did not reach the server."""
    fleet = Fleet(cluster, "killed", 2, reaching=wire.parameters)
    asking, other = fleet.processes
    account, family = fleet.add()

    def drop():
        asking.kill()
        return "drop"

    trap = []

    def gate(number, when):
        if when == "after" and not trap:
            trap.append(wire.trap(*SENT, do=drop))

    fleet.provider.gate = gate
    asking.send("credentials.get", account=account)
    asking.process.wait(60)
    asking.close()
    fleet.processes = [other]
    fleet.end_lease(account)
    assert other.call("credentials.get", account=account)["error"]["code"] == 1005
    assert fleet.provider.families[family]["revoked"]
    assert fleet.health(account) == "reloginNeeded"
    fleet.close()


def refreshed_by_a_plain_client(cluster, address, provider):
    """Refreshes a token as most programs do: reads it, asks, writes, and gives up when the write fails."""
    [(former,)] = cluster.sql("SELECT token FROM plain")
    form = urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": former}).encode()
    with urllib.request.urlopen(provider.base + "/token", form) as answer:
        new = json.load(answer)["refresh_token"]
    script = f"BEGIN;\nUPDATE plain /* credential */ SET token = '{new}';\nCOMMIT;\n"
    return subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-d", address], input=script, capture_output=True, text=True)


def test_the_control_a_plain_client_loses_the_token(cluster, wire):
    provider = Provider()
    family, credential = provider.family()
    cluster.sql("CREATE TABLE plain (token text)", f"INSERT INTO plain VALUES ('{credential['refreshToken']}')",
                "GRANT ALL ON plain TO einlass")
    moments, address = Moments(cluster, wire), cluster.address(**wire.parameters)
    assert refreshed_by_a_plain_client(cluster, address, provider).returncode == 0
    moments.arm(provider, "before")
    assert refreshed_by_a_plain_client(cluster, address, provider).returncode
    cluster.restart()
    with pytest.raises(urllib.error.HTTPError):
        refreshed_by_a_plain_client(cluster, address, provider)
    assert provider.families[family]["revoked"]
    provider.close()
