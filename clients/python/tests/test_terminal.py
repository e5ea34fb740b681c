"""The terminal program, with a terminal and without one."""

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from einlass import EinlassError, browser, keyboard, questions, terminal
from einlass.next_steps import explain

FAKE = f"{sys.executable} {Path(__file__).with_name('fake_server.py')} --flow"
FOLDER = Path(__file__).parents[1]
PROGRAM = [sys.executable, "-m", "einlass"]


def run(*arguments, stdin=""):
    command = [*PROGRAM, *arguments, "--einlass", FAKE]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, cwd=FOLDER)
    return done.returncode, done.stdout, done.stderr


def run_on_a_terminal(*arguments, typed):
    """Like `run`, with a terminal as standard input and error."""
    ours, theirs = pty.openpty()
    command = [*PROGRAM, *arguments, "--einlass", FAKE]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, cwd=FOLDER) as child:
        os.close(theirs)
        screen, shown = b"", b""
        for question, answer in typed:
            while question not in screen.decode("utf-8", "ignore"):
                screen += os.read(ours, 4096)
            shown, screen = shown + screen, b""
            os.write(ours, answer.encode() + (b"" if answer in ("\n", "\x04") else b"\n"))
        try:
            while chunk := os.read(ours, 4096):
                screen += chunk
        except OSError:
            pass  # Linux reports EIO after the last process has closed the terminal
        output = child.stdout.read().decode()
    os.close(ours)
    return child.returncode, output, (shown + screen).decode()


KIT = FOLDER.parents[1] / "protocol/conformance"
sys.path.append(str(KIT))
from pseudo import shown as in_pseudo  # noqa: E402

PROMPTS = {entry["prompt"]["kind"]: entry["prompt"] for entry in json.loads((KIT / "prompts.json").read_text())}
LANGUAGES = pytest.mark.parametrize("language", [lambda show: show, in_pseudo], ids=["english", "pseudo"])


@pytest.fixture
def ask(monkeypatch):
    """Returns a function that asks a prompt. The replies are typed; None stands for a prompt that closes meanwhile."""
    def ask(prompt, *replies, remember=False):
        given, secrets = iter(replies), {field["label"] for field in prompt["show"].get("fields", [])
                                         if field["type"] != "text"}

        def line(self, question, hidden=False):
            reply = next(given)
            if reply is None:
                raise keyboard.Closed
            assert hidden is (question == "Once more: " or question.removesuffix("; nothing cancels: ") in secrets)
            return reply

        monkeypatch.setattr(keyboard.Keyboard, "line", line)
        asked = questions.Questions(remember)
        answer = asked.prompts()["any"]({"prompt": "p_1", **prompt})
        assert next(given, "all were asked") == "all were asked"
        return answer, asked.cancelled
    monkeypatch.setenv("DISPLAY", "")
    monkeypatch.setenv("WAYLAND_DISPLAY", "")
    return ask


@LANGUAGES
@pytest.mark.parametrize("kind, replies, answer", [
    ("grantAccess", ["1"], True), ("grantAccess", ["2"], False), ("grantAccess", ["3"], None),
    ("grantAccess", ["perhaps", "0", "4", "1"], True), ("grantAccess", [""], None),
    ("selectAccount", ["2"], {"action": "accept", "account": "a_grace"}), ("selectAccount", ["4"], None),
    ("selectAccount", ["3", "a_alan"], {"action": "accept", "account": "a_alan"}),
    ("confirmAccount", ["1"], True), ("confirmAccount", ["2"], None),
    ("replaceAccount", ["1"], {"action": "accept", "account": "a_ada"}), ("replaceAccount", ["2"], True),
    ("openURL", ["com.x:/cb?code=1"], {"action": "accept", "redirectURL": "com.x:/cb?code=1"}),
    ("deviceCode", [], True),
    ("enterVerifier", ["123"], {"action": "accept", "text": "123"}), ("enterVerifier", [""], None),
    ("enterPassphrase", ["one ", "two", "one ", "one "], {"action": "accept", "passphrase": "one "}),
    ("enterPassword", ["bob", "PASSWORD ", "y"],
     {"action": "accept", "username": "bob", "password": "PASSWORD ", "remember": True}),
    ("enterPassword", ["bob", "PASSWORD", ""],
     {"action": "accept", "username": "bob", "password": "PASSWORD", "remember": False}),
    ("enterPassword", ["bob", ""], None),
    ("trustCertificate", ["1"], True), ("trustCertificate", ["2"], None), ("trustCertificate", [""], None),
])
def test_each_kind_of_prompt_is_shown_and_answered(ask, capsys, kind, replies, answer, language):
    show = language(PROMPTS[kind]["show"])
    assert ask({**PROMPTS[kind], "show": show}, *replies) == (answer, answer is None)
    screen = capsys.readouterr().err
    page = show.get("page", {})
    for text in [show["title"], *show.get("text", []), show.get("warning"), show.get("code"), page.get("url")]:
        assert (text or "") in screen
    for row in [*show.get("choices", []), *(show["buttons"] if "fields" not in show and not page else [])]:
        assert row["label"] in screen and row.get("detail", "") in screen


