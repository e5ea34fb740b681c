"""The arguments of the command line, its help and completion, and the messages about wrong arguments."""
import os
import subprocess
from pathlib import Path

import pytest

from control import CONTROL, EINLASS, add, fake, run, usernames
from terminal import PATIENCE, Terminal


@pytest.mark.parametrize("arguments, missing", [
    (["accounts", "remove"], "ACCOUNT"), (["accounts", "show"], "ACCOUNT"), (["accounts", "rename"], "ACCOUNT"), (["accounts", "rename", "ada"], "NAME"),
    (["accounts", "add"], "FILE"), (["access", "set"], "APPLICATION"), (["access", "set", "x"], "PROVIDER"),
    (["access", "set", "x", "twitter"], "STATE"), (["access", "reset", "x"], "PROVIDER"),
    (["accounts", "remove", "ada"], "--yes"), (["store", "backup"], "PATH"), (["accounts", "export"], "PATH"),
    (["accounts", "import"], "PATH"), (["store", "slots", "add"], "KIND"), (["store", "slots", "remove"], "KIND"),
    (["store", "slots", "remove", "keyfile"], "--yes"), (["accounts", "explain"], "APPLICATION"),
    (["accounts", "explain", "neovim"], "PROVIDER"), (["audit", "prune"], "YYYY-MM-DD"),
    (["audit", "prune", "2026-01-01"], "--yes"),
])
@pytest.mark.parametrize("on_terminal", [False, True])
def test_a_missing_argument_is_named_if_no_question_is_possible(two, arguments, missing, on_terminal):
    run("access", "set", "x", "twitter", "granted", *two)
    if on_terminal:
        with Terminal([CONTROL, *arguments, *two, "--no-input"]) as terminal:
            assert terminal.end() == 64
            said = terminal.shown
    else:
        code, output, said = run(*arguments, *two)
        assert (code, output) == (64, "")
    assert missing in said
    assert usernames(two) == ["ada", "bob"]


@pytest.mark.parametrize("arguments, said", [
    (["sign-in", "github", "--flow", "nope"], "--flow must be one of"),
    (["accounts", "export", "-"], "can't go to standard output. Name a path"),
    (["providers", "add", "login.example.com"], "An address must begin with https://"),
])
def test_errors_use_the_words_of_the_command_line(two, tmp_path, arguments, said):
    code, _, errors = run(*arguments, *two, cwd=tmp_path)
    assert code != 0 and said in errors, errors
    assert not (tmp_path / "-").exists()


def test_a_name_with_a_dash_in_front_is_no_call_for_help(store):
    add(store, "-dash")
    code, output, errors = run("accounts", "remove", "-dash", "--yes", *store)
    assert (code, output) == (64, "") and "after --" in errors
    assert run("accounts", "remove", "--yes", *store, "--", "-dash")[0] == 0
    assert run("accounts", "remove", "-h")[:2] == run("accounts", "remove", "--help")[:2]


@pytest.mark.parametrize("arguments, code", [
    (["accounts", "nope"], 64), (["accounts", "list", "--nope"], 64), (["accounts", "list", "--key-fd", "999"], 64),
    (["accounts", "list", "--einlass", "/nope"], 70), (["accounts", "list", *fake("ends")], 70),
    (["accounts", "list", *fake("dies")], 70), (["accounts", "list", "--log-level", "nope", "--einlass", EINLASS], 64),
    (["--help"], 0), (["--version"], 0), (["accounts", "add", "--help"], 0),
])
def test_exit_codes_are_those_of_the_help(arguments, code):
    assert run(*arguments)[0] == code


@pytest.mark.parametrize("arguments, said", [
    (["accounts", "lst"], "no command einlassctl accounts lst. Did you mean list?"),
    (["store", "rotateKey"], "no command einlassctl store rotateKey. Did you mean rotate-key?"),
    (["sing-in", "github"], "no command einlassctl sing-in. Did you mean sign-in?"),
    (["store", "xyz"], "no command einlassctl store xyz. There are: status, check, backup, move, rotate-key, slots, unlock, lock."),
    (["users", "list", "--for", "game"], "Unknown option '--for'.\n"), (["users", "list", "--stor", "x"], "Did you mean '--store'?"),
    (["accounts", "list", "twitter", "more"], "Unexpected argument 'more'"),
    (["accounts", "list", "twitter", "tw\u202eit\x1b[2Jter"], "Unexpected argument 'tw\ufffdit\ufffd[2Jter'"),
])
def test_an_unknown_word_is_answered_with_the_nearest_or_the_known_ones(arguments, said):
    code, output, errors = run(*arguments)
    assert (code, output) == (64, "") and said in errors


