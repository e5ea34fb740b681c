"""Many processes share one store and one account: exactly one of them asks the provider.

    python -m pytest Tests/Processes/test_sharing.py
    EINLASS_FAULT_ROUNDS=200 python -m pytest Tests/Processes/test_sharing.py
"""
import json
import os
import random
import resource
import signal
import threading
import time

import pytest

from place import about_files
from rotation import PATIENCE, Process, World

pytestmark = pytest.mark.usefixtures("built")
ROUNDS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "15"))


@pytest.fixture
def world(request):
    world = World(*request.param)
    yield world
    world.close()


def of(*arguments):
    return pytest.mark.parametrize("world", [arguments], indirect=True)


def token(answer):
    assert "result" in answer, answer
    return answer["result"]["credential"]["token"]


def tokens(answers):
    return {token(answer) for answer in answers}


@pytest.mark.parametrize("flow, rounds", [("systemToken", ROUNDS), ("authorizationCode", 10 * ROUNDS)])
def test_one_of_eight_processes_asks_and_all_get_the_new_token(flow, rounds):
    world = World(8, flow=flow)
    for _ in range(rounds):
        account, family = world.add()
        before = len(world.provider.requests)
        got = tokens(world.get(account))
        assert len(world.provider.requests) == before + 1
        assert got == {world.provider.families[family]["access"]}
        assert not world.provider.families[family]["revoked"]
        assert world.kept(account, family)
    world.close()


@of(8, "--test")
def test_without_the_lock_the_family_is_revoked(world):
    """The negative control: the provider holds the first request until a second one arrives."""
    for process in world.processes:
        process.call("test.withoutLeases")
    account, family = world.add()
    second = threading.Event()
    world.provider.gate = lambda number, when: second.set() if number else second.wait(PATIENCE)
    world.get(account)
    assert len(world.provider.requests) > 1
    assert world.provider.families[family]["revoked"]
    # The stored token is the last one of its family.
    assert world.processes[0].call("accounts.renew", account=account)["result"]["result"] == "rejected"


def test_the_switch_that_leaves_the_lock_out_exists_only_in_tests():
    world = World(1)
    assert world.processes[0].call("test.withoutLeases")["error"]["code"] == -32601
    world.close()


@of(32)
def test_the_provider_gets_one_request_for_each_account(world):
    accounts = [world.add(f"user{number}") for number in range(20)]
    numbers = [(process, process.send("credentials.get", account=account), family)
               for account, family in accounts for process in world.processes]
    for process, number, family in numbers:
        got = token(process.answer(number))
        assert got == world.provider.families[family]["access"]
    assert len(world.provider.requests) == len(accounts)


@pytest.mark.parametrize("when, world, survives", [
    ("before", (8,), True), ("after", (8,), False)], indirect=["world"])
def test_the_holder_of_the_lock_is_killed(world, when, survives):
    """Before the rotation nothing is lost. After it a strict provider requires a new sign-in; this account and all
    others remain."""
    other, _ = world.add("grace")
    assert len(tokens(world.get(other))) == 1
    for _ in range(ROUNDS):
        account, family = world.add()
        first, killed = len(world.provider.requests), []

        def kill(number, now, first=first, killed=killed, account=account):
            if number != first or now != when:
                return
            if process := world.kill_holder(account, number):
                killed.append(process)
            return "drop"

        world.provider.gate = kill
        answers = world.get(account)
        world.provider.gate = lambda number, now: None
        if not killed:
            pytest.skip("the kernel does not say which process holds the lease")
        left = [answer for process, answer in zip(world.processes, answers) if process not in killed]
        assert len(left) == 7 and None not in left
        world.processes = [process for process in world.processes if process not in killed]
        killed[0].close()
        world.processes.append(world.spawn())
        health = {entry["account"]: entry["health"] for entry in world.accounts()}
        if survives:
            assert tokens(left) == {world.provider.families[family]["access"]}
            assert world.kept(account, family) and health[account] == "ok"
        else:
            assert {answer["error"]["code"] for answer in left} == {1005}
            assert health[account] == "reloginNeeded"
        assert health[other] == "ok" and len(tokens(world.get(other))) == 1


