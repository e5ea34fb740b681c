"""A network file system lacks the locks and the shared memory of a store."""
import os

import pytest

from stores import Einlass, Home, Refused


@pytest.mark.parametrize("number, is_refused", [("6969", True), ("FE534D42", True), ("EF53", False)],
                         ids=["nfs", "smb", "control: ext4"])
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