def test_bash_completes_accounts_without_running_their_names(tmp_path):
    script = """
        source <("$1" --generate-completion-script bash)
        shift
        COMP_WORDS=("$@" "") COMP_CWORD=$#
        COMP_LINE="$* " COMP_POINT=$((${#COMP_LINE}))
        _einlassctl
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    words = ["einlassctl", "accounts", "remove", *fake("evil")]
    environment = {**os.environ, "PATH": f"{Path(CONTROL).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script, "bash", CONTROL, *words], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert {"twitter/ada", "a_2", "twitter/bob", "a_4"} <= set(done.stdout.split()), done
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments, said", [
    (["help", "nope"], "There is no command einlassctl nope."),
    (["help", "accounts", "nope"], "There is no command einlassctl accounts nope."),
    (["audit", "--limit", "-1"], "begins with a dash after =: --limit=-1"), (["audit", "--limit=-1"], "--limit needs a number from 1."),
    (["audit", "--limit", "0"], "--limit needs a number from 1."),
    (["accounts", "renew", "-ada"], "begins with a dash after --: "),
    (["sign-in", "github", "--flow", "reverseAuth"], "--flow must be one of authorizationCode, deviceCode, oauth1, clientCredentials, jwtBearer, tokenExchange, passwordSession."),
    (["store", "slots", "add", "fd"], "KIND must be one of keyfile, passphrase, secretservice, command."),
    (["store", "slots", "remove", "foo"], "KIND must be one of keyfile, passphrase, secretservice, command, fd."),
    (["accounts", "--store", ""], "--store needs a value"), (["accounts", "--einlass", ""], "--einlass needs a value"),
    (["accounts", "--log-level", "foo"], "--log-level must be one of error, warning, info, debug."),
])
def test_a_wrong_command_line_is_reported_before_einlass_starts(arguments, said):
    code, output, errors = run(*arguments, env={**os.environ, "EINLASS": "/nope"})
    assert (code, output) == (64, "") and said in errors, errors


def test_the_help_of_every_command_is_there():
    assert run("help")[0] == 0
    assert run("help", "accounts", "list")[:2] == run("accounts", "list", "--help")[:2]


@pytest.mark.parametrize("arguments, said", [
    (["sign-in", "github", "--scope", ""], "--scope must be"), (["accounts", "renew", "ada", "--for", ""], "The application's name must be"),
    (["access", "set", "x", "twitter", "granted", "--permission", ""], "--permission must be"),
])
def test_a_refused_parameter_is_named_as_on_the_command_line(two, arguments, said):
    _, _, errors = run(*arguments, *two)
    assert f"problem: {said} a string of 1 to 256 bytes" in errors, errors


@pytest.mark.parametrize("option, value, said", [
    ("--username", "", "a string of 1 to 256 bytes"), ("--trusted-key", "k" * 53, "a string of at most 52 bytes"),
    ("--ca-file", "/" + "f" * 4096, "a string of at most 4096 bytes"), ("--server", "h" * 269, "a string of at most 268 bytes"),
    ("--login-hint", "a" * 1025, "a string of at most 1024 bytes")])
def test_a_refused_member_of_page_or_server_is_named_as_on_the_command_line(two, option, value, said):
    _, _, errors = run("sign-in", "fcsdk", option, value, *two)
    assert f"problem: {option} must be {said}" in errors, errors


def test_a_provider_and_an_account_of_another_provider_are_refused(two):
    code, output, errors = run("sign-in", "github", "--account", "ada", "--no-input", *two)
    assert (code, output) == (64, "") and "twitter/ada is not an account of github." in errors, errors
