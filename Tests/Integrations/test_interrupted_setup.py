"""Setups that are killed or run at the same time, and the way back from them.

    python -m pytest Tests/Integrations/test_interrupted_setup.py
    EINLASS_FAULT_ROUNDS=200 python -m pytest Tests/Integrations/test_interrupted_setup.py
"""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

ROUNDS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "6"))
SERVICE = "https://git.example.com"
NAME = f"credential.{SERVICE}.helper"
FORMER = ["", "cache --timeout 300", "store"]
REGISTRY = "registry.example.com"


@pytest.fixture
def ready_for_setup(house):
    """A house with an account, a service for git and docker, and a person's own helper for it."""
    house.sign_in("gitlab")
    for address in (SERVICE, REGISTRY):
        house.do("services", "add", address, "gitlab", "--yes")
    for value in FORMER:
        assert house.run("git", "config", "--global", "--add", NAME, value)[0] == 0
    return house


def helpers(house):
    return house.run("git", "config", "--global", "--null", "--get-all", NAME)[1].split("\0")[:-1]


def grants(house, application):
    found = json.loads(house.do("access", "list", "--json"))["grants"]
    return [grant["provider"] for grant in found if grant["application"] == application]


def take_back(house):
    """Takes the setup of git back, which must end with the helpers from before it."""
    code, _, errors = house.run("einlassctl", "setup", "git", "--undo", "--yes")
    assert (code, helpers(house), grants(house, "git")) == (0, FORMER, []), errors


def is_killed_at(house, call, *command):
    """Runs einlassctl, and kills it when it starts git for the n-th time to write a setting. Returns whether it got so far."""
    calls, git = house.folder / "calls", house.folder / "bin/git"
    calls.write_text("")
    git.write_text(f"""#!/bin/sh
case "$*" in
  *--unset-all* | *--add*)
    echo >>{calls}
    if [ $(wc -l <{calls}) = {call} ]; then kill -KILL $PPID; exit; fi ;;
esac
exec {shutil.which("git")} "$@"
""")
    git.chmod(0o700)
    code, _, errors = house.run("einlassctl", *command)
    git.unlink()
    assert code in (0, -signal.SIGKILL), errors
    return code != 0


@pytest.mark.parametrize("again", [False, True], ids=["taken back", "set up again, then taken back"])
def test_a_setup_that_is_killed_before_any_write_can_be_taken_back(ready_for_setup, again):
    house = ready_for_setup
    left = []
    while is_killed_at(house, len(left) + 1, "setup", "git", "--yes"):
        left.append(helpers(house))
        if again:
            house.do("setup", "git", "--yes")
            assert helpers(house) == ["", "einlass"]
        take_back(house)
    # The control: the kills have left values that are neither those before nor those of the setup.
    assert FORMER in left and [] in left and [""] in left
    take_back(house)


def test_a_taking_back_that_is_killed_before_any_write_can_be_repeated(ready_for_setup):
    house = ready_for_setup
    left = []
    house.do("setup", "git", "--yes")
    while is_killed_at(house, len(left) + 1, "setup", "git", "--undo", "--yes"):
        left.append(helpers(house))
        take_back(house)
        house.do("setup", "git", "--yes")
    assert helpers(house) == FORMER and FORMER[:2] in left and [] in left


def test_a_setup_over_an_older_one_that_is_killed_can_be_taken_back(ready_for_setup):
    house = ready_for_setup
    old = ["", "/former/git-credential-einlass"]

    def set_up_as_a_former_version():
        house.do("setup", "git", "--yes")
        path = house.folder / ".config/einlass/setup.json"
        record = json.loads(path.read_text())
        next(setting for setting in record["git"]["settings"] if setting["name"] == NAME)["values"] = old
        path.write_text(json.dumps(record))
        house.run("git", "config", "--global", "--unset-all", NAME)
        for value in old:
            house.run("git", "config", "--global", "--add", NAME, value)

    left = []
    set_up_as_a_former_version()
    while is_killed_at(house, len(left) + 1, "setup", "git", "--yes"):
        left.append(helpers(house))
        take_back(house)
        set_up_as_a_former_version()
    assert old in left and [""] in left


def test_a_setup_that_is_killed_at_any_moment_can_be_taken_back(ready_for_setup):
    house = ready_for_setup
    begin = time.monotonic()
    house.do("setup", "git", "--yes")
    whole = time.monotonic() - begin
    take_back(house)
    for _ in range(ROUNDS):
        setup = house.start("einlassctl", "setup", "git", "--yes")
        try:
            setup.communicate(timeout=random.uniform(whole / 3, whole * 1.1))
        except subprocess.TimeoutExpired:
            setup.kill()
            # The pipes end with its einlass and its git.
            setup.communicate()
        take_back(house)


def setup_and_another_command(house, call, *another):
    """Starts a setup, and another command while its git waits at a call. Returns both after their ends."""
    git, begun, asked, go = (house.folder / name for name in ("bin/git", "begun", "asked", "go"))
    git.write_text(f"""#!/bin/sh
case "$*" in
  *{call}*) touch {begun}; while [ ! -e {go} ]; do sleep 0.05; done ;;
  *--get-all*) [ ! -e {begun} ] || touch {asked} ;;
esac
exec {shutil.which("git")} "$@"
""")
    git.chmod(0o700)
    setup = house.start("einlassctl", "setup", "git", "--yes")
    while not begun.exists():
        assert setup.poll() is None
        time.sleep(0.05)
    other = house.start("einlassctl", *another)
    # It reads the settings, and then waits for the end of the setup.
    while not asked.exists():
        assert other.poll() is None
        time.sleep(0.05)
    time.sleep(1)
    go.touch()
    assert setup.wait(60) == 0
    _, errors = other.communicate(timeout=60)
    git.unlink()
    return other.returncode, errors


def test_a_taking_back_during_a_setup_loses_no_helper(ready_for_setup):
    house = ready_for_setup
    code, errors = setup_and_another_command(house, "--unset-all", "setup", "git", "--undo", "--yes")
    assert code != 0 and "changed meanwhile" in errors
    assert helpers(house) == ["", "einlass"]
    take_back(house)


def test_a_setup_during_the_writes_of_another_loses_no_helper(ready_for_setup):
    house = ready_for_setup
    assert setup_and_another_command(house, "--add", "setup", "git", "--yes")[0] == 0
    assert helpers(house) == ["", "einlass"]
    take_back(house)


def test_values_that_the_person_has_shortened_stay(ready_for_setup):
    house = ready_for_setup
    house.do("setup", "git", "--yes")
    assert house.run("git", "config", "--global", "--replace-all", NAME, "")[0] == 0
    code, _, errors = house.run("einlassctl", "setup", "git", "--undo", "--yes")
    assert code == 0 and "has changed since and stays" in errors and helpers(house) == [""]


def test_setups_at_once_lose_nothing(ready_for_setup):
    house = ready_for_setup
    docker = house.folder / ".docker/config.json"
    for _ in range(min(ROUNDS, 15)):
        for way in ([], ["--undo"]):
            commands = [["git"], ["docker"] if way else ["docker", REGISTRY], ["git"]]
            setups = [house.start("einlassctl", "setup", *command, "--yes", *way) for command in commands]
            for setup in setups:
                _, errors = setup.communicate(timeout=60)
                assert setup.returncode == 0, errors
            assert helpers(house) == (FORMER if way else ["", "einlass"])
            assert json.loads(docker.read_text()) == ({} if way else {"credHelpers": {REGISTRY: "einlass"}})
        assert grants(house, "git") == grants(house, "docker") == []
