"""Accounts are added, shown, renewed, signed out and removed, and access to them is decided."""
import json
import re

import pytest

from control import account, add, run, usernames, with_passphrase


def test_accounts_are_added_listed_renamed_and_removed(store):
    assert re.fullmatch(r"Added twitter/ada \(a_.{22}\)\.\n", add(store, "ada"))
    assert run("accounts", "rename", "ada", "Ada L.", *store)[:2] == (0, "twitter/ada is now shown as Ada L.\n")
    code, output, errors = run("accounts", *store)
    assert (code, errors) == (0, "")
    assert re.fullmatch(r"PROVIDER +ACCOUNT +NAME +STATE +ID\ntwitter +ada +Ada L\. +ok +a_.{22}\n", output)
    code, output, _ = run("accounts", "remove", "twitter/ada", "--yes", *store)
    assert code == 0 and output.startswith("Removed twitter/ada.\n  not revoked: ")
    assert usernames(store) == []
    assert run("accounts", *store)[1] == "No accounts.\n   next: Sign in: einlassctl sign-in\n"


def test_an_account_without_known_scopes_is_shown_as_such(store):
    add(store, "ada")
    code, output, errors = run("accounts", "show", "ada", *store)
    assert (code, errors) == (0, "") and re.search(r"^account +twitter/ada$", output, re.M), output
    assert re.search(r"^scopes +not known$", output, re.M) and "lacks" not in output, output
    assert json.loads(run("accounts", "show", "ada", "--json", *store)[1])["username"] == "ada"


def test_access_is_set_listed_and_reset(store):
    code, output, errors = run("access", "set", "neovim", "facebook", "granted", "--permission", "email", *store)
    assert (code, output, errors) == (0, "neovim may use facebook accounts.\n", "")
    code, output, _ = run("access", *store)
    assert code == 0 and re.search(r"^neovim +facebook +granted +email", output, re.M)
    grants = json.loads(run("access", "list", "--json", *store)[1])["grants"]
    assert [grant["state"] for grant in grants] == ["granted"]
    assert run("access", "reset", "neovim", "facebook", *store)[:2] == (0, "neovim asks again before it uses facebook accounts.\n")
    assert run("access", *store)[1].startswith("No decisions yet")
    assert run("access", "reset", "neovim", "facebook", *store)[:2] == (0, "There was no decision about neovim and facebook accounts: the application asks at its first sign-in.\n")


