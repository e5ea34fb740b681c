"""The memory of the process cannot be read, neither from a core dump nor while it runs. Each test compares it with a
program without these precautions."""
import ctypes
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from canaries import found, fresh
from session import Session
from somebody import IS_ROOT, NOBODY, OTHER, as_user, owned_by

CREDENTIAL = {"type": "oauth2", "token": "t", "clientId": "1"}


def settled(look):
    """Returns the result of `look` at a program that was just started. Until its exec it is still a copy of its
    parent, so this tries again."""
    for _ in range(100):
        if (result := look())[1]:
            break
        time.sleep(0.1)
    return result


def started(place, **spawn):
    """Returns an einlass with a secret in its memory."""
    canaries = fresh()
    session = Session("--store", "memory", program=(place.einlass,), **spawn)
    session.call("initialize", client={"name": "leaks"}, capabilities={"prompts": ["openURL"]})
    session.call("accounts.add", provider="facebook", username="ada",
                 credential={**CREDENTIAL, "token": canaries["systemToken"]})
    return session, canaries


def cores_allowed():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def crashed(place):
    """Returns process id and whether a core was dumped, for einlass and for another program."""
    def dumps(process):
        process.send_signal(signal.SIGSEGV)
        # `Popen.wait` would lose the flag for a core dump.
        return process.pid, os.WCOREDUMP(os.waitpid(process.pid, 0)[1])

    os.chdir(place.home)
    session, _ = started(place, preexec_fn=cores_allowed)
    return dumps(session.process), dumps(subprocess.Popen(["sleep", "600"], preexec_fn=cores_allowed))


def test_a_crash_writes_no_core(place):
    """Uses this machine's core pattern; the next test sets both kinds of pattern."""
    (_, einlass), (_, other) = as_user(NOBODY, lambda: crashed(place))
    assert not einlass and not [name for name in os.listdir(place.home) if "einlass" in name]
    if not other:
        pytest.skip("this machine writes no cores, so that nothing was proven")


CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


@pytest.mark.skipif(not (IS_ROOT and os.environ.get("EINLASS_CORE_PATTERN") and os.access(CORE_PATTERN, os.W_OK)),
                    reason="sets for a moment where the whole machine sends cores: needs root and EINLASS_CORE_PATTERN=1")
@pytest.mark.parametrize("pattern", ["{}/home/core.%p", "|{}/handler %p"])
def test_a_crash_gives_no_core_to_a_file_or_a_handler(place, pattern):
    """Needs EINLASS_CORE_PATTERN=1, because the pattern applies to the whole machine and would stay after a kill of
    this test."""
    handler = Path(place.path, "handler")
    handler.write_text(f"#!/bin/sh\ncat >/dev/null\necho >{place.home}/core.$1\n")
    handler.chmod(0o755)
    before = CORE_PATTERN.read_text()
    try:
        CORE_PATTERN.write_text(pattern.format(place.path))
        (einlass, is_dumped), (other, _) = as_user(NOBODY, lambda: crashed(place))
    finally:
        CORE_PATTERN.write_text(before)
    # The kernel does not wait for a handler.
    _, is_proven = settled(lambda: (None, f"core.{other}" in os.listdir(place.home)))
    assert not is_dumped and f"core.{einlass}" not in os.listdir(place.home)
    if not is_proven:
        pytest.skip("this machine writes no such cores, so that nothing was proven")


PTRACE_SEIZE = 0x4206


def attach(process):
    """Returns the errno of attaching as a debugger, and whether it succeeded."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    done = libc.ptrace(PTRACE_SEIZE, process, None, None) == 0
    return 0 if done else ctypes.get_errno(), done


def test_no_debugger_of_the_same_user_attaches(place):
    def body():
        session, _ = started(place)
        other = subprocess.Popen(["sleep", "600"])
        try:
            return [attach(session.process.pid)[0], settled(lambda: attach(other.pid))[0]]
        finally:
            session.process.kill()
            other.kill()

    einlass, other = as_user(NOBODY, body)
    assert einlass != 0
    if other != 0:
        pytest.skip("nobody may debug anything on this machine, so that nothing was proven")


def readable(process):
    """Returns the readable files of a process, and whether all of them are readable."""
    names = []
    for name in ("environ", "mem", "maps"):
        try:
            with open(f"/proc/{process}/{name}", "rb") as file:
                if name != "mem":
                    file.read()
            names.append(name)
        except OSError:
            pass
    return names, {"environ", "maps"} <= set(names)


def test_environment_and_memory_are_unreadable_during_a_sign_in(place):
    session, canaries = started(place, env={**os.environ, "EXAMPLE": "inherited"}, **owned_by(NOBODY))
    other = subprocess.Popen(["sleep", "600"], env={"EXAMPLE": "inherited"}, **owned_by(NOBODY))

    def look():
        with open(f"/proc/{session.process.pid}/cmdline", "rb") as file:
            return readable(session.process.pid)[0], file.read().hex()

    try:
        session.call("providers.configure", provider="sequencing", clientId="APP", clientSecret=canaries["sequencingSecret"])
        assert session.asked("accounts.signIn", provider="sequencing")["kind"] == "openURL"
        seen = [as_user(user, look) for user in ([NOBODY, OTHER] if IS_ROOT else [None])]
        proves = as_user(NOBODY, lambda: settled(lambda: readable(other.pid))[1])
    finally:
        session.process.kill()
        other.kill()
    for names, line in seen:
        # The command line is always readable, so it must not contain a secret.
        assert b"--store" in bytes.fromhex(line) and found(canaries, bytes.fromhex(line)) == []
    if not proves:
        pytest.skip("nobody may look into processes on this machine, so that nothing was proven")
    assert [names for names, _ in seen] == [[]] * len(seen)


HEAP_BYTES = 1 << 16  # of libcrypto's secure heap; more than einlass locks of it


def keys_in_memory(place, limit):
    """Starts einlass as an ordinary user with this limit on locked memory and an account in the store. Returns
    `memoryLocked` and the flags of the memory with its keys; None where these cannot be read."""
    session = Session("--store", f"{place.home}/data{limit}/store.db", "--key-file", f"{place.home}/keys{limit}/key",
                      program=(place.einlass,), **owned_by(NOBODY),
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit)))
    try:
        session.call("accounts.add", provider="facebook", username="ada", credential=CREDENTIAL)
        assert session.call("store.check")["sealedValues"] == 1
        says = session.call("store.status")["memoryLocked"]
        with open(f"/proc/{session.process.pid}/smaps") as file:
            maps = re.findall(r"^(\w+)-(\w+) rw-p (?:.*\n)*?VmFlags: (.*)", file.read(), re.M)
    except PermissionError:
        maps = []
    finally:
        assert session.end() == 0
    flags = [flags.split() for start, end, flags in maps if int(end, 16) - int(start, 16) == HEAP_BYTES]
    return says, [kept for kept in flags if "dd" in kept] if maps else None


def test_the_memory_of_keys_is_locked_and_in_no_dump(place):
    room = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    says, heap = keys_in_memory(place, 0)  # the control: it works without locked memory too
    assert says is False
    if heap is not None:
        assert len(heap) == 1 and "lo" not in heap[0]
    if 0 <= room < 4 * HEAP_BYTES:
        pytest.skip(f"{room} bytes of memory may be locked here, which are too few")
    says, heap = keys_in_memory(place, 4 * HEAP_BYTES)
    assert says is True
    if heap is None:
        pytest.skip("only root may see here what memory it is")
    assert len(heap) == 1 and "lo" in heap[0]
