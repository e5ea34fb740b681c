"""`einlassctl doctor` finds faults of a store, its key, the configuration and the accounts, and names a remedy."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from control import EINLASS, add, fake, run, signing


def test_the_doctor_finds_nothing_wrong_with_a_sound_store(two):
    code, output, errors = run("doctor", *two)
    assert (code, errors) == (0, "") and "problem" not in output
    findings = json.loads(run("doctor", "--json", *two)[1])
    assert findings["ok"] and {f["check"] for f in findings["findings"]} >= {"einlass", "configuration", "store", "key", "accounts"}


def test_the_doctor_names_what_is_wrong_and_what_to_do(two, tmp_path):
    (tmp_path / "key").chmod(0o755)
    code, output, _ = run("doctor", *two)
    assert code == 1 and "problem  key: " in output and "chmod go-rwx" in output
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"applications": {"*": {"github": {"clientId": "c", "clientSecret": "s"}}}}))
    config.chmod(0o644)
    code, output, _ = run("doctor", *two, "--config", str(config))
    assert code == 1 and "problem  configuration" in output


def test_the_doctor_names_a_second_installation(two, tmp_path):
    other = tmp_path / "other/einlass"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    code, output, _ = run("doctor", *two, env={**os.environ, "PATH": f"{other.parent}:{os.environ['PATH']}"})
    assert code == 0 and re.search(rf"^note +einlass: two are installed, /.* and {other}; .* take {other}\n +next: ", output, re.M), output
    assert "two are installed" not in run("doctor", *two)[1]


def test_the_doctor_takes_a_link_to_a_read_only_file_without_secrets(two, tmp_path):
    """Package managers that keep a person's files make such links."""
    installed, config = tmp_path / "installed.json", tmp_path / "config.json"
    installed.write_text(json.dumps({"services": [{"address": "git.example.com", "provider": "github"}]}))
    installed.chmod(0o444)
    config.symlink_to(installed)
    code, output, _ = run("doctor", *two, "--config", str(config))
    assert code == 0 and f"ok       configuration: {config} is valid" in output, output
    code, output, errors = run("services", *two, "--config", str(config))
    assert code == 0 and "git.example.com" in output, errors


@pytest.mark.parametrize("wrong", ["missing", "garbage", "open"])
def test_the_doctor_reports_a_key_that_does_not_open(two, wrong):
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


def test_the_doctor_reports_a_read_only_store():
    _, output, _ = run("doctor", *fake("readonly"))
    assert re.search(r"^note +store: /s/a.db is not writable, so .*\n +next: Make the file and its folder writable", output, re.M), output
    assert "not writable" not in run("doctor", *fake("sound"))[1]


def test_the_doctor_reports_the_network():
    _, output, _ = run("doctor", *fake("offline"))
    assert re.search(r"^note +network: no default route, .*\n +next: Connect this machine to a network", output, re.M), output
    assert "ok       network: online\n" in run("doctor", *fake("online"))[1]
    assert "ok       network: unknown\n" in run("doctor", *fake("sound"))[1]
    assert "network:" not in run("doctor", *fake("readonly"))[1]  # an einlass without the method


def test_the_doctor_names_a_configured_provider_that_does_not_exist(two, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"applications": {"neovim": {"githb": {"clientId": "c"}, "github": {"clientId": "c"}}}}))
    config.chmod(0o600)
    code, output, _ = run("doctor", *two, "--config", str(config))
    assert code == 0 and f"note     configuration: {config} names a provider that does not exist: githb\n" in output
    assert "is valid" not in output and "exist: github" not in output


@pytest.mark.parametrize("name, said", [
    ("~/ca.pem", "needs an absolute path at /caFile"), ("/nowhere/ca.pem", "names /nowhere/ca.pem as caFile"),
    ("/tmp", "names /tmp as caFile"), ("/etc/passwd", "names /etc/passwd as caFile"), ("/dev/zero", "names /dev/zero as caFile")])
def test_the_doctor_names_a_file_of_authorities_without_one(two, tmp_path, name, said):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"caFile": name}))
    config.chmod(0o600)
    code, output, _ = run("doctor", *two, "--config", str(config))
    assert code == 1 and re.search(f"^problem  configuration: .*{re.escape(said)}", output, re.M), output
    # The control.
    authority = tmp_path / "ca.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                           "/CN=test", "-keyout", "/dev/null", "-out", authority], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    config.write_text(json.dumps({"caFile": str(authority)}))
    assert f"{config} is valid" in run("doctor", *two, "--config", str(config))[1]


def key_file(curve):
    made = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + curve],
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


@pytest.mark.parametrize("key, said", [
    ("no key", "cannot be read"), (key_file("P-256"), None), (key_file("P-384"), "ES256"), (None, "lacks privateKey"),
])
@pytest.mark.parametrize("application", ["*", "neovim"])
def test_the_doctor_checks_the_private_key_of_each_application(two, tmp_path, key, said, application):
    providers, config = tmp_path / "providers.json", tmp_path / "config.json"
    providers.write_text(json.dumps(signing("ES256")))
    registration = {"clientId": "c", **({"privateKey": key} if key else {})}
    config.write_text(json.dumps({"applications": {application: {"signs": registration}}}))
    config.chmod(0o600)
    code, output, errors = run("doctor", *two, "--config", str(config), "--providers", str(providers))
    assert "PRIVATE KEY" not in output + errors
    if said is None:
        assert code == 0 and "problem " not in output, output + errors
        assert bool(re.search("sign-ins can start at .*mastodon, signs", output)) == (application == "*")
    else:
        who = "einlassctl" if application == "*" else application
        assert code == 1 and re.search(f"^problem  {who} at signs: .*{said}", output, re.M), output + errors
        assert f"next: Correct the registration in {config}." in output


