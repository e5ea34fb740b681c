"""Another process keeps the store's lock and does not continue. Requests without the store are answered at once,
waiting writes end together, and reads are answered."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from stores import EINLASS, Einlass, Home

EINLASSCTL = os.environ.get("EINLASS_CONTROL", EINLASS + "ctl")

# A front end's patience. A request waits two seconds for the lock, and several waiting requests wait together.
GENEROUS_SECONDS = 8
HOLDER = "import fcntl, sys, time; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); time.sleep(600)"


class Holder:
    """A stopped process that holds a store's lock."""

    def __init__(self, home):
        self.process = subprocess.Popen([sys.executable, "-c", HOLDER, home.data / "store.lock"], stdout=subprocess.PIPE)
        self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def home():
    with Home() as home:
        with Einlass(home) as process:
            process.add("ada")
        yield home


def pipelined(process, *methods):
    """Sends all requests at once. Returns the ids of the answers in order of arrival, the answers by method, and the
    duration."""
    start = time.monotonic()
    names = {process.send(method, **params): method for method, params in methods}
    order, answers = [], {}
    while len(order) < len(names):
        message = process.message()
        if "id" in message:
            order.append(message["id"])
            answers.setdefault(names[message["id"]], []).append(message)
    return order, answers, time.monotonic() - start


SET = ("access.set", {"provider": "twitter", "state": "granted"})
NEEDS_NO_STORE = [("rpc.discover", {}), ("providers.list", {}), ("auth.list", {}), ("prompt.list", {})]


def test_requests_that_wait_for_a_stopped_writer_end_together(home, report):
    with Einlass(home) as process:
        process.accounts()
        with Holder(home):
            order, answers, seconds = pipelined(process, SET, SET, SET, *NEEDS_NO_STORE)
            assert [answer["error"]["data"]["detail"] for answer in answers["access.set"]] == ["locked"] * 3
            # Requests without the store are answered first. The waiting ones keep their order.
            waited = [answer["id"] for answer in answers["access.set"]]
            assert order[-3:] == waited == sorted(waited)
            assert all("result" in answer for method, _ in NEEDS_NO_STORE for answer in answers[method])
            report(seconds_for_three=round(seconds, 1))
            assert seconds < GENEROUS_SECONDS
        # The control: without a holder the same requests are answered in their order.
        order, answers, _ = pipelined(process, SET, SET, SET, *NEEDS_NO_STORE)
        assert all("result" in answer for answer in answers["access.set"])
        assert order[:3] == sorted(order[:3]) == [answer["id"] for answer in answers["access.set"]]


def test_every_waiting_request_names_the_holder_of_the_lock(home):
    """This includes a request queued behind another one of the same process."""
    with Einlass(home) as process:
        account = process.accounts()[0]["account"]
        with Holder(home) as holder:
            # A task waits ten seconds for the lock; the update queues behind it.
            task = process.send("accounts.signOut", account=account)
            time.sleep(0.5)
            asked = process.send("accounts.update", account=account, displayName="Ada")
            while (message := process.message()).get("id") != asked:
                assert message.get("id") != task, message
            assert message["error"]["data"]["holder"] == holder.process.pid, message


@pytest.mark.parametrize("is_moving", [True, False])
def test_a_request_waits_longer_while_others_make_changes(home, is_moving):
    """A moving queue of writers is not a stopped writer. The lock file grows with each change."""
    with Einlass(home) as process, open(home.data / "store.lock", "r+") as lock:
        process.accounts()
        fcntl.flock(lock, fcntl.LOCK_EX)
        asked = process.send(SET[0], **SET[1])
        for _ in range(8):
            time.sleep(0.5)
            if is_moving:
                lock.truncate(os.fstat(lock.fileno()).st_size + 1)
        fcntl.flock(lock, fcntl.LOCK_UN)
        while (message := process.message()).get("id") != asked:
            pass
        assert ("result" in message) == is_moving


def test_a_new_process_introduces_itself_while_the_store_is_locked(home, report):
    with Holder(home), Einlass(home) as process:
        start = time.monotonic()
        greeting = process.call("initialize", client={"name": "locked"})
        seconds = time.monotonic() - start
        report(seconds=round(seconds, 1))
        assert seconds < GENEROUS_SECONDS
        assert "revision" in greeting["store"] or greeting["store"]["problem"]["detail"] == "locked"


def test_a_read_sees_the_write_before_it(home):
    """On one stream, even if the write had to wait."""
    with Einlass(home) as process:
        for _ in range(10):
            with Holder(home):
                asked = [process.send("access.set", provider="twitter", state=state) for state in ("denied", "granted")]
                asked.append(process.send("access.list"))
                time.sleep(0.1)
            states = {}
            while len(states) < 3:
                message = process.message()
                if "id" in message:
                    states[message["id"]] = message
            assert list(states) == asked
            assert [grant["state"] for grant in states[asked[2]]["result"]["grants"]] == ["granted"]


def test_doctor_names_the_process_that_keeps_the_store_locked(home):
    def doctor():
        done = subprocess.run([EINLASSCTL, "doctor", "--json", "--einlass", EINLASS, *home.options],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        findings = json.loads(done.stdout)["findings"]
        return done.returncode, [one["detail"] for one in findings if one["check"] == "store" and one["verdict"] == "problem"]

    with Holder(home) as holder:
        code, (detail,) = doctor()
        assert code == 1 and f"process {holder.process.pid} keeps" in detail
    assert doctor() == (0, [])
