"""Sign-ins in a browser, with a store in a database.

    python -m pytest Tests/PostgreSQL/test_sign_ins.py
"""
import threading
import time
import urllib.parse
import urllib.request

import pytest

from machines import Fleet
from rotation import CLIENT, PATIENCE

pytestmark = pytest.mark.usefixtures("built")
LEASE = "SELECT until FROM lease WHERE name LIKE 'sign-in-%'"


class SignIns(Fleet):
    """Machines with front ends that show pages, at a provider that also takes authorization codes."""

    def __init__(self, cluster, store, count, **more):
        super().__init__(cluster, store, 0, flow="authorizationCode", **more)
        self.refresh, self.provider.token = self.provider.token, self.token
        for _ in range(count):
            self.processes.append(self.spawn(is_introduced=False))
            self.processes[-1].call("initialize", client={"name": "sharing"}, capabilities={"prompts": ["openURL"]},
                                    applications={"rotating": {"clientId": CLIENT}})
            # The first change makes the key, which the next machine gets a copy of.
            self.allow()

    def token(self, form, port):
        if form["grant_type"] == "refresh_token":
            return self.refresh(form, port)
        self.name, credential = self.provider.family()
        return 200, {"access_token": credential["token"], "refresh_token": credential["refreshToken"], "expires_in": 3600}

    @staticmethod
    def prompts(process):
        return [entry["params"] for entry in process.notifications if entry["method"] == "prompt.opened"]

    def open(self, process, **params):
        """Begins a sign-in and returns its number, when its page is open."""
        seen = len(self.prompts(process))
        number = process.send("accounts.signIn", provider="rotating", **params)
        while len(self.prompts(process)) == seen:
            process.take(process.lines.get(timeout=PATIENCE))
        return number

    def come_back(self, process):
        """Brings the code to the page that was opened last."""
        url = urllib.parse.urlsplit(self.prompts(process)[-1]["url"])
        asked = dict(urllib.parse.parse_qsl(url.query))
        answer = urllib.parse.urlencode({"code": "code", "state": asked["state"]})
        urllib.request.urlopen(f"{asked['redirect_uri']}?{answer}", timeout=PATIENCE).read()

    def sign_in(self, process, **params):
        number = self.open(process, **params)
        self.come_back(process)
        return process.answer(number)["result"]["account"]


def test_a_page_that_is_open_for_long_stays_the_only_one(shared):
    fleet = SignIns(shared, "pages", 2)
    first, second = fleet.processes
    account = fleet.sign_in(first)
    second.wait_for_revision(first.call("accounts.list")["result"]["revision"])
    number = fleet.open(first, account=account)
    ((end,),) = fleet.rows(LEASE)
    waiting = second.send("accounts.signIn", provider="rotating", account=account)
    second.wait_for("auth.progress", "awaitingSignIn")
    deadline = time.monotonic() + 30
    while fleet.rows(LEASE) == [(end,)]:
        assert time.monotonic() < deadline, "the lease ends before the sign-in"
        time.sleep(0.5)
    fleet.come_back(first)
    assert first.answer(number)["result"]["account"] == second.answer(waiting)["result"]["account"] == account
    assert len(fleet.prompts(first)) == 2 and fleet.prompts(second) == []
    # A lease ends a moment after the answer.
    while fleet.rows(LEASE) != [("-infinity",)]:
        assert time.monotonic() < deadline + PATIENCE, "the lease stays"
        time.sleep(0.1)
    fleet.close()


def test_an_open_page_keeps_no_connection_while_a_standby_is_missing(start_cluster):
    cluster = start_cluster()
    fleet = SignIns(cluster, "alone", 1)
    (process,) = fleet.processes
    account = fleet.sign_in(process)
    fleet.open(process, account=account)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    ((end,),) = fleet.rows(LEASE)
    cluster.set(synchronous_standby_names="missing")
    cluster.reload()
    deadline = time.monotonic() + 30
    while fleet.rows(LEASE) == [(end,)]:
        assert time.monotonic() < deadline, "the lease ends before the sign-in"
        assert fleet.rows(waiting) == [("0",)]
        time.sleep(0.5)
    # A cancelled sign-in ends its lease.
    process.call("auth.cancel", flow=fleet.prompts(process)[-1]["flows"][0])
    deadline = time.monotonic() + 30
    while fleet.rows(LEASE) != [("-infinity",)]:
        assert time.monotonic() < deadline, "the lease stays"
        time.sleep(0.1)
    assert fleet.rows(waiting) == [("0",)]
    cluster.set(synchronous_standby_names="")
    cluster.reload()
    fleet.close()


@pytest.mark.parametrize("moment", ["away", "unknown"])
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
def test_a_sign_in_outlives_a_database_that_is_away(shared, wire, moment, is_known):
    fleet = SignIns(shared, f"back_{moment}_{is_known}".lower(), 1, reaching=wire.parameters)
    (process,) = fleet.processes
    known = {"account": fleet.sign_in(process)} if is_known else {}
    number = fleet.open(process, **known)
    if moment == "away":
        wire.refuse()
    else:
        trap = wire.trap(("out", b"FOR UPDATE"), ("out", b"credential"), ("out", b"COMMIT"), ("in", b"COMMIT"), do=lambda: "drop")
    # The page waits for the end of the sign-in.
    page = threading.Thread(target=fleet.come_back, args=(process,))
    page.start()
    if moment == "away":
        time.sleep(2)
        assert number not in process.answers
        wire.refuse(False)
    else:
        trap.wait()
    answer = process.answer(number)
    assert "result" in answer, answer
    page.join()
    result = answer["result"]
    assert result["created"] != is_known and result["account"] == known.get("account", result["account"])
    assert [entry["account"] for entry in fleet.accounts()] == [result["account"]]
    assert fleet.is_kept(result["account"], fleet.name)
    fleet.close()
