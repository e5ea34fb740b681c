"""`einlassctl token` and `einlassctl reject`.

    python -m pytest Tests/Integrations/test_token.py
"""
import json
import os
import re
import sqlite3
import sys
import time

import pytest

from house import CONTROL, PROJECT, open_gate
from programs import hello
from recipes import commands

sys.path += [str(PROJECT / "Tests/Control"), str(PROJECT / "Tests/Oracles")]
from servers import running  # noqa: E402
from terminal import Terminal  # noqa: E402

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
    # With an address also that, at the server in its place.
    place = house.origin("gitlab") + "/api/v4/user"
    for address in (place, "https://gitlab.com/api/v4/user"):
        lines = f'oauth2-bearer = "{token.strip()}"\nurl = "{place}"\n'
        assert house.do("token", address, "--curl").replace("\\/", "/") == lines


def test_a_token_of_twelve_thousand_bytes_is_one_line(house):
    token = 12_000 * "a"
    client = house.ready["config"]["applications"]["*"]["gitlab"]["clientId"]
    account = {"provider": "gitlab", "username": "ada", "credential": {"type": "oauth2", "token": token, "clientId": client}}
    assert house.run("einlassctl", "accounts", "add", "-", input=json.dumps(account))[0] == 0
    house.allow("einlassctl", "gitlab")
    assert house.do("token", "gitlab") == token + "\n"
    assert house.do("token", "gitlab", "--curl") == f'oauth2-bearer = "{token}"\n'


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


def test_a_longer_life_may_be_given_in_minutes(signed_in):
    house = signed_in
    token = house.do("token", "gitlab")
    assert house.do("token", "gitlab", "--min-validity", "110m") == token
    assert house.do("token", "gitlab", "--min-validity", "121m") != token


def test_json_has_the_end_and_the_scopes_of_the_token(signed_in):
    house = signed_in
    shown = json.loads(house.do("token", "gitlab", "--json"))
    known = house.state()["gitlab"]["tokens"][shown["token"]]
    # einlass counts the seconds of the answer from its arrival.
    assert abs(shown["expiresAt"] - known["expiresAt"]) <= 2
    assert shown["scopes"] == known["scopes"] != []


def test_a_token_for_a_resource_is_not_given_for_another(signed_in):
    house = signed_in
    user = next(iter(house.state()["openid"]["users"]))
    house.change({"openid": {"behaviour": {"consent": "allow", "user": user}}})
    with running("resource_server.py", house.origin("openid")) as resource:
        with house.on_terminal("einlassctl", "sign-in", resource["resource"]) as terminal:
            assert terminal.end() == 0, terminal.shown
        found = json.loads(house.do("accounts", "list", "--json"))["accounts"]
        (account,) = [account for account in found if account["provider"] != "gitlab"]
        house.allow("einlassctl", account["provider"])
        token = house.do("token", account["account"], "--resource", resource["resource"]).strip()
        family = house.state()["openid"]["tokens"][token]["family"]
        assert house.state()["openid"]["families"][family]["resource"] == resource["resource"]
        # The address of the resource names account and resource.
        assert house.do("token", resource["resource"]).strip() == token
        code, output, errors = house.run("einlassctl", "token", account["account"], "--resource", resource["other"])
        assert code == 1 and output == "" and errors.count("\n") == 1
        assert "einlassctl sign-in" in errors and resource["other"] in errors


def pages(house):
    return house.count("gitlab", "GET", "/oauth/authorize")


QUESTION = "The address in the browser:"


@pytest.mark.parametrize("script", [
    '"$0" token gitlab', '"$0" token gitlab --sign-in 2>errors', '"$0" token gitlab --sign-in </dev/null',
    '"$0" token gitlab --sign-in --no-input'])
def test_a_terminal_gets_no_question_without_sign_in_or_in_part(house, script):
    house.allow("einlassctl", "gitlab")
    with Terminal(["/bin/sh", "-c", f"cd; {script}", CONTROL], DISPLAY=":none", **house.environment) as terminal:
        assert terminal.end() == 1
    errors = house.folder / "errors"
    shown = terminal.shown + (errors.read_text() if errors.exists() else "")
    assert "einlassctl sign-in gitlab" in shown and QUESTION not in shown and pages(house) == 0


def test_a_terminal_gets_the_question_with_sign_in(house):
    house.allow("einlassctl", "gitlab")
    script = '"$0" token gitlab --sign-in >token'
    with Terminal(["/bin/sh", "-c", f"cd; {script}", CONTROL], DISPLAY=":none", **house.environment) as terminal:
        terminal.wait_for(QUESTION)
        terminal.type("\x03")
        assert terminal.end() != 0
    assert (house.folder / "token").read_text() == ""


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


def test_a_sentence_stands_once(signed_in):
    house = signed_in
    house.change({"faults": {"down": {"path": "/oauth/token", "answer": "status", "status": 503}}})
    assert house.run("einlassctl", "token", "gitlab", "--refresh")[2].count("Try again later.") == 1


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


def test_the_line_for_curl_fails_without_a_token(house):
    with open_gate(house.origin("gitlab") + "/api/v4/user", hello) as gate:
        (line,) = commands("curl", ("https://api.example.com", gate.address))
        assert house.run("sh", "-c", line)[0] != 0
