"""Providers are added by files, shown and removed, and registrations at them are stored and removed."""
import json
import re
import subprocess

import pytest

from control import CONTROL, PROJECT, repeated, run, signing, with_passphrase
from terminal import Terminal


def test_a_provider_is_added_by_a_file_and_forgotten(store, tmp_path):
    descriptor = {
        "id": "work", "name": "Work", "setup": {"documentation": "https://work.example/docs"}, "registration": ["clientId"],
        "accounts": "many", "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://work.example/authorize"},
                   "token": {"method": "POST", "url": "https://work.example/token"}}]}
    (tmp_path / "work.json").write_text(json.dumps(descriptor))
    added = run("providers", "add", str(tmp_path / "work.json"), *store)
    step = "Register an application there and enter its client id: einlassctl providers configure work"
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
    assert run("providers", "remove", "work", "--yes", *store)[:2] == (0, "Removed work.\n")
    assert "work" not in run("providers", *store)[1]
    assert run("providers", "add", str(tmp_path / "work.json"), *store)[0] == 0
    ada = {"provider": "work", "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
    assert run("accounts", "add", "-", *store, input=json.dumps(ada))[0] == 0
    code, output, _ = run("providers", "remove", "work", "--yes", *store)
    assert (code, output) == (0, "Removed work.\nThese accounts remain, and are unusable until the provider is added again:\n  work/ada\n")
    code, output, _ = run("accounts", "sign-out", "ada", "--yes", *store)
    assert code == 0 and "The provider work is not in the catalogue" in output, output
    assert run("providers", "add", str(tmp_path / "work.json"), *store)[0] == 0
    assert run("providers", "configure", "work", "--client-id", "c", *store)[0] == 0
    code, output, _ = run("providers", "remove", "work", "--yes", *store)
    assert code == 0 and output.startswith("Removed work and its stored registration.\n")
    noted = json.loads(run("audit", "--provider", "work", "--json", *store)[1])["entries"]
    assert [entry["method"] for entry in noted] == ["providers.remove", "providers.configure"] + 2 * ["providers.remove"]
    del descriptor["accounts"]
    (tmp_path / "work.json").write_text(json.dumps(descriptor))
    errors = run("providers", "add", str(tmp_path / "work.json"), *store)[2]
    assert "work, at /descriptor/accounts:" in errors and "Correct the file at that place." in errors
    (tmp_path / "work.json").write_text("[]")
    assert "does not contain a JSON object" in run("providers", "add", str(tmp_path / "work.json"), *store)[2]
    (tmp_path / "work.json").write_text('{"providers": []}')
    code, _, errors = run("providers", "add", str(tmp_path / "work.json"), *store)
    assert code == 1 and "does not contain a provider." in errors
    for option in "--id", "--name":
        code, _, errors = run("providers", "add", str(tmp_path / "work.json"), option, "other", *store)
        assert code == 64 and "only with an address" in errors


def test_a_file_for_the_option_providers_is_added_whole(store, tmp_path):
    small = {"name": "x", "setup": {"documentation": "https://x.example/docs"}, "registration": ["clientId"], "accounts": "many",
             "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://x.example/authorize"},
                        "token": {"method": "POST", "url": "https://x.example/token"}}]}
    (tmp_path / "two.json").write_text(json.dumps({"providers": [{"id": "one", **small}, {"id": "other", **small}]}))
    code, output, errors = run("providers", "add", str(tmp_path / "two.json"), *store)
    assert code == 0 and re.findall(r"^Added (\w+)\. .* providers configure (\w+) --store", output, re.M) == [
        ("one", "one"), ("other", "other")], errors


@pytest.mark.parametrize("arguments", [["accounts", "--provider", "nope"], ["audit", "--provider", "nope"]])
def test_an_unknown_provider_is_named(two, arguments):
    code, output, errors = run(*arguments, *two)
    assert (code, output) == (1, "") and "There is no provider nope." in errors and "einlassctl providers list" in errors
    assert run("accounts", "--provider", "facebook", *two)[:2] == (0, "No accounts.\n   next: Sign in: einlassctl sign-in\n")


