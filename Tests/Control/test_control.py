"""The spawned einlassctl, without a terminal and on one.

    python -m pytest Tests/Control
"""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import termios
import time
import unicodedata
from fcntl import F_GETPIPE_SZ, fcntl, ioctl
from pathlib import Path

import pytest

from terminal import PATIENCE, Terminal

PROJECT = Path(__file__).parents[2]
RELEASE = PROJECT / ".build/release-static/release"
EINLASS = os.environ.get("EINLASS_BINARY", str(RELEASE / "einlass"))
CONTROL = os.environ.get("EINLASS_CONTROL", str(RELEASE / "einlassctl"))
FAKE = str(Path(__file__).with_name("fake_einlass.py"))
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture
def store(tmp_path):
    """The options for a store of the test's own."""
    return ["--einlass", EINLASS, "--store", str(tmp_path / "store/a.db"), "--key-file", str(tmp_path / "key/a.key")]


@pytest.fixture
def two(store):
    """A store with two accounts."""
    add(store, "ada", "bob")
    return store


def fake(what):
    return ["--einlass", FAKE, "--store", what]


def account(name):
    return {"provider": "twitter", "username": name, "credential":
            {"type": "oauth1", "key": "k-of-" + name, "secret": "s3cret", "clientId": "c", "clientSecret": "cs"}}


def run(*arguments, input="", **more):
    """Without any terminal: exit code, standard output, standard error."""
    done = subprocess.run([CONTROL, *arguments], input=input, capture_output=True, text=True, timeout=PATIENCE,
                          start_new_session=True, **more)
    return done.returncode, done.stdout, done.stderr


def add(store, *names):
    code, output, errors = run("accounts", "add", "-", *store, input=json.dumps([account(name) for name in names]))
    assert code == 0, errors
    return output


def repeated(store):
    """How a next step names the store."""
    return " ".join(store[2:] + store[:2])


def usernames(store):
    code, output, errors = run("accounts", "list", "--json", *store)
    assert code == 0, errors
    return [account["username"] for account in json.loads(output)["accounts"]]


