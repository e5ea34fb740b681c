"""A full disk: acknowledged changes are kept, the process lives, and it works again when there is room. A read-only
disk: a complete store can be read.

    python test_disks.py NAME FOLDER    (in a mount namespace of its own)
"""
import fcntl
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stores import EINLASS, Einlass, Home, Refused

LIMIT_BYTES = 200_000


def names(preload, folder, command):
    """Returns the folders that a command makes, and those without a sync of their parent afterwards."""
    noted = folder / "names"
    environment = {**os.environ, "HOME": str(folder), "LD_PRELOAD": str(preload("naming")), "EINLASS_NAMES": str(noted)}
    for variable in "XDG_DATA_HOME", "XDG_STATE_HOME":
        environment.pop(variable, None)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    lines = [line.split(" ", 1) for line in noted.read_text().splitlines()]
    noted.unlink()
    made = [path for what, path in lines if what == "made"]
    return made, [path for path in made if ["synced", str(Path(path).parent)] not in lines[lines.index(["made", path]):]]


def test_the_name_of_a_new_folder_is_synced(preload):
    with Home() as home:
        account = {"provider": "twitter", "username": "ada", "credential":
                   {"type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "cs"}}
        made, lost = names(preload, home.path, [EINLASS, "call", "accounts.add", json.dumps(account)])
        assert {Path(path).name for path in made} >= {"share", "state", "keys", "einlass"} and lost == []
        # The negative control: a program without syncs.
        made, lost = names(preload, home.path, [sys.executable, "-c", "import os, sys; os.makedirs(sys.argv[1])", str(home.path / "a/b")])
        assert len(made) == len(lost) == 2


def limit_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, resource.RLIM_INFINITY))


@pytest.mark.parametrize("has_journal", [True, False])
@pytest.mark.parametrize("keeps_index", [True, False])
def test_a_change_that_could_not_be_synced_does_not_come_back(has_journal, keeps_index, preload):
    with Home() as home:
        switch = home.path / "failing"
        with Einlass(home) as process:
            process.add("early")
        environment = {**os.environ, "LD_PRELOAD": str(preload("failing_sync")), "EINLASS_SYNC_FAILS": str(switch)}
        process = Einlass(home, env=environment)
        if has_journal:
            process.add("later")
        switch.touch()
        for name in ("refused", "refused too"):
            with pytest.raises(Refused) as refused:
                process.add(name)
            assert refused.value.detail == "full"
        process.kill()
        # A start without the index reads the journal.
        if not keeps_index:
            home.database.with_name("store.db-shm").unlink()
        expected = {"early", "later"} if has_journal else {"early"}
        assert set(home.accounts()) == expected
        # The control: the same change, synced, is found after a kill.
        switch.unlink()
        process = Einlass(home, env=environment)
        process.add("synced")
        process.kill()
        assert set(home.accounts()) == expected | {"synced"}


