"""A store that only a passphrase opens is unlocked for a while, for programs without a person, and locked again.

    python -m pytest Tests/Control/test_unlocking.py

The kernel's keyring is the real one. Each secret in it ends after a minute, and each test removes its own.
"""
import json
import os
import subprocess
import sys

import pytest

import kernel_keyring
from control import CONTROL, EINLASS, account, passphrase_of, run, with_passphrase
from terminal import PATIENCE, Terminal

REFUSED = kernel_keyring.refused()
needs_keyring = pytest.mark.skipif(REFUSED is not None, reason=str(REFUSED))
ME = ["--einlass", EINLASS]
WORDS = "correct horse"
UNLOCK = ["store", "unlock", "--for", "1m", *ME]
CHECK = ["store", "check", "--no-input", *ME]


class Sealed:
    """A home whose store has the passphrase `correct horse` as its only key slot."""

    def __init__(self, folder):
        folder.mkdir(mode=0o700)
        self.home = {"HOME": str(folder), "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
        self.database = folder / ".local/share/einlass/store.db"
        code, _, errors = self.typing("accounts", "add", "-", *ME, input=json.dumps([account("ada")]))
        assert code == 0, errors
        assert self.run("store", "slots", *ME)[1] == "passphrase\n"

    def run(self, *arguments, **more):
        return run(*arguments, env={**os.environ, **self.home}, **more)

    def typing(self, *arguments, words=WORDS, **more):
        return with_passphrase(*arguments, words=words, env={**os.environ, **self.home}, **more)

    def terminal(self, *arguments):
        return Terminal([CONTROL, *arguments], **self.home)

    def opens(self):
        return self.run(*CHECK)[0] == 0

    @property
    def is_kept(self):
        return kernel_keyring.kept(self.database) is not None


@pytest.fixture
def sealed(tmp_path):
    sealed = Sealed(tmp_path / "home")
    yield sealed
    if not REFUSED:
        kernel_keyring.forget(sealed.database)


def test_a_program_without_a_person_learns_the_step_that_works(sealed):
    code, output, errors = sealed.run(*CHECK)
    assert code == 1 and "The account store needs a passphrase." in output
    assert f"next: Unlock the store for a while: einlassctl store unlock --for 8h --einlass {EINLASS}\n" in errors
    found = json.loads(sealed.run("doctor", "--json", "--no-input", *ME)[1])["findings"]
    assert "einlassctl store unlock --for 8h" in [finding for finding in found if finding["check"] == "key"][0]["next"]


@needs_keyring
def test_an_unlocked_store_opens_without_a_person_until_it_is_locked(sealed):
    code, output, errors = sealed.typing(*UNLOCK)
    assert code == 0 and output.startswith("Unlocked until 20") and "einlassctl store lock" in output, errors
    assert sealed.opens()
    assert "unlocked  until 20" in sealed.run("store", *ME)[1]
    assert "opened by: passphrase; unlocked until 20" in sealed.run("doctor", "--no-input", *ME)[1]
    # It opens for changes too.
    assert sealed.run("accounts", "add", "-", *ME, input=json.dumps(account("bob")))[0] == 0
    assert sealed.run("store", "lock", *ME)[:2] == (0, "Locked.\n")
    assert not sealed.opens() and "unlocked  until" not in sealed.run("store", *ME)[1] and not sealed.is_kept
    assert sealed.run("store", "lock", *ME)[:2] == (0, "The store was not unlocked.\n")


@needs_keyring
def test_doctor_says_that_programs_are_shut_out_although_the_person_is_not(sealed):
    def key_of(**more):
        output = sealed.typing("doctor", "--json", *ME, **more)[1]
        return [finding for finding in json.loads(output)["findings"] if finding["check"] == "key"][0]
    shut = key_of()
    assert shut["verdict"] == "note" and "git, docker, kubectl" in shut["detail"] and shut["next"].endswith("store unlock --for 8h")
    assert sealed.typing("store", "slots", "add", "keyfile", *ME)[0] == 0
    assert key_of()["verdict"] == "ok"


@needs_keyring
def test_the_passphrase_is_asked_for_each_time_and_a_wrong_one_unlocks_nothing(sealed):
    code, _, errors = sealed.typing(*UNLOCK, words="correct hoarse")
    assert code == 1 and "The passphrase does not open the account store." in errors and not sealed.is_kept
    code, _, errors = sealed.run(*UNLOCK)
    assert code == 1 and "interactionRequired" in errors and "--passphrase-fd" in errors and not sealed.is_kept
    for _ in range(2):
        with sealed.terminal(*UNLOCK) as terminal:
            terminal.wait_for("Passphrase:")
            terminal.type("correct hoarse\r")
            terminal.wait_for("That passphrase does not fit.")
            terminal.wait_for("Passphrase:")
            terminal.type(WORDS + "\r")
            assert terminal.end() == 0 and "Unlocked until" in terminal.shown and "horse" not in terminal.shown
        assert sealed.opens()
    assert sealed.run("store", "lock", *ME)[0] == 0
    with sealed.terminal(*UNLOCK) as terminal:
        for _ in range(3):
            terminal.wait_for("Passphrase:")
            terminal.type("correct hoarse\r")
        assert terminal.end() == 1 and "None of these passphrases opens the account store." in terminal.shown
    assert not sealed.is_kept


@needs_keyring
@pytest.mark.parametrize("change", [
    ["store", "slots", "add", "passphrase"], ["store", "slots", "remove", "passphrase", "--yes"], ["store", "rotate-key"]])
def test_a_change_of_the_passphrase_or_the_key_locks_the_store(sealed, change):
    assert sealed.typing("store", "slots", "add", "keyfile", *ME)[0] == 0
    assert sealed.typing(*UNLOCK)[0] == 0 and sealed.is_kept
    code, _, errors = sealed.typing(*change, *ME)
    assert code == 0, errors
    assert not sealed.is_kept


@needs_keyring
def test_a_rotation_of_an_unlocked_store_needs_no_person_and_drops_no_slot(sealed):
    assert sealed.typing(*UNLOCK)[0] == 0
    code, output, errors = sealed.run("store", "rotate-key", "--no-input", *ME)
    assert code == 0 and "Its key slots: passphrase." in output and "Removed" not in output, errors
    assert not sealed.opens() and sealed.typing(*UNLOCK)[0] == 0 and sealed.opens()


@needs_keyring
def test_a_program_of_another_session_opens_it_and_another_user_cannot_read_the_secret(sealed):
    assert sealed.typing(*UNLOCK)[0] == 0
    assert sealed.run(*CHECK, preexec_fn=kernel_keyring.join_new_session)[0] == 0
    assert kernel_keyring.permissions(sealed.database) == "1b000000"
    if os.getuid() != 0:
        return
    reading = "import kernel_keyring, os; os.setuid(int({uid})); print(len(kernel_keyring.read({key})))"

    def by(uid):
        text = reading.format(uid=uid, key=kernel_keyring.kept(sealed.database))
        return subprocess.run([sys.executable, "-c", text], cwd=os.path.dirname(__file__), capture_output=True, text=True,
                              timeout=PATIENCE)
    assert "PermissionError" in by(65534).stderr
    # The control: this user reads it, if its session has the user keyring.
    take = ("import kernel_keyring as k; "
            f"print(len(k.read(k.call(k.KEYCTL, k.SEARCH, k.USER, b'user', {kernel_keyring.name_of(sealed.database).encode()!r}, k.THREAD))))")
    done = subprocess.run([sys.executable, "-c", take], cwd=os.path.dirname(__file__), capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "40\n", done.stderr


def test_where_the_kernel_refuses_keyrings_nobody_types_in_vain(sealed):
    if kernel_keyring.KEYCTL < 0:
        pytest.skip("skipped: the numbers of the system calls are unknown here")
    words = passphrase_of(WORDS)
    command = [sys.executable, kernel_keyring.__file__, CONTROL]

    def refused(*arguments):
        os.lseek(words, 0, os.SEEK_SET)
        return subprocess.run([*command, *arguments, "--passphrase-fd", str(words)], env={**os.environ, **sealed.home},
                              pass_fds=[words], capture_output=True, text=True, timeout=PATIENCE)
    try:
        done = refused(*UNLOCK)
        assert done.returncode == 1 and "The kernel keeps no key for this program, as in most containers" in done.stderr
        assert "next: Use another key slot: einlassctl store slots add secretservice" in done.stderr
        with Terminal([*command, *UNLOCK], **sealed.home) as terminal:
            assert terminal.end() == 1 and "Passphrase" not in terminal.shown
        # All else works there.
        assert refused("store", "check", *ME).returncode == 0
    finally:
        os.close(words)


def test_a_store_without_a_passphrase_has_nothing_to_unlock(two):
    code, _, errors = run("store", "unlock", *two)
    assert code == 1 and "No passphrase opens the account store." in errors
    assert "next: Add another key slot first: einlassctl store slots add passphrase" in errors


@pytest.mark.parametrize("duration, isTaken", [
    ("1m", True), ("0m", False), ("1440m", True), ("1441m", False), ("24h", True), ("25h", False), ("0h", False), ("8", False),
    ("8d", False), ("h", False), ("", False), ("1.5h", False), ("-1h", False), ("99999999999999999999h", False)])
def test_the_time_has_limits(duration, isTaken):
    code, _, errors = run("store", "unlock", f"--for={duration}", env={**os.environ, "EINLASS": "/nope"})
    # A time that is taken goes on to an einlass that does not exist.
    assert (code == 70) if isTaken else (code == 64 and "from 1m to 24h" in errors), errors


SHUT_OUT = "git, docker, kubectl, einlassctl token and other programs without a person will not open the store any more."


def test_removing_the_key_file_names_the_programs_that_stop_and_asks(sealed):
    assert sealed.typing("store", "slots", "add", "keyfile", *ME)[0] == 0
    with sealed.terminal("store", "slots", "remove", "keyfile", *ME) as terminal:
        terminal.wait_for("note: git, docker, kubectl")
        terminal.wait_for("store unlock --for 8h")
        terminal.wait_for("Remove the key slot keyfile?")
        terminal.type("n\r")
        assert terminal.end() != 0
    assert sealed.run("store", "slots", *ME)[1] == "passphrase\nkeyfile\n"
    # The control: nothing stops when the passphrase goes.
    assert sealed.typing("store", "slots", "add", "passphrase", *ME)[0] == 0
    assert "note:" not in sealed.run("store", "slots", "remove", "passphrase", "--yes", *ME)[2]
    assert sealed.typing("store", "slots", "add", "passphrase", *ME)[0] == 0
    code, output, errors = sealed.run("store", "slots", "remove", "keyfile", "--yes", *ME)
    assert (code, output) == (0, "The store's key slots: passphrase.\n")
    assert f"note: {SHUT_OUT}\n" in errors and f"einlassctl store unlock --for 8h --einlass {EINLASS}\n" in errors
