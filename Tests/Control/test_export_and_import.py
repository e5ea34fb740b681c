"""Accounts move to another store in a file with a passphrase."""
import json
import os
import re
from pathlib import Path

from control import EINLASS, add, passphrase_of, run, usernames, with_passphrase


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
    assert code == 1 and "(accountStoreFailure, 1009)" in errors and "next: Enter the passphrase of the export." in errors
    code, output, errors = with_passphrase("accounts", "import", str(file), *other)
    assert (code, output) == (0, "twitter/bob: already there\ntwitter/ada: added\n"
                              "1 added, 0 replaced, 1 already there, 0 refused.\n"), errors
    assert json.loads(with_passphrase("accounts", "import", str(file), "--replace", "--json", *other)[1])["replaced"] == 2
    assert usernames(other) == ["bob", "ada"]
    code, _, errors = run("accounts", "export", str(tmp_path / "x"), *two)
    assert code == 1 and "(interactionRequired, 1010)" in errors and "--file-passphrase-fd" in errors
    assert run("accounts", "list", "--passphrase-fd", "999", *two)[0] == 64


def test_a_short_passphrase_of_a_file_needs_consent(two, tmp_path):
    export = ["accounts", "export", str(tmp_path / "moving"), *two]
    code, _, errors = with_passphrase(*export, words="correct hor")
    assert code == 1 and "The passphrase of the file has fewer than twelve characters." in errors, errors
    assert "next: Choose a longer passphrase, or take a weak one with --weak.\n" in errors and not (tmp_path / "moving").exists()
    assert with_passphrase(*export, "--weak", words="correct hor")[0] == 0
    assert with_passphrase(*export, "--replace", words="correct hors")[0] == 0


def test_an_export_file_has_its_own_passphrase(two, tmp_path):
    # With a key file for the store, the passphrase is that of the export file.
    assert with_passphrase("store", "slots", "add", "passphrase", *two, words="of the store")[0] == 0
    code, _, errors = with_passphrase("accounts", "export", str(tmp_path / "moving"), *two, words="of that file")
    assert code == 0, errors
    assert run("store", "slots", "remove", "keyfile", "--yes", *two)[0] == 0
    two = two[:4]
    code, _, errors = with_passphrase("accounts", "export", str(tmp_path / "other"), *two, words="of that file")
    assert code == 1 and "The passphrase does not open the account store." in errors
    for command in (["export", str(tmp_path / "other")], ["import", str(tmp_path / "moving")]):
        words = passphrase_of("of the store")
        code, output, errors = with_passphrase(
            "accounts", *command, "--passphrase-fd", str(words), *two, words="of that file",
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
    assert code == 1 and "work/cora: refused. The provider is unknown. Add it with einlassctl providers add" in output
    assert "home/cora: added" in output and "3 added" in output
    # The imported providers and registrations are listed.
    assert "home: the provider was added\nhome: its registration was added\n" in output


def test_a_new_store_with_only_a_passphrase_slot_is_noted(two, tmp_path):
    file = tmp_path / "moving"
    assert with_passphrase("accounts", "export", str(file), *two)[0] == 0
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    (tmp_path / "home").mkdir(mode=0o700)
    new = ["accounts", "import", str(file), "--einlass", EINLASS]
    code, _, errors = with_passphrase(*new, env={**os.environ, **home})
    assert code == 0 and "only this passphrase opens it" in errors and "einlassctl store slots add keyfile" in errors
    code, _, errors = with_passphrase(*new, env={**os.environ, **home})
    assert (code, errors) == (0, "")
    code, output, errors = with_passphrase("store", "check", "--einlass", EINLASS, words="wrong", env={**os.environ, **home})
    assert code == 1 and output.startswith("not read: The passphrase does not open"), errors