def test_a_registration_is_stored_and_removed_and_its_secret_is_in_no_output(store, tmp_path):
    configure = ["providers", "configure", "github", "--client-id", "mine", *store]
    code, output, errors = run(*configure, "--secret-fd", "0", input="very-s3cret\n")
    assert (code, output) == (0, "Stored your registration at github.\n"
                              f"Sign in there: einlassctl sign-in github {repeated(store)}\n"), errors
    assert re.search("^github +GitHub +there", run("providers", *store)[1], re.M)
    assert "very-s3cret" not in output + errors + run("audit", *store)[1]
    assert not any(b"very-s3cret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert run("providers", "configure", "github", "--remove", *store)[:2] == (0, "Removed the registration at github.\n")
    assert re.search("^github +GitHub +missing", run("providers", *store)[1], re.M)
    # A registration without its secret is refused, with a next step.
    code, _, errors = run("providers", "configure", "twitter", "--client-id", "mine", *store)
    assert code == 1 and "lacks clientSecret" in errors and "next: " in errors
    assert run("providers", "configure", "github", "--no-input", *store)[0] == 64
    assert run(*configure, "--secret-fd", "77")[0] == 64


def test_a_flow_has_a_registration_of_its_own(store):
    configure = ["providers", "configure", "google", *store]
    own = [*configure, "--flow", "deviceCode"]
    for arguments in [*configure, "--client-id", "desktop"], [*own, "--client-id", "devices"]:
        code, output, errors = run(*arguments, "--secret-fd", "0", input="s\n")
        assert code == 0, errors
    assert output.startswith("Stored your registration at google for deviceCode.\n")
    assert re.search("^own client +of deviceCode$", run("providers", "show", "google", *store)[1], re.M)
    assert run(*own, "--remove")[:2] == (0, "Removed the registration at google for deviceCode.\n")
    assert "own client" not in run("providers", "show", "google", *store)[1]
    assert re.search("^google +Google +there", run("providers", *store)[1], re.M)
    code, _, errors = run(*configure, "--flow", "oauth1", "--client-id", "c", "--secret-fd", "0", input="s\n")
    assert code == 1 and "a flow of Google: authorizationCode, deviceCode." in errors
    assert run(*configure, "--flow", "nope", "--client-id", "c")[0] == 64


def test_a_registration_with_a_private_key_is_read_from_a_file(store, tmp_path):
    (tmp_path / "signs.json").write_text(json.dumps(signing("ES256")["providers"][0]))
    assert run("providers", "add", str(tmp_path / "signs.json"), *store)[0] == 0
    key = tmp_path / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(key)], check=True)
    configure = ["providers", "configure", "signs", "--client-id", "mine", *store]
    code, _, errors = run(*configure)
    assert code == 64 and "--private-key is missing" in errors
    key.chmod(0o644)
    code, _, errors = run(*configure, "--private-key", str(key))
    assert code == 1 and "chmod" in errors
    key.chmod(0o600)
    place = "http://127.0.0.1:7777/back"
    code, output, errors = run(*configure, "--private-key", str(key), "--key-id", "k1", "--authentication", "private_key_jwt",
                               "--redirect", place)
    assert (code, output) == (0, "Stored your registration at signs.\n" f"Its redirect address: {place}\n"
                              f"Sign in there: einlassctl sign-in signs {repeated(store)}\n"), errors
    assert re.search("^signs +Signs +there", run("providers", *store)[1], re.M)
    secret = key.read_text().splitlines()[1]
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != key)
    # The provider's refusal is shown.
    code, _, errors = run(*configure, "--private-key", str(key), "--authentication", "by hand")
    assert code == 1 and "authentication" in errors
    (tmp_path / "none.pem").write_text("no key")
    (tmp_path / "none.pem").chmod(0o600)
    code, _, errors = run(*configure, "--private-key", str(tmp_path / "none.pem"))
    assert code == 1 and "(authenticatorUnconfigured, 1006)" in errors


def test_hosts_at_one_address_are_shown_once(store, tmp_path):
    assert "hosts        github.com, gist.github.com, " in run("providers", "show", "github", *store)[1]
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"origins": {f"https://{host}": "http://127.0.0.1:9" for host in (
        "github.com", "gist.github.com", "api.github.com", "uploads.github.com")}}))
    config.chmod(0o600)
    output = run("providers", "show", "github", *store, "--config", str(config))[1]
    assert "hosts        127.0.0.1:9\n" in output, output