def test_a_provider_with_a_grace_period_loses_no_token_after_a_kill():
    world = World(4, grace=PATIENCE)
    for _ in range(ROUNDS):
        account, family = world.add()
        first, killed = len(world.provider.requests), []

        def kill(number, now, first=first, killed=killed, account=account):
            if number == first and now == "after":
                if process := world.kill_holder(account, number):
                    killed.append(process)

        world.provider.gate = kill
        answers = world.get(account)
        world.provider.gate = lambda number, now: None
        if not killed:
            pytest.skip("the kernel does not say which process holds the lease")
        left = [answer for process, answer in zip(world.processes, answers) if process not in killed]
        world.processes = [process for process in world.processes if process not in killed] + [world.spawn()]
        killed[0].close()
        assert tokens(left) == {world.provider.families[family]["access"]}
        assert world.kept(account, family)
    world.close()


@pytest.mark.parametrize("grace", [2, 0])
def test_a_refresh_with_a_lost_answer_is_retried_at_once(grace):
    """The provider rotates the token and resets every third connection. A minute later it would treat the old token
    as stolen."""
    world = World(8, grace=grace, flow="authorizationCode")
    provider, lost = world.provider, []
    account, family = world.add()

    def gate(number, when):
        if when == "after" and number % 3 == 2:
            lost.append(number)
            return "reset"

    provider.gate = gate
    for number in range(200):
        provider.seconds += 60
        asking = random.Random(number).sample(world.processes, 1 + number % 8)
        answers = world.get(account, asking, forceRefresh=True)
        if not grace and lost:
            break
        assert all("result" in answer for answer in answers), answers
    provider.gate = lambda number, when: None
    (entry,) = world.accounts()
    assert entry["account"] == account and provider.families[family]["revoked"] == (not grace)
    if grace:
        assert len(lost) >= 200 // 3 and entry["health"] == "ok" and world.kept(account, family)
    else:
        assert entry["health"] == "reloginNeeded"
        assert {answer["error"]["code"] for answer in world.get(account, forceRefresh=True)} == {1005}
    world.close()


def test_the_negative_control_two_answers_are_lost_in_a_row():
    world = World(1, grace=2, flow="authorizationCode")
    account, family = world.add()
    world.provider.gate = lambda number, when: "reset" if when == "after" and number < 2 else None
    assert world.get(account)[0]["error"]["code"] == 1007 and len(world.provider.requests) == 2
    world.provider.seconds += 60
    assert world.get(account, forceRefresh=True)[0]["error"]["code"] == 1005
    assert world.provider.families[family]["revoked"]
    world.close()


def test_a_lost_refresh_is_not_sent_again_at_a_change_of_the_store():
    world = World(4, grace=PATIENCE, flow="authorizationCode")
    process, *_, other = world.processes
    account, _ = world.add()
    world.provider.gate = lambda number, when: "reset" if when == "after" else None
    assert world.get(account, [process])[0]["error"]["code"] == 1007
    for number in range(5):
        other.call("accounts.update", account=account, displayName=f"Ada {number}")
        for each in world.processes:
            each.call("accounts.list")
        time.sleep(0.1)
    assert len(world.provider.requests) == 2 and world.begun() == []
    world.provider.gate = lambda number, when: None
    world.close()


@about_files("a begun renewal is repeated when its account is next used")
@pytest.mark.parametrize("running", [0, 3])
def test_the_renewal_of_a_killed_process_is_retried(running):
    """The running processes retry the renewal, or the next one to start; no request for the credential is needed."""
    world = World(1 + running, grace=PATIENCE, flow="authorizationCode")
    process, *others = world.processes
    account, family = world.add()
    killed = threading.Event()

    def gate(number, when):
        if when == "after" and number == 0:
            process.kill()
            process.process.wait(PATIENCE)
            world.end_lease(account)
            killed.set()
            return "reset"

    world.provider.gate = gate
    process.send("credentials.get", account=account)
    assert killed.wait(PATIENCE)
    if not running:
        assert world.begun() == [account]
    world.processes = others or [world.spawn()]
    deadline = time.monotonic() + PATIENCE
    while world.begun():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert len(world.provider.requests) == 2 and world.kept(account, family)
    process.close()
    world.close()


def test_a_slow_answer_does_not_overwrite_a_newer_token():
    world = World(2, "--test", grace=PATIENCE)
    slow, quick = world.processes
    slow.call("test.withoutLeases")
    for _ in range(min(ROUNDS, 20)):
        account, family = world.add()
        arrived, go, first = threading.Event(), threading.Event(), len(world.provider.requests)

        def gate(number, when, first=first, arrived=arrived, go=go):
            if number == first and when == "after":
                arrived.set()
                go.wait(PATIENCE)

        world.provider.gate = gate
        number = slow.send("credentials.get", account=account)
        assert arrived.wait(PATIENCE)
        assert "result" in quick.call("credentials.get", account=account)
        newest = quick.call("credentials.get", account=account, forceRefresh=True)["result"]["credential"]["token"]
        go.set()
        # The late token is older than the stored one.
        assert slow.answer(number)["result"]["credential"]["token"] == newest
        assert quick.call("credentials.get", account=account)["result"]["credential"]["token"] == newest
    world.close()


