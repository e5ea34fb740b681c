"""A network file system lacks the locks and the shared memory of a store."""
import os
import subprocess

import pytest

from rotation import World
from stores import EINLASS, Einlass, Home, Refused

EINLASSCTL = os.environ.get("EINLASS_CONTROL", EINLASS + "ctl")
# The preloaded type alone is that of FUSE. The mount of the folder is no FUSE mount, so it is not a local one.
PLACES = pytest.mark.parametrize("number, is_refused", [
    ("6969", True), ("FE534D42", True), ("1021997", True), ("65735546", True), ("EF53", False)],
    ids=["nfs", "smb", "9p", "fuse", "control: ext4"])


@PLACES
def test_no_store_is_made_on_a_network_file_system(preload, number, is_refused):
    environment = {**os.environ, "LD_PRELOAD": str(preload("network_disk")), "EINLASS_FILE_SYSTEM": number}
    with Home() as home, Einlass(home, env=environment) as process:
        if is_refused:
            with pytest.raises(Refused) as refused:
                process.add("ada")
            assert refused.value.detail == "unsupportedFileSystem"
        else:
            process.add("ada")
        assert home.database.exists() != is_refused


def test_no_change_is_written_on_a_network_file_system(preload):
    with Home() as home:
        with Einlass(home) as process:
            process.add("ada")
        before = home.database.read_bytes()
        environment = {**os.environ, "LD_PRELOAD": str(preload("network_disk")), "EINLASS_FILE_SYSTEM": "6969"}
        with Einlass(home, env=environment) as process:
            with pytest.raises(Refused) as refused:
                process.add("eve")
            assert refused.value.detail == "unsupportedFileSystem"
        assert home.database.read_bytes() == before
        assert set(home.accounts()) == {"ada"}


@pytest.mark.parametrize("number, is_shared", [("6969", False), ("EF53", True)], ids=["nfs", "control: ext4"])
def test_a_reader_on_a_network_file_system_uses_no_shared_index(preload, number, is_shared):
    with Home() as home:
        with Einlass(home) as process:
            process.add("ada")
        index = home.database.with_name(home.database.name + "-shm")
        index.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": str(preload("network_disk")), "EINLASS_FILE_SYSTEM": number}
        with Einlass(home, env=environment) as process:
            assert [account["username"] for account in process.call("accounts.list")["accounts"]] == ["ada"]
            assert index.exists() == is_shared


@PLACES
def test_no_refresh_token_is_spent_on_a_network_file_system(preload, number, is_refused):
    world = World(1)
    try:
        account, family = world.add()
        environment = {**os.environ, "LD_PRELOAD": str(preload("network_disk")), "EINLASS_FILE_SYSTEM": number}
        world.processes.append(world.spawn(env=environment))
        answer = world.processes[1].call("credentials.get", account=account)
        assert len(world.provider.requests) == (0 if is_refused else 1)
        if is_refused:
            assert answer["error"]["data"]["detail"] == "unsupportedFileSystem"
        # The process on the local disk is not affected.
        assert world.get(account, world.processes[:1])[0]["result"] and not world.provider.families[family]["revoked"]
    finally:
        world.close()


@PLACES
@pytest.mark.parametrize("exists", [True, False], ids=["stored", "new"])
def test_the_doctor_advises_against_a_network_file_system(preload, number, is_refused, exists):
    with Home() as home:
        if exists:
            with Einlass(home) as process:
                process.add("ada")
        environment = {**os.environ, "LD_PRELOAD": str(preload("network_disk")), "EINLASS_FILE_SYSTEM": number}
        done = subprocess.run([EINLASSCTL, "doctor", *home.options], env=environment, capture_output=True, text=True)
        advice = f"problem  store: {home.database} is on a file system that other machines may have"
        assert (advice in done.stdout) == is_refused, done.stdout + done.stderr
        assert ("next: Move it to a disk of this machine" in done.stdout) == is_refused
        assert done.returncode == int(is_refused)