def test_a_limit_on_files_loses_nothing(report):
    with Home() as home:
        # SIGXFSZ has its default action, which ends a process.
        with Einlass(home, preexec_fn=limit_size, restore_signals=True) as process:
            added, refused = process.fill(f"user{number}" for number in range(20_000))
            assert {account["username"] for account in process.accounts()} == added
            assert process.call("store.check")["sound"]
            resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE,
                             (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            process.add("room again")
        found = set(home.accounts())
    report(acknowledged=len(added), refused=len(refused), lost=len(added - found))
    assert found == added | {"room again"}
    # The negative control: the check would miss the refused accounts.
    assert refused - found == refused


def in_a_namespace(name):
    """Returns the output of a function of this file, run in a namespace with the right to mount."""
    with tempfile.TemporaryDirectory(prefix="einlass-") as folder:
        namespace = ["unshare", "--map-root-user", "--mount"]
        try:
            mounted = subprocess.run([*namespace, "mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode
        except OSError:
            mounted = -1
        if mounted != 0:
            pytest.skip("no file system may be mounted here, not even in a namespace of one's own")
        run = subprocess.run([*namespace, sys.executable, __file__, name, folder], capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout.strip()


def test_a_full_disk_loses_nothing(report):
    report(outcome=in_a_namespace("full"))


def full(folder):
    """A disk of 1 MiB. A foreign file takes a third of it and is removed at the end."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", folder], check=True)
    tempfile.tempdir = folder
    other = Path(folder, "other")
    other.write_bytes(bytes(350_000))
    with Home() as home:
        with Einlass(home) as process:
            added, refused = process.fill(f"user{number}" for number in range(20_000))
            assert {account["username"] for account in process.accounts()} == added
            other.unlink()
            process.add("room again")
        found = set(home.accounts())
        assert found == added | {"room again"} and refused - found == refused
    print(f"{len(added)} acknowledged, {len(refused)} refused, {len(added - found)} lost")


def test_a_store_on_a_read_only_mount_can_be_read(report):
    report(outcome=in_a_namespace("read_only"))


def read_only(folder):
    """A store on a mount that becomes read-only: without a journal, and with changes in one."""
    for is_complete in (True, False):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "none", folder], check=True)
        tempfile.tempdir = folder
        home = Home()
        process = Einlass(home)
        process.add("ada")
        if is_complete:
            process.end()
        else:
            process.kill()
            assert home.database.with_name("store.db-wal").stat().st_size > 0
        # Without `bind` the mount would get its old options again, and these are not permitted to an ordinary user.
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        with Einlass(home) as process:
            assert [account["username"] for account in process.accounts()] == ["ada"]
            assert process.call("store.status")["readOnly"]
            assert process.call("store.check")["sound"]
            assert refusal(lambda: process.add("grace")) == "readOnly"
            assert refusal(lambda: process.call("store.rotateKey")) == "readOnly"
        # The negative control.
        subprocess.run(["mount", "-o", "remount,bind,rw", folder], check=True)
        with Einlass(home) as process:
            process.add("grace")
        assert set(home.accounts()) == {"ada", "grace"}
        subprocess.run(["umount", folder], check=True)
    print("read, complete and with changes in a journal")


def rotation():
    """Returns the module `rotation`, with a file system of its own for its folders."""
    folder = sys.argv[2]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "none", folder], check=True)
    import rotation

    rotation.FOLDER = folder
    return rotation


def test_no_token_is_refreshed_when_the_new_one_could_not_be_stored(report):
    report(outcome=in_a_namespace("refresh"))


def refresh(_):
    """First the store's file alone is read-only, then its folder too."""
    world = rotation().World(1)
    # A token that was refreshed before can still be read.
    other, _ = world.add("grace")
    world.get(other)
    account, family = world.add()
    requests = world.provider.requests

    def asked_once():
        world.processes = [world.spawn()]
        assert len(world.accounts()) == 2 and "result" in world.get(other)[0]
        (answer,) = world.get(account)
        world.processes.pop().close()
        return answer

    world.processes.pop().close()
    for name in ("data/store.db", "data"):
        place = world.folder / name
        subprocess.run(["mount", "--bind", place, place], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        answer = asked_once()
        assert answer["error"]["data"]["detail"] == "readOnly", answer
        assert len(requests) == 1, name
        subprocess.run(["umount", place], check=True)
    # The negative control.
    assert asked_once()["result"]["credential"]["token"] == world.provider.families[family]["access"]
    assert len(requests) == 2
    world.close()
    print("the provider was not asked")


def test_no_browser_is_opened_when_the_token_could_not_be_stored(report):
    report(outcome=in_a_namespace("sign_in"))


def sign_in(_):
    """The store is read-only, or its folder, or there is no store and none can be created."""
    module = rotation()
    world = module.World(0, flow="authorizationCode")

    def end(method, **params):
        """Returns the error's detail, and whether a prompt was opened."""
        process = world.spawn(is_introduced=False)
        process.call("initialize", client={"name": "disks"}, applications={"rotating": {"clientId": module.CLIENT}},
                     capabilities={"prompts": ["grantAccess", "openURL"]})
        asked = process.send(method, **params)
        is_asked = False
        while (message := process.lines.get(timeout=60)).get("id") != asked:
            if message.get("method") == "prompt.opened":
                is_asked = True
                process.send("prompt.answer", prompt=message["params"]["prompt"], action="cancel")
        process.close()
        return message["error"]["data"].get("detail"), is_asked

    def ends():
        at = {"provider": "rotating"}
        return [end("accounts.signIn", **at), end("auth.perform", **at, signIn="ifNeeded")]

    def elsewhere():
        return end("accounts.signIn", resource="http://127.0.0.1:9/mcp")

    for name in ("", "data", "data/store.db"):
        place = world.folder / name
        if name and not place.exists():
            process = world.spawn()
            process.call("accounts.add", provider="twitter", username="ada", credential={
                "type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "z"})
            process.close()
        subprocess.run(["mount", "--bind", place, place], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        assert ends() == [("readOnly", False)] * 2 and elsewhere() == ("readOnly", False), (name, ends())
        subprocess.run(["umount", place], check=True)
        # The negative control.
        assert ends() == [(None, True)] * 2 and elsewhere()[0] != "readOnly", (name, ends())
    world.close()
    print("nobody was asked")


def test_a_lock_on_another_disk_is_not_taken_for_the_stores(report):
    report(outcome=in_a_namespace("twin"))


def twin(folder):
    """Files on two disks have the same inode numbers. Another program holds a lock on the other disk."""
    disks = [Path(folder, name) for name in ("ours", "theirs")]
    for disk in disks:
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700,inode64", "none", disk], check=True)
    tempfile.tempdir = str(disks[0])
    home = Home()
    with Einlass(home) as process:
        process.add("ada")
        number = home.database.with_name("store.lock").stat().st_ino
        files = (disks[1] / str(count) for count in range(5000))
        lock = next(file for file in map(lambda path: open(path, "w"), files) if os.stat(file.fileno()).st_ino == number)
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "holder" not in process.call("store.status")
    # The control: the store's own lock.
    with open(home.database.with_name("store.lock")) as lock, Einlass(home) as process:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert process.call("store.status")["holder"] == os.getpid()
    print("no holder is named")


def refusal(body):
    """Returns the detail of a refused request."""
    try:
        body()
    except Refused as refused:
        return refused.detail
    raise AssertionError("it was not refused")


if __name__ == "__main__":
    {"full": full, "read_only": read_only, "refresh": refresh, "sign_in": sign_in, "twin": twin}[sys.argv[1]](os.path.abspath(sys.argv[2]))