def test_remember_sets_the_flag_of_a_password(ask):
    answer, _ = ask(PROMPTS["enterPassword"], "bob", "PASSWORD", remember=True)
    assert answer == {"action": "accept", "username": "bob", "password": "PASSWORD", "remember": True}


def test_a_field_of_an_unknown_type_is_hidden(ask):
    show = {"title": "?", "fields": [{"name": "pin", "label": "PIN", "type": "digits"}], "buttons": []}
    assert ask({"kind": "enterPassword", "show": show}, "12") == ({"action": "accept", "pin": "12"}, False)


def test_remember_sets_no_other_flag(ask):
    show = {"title": "?", "fields": [{"name": "share", "label": "Share it", "type": "flag"}], "buttons": []}
    assert ask({"kind": "enterPassword", "show": show}, "n", remember=True) == ({"action": "accept", "share": False}, False)


def test_a_control_character_reaches_no_terminal(ask, capsys):
    show = {"title": "A\x1b[2J", "text": ["B\x9b"], "code": "C\x1b[2J", "page": {"url": "https://a.example/\x1b", "host": "a"},
            "buttons": []}
    assert ask({"kind": "deviceCode", "show": show}) == (True, False)
    screen = capsys.readouterr().err
    assert "A\ufffd[2J" in screen and "\x1b" not in screen and "\x9b" not in screen


def test_a_prompt_that_closes_is_neither_answered_nor_cancelled_by_the_person(ask):
    assert ask(PROMPTS["enterVerifier"], None) == (None, False)


def test_accounts_are_listed_over_all_pages_without_control_characters():
    code, output, _ = run("accounts")
    assert code == 0 and "\x1b" not in output
    assert [line.split()[1] for line in output.splitlines()] == ["username", "ada", "bob"]


@pytest.mark.parametrize("text", [
    '{"provider": "twitter", "username": "ada"}',
    '[{"provider": "twitter", "username": "ada"}]',
    '{"provider": "twitter", "username": "ada"}\n\n',
])
def test_accounts_are_added_from_standard_input(text):
    assert run("add", stdin=text) == (0, "added ada (twitter) as a_1\n", "")


def test_accounts_are_added_line_by_line_and_replaced():
    two = '{"provider":"x","username":"a"}\n{"provider":"x","username":"b"}\n'
    code, output, _ = run("add", "--replace", stdin=two)
    assert (code, output) == (0, "replaced a (x) as a_1\nreplaced b (x) as a_1\n")


def test_input_that_is_not_json_is_reported():
    code, output, errors = run("add", stdin="{")
    assert code == 1 and output == "" and errors.startswith("problem: standard input is not JSON")


@pytest.mark.parametrize("arguments, text, problem", [
    (["add", "/nope"], "", "/nope cannot be read: No such file or directory"),
    (["verify", "twitter", "/nope"], "", "/nope cannot be read: No such file or directory"),
    (["add"], "", "standard input is empty"),
    (["add"], "[]", "standard input is empty"),
    (["verify", "twitter"], "[]", "standard input is empty"),
    (["add"], "[1]", "standard input must hold JSON objects"),
    (["accounts", "nope"], "", "there is no provider nope, only twitter, facebook"),
])
def test_unusable_input_is_reported(arguments, text, problem):
    assert run(*arguments, stdin=text) == (1, "", f"problem: {problem}\n")


def test_options_may_stand_before_and_between_the_arguments(tmp_path):
    file = tmp_path / "credential.json"
    file.write_text('{"secret": "s3cr3t-of-the-token"}')
    assert run("verify", "twitter", "--json", str(file))[0] == 0
    assert run("verify", "--json", "twitter", str(file))[0] == 0


@pytest.mark.parametrize("arguments", [[], ["nope"], ["access", "twitter"], ["access", "twitter", "nope"], ["sign-in"]])
def test_a_wrong_command_line_is_explained(arguments):
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, cwd=FOLDER)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("usage: python -m einlass")


def test_usage_names_the_command():
    done = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, timeout=60, cwd=FOLDER)
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m einlass COMMAND ")


