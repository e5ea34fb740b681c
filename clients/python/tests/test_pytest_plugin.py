"""The pytest plugin, in a pytest of its own, with the real programs."""

import os
from pathlib import Path

import pytest

from einlass import pytest_plugin

pytest_plugins = "pytester"
BUILD = Path(__file__).parents[3] / ".build"
EINLASS = Path(os.environ.get("EINLASS_BINARY", BUILD / "release-static/release/einlass"))
SANDBOX = Path(os.environ.get("EINLASS_SANDBOX", BUILD / "debug/einlass-sandbox"))
needs_programs = pytest.mark.skipif(not (EINLASS.exists() and SANDBOX.exists()), reason="the programs are not built")

TESTS = '''
import asyncio, json, os, urllib.request, webbrowser
import pytest
from einlass import Client, EinlassError
from einlass.aio import AsyncClient
from einlass.pytest_plugin import PageError
from einlass.tokens import TokenSource

WISH = {"provider": "github", "selection": "whenMany", "signIn": "ifNeeded"}


def name(client, **more):
    return client.request("auth.perform", {**WISH, **more})["credential"]["name"]


def test_the_person_allows_it_on_the_page(einlass):
    with einlass.client("editor") as client:
        assert name(client) == "Ada Lovelace"
    (prompt,) = einlass.person.asked
    assert (prompt["kind"], prompt["application"], prompt["grantsAccess"]) == ("openURL", "editor", True)
    assert "/login/oauth/access_token" in [request["path"] for request in einlass.requests()]


def test_each_test_has_a_store_a_person_and_a_log_of_its_own(einlass):
    assert einlass.requests() == [] and einlass.person.asked == []
    with einlass.client() as client:
        assert client.request("accounts.list")["accounts"] == []


def test_another_person_enters_the_code(einlass):
    einlass.person.name = "Grace"
    with einlass.client("editor") as client:
        assert name(client, flowKind="deviceCode") == "Grace Hopper"
    assert [prompt["kind"] for prompt in einlass.person.asked] == ["deviceCode"]


def test_nobody_of_that_name(einlass):
    einlass.person.name = "Nobody"
    with pytest.raises(LookupError, match="Nobody is not among Ada Lovelace, Grace"):
        einlass.person.open(einlass.addresses["github"] + "/login/device", "ABCD-EFGH")


@pytest.mark.parametrize("flow", ["authorizationCode", "deviceCode"])
def test_the_person_denies_it_on_the_page(einlass, flow):
    einlass.person.presses = "deny"
    with einlass.client("editor") as client, pytest.raises(EinlassError) as caught:
        name(client, flowKind=flow)
    assert caught.value.reason == "accessDenied"


@pytest.mark.parametrize("said, reason", [(False, "accessNotGranted"), (lambda prompt: None, "accessNotGranted")])
def test_the_person_says_something_else(einlass, said, reason):
    with einlass.client("editor") as client:
        client.request("accounts.add", einlass.ready["accounts"][0])
        einlass.person.says["grantAccess"] = said
        with pytest.raises(EinlassError) as caught:
            client.request("auth.perform", {"provider": "twitter"})
    assert caught.value.reason == reason


def test_the_person_chooses_the_own_account(einlass):
    einlass.person.name = "Grace"
    with einlass.client("editor") as client:
        for account in einlass.ready["accounts"]:
            client.request("accounts.add", account)
        assert client.request("auth.perform", {"provider": "twitter"})["credential"]["screenName"] == "grace"
    assert [prompt["kind"] for prompt in einlass.person.asked] == ["grantAccess", "selectAccount"]


def test_the_number_on_a_page(einlass):
    async def main():
        async with AsyncClient(prompts=einlass.person.prompts()) as client:
            await client.initialize("program")
            return (await client.request("accounts.signIn", {"provider": "twitter"}))["created"]

    assert einlass.sign_in("twitter")
    einlass.person.name = "Grace"
    assert asyncio.run(main())
    assert [prompt["kind"] for prompt in einlass.person.asked] == ["openURL", "enterVerifier"] * 2
    einlass.person.presses = "deny"
    with pytest.raises(EinlassError, match="userCanceled"):
        einlass.sign_in("twitter")


def test_a_page_with_an_error_ends_the_sign_in(einlass):
    with einlass.client("editor", "openURL") as client:  # the sandbox knows no redirect address of this application
        with pytest.raises(PageError, match="authorize shows an error .400.: .*The application is not registered here"):
            client.request("accounts.signIn", {"provider": "twitter"})
        assert client.request("accounts.signIn", {"provider": "github"})["created"]


def test_a_failed_answer_is_the_failure_of_its_own_request_alone(einlass):
    einlass.person.says["openURL"] = lambda prompt: 1 / 0
    with einlass.client("editor") as client:
        call = client.start("accounts.signIn", {"provider": "github"})
        with pytest.raises(EinlassError, match="userCanceled"):
            call.result(30)
        with pytest.raises(EinlassError, match="unknownProvider"):
            client.request("accounts.signIn", {"provider": "nosuch"})


def test_a_patch_that_the_sandbox_refuses_names_its_place(einlass):
    with pytest.raises(ValueError, match="/faults"):
        einlass.change({"faults": []})


def test_the_address_of_an_application_or_of_another_machine(einlass):
    assert einlass.sign_in("apple")
    own = "com.example.editor:/callback"
    einlass.change({"spotify": {"applications": {"demo-spotify": {"redirects": [own], "secret": None}}}})
    registration = {"spotify": {"clientId": "demo-spotify", "redirect": own}}
    with einlass.client("editor", applications=registration) as client:
        assert client.request("accounts.signIn", {"provider": "spotify"})["created"]


def test_a_server_of_ones_own_and_a_passphrase(einlass, tmp_path):
    with einlass.client("editor") as client:
        server = {"provider": "fcsdk", "server": {"host": einlass.addresses["fcsdk"]}}
        assert client.request("accounts.signIn", server)["created"]
        assert client.request("accounts.export", {"path": str(tmp_path / "accounts")})["accounts"] == 1
    assert [prompt["kind"] for prompt in einlass.person.asked] == ["enterPassword", "enterPassphrase"]


def test_a_client_of_the_program_and_its_browser(einlass):
    with Client(prompts={"openURL": lambda prompt: webbrowser.open(prompt["url"])}) as client:
        client.initialize("program")
        assert name(client) == "Ada Lovelace"


def test_an_asynchronous_client(einlass):
    async def main():
        async with AsyncClient(prompts=einlass.person.prompts()) as client:
            await client.initialize("program")
            return (await client.request("auth.perform", WISH))["credential"]["name"]

    assert asyncio.run(main()) == "Ada Lovelace"


def test_a_program_gets_a_token_until_the_provider_fails(einlass):
    account = einlass.sign_in("gitlab", "script")
    address = einlass.addresses["gitlab"] + "/api/v4/user"
    with TokenSource("script") as tokens:
        token = tokens.token(address)
        assert token.account == account
        request = urllib.request.Request(address, headers={"Authorization": token.header})
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer)["username"] == "ada"
        einlass.change({"faults": {"down": {"answer": "status", "status": 503}}})
        tokens.reject(token)
        with pytest.raises(EinlassError):
            tokens.token(address)


def test_no_real_browser_is_started(einlass):
    assert "DISPLAY" not in os.environ and "WAYLAND_DISPLAY" not in os.environ
'''


