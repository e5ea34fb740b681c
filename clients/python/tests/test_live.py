"""The terminal program and the bash client with the real server and the sandbox, as Tests/run builds them."""

import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2]
BUILD = CLIENTS.parent / ".build"
EINLASS = Path(os.environ.get("EINLASS_BINARY", BUILD / "release-static/release/einlass"))
SANDBOX = Path(os.environ.get("EINLASS_SANDBOX", BUILD / "debug/einlass-sandbox"))

pytestmark = pytest.mark.skipif(not (EINLASS.exists() and SANDBOX.exists()), reason="the programs are not built")


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs a command of the terminal program on a store with the demo accounts."""
    for name in ("store", "key"):
        (tmp_path / name).mkdir(mode=0o700)
    options = ["--store", f"{tmp_path}/store/accounts.db", "--key-file", f"{tmp_path}/key/store.key",
               "--config", f"{tmp_path}/config.json"]

    def run(*arguments, stdin="", program=(sys.executable, "-m", "einlass"), after=(), on=None):
        command, where = [*program, *arguments, *options, *after], {"cwd": CLIENTS / "python",
                                                                   "env": {**os.environ, "EINLASS": str(EINLASS)}}
        if on:
            return on(command, **where)
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, **where)
        return done.returncode, done.stdout, done.stderr

    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        ready = json.loads(sandbox.stdout.readline())
        (tmp_path / "config.json").write_text(json.dumps(ready["config"]))
        (tmp_path / "config.json").chmod(0o600)
        code, output, errors = run("add", stdin=json.dumps(ready["accounts"]))
        assert code == 0, errors
        run.addresses = ready["addresses"]
        yield run
        sandbox.terminate()


def test_providers_and_accounts_are_listed(run):
    listed = [line.split() for line in run("providers")[1].splitlines()]
    assert ["twitter", "Twitter", "yes"] == listed[1][:2] + listed[1][-1:] and "reverseAuth" in listed[1][2]
    assert ["facebook", "Facebook"] == listed[2][:2] and "systemToken" in listed[2][2]
    assert "ada@example.org" in run("accounts", "facebook")[1]


@pytest.mark.parametrize("provider", ["twitter", "facebook"])
def test_sign_in_returns_a_credential_that_verifies(run, provider):
    code, output, errors = run("sign-in", provider, "--yes", "--json", "--show-secrets", "--verify")
    result = json.loads(output)
    assert code == 0 and result["verification"]["valid"], errors
    assert run("verify", provider, stdin=output)[0] == 0
    assert run("verify", provider, "--account", result["account"])[0] == 0


def test_without_an_account_and_a_terminal_the_command_that_signs_in_is_named(run):
    code, output, errors = run("sign-in", "vimeo")
    command = re.search(r"next: Sign in on a terminal: python -m einlass sign-in vimeo --store (\S+) ", errors)
    assert (code, output) == (1, "") and command, errors
    assert command[1].endswith("store/accounts.db")
    assert "next: Add an account with its credential: python -m einlass add FILE --store" in errors


def test_without_a_terminal_a_question_says_how_to_answer_it_in_advance(run):
    code, output, errors = run("sign-in", "facebook")
    assert (code, output) == (1, "") and "interactionRequired" in errors
    assert "next: Allow the access: python -m einlass access facebook grant --store" in errors
    assert "next: Confirm the account in advance: python -m einlass sign-in facebook --confirm --store" in errors
    assert run("access", "facebook", "grant")[0] == 0
    assert run("sign-in", "facebook", "--confirm")[0] == 0


def test_a_credential_that_does_not_work_is_replaced_next(run):
    peggy = next(line.split()[-1] for line in run("accounts")[1].splitlines() if "peggy" in line)
    code, _, errors = run("sign-in", "twitter", "--yes", "--account", peggy)
    assert code == 1 and "python -m einlass add FILE --replace --store" in errors


def test_access_can_be_denied_and_reset(run):
    run("access", "twitter", "deny")
    assert "accessNotGranted" in run("sign-in", "twitter", "--yes")[2]
    run("access", "twitter", "reset")
    assert run("sign-in", "twitter", "--yes")[0] == 0


def test_an_account_that_is_there_is_replaced_only_when_asked(run):
    again = json.dumps({"provider": "twitter", "username": "ada", "subject": "1001", "credential": {
        "type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "x"}})
    assert "accountExists" in run("add", stdin=again)[2]
    assert run("add", "--replace", stdin=again)[1].startswith("replaced ada (twitter)")


def test_bash_signs_in(run):
    code, output, errors = run(stdin="1\n1\n", program=[CLIENTS / "bash/sign-in", "twitter"])
    assert code == 0, errors
    assert json.loads(output)["credential"]["screenName"] == "ada"
    assert "error" not in errors  # the client read the output to its end, so no write of the server failed


def test_bash_names_the_next_step_with_the_options_in_use(run):
    code, output, errors = run(stdin="2\n", program=[CLIENTS / "bash/sign-in", "twitter"])
    assert (code, output) == (1, "") and "accessNotGranted, 1002" in errors
    for command in ("reset bash twitter", "set bash twitter granted"):
        assert re.search(rf"^next: .*: einlassctl access {command} --store \S+store/accounts\.db ", errors, re.M), errors


def test_a_person_logs_in_at_a_server_of_their_own(run):
    replies = {b"Password; nothing cancels: ": b"demo-password\n", b"Remember the password? [y/N] ": b"\n"}

    def on_a_terminal(command, **where):
        """Runs a command on a terminal, answers each question, and returns its result."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True,
                              preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **where) as child:
            os.close(theirs)
            shown = b""
            while replies:
                shown += os.read(ours, 4096)
                for question in [question for question in replies if question in shown]:
                    os.write(ours, replies.pop(question))
            output = child.stdout.read().decode()
        os.close(ours)
        return child.returncode, output, shown

    code, output, shown = run("sign-in", "fcsdk", "--server", run.addresses["fcsdk"], "--username", "ada", "--json",
                              "--show-secrets", "--deadline", "60", on=on_a_terminal)
    assert re.search(r"^Log in at “http://\S+” as “ada”\.\r$", shown.decode(), re.M), shown
    assert code == 0 and json.loads(output)["credential"]["type"] == "session"