def test_a_server_that_is_not_einlass_is_not_waited_for(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "PATIENCE", 0.1)
    assert terminal.main(["accounts", "--einlass", "sleep 100"]) == 1
    assert "sleep did not answer within" in capsys.readouterr().err


def test_sign_in_asks_on_a_terminal():
    typed = [("nothing cancels", "maybe"), ("nothing cancels", "1"), ("1-3", "9"), ("1-3", "2")]
    code, output, screen = run_on_a_terminal("sign-in", "twitter", "--json", typed=typed)
    assert code == 0 and json.loads(output)["account"] == "a_2"
    assert "choosing the account" in screen


def test_saying_no_ends_in_the_next_step():
    code, output, screen = run_on_a_terminal("sign-in", "twitter", typed=[("nothing cancels", "2")])
    assert code == 1 and output == ""
    assert "next: Forget it: python -m einlass access twitter reset" in screen


def test_the_next_step_is_a_command_with_the_options_in_use():
    _, _, screen = run_on_a_terminal("sign-in", "twitter", "--store", "a b.db", "--application", "editor",
                                     typed=[("nothing cancels", "2")])
    command = next(line for line in screen.splitlines() if "access twitter reset" in line)
    assert shlex.split(command.partition("it: ")[2]) == ["python", "-m", "einlass", "access", "twitter", "reset", "--einlass", FAKE,
                                    "--store", "a b.db", "--application", "editor"]


@pytest.mark.parametrize("reply", ["\n", "\x04"])
def test_an_empty_answer_cancels_without_a_stored_decision(reply):
    code, output, screen = run_on_a_terminal("sign-in", "twitter", typed=[("nothing cancels", reply)])
    assert code == 1 and output == ""
    assert "Try again" in screen and "reset" not in screen


def test_an_empty_answer_cancels_the_choice_of_account():
    typed = [("nothing cancels", "1"), ("nothing cancels", "")]
    code, output, screen = run_on_a_terminal("sign-in", "twitter", typed=typed)
    assert code == 1 and output == "" and "userCanceledAccountSelection" in screen


def test_ctrl_c_at_a_password_shows_again_what_is_typed():
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    command = [*PROGRAM, "sign-in", "password", "--einlass", FAKE]
    # A shell that starts the tests in the background lets its children ignore the interrupt.
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=FOLDER,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as child:
        screen = b""
        while b"Password; nothing cancels" not in screen:
            screen += os.read(ours, 4096)
        assert termios.tcgetattr(theirs)[3] == before[3] & ~termios.ECHO  # the control
        child.send_signal(signal.SIGINT)
    assert child.returncode == 1 and termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("variables, address, opens", [
    ({"DISPLAY": ":0"}, "https://a.example/?b=c&d", True),
    ({"WAYLAND_DISPLAY": "wayland-0"}, "http://127.0.0.1/", True),
    ({}, "https://a.example/", False),
    ({"DISPLAY": ":0", "SSH_CONNECTION": "1"}, "https://a.example/", False),
    ({"DISPLAY": ":0"}, "file:///etc/passwd", False),
    ({"DISPLAY": ":0"}, "--version", False),
])
def test_a_page_is_opened_on_a_desktop_alone(monkeypatch, tmp_path, variables, address, opens):
    """By the module webbrowser, with the address as one argument, in silence and not from the working folder."""
    (tmp_path / "browser").write_text('#!/bin/sh\necho noise; echo "$#" "$1" >opened.new; mv opened.new opened\n')
    (tmp_path / "browser").chmod(0o755)
    (tmp_path / "webbrowser.py").write_text("raise SystemExit('from the working folder')")
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**variables, "BROWSER": str(tmp_path / "browser")}.items():
        monkeypatch.setenv(name, value)
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **named: started.append(popen(*arguments, **named)))
    assert browser.open_page(address) is opens
    for process in started:
        process.wait(60)
    shown = (tmp_path / "opened").read_text() if opens else None
    assert shown == (f"1 {address}\n" if opens else None) and len(started) == opens


def test_yes_grants_and_takes_the_first_account():
    code, output, errors = run("sign-in", "twitter", "--yes", "--json")
    assert code == 0 and json.loads(output)["account"] == "a_1"
    assert "granted" in errors and "ada chosen among 2" in errors


def test_secrets_are_masked_unless_asked_otherwise():
    _, output, _ = run("sign-in", "twitter", "--yes")
    assert "s3cr…" in output and "s3cr3t" not in output
    _, output, _ = run("sign-in", "twitter", "--yes", "--show-secrets")
    assert "s3cr3t-of-the-token" in output


