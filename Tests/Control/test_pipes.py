"""Standard input and output are pipes that block, end or fill up: einlassctl does not hang or crash, and reports each
lost output."""
import contextlib
import json
import os
import select
import signal
import struct
import subprocess
import termios
import time
from fcntl import F_GETPIPE_SZ, fcntl, ioctl
from pathlib import Path

import pytest

from control import CONTROL, EINLASS, account, run, usernames
from terminal import PATIENCE


def test_a_closed_output_is_no_crash(two):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([CONTROL, "accounts", *two], stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def left_in(pipe):
    """Returns the number of unread bytes in a pipe."""
    return struct.unpack("i", ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def wait_while(condition, process):
    """Waits until the condition is false or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while condition() and process.poll() is None:
        assert time.monotonic() < deadline, process.args
        time.sleep(0.001)


def test_non_blocking_standard_streams_are_used_completely(two):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # More than a pipe holds.
    with subprocess.Popen([EINLASS, "--dump-protocol"], stdout=writing) as process:
        os.close(writing)
        with open(reading) as output:
            assert json.load(output)["openrpc"]
    assert process.returncode == 0
    carol = json.dumps(account("carol")).encode()
    for command in [EINLASS, *two[2:], "call", "accounts.add", "-"], [CONTROL, "accounts", "add", "--replace", "-", *two]:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.write(writing, carol[:9])
        with subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE) as process:
            os.close(reading)
            wait_while(lambda: left_in(writing), process)
            with contextlib.suppress(BrokenPipeError):
                os.write(writing, carol[9:])
            os.close(writing)
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, command
    assert usernames(two) == ["ada", "bob", "carol"]


@pytest.mark.parametrize("arguments", [["accounts", "add", "-"], ["providers", "configure", "github", "--client-id", "c", "--secret-fd", "0"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_read_from_a_stalled_writer_can_be_interrupted(two, arguments, number):
    with subprocess.Popen([CONTROL, *arguments, *two], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write("{")
        process.stdin.flush()
        wait_while(lambda: left_in(process.stdin), process)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, errors) == (1, "Cancelled.\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_write_to_a_stalled_reader_can_be_interrupted(two, number):
    assert run("access", "set", "x" * 200, "twitter", "granted", *two)[0] == 0
    trail = Path(two[3].replace(".db", ".audit.jsonl"))
    # More than a pipe holds.
    trail.write_text(500 * trail.read_text())
    reading, writing = os.pipe()
    with subprocess.Popen([CONTROL, "audit", "list", "--limit", "400", *two], stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        size = fcntl(reading, F_GETPIPE_SZ)
        wait_while(lambda: left_in(reading) < size - select.PIPE_BUF, process)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            os.close(reading)
    assert (process.returncode, errors) == (1, "Cancelled.\n")


def test_a_request_too_long_for_einlass_is_reported(two, tmp_path):
    file = tmp_path / "accounts.json"
    text = json.dumps({"pad": "", **account("carol")})
    file.write_text(text.replace('""', '"%s"' % ("x" * ((1 << 20) - len(text)))))
    file.chmod(0o600)
    code, _, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and "(lineTooLong, -32700)" in errors and "next: Send less at a time." in errors, errors
    done = subprocess.run([EINLASS, *two[2:], "call", "accounts.add", "-"], stdin=file.open(), capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["data"]["reason"] == "lineTooLong", done.stderr


def test_a_full_disk_behind_the_output_is_reported(two):
    for command in [CONTROL, "accounts", *two], [EINLASS, *two[2:], "call", "accounts.list"], [EINLASS, "--help"]:
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "output can't be used: the disk is full." in done.stderr, done.stderr


def test_a_stray_line_never_lands_where_einlass_listens(two, tmp_path):
    file = tmp_path / "accounts.json"
    file.write_text(json.dumps([account(" "), account("carol")]))
    file.chmod(0o600)
    words = " ".join([CONTROL, "accounts", "add", "--json", str(file), *two])
    done = subprocess.run(f"{words} <&- 2>&-", shell=True, capture_output=True, text=True)
    assert [len(json.loads(done.stdout)[name]) for name in ("added", "notAdded")] == [1, 1], done.stdout
    assert usernames(two) == ["ada", "bob", "carol"]