def test_the_short_names_of_scopes_are_shown(store):
    assert "scope names  mail (https://mail.google.com/)\n" in run("providers", "show", "google", *store)[1]
    assert "scope names  git (the usual scopes)\n" in run("providers", "show", "gitea", *store)[1]
    assert "scope names" not in run("providers", "show", "dropbox", *store)[1]


def test_an_authentication_method_needs_its_secret_or_key(store):
    configure = ["providers", "configure", "microsoft", "--client-id", "mine", *store]
    code, _, errors = run(*configure, "--authentication", "private_key_jwt")
    assert code == 1 and "lacks privateKey" in errors, errors
    code, _, errors = run(*configure, "--authentication", "client_secret_post")
    assert code == 1 and "lacks clientSecret" in errors, errors
    code, _, errors = run(*configure)  # the control
    assert code == 0, errors


def test_an_unused_private_key_is_refused(store, tmp_path):
    key = tmp_path / "key.pem"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    key.chmod(0o600)
    for more, code in ((), 1), (("--authentication", "private_key_jwt"), 0):
        done = run("providers", "configure", "github", "--client-id", "mine", "--private-key", str(key), *more, *store)
        assert done[0] == code and ("GitHub's descriptor names no use for a private key" in done[2]) == (code == 1), done


def test_a_certificate_is_read_from_a_file_that_others_may_read(store, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                    "/CN=mine", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    key.chmod(0o600)
    certificate.chmod(0o644)
    configure = ["providers", "configure", "github", "--client-id", "mine", "--authentication", "tls_client_auth", *store]
    code, _, errors = run(*configure)
    assert code == 1 and "lacks certificate, privateKey" in errors, errors
    code, _, errors = run(*configure, "--certificate", str(certificate))
    assert code == 64 and "--private-key is missing" in errors, errors
    # A file with the key too is not taken, because the certificate is stored in the clear.
    both = tmp_path / "both.pem"
    both.write_text(certificate.read_text() + key.read_text())
    code, _, errors = run(*configure, "--private-key", str(key), "--certificate", str(both))
    assert code == 1 and "without the key" in errors, errors
    secret = key.read_text().splitlines()[1]
    code, output, errors = run(*configure, "--private-key", str(key), "--certificate", str(certificate))
    assert code == 0 and output.startswith("Stored your registration at github.\n"), errors
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.rglob("*")
                   if path.is_file() and path not in (key, both))


def test_the_given_redirect_is_shown_as_the_one_to_register(store):
    place = "http://127.0.0.1:7777/back"
    with Terminal([CONTROL, "providers", "configure", "gitlab", "--redirect", place, *store]) as terminal:
        terminal.wait_for(f"Redirect: {place}")
        terminal.wait_for("Client id:")
        terminal.type("\x03")
        assert terminal.end() == 1


ADDRESSES = {
    "https://example.org/einlass.json": True, "https://example.org/a/b": True, f"https://example.org/{'a' * 236}": True,
    f"https://example.org/{'a' * 237}": False, "https://example.org": False, "https://example.org/": False,
    "https://example.org/a/": False, "http://example.org/a": False, "https:///a": False, "https://ada@example.org/a": False,
    "https://example.org/a/../b": False, "https://example.org/a?b": False, "https://example.org/a#b": False,
    "https://example.org/a b": False, "https://example.org/\u00fc": False}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_metadata_document_is_printed_only_for_an_address_that_the_configuration_takes(tmp_path, address):
    code, output, _ = run("providers", "metadata", address)
    assert code == (0 if ADDRESSES[address] else 64)
    assert not output or json.loads(output)["client_id"] == address
    configuration = tmp_path / "configuration.json"
    configuration.write_text(json.dumps({"clientMetadata": address}))
    configuration.chmod(0o600)
    doctor = run("doctor", "--config", str(configuration), "--store", "memory")[1]
    assert ("/clientMetadata" in doctor) != ADDRESSES[address]


def test_the_example_of_a_metadata_document_is_the_one_of_the_command():
    example = (PROJECT / "protocol/client-metadata.json").read_text()
    assert run("providers", "metadata", json.loads(example)["client_id"])[:2] == (0, example)


def lines_of(store, provider):
    code, output, errors = run("providers", "show", provider, *store)
    assert code == 0, errors
    return re.split(r"\n(?=\S)", output)


