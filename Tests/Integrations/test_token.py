"""`einlassctl token` and `einlassctl reject`.

    python -m pytest Tests/Integrations/test_token.py
"""
import json
import os
import re
import sqlite3
import time

import pytest


# The long run: EINLASS_FAULT_ROUNDS=50.
ROUNDS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "2"))


@pytest.fixture
def signed_in(house):
    house.sign_in("gitlab")
    house.allow("einlassctl", "gitlab")
    return house


def test_a_token_has_many_names(signed_in):
    house = signed_in
    token = house.do("token", "gitlab")
    assert token.endswith("\n") and token.strip().isprintable()
    shown = json.loads(house.do("token", "gitlab/ada", "--json"))
    assert shown["token"] == token.strip() and shown["provider"] == "gitlab" and shown["tokenType"] == "Bearer"
    host = house.origin("gitlab").removeprefix("http://")
    for name in (shown["account"], house.origin("gitlab"), house.origin("gitlab") + "/ada/app.git", host):
        assert house.do("token", name) == token, name
    assert house.do("token", "gitlab", "--header") == f"Authorization: Bearer {token}"
    assert house.do("token", "gitlab", "--curl") == f'oauth2-bearer = "{token.strip()}"\n'


def test_a_token_with_a_longer_life_is_fetched(signed_in):
    house = signed_in
    token = house.do("token", "gitlab")
    assert house.do("token", "gitlab", "--min-validity", "1h") == token
    assert house.do("token", "gitlab", "--min-validity", "7201s") != token
    token = house.do("token", "gitlab")
    assert house.do("token", "gitlab", "--refresh") != token
    token = house.do("token", "gitlab")
    assert house.do("reject", "gitlab") == ""
    assert house.do("token", "gitlab") != token


def test_the_id_token_is_refreshed_before_it_ends(house):
    house.change({"google": {"behaviour": {"idTokenSeconds": 30}}})
    house.sign_in("google")
    house.allow("einlassctl", "google")
    first = house.do("token", "google", "--id-token")
    assert first.count(".") == 2
    assert house.do("token", "google", "--id-token") != first
    code, output, errors = house.run("einlassctl", "token", "google", "--id-token", "--json")
    assert code == 64 and output == "" and "--json excludes" in errors


@pytest.mark.parametrize("arguments, sentence", [
    (["gitlab/nobody"], "einlassctl accounts list"), (["nowhere"], "einlassctl providers list"),
    (["a_unknown"], "einlassctl accounts list"), (["github"], "einlassctl sign-in github"),
    (["gitlab", "--for", "git"], "einlassctl access set git gitlab granted"),
    (["https://example.com"], "einlassctl services add https://example.com gitlab"),
    (["http://example.com"], "plain http to another machine"), (["https://ada@gitlab.com"], "user name or password"),
    (["gitlab", "--scope", "api"], "einlassctl sign-in"),
])
def test_a_failure_is_one_line_with_the_command_that_mends_it(signed_in, arguments, sentence):
    code, output, errors = signed_in.run("einlassctl", "token", *arguments)
    assert code == 1 and output == ""
    assert errors.count("\n") == 1 and errors.startswith("einlassctl: ") and sentence in errors


@pytest.mark.parametrize("text", ["", "x", "-1", "5d", "1.5h", "31536001", "99999999999999999999h"])
def test_a_bad_time_is_a_usage_error(house, text):
    code, output, errors = house.run("einlassctl", "token", "gitlab", "--min-validity=" + text)
    assert code == 64 and output == ""


def test_without_a_terminal_nobody_is_asked(house):
    code, output, errors = house.run("einlassctl", "token", "gitlab", "--sign-in")
    assert code == 1 and output == "" and "einlassctl sign-in gitlab" in errors


@pytest.mark.parametrize("fault, sentence", [
    ({"answer": "status", "status": 503}, "einlassctl: "), ({"answer": "close"}, "einlassctl: "),
    ({"delayMilliseconds": 60_000}, "No answer came in time"),
])
def test_a_provider_that_is_down_is_reported_within_ten_seconds(signed_in, fault, sentence):
    house = signed_in
    house.change({"faults": {"down": {"path": "/oauth/token", **fault}}})
    code, output, errors = house.run("einlassctl", "token", "gitlab", "--refresh")
    assert code == 1 and output == "" and errors.count("\n") == 1 and errors.startswith(sentence.split("No")[0])
    assert sentence in errors


def test_a_locked_store_is_reported_within_ten_seconds(signed_in):
    house = signed_in
    path = house.folder / ".local/share/einlass/store.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        code, output, errors = house.run("einlassctl", "token", "gitlab")
        assert code == 1 and output == "" and errors.count("\n") == 1 and "try again" in errors
    finally:
        holder.close()
    assert house.do("token", "gitlab")


def test_many_programs_at_once_cause_one_token_request(signed_in):
    house = signed_in
    house.allow("git", "gitlab")
    host = house.origin("gitlab")
    question = "protocol=http\nhost=" + host.removeprefix("http://") + "\n\n"
    for _ in range(ROUNDS):
        house.do("reject", "gitlab")
        before = refreshes(house)
        programs = []
        for _ in range(20):
            programs.append(house.start("einlassctl", "token", "gitlab"))
            programs.append(house.start("git-credential-einlass", "get"))
            programs[-1].stdin.write(question)
        tokens = set()
        for program in programs:
            output, errors = program.communicate(timeout=60)
            assert program.returncode == 0, errors
            tokens.add(re.search(r"(?:password=)?(\S+)\s*(?:password_expiry_utc=\d+\s*)?$", output)[1])
        assert len(tokens) == 1 and refreshes(house) == before + 1


def refreshes(house):
    return house.count("gitlab", "POST", "/oauth/token")


def test_an_id_token_that_no_refresh_renews_needs_a_sign_in(house):
    house.change({"google": {"behaviour": {"idTokenSeconds": 2, "renewsIDToken": False}}})
    house.sign_in("google")
    house.allow("einlassctl", "google")
    deadline = time.monotonic() + 10
    while (ended := house.run("einlassctl", "token", "google", "--id-token"))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert ended[0] == 1 and ended[1] == "" and "einlassctl sign-in --account" in ended[2]
    assert house.do("token", "google")
