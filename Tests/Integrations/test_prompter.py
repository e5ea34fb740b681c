"""Prompts of programs that cannot ask, shown by the prompter of the configuration file."""
import json
import os
import shlex
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from house import CONTROL, EINLASS, PATIENCE, PROJECT, git_backend, open_gate

sys.path += [str(PROJECT / "Tests/Control"), str(PROJECT / "Tests/Oracles"), str(PROJECT / "clients/python")]
from browser import Visitor  # noqa: E402
from einlass import Client  # noqa: E402
from terminal import Terminal  # noqa: E402


def write(house, command):
    configure(house, prompter=command)


def configure(house, **members):
    configuration = json.loads(house.config.read_text())
    house.config.write_text(json.dumps({**configuration, **members}))


def get(house, *options):
    host = house.origin("gitlab").removeprefix("http://")
    return house.run("git-credential-einlass", *options, "get", input=f"protocol=http\nhost={host}\n\n")


def opened(messages):
    """Returns the prompts, but for the address that a person may paste instead of using the browser."""
    prompts = [message["params"] for message in messages if message.get("method") == "prompt.opened"]
    return [prompt for prompt in prompts if prompt["kind"] != "enterVerifier"]


def kinds(messages):
    return [prompt["kind"] for prompt in opened(messages)]


@pytest.mark.parametrize("way", ["accept", "garbage"])
def test_a_helper_signs_in_by_the_prompter(house, set_prompter, way):
    set_prompter[0](way)
    configure(house, access="ask")
    code, output, errors = get(house, "--sign-in")
    assert code == 0 and "password=" in output, errors
    messages = set_prompter[1]()
    assert kinds(messages) == ["openURL", "grantAccess"]
    for prompt in opened(messages):
        assert prompt["application"] == "git" and prompt["provider"] == "gitlab"
        assert prompt["startedBy"][0] == "git-credential-einlass"
    closed = {message["params"]["prompt"] for message in messages if message.get("method") == "prompt.closed"}
    assert opened(messages)[0]["prompt"] in closed
    assert get(house)[0] == 0 and set_prompter[1]() == messages


def test_a_prompter_is_told_about_its_bad_messages(house, set_prompter):
    set_prompter[0]("garbage")
    configure(house, access="ask")
    assert get(house, "--sign-in")[0] == 0
    errors = [message["error"] for message in set_prompter[1]() if "error" in message]
    assert [error["code"] for error in errors[:2]] == [-32700, -32602]
    assert errors[2]["data"]["reason"] == "unknownPrompt"


def test_without_sign_in_no_prompter_starts(house, set_prompter):
    set_prompter[0]("accept")
    code, output, errors = get(house)
    assert code == 1 and output == "" and errors.count("\n") == 1
    assert set_prompter[1]() == []


def test_a_cancelled_prompt_does_not_open_again_within_a_minute(house, set_prompter):
    set_prompter[0]("cancel")
    for _ in range(3):
        code, output, errors = get(house, "--sign-in")
        assert code == 1 and output == "" and errors.count("\n") == 1, errors
    assert kinds(set_prompter[1]()) == ["openURL"] and "less than a minute ago" in errors
    # Another program may ask.
    assert house.run("einlassctl", "token", "gitlab", "--sign-in")[0] == 1
    assert kinds(set_prompter[1]()) == ["openURL"] * 2
    # An hour later.
    for file in (house.folder / ".local/share/einlass/sign-ins").glob("prompt-*"):
        first, _, rest = file.read_text().partition(" ")
        file.write_text(f"{int(first) - 3600} {rest}")
    assert get(house, "--sign-in")[0] == 1
    assert kinds(set_prompter[1]()) == ["openURL"] * 3


@pytest.mark.parametrize("command, sentence", [
    (["end"], "exit code 3"), (["/nonexistent/prompter"], "has shown no prompt"), (["/bin/true"], "exit code 0")])
def test_a_prompter_that_shows_nothing_is_named(house, set_prompter, command, sentence):
    if command == ["end"]:
        set_prompter[0]("end")
    else:
        write(house, command)
    begin = time.monotonic()
    code, output, errors = get(house, "--sign-in")
    assert code == 1 and output == "" and errors.count("\n") == 1 and sentence in errors
    assert time.monotonic() - begin < 5