def test_the_steps_of_a_registration_are_shown_in_their_order(store):
    names = [line.split("  ")[0] for line in lines_of(store, "slack")]
    assert [name for name in names if name.startswith("step")] == ["step 1", "step 2", "step 3", "step 4"]
    assert names.index("register at") < names.index("step 1") < names.index("redirect") < names.index("ends")
    shown = " ".join(" ".join(lines_of(store, "slack")).split())
    assert "https://api.slack.com/apps " in shown and "every refresh token ends after 30 days" in shown
    for provider, name, words in (("spotify", "costs", "Spotify Premium"), ("reddit", "approval", "Responsible Builder Policy"),
                                  ("twitter", "costs", "pay per use"), ("google", "ends", "seven days"),
                                  ("apple", "ends", "six months")):
        line = next(line for line in lines_of(store, provider) if line.startswith(name + "  "))
        assert words in " ".join(line.split()), line


def test_configure_shows_the_steps_before_it_asks(store):
    with Terminal([CONTROL, "providers", "configure", "github", *store]) as terminal:
        terminal.wait_for("1. Open https://github.com/settings/applications/new")
        terminal.wait_for("5. Press Generate a new client secret")
        terminal.wait_for("Client id:")
        terminal.type("\x03")
        assert terminal.end() == 1


def test_a_retired_provider_is_last_in_the_list_and_in_no_menu(store, tmp_path):
    last = json.loads(run("providers", "--json", *store)[1])["providers"][-1]
    assert last["id"] == "tencent-weibo" and last["retired"] is True
    (tmp_path / "work.json").write_text(json.dumps({
        "id": "work", "name": "Work", "setup": {"documentation": "https://work.example/docs"}, "registration": ["clientId"],
        "accounts": "many", "flows": [{"kind": "authorizationCode",
                                       "authorize": {"method": "GET", "url": "https://work.example/authorize"},
                                       "token": {"method": "POST", "url": "https://work.example/token"}}]}))
    assert run("providers", "add", str(tmp_path / "work.json"), *store)[0] == 0
    ids = [provider["id"] for provider in json.loads(run("providers", "--json", *store)[1])["providers"]]
    assert ids[-2:] == ["work", "tencent-weibo"], "an added provider comes before it"
    assert re.search("^tencent-weibo .* retired ", run("providers", *store)[1], re.M)
    shown = "".join(lines_of(store, "tencent-weibo"))
    assert "has ended" in shown and "Closed on 28 September 2020" in shown
    with Terminal([CONTROL, "providers", "show", *store], rows=60) as terminal:
        terminal.wait_for("Which provider?")
        terminal.wait_for("work")
        assert "tencent-weibo" not in terminal.shown
        terminal.type("\x03")
        assert terminal.end() == 1


def test_accounts_of_a_retired_and_of_a_removed_provider_are_listed_exported_and_removed(store, tmp_path):
    (tmp_path / "work.json").write_text(json.dumps({
        "id": "work", "name": "Work", "setup": {"documentation": "https://work.example/docs"}, "registration": ["clientId"],
        "accounts": "many", "flows": [{"kind": "authorizationCode",
                                       "authorize": {"method": "GET", "url": "https://work.example/authorize"},
                                       "token": {"method": "POST", "url": "https://work.example/token"}}]}))
    assert run("providers", "add", str(tmp_path / "work.json"), *store)[0] == 0
    accounts = [{"provider": id, "username": "ada", "credential": {"type": "oauth2", "token": "t", "clientId": "c"}}
                for id in ("work", "tencent-weibo")]
    assert run("accounts", "add", "-", *store, input=json.dumps(accounts))[0] == 0
    assert run("providers", "remove", "work", "--yes", *store)[0] == 0
    listed = json.loads(run("accounts", "list", "--json", *store)[1])["accounts"]
    assert sorted(account["provider"] for account in listed) == ["tencent-weibo", "work"]
    file = tmp_path / "file.einlass"
    code, _, errors = with_passphrase("accounts", "export", str(file), *store)
    assert code == 0 and file.stat().st_size > 0, errors
    for account in listed:
        code, output, errors = run("accounts", "remove", account["account"], "--yes", *store)
        assert code == 0, (account["provider"], errors)
    assert json.loads(run("accounts", "list", "--json", *store)[1])["accounts"] == []