def test_an_account_is_preferred_explained_renewed_and_signed_out(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    explained = ["accounts", "explain", "neovim", "twitter", "--when-many", *two]
    assert run(*explained)[1] == "neovim: the person chooses the account.\n  prompts before: selectAccount\n"
    assert run("accounts", "prefer", "bob", "--for", "neovim", *two)[:2] == (0, "neovim prefers twitter/bob.\n")
    assert run(*explained)[1] == "neovim: twitter/bob, because it is preferred.\n"
    assert run("accounts", "explain", "neovim", "twitter", *two)[1].startswith(
        "neovim: the person chooses the account; twitter/bob, which is preferred, is shown first.\n")
    assert run("accounts", "prefer", "bob", "--for", "neovim", "--none", *two)[0] == 0
    assert run(*explained)[1].startswith("neovim: the person chooses the account.")
    code, _, errors = run("accounts", "renew", "ada", "--for", "neovim", *two)
    assert code == 1 and "(authenticatorUnconfigured, 1006)" in errors
    code, output, _ = run("accounts", "sign-out", "ada", "--yes", *two)
    assert code == 0 and output.startswith("Signed out twitter/ada.\n  not revoked: system.")
    assert re.search(r"^twitter +ada +signed out ", run("accounts", *two)[1], re.M)


def test_sign_out_names_the_page_that_ends_the_browser_session(store):
    ada = {"provider": "microsoft", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *store, input=json.dumps(ada))[0] == 0
    code, output, _ = run("accounts", "sign-out", "ada", "--yes", *store)
    address = "https://login.microsoftonline.com/common/oauth2/v2.0/logout?client_id=c"
    step = "Your browser may still be signed in there. Open this page to sign it out: "
    assert code == 0 and output.splitlines()[-1] == f"  next: {step}{address}", output


def test_a_denied_application_gets_the_command_that_grants_access(two, tmp_path):
    config = tmp_path / "config.json"
    config.write_text('{"applications": {"*": {"twitter": {"clientId": "c", "clientSecret": "s"}}}}')
    config.chmod(0o600)
    options = [*two, "--config", str(config)]
    for application, name in [([], "einlassctl"), (["--for", "neovim"], "neovim")]:
        for state in (None, "denied"):
            if state:
                assert run("access", "set", name, "twitter", state, *two)[0] == 0
            code, output, errors = run("accounts", "renew", "ada", *application, *options)
            assert code == 1 and f"einlassctl access set {name} twitter granted --store" in errors, (output, errors)
        assert run("access", "set", name, "twitter", "granted", *two)[0] == 0
        code, output, errors = run("accounts", "renew", "ada", *application, *options)
        assert "access set" not in output + errors


def test_explain_reports_the_error_of_a_signed_out_account(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    assert run("accounts", "prefer", "ada", "--for", "neovim", *two)[0] == 0
    explained = ["accounts", "explain", "neovim", "twitter", "--when-many", *two]
    assert run(*explained)[1] == "neovim: twitter/ada, because it is preferred.\n"
    assert run("accounts", "sign-out", "ada", "--yes", *two)[0] == 0
    lines = run(*explained)[1].splitlines()
    assert lines[0] == "neovim: twitter/ada, because it is preferred." and "(reloginNeeded, 1005)" in lines[1], lines


def test_an_existing_account_names_the_option_that_replaces_it(two, tmp_path):
    file = tmp_path / "accounts.json"
    file.write_text(json.dumps(account("ada")))
    file.chmod(0o600)
    code, _, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and f"next: Use the stored account, or replace it: einlassctl accounts add --replace {file} " in errors, errors
    file.write_text(json.dumps({"provider": "twitter"}))
    code, _, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and "problem: username is missing; it must be" in errors
    code, _, errors = with_passphrase("accounts", "export", str(file), *two)
    assert code == 1 and "exists already, and only an export is overwritten. (" in errors
    assert f"next: If it is an export, overwrite it: einlassctl accounts export {file} --replace " in errors, errors


def test_accounts_that_cannot_be_added_are_named_and_the_others_are_added(two, tmp_path):
    file = tmp_path / "accounts.json"
    file.write_text(json.dumps([account("carol"), account("ada"), account(" "), account("dora")]))
    file.chmod(0o600)
    code, output, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and re.fullmatch(r"Added twitter/carol \(a_.{22}\)\.\nAdded twitter/dora \(a_.{22}\)\.\n", output)
    assert errors.startswith("Not added: twitter/ada\nproblem: ") and "\nNot added: twitter/ \nproblem: " in errors
    assert usernames(two) == ["ada", "bob", "carol", "dora"]
    result = json.loads(run("accounts", "add", str(file), "--json", *two)[1])
    assert result == {"added": [], "notAdded": ["twitter/carol", "twitter/ada", "twitter/ ", "twitter/dora"]}


@pytest.mark.parametrize("text", [
    "\ufeff" + json.dumps(account("carol")), json.dumps([account("carol")], indent=1),
    "\ufeff" + json.dumps(account("carol")) + "\r\n\r\n" + json.dumps(account("dora")) + "\r\n"], ids=["mark", "list", "lines"])
def test_accounts_are_added_from_each_form_of_the_file(two, text):
    code, output, errors = run("accounts", "add", "-", *two, input=text)
    assert code == 0 and usernames(two) == ["ada", "bob", "carol", "dora"][:2 + output.count("Added")] and "Added" in output, errors


@pytest.mark.parametrize("text, said", [
    ('{\n "provider": "twitter"\n "username": "ada"}', "is not JSON at line 3, column 2."), ("", "is empty."),
    ('{"provider": "twitter", "provider": "github"}', 'has the name "provider" twice.'),
    (json.dumps(account("carol")) + '\n\n{"provider"', "has no JSON object in line 3."),
    ("[7]", "does not contain a JSON object."), ("[]", "does not contain a JSON object.")])
def test_the_fault_of_a_file_of_accounts_is_named(two, text, said):
    code, _, errors = run("accounts", "add", "-", *two, input=text)
    assert code == 1 and errors.startswith(f"problem: Standard input {said}") and "next: See the format of the file: " in errors, errors
    assert usernames(two) == ["ada", "bob"]


def test_a_signed_out_account_can_be_added_again(store):
    facebook = {"provider": "facebook", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    again = ["accounts", "add", "-", *store]
    assert run(*again, input=json.dumps(facebook))[0] == 0
    assert run(*again, input=json.dumps(facebook))[0] == 1
    assert run("accounts", "sign-out", "ada", "--yes", *store)[0] == 0
    assert run(*again, input=json.dumps({**facebook, "username": "bob"}))[0] == 1
    code, output, errors = run(*again, input=json.dumps(facebook))
    assert code == 0 and output.startswith("Replaced facebook/ada"), errors


@pytest.mark.parametrize("name", ["", "ad", "ADA", "ada ", "twitter/", "a_"])
def test_only_the_whole_name_selects_an_account(two, name):
    code, _, errors = run("accounts", "remove", name, "--yes", *two)
    assert code == 1 and "There is no account" in errors
    assert usernames(two) == ["ada", "bob"]


def test_a_file_that_others_can_read_is_named_with_the_command_that_mends_it(two, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.json").chmod(0o644)
    code, _, errors = run("accounts", "add", "a.json", *two, cwd=tmp_path)
    assert code == 1 and "next: If nobody else had access, run this and start the command again: chmod go-rwx 'a.json'" in errors


def test_the_type_that_a_provider_does_not_take_has_a_next_step(store):
    wrong = {**account("ada"), "provider": "github"}
    code, _, errors = run("accounts", "add", "-", *store, input=json.dumps(wrong))
    assert code == 1 and "does not accept this type" in errors and "next: Choose one of the providers: einlassctl providers list" in errors
