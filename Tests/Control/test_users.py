"""The users of applications, as `einlassctl` shows and changes them."""
import json
import subprocess

import pytest

from control import EINLASS, run, with_passphrase


@pytest.fixture
def users(store):
    """The command line of a store with the users ada@example.org and eve@example.org of the application kiosk."""
    for name in ("Ada", "Eve"):
        # One after the other, because requests that run at once are done in any order.
        params = {"email": f"{name.lower()}@example.org", "password": "difference", "displayName": name}
        answer = subprocess.run([EINLASS, *store[2:], "call", "--application", "kiosk", "users.create", "-"],
                                input=json.dumps(params), capture_output=True, text=True, check=True).stdout
        assert '"isNewUser":true' in answer, answer
    return store


def test_users_are_listed_and_shown(users):
    code, output, errors = run("users", *users)
    assert code == 0 and output.splitlines()[1].split()[:4] == ["ada@example.org", "kiosk", "Ada", "password"], errors
    code, output, errors = run("users", "show", "ADA@example.org", *users)
    assert code == 0 and output.startswith("ada@example.org, of the application kiosk\nname: Ada\nid: u_"), errors
    assert "  password ada@example.org (ada@example.org)\n" in output
    code, _, errors = run("users", "show", "bob@example.org", *users)
    assert code == 64 and "einlassctl users list" in errors


def test_the_last_way_to_sign_in_is_unlinked_after_a_confirmation(users):
    code, _, errors = run("users", "unlink", "ada@example.org", "github", *users)
    assert code == 1 and "(noSuchProvider, 17016)" in errors
    code, _, errors = run("users", "unlink", "ada@example.org", "password", *users)
    assert code == 64 and "is the last way to sign in as ada@example.org" in errors and "--yes" in errors
    assert "password" in run("users", "show", "ada@example.org", *users)[1]
    code, output, errors = run("users", "unlink", "ada@example.org", "password", "--yes", *users)
    assert (code, output) == (0, "ada@example.org no longer signs in with password.\n"), errors
    # The address is free then.
    assert run("users", "show", "ada@example.org", *users)[0] == 64


def test_a_letter_that_becomes_one_of_ascii_names_another_user(users):
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "users.create", "params": {
        "email": "\u212aate@example.org", "password": "difference"}}) + "\n"
    assert "isNewUser" in subprocess.run([EINLASS, "--finish", *users[2:]], input=line, capture_output=True, text=True).stdout
    code, _, errors = run("users", "delete", "kate@example.org", "--yes", *users)
    assert code == 64 and "There is no user" in errors
    assert run("users", "delete", "\u212aATE@example.org", "--yes", *users)[0] == 0


def test_a_user_is_deleted_after_a_confirmation(users):
    code, _, errors = run("users", "delete", "ada@example.org", *users)
    assert code == 64 and "--yes" in errors
    code, output, errors = run("users", "delete", "ada@example.org", "--yes", *users)
    assert (code, output) == (0, "Removed the user ada@example.org.\n"), errors
    assert "ada@example.org" not in run("users", *users)[1]


def test_users_move_with_the_accounts(users, tmp_path):
    file = tmp_path / "moving"
    code, output, errors = with_passphrase("accounts", "export", str(file), *users)
    assert code == 0 and output.startswith(f"Wrote 0 accounts and 2 users to {file} ("), errors
    other = ["--einlass", EINLASS, "--store", str(tmp_path / "other/a.db"), "--key-file", str(tmp_path / "otherkey/a.key")]
    for shown in ("2 users added, 0 already there.", "0 users added, 2 already there."):
        code, output, errors = with_passphrase("accounts", "import", str(file), *other)
        assert code == 0 and output.splitlines()[-1] == shown, errors
    assert "Ada" in run("users", *other)[1]