def unanswered(world, process):
    """Lets the process request a renewal that the provider does not answer yet. Returns the account, its family, the number
    of the request, and the event that ends the wait."""
    account, family = world.add()
    arrived, go = threading.Event(), threading.Event()

    def gate(number, when):
        if when == "after":
            arrived.set()
            go.wait(PATIENCE)

    world.provider.gate = gate
    number = process.send("credentials.get", account=account)
    assert arrived.wait(PATIENCE)
    return account, family, number, go


def test_a_store_is_not_moved_while_a_token_is_renewed():
    """The renewed token would be stored in the old place."""
    world = World(2)
    process, other = world.processes
    account, family, number, go = unanswered(world, process)
    place = str(world.folder / "moved/store.db")
    assert other.call("store.move", to=place)["error"]["data"]["detail"] == "locked"
    go.set()
    renewed = process.answer(number)["result"]["credential"]["token"]
    assert renewed == world.provider.families[family]["access"] and world.kept(account, family)
    # A lease in a database ends a moment after the answer.
    deadline = time.monotonic() + PATIENCE
    while "error" in (moved := other.call("store.move", to=place)):
        assert moved["error"]["data"]["detail"] == "locked" and time.monotonic() < deadline, moved
        time.sleep(0.01)
    later = Process(world.folder, store=place)
    world.processes.append(later)
    assert later.call("credentials.get", account=account)["result"]["credential"]["token"] == renewed
    world.close()


@pytest.mark.parametrize("how", ["cancel", "end of input", "SIGTERM", "shutdown"])
def test_a_sent_renewal_is_stored_after_its_request_has_ended(how):
    """The provider has rotated the token and has not answered yet."""
    world = World(2)
    process, other = world.processes
    account, family, number, go = unanswered(world, process)
    match how:
        case "cancel":
            process.process.stdin.write(json.dumps(
                {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}) + "\n")
            process.process.stdin.flush()
        case "end of input": process.process.stdin.close()
        case "SIGTERM": process.process.terminate()
        case "shutdown": process.send("shutdown")
    assert process.answer(number)["error"]["code"] == -32800
    # Another process waits for the pending renewal and sends no request of its own.
    waiting = other.send("credentials.get", account=account)
    go.set()
    assert token(other.answer(waiting)) == world.provider.families[family]["access"]
    assert len(world.provider.requests) == 1 and not world.provider.families[family]["revoked"]
    world.provider.gate = lambda number, when: None
    if how != "cancel":
        assert process.process.wait(PATIENCE) == 0
        world.processes.remove(process)
    world.close()


@about_files("a database keeps the lease of a killed process for longer than its request lasts")
def test_the_request_of_a_killed_process_may_come_late():
    """The provider accepts the former refresh token for a while, and drops the successor that it has issued first."""
    world = World(1, grace=30)
    try:
        account, family = world.add()
        provider, successors = world.provider, set()
        come, may_go = threading.Event(), threading.Event()

        def gate(number, when):
            if when == "before" and number == 0:
                come.set()
                assert may_go.wait(PATIENCE)
            if when == "before" and provider.requests[number] in successors:
                # A successor that was dropped: the family ends, whatever the grace.
                if provider.requests[number] != provider.families[family]["refresh"]:
                    provider.families[family]["revoked"] = True
            if when == "after":
                successors.add(provider.families[family]["refresh"])

        provider.gate = gate
        [killed] = world.processes
        killed.send("credentials.get", account=account)
        assert come.wait(PATIENCE)
        killed.kill()
        world.processes = [next_one := world.spawn(is_introduced=False)]
        threading.Timer(0.6, may_go.set).start()
        next_one.introduce()
        assert "result" in next_one.call("credentials.get", account=account)
        # Until the late request has come too.
        while len(successors) < 2:
            time.sleep(0.01)
        answer = next_one.call("credentials.get", account=account, forceRefresh=True)
        assert "result" in answer and not provider.families[family]["revoked"], answer
        killed.close()
    finally:
        world.close()