@needs_programs
def test_the_fixture_plays_the_providers_and_the_person(pytester, monkeypatch):
    monkeypatch.setenv("EINLASS", str(EINLASS))
    monkeypatch.setenv("EINLASS_SANDBOX", str(SANDBOX))
    monkeypatch.setenv("DISPLAY", ":none")
    before = dict(os.environ)
    before.pop("PYTEST_CURRENT_TEST")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("-p", "einlass.pytest_plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=TESTS.count("def test_") + 2)  # two have two parameters
    assert dict(os.environ) == before


def test_without_a_sandbox_the_variable_is_named(tmp_path, monkeypatch):
    (tmp_path / "einlass").touch(0o755)
    monkeypatch.setenv("EINLASS", str(tmp_path / "einlass"))
    monkeypatch.delenv("EINLASS_SANDBOX", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(FileNotFoundError, match="EINLASS_SANDBOX"):
        pytest_plugin.find_sandbox()
    (tmp_path / "einlass-sandbox").touch(0o755)
    assert pytest_plugin.find_sandbox() == str(tmp_path / "einlass-sandbox")


@pytest.mark.parametrize("said", ["", "no JSON", "[]"])
def test_another_program_is_no_sandbox(pytester, monkeypatch, said):
    program = pytester.path / "einlass-sandbox"
    program.write_text(f"#!/bin/sh\nexec echo '{said}'\n")
    program.chmod(0o700)
    monkeypatch.setenv("EINLASS", "/bin/true")
    monkeypatch.setenv("EINLASS_SANDBOX", str(program))
    pytester.makepyfile("def test(einlass): pass")
    result = pytester.runpytest("-p", "einlass.pytest_plugin", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*RuntimeError: {program} is no einlass-sandbox.*variable EINLASS_SANDBOX*"])


def test_the_plugin_is_an_entry_point():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\neinlass = "einlass.pytest_plugin"\n' in text
