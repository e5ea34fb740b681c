"""Standard input and output carry only the protocol, even if a library uses them. A person at the terminal gets a
hint."""
import json
import os
import pty
import subprocess

import pytest

from stores import EINLASS, Home

ACCOUNT = {"provider": "facebook", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "1"}}


def test_a_library_that_prints_and_reads_does_not_disturb_the_protocol(preload):
    # More input than one read takes, so that there is always something for the library to steal.
    requests = [("accounts.add", ACCOUNT)] + 5000 * [("accounts.list", {})]
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
                   for number, (method, params) in enumerate(requests))
    with Home() as home:
        done = subprocess.run(
            [EINLASS, *home.options, "--finish"], input=text, capture_output=True, text=True, timeout=60,
            env={**os.environ, "LD_PRELOAD": str(preload("stray_output"))})
    assert done.returncode == 0, done.stderr
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines()) if "id" in message}
    assert set(answers) == set(range(len(requests))) and len(answers[5000]["result"]["accounts"]) == 1
    # The control: the library has really printed, which went to standard error, and found no input to read.
    assert "stray\n" in done.stderr and "took" not in done.stderr


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_person_at_the_terminal_gets_one_hint_and_an_answer(is_terminal):
    ours, its = pty.openpty() if is_terminal else reversed(os.pipe())
    process = subprocess.Popen([EINLASS, "--store", "memory"], stdin=its, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(its)
    os.write(ours, b'{"jsonrpc":"2.0","id":1,"method":"accounts.list"}\n')
    assert json.loads(process.stdout.readline())["result"]["accounts"] == []
    if is_terminal:
        os.write(ours, b"\x04")
    else:
        os.close(ours)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "")
    assert [("einlassctl" in line) for line in errors.splitlines()] == [True] * is_terminal, errors
    if is_terminal:
        os.close(ours)