def test_an_answer_that_arrives_at_a_stopped_process_counts():
    """libcurl gives up a transfer without a byte in ten seconds, and looks at the time before it reads."""
    world = World(1)
    try:
        account, _ = world.add()
        come, may_go = threading.Event(), threading.Event()

        def gate(number, when):
            if when == "after":
                come.set()
                assert may_go.wait(PATIENCE)

        world.provider.gate = gate
        [process] = world.processes
        number = process.send("credentials.get", account=account)
        assert come.wait(PATIENCE)
        process.process.send_signal(signal.SIGSTOP)
        may_go.set()
        time.sleep(12)
        process.process.send_signal(signal.SIGCONT)
        assert "result" in process.answer(number)
        assert len(world.provider.requests) == 1
    finally:
        world.close()


def test_the_negative_control_a_killed_process_stores_nothing():
    world = World(2)
    process, other = world.processes
    account, family = world.add()
    arrived, go = threading.Event(), threading.Event()

    def gate(number, when):
        if when == "after" and number == 0:
            arrived.set()
            go.wait(PATIENCE)

    world.provider.gate = gate
    process.send("credentials.get", account=account)
    assert arrived.wait(PATIENCE)
    process.kill()
    process.process.wait(PATIENCE)
    world.end_lease(account)
    go.set()
    assert other.call("credentials.get", account=account)["error"]["code"] == 1005
    assert world.provider.families[family]["revoked"]
    world.close()


@of(3)
def test_a_front_end_is_notified_once_of_a_token_that_replaces_its_own(world):
    account, _ = world.add()
    world.get(account, world.processes[:2])
    for number in range(ROUNDS):
        for process in world.processes:
            process.notifications.clear()
        got = world.processes[0].call("credentials.get", account=account, forceRefresh=True)["result"]["credential"]
        # Notifications keep the order of the changes, so this one comes last.
        world.processes[2].call("access.set", provider="rotating", state=["granted", "denied"][number % 2],
                                application="bell")
        for process in world.processes:
            process.wait_for("access.changed", about="bell")
        told = [[entry["params"] for entry in process.notifications if entry["method"] == "credentials.refreshed"]
                for process in world.processes]
        news = {name: got[name] for name in ("tokenType", "scopes", "expiresAt")} | {"account": account}
        assert told == [[news], [news], []]


def test_a_token_with_an_earlier_expiry_is_refreshed_in_time():
    world = World(1, "--test", flow="authorizationCode")
    (process,) = world.processes
    family, credential = world.provider.family()
    for seconds, refreshes in ((36_000, 0), (3_000, 1)):
        credential["expiresAt"] = int(time.time()) + seconds
        account = process.call("accounts.add", provider="rotating", username="ada", credential=credential,
                               replace=True)["result"]["account"]
        assert token(process.call("credentials.get", account=account)) == credential["token"]
        process.notifications.clear()
        process.call("test.advanceClock", seconds=3_000 * refreshes)
        if refreshes:
            process.wait_for("credentials.refreshed")
        assert len(world.provider.requests) == refreshes
    assert world.kept(account, family)
    world.close()


@about_files("each machine has a trail of its own")
@of(2)
def test_the_trail_names_a_token_by_the_same_digest_in_every_process(world):
    account, family = world.add()
    first = tokens(world.get(account))
    second = token(world.processes[0].call("credentials.get", account=account, forceRefresh=True))
    entries = world.processes[1].call("audit.list", method="credentials.get")["result"]["entries"]
    newest, *others = [entry["tokenDigest"] for entry in entries]
    assert len(others) == 2 and len(set(others)) == 1 and newest != others[0]
    assert {entry["process"] for entry in entries} == {process.process.pid for process in world.processes}
    trail = (world.folder / "data/store.audit.jsonl").read_text()
    assert newest in trail and second not in trail and not any(one in trail for one in first)


@of(1, "--test")
def test_a_failing_provider_is_not_asked_for_a_while(world):
    """The pause grows with each failure, or follows the provider's Retry-After. A forced refresh and a renewal ignore
    it."""
    (process,) = world.processes
    requests = world.provider.requests
    account, family = world.add()

    def asked(**more):
        before = len(requests)
        answer = process.call("credentials.get", account=account, **more)
        return len(requests) - before, answer

    world.provider.scripted = (503, b"")
    count, answer = asked()
    assert count == 1 and answer["error"]["data"]["reason"] == "providerFailure"
    pauses = []
    for _ in range(9):
        # During the pause the last error is repeated, with the remaining seconds.
        count, again = asked()
        assert count == 0 and again["error"]["message"] == answer["error"]["message"]
        left = again["error"]["data"]["retryAfterSeconds"]
        assert again["error"]["data"]["retryable"]
        pauses.append(left)
        if left > 1:
            process.call("test.advanceClock", seconds=left - 1)
            assert asked()[0] == 0
        process.call("test.advanceClock", seconds=1)
        assert asked()[0] == 1
    assert pauses[0] <= 2 and 30 <= max(pauses) <= 60
    assert asked()[0] == 0
    assert asked(forceRefresh=True)[0] == 1
    world.provider.scripted = None
    assert token(asked(forceRefresh=True)[1]) == world.provider.families[family]["access"]
    # A success resets the pause.
    account, family = world.add("bob")
    world.provider.scripted = (503, b"")
    assert asked()[0] == 1 and asked()[1]["error"]["data"]["retryAfterSeconds"] <= 2
    world.provider.scripted = None
    process.call("test.advanceClock", seconds=2)
    assert token(asked()[1]) == world.provider.families[family]["access"]


