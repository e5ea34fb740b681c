"""The system provides no more threads or descriptors. The error says so, other requests are answered, and the process
still ends on request."""
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rotation import CLIENT, World
from stores import EINLASS, Einlass, Home

# A user without other processes, so that only the test's threads count.
NOBODY = 61_234
THREAD_LIMIT, DESCRIPTOR_LIMIT = 64, 256
# Turns a hang into a failure.
PATIENCE_SECONDS = 60


def only(threads):
    """Returns a function that switches a child process to that user with this limit of threads."""
    def enter():
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        resource.setrlimit(resource.RLIMIT_NPROC, (threads, 4096))
    return enter


@pytest.fixture
def home():
    if os.geteuid() != 0:
        pytest.skip("only root may become a user without other processes")
    # A copy of the program outside the project, because that user may be unable to enter the project's folder.
    with Home("/var/tmp") as home:
        program = home.path / "einlass"
        program.write_bytes(Path(EINLASS).read_bytes())
        program.chmod(0o755)
        configuration = home.path / "config.json"
        configuration.write_text(json.dumps({"origins": {"https://api.twitter.com": "http://127.0.0.1:9"}}))
        configuration.chmod(0o600)
        for path in home.path, configuration:
            os.chown(path, NOBODY, NOBODY)
        yield home


def spawned(home, threads):
    return subprocess.Popen(
        [home.path / "einlass", *home.options, "--config", home.path / "config.json"], preexec_fn=only(threads),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"HOME": str(home.path)})


def ask(process, *requests):
    """Sends all requests at once and returns the answers by method."""
    for number, (method, params) in enumerate(requests, 1):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    watch = threading.Timer(PATIENCE_SECONDS, process.kill)
    watch.start()
    answers = {}
    while len(answers) < len(requests):
        line = process.stdout.readline()
        assert line, f"it does not answer; what was answered: {list(answers)}"
        message = json.loads(line)
        if "id" in message:
            answers[requests[message["id"] - 1][0]] = message
    watch.cancel()
    return answers


