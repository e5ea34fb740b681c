"""A process stopped during a write blocks no reader. A waiting writer is told the process's id."""
import fcntl
import os
import random
import signal
import threading
import time

import pytest

from stores import Einlass, Home, Refused

STOPS = 20
# The number of write attempts by another process; each takes its full waiting time.
WRITES = 5


def holds_lock(process, home):
    """Whether the process holds the store's lock exclusively, according to /proc/locks: then it is in a write."""
    inode = home.database.with_name("store.lock").stat().st_ino
    with open("/proc/locks") as locks:
        held = [line.split() for line in locks]
    return any(words[1] == "FLOCK" and words[3:5] == ["WRITE", str(process.pid)] and words[5].endswith(f":{inode}")
               for words in held)


def stop_in_a_write(writer, home, states):
    """Stops the writer while it holds the lock. Returns the number of attempts and the pending requests."""
    tries = 0
    while True:
        tries += 1
        asked = [writer.send("access.set", application="editor", provider="github", state=next(states))
                 for _ in range(20)]
        time.sleep(random.uniform(0, 0.02))
        writer.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, writer.process.pid, os.WSTOPPED)
        if holds_lock(writer.process, home):
            return tries, asked
        go_on(writer, asked)


def go_on(writer, asked):
    """Continues the writer, which must complete all pending requests."""
    writer.process.send_signal(signal.SIGCONT)
    waiting = set(asked)
    while waiting:
        message = writer.message()
        assert "error" not in message, message
        waiting.discard(message.get("id"))


def introduce(process):
    process.call("initialize", client={"name": "reader"},
                 applications={"github": {"clientId": "c", "clientSecret": "z"}})


def alternately():
    while True:
        yield "granted"
        yield "denied"


def test_only_writers_wait_for_a_stopped_writer(report):
    states, tries, longest = alternately(), 0, 0
    with Home() as home, Einlass(home) as writer, Einlass(home) as other:
        account = writer.call("accounts.add", provider="github", username="ada", credential={
            "type": "oauth2", "token": "secret", "tokenType": "bearer", "clientId": "c"})["account"]
        introduce(other)
        other.call("access.set", provider="github", state="granted")
        for stop in range(STOPS):
            tried, asked = stop_in_a_write(writer, home, states)
            tries += tried
            # The negative control: a reader that takes the writers' lock would have to wait.
            with open(home.database.with_name("store.lock")) as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            start = time.monotonic()
            for process in (other, Einlass(home)):
                if process is not other:
                    introduce(process)
                assert [account["username"] for account in process.accounts()] == ["ada"]
                assert process.call("credentials.get", account=account)["credential"]["token"] == "secret"
                assert process.call("rpc.discover")["methods"]
                if process is not other:
                    process.end()
            longest = max(longest, time.monotonic() - start)
            if stop % (STOPS // WRITES) == 0:
                with pytest.raises(Refused) as refused:
                    other.call("access.set", application="other", provider="github", state="granted")
                error = refused.value.error
                assert (error["data"]["detail"], error["data"]["holder"]) == ("locked", writer.process.pid)
                assert f"process {writer.process.pid}" in error["message"]
            go_on(writer, asked)
        other.call("access.set", application="other", provider="github", state="granted")
        assert other.call("store.check")["sound"]
    report(stops=STOPS, tries=tries, longest_seconds=round(longest, 2))
    assert longest < 5


def test_pipelined_writes_wait_while_other_writers_take_turns():
    """The other writer holds the lock for 2.5 s, longer than the two seconds of a request, and announces a change
    every 0.5 s."""
    ended = threading.Event()

    def write_in_turn():
        with open(home.database.with_name("store.lock"), "r+") as lock:
            while not ended.is_set():
                fcntl.flock(lock, fcntl.LOCK_EX)
                for _ in range(5):
                    time.sleep(0.5)
                    lock.truncate(os.fstat(lock.fileno()).st_size + 1)
                fcntl.flock(lock, fcntl.LOCK_UN)
                # Without a pause the kernel gives the lock back to this thread, and no other process gets a turn.
                time.sleep(0.002)

    with Home() as home, Einlass(home) as process:
        process.add("ada")
        writer = threading.Thread(target=write_in_turn)
        writer.start()
        try:
            time.sleep(0.2)
            start = time.monotonic()
            asked = {process.send("access.set", provider="github", state=state) for state in ("granted", "denied", "granted")}
            while asked:
                message = process.message()
                assert "error" not in message, message
                asked.discard(message.get("id"))
            waited = time.monotonic() - start
        finally:
            ended.set()
            writer.join()
    assert waited > 2