def test_the_doctor_names_accounts_without_a_provider_and_unreadable_providers(two, tmp_path):
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
    assert "remove it: einlassctl providers remove mine " in output and "warning configuration" in errors and "twitter" in run("providers", *two)[1]
    # A damaged file of providers is left alone.
    added.write_text("{")
    assert run("providers", "remove", "mine", "--yes", *two)[0] == 1 and added.read_text() == "{"
    added.write_text(text)
    added.unlink()
    code, output, _ = run("doctor", *two)
    assert code == 1 and "problem  mine/eve: its provider is unknown" in output


def test_the_doctor_names_the_remedy_for_a_key_file_and_counts_signed_out_accounts(two):
    key = Path(two[5])
    assert run("accounts", "sign-out", "ada", "--yes", *two)[0] == 0
    assert "accounts: 2 accounts, 1 in order, 1 signed out\n" in run("doctor", *two)[1]
    key.chmod(0o644)
    for command in ("doctor", "check"):
        code, output, errors = run(*(["doctor"] if command == "doctor" else ["store", "check"]), *two)
        assert code == 1 and f"next: If nobody else had access, take it away from others: chmod go-rwx '{key}'" in output + errors
    key.unlink()
    for command in (["doctor"], ["store", "check"]):
        code, output, errors = run(*command, *two)
        assert code == 1 and "next: Put the key file back, or name it with --key-file" in output + errors


@pytest.mark.parametrize("mark, words, is_wrong", [("refresh", "no refresh", False),
                                                   ("refresh refused", "refresh refused", True)])
def test_the_doctor_and_the_list_say_since_when_a_refresh_fails(two, mark, words, is_wrong):
    code, output, _ = run("accounts", "list", *two)
    assert code == 0 and words not in output
    with contextlib.closing(sqlite3.connect(two[3])) as store, store:
        store.execute("INSERT INTO service_refusal SELECT account, client_id, resource, ?, 1700000000 FROM credential LIMIT 1",
                      [mark])
    assert f"{words} since 2023-11-1" in run("accounts", "list", *two)[1]
    code, output, _ = run("doctor", *two)
    assert code == is_wrong and f"{words} since 2023-11-1" in output


@pytest.mark.parametrize("mode, owner, is_named", [(0o755, None, False), (0o1777, None, False), (0o775, None, True),
                                                   (0o777, None, True), (0o755, 65534, True)])
def test_the_doctor_notes_a_folder_above_the_store_that_others_may_change(tmp_path, mode, owner, is_named):
    if owner is not None and os.geteuid() != 0:
        pytest.skip("skipped: only root gives a folder away")
    above = tmp_path / "above"
    (above / "mine").mkdir(parents=True)
    store = ["--einlass", EINLASS, "--store", str(above / "mine/store/a.db"), "--key-file", str(tmp_path / "key/a.key")]
    add(store, "ada")
    above.chmod(mode)
    if owner is not None:
        os.chown(above, owner, -1)
    code, output, errors = run("doctor", *store)
    assert (code, errors) == (0, "")
    assert (f"note     store: other users may change {above}, the folder of the store\n" in output) == is_named, output


class Refusing(BaseHTTPRequestHandler):
    """An issuer with metadata that refuses registrations until `accepts` is set."""

    def do_GET(self):
        base = self.server.base
        self.answer(200, {"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
                          "registration_endpoint": base + "/register", "token_endpoint_auth_methods_supported": ["none"],
                          "grant_types_supported": ["authorization_code"], "response_types_supported": ["code"]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(*((201, {"client_id": "client"}) if self.server.accepts else (403, {"error": "access_denied"})))

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.mark.parametrize("mended", ["by the provider", "by a registration"])
def test_the_doctor_reports_a_failed_registration(two, mended):
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        server.base, server.accepts = "http://127.0.0.1:%d" % server.server_address[1], False
        threading.Thread(target=server.serve_forever).start()
        assert run("providers", "add", server.base, "--id", "shy", *two)[0] == 0
        assert run("doctor", *two)[0] == 0
        code, _, errors = run("sign-in", "shy", "--no-input", *two)
        assert code == 1 and "(providerFailure, 1008)" in errors
        code, output, _ = run("doctor", *two)
        assert code == 1 and re.search(r"^problem  shy: The automatic registration at .* failed: status 403\.", output, re.M), output
        assert "next: Add a registration for this server: einlassctl providers configure shy " in output
        assert re.search("^shy .* unusable ", run("providers", *two)[1], re.M)
        assert "status 403" in run("providers", "show", "shy", *two)[1]
        if mended == "by the provider":
            server.accepts = True
            assert "1010" in run("sign-in", "shy", "--no-input", *two)[2]
        else:
            assert run("providers", "configure", "shy", "--client-id", "mine", *two)[0] == 0
        assert run("doctor", *two)[0] == 0
        assert re.search("^shy .* there ", run("providers", *two)[1], re.M)
        # Without a registration the next sign-in registers again.
        assert run("providers", "configure", "shy", "--remove", "--no-input", *two)[0] == 0
        assert run("doctor", *two)[0] == 0
        server.shutdown()
