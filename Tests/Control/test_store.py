"""The store is shown, checked, copied and re-encrypted; its key slots and audit trail are managed."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess

import pytest

from control import EINLASS, account, repeated, run, usernames, with_passphrase
from terminal import PATIENCE


def test_the_audit_trail_is_listed_and_pruned(two):
    run("access", "set", "neovim", "twitter", "granted", *two)
    code, output, errors = run("audit", *two)
    assert code == 0, errors
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d  einlassctl +access\.set neovim granted +twitter +einlassctl$", output, re.M)
    assert json.loads(run("audit", "list", "--json", "--limit", "1", *two)[1])["entries"][0]["subject"] == "neovim"
    assert "There is no account ada2." in run("audit", "--account", "ada2", *two)[2]
    for gone in "a_0123456789", "twitter/a_0123456789":
        assert run("audit", "--account", gone, *two)[:2] == (0, "The audit trail has no matching entry.\n")
    assert run("audit", "--application", "nobody", *two)[1] == "The audit trail has no matching entry.\n"
    assert run("audit", "prune", "2026-13-01", "--yes", *two)[0] == 64
    assert re.fullmatch(r"Removed \d+ entr(y|ies)\.\n", run("audit", "prune", "9999-01-01", "--yes", *two)[1])
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


@pytest.mark.parametrize("place", ["POSTGRESQL://ada:s3cret@db/x", "host=db dbname=x password=s3cret", "mysql://ada:s3cret@db/x"])
def test_an_address_of_another_form_is_no_path_for_a_move(two, tmp_path, place):
    before = sorted(tmp_path.rglob("*"))
    for places in [place], [place, str(tmp_path / "b.db")]:
        code, output, errors = run("store", "move", *places, *two, cwd=tmp_path)
        assert code == 1 and "postgresql://USER@HOST" in errors and "s3cret" not in output + errors
    assert usernames(two) == ["ada", "bob"] and sorted(tmp_path.rglob("*")) == before


def test_store_status_says_that_the_first_change_creates_the_store(store):
    assert "no: created at the first change" in run("store", "status", *store)[1]
    assert run("access", "set", "neovim", "twitter", "granted", *store)[0] == 0
    assert "created at the first change" not in run("store", "status", *store)[1]
    assert "einlassctl" in subprocess.run([EINLASS, "--help"], capture_output=True, text=True, timeout=PATIENCE).stdout


def test_the_key_may_come_by_a_descriptor(tmp_path):
    key = os.memfd_create("key")
    os.write(key, os.urandom(32).hex().encode())
    os.lseek(key, 0, os.SEEK_SET)
    store = ["--einlass", EINLASS, "--store", str(tmp_path / "store/a.db"), "--key-fd", str(key)]
    code, output, errors = run("accounts", "add", "-", *store, input=json.dumps(account("ada")), pass_fds=[key])
    os.close(key)
    assert code == 0, errors
    assert not (tmp_path / "key").exists()


def test_a_program_for_the_key_that_is_not_named_is_named_next(two, tmp_path):
    step = ('next: Name it in the configuration file, such as "keyCommand": ["/usr/bin/pass", "show", "einlass"].\n'
            f'   next: See the place of that file: einlassctl doctor {repeated(two)}\n')
    code, _, errors = run("store", "slots", "add", "command", *two)
    assert code == 1 and "needs a program that prints the key." in errors and step in errors
    (tmp_path / "printed").write_text("a1" * 32)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"keyCommand": ["/bin/cat", str(tmp_path / "printed")]}))
    config.chmod(0o600)
    assert run("store", "slots", "add", "command", *two, "--config", str(config))[0] == 0
    assert run("store", "slots", "remove", "keyfile", "--yes", *two, "--config", str(config))[0] == 0
    code, output, errors = run("store", "check", *two)
    assert code == 1 and "name it as keyCommand in the configuration file" in output and step in errors


def test_key_slots_are_listed_added_and_removed(two):
    assert run("store", "slots", *two)[:2] == (0, "keyfile\n")
    assert run("store", "slots", "list", "--json", *two)[1] == '{"slots":["keyfile"]}\n'
    code, output, errors = with_passphrase("store", "slots", "add", "passphrase", *two)
    assert (code, output) == (0, "The store's key slots: keyfile, passphrase.\n"), errors
    assert run("store", "slots", "remove", "fd", "--yes", *two)[0] == 1
    code, output, _ = run("store", "slots", "remove", "passphrase", "--yes", *two)
    assert (code, output) == (0, "The store's key slots: keyfile.\n")
    code, _, errors = run("store", "slots", "remove", "keyfile", "--yes", *two)
    assert code == 1 and "only way" in errors
    assert run("store", "slots", "add", "nope", *two)[0] == 64


def test_a_wrong_path_is_not_reported_as_a_damaged_store(two, tmp_path):
    (tmp_path / "folder").mkdir()
    for command in ("accounts", "export"), ("store", "backup"):
        for path in ("folder", "folder/"):
            code, _, errors = run(*command, path, *two, cwd=tmp_path)
            assert code == 1 and f"problem: {path} is a folder.\n   next: Name a new file in it." in errors
    (tmp_path / "other.json").write_text("{}")
    code, _, errors = with_passphrase("accounts", "import", str(tmp_path / "other.json"), *two)
    assert code == 1 and "next: Name a file that an export has written." in errors and "Restore" not in errors


def test_a_backup_may_be_in_a_folder_that_others_may_read_but_not_write(two, tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    code, _, errors = run("store", "backup", str(folder / "copy.db"), *two)
    assert code == 0 and (folder / "copy.db").stat().st_mode & 0o777 == 0o600, errors
    folder.chmod(0o775)
    code, _, errors = run("store", "backup", str(folder / "second.db"), *two)
    assert code == 1 and f"chmod go-rwx '{folder}'" in errors


def test_extreme_times_in_the_store_are_no_crash(two, tmp_path):
    assert run("access", "set", "x", "twitter", "granted", *two)[0] == 0
    for moment, shown in (-1 << 63, "-292277022657-01-27"), ((1 << 63) - 1, "292277026596-12-04"):
        with contextlib.closing(sqlite3.connect(two[3])) as connection:
            connection.execute("UPDATE access_grant SET changed_at = ?", [moment])
            connection.commit()
        code, output, _ = run("access", *two)
        assert code == 0 and shown in output


def test_messages_about_methods_name_commands(two):
    with contextlib.closing(sqlite3.connect(two[3])) as connection:
        connection.execute("UPDATE meta SET encryptions = 1 << 31")
        connection.commit()
    code, _, errors = run("accounts", "add", "-", *two, input=json.dumps(account("carol")))
    assert code == 1 and "next: Rotate the key of the store: einlassctl store rotate-key" in errors
