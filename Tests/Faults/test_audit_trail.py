"""The audit trail: einlass reads only the end of a long trail, syncs a required entry before it returns the
credential, and answers other requests while another process keeps the trail locked."""
import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from stores import Einlass, Home, Refused

MEGABYTES = int(os.environ.get("EINLASS_TRAIL_MEGABYTES", "200"))
# The memory limit for a trail of any length. Reading a whole trail would take more.
MEMORY_KILOBYTES = 60_000


def peak_kilobytes(process):
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def long_trail(path):
    """Writes a trail of this many megabytes with the newest entry at its end, and returns its size."""
    entry = json.dumps({"at": 1, "application": "long", "method": "credentials.get", "process": 1, "parent": "x" * 900})
    part = (entry + "\n").encode() * 1100
    with path.open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(part)
        file.write((json.dumps({"at": 2_000_000_000, "application": "newest", "method": "access.set"}) + "\n").encode())
    path.chmod(0o600)
    return path.stat().st_size


@pytest.mark.parametrize("method", ["access.set", "audit.prune", "audit.list"])
def test_a_long_trail_takes_no_memory(report, method):
    with Home() as home:
        with Einlass(home) as process:
            process.add("ada")
        trail = home.data / "store.audit.jsonl"
        before = long_trail(trail)
        with Einlass(home) as process:
            start = time.monotonic()
            if method == "access.set":
                process.call(method, provider="twitter", state="granted")
            elif method == "audit.prune":
                assert process.call(method, before=2)["removed"] == MEGABYTES * 1100
            else:
                assert process.call(method)["entries"][0]["application"] == "newest"
            seconds = time.monotonic() - start
            peak = peak_kilobytes(process)
            found = {entry["application"] for entry in process.call("audit.list", since=2)["entries"]}
        report(megabytes_before=before >> 20, bytes_after=trail.stat().st_size, seconds=round(seconds, 2), peak_kilobytes=peak)
        assert found == {"newest"} | ({"anonymous"} if method != "audit.list" else set())
        if method == "access.set":
            assert 7 << 20 < trail.stat().st_size <= 8 << 20
        assert peak < MEMORY_KILOBYTES
        # The negative control: reading most of the trail would exceed the limit.
        assert before / 1024 > MEMORY_KILOBYTES


def test_a_line_without_end_takes_no_memory(report):
    with Home() as home:
        with Einlass(home) as process:
            process.add("ada")
        trail = home.data / "store.audit.jsonl"
        entry = json.dumps({"at": 1, "application": "first", "method": "access.set"})
        with trail.open("wb") as file:
            file.write(entry.encode() + b"\n")
            for _ in range(MEGABYTES):
                file.write(b"x" * (1 << 20))
            file.write(b"\n")
        trail.chmod(0o600)
        with Einlass(home) as process:
            assert [entry["application"] for entry in process.call("audit.list")["entries"]] == ["first"]
            assert process.call("audit.prune", before=1)["removed"] == 1
            assert "first" in {entry["application"] for entry in process.call("audit.list")["entries"]}
            peak = peak_kilobytes(process)
        report(peak_kilobytes=peak)
        assert peak < MEMORY_KILOBYTES


def hand_out(home, preload, is_required, unsynced=None):
    """Asks for a stored credential, and returns the lines about syncs up to the answer."""
    noted, configuration = home.path / "names", home.path / "config.json"
    configuration.write_text(json.dumps({"audit": "required"} if is_required else {}))
    configuration.chmod(0o600)
    environment = {**os.environ, "LD_PRELOAD": str(preload("naming")), "EINLASS_NAMES": str(noted)}
    if unsynced:
        environment["EINLASS_UNSYNCED"] = str(unsynced)
    with Einlass(home, "--config", str(configuration), env=environment) as process:
        process.call("initialize", client={"name": "trail"},
                     applications={"github": {"clientId": "c"}})
        account = process.call("accounts.add", provider="github", username="ada",
                               credential={"type": "oauth2", "token": "of-ada", "clientId": "c"})["account"]
        process.call("access.set", provider="github", state="granted")
        noted.unlink(missing_ok=True)
        assert process.call("credentials.get", account=account)["credential"]["token"] == "of-ada"
        # The answer has arrived, so every sync before it is already noted.
        return noted.read_text().splitlines() if noted.exists() else []


def test_a_required_entry_is_on_the_disk_before_the_credential_leaves(preload):
    with Home() as home:
        trail = home.data / "store.audit.jsonl"
        assert f"synced {trail}" in hand_out(home, preload, is_required=True)
    with Home() as home:
        # If the sync of the entry fails, the credential is not returned.
        with pytest.raises(Refused):
            hand_out(home, preload, is_required=True, unsynced=home.data / "store.audit.jsonl")
    with Home() as home:
        # The negative control: an optional entry is not synced, so nothing fails.
        assert hand_out(home, preload, is_required=False, unsynced=home.data / "store.audit.jsonl") == []


def answers(process, *asked, count):
    """Returns the next answers to these requests in their order of arrival."""
    found = []
    while len(found) < count:
        message = process.message()
        if message.get("id") in asked:
            found.append(message)
    return found


@pytest.mark.parametrize("is_locked", [True, False])
@pytest.mark.parametrize("method", ["access.set", "access.reset"])
def test_a_locked_trail_delays_only_the_decisions_and_loses_no_entry(method, is_locked):
    decision = {"provider": "twitter"} | ({"state": "denied"} if method == "access.set" else {})
    with Home() as home, Einlass(home) as process:
        process.add("ada")
        process.call("access.set", provider="twitter", state="granted")
        with (home.data / "store.audit.jsonl").open() as trail:
            if is_locked:
                fcntl.flock(trail, fcntl.LOCK_EX)
            decided = process.send(method, **decision)
            last = process.send("access.set", provider="facebook", state="granted")
            flows = process.send("auth.list")
            order = []
            if is_locked:
                order += answers(process, decided, last, flows, count=1)
                fcntl.flock(trail, fcntl.LOCK_UN)
            order += answers(process, decided, last, flows, count=3 - len(order))
        # The control: without the lock, the requests are answered as they were sent.
        expected = [flows, decided, last] if is_locked else [decided, last, flows]
        assert [answer["id"] for answer in order] == expected
        assert all("result" in answer for answer in order)
        written = [(entry["method"], entry["provider"]) for entry in process.call("audit.list")["entries"]]
        assert written == [("access.set", "facebook"), (method, "twitter"), ("access.set", "twitter")]