def test_the_output_of_sign_in_can_be_verified():
    _, output, _ = run("sign-in", "twitter", "--yes", "--json", "--show-secrets")
    assert run("verify", "twitter", stdin=output)[0] == 0
    # The fake server answers `unsaid` without `valid`.
    for secret in ("other", "unsaid"):
        bad = json.dumps({**json.loads(output)["credential"], "secret": secret})
        code, shown, _ = run("verify", "twitter", stdin=bad)
        assert code == 1 and "NOT valid" in shown


def test_a_problem_shows_the_providers_words_and_the_next_step():
    code, output, errors = run("sign-in", "banned", "--yes")
    assert code == 1 and output == ""
    assert errors.splitlines() == [
        "problem: The account is suspended. (accountBanned, 1004)",
        "   they: status 403, code 64, text Your account is suspended.",
        "   next: Ask the provider (https://chirp.example/help).",
    ]


@pytest.mark.parametrize("step, shown", [
    ({"method": "accounts.signIn", "params": {"provider": "github", "account": "a_1"}}, "sign-in github --account a_1"),
    ({"method": "access.reset", "params": {"provider": "github"}}, "access github reset"),
    ({"method": "access.set", "params": {"provider": "github"}}, "access github grant"),
    ({"method": "accounts.add", "params": {"replace": True}}, "add FILE --replace"),
    ({"method": "auth.perform", "params": {"provider": "github", "confirm": True}}, "sign-in github --confirm"),
    ({"method": "providers.list", "params": {}}, "providers"),
    ({"method": "store.status", "params": {}}, ""), ({"method": "later.method", "params": {}}, ""), ({}, "")])
def test_a_next_step_has_the_command_of_this_program(step, shown):
    data = {"reason": "x", "retryable": False, "next": [{"label": "Do it", **step}, {"label": "Look", "command": "ls '/a b'"}]}
    lines = explain(EinlassError(1, "x", data, "No."), terminal.parse(["accounts", "--store", "/a/store.db"])).splitlines()
    command = f": python -m einlass {shown} --store /a/store.db" if shown else "."
    assert lines == ["problem: No. (x, 1)", f"   next: Do it{command}", "   next: Look: ls '/a b'"]


@pytest.mark.parametrize("options, shown", [([], ""), (["--store", "/a b/store.db"], " --store '/a b/store.db'")])
def test_a_command_of_einlassctl_names_the_store_in_use(options, shown):
    data = {"reason": "x", "retryable": False, "next": [
        {"label": "Unlock", "command": "einlassctl store unlock --for 8h"},
        {"label": "Register", "method": "providers.configure", "params": {"provider": "github"}}]}
    lines = explain(EinlassError(1, "x", data, "No."), terminal.parse(["accounts", *options])).splitlines()
    assert lines[1:] == [f"   next: Unlock: einlassctl store unlock --for 8h{shown}",
                         f"   next: Register: einlassctl providers configure github{shown}"]


def test_the_next_step_for_the_parameter_server_is_its_option():
    data = {"reason": "invalidParams", "retryable": False, "provider": "fcsdk", "path": "/server/host",
            "next": [{"label": "Name a server of your own"}]}
    problem = EinlassError(-32602, "invalidParams", data, "The server is not named.")
    shown = explain(problem, terminal.parse(["sign-in", "fcsdk"]))
    assert shown.splitlines()[1:] == [
        "   next: Name a server of your own: python -m einlass sign-in fcsdk --server ADDRESS"]


def test_a_server_that_is_missing_is_named():
    command = [*PROGRAM, "accounts", "--einlass", "/nonexistent/einlass"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=FOLDER)
    assert done.returncode == 1 and "/nonexistent/einlass cannot be started" in done.stderr


@pytest.mark.parametrize("command, redirection, code, output, message", [
    ("accounts", "<&-", 0, "Ada", ""),
    ("add", "<&-", 1, "", "problem: standard input is closed\n"),
    ("accounts", ">/dev/full", 1, "", "problem: Standard output cannot be written: No space left on device\n"),
    ("accounts", ">&-", 1, "", "problem: Standard output cannot be written: It is closed\n")])
def test_a_closed_or_full_stream_is_no_traceback(command, redirection, code, output, message):
    words = shlex.join([*PROGRAM, command, "--einlass", FAKE])
    done = subprocess.run(["sh", "-c", f"{words} {redirection}"], capture_output=True, text=True, timeout=60, cwd=FOLDER)
    assert (done.returncode, done.stderr) == (code, message)
    assert output in done.stdout
