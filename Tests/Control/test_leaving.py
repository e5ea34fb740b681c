"""Before a sign-out or a removal, einlassctl says which tokens will stay valid at the provider.

    python -m pytest Tests/Control/test_leaving.py
"""
import json
import os
import re

import pytest

from control import CONTROL, EINLASS, run
from terminal import Terminal
from test_sign_in_elsewhere import Visitor, page, ready, sign_in  # noqa: F401


@pytest.fixture
def signed_in(sign_in, tmp_path):  # noqa: F811
    """Signs in to GitHub by a device code. Returns the options, the environment and the path of the configuration."""
    with sign_in("github", "--flow", "deviceCode") as terminal:
        terminal.wait_for("The sign-in continues after that")
        code = re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", terminal.shown)[0]
        Visitor().open(page(terminal)).press("allow", user_code=code)
        assert terminal.end() == 0, terminal.shown
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "NO_COLOR": "1"}
    return ["--einlass", EINLASS], home, tmp_path / "einlass.json"


def state(options, home):
    code, output, errors = run("accounts", *options, env=os.environ | home)
    assert code == 0, errors
    return [] if output.startswith("No accounts.") else [line.split()[-2] for line in output.splitlines()[1:]]


def without_registration(config):
    whole = json.loads(config.read_text())
    del whole["applications"]["einlassctl"]["github"]
    path = config.with_name("without.json")
    path.write_text(json.dumps(whole))
    path.chmod(0o600)
    return path


def test_a_failed_renewal_is_not_blamed_on_the_account(signed_in):
    options, home, config = signed_in
    options = [*options, "--config", str(config)]
    whole = json.loads(config.read_text())
    whole["applications"]["neovim"] = whole["applications"]["einlassctl"]
    config.write_text(json.dumps(whole))
    assert run("access", "set", "neovim", "github", "granted", *options, env=os.environ | home)[0] == 0
    code, output, _ = run("accounts", "renew", "github/ada", "--for", "neovim", *options, env=os.environ | home)
    assert code == 1 and "It is still valid" in output, output
    assert "next: Sign in to the account again: einlassctl sign-in --account github/ada" in output
    assert state(options, home) == ["ok"]


@pytest.mark.parametrize("command", ["sign-out", "remove"])
def test_a_credential_that_could_be_revoked_is_not_forgotten(signed_in, command):
    options, home, config = signed_in
    leave = ["accounts", command, "github/ada", "--yes", *options]
    before = state(options, home)
    broken = config.with_name("broken.json")
    broken.write_text("{")
    broken.chmod(0o600)
    for arguments, said in [
            (["--config", str(config.with_name("typo.json"))], "does not exist"), (["--config", str(broken)], "is not JSON"),
            (["--config", str(without_registration(config))], "clientSecret of the registration demo-github"), ([], "GitHub has other addresses")]:
        code, output, errors = run(*leave, *arguments, env=os.environ | home)
        assert (code, output) == (1, "") and said in errors and errors.count(said) == 1, errors
        assert state(options, home) == before
    assert "einlassctl accounts sign-out github/ada --no-revoke" in errors
    code, output, _ = run(*leave, "--config", str(config), env=os.environ | home)
    assert code == 0 and "  revoked: application demo-github" in output, output
    assert state(options, home) != before


def test_on_a_terminal_the_person_decides_whether_the_token_may_stay_valid(signed_in):
    options, home, config = signed_in
    for answer, code in [("", 1), ("y", 0)]:
        with Terminal([CONTROL, "accounts", "remove", "github/ada", *options, "--config", str(without_registration(config))],
                      **home) as terminal:
            terminal.wait_for("Remove github/ada and its credentials? [y/N]")
            terminal.type("y\r")
            terminal.wait_for("which is missing")
            terminal.wait_for("without revoking it at the provider? [y/N]")
            terminal.type(answer + "\r")
            assert terminal.end() == code
    shown = " ".join(terminal.shown.split())
    assert "not revoked: application demo-github." in shown and state(options, home) == []
    assert "and enter its client secret: einlassctl providers configure github" in shown, shown


def test_an_account_of_an_unknown_provider_can_be_removed(tmp_path):
    options = ["--einlass", EINLASS, "--store", str(tmp_path / "store/a.db"), "--key-file", str(tmp_path / "key/a.key")]
    descriptor = {
        "id": "work", "name": "Work", "setup": {"documentation": "https://work.example/docs"}, "registration": ["clientId"],
        "accounts": "many", "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://work.example/authorize"},
                   "token": {"method": "POST", "url": "https://work.example/token"}}]}
    (tmp_path / "work.json").write_text(json.dumps({"providers": [descriptor]}))
    account = {"provider": "work", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *options, "--providers", str(tmp_path / "work.json"), input=json.dumps(account))[0] == 0
    code, output, _ = run("accounts", "remove", "work/ada", "--yes", *options)
    assert code == 0 and "not revoked: system. The provider work is not in the catalogue" in output, output
