"""On a terminal einlassctl asks for missing arguments with questions, lists and sign-in pages."""
import json
import os
import re

import pytest

from control import CONTROL, CONTROLS, fake, run, signing, usernames
from terminal import Terminal


@pytest.mark.parametrize("provider, asked", [("github", "Token (not shown):"), ("twitter", "What kind of credential?")])
def test_only_credentials_that_the_provider_accepts_are_asked_for(store, provider, asked):
    with Terminal([CONTROL, "accounts", "add", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type(provider + "\r")
        terminal.wait_for("User name:")
        terminal.type("ada\r")
        terminal.wait_for(asked)
        assert ("What kind" in terminal.shown) == (provider == "twitter")
        terminal.type("\x03")
        assert terminal.end() == 1


def test_only_added_providers_are_offered_for_removal(store, tmp_path):
    with Terminal([CONTROL, "providers", "remove", *store]) as terminal:
        assert terminal.end() == 1 and "No provider was added" in terminal.shown and "github" not in terminal.shown
    (tmp_path / "mine.json").write_text(json.dumps({**signing("ES256")["providers"][0], "id": "mine"}))
    assert run("providers", "add", str(tmp_path / "mine.json"), *store)[0] == 0
    with Terminal([CONTROL, "providers", "remove", *store]) as terminal:
        terminal.wait_for("> 1  mine")
        assert "github" not in terminal.shown
        terminal.type("\r")
        terminal.wait_for("Remove the provider mine?")
        terminal.type("y\r")
        assert terminal.end() == 0 and "Removed mine." in terminal.shown


def test_accounts_add_refers_to_sign_in_for_a_provider_without_credentials(store):
    with Terminal([CONTROL, "accounts", "add", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type("flickr\r")
        assert terminal.end() == 1 and "Sign in there: einlassctl sign-in flickr" in terminal.shown
        assert "User name" not in terminal.shown


def test_a_dumb_terminal_shows_a_list_and_takes_a_number(two):
    with Terminal([CONTROL, "accounts", "remove", *two], TERM="dumb") as terminal:
        terminal.wait_for("Which account?")
        terminal.wait_for("  2  twitter  bob")
        terminal.wait_for("Its number (1 to 2):")
        terminal.type("3\r")
        terminal.wait_for("Its number (1 to 2):")
        terminal.type("2\r")
        terminal.wait_for("Remove twitter/bob")
        terminal.type("y\r")
        assert terminal.end() == 0 and "\x1b" not in terminal.shown
    assert usernames(two) == ["ada"]


def test_a_typed_path_may_begin_with_a_tilde(two, tmp_path):
    (tmp_path / "home").mkdir(mode=0o700)
    with Terminal([CONTROL, "store", "backup", *two], HOME=str(tmp_path / "home")) as terminal:
        terminal.wait_for("Path of the new file?")
        terminal.type("~/copy.db\r")
        assert terminal.end() == 0, terminal.shown
    assert (tmp_path / "home/copy.db").exists()


def test_an_account_is_chosen_by_arrow_keys_and_removed_after_confirmation(two):
    command = [CONTROL, "accounts", "remove", *two]
    with Terminal(command) as terminal:
        terminal.wait_for("Which account?")
        terminal.wait_for("> 1  twitter  ada")
        terminal.type("\x1b[B")
        terminal.wait_for("> 2  twitter  bob")
        terminal.type("\r")
        terminal.wait_for("Remove twitter/bob and its credentials? [y/N]")
        terminal.type("\r")
        assert terminal.end() == 1 and "Cancelled." in terminal.shown
    assert usernames(two) == ["ada", "bob"]
    with Terminal(command) as terminal:
        terminal.wait_for("> 1")
        terminal.type("2\r")
        terminal.wait_for("[y/N]")
        terminal.type("yes\r")
        assert terminal.end() == 0 and "Removed twitter/bob." in terminal.shown
    assert usernames(two) == ["ada"]


def test_an_account_is_added_by_questions_that_show_no_secret(store):
    with Terminal([CONTROL, "accounts", "add", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type("twitter\r")
        terminal.wait_for("User name:")
        terminal.type("adx\x7fa\r")
        terminal.wait_for("What kind of credential?")
        terminal.type("\r")
        for question in ("Key (not shown):", "Secret (not shown):"):
            terminal.wait_for(question)
            terminal.type("s3cret-key\r")
        terminal.wait_for("Client id")
        terminal.type("\rclient\r")
        terminal.wait_for("Secret of that client")
        terminal.type("s3cret-too\r")
        assert terminal.end() == 0
        assert "Added twitter/ada" in terminal.shown and "s3cret" not in terminal.shown
    assert usernames(store) == ["ada"]


def test_typed_letters_find_a_row_and_enter_without_a_match_does_nothing(store):
    with Terminal([CONTROL, "access", "set", "neovim", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type("githubx\r")
        terminal.wait_for("typed: githubx (nothing holds that)")
        terminal.type("\x7f\r")
        terminal.wait_for("May neovim use github accounts?")
        terminal.type("1\r")
        assert terminal.end() == 0 and "neovim may use github accounts." in terminal.shown


def test_explain_answers_for_the_typed_application(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    run("accounts", "prefer", "bob", "--for", "neovim", *two)
    with Terminal([CONTROL, "accounts", "explain", "--when-many", *two]) as terminal:
        terminal.wait_for("Which application (the name it gives itself)?")
        terminal.type("neovim\r")
        terminal.wait_for("Which provider?")
        terminal.type("twitter\r")
        assert terminal.end() == 0
    assert "neovim: twitter/bob, because it is preferred." in terminal.shown


def test_prune_asks_for_a_day_until_it_is_valid(two):
    with Terminal([CONTROL, "audit", "prune", *two]) as terminal:
        terminal.wait_for("Remove everything before which day")
        terminal.type("tomorrow\r")
        terminal.wait_for("not a day of the calendar")
        terminal.type("9999-01-01\r")
        terminal.wait_for("Remove everything before 9999-01-01? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert re.search(r"Removed \d+ entr(y|ies)\.", terminal.shown)


def test_access_is_decided_and_forgotten_by_questions(store):
    with Terminal([CONTROL, "access", "set", *store]) as terminal:
        terminal.wait_for("Which application")
        terminal.type("neovim\r")
        terminal.wait_for("Which provider?")
        terminal.type("\x1b[B\x1b[A\r")
        terminal.wait_for("May neovim use digitalocean accounts?")
        terminal.type("2\r")
        assert terminal.end() == 0 and "neovim may not use digitalocean accounts." in terminal.shown
    with Terminal([CONTROL, "access", "reset", *store]) as terminal:
        terminal.wait_for("Which decision?")
        terminal.type("\r")
        assert terminal.end() == 0 and "neovim asks again" in terminal.shown


@pytest.mark.parametrize("how, shown", [("browser", "https://example.org/a?b"), ("paste", "https://example.org/a?b"),
                                        ("device", "https://example.org/device")])
def test_a_person_signs_in_by_a_page_a_pasted_address_or_a_code(how, shown):
    with Terminal([CONTROL, "sign-in", "twitter", "--no-browser", *fake(how)]) as terminal:
        terminal.wait_for(shown)
        if how == "device":
            terminal.wait_for("ABCD-EFGH")
        if how == "paste":
            terminal.type("\r")
            terminal.type("http://127.0.0.1:1/nothing\r")
            terminal.wait_for("That does not fit.")
            terminal.type("http://127.0.0.1:1/?code=c\r")
        assert terminal.end() == 0 and "Signed in: twitter/ada." in terminal.shown
        assert not CONTROLS.search(re.sub("\r|\x1b\\[\\d*m", "", terminal.shown))


def test_a_browser_is_started_only_on_a_desktop_of_this_machine(tmp_path):
    opened, status = tmp_path / "opened", tmp_path / "status"
    (tmp_path / "xdg-open").write_text(
        f'#!/bin/sh\nprintf %s "$1" >{opened}\ngrep NoNewPrivs /proc/self/status >{status}\n')
    (tmp_path / "xdg-open").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for environment in ({"DISPLAY": ""}, {"DISPLAY": ":1", "SSH_CONNECTION": "x"}, {"DISPLAY": ":1", "SSH_CONNECTION": ""}):
        assert not opened.exists()
        with Terminal([CONTROL, "sign-in", "twitter", *fake("browser")], PATH=path, WAYLAND_DISPLAY="", **environment) as terminal:
            assert terminal.end() == 0, terminal.shown
    assert opened.read_text().startswith("https://example.org/a?b")
    # The browser keeps the right to new privileges, because its sandbox may be set-uid.
    assert status.read_text().split() == ["NoNewPrivs:", "0"]