REFUSALS = [
    (400, {"error": "invalid_grant"}, "rejected", "reloginNeeded", "reloginNeeded"),
    (401, {"error": "invalid_grant"}, "rejected", "reloginNeeded", "reloginNeeded"),
    (400, {"error": "invalid_client"}, "rejected", "ok", "accountStoreFailure"),
    (401, {"error": "invalid_client"}, "rejected", "ok", "accountStoreFailure"),
    (400, {"error": "unauthorized_client"}, "rejected", "ok", "accountStoreFailure"),
    (400, {"error": "invalid_request"}, "rejected", "ok", "providerFailure"),
    (400, b"<html><body>Bad Request</body></html>", "failed", "ok", "providerFailure"),
    (400, b"", "failed", "ok", "reloginNeeded"),
    (401, b"", "failed", "ok", "providerFailure"),
    (403, b"Forbidden", "failed", "ok", "providerFailure"),
    (404, {}, "failed", "ok", "providerFailure"),
    (429, b"", "failed", "ok", "throttled"),
    (500, b"", "failed", "ok", "providerFailure"),
    (500, {"error": "server_error"}, "failed", "ok", "providerFailure"),
    (502, b"<html>Bad Gateway</html>", "failed", "ok", "providerFailure"),
    (503, b"", "failed", "ok", "providerFailure"),
    (200, b"", "failed", "ok", "providerFailure"),
    (200, {}, "failed", "ok", "providerFailure"),
    (200, {"access_token": ""}, "failed", "ok", "providerFailure"),
    (200, {"access_token": "a b"}, "failed", "ok", "providerFailure"),
    (200, {"access_token": "at", "token_type": "mac"}, "failed", "ok", "providerFailure"),
    (200, b"{\"access_token\": \"at\"", "failed", "ok", "providerFailure"),
]


@of(1)
def test_no_error_of_the_provider_removes_the_account(world):
    for status, body, result, health, reason in REFUSALS:
        account, family = world.add()
        world.provider.scripted = (status, body)
        process, case = world.processes[0], (status, body)
        renewed = process.call("accounts.renew", account=account)["result"]
        assert (renewed["result"], renewed["error"]["data"]["reason"]) == (result, reason), case
        (entry,) = world.accounts()
        assert (entry["account"], entry["health"], entry["signedIn"]) == (account, health, True), case
        assert process.call("credentials.get", account=account)["error"]["data"]["reason"] == reason, case
        world.provider.scripted = None
        # A temporary error kept the token. The account that needs a new sign-in can still be renewed on request.
        again = process.call("accounts.renew", account=account)["result"]["result"]
        assert again == "renewed", case
        assert world.kept(account, family), case
        assert world.accounts()[0]["health"] == "ok", case


@about_files("the disk is the server's")
@of(1, "--test")
def test_a_token_is_saved_when_the_disk_has_room_again_or_reported_as_lost(world):
    """The disk becomes full between the provider's answer and the commit."""
    process = world.processes[0]
    soft, hard = resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE)

    def limit(size):
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (size, hard))

    for makes_room in (True, False):
        account, family = world.add()
        answered = threading.Event()

        def gate(number, when, answered=answered):
            if when == "after":
                limit(0)
                answered.set()

        world.provider.gate = gate
        number = process.send("credentials.get", account=account)
        assert answered.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        seconds = 0
        while number not in process.answers and time.monotonic() < end:
            process.call("test.advanceClock", seconds=1)
            seconds += 1
            if makes_room and seconds == 3:
                limit(soft)
        limit(soft)
        world.provider.gate = lambda number, when: None
        answer = process.answer(number)
        if makes_room:
            assert answer["result"]["credential"]["token"] == world.provider.families[family]["access"]
            assert world.kept(account, family)
        else:
            assert answer["error"]["code"] == 1018 and answer["error"]["data"]["detail"] == "full"
            assert process.call("accounts.list")["result"]["accounts"][0]["signedIn"]
