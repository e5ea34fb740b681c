"""The files of einlass are private to its user, and it writes nothing in a place that others could change."""
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from session import PATIENCE
from somebody import IS_ROOT, NOBODY, OTHER, as_user

ACCOUNT = json.dumps({"provider": "facebook", "username": "ada",
                      "credential": {"type": "oauth2", "token": "t", "clientId": "1"}})


def add(place, *options, mask=0o022, **spawn):
    """Adds an account and returns exit code and answer. Without options the store is in its default place."""
    done = subprocess.run([place.einlass, *options, "call", "accounts.add", ACCOUNT], capture_output=True,
                          preexec_fn=lambda: os.umask(mask), timeout=PATIENCE, **spawn)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr.decode()


def modes(folder):
    """Returns type and mode of everything below a folder."""
    return {str(path.relative_to(folder)): (path.is_dir(), stat.S_IMODE(path.lstat().st_mode))
            for path in Path(folder).rglob("*")}


def home(folder):
    return {"env": {"HOME": folder, "PATH": os.environ["PATH"]}}


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_files_are_private_whatever_the_umask(place, mask):
    def body():
        code, _ = add(place, "--trace", f"{place.home}/trace.jsonl", mask=mask, **home(place.home))
        made = modes(place.home)
        os.umask(mask)
        Path(place.home, "other").touch()
        return [code, made, modes(place.home)["other"][1]]

    code, made, other = as_user(NOBODY, body)
    assert code == 0
    files = {name: mode for name, (is_dir, mode) in made.items() if not is_dir}
    assert {"trace.jsonl"} < set(files) and set(files.values()) == {0o600}
    # Existing and general folders (.local) do not belong to einlass; its own folders are private.
    assert {mode for name, (is_dir, mode) in made.items() if is_dir and "einlass" in name} == {0o700}
    assert other == 0o666 & ~mask  # the control: the umask was set


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o750, 0o701])
def test_a_folder_that_others_can_enter_is_refused_with_a_remedy(place, mode):
    def body():
        folder = f"{place.home}/data"
        os.mkdir(folder)
        os.chmod(folder, mode)
        options = ["--store", f"{folder}/store.db", "--key-file", f"{place.home}/keys/store.key"]
        refused = add(place, *options, **home(place.home))
        left = os.listdir(folder)
        os.chmod(folder, 0o700)
        return [refused, left, add(place, *options, **home(place.home))[0]]

    (code, answer), left, allowed = as_user(NOBODY, body)
    assert code == 1 and left == []
    assert answer["error"]["data"]["detail"] == "permissions" and "chmod" in answer["error"]["data"]["next"][0]["command"]
    assert allowed == 0  # the control: the mode was the cause


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to be two users")
def test_another_user_reads_nothing(place):
    # The folders above are open to everybody.
    def made():
        os.umask(0)
        code, _ = add(place, "--trace", f"{place.home}/trace.jsonl", **home(place.home))
        Path(place.home, "open").write_text("x")
        os.chmod(place.home, 0o755)
        return code

    def read():
        names = []
        for folder, folders, files in os.walk(place.home):
            for name in files:
                try:
                    Path(folder, name).read_bytes()
                    names.append(name)
                except OSError:
                    pass
        return names

    assert as_user(NOBODY, made) == 0
    assert len([name for name, (is_dir, _) in modes(place.home).items() if not is_dir]) >= 4
    assert as_user(OTHER, read) == ["open"]  # includes the control


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to be it in somebody else's home")
def test_root_creates_nothing_in_another_users_home(place):
    code, answer = add(place, **home(place.home))
    assert code == 1 and answer["error"]["data"]["detail"] == "permissions"
    assert modes(place.home) == {}
    # The control: the owner of the home can.
    assert as_user(NOBODY, lambda: add(place, **home(place.home))[0]) == 0