def width(text):
    """Columns on a terminal, by Python's tables."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


# Without a terminal


def test_accounts_are_added_listed_renamed_and_removed(store):
    assert re.fullmatch(r"Added twitter/ada \(a_.{22}\)\.\n", add(store, "ada"))
    assert run("accounts", "rename", "ada", "Ada L.", *store)[:2] == (0, "twitter/ada is now shown as Ada L.\n")
    code, output, errors = run("accounts", *store)
    assert (code, errors) == (0, "")
    assert re.fullmatch(r"PROVIDER +ACCOUNT +NAME +STATE +ID\ntwitter +ada +Ada L\. +ok +a_.{22}\n", output)
    code, output, _ = run("accounts", "remove", "twitter/ada", "--yes", *store)
    assert code == 0 and output.startswith("Removed twitter/ada.\n  not revoked: ")
    assert usernames(store) == []
    assert run("accounts", *store)[1] == "No accounts. Add one: einlassctl accounts add\n"


def test_access_is_set_listed_and_reset(store):
    code, output, errors = run("access", "set", "neovim", "facebook", "granted", "--permission", "email", *store)
    assert (code, output, errors) == (0, "neovim may use facebook accounts.\n", "")
    code, output, _ = run("access", *store)
    assert code == 0 and re.search(r"^neovim +facebook +granted +email", output, re.M)
    grants = json.loads(run("access", "list", "--json", *store)[1])["grants"]
    assert [grant["state"] for grant in grants] == ["granted"]
    assert run("access", "reset", "neovim", "facebook", *store)[:2] == (0, "neovim asks again before it uses facebook accounts.\n")
    assert run("access", *store)[1].startswith("Nothing decided yet")
    assert run("access", "reset", "neovim", "facebook", *store)[:2] == (0, "Nothing was decided about neovim and facebook accounts: it asks anyway.\n")


def test_an_account_is_preferred_explained_renewed_and_signed_out(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    explained = ["accounts", "explain", "neovim", "twitter", "--when-many", *two]
    assert run(*explained)[1] == "neovim: the person is asked which.\n  asked before: selectAccount\n"
    assert run("accounts", "prefer", "bob", "--for", "neovim", *two)[:2] == (0, "neovim prefers twitter/bob.\n")
    assert run(*explained)[1] == "neovim: twitter/bob, because it is preferred.\n"
    assert run("accounts", "explain", "neovim", "twitter", *two)[1].startswith(
        "neovim: the person is asked which; twitter/bob, which is preferred, is shown first.\n")
    assert run("accounts", "prefer", "bob", "--for", "neovim", "--none", *two)[0] == 0
    assert run(*explained)[1].startswith("neovim: the person is asked which.")
    code, _, errors = run("accounts", "renew", "ada", "--for", "neovim", *two)
    assert code == 1 and "(authenticatorUnconfigured, 1006)" in errors
    code, output, _ = run("accounts", "sign-out", "ada", "--yes", *two)
    assert code == 0 and output.startswith("Signed out twitter/ada.\n  not revoked: system.")
    assert re.search(r"^twitter +ada +signed out ", run("accounts", *two)[1], re.M)


def test_who_signs_out_is_told_where_the_browser_is_signed_out_too(store):
    ada = {"provider": "microsoft", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *store, input=json.dumps(ada))[0] == 0
    code, output, _ = run("accounts", "sign-out", "ada", "--yes", *store)
    address = "https://login.microsoftonline.com/common/oauth2/v2.0/logout?client_id=c"
    step = "Your browser may still be signed in there. Sign it out: "
    assert code == 0 and output.splitlines()[-1] == f"  next: {step}{address}", output


def test_a_provider_is_added_by_a_file_and_forgotten(store, tmp_path):
    descriptor = {
        "id": "work", "name": "Work", "setup": {"documentation": "https://work.example/docs"}, "registration": ["clientId"],
        "accounts": "many", "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://work.example/authorize"},
                   "token": {"method": "POST", "url": "https://work.example/token"}}]}
    (tmp_path / "work.json").write_text(json.dumps(descriptor))
    added = run("providers", "add", str(tmp_path / "work.json"), *store)
    step = "Register an application there and bring its client id: einlassctl providers configure work"
    assert added[:2] == (0, f"Added work. {step} {repeated(store)}\n"), added
    assert re.search("^work +Work +missing +authorizationCode", run("providers", *store)[1], re.M)
    code, output, _ = run("providers", "show", "work", *store)
    assert code == 0 and "register at  https://work.example/docs\n" in output and "client id    missing\n" in output
    assert "There is no provider nope." in run("providers", "show", "nope", *store)[2]
    (tmp_path / "config.json").write_text('{"applications": {"einlassctl": {"work": {"clientId": "c"}}}}')
    (tmp_path / "config.json").chmod(0o600)
    assert re.search("^work +Work +there ", run("providers", *store, "--config", str(tmp_path / "config.json"))[1], re.M)
    code, _, errors = run("sign-in", "work", "--no-input", *store)
    assert code == 1 and "(authenticatorUnconfigured, 1006)" in errors
    assert run("providers", "remove", "work", "--yes", *store)[:2] == (0, "Forgot work.\n")
    assert "work" not in run("providers", *store)[1]
    assert run("providers", "add", str(tmp_path / "work.json"), *store)[0] == 0
    ada = {"provider": "work", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *store, input=json.dumps(ada))[0] == 0
    code, output, _ = run("providers", "remove", "work", "--yes", *store)
    assert (code, output) == (0, "Forgot work.\nThese accounts stay, of no use until it is added again:\n  work/ada\n")
    code, output, _ = run("accounts", "sign-out", "ada", "--yes", *store)
    assert code == 0 and "No provider work is known here" in output, output
    assert run("providers", "add", str(tmp_path / "work.json"), *store)[0] == 0
    assert run("providers", "configure", "work", "--client-id", "c", *store)[0] == 0
    code, output, _ = run("providers", "remove", "work", "--yes", *store)
    assert code == 0 and output.startswith("Forgot work and the registration that was stored.\n")
    noted = json.loads(run("audit", "--provider", "work", "--json", *store)[1])["entries"]
    assert [entry["method"] for entry in noted] == ["providers.remove", "providers.configure"] + 2 * ["providers.remove"]
    del descriptor["accounts"]
    (tmp_path / "work.json").write_text(json.dumps(descriptor))
    assert "work, at /descriptor/accounts:" in run("providers", "add", str(tmp_path / "work.json"), *store)[2]
    (tmp_path / "work.json").write_text("[]")
    assert "holds no JSON object" in run("providers", "add", str(tmp_path / "work.json"), *store)[2]
    (tmp_path / "work.json").write_text('{"providers": []}')
    code, _, errors = run("providers", "add", str(tmp_path / "work.json"), *store)
    assert code == 1 and "holds no provider." in errors
    for option in "--id", "--name":
        code, _, errors = run("providers", "add", str(tmp_path / "work.json"), option, "other", *store)
        assert code == 64 and "go with an address" in errors


def test_a_file_for_the_option_providers_is_added_whole(store, tmp_path):
    small = {"name": "x", "setup": {"documentation": "https://x.example/docs"}, "registration": ["clientId"], "accounts": "many",
             "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://x.example/authorize"},
                        "token": {"method": "POST", "url": "https://x.example/token"}}]}
    (tmp_path / "two.json").write_text(json.dumps({"providers": [{"id": "one", **small}, {"id": "other", **small}]}))
    code, output, errors = run("providers", "add", str(tmp_path / "two.json"), *store)
    assert code == 0 and re.findall(r"^Added (\w+)\. .* providers configure (\w+) --store", output, re.M) == [
        ("one", "one"), ("other", "other")], errors


def test_what_happened_is_listed_and_forgotten(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    code, output, errors = run("audit", *two)
    assert code == 0, errors
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d  einlassctl +access\.set neovim granted +twitter +einlassctl$", output, re.M)
    assert json.loads(run("audit", "list", "--json", "--limit", "1", *two)[1])["entries"][0]["subject"] == "neovim"
    assert "There is no account ada2." in run("audit", "--account", "ada2", *two)[2]
    for gone in "a_0123456789", "twitter/a_0123456789":
        assert run("audit", "--account", gone, *two)[:2] == (0, "Nothing was written down.\n")
    assert run("audit", "--application", "nobody", *two)[1] == "Nothing was written down.\n"
    assert run("audit", "prune", "2026-13-01", "--yes", *two)[0] == 64
    assert re.fullmatch(r"Forgot \d+ entries\.\n", run("audit", "prune", "9999-01-01", "--yes", *two)[1])
    assert "access.set" not in run("audit", *two)[1]


def test_the_store_is_shown_checked_copied_and_sealed_anew(two, tmp_path):
    assert f"path      {tmp_path}/store/a.db\n" in run("store", *two)[1]
    assert run("store", "check", *two)[1].startswith("Sound: 2 accounts and ")
    (tmp_path / "copies").mkdir(mode=0o700)
    assert run("store", "backup", "copies/copy.db", *two, cwd=tmp_path)[0] == 0
    assert (tmp_path / "copies/copy.db").exists()
    assert run("store", "rotate-key", *two)[0] == 0
    assert run("store", "slots", *two)[:2] == (0, "keyfile\n")
    assert usernames(two) == ["ada", "bob"]


def test_the_doctor_finds_nothing_wrong_with_a_sound_store(two):
    code, output, errors = run("doctor", *two)
    assert (code, errors) == (0, "") and "problem" not in output
    findings = json.loads(run("doctor", "--json", *two)[1])
    assert findings["ok"] and {f["check"] for f in findings["findings"]} >= {"einlass", "configuration", "store", "key", "accounts"}


def test_the_doctor_names_what_is_wrong_and_what_to_do(two, tmp_path):
    (tmp_path / "key").chmod(0o755)
    code, output, _ = run("doctor", *two)
    assert code == 1 and "problem  key: " in output and "chmod go-rwx" in output
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "config.json").chmod(0o644)
    code, output, _ = run("doctor", *two, "--config", str(tmp_path / "config.json"))
    assert code == 1 and "problem  configuration" in output


@pytest.mark.parametrize("wrong", ["missing", "garbage", "open"])
def test_the_doctor_says_of_the_key_itself_that_it_does_not_open(two, wrong):
    key = Path(two[5])
    if wrong == "missing":
        key.unlink()
    elif wrong == "garbage":
        key.write_text("garbage")
    else:
        key.chmod(0o644)
    code, output, _ = run("doctor", *two)
    assert code == 1 and re.search(f"^problem  key: .*{re.escape(str(key))}", output, re.M), output
    assert "ok       key" not in output and "store check" not in output


def test_the_doctor_says_of_a_store_that_it_cannot_be_written():
    _, output, _ = run("doctor", *fake("readonly"))
    assert re.search(r"^note +store: /s/a.db can be read, not written: .*\n +next: Let yourself write to it", output, re.M), output
    assert "not written" not in run("doctor", *fake("sound"))[1]


def test_the_doctor_names_a_configured_provider_that_does_not_exist(two, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"applications": {"neovim": {"githb": {"clientId": "c"}, "github": {"clientId": "c"}}}}))
    config.chmod(0o600)
    code, output, _ = run("doctor", *two, "--config", str(config))
    assert code == 0 and f"note     configuration: {config} names a provider that does not exist: githb\n" in output
    assert "is in order" not in output and "exist: github" not in output


def key_file(curve):
    made = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + curve],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


def signing(*algorithms):
    """A provider whose clients sign who they are."""
    return {"providers": [{"id": "signs", "name": "Signs", "accounts": "many", "registration": ["clientId", "privateKey"],
                           "setup": {"documentation": "https://signs.example"},
                           "flows": [{"kind": "authorizationCode",
                                      "authorize": {"method": "GET", "url": "https://signs.example/authorize"},
                                      "token": {"method": "POST", "url": "https://signs.example/token"},
                                      "clientAuthentication": "private_key_jwt",
                                      "assertion": {"algorithms": list(algorithms)}}]}]}


@pytest.mark.parametrize("key, said", [
    ("no key", "cannot be read"), (key_file("P-256"), None), (key_file("P-384"), "ES256"), (None, "lacks privateKey"),
])
@pytest.mark.parametrize("application", ["*", "neovim"])
def test_the_doctor_looks_at_every_application_s_key(two, tmp_path, key, said, application):
    providers, config = tmp_path / "providers.json", tmp_path / "config.json"
    providers.write_text(json.dumps(signing("ES256")))
    registration = {"clientId": "c", **({"privateKey": key} if key else {})}
    config.write_text(json.dumps({"applications": {application: {"signs": registration}}}))
    config.chmod(0o600)
    code, output, errors = run("doctor", *two, "--config", str(config), "--providers", str(providers))
    assert "PRIVATE KEY" not in output + errors
    if said is None:
        assert code == 0 and "problem " not in output, output + errors
        assert ("sign-ins can start at signs" in output) == (application == "*")
    else:
        who = "einlassctl" if application == "*" else application
        assert code == 1 and re.search(f"^problem  {who} at signs: .*{said}", output, re.M), output + errors
        assert f"next: Correct it in {config}." in output


def test_the_doctor_names_accounts_whose_provider_is_gone_and_what_was_added_in_vain(two, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps({**signing("ES256")["providers"][0], "id": "mine"}))
    (tmp_path / "mine.json").chmod(0o600)
    code, output, errors = run("providers", "add", str(tmp_path / "mine.json"), *two)
    assert code == 0, errors
    mine = {"provider": "mine", "username": "eve", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *two, input=json.dumps(mine))[0] == 0
    assert run("doctor", *two)[0] == 0
    added = tmp_path / "store/a.providers.json"
    added.chmod(0o644)
    code, output, _ = run("doctor", *two)
    assert code == 1 and re.search(f"^problem  configuration: .*{re.escape(str(added))} is open", output, re.M), output
    assert "mine/eve" not in output
    added.chmod(0o600)
    text = added.read_text()
    added.write_text(text.replace('"flows"', '"flaws"'))
    code, output, errors = run("doctor", *two)
    assert code == 1 and re.search("^problem  mine: cannot be used: mine, at /providers/0", output, re.M), output
    assert "forget it: einlassctl providers remove mine " in output and "warning configuration" in errors and "twitter" in run("providers", *two)[1]
    # What is no file of providers at all is left alone.
    added.write_text("{")
    assert run("providers", "remove", "mine", "--yes", *two)[0] == 1 and added.read_text() == "{"
    added.write_text(text)
    added.unlink()
    code, output, _ = run("doctor", *two)
    assert code == 1 and "problem  mine/eve: its provider is not known any more" in output


@pytest.mark.parametrize("arguments, missing", [
    (["accounts", "remove"], "ACCOUNT"), (["accounts", "rename"], "ACCOUNT"), (["accounts", "rename", "ada"], "NAME"),
    (["accounts", "add"], "FILE"), (["access", "set"], "APPLICATION"), (["access", "set", "x"], "PROVIDER"),
    (["access", "set", "x", "twitter"], "STATE"), (["access", "reset", "x"], "PROVIDER"),
    (["accounts", "remove", "ada"], "--yes"), (["store", "backup"], "PATH"), (["accounts", "export"], "PATH"),
    (["accounts", "import"], "PATH"), (["store", "slots", "add"], "KIND"), (["store", "slots", "remove"], "KIND"),
    (["store", "slots", "remove", "keyfile"], "--yes"), (["accounts", "explain"], "APPLICATION"),
    (["accounts", "explain", "neovim"], "PROVIDER"), (["audit", "prune"], "YYYY-MM-DD"),
    (["audit", "prune", "2026-01-01"], "--yes"),
])
@pytest.mark.parametrize("on_terminal", [False, True])
def test_what_is_missing_is_named_when_nobody_can_be_asked(two, arguments, missing, on_terminal):
    run("access", "set", "x", "twitter", "granted", *two)
    if on_terminal:
        with Terminal([CONTROL, *arguments, *two, "--no-input"]) as terminal:
            assert terminal.end() == 64
            said = terminal.shown
    else:
        code, output, said = run(*arguments, *two)
        assert (code, output) == (64, "")
    assert missing in said
    assert usernames(two) == ["ada", "bob"]


def test_errors_say_the_next_step_with_the_store_that_is_meant(store):
    code, output, errors = run("access", "set", "x", "nope", "granted", *store)
    assert (code, output) == (1, "")
    assert "(unknownProvider, 1020)" in errors
    assert f"next: See which there are: einlassctl providers list {' '.join(store[2:])} {' '.join(store[:2])}\n" in errors
    code, output, errors = run("access", "set", "x", "nope", "granted", "--json", *store)
    assert code == 1 and json.loads(output)["error"]["data"]["reason"] == "unknownProvider" and errors


def test_whoever_was_not_allowed_is_told_the_command_that_allows_it(two, tmp_path):
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


def test_own_errors_are_json_as_those_of_einlass_are(two):
    for arguments, exit_code, reason in [
            (["accounts", "remove", "nobody", "--yes"], 1, "unusable"), (["accounts", "--provider", "nope"], 1, "unusable"),
            (["accounts", "remove", "ada"], 64, "usage")]:
        code, output, errors = run(*arguments, "--json", *two)
        error = json.loads(output)["error"]
        assert (code, error["data"]) == (exit_code, {"reason": reason}) and error["message"] in errors


@pytest.mark.parametrize("arguments, said", [
    (["sign-in", "github", "--flow", "nope"], "--flow must be one of"),
    (["accounts", "export", "-"], "never standard output: name a path"),
    (["providers", "add", "login.example.com"], "it begins with https://"),
])
def test_what_is_wrong_is_said_in_the_words_of_the_command_line(two, tmp_path, arguments, said):
    code, _, errors = run(*arguments, *two, cwd=tmp_path)
    assert code != 0 and said in errors, errors
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("arguments, step", [
    (["accounts", "explain", "nobodyapp", "tencent-weibo"], "Sign in there: einlassctl sign-in tencent-weibo"),
    (["sign-in", "slack", "--flow", "deviceCode"], "Leave out --flow."),
    pytest.param(["store", "slots", "add", "secretservice"], "Or let a passphrase open it: einlassctl store slots add passphrase",
                 marks=pytest.mark.skipif(bool(shutil.which("secret-tool")), reason="there is a secret-tool")),
])
def test_the_next_step_is_of_what_was_asked(two, tmp_path, arguments, step):
    config = tmp_path / "config.json"
    config.write_text('{"applications": {"*": {"slack": {"clientId": "c"}}}}')
    config.chmod(0o600)
    code, output, errors = run(*arguments, *two, "--config", str(config))
    assert f"next: {step}" in output + errors, output + errors


def test_an_explained_account_that_is_signed_out_is_one_that_fails(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    assert run("accounts", "prefer", "ada", "--for", "neovim", *two)[0] == 0
    explained = ["accounts", "explain", "neovim", "twitter", "--when-many", *two]
    assert run(*explained)[1] == "neovim: twitter/ada, because it is preferred.\n"
    assert run("accounts", "sign-out", "ada", "--yes", *two)[0] == 0
    lines = run(*explained)[1].splitlines()
    assert lines[0] == "neovim: twitter/ada, because it is preferred." and "(reloginNeeded, 1005)" in lines[1], lines


def test_a_configuration_that_is_not_needed_is_complained_of_once(two, tmp_path):
    typo = ["--config", str(tmp_path / "typo.json")]
    code, _, errors = run("accounts", "list", *two, *typo)
    assert code == 0 and re.fullmatch(r"   note: The configuration \S+ can't be used: it does not exist\.\n", errors), errors
    for arguments in (["doctor"], ["sign-in", "github"]):
        code, output, errors = run(*arguments, *two, *typo)
        assert code == 1 and (output + errors).count("does not exist") == 1, output + errors
    # A program that greets nobody is told by the log.
    alone = subprocess.run([EINLASS, *two[2:], *typo, "call", "accounts.list"], capture_output=True, text=True, timeout=PATIENCE)
    assert alone.returncode == 78 and alone.stderr.count("does not exist") == 1, alone.stderr


def test_whoever_looks_for_the_store_is_told_what_makes_it(store):
    assert "no: the first change makes it" in run("store", "status", *store)[1]
    assert run("access", "set", "neovim", "twitter", "granted", *store)[0] == 0
    assert "the first change makes it" not in run("store", "status", *store)[1]
    assert "einlassctl" in subprocess.run([EINLASS, "--help"], capture_output=True, text=True, timeout=PATIENCE).stdout


def test_what_is_there_already_is_replaced_by_an_option_that_is_named(two, tmp_path):
    file = tmp_path / "accounts.json"
    file.write_text(json.dumps(account("ada")))
    file.chmod(0o600)
    code, _, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and "Pass --replace to overwrite it." in errors
    file.write_text(json.dumps({"provider": "twitter"}))
    code, _, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and "problem: username is missing; it must be" in errors
    code, _, errors = with_passphrase("accounts", "export", str(file), *two)
    assert code == 1 and "Only an export is overwritten: pass --replace." in errors


def test_the_doctor_says_what_mends_a_key_file_and_who_is_signed_out(two):
    key = Path(two[5])
    assert run("accounts", "sign-out", "ada", "--yes", *two)[0] == 0
    assert "accounts: 2 accounts, 1 in order, 1 signed out\n" in run("doctor", *two)[1]
    key.chmod(0o644)
    for command in ("doctor", "check"):
        code, output, errors = run(*(["doctor"] if command == "doctor" else ["store", "check"]), *two)
        assert code == 1 and f"next: If nobody else had access, run this and start the command again: chmod go-rwx '{key}'" in output + errors
    key.unlink()
    for command in (["doctor"], ["store", "check"]):
        code, output, errors = run(*command, *two)
        assert code == 1 and "next: If the key file lies elsewhere, name it with --key-file." in output + errors


def test_what_could_not_be_added_is_named_and_the_others_are_added(two, tmp_path):
    file = tmp_path / "accounts.json"
    file.write_text(json.dumps([account("carol"), account("ada"), account(" "), account("dora")]))
    file.chmod(0o600)
    code, output, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and re.fullmatch(r"Added twitter/carol \(a_.{22}\)\.\nAdded twitter/dora \(a_.{22}\)\.\n", output)
    assert errors.startswith("Not added: twitter/ada\nproblem: ") and "\nNot added: twitter/ \nproblem: " in errors
    assert usernames(two) == ["ada", "bob", "carol", "dora"]
    result = json.loads(run("accounts", "add", str(file), "--json", *two)[1])
    assert result == {"added": [], "notAdded": ["twitter/carol", "twitter/ada", "twitter/ ", "twitter/dora"]}


def test_who_has_signed_out_is_added_again(store):
    facebook = {"provider": "facebook", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    again = ["accounts", "add", "-", *store]
    assert run(*again, input=json.dumps(facebook))[0] == 0
    assert run(*again, input=json.dumps(facebook))[0] == 1
    assert run("accounts", "sign-out", "ada", "--yes", *store)[0] == 0
    assert run(*again, input=json.dumps({**facebook, "username": "bob"}))[0] == 1
    code, output, errors = run(*again, input=json.dumps(facebook))
    assert code == 0 and output.startswith("Replaced facebook/ada"), errors


def test_a_name_with_a_dash_in_front_is_no_call_for_help(store):
    add(store, "-dash")
    code, output, errors = run("accounts", "remove", "-dash", "--yes", *store)
    assert (code, output) == (64, "") and "behind --" in errors
    assert run("accounts", "remove", "--yes", *store, "--", "-dash")[0] == 0
    assert run("accounts", "remove", "-h")[:2] == run("accounts", "remove", "--help")[:2]


@pytest.mark.parametrize("arguments", [["accounts", "--provider", "nope"], ["audit", "--provider", "nope"]])
def test_a_provider_that_is_not_known_is_named(two, arguments):
    code, output, errors = run(*arguments, *two)
    assert (code, output) == (1, "") and "There is no provider nope." in errors and "einlassctl providers list" in errors
    assert run("accounts", "--provider", "facebook", *two)[:2] == (0, "No accounts. Add one: einlassctl accounts add\n")


@pytest.mark.parametrize("program", ["cat", "yes", "true"])
def test_a_program_that_is_not_einlass_is_told_at_once(program):
    code, output, errors = run("accounts", "--einlass", shutil.which(program))
    assert (code, output) == (70, "") and errors.startswith("problem: ")
    assert "does not answer as einlass does. Name einlass with --einlass" in errors or program == "true"


@pytest.mark.parametrize("arguments", [
    ["accounts", "import", "/nope"], ["accounts", "add", "/nope"], ["providers", "add", "/nope"],
    ["accounts", "rename", "ada", "\u202e"], ["accounts", "export", "/nope/x"],
])
def test_no_next_step_is_said_where_the_sentence_says_it(two, arguments):
    code, _, errors = with_passphrase(*arguments, *two)
    assert code == 1 and "doctor" not in errors and "next:" not in errors


@pytest.mark.parametrize("name", ["", "ad", "ADA", "ada ", "twitter/", "a_"])
def test_nothing_but_the_whole_name_names_an_account(two, name):
    code, _, errors = run("accounts", "remove", name, "--yes", *two)
    assert code == 1 and "There is no account" in errors
    assert usernames(two) == ["ada", "bob"]


@pytest.mark.parametrize("arguments, code", [
    (["accounts", "nope"], 64), (["accounts", "list", "--nope"], 64), (["accounts", "list", "--key-fd", "999"], 64),
    (["accounts", "list", "--einlass", "/nope"], 70), (["accounts", "list", *fake("ends")], 70),
    (["accounts", "list", *fake("dies")], 70), (["accounts", "list", "--log-level", "nope", "--einlass", EINLASS], 64),
    (["--help"], 0), (["--version"], 0), (["accounts", "add", "--help"], 0),
])
def test_exit_codes_are_those_of_the_help(arguments, code):
    assert run(*arguments)[0] == code


def test_a_reader_that_leaves_is_no_crash(two):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([CONTROL, "accounts", *two], stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_the_key_may_come_by_a_descriptor(tmp_path):
    key = os.memfd_create("key")
    os.write(key, os.urandom(32).hex().encode())
    os.lseek(key, 0, os.SEEK_SET)
    store = ["--einlass", EINLASS, "--store", str(tmp_path / "store/a.db"), "--key-fd", str(key)]
    code, output, errors = run("accounts", "add", "-", *store, input=json.dumps(account("ada")), pass_fds=[key])
    os.close(key)
    assert code == 0, errors
    assert not (tmp_path / "key").exists()


def passphrase_of(words):
    """A descriptor that brings it."""
    descriptor = os.memfd_create("passphrase")
    os.write(descriptor, words.encode() + b"\n")
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def with_passphrase(*arguments, words="correct horse", option="--passphrase-fd", also=(), **more):
    descriptor = passphrase_of(words)
    try:
        return run(*arguments, option, str(descriptor), pass_fds=[descriptor, *also], **more)
    finally:
        os.close(descriptor)


def test_accounts_move_by_a_file_and_a_passphrase(two, tmp_path):
    file = tmp_path / "moving"
    code, output, errors = with_passphrase("accounts", "export", str(file), *two)
    assert code == 0 and re.match(rf"Wrote 2 accounts to {file} \(\d+ B\)\.\n", output), errors
    assert file.stat().st_mode & 0o777 == 0o600
    code, _, errors = with_passphrase("accounts", "export", str(file), *two)
    assert code == 1 and "exists already" in errors
    assert with_passphrase("accounts", "export", str(file), "--replace", *two)[0] == 0
    for precious in (two[3], two[5]):
        before = Path(precious).read_bytes()
        code, _, errors = with_passphrase("accounts", "export", precious, "--replace", *two)
        assert code == 1 and "exists already" in errors and Path(precious).read_bytes() == before
    other = ["--einlass", EINLASS, "--store", str(tmp_path / "other/a.db"), "--key-file", str(tmp_path / "otherkey/a.key")]
    add(other, "bob")
    code, _, errors = with_passphrase("accounts", "import", str(file), *other, words="wrong")
    assert code == 1 and "(accountStoreFailure, 1009)" in errors and "with the passphrase of that file" in errors
    code, output, errors = with_passphrase("accounts", "import", str(file), *other)
    assert (code, output) == (0, "twitter/bob: already there\ntwitter/ada: added\n"
                              "1 added, 0 replaced, 1 already there, 0 refused.\n"), errors
    assert json.loads(with_passphrase("accounts", "import", str(file), "--replace", "--json", *other)[1])["replaced"] == 2
    assert usernames(other) == ["bob", "ada"]
    code, _, errors = run("accounts", "export", str(tmp_path / "x"), *two)
    assert code == 1 and "(interactionRequired, 1010)" in errors and "--passphrase-fd" in errors
    assert run("accounts", "list", "--passphrase-fd", "999", *two)[0] == 64


def test_a_file_has_a_passphrase_of_its_own_where_the_store_has_one(two, tmp_path):
    # With a key file the passphrase is that of the file alone, whatever else would open the store.
    assert with_passphrase("store", "slots", "add", "passphrase", *two, words="of the store")[0] == 0
    code, _, errors = with_passphrase("accounts", "export", str(tmp_path / "moving"), *two, words="of the file")
    assert code == 0, errors
    assert run("store", "slots", "remove", "keyfile", "--yes", *two)[0] == 0
    two = two[:4]
    code, _, errors = with_passphrase("accounts", "export", str(tmp_path / "other"), *two, words="of the file")
    assert code == 1 and "The passphrase does not open the account store's key" in errors
    for command in (["export", str(tmp_path / "other")], ["import", str(tmp_path / "moving")]):
        words = passphrase_of("of the store")
        code, output, errors = with_passphrase(
            "accounts", *command, "--passphrase-fd", str(words), *two, words="of the file",
            option="--file-passphrase-fd", also=[words])
        os.close(words)
        assert code == 0, errors
    assert "2 already there" in output


def test_an_import_names_the_provider_that_is_to_be_added_first(two, tmp_path):
    descriptor = {"id": "work", "name": "Work", "setup": {"documentation": "https://work.example/docs"},
                  "registration": ["clientId"], "accounts": "many", "flows": [
                      {"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://work.example/authorize"},
                       "token": {"method": "POST", "url": "https://work.example/token"}}]}
    mine = tmp_path / "providers.json"
    mine.write_text(json.dumps({"providers": [descriptor]}))
    mine.chmod(0o600)
    (tmp_path / "home.json").write_text(json.dumps({**descriptor, "id": "home"}))
    assert run("providers", "add", str(tmp_path / "home.json"), *two)[0] == 0
    assert run("providers", "configure", "home", "--client-id", "c", *two)[0] == 0
    cora = {"provider": "work", "username": "cora", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    named = [*two, "--providers", str(mine)]
    for person in (cora, {**cora, "provider": "home"}):
        assert run("accounts", "add", "-", *named, input=json.dumps(person))[0] == 0
    assert with_passphrase("accounts", "export", str(tmp_path / "moving"), *named)[0] == 0
    other = ["--einlass", EINLASS, "--store", str(tmp_path / "other/a.db"), "--key-file", str(tmp_path / "otherkey/a.key")]
    code, output, _ = with_passphrase("accounts", "import", str(tmp_path / "moving"), *other)
    assert code == 1 and "work/cora: refused. The provider is not known here. Add it first: einlassctl providers add" in output
    assert "home/cora: added" in output and "3 added" in output
    # What was added over there came along, and that is said.
    assert "home: the provider was added\nhome: its registration came along\n" in output


@pytest.mark.parametrize("arguments, said", [
    (["accounts", "lst"], "no command einlassctl accounts lst. There are: list, add,"),
    (["store", "rotateKey"], "no command einlassctl store rotateKey. There are: status, check, backup, rotate-key, slots."),
    (["acounts"], "no command einlassctl acounts. There are: sign-in, accounts,"),
    (["accounts", "list", "more"], "Unexpected argument 'more'"),
])
def test_a_command_that_is_none_is_answered_with_those_there_are(arguments, said):
    code, output, errors = run(*arguments)
    assert (code, output) == (64, "") and said in errors


def test_a_new_store_that_nothing_but_the_passphrase_opens_is_told(two, tmp_path):
    file = tmp_path / "moving"
    assert with_passphrase("accounts", "export", str(file), *two)[0] == 0
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    (tmp_path / "home").mkdir(mode=0o700)
    new = ["accounts", "import", str(file), "--einlass", EINLASS]
    code, _, errors = with_passphrase(*new, env={**os.environ, **home})
    assert code == 0 and "nothing but this passphrase opens it" in errors and "einlassctl store slots add keyfile" in errors
    code, _, errors = with_passphrase(*new, env={**os.environ, **home})
    assert (code, errors) == (0, "")
    code, output, errors = with_passphrase("store", "check", "--einlass", EINLASS, words="wrong", env={**os.environ, **home})
    assert code == 1 and output.startswith("not read: The passphrase does not open"), errors


def test_what_opens_the_store_is_listed_added_and_removed(two):
    assert run("store", "slots", *two)[:2] == (0, "keyfile\n")
    assert run("store", "slots", "list", "--json", *two)[1] == '{"slots":["keyfile"]}\n'
    code, output, errors = with_passphrase("store", "slots", "add", "passphrase", *two)
    assert (code, output) == (0, "The store is opened by: keyfile, passphrase.\n"), errors
    assert run("store", "slots", "remove", "fd", "--yes", *two)[0] == 1
    code, output, _ = run("store", "slots", "remove", "passphrase", "--yes", *two)
    assert (code, output) == (0, "The store is opened by: keyfile.\n")
    code, _, errors = run("store", "slots", "remove", "keyfile", "--yes", *two)
    assert code == 1 and "only way" in errors
    assert run("store", "slots", "add", "nope", *two)[0] == 64


def test_no_name_steers_the_terminal_or_a_program_that_reads_json():
    for arguments in (["accounts"], ["accounts", "--json"], ["access", "reset", "x", "y"]):
        _, output, errors = run(*arguments, *fake("evil"))
        assert output + errors and not CONTROLS.search(output + errors), repr(output + errors)
    assert "\x1b" in json.loads(run("accounts", "--json", *fake("evil"))[1])["accounts"][3]["username"]


def test_bash_completes_accounts_and_runs_nothing_that_they_are_called(tmp_path):
    script = """
        source <("$1" --generate-completion-script bash)
        shift
        COMP_WORDS=("$@" "") COMP_CWORD=$#
        COMP_LINE="$* " COMP_POINT=$((${#COMP_LINE}))
        _einlassctl
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    words = ["einlassctl", "accounts", "remove", *fake("evil")]
    environment = {**os.environ, "PATH": f"{Path(CONTROL).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script, "bash", CONTROL, *words], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=PATIENCE)
    assert {"twitter/ada", "a_2", "twitter/bob", "a_4"} <= set(done.stdout.split()), done
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments, said", [
    (["help", "nope"], "There is no command einlassctl nope."),
    (["help", "accounts", "nope"], "There is no command einlassctl accounts nope."),
    (["audit", "--limit", "-1"], "goes behind =: --limit=-1"), (["audit", "--limit=-1"], "--limit needs a number from 1."),
    (["audit", "--limit", "0"], "--limit needs a number from 1."),
    (["accounts", "renew", "-ada"], "goes behind --: "),
    (["sign-in", "github", "--flow", "reverseAuth"], "--flow must be one of authorizationCode, deviceCode, oauth1, clientCredentials."),
    (["store", "slots", "add", "fd"], "KIND must be one of keyfile, passphrase, secretservice."),
    (["store", "slots", "remove", "foo"], "KIND must be one of keyfile, passphrase, secretservice, fd."),
    (["accounts", "--store", ""], "--store needs a value"), (["accounts", "--einlass", ""], "--einlass needs a value"),
    (["accounts", "--log-level", "foo"], "--log-level must be one of error, warning, info, debug."),
])
def test_a_wrong_command_line_is_told_before_einlass_starts(arguments, said):
    code, output, errors = run(*arguments, env={**os.environ, "EINLASS_BINARY": "/nope"})
    assert (code, output) == (64, "") and said in errors, errors


def test_the_help_of_every_command_is_there():
    assert run("help")[0] == 0
    assert run("help", "accounts", "list")[:2] == run("accounts", "list", "--help")[:2]


@pytest.mark.parametrize("arguments, said", [
    (["sign-in", "github", "--scope", ""], "--scope must be"), (["accounts", "renew", "ada", "--for", ""], "The application's name must be"),
    (["access", "set", "x", "twitter", "granted", "--permission", ""], "--permission must be"),
])
def test_what_einlass_refuses_is_named_as_it_stands_on_the_command_line(two, arguments, said):
    _, _, errors = run(*arguments, *two)
    assert f"problem: {said} a string of 1 to 256 bytes" in errors, errors


def test_what_a_person_named_wrongly_damages_no_store(two, tmp_path):
    (tmp_path / "folder").mkdir()
    for command in ("accounts", "export"), ("store", "backup"):
        for path in ("folder", "folder/"):
            code, _, errors = run(*command, path, *two, cwd=tmp_path)
            assert code == 1 and f"problem: {path} is a folder.\n   next: Name a new file in it." in errors
    (tmp_path / "other.json").write_text("{}")
    code, _, errors = with_passphrase("accounts", "import", str(tmp_path / "other.json"), *two)
    assert code == 1 and "Name one that einlassctl accounts export wrote." in errors and "Put back" not in errors


def test_a_file_that_others_can_read_is_named_with_the_command_that_mends_it(two, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.json").chmod(0o644)
    code, _, errors = run("accounts", "add", "a.json", *two, cwd=tmp_path)
    assert code == 1 and "run: chmod go-rwx 'a.json'" in errors


def test_a_copy_of_the_store_lies_in_a_folder_that_others_may_look_into_and_no_more(two, tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    code, _, errors = run("store", "backup", str(folder / "copy.db"), *two)
    assert code == 0 and (folder / "copy.db").stat().st_mode & 0o777 == 0o600, errors
    folder.chmod(0o775)
    code, _, errors = run("store", "backup", str(folder / "second.db"), *two)
    assert code == 1 and f"chmod go-rwx '{folder}'" in errors


def left_in(pipe):
    """How many bytes nobody has read yet."""
    return struct.unpack("i", ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def wait_while(condition, process):
    """Until it holds no more, or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while condition() and process.poll() is None:
        assert time.monotonic() < deadline, process.args
        time.sleep(0.001)


def test_standard_streams_that_were_told_not_to_wait_are_waited_for(two):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    # More than a pipe holds.
    with subprocess.Popen([EINLASS, "--dump-protocol"], stdout=writing) as process:
        os.close(writing)
        with open(reading) as output:
            assert json.load(output)["openrpc"]
    assert process.returncode == 0
    carol = json.dumps(account("carol")).encode()
    for command in [EINLASS, *two[2:], "call", "accounts.add", "-"], [CONTROL, "accounts", "add", "--replace", "-", *two]:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.write(writing, carol[:9])
        with subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE) as process:
            os.close(reading)
            wait_while(lambda: left_in(writing), process)
            with contextlib.suppress(BrokenPipeError):
                os.write(writing, carol[9:])
            os.close(writing)
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, command
    assert usernames(two) == ["ada", "bob", "carol"]


@pytest.mark.parametrize("arguments", [["accounts", "add", "-"], ["providers", "configure", "github", "--client-id", "c", "--secret-fd", "0"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_does_not_go_on_writing_may_be_interrupted(two, arguments, number):
    with subprocess.Popen([CONTROL, *arguments, *two], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write("{")
        process.stdin.flush()
        wait_while(lambda: left_in(process.stdin), process)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, errors) == (1, "Cancelled.\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_waits_for_a_reader_may_be_interrupted(two, number):
    assert run("access", "set", "x" * 200, "twitter", "granted", *two)[0] == 0
    trail = Path(two[3].replace(".db", ".audit.jsonl"))
    # More than a pipe holds.
    trail.write_text(500 * trail.read_text())
    reading, writing = os.pipe()
    with subprocess.Popen([CONTROL, "audit", "list", "--limit", "400", *two], stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        size = fcntl(reading, F_GETPIPE_SZ)
        wait_while(lambda: left_in(reading) < size - select.PIPE_BUF, process)
        process.send_signal(number)
        try:
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            os.close(reading)
    assert (process.returncode, errors) == (1, "Cancelled.\n")


def test_what_is_too_long_for_einlass_is_said_and_not_waited_for(two, tmp_path):
    file = tmp_path / "accounts.json"
    text = json.dumps({"pad": "", **account("carol")})
    file.write_text(text.replace('""', '"%s"' % ("x" * ((1 << 20) - len(text)))))
    file.chmod(0o600)
    code, _, errors = run("accounts", "add", str(file), *two)
    assert code == 1 and "(lineTooLong, -32700)" in errors and "next: Give less of it at a time." in errors, errors
    done = subprocess.run([EINLASS, *two[2:], "call", "accounts.add", "-"], stdin=file.open(), capture_output=True, text=True)
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["data"]["reason"] == "lineTooLong", done.stderr


def test_a_full_disk_behind_the_output_is_no_silence(two):
    for command in [CONTROL, "accounts", *two], [EINLASS, *two[2:], "call", "accounts.list"], [EINLASS, "--help"]:
        with open("/dev/full", "w") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "output can't be used: the disk is full." in done.stderr, done.stderr


def test_a_stray_line_never_lands_where_einlass_listens(two, tmp_path):
    file = tmp_path / "accounts.json"
    file.write_text(json.dumps([account(" "), account("carol")]))
    file.chmod(0o600)
    words = " ".join([CONTROL, "accounts", "add", "--json", str(file), *two])
    done = subprocess.run(f"{words} <&- 2>&-", shell=True, capture_output=True, text=True)
    assert [len(json.loads(done.stdout)[name]) for name in ("added", "notAdded")] == [1, 1], done.stdout
    assert usernames(two) == ["ada", "bob", "carol"]


def test_where_the_folder_is_gone_a_file_is_named_by_its_whole_path(two, tmp_path):
    folder = tmp_path / "gone"
    for command in ("store", "backup"), ("accounts", "import"):
        folder.mkdir()
        line = f"cd {folder} && rmdir {folder} && exec {' '.join([CONTROL, *command, 'copy.db', *two])}"
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert done.returncode == 1 and "problem: The folder that this was started in is gone." in done.stderr, done.stderr


def test_a_provider_and_an_account_of_another_are_not_both_meant(two):
    code, output, errors = run("sign-in", "github", "--account", "ada", "--no-input", *two)
    assert (code, output) == (64, "") and "twitter/ada is no account of github." in errors, errors


def test_times_that_somebody_wrote_into_the_store_are_no_crash(two, tmp_path):
    assert run("access", "set", "x", "twitter", "granted", *two)[0] == 0
    for moment, shown in (-1 << 63, "-292277022657-01-27"), ((1 << 63) - 1, "292277026596-12-04"):
        with contextlib.closing(sqlite3.connect(two[3])) as connection:
            connection.execute("UPDATE access_grant SET changed_at = ?", [moment])
            connection.commit()
        code, output, _ = run("access", *two)
        assert code == 0 and shown in output


def test_what_einlass_says_of_methods_is_said_of_commands(two):
    with contextlib.closing(sqlite3.connect(two[3])) as connection:
        connection.execute("UPDATE meta SET encryptions = 1 << 31")
        connection.commit()
    code, _, errors = run("accounts", "add", "-", *two, input=json.dumps(account("carol")))
    assert code == 1 and "Rotate it with einlassctl store rotate-key." in errors


# On a terminal


@pytest.mark.parametrize("provider, asked", [("github", "Token (not shown):"), ("twitter", "What kind of credential?")])
def test_only_what_the_provider_takes_is_asked_for(store, provider, asked):
    with Terminal([CONTROL, "accounts", "add", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type(provider + "\r")
        terminal.wait_for("User name:")
        terminal.type("ada\r")
        terminal.wait_for(asked)
        assert ("What kind" in terminal.shown) == (provider == "twitter")
        terminal.type("\x03")
        assert terminal.end() == 1


def test_only_a_provider_that_was_added_is_offered_to_be_removed(store, tmp_path):
    with Terminal([CONTROL, "providers", "remove", *store]) as terminal:
        assert terminal.end() == 1 and "No provider was added" in terminal.shown and "github" not in terminal.shown
    (tmp_path / "mine.json").write_text(json.dumps({**signing("ES256")["providers"][0], "id": "mine"}))
    assert run("providers", "add", str(tmp_path / "mine.json"), *store)[0] == 0
    with Terminal([CONTROL, "providers", "remove", *store]) as terminal:
        terminal.wait_for("> 1  mine")
        assert "github" not in terminal.shown
        terminal.type("\r")
        terminal.wait_for("Forget the provider mine?")
        terminal.type("y\r")
        assert terminal.end() == 0 and "Forgot mine." in terminal.shown


def test_who_takes_no_credential_is_signed_in_to(store):
    with Terminal([CONTROL, "accounts", "add", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type("flickr\r")
        assert terminal.end() == 1 and "Sign in there: einlassctl sign-in flickr" in terminal.shown
        assert "User name" not in terminal.shown


def test_the_type_that_a_provider_does_not_take_has_a_next_step(store):
    wrong = {**account("ada"), "provider": "github"}
    code, _, errors = run("accounts", "add", "-", *store, input=json.dumps(wrong))
    assert code == 1 and "has no use for this type" in errors and "next: See what it signs in by: einlassctl providers list" in errors


def test_a_terminal_whose_cursor_cannot_move_shows_a_list_and_takes_a_number(two):
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


def test_the_home_may_be_typed_as_a_shell_takes_it(two, tmp_path):
    (tmp_path / "home").mkdir(mode=0o700)
    with Terminal([CONTROL, "store", "backup", *two], HOME=str(tmp_path / "home")) as terminal:
        terminal.wait_for("Where to?")
        terminal.type("~/copy.db\r")
        assert terminal.end() == 0, terminal.shown
    assert (tmp_path / "home/copy.db").exists()


def test_an_account_is_chosen_by_arrow_keys_and_removed_when_that_is_confirmed(two):
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
        terminal.type("1\r")
        terminal.wait_for("User name:")
        terminal.type("adx\x7fa\r")
        terminal.wait_for("What kind of credential?")
        terminal.type("\r")
        for question in ("Key (not shown):", "Secret (not shown):"):
            terminal.wait_for(question)
            terminal.type("s3cret-key\r")
        terminal.wait_for("Client id")
        terminal.type("\rclient\r")
        terminal.wait_for("That client's secret")
        terminal.type("s3cret-too\r")
        assert terminal.end() == 0
        assert "Added twitter/ada" in terminal.shown and "s3cret" not in terminal.shown
    assert usernames(store) == ["ada"]


def test_what_is_typed_ahead_of_a_hidden_question_is_not_shown(sealed):
    store, home = sealed
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        terminal.wait_for("Passphrase (opens the store ")
        # The second one while the first is being tried, which takes scrypt's time.
        terminal.type("wr0ng\r")
        terminal.wait_for("\n")
        terminal.type("s3cret-ahead\r")
        terminal.wait_for("Passphrase (opens the store ")
        terminal.wait_for("Passphrase (opens the store ")
        terminal.type("correct horse\r")
        assert terminal.end() == 0 and "s3cret" not in terminal.shown


def test_letters_find_a_row_and_enter_takes_none_where_none_holds_them(store):
    with Terminal([CONTROL, "access", "set", "neovim", *store]) as terminal:
        terminal.wait_for("Which provider?")
        terminal.type("githubx\r")
        terminal.wait_for("typed: githubx (nothing holds that)")
        terminal.type("\x7f\r")
        terminal.wait_for("May neovim use github accounts?")
        terminal.type("1\r")
        assert terminal.end() == 0 and "neovim may use github accounts." in terminal.shown


def test_an_explanation_is_asked_for_in_the_name_of_the_application_that_is_typed(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    run("accounts", "prefer", "bob", "--for", "neovim", *two)
    with Terminal([CONTROL, "accounts", "explain", "--when-many", *two]) as terminal:
        terminal.wait_for("Which application (the name it gives itself)?")
        terminal.type("neovim\r")
        terminal.wait_for("Which provider?")
        terminal.type("twitter\r")
        assert terminal.end() == 0
    assert "neovim: twitter/bob, because it is preferred." in terminal.shown


def test_the_day_before_which_is_forgotten_is_asked_for_until_it_is_one(two):
    with Terminal([CONTROL, "audit", "prune", *two]) as terminal:
        terminal.wait_for("Forget everything before which day")
        terminal.type("tomorrow\r")
        terminal.wait_for("no day of the calendar")
        terminal.type("9999-01-01\r")
        terminal.wait_for("Forget everything before 9999-01-01? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert re.search(r"Forgot \d+ entries\.", terminal.shown)


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("command", ["audit", "accounts", "access", "providers", "store"])
def test_no_table_breaks_a_word_or_cuts_a_moment(two, columns, command):
    run("access", "set", "a vendor's application of many words, which is shown in full", "twitter", "granted",
        "--permission", "publish", "--permission", "photographs", *two)
    run("accounts", "rename", "ada", "阿达 洛芙莱斯 伯爵夫人 👩 Łuße, the Enchantress of Numbers", *two)
    with Terminal([CONTROL, command, *two], columns=columns, NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    whole = set(re.findall(r"[^\s:]+", run(command, *two)[1]))
    assert set(re.findall(r"[^\s:]+", terminal.shown)) <= whole
    assert "…" not in terminal.shown
    assert all(width(line) <= columns for line in terminal.shown.splitlines() if not re.search(r"(^|\s)/", line))


def test_access_is_decided_and_forgotten_by_questions(store):
    with Terminal([CONTROL, "access", "set", *store]) as terminal:
        terminal.wait_for("Which application")
        terminal.type("neovim\r")
        terminal.wait_for("Which provider?")
        terminal.type("\x1b[B\x1b[A\r")
        terminal.wait_for("May neovim use twitter accounts?")
        terminal.type("2\r")
        assert terminal.end() == 0 and "neovim may not use twitter accounts." in terminal.shown
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
            terminal.wait_for("That was something else, or not all of it.")
            terminal.type("http://127.0.0.1:1/?code=c\r")
        assert terminal.end() == 0 and "Signed in: twitter/ada." in terminal.shown
        assert not CONTROLS.search(re.sub("\r|\x1b\\[\\d*m", "", terminal.shown))


def test_a_browser_is_started_only_on_a_desktop_of_this_machine(tmp_path):
    opened = tmp_path / "opened"
    (tmp_path / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" >{opened}\n')
    (tmp_path / "xdg-open").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for environment in ({"DISPLAY": ""}, {"DISPLAY": ":1", "SSH_CONNECTION": "x"}, {"DISPLAY": ":1", "SSH_CONNECTION": ""}):
        assert not opened.exists()
        with Terminal([CONTROL, "sign-in", "twitter", *fake("browser")], PATH=path, WAYLAND_DISPLAY="", **environment) as terminal:
            assert terminal.end() == 0, terminal.shown
    assert opened.read_text().startswith("https://example.org/a?b")


@pytest.mark.parametrize("passphrase, code", [("öpen sesame", 0), ("mellon", 1)])
def test_a_passphrase_is_asked_for_and_not_shown(passphrase, code):
    with Terminal([CONTROL, "store", "check", *fake("passphrase")]) as terminal:
        terminal.wait_for("Passphrase (key")
        terminal.type(passphrase + "\r")
        assert terminal.end() == code
        assert passphrase not in terminal.shown and "\u202e" not in terminal.shown


@pytest.fixture
def sealed(tmp_path):
    """A store in the usual places of a home of its own, which only a passphrase opens; and the home."""
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    (tmp_path / "home").mkdir(mode=0o700)
    store = ["--einlass", EINLASS]
    environment = {**os.environ, **home}
    code, _, errors = with_passphrase(
        "accounts", "add", "-", *store, input=json.dumps([account("ada")]), env=environment)
    assert code == 0, errors
    assert run("store", "slots", *store, env=environment)[1] == "passphrase\n"
    return store, home


def test_a_store_that_a_passphrase_opens_is_used_at_the_terminal(sealed):
    store, home = sealed
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        terminal.wait_for("Passphrase (opens the store ")
        terminal.type("wrong\r")
        terminal.wait_for("That passphrase does not fit.")
        terminal.wait_for("Passphrase (opens the store ")
        terminal.type("\r")
        terminal.wait_for("It takes 1 to 1024 bytes.")
        terminal.wait_for("Passphrase (opens the store ")
        terminal.type("correct horse\r")
        assert terminal.end() == 0 and ": 1 accounts and 3 sealed values read." in terminal.shown
        assert "correct" not in terminal.shown and "wrong" not in terminal.shown
    # Who only lists is not asked, and who cannot be asked is told what to do.
    environment = {**os.environ, **home}
    code, output, _ = run("accounts", *store, env=environment)
    assert code == 0 and "ada" in output
    code, _, errors = run("accounts", "add", "-", *store, input=json.dumps(account("bob")), env=environment)
    assert code == 1 and "--passphrase-fd" in errors
    code, output, errors = run("store", "check", "--no-input", *store, env=environment)
    assert code == 1 and "A passphrase opens the account store, and none was brought." in output and "next: " in errors
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        for _ in range(3):
            terminal.wait_for("Passphrase (opens the store ")
            terminal.type("wrong\r")
        assert terminal.end() == 1 and "None of these passphrases opens the account store's key." in terminal.shown
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        terminal.wait_for("Passphrase (opens the store ")
        terminal.type("\x03")
        assert terminal.end() == 1


def test_a_new_passphrase_is_typed_twice_and_moves_accounts(sealed, tmp_path):
    store, home = sealed
    file = tmp_path / "home/moving"
    with Terminal([CONTROL, "accounts", "export", str(file), *store], **home) as terminal:
        terminal.wait_for("Passphrase (opens the store ")
        terminal.type("correct horse\r")
        terminal.wait_for(f"New passphrase (opens {file}):")
        terminal.type("b4ttery\r")
        terminal.wait_for("Once more:")
        terminal.type("b4tery\r")
        terminal.wait_for("These were two different ones.")
        terminal.wait_for("New passphrase")
        terminal.type("b4ttery\r")
        terminal.wait_for("Once more:")
        terminal.type("b4ttery\r")
        assert terminal.end() == 0 and "Wrote 1 accounts" in terminal.shown and "b4t" not in terminal.shown
    (tmp_path / "other").mkdir(mode=0o700)
    other = {**home, "HOME": str(tmp_path / "other")}
    with Terminal([CONTROL, "accounts", "import", str(file), *store], **other) as terminal:
        terminal.wait_for(f"Passphrase (opens {file}):")
        terminal.type("b4tery\r")
        terminal.wait_for("That passphrase does not fit.")
        terminal.wait_for(f"Passphrase (opens {file}):")
        terminal.type("b4ttery\r")
        assert terminal.end() == 0 and "twitter/ada: " in terminal.shown and "1 added" in terminal.shown
    with Terminal([CONTROL, "store", "slots", "add", *store], **other) as terminal:
        terminal.wait_for("Which way to open it?")
        terminal.type("2\r")
        terminal.wait_for("New passphrase")
        terminal.type("b4ttery\r")
        terminal.wait_for("Once more:")
        terminal.type("b4ttery\r")
        assert terminal.end() == 0 and "keyfile, passphrase" in terminal.shown


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("what, question", [("passphrase", "Passphrase"), ("list", "Which account?")])
def test_a_question_may_be_left_and_the_terminal_is_as_before(how, what, question):
    command = ["store", "check"] if what == "passphrase" else ["accounts", "remove"]
    with Terminal([CONTROL, *command, *fake(what)]) as terminal:
        terminal.wait_for(question)
        if how == "Ctrl-C":
            terminal.type("\x03")
        else:
            os.kill(terminal.process, getattr(signal, how))
        assert terminal.end() == 1


def test_a_question_ends_with_einlass():
    with Terminal([CONTROL, "store", "check", *fake("passphrase")]) as terminal:
        terminal.wait_for("Passphrase")
        os.kill(child_of(terminal.process), signal.SIGKILL)
        assert terminal.end() == 70


def child_of(process):
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                return int(entry.name)
        except OSError:
            pass  # it has ended meanwhile
    raise AssertionError("there is no child")


def test_a_question_that_is_over_is_not_waited_for():
    with Terminal([CONTROL, "store", "check", *fake("expires")]) as terminal:
        assert terminal.end() == 1 and "(flowExpired, 1014)" in terminal.shown


def test_long_work_shows_how_far_it_is_and_ends_with_ctrl_c(tmp_path):
    output = tmp_path / "output"
    with Terminal([CONTROL, "store", "check", *fake("progress")], output=output) as terminal:
        terminal.wait_for("… 50 %")
        assert terminal.end() == 0
    assert output.read_text() == "Sound: 4 accounts and 8 sealed values read.\n"
    with Terminal([CONTROL, "store", "check", *fake("slow")]) as terminal:
        terminal.wait_for("… 1 %")
        os.kill(terminal.process, signal.SIGINT)
        assert terminal.end() == 1 and "Cancelled." in terminal.shown


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_tables_fit_the_terminal_and_have_colours_unless_those_are_not_wanted(two, columns):
    run("accounts", "rename", "ada", "Augusta Ada King, Countess of Lovelace, the Enchantress of Numbers", *two)
    with Terminal([CONTROL, "accounts", *two], columns=columns) as terminal:
        assert terminal.end() == 0
        shown = terminal.shown
    with Terminal([CONTROL, "accounts", *two], columns=columns, NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        plain = terminal.shown
    assert "\x1b[1m" in shown or columns < 80
    assert "\x1b[32mok\x1b[0m" in shown
    assert "\x1b" not in plain and plain == re.sub("\x1b\\[\\d+m", "", shown)
    assert all(len(line) <= max(columns, 28) for line in plain.splitlines())


def test_a_registration_is_brought_and_forgotten_and_its_secret_is_in_no_output(store, tmp_path):
    configure = ["providers", "configure", "github", "--client-id", "mine", *store]
    code, output, errors = run(*configure, "--secret-fd", "0", input="very-s3cret\n")
    assert (code, output) == (0, "Keeps your registration at github.\n"
                              f"Sign in there: einlassctl sign-in github {repeated(store)}\n"), errors
    assert re.search("^github +GitHub +there", run("providers", *store)[1], re.M)
    assert "very-s3cret" not in output + errors + run("audit", *store)[1]
    assert not any(b"very-s3cret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert run("providers", "configure", "github", "--remove", *store)[:2] == (0, "Forgot the registration at github.\n")
    assert re.search("^github +GitHub +missing", run("providers", *store)[1], re.M)
    # Without its secret it is not taken, and what to do is said.
    code, _, errors = run("providers", "configure", "twitter", "--client-id", "mine", *store)
    assert code == 1 and "lacks clientSecret" in errors and "next: " in errors
    assert run("providers", "configure", "github", "--no-input", *store)[0] == 64
    assert run(*configure, "--secret-fd", "77")[0] == 64
def test_in_the_background_it_ends_by_itself(two, tmp_path):
    """Whoever sets a terminal's modes from there is stopped."""
    output, command = tmp_path / "listed", " ".join(["accounts", "list", *two])
    script = f"set -m; {CONTROL} {command} >{output} 2>&1 & wait $!; echo ended $?"
    with Terminal(["/bin/bash", "-c", script]) as terminal:
        terminal.wait_for("ended 0")
        terminal.end()
    assert "ada" in output.read_text()
