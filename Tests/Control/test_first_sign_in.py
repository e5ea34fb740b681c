"""The first minute at a terminal: one command leads from nothing to a push, with a registration of one's own.

    python -m pytest Tests/Control/test_first_sign_in.py
"""
import json
import os
import re
import subprocess
import sys

import pytest

from control import CONTROL, EINLASS, PROJECT, RELEASE, run
from terminal import PATIENCE, Terminal

sys.path.append(str(PROJECT / "Tests/Oracles"))
from browser import Visitor  # noqa: E402

SANDBOX = os.environ.get("EINLASS_SANDBOX", str(RELEASE / "einlass-sandbox"))


@pytest.fixture
def home(tmp_path):
    """The environment of a machine with the programs and the simulated providers, without registrations."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    with subprocess.Popen([SANDBOX, "--without-registrations", "--home", str(folder)], stdout=subprocess.PIPE, text=True) as sandbox:
        ready = json.loads(sandbox.stdout.readline())
        assert ready["config"]["applications"] == {}
        yield {"HOME": str(folder), "GIT_CONFIG_GLOBAL": str(folder / ".gitconfig"), "GIT_CONFIG_NOSYSTEM": "1", "EINLASS": EINLASS,
               "GIT_TERMINAL_PROMPT": "0",
               **dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "DISPLAY", "WAYLAND_DISPLAY"), "")}
        sandbox.terminate()


def git(home, *arguments):
    done = subprocess.run(["git", *arguments], env={**os.environ, **home}, cwd=home["HOME"], capture_output=True, text=True,
                          timeout=PATIENCE, start_new_session=True)
    assert done.returncode == 0, done.stderr


def register(form):
    """Registers an application with the form of the simulated GitHub, as a person would. Returns its id and secret."""
    made = Visitor().open(form).press("register", name="einlass", callback="http://127.0.0.1/callback").page
    return [re.search(f'id="{name}">([^<]+)', made)[1] for name in ("client_id", "client_secret")]


def test_one_command_leads_from_nothing_to_a_push(home):
    with Terminal([CONTROL], columns=100, **home) as terminal:
        terminal.wait_for("einlass signs you in once")
        terminal.wait_for("Which provider?")
        terminal.type("github\r")
        terminal.wait_for("How do you want to go on?")
        terminal.type("\r")
        terminal.wait_for("Client id:")
        client, secret = register(re.search(r"1\. Open (http://127\S+)", terminal.shown)[1])
        terminal.type(client + "\r")
        terminal.wait_for("Client secret")
        terminal.type(secret + "\r")
        terminal.wait_for("Use it for git (clone, fetch and push)? [y/N]")
        terminal.type("y\r")
        terminal.wait_for("The address in the browser:")
        page = re.search(r"http://127\S+/login/oauth/authorize\S+", terminal.shown)[0]
        terminal.type(Visitor().open(page).press("allow").location + "\r")
        terminal.wait_for("Signed in: github/ada.")
        terminal.wait_for("git takes its tokens from einlass now.")
        assert terminal.end() == 0 and "Try it: git clone" in terminal.shown and secret not in terminal.shown
    git(home, "clone", "-q", "https://github.com/ada/hello.git", "hello")
    git(home, "-C", "hello", "commit", "-q", "--allow-empty", "-m", "From the first minute")
    git(home, "-C", "hello", "push", "-q", "origin", "main")
    # Each part is left out where it is done, and einlassctl without arguments shows its help.
    with Terminal([CONTROL, "sign-in", "github", "--device"], columns=100, **home) as terminal:
        terminal.wait_for("Ctrl-C cancels it.")
        assert "Use it for git" not in terminal.shown and "How do you want" not in terminal.shown
        terminal.type("\x03")
        assert terminal.end() == 1
    with Terminal([CONTROL], **home) as terminal:
        assert terminal.end() == 0 and "SUBCOMMANDS" in terminal.shown


def test_no_part_of_it_is_asked_on_a_pipe_or_with_no_guide(home):
    clean = {**os.environ, **home}
    assert "SUBCOMMANDS" in run(env=clean)[1]
    code, _, errors = run("sign-in", "github", env=clean)
    assert code == 1 and errors.count("next: ") == 1 and "einlassctl providers configure github" in errors, errors
    with Terminal([CONTROL, "sign-in", "github", "--no-guide"], columns=200, **home) as terminal:
        assert terminal.end() == 1 and "(authenticatorUnconfigured, 1006)" in terminal.shown
    with Terminal([CONTROL, "sign-in", "github"], **home) as terminal:
        terminal.wait_for("How do you want to go on?")
        terminal.type("\x03")
        assert terminal.end() == 1 and "Cancelled." in terminal.shown


def test_a_try_is_a_home_folder_of_its_own_that_is_removed(tmp_path):
    """The control: the same command without --try prints the home folder of this test."""
    show = ["/bin/sh", "-c", 'echo "$HOME $GIT_CONFIG_GLOBAL"; ls -A "$HOME"; git config --get-regexp insteadof; exit 7']
    clean = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_GLOBAL": "", "EINLASS": EINLASS}
    def first(command):
        done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=PATIENCE, start_new_session=True)
        assert done.returncode == 7, done.stderr
        return done.stdout.splitlines()
    assert first(show)[0].split() == [str(tmp_path)]
    home, config = (lines := first([SANDBOX, "--try", *show]))[0].split()
    assert home != str(tmp_path) and config == f"{home}/.gitconfig" and not os.path.exists(home) and not os.listdir(tmp_path)
    assert ".config" in lines and any(re.fullmatch(r"url\.http://127\.0\.0\.1:\d+/\.insteadof https://github\.com/", line) for line in lines)


@pytest.mark.parametrize("typed, command", [
    (["login", "github"], ["sign-in", "github"]), (["logout", "nobody", "--yes"], ["accounts", "sign-out", "nobody", "--yes"]),
    (["sign-out"], ["accounts", "sign-out"]), (["status"], ["accounts", "list"]), (["help", "login"], ["help", "sign-in"]),
])
def test_the_words_of_other_programs_mean_these_commands(store, typed, command):
    options = [] if typed[0] == "help" else [*store, "--no-input"]
    assert run(*typed, *options) == run(*command, *options)


@pytest.mark.parametrize("arguments, said", [
    (["sign-in", "githb"], "next: Did you mean github? einlassctl providers list"),
    (["token", "gitlb"], "Did you mean gitlab? einlassctl providers list"),
    (["accounts", "list", "githb"], "There is no provider githb. Did you mean github?"),
    (["accounts", "show", "twitter/bpb"], "There is no account twitter/bpb. Did you mean twitter/bob?"),
    (["accounts", "show", "twitter"], "There is no account twitter. It has: twitter/ada, twitter/bob."),
    (["sign-in", "entirely-unknown"], "next: Choose one of the providers: einlassctl providers list"),
])
def test_a_misspelt_name_is_answered_with_the_nearest(two, arguments, said):
    code, _, errors = run(*arguments, *two)
    assert code == 1 and said in errors, errors
    assert arguments[-1] in errors


MESSAGES = [
    ["sign-in", "vimeo"], ["accounts", "sho"], ["accounts", "show", "nobody"], ["accounts", "list", "--nope"],
    ["accounts", "export", "-"], ["sign-in", "slack", "--device"], ["doctor"],
]


@pytest.mark.parametrize("columns", [100, 80, 40])
def test_messages_break_at_words_and_keep_a_command_whole(two, columns):
    for arguments in MESSAGES:
        options = [*arguments, *([] if "--nope" in arguments or arguments == ["accounts", "sho"] else [*two, "--no-input"])]
        _, output, errors = run(*options)
        with Terminal([CONTROL, *options], columns=columns, NO_COLOR="1") as terminal:
            terminal.end()
        shown = terminal.shown.replace("\r\n", "\n")
        assert set(shown.split()) <= set((output + errors).split()) | {"problem:"}, (arguments, shown)
        for line in shown.splitlines():
            whole = line.strip().startswith("einlassctl ") or len(line.split()) < 2
            assert len(line) <= columns or whole, (arguments, line)


@pytest.mark.parametrize("columns", [100, 80, 40])
def test_help_pages_break_at_words_and_name_the_common_options_once(columns):
    wide = {**os.environ, "COLUMNS": "400"}
    for command in [], ["sign-in"], ["accounts", "prefer"], ["store", "slots"], ["options"]:
        text = run("help", *command, env={**os.environ, "COLUMNS": str(columns)})[1]
        assert set(text.split()) <= set(run("help", *command, env=wide)[1].split()), command
        assert ("--store" in text) == (command == ["options"])