REGISTRATION = {"twitter": {"clientId": "c", "clientSecret": "z"}}
ADA = {"provider": "twitter", "username": "ada", "credential":
       {"type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "z"}}
REQUESTS = [
    ("initialize", {"client": {"name": "limits"}, "applications": REGISTRATION}), ("accounts.add", ADA),
    ("access.set", {"provider": "twitter", "state": "granted"}), ("accounts.list", {}), ("rpc.discover", {}),
    ("store.check", {}), ("auth.perform", {"provider": "twitter", "selection": "whenMany"}), ("auth.list", {})]
# By the limit of threads: a task needs a second thread, and a network request a third one.
REFUSED = {1: {"auth.perform", "store.check"}, 2: {"auth.perform"}}


def end(process, how):
    """Ends the process and returns its exit code and standard error."""
    if how == "end of input":
        process.stdin.close()
    else:
        process.send_signal(signal.SIGTERM)
    code = process.wait(PATIENCE_SECONDS)
    return code, process.stderr.read()


@pytest.mark.parametrize("how", ["end of input", "SIGTERM"])
@pytest.mark.parametrize("threads", [1, 2])
def test_everything_is_answered_where_no_more_threads_can_be_started(home, how, threads):
    process = spawned(home, threads)
    try:
        answers = ask(process, *REQUESTS)
        assert {method for method, answer in answers.items() if "error" in answer} == REFUSED[threads]
        for method in REFUSED[threads]:
            assert "thread" in answers[method]["error"]["message"], answers[method]
        assert end(process, how)[0] == 0
    finally:
        process.kill()
        process.wait()  # or it would count against the limit of the next process
    # The control: with more threads the same request reaches the network.
    process = spawned(home, threads=1024)
    try:
        error = ask(process, *REQUESTS[:1], *REQUESTS[2:])["auth.perform"]["error"]
        assert error["data"]["networkCode"] == -1004, error
        assert end(process, how)[0] == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_wait_for_the_store_lock_needs_no_other_thread(home, threads):
    process = spawned(home, threads)
    try:
        ask(process, *REQUESTS[:3])
        with open(home.data / "store.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            setting = ("access.set", {"provider": "twitter", "state": "granted"})
            answers = ask(process, setting, ("rpc.discover", {}), ("store.check", {}))
            assert answers["access.set"]["error"]["data"]["detail"] == "locked"
            assert "result" in answers["rpc.discover"]
        assert "result" in ask(process, setting)["access.set"]  # the control
        assert end(process, "SIGTERM")[0] == 0
    finally:
        process.kill()
        process.wait()  # or it would count against the limit of the next process


def test_too_few_descriptors_are_named_in_the_error(report):
    """With every limit, from too few for a start to enough, each process works or names the limit."""
    said = {}
    with Home() as home:
        configuration = home.path / "config.json"
        configuration.write_text(json.dumps({
            "origins": {"https://api.twitter.com": "http://127.0.0.1:9"},
            "applications": {"anonymous": REGISTRATION}}))
        configuration.chmod(0o600)
        with Einlass(home, "--config", str(configuration)) as process:
            account = process.add("ada")
            process.call("access.set", provider="twitter", state="granted")
        calls = [("accounts.list", {}), ("access.set", {"provider": "twitter", "state": "granted"}),
                 ("auth.perform", {"provider": "twitter", "account": account})]
        for method, params in calls:
            for limit in range(4, 40):
                done = subprocess.run(
                    [EINLASS, *home.options, "--config", configuration, "call", method, json.dumps(params)],
                    capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
                error = json.loads(done.stdout).get("error", {}) if done.stdout else {"message": done.stderr}
                message = error.get("message", "works")
                if error.get("data", {}).get("networkCode") == -1004:
                    message = "works"
                said.setdefault(message, []).append((method, limit))
        with_enough = [method for method, limit in said["works"] if limit == 39]
    report(works_from={method: min(limit for name, limit in said["works"] if name == method) for method, _ in calls})
    named = "limit on open files", "too many files are open", "error while loading shared libraries"
    wrong = {message: at for message, at in said.items()
             if message != "works" and not any(words in message for words in named)}
    assert wrong == {}
    assert len(said) > 1 and with_enough == [method for method, _ in calls]  # the control


def counts(pid):
    """Returns the current numbers of threads and descriptors of a process."""
    return tuple(len(os.listdir(f"/proc/{pid}/{kind}")) for kind in ("task", "fd"))


@pytest.mark.parametrize("is_held", [True, False])
def test_a_burst_of_sign_ins_takes_few_threads(report, is_held):
    """The requests are for 64 accounts. Either another process holds the leases of these accounts, or none does."""
    world = World(1)
    try:
        process = world.processes[0]
        accounts = [world.add(f"user{number}")[0] for number in range(64)]
        locks = []
        if is_held:
            world.get(accounts[0])  # creates the folder of leases
            for account in accounts:
                locks.append(open(world.folder / f"data/locks/{account}.lock", "a"))
                os.chmod(locks[-1].name, 0o600)
                fcntl.flock(locks[-1], fcntl.LOCK_EX)
        threads = descriptors = 0
        asked = [process.send("auth.perform", provider="rotating", account=accounts[number % 64]) for number in range(400)]
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            now = counts(process.process.pid)
            threads, descriptors = max(threads, now[0]), max(descriptors, now[1])
        for lock in locks:
            lock.close()
        answers = [process.answer(number) for number in asked]
        fine = sum("result" in answer for answer in answers)
        report(threads=threads, descriptors=descriptors, answered=len(answers), signed_in=fine)
        assert None not in answers and fine >= 64
        assert {answer["error"]["data"]["reason"] for answer in answers if "error" in answer} <= {"overloaded"}
        assert threads <= THREAD_LIMIT and descriptors <= DESCRIPTOR_LIMIT
    finally:
        world.close()
    # The negative control: a higher number of threads is noticed.
    ready, done = threading.Barrier(THREAD_LIMIT + 2), threading.Event()
    others = [threading.Thread(target=lambda: (ready.wait(), done.wait())) for _ in range(THREAD_LIMIT + 1)]
    for other in others:
        other.start()
    ready.wait()
    assert counts(os.getpid())[0] > THREAD_LIMIT
    done.set()
    for other in others:
        other.join()