def test_the_end_of_a_prompter_is_not_logged_as_the_loss_of_standard_output(house):
    write(house, ["/bin/true"])
    with subprocess.Popen([EINLASS, "--log-level", "info"], env=house.environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as einlass:
        for id, method, params in ((1, "initialize", {"client": {"name": "git"}}), (2, "accounts.signIn", {"provider": "gitlab"})):
            einlass.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
        einlass.stdin.flush()
        answers = iter(map(json.loads, einlass.stdout))
        error = next(answer["error"] for answer in answers if answer.get("id") == 2)
        einlass.stdin.close()
        log = einlass.stderr.read()
    assert error["data"]["detail"] == "prompter" and "exit code 0" in error["message"]
    # The only line is about the connection of this front end.
    assert log.count("\n") == 1 and "ending: end of input" in log, log


@pytest.mark.parametrize("value", [[], "/bin/true", ["true"], [1], ["/bin/true"] * 17])
def test_a_bad_prompter_in_the_configuration_is_refused(house, value):
    write(house, value)
    code, _, errors = house.run("einlassctl", "token", "gitlab")
    assert code == 1 and "/prompter" in errors


def test_the_prompter_ends_with_its_prompt(house, set_prompter, tmp_path):
    set_prompter[0]("wait")
    with house.start("git-credential-einlass", "--sign-in", "get") as helper:
        host = house.origin("gitlab").removeprefix("http://")
        helper.stdin.write(f"protocol=http\nhost={host}\n\n")
        helper.stdin.close()
        while not set_prompter[1]():
            time.sleep(0.02)
        assert running(tmp_path)
        helper.kill()
    deadline = time.monotonic() + 5
    while running(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def running(folder):
    """Returns the processes of the test's prompter."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"prompter.py" in words and os.fsencode(folder) in words:
            found.append(process.name)
    return found


PERFORM = {"provider": "gitlab", "credential": "none", "signIn": "ifNeeded"}


def call(house, *options, **params):
    """Runs `einlass call auth.perform`, a front end that shows no prompts."""
    return house.run("einlass", *options, "call", "--application", "editor", "auth.perform", json.dumps({**PERFORM, **params}))


def script(house, name, *lines):
    path = house.folder / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o700)
    return str(path)


def test_the_option_names_a_prompter_in_place_of_the_configuration(house, set_prompter):
    set_prompter[0]("accept")
    command = json.loads(house.config.read_text())["prompter"]
    option = script(house, "prompter", shlex.join(["exec", *command]))
    write(house, ["/nonexistent/prompter"])
    code, output, _ = call(house)
    assert code == 1 and "interactionRequired" in output and set_prompter[1]() == []
    code, output, errors = call(house, "--prompter", option)
    assert code == 0, output + errors
    assert [(prompt["kind"], prompt["grantsAccess"]) for prompt in opened(set_prompter[1]())] == [("openURL", True)]
    code, output, errors = house.run("einlass", "--prompter", "prompter", "call", "accounts.list")
    assert code == 64 and "absolute path" in errors


def test_a_prompter_has_the_environment_of_einlass(house, set_prompter):
    set_prompter[0]("accept")
    command = json.loads(house.config.read_text())["prompter"]
    seen = house.folder / "seen"
    write(house, [script(house, "prompter", f"env >{seen}", shlex.join(["exec", *command]))])
    host = house.origin("gitlab").removeprefix("http://")
    code, _, errors = house.run("git-credential-einlass", "--sign-in", "get", input=f"protocol=http\nhost={host}\n\n",
                                env={"MARK": "of the caller"})
    assert code == 0, errors
    environment = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    assert environment["MARK"] == "of the caller" and environment["HOME"] == str(house.folder)
    assert not any("TOKEN" in name or "KEY" in name for name in environment)


def test_a_front_end_shows_its_own_kinds_and_the_prompter_the_others(house, set_prompter):
    set_prompter[0]("accept")
    configure(house, access="ask")
    shown = []

    def grant(prompt):
        shown.append(prompt["kind"])
        return {}

    with Client([EINLASS], prompts={"grantAccess": grant}, env=house.environment) as client:
        client.initialize("editor", timeout=PATIENCE)
        assert client.request("auth.perform", PERFORM, PATIENCE)["account"].startswith("a_")
    assert shown == ["grantAccess"] and kinds(set_prompter[1]()) == ["openURL"]


def test_a_request_that_never_asks_starts_no_prompter(house, set_prompter):
    set_prompter[0]("accept")
    command = json.loads(house.config.read_text())["prompter"]
    started = house.folder / "started"
    write(house, [script(house, "prompter", f"touch {started}", shlex.join(["exec", *command]))])
    code, output, _ = call(house, interactive="never")
    assert code == 1 and "noSystemAccount" in output and not started.exists()
    # The control: without this member it starts.
    assert call(house)[0] == 0 and started.exists()


@pytest.fixture
def remote(house, tmp_path):
    """A git server that takes gitlab's tokens, with git set up to sign in by the terminal's prompter."""
    root = tmp_path / "srv"
    root.mkdir()
    write(house, [CONTROL, "prompter"])
    house.run("git", "config", "--global", "credential.helper", "einlass --sign-in")
    assert house.run("git", "init", "--bare", "-q", str(root / "app.git"))[0] == 0
    with open_gate(house.origin("gitlab") + "/api/v4/user", git_backend(root)) as gate:
        house.do("services", "add", gate.address, "gitlab", "--yes")
        yield gate


def test_git_clone_asks_at_its_terminal(house, remote):
    with Terminal(["/usr/bin/git", "clone", remote.address + "/app.git", str(house.folder / "work/app")],
                  **house.environment) as git:
        git.wait_for("einlass asks for git-credential-einlass, started by git")
        git.wait_for("The address in the browser:")
        page = next(word for word in git.shown.split() if "/oauth/authorize?" in word)
        urllib.request.urlopen(Visitor().open(page).press("allow").location).close()
        assert git.end() == 0, git.shown
    assert "After the sign-in, “git” may use your “GitLab” account." in git.shown
    assert (house.folder / "work/app/.git").is_dir()


def test_a_terminal_in_the_background_is_left_alone(house, remote):
    script = "set -m; git ls-remote \"$0\" >/dev/null & wait $!; echo code $?"
    with Terminal(["/bin/bash", "-c", script, remote.address + "/app.git"], **house.environment) as shell:
        shell.wait_for("No terminal is in the foreground")
        shell.wait_for("code 128")
        assert shell.end() == 0
