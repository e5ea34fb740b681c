"""Messages of einlassctl name the fault and a command that helps. Completion offers values that are accepted.

    python -m pytest Tests/Control/test_messages.py
"""
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from control import CONTROL, EINLASS, PROJECT, account, fake, passphrase_of, run
from terminal import PATIENCE, Terminal
from test_sign_in_elsewhere import ready, sign_in  # noqa: F401


@pytest.fixture
def both(store):
    """Returns the options for a store with one user name at two providers."""
    facebook = {"provider": "facebook", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *store, input=json.dumps([account("ada"), facebook, account("bob")]))[0] == 0
    return store


def test_an_ambiguous_name_is_answered_with_unambiguous_ones(both):
    code, _, errors = run("accounts", "prefer", "ada", "--for", "neovim", *both)
    assert code == 64 and "problem: ada may be twitter/ada or facebook/ada. Use one of these names.\n" in errors, errors
    for name in re.search("may be (.*) or (.*)[.] Use", errors).groups():
        assert run("accounts", "prefer", name, "--for", "neovim", *both)[0] == 0


def test_accounts_of_a_provider_are_listed_by_its_name(both):
    for arguments in (["accounts", "list", "facebook"], ["accounts", "list", "--provider", "facebook"]):
        code, output, _ = run(*arguments, *both)
        assert code == 0 and "facebook" in output and "twitter" not in output
    code, _, errors = run("accounts", "list", "nope", *both)
    assert code == 1 and errors.startswith("problem: There is no provider nope.\n   next: List the providers: ")
    assert "There is no command einlassctl accounts lst." in run("accounts", "lst", *both)[2]


@pytest.mark.parametrize("arguments", [["accounts", "list", "--nope"], ["doctor", "extra"], ["sign-in", "--flow"], ["audit", "--limit", "x"]])
def test_parser_errors_have_the_form_of_the_others(arguments):
    code, output, errors = run(*arguments)
    assert (code, output) == (64, "") and errors.startswith("problem: ") and "Error" not in errors, errors


def test_without_a_terminal_the_option_for_a_device_code_is_named(sign_in):  # noqa: F811
    def piped(argv, **environment):
        return subprocess.run(argv, env=os.environ | environment, text=True, capture_output=True, start_new_session=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
    done = sign_in("github", "--no-browser", on=piped)
    assert done.returncode == 1 and "can't be asked here" not in done.stderr, done.stderr
    assert "This sign-in needs a terminal. Without one, a code is shown only for --flow deviceCode." in done.stderr
    assert "sign-in github --flow deviceCode" in done.stderr


def test_the_missing_part_of_a_registration_is_named(store):
    code, _, errors = run("providers", "configure", "vimeo", "--client-id", "x", *store)
    assert code != 0 and "client secret" in errors and "enter its client id" not in errors, errors
    # The control: without any registration the client id is missing too.
    assert "enter its client id" in run("sign-in", "vimeo", "--no-input", *store)[2]


def test_counts_use_singular_and_plural(store, tmp_path):
    run("accounts", "add", "-", *store, input=json.dumps(account("ada")))
    assert "1 account and " in run("store", "check", *store)[1]
    words = passphrase_of("correct horse")
    try:
        output = run("accounts", "export", str(tmp_path / "file"), "--file-passphrase-fd", str(words), *store, pass_fds=[words])[1]
    finally:
        os.close(words)
    assert "Wrote 1 account to " in output
    assert re.match(r"Removed (0|[2-9]\d*) entries|Removed 1 entry", run("audit", "prune", "2026-01-01", "--yes", *store)[1])


@pytest.mark.parametrize("option", ["--passphrase-fd", "--file-passphrase-fd"])
def test_a_passphrase_may_come_by_standard_input(two, tmp_path, option):
    file = str(tmp_path / "file")
    for command in ("export", "import"):
        code, _, errors = run("accounts", command, file, option, "0", *two, input="correct horse\n")
        assert code == 0, errors
    assert run("accounts", "import", file, option, "0", *two, input="wrong\n")[0] == 1


def test_an_export_names_the_option_for_its_passphrase(two, tmp_path):
    code, _, errors = run("accounts", "export", str(tmp_path / "file"), *two)
    assert code == 1 and "next: Pass the passphrase with --file-passphrase-fd." in errors, errors
    assert "--file-passphrase-fd" in run("accounts", "export", "--help")[1]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "TERM": "dumb"}])
