"""Passphrases are typed on a terminal that does not show them, for the store and for files."""
import json
import os

import pytest

from control import CONTROL, EINLASS, account, fake, run, with_passphrase
from terminal import Terminal


@pytest.fixture
def sealed(tmp_path):
    """Creates a store in the default places of a new home, with a passphrase as its only key slot. Returns the
    options and the home."""
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    (tmp_path / "home").mkdir(mode=0o700)
    store = ["--einlass", EINLASS]
    environment = {**os.environ, **home}
    code, _, errors = with_passphrase(
        "accounts", "add", "-", *store, input=json.dumps([account("ada")]), env=environment)
    assert code == 0, errors
    assert run("store", "slots", *store, env=environment)[1] == "passphrase\n"
    return store, home


def test_a_passphrase_typed_ahead_is_not_shown(sealed):
    store, home = sealed
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        terminal.wait_for("Passphrase:")
        # The second passphrase is typed while scrypt still works on the first one.
        terminal.type("wr0ng\r")
        terminal.wait_for("\n")
        terminal.type("s3cret-ahead\r")
        terminal.wait_for("Passphrase:")
        terminal.wait_for("Passphrase:")
        terminal.type("correct horse\r")
        assert terminal.end() == 0 and "s3cret" not in terminal.shown


@pytest.mark.parametrize("passphrase, code", [("öpen sesame", 0), ("mellon", 1)])
def test_a_passphrase_is_asked_for_and_not_shown(passphrase, code):
    with Terminal([CONTROL, "store", "check", *fake("passphrase")]) as terminal:
        terminal.wait_for("Passphrase:")
        terminal.type(passphrase + "\r")
        assert terminal.end() == code
        assert passphrase not in terminal.shown and "\u202e" not in terminal.shown


def test_a_store_that_a_passphrase_opens_is_used_at_the_terminal(sealed):
    store, home = sealed
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        terminal.wait_for("Passphrase:")
        terminal.type("mistaken\r")
        terminal.wait_for("That passphrase does not fit.")
        terminal.wait_for("Passphrase:")
        terminal.type("\r")
        terminal.wait_for("It has 1 to 1024 bytes.")
        terminal.wait_for("Passphrase:")
        terminal.type("correct horse\r")
        assert terminal.end() == 0 and ": 1 account and 3 sealed values read." in terminal.shown
        assert "correct" not in terminal.shown and "mistaken" not in terminal.shown
    # A list needs no passphrase. A command without a terminal names the option for one.
    environment = {**os.environ, **home}
    code, output, _ = run("accounts", *store, env=environment)
    assert code == 0 and "ada" in output
    code, _, errors = run("accounts", "add", "-", *store, input=json.dumps(account("bob")), env=environment)
    assert code == 1 and "--passphrase-fd" in errors
    code, output, errors = run("store", "check", "--no-input", *store, env=environment)
    assert code == 1 and "The account store needs a passphrase." in output and "next: " in errors
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        for _ in range(3):
            terminal.wait_for("Passphrase:")
            terminal.type("mistaken\r")
        assert terminal.end() == 1 and "None of these passphrases opens the account store." in terminal.shown
    with Terminal([CONTROL, "store", "check", *store], **home) as terminal:
        terminal.wait_for("Passphrase:")
        terminal.type("\x03")
        assert terminal.end() == 1


def test_a_new_passphrase_is_typed_twice_and_moves_accounts(sealed, tmp_path):
    store, home = sealed
    file = tmp_path / "home/moving"
    with Terminal([CONTROL, "accounts", "export", str(file), *store], **home) as terminal:
        terminal.wait_for("Passphrase:")
        terminal.type("correct horse\r")
        terminal.wait_for("Passphrase:")
        terminal.type("b4ttery staple\r")
        terminal.wait_for("Once more:")
        terminal.type("b4tery staple\r")
        terminal.wait_for("The two differ.")
        terminal.wait_for("Passphrase:")
        terminal.type("b4ttery staple\r")
        terminal.wait_for("Once more:")
        terminal.type("b4ttery staple\r")
        assert terminal.end() == 0 and "Wrote 1 account to " in terminal.shown and "b4t" not in terminal.shown
    (tmp_path / "other").mkdir(mode=0o700)
    other = {**home, "HOME": str(tmp_path / "other")}
    with Terminal([CONTROL, "accounts", "import", str(file), *store], **other) as terminal:
        terminal.wait_for("Passphrase:")
        terminal.type("b4tery staple\r")
        terminal.wait_for("That passphrase does not fit.")
        terminal.wait_for("Passphrase:")
        terminal.type("b4ttery staple\r")
        assert terminal.end() == 0 and "twitter/ada: " in terminal.shown and "1 added" in terminal.shown
    with Terminal([CONTROL, "store", "slots", "add", *store], **other) as terminal:
        terminal.wait_for("Which kind of key slot?")
        terminal.type("2\r")
        terminal.wait_for("Passphrase:")
        terminal.type("b4ttery staple\r")
        terminal.wait_for("Once more:")
        terminal.type("b4ttery staple\r")
        assert terminal.end() == 0 and "keyfile, passphrase" in terminal.shown