def test_no_color_and_a_dumb_terminal_get_no_escape_sequences(two, environment):
    with Terminal([CONTROL, "doctor", *two], **environment) as terminal:
        assert terminal.end() == 0 and "store check" in terminal.shown and "\x1b" not in terminal.shown, repr(terminal.shown)
    with Terminal([CONTROL, "store", "check", *fake("progress")], **environment) as terminal:
        assert terminal.end() == 0 and "\x1b" not in terminal.shown, repr(terminal.shown)


def test_the_doctor_accepts_the_configuration_of_the_sandbox(two, ready, tmp_path):  # noqa: F811
    config = tmp_path / "try.json"
    config.write_text(json.dumps(ready["config"]))
    config.chmod(0o600)
    code, output, _ = run("doctor", *two, "--config", str(config))
    assert "note" not in output and f"{config} is valid" in output, output


def helps():
    """Yields each command with its help."""
    commands = [[]]
    while commands:
        command = commands.pop()
        text = run("help", *command, env={**os.environ, "COLUMNS": "80"})[1]
        yield command, text
        listed = text.partition("SUBCOMMANDS:\n")[2]
        commands += [[*command, name] for name in re.findall(r"^  ([a-z-]+)(?: |$)", listed, re.M) if name != "help"]


def test_examples_in_help_can_be_pasted():
    count = 0
    for command, text in helps():
        for line, after in re.findall(r"^(?:EXAMPLE: |  )(einlassctl .*)\n(?=(.*)$)", text.partition("USAGE:")[0], re.M):
            assert shlex.split(line) and (not after or after.startswith(" ")), (command, line, after)
            count += 1
    assert count > 15


def bash(*typed):
    """Returns the output of bash after this command line and two tabs."""
    with Terminal(["/bin/bash", "--norc", "--noprofile", "-i"], columns=200, PS1="$ ", PATH=f"{Path(CONTROL).parent}:{os.environ['PATH']}",
                  EINLASS=EINLASS, INPUTRC="/dev/null") as terminal:
        terminal.wait_for("$ ")
        terminal.type('source <(einlassctl --generate-completion-script bash); echo rea""dy\n')
        terminal.wait_for("ready\r\n")
        terminal.wait_for("$ ")
        terminal.type(" ".join(typed) + "\t\t\x15exit\n")
        assert terminal.end() == 0
        return terminal.shown.partition("ready\r\n")[2]


def test_bash_shows_unambiguous_account_names(both):
    shown = bash("einlassctl accounts remove", *both[2:], "")
    names = re.findall(r"^((?:[a-z/]+ +)+)\r$", shown, re.M)
    assert sorted(" ".join(names).split()) == ["facebook/ada", "twitter/ada", "twitter/bob"], repr(shown)


@pytest.mark.parametrize("words, offered", [
    (["sign-in", "github", "--flow"], ["authorizationCode", "clientCredentials", "deviceCode", "jwtBearer", "oauth1", "passwordSession", "tokenExchange"]),
    (["access", "set"], ["editor", "neovim"]),
    (["access", "set", "neovim", "twitter"], ["denied", "granted"]),
    (["access", "reset"], ["editor", "neovim"]),
    (["accounts", "prefer", "twitter/ada", "--for"], ["editor", "neovim"]),
    (["accounts", "list"], ["twitter"]),
    (["accounts", "list", "--log-level"], ["debug", "error", "info", "warning"]),
])
def test_completion_offers_values(two, tmp_path, words, offered):
    for application in ("neovim", "editor"):
        assert run("access", "set", application, "twitter", "granted", *two)[0] == 0
    found = completions(words, two, tmp_path)
    assert set(offered) <= set(found), found
    if words[:2] != ["accounts", "list"]:
        assert sorted(found) == offered


def test_a_retired_provider_is_in_no_completion(two, tmp_path):
    for words in (["sign-in"], ["accounts", "list"]):
        found = completions(words, two, tmp_path)
        assert "github" in found and "tencent-weibo" not in found


def completions(words, two, tmp_path):
    """Returns what bash offers after these words."""
    script = """
        source <("$1" --generate-completion-script bash)
        shift
        COMP_WORDS=("$@" "") COMP_CWORD=$#
        COMP_LINE="$* " COMP_POINT=$((${#COMP_LINE}))
        _einlassctl einlassctl "" "${@: -1}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    # The store's options come before the value, because completion must find them at any position.
    line = ["einlassctl", words[0], *(words[1:2] if words[0] in ("access", "accounts") else []), *two,
            *words[2 if words[0] in ("access", "accounts") else 1:]]
    done = subprocess.run(["bash", "-c", script, "bash", CONTROL, *line], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{Path(CONTROL).parent}:{os.environ['PATH']}"}, timeout=PATIENCE)
    return done.stdout.split()
