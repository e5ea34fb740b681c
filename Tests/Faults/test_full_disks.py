"""A full disk of any kind: reads work, a write is refused as `full`, no acknowledged account is lost, and no signal
ends a process. With free room again everything works.

    python test_full_disks.py TEST KIND FOLDER    (in a mount namespace of its own, as root)
"""
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from stores import EINLASS, Einlass, Home, Refused

# The size of a disk and the command for its file system.
KINDS = {
    "btrfs": ("120M", ["mkfs.btrfs", "-q", "-f"]),
    "btrfs-compressed": ("120M", ["mkfs.btrfs", "-q", "-f"]),
    "btrfs-mixed": ("32M", ["mkfs.btrfs", "-q", "-f", "--mixed"]),
    "ext4-1k": ("4M", ["mkfs.ext4", "-q", "-F", "-b", "1024"]),
    "ext4-4k": ("4M", ["mkfs.ext4", "-q", "-F", "-b", "4096"]),
    "xfs": ("300M", ["mkfs.xfs", "-q", "-f"]),
    "tmpfs": ("2M", None),
    "tmpfs-512k": ("512k", None),
}
# Disks with room for little more than the store.
SMALL = ("tmpfs-512k", "ext4-4k", "ext4-1k")
# Disks on which SQLite's shared-memory index may raise SIGBUS: they allocate its blocks only on the first write.
DANGEROUS = ("btrfs", "btrfs-compressed", "btrfs-mixed", "ext4-1k")

NUMBERS = itertools.count()

READ = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM account").fetchone()[0])
"""


def on_a_disk(test, kind):
    """Returns the output of a function of this file, run on a mounted disk of this kind."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk image")
    if KINDS[kind][1] and not shutil.which(KINDS[kind][1][0]):
        pytest.skip(f"there is no {KINDS[kind][1][0]} here")
    with tempfile.TemporaryDirectory(prefix="einlass-") as folder:
        command = ["unshare", "--mount", sys.executable, __file__, test, kind, folder]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode == 77:
            pytest.skip(run.stdout.strip())
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout.strip()


def mount(kind, folder):
    """Returns the folder of a new disk. The mount and its loop device end with the namespace."""
    size, make = KINDS[kind]
    disk, image = Path(folder, "disk"), Path(folder, "image")
    disk.mkdir()
    if make:
        with open(image, "wb") as file:
            file.truncate(int(size[:-1]) << 20)
        subprocess.run([*make, image], check=True, stdout=subprocess.DEVNULL)
        command = ["mount", "-o", "loop", image, disk]
    else:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", disk]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode != 0:
        print(f"no {kind} can be mounted here: {mounted.stderr.strip()}")
        sys.exit(77)
    if kind == "btrfs-compressed":
        subprocess.run(["chattr", "+c", disk], check=True)  # inherited by its files
    tempfile.tempdir = str(disk)
    return disk


class Filler:
    """Foreign files that take all free room."""

    def __init__(self, disk):
        self.folder = disk / "others"
        self.folder.mkdir()
        self.count = 0
        self.fill()

    def fill(self):
        # A file system may hold room back for a moment, so it counts as full only when no attempt succeeds.
        while self.take(1 << 26) + self.take(1 << 12, writes=True):
            os.sync()

    def take(self, size, writes=False):
        """Adds one file and returns its size, in steps of this many bytes that are halved after each failure."""
        self.count += 1
        taken = 0
        try:
            descriptor = os.open(self.folder / str(self.count), os.O_WRONLY | os.O_CREAT)
        except OSError:
            return 0
        while size >= 512:
            try:
                if writes:
                    taken += os.write(descriptor, bytes(size))
                else:
                    os.posix_fallocate(descriptor, taken, size)
                    taken += size
            except OSError:
                size //= 2
        os.close(descriptor)
        return taken

    def remove(self):
        shutil.rmtree(self.folder)
        os.sync()


def names(process):
    return {account["username"] for account in process.accounts()}


def refusals(process):
    """Adds accounts until the disk is full, and returns the acknowledged ones."""
    known = names(process)
    added, _ = process.fill(f"user{next(NUMBERS)}" for _ in range(2000))
    assert names(process) == known | added
    return added


def stock(home):
    """Returns the outcome of reading the store with plain SQLite, in a process of its own."""
    run = subprocess.run([sys.executable, "-c", READ, home.database], capture_output=True, text=True)
    if run.returncode == -signal.SIGBUS:
        return "SIGBUS"
    return "reads" if run.returncode == 0 else run.stderr.strip().splitlines()[-1]


def processor_seconds(process, seconds):
    """Returns the processor time of an idle process during these seconds."""
    def used():
        words = Path(f"/proc/{process.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(seconds)
    return used() - before


def usernames(prefix, count):
    return {f"{prefix}{number}" for number in range(count)}


def add(process, expected):
    for name in sorted(expected):
        process.add(name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_fills_up_under_a_running_process(kind, report):
    report(outcome=on_a_disk("running", kind))


def running(disk, kind):
    expected = usernames("early", 10)
    with Home() as home:
        with Einlass(home) as process:
            add(process, expected)
            filler = Filler(disk)
            expected |= refusals(process)
            filler.fill()
            assert names(process) == expected
            # A new process reads and refuses too.
            with Einlass(home) as other:
                assert names(other) == expected
                expected |= refusals(other)
            assert names(process) == expected
            filler.remove()
            process.add("room again")
        assert set(home.accounts()) == expected | {"room again"}
    print(f"{len(expected) + 1} acknowledged, none lost")


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_is_full_before_a_process_starts(kind, report):
    report(outcome=on_a_disk("before", kind))


def before(disk, kind):
    fared = []
    for has_index in (True, False):
        for has_journal in (True, False):
            with Home() as home:
                expected = usernames("early", 10)
                process = Einlass(home)
                add(process, expected)
                process.kill() if has_journal else process.end()
                index, journal = (home.database.with_name("store.db" + suffix) for suffix in ("-shm", "-wal"))
                assert (journal.stat().st_size > 0) == has_journal
                if not has_index:
                    index.unlink()
                filler = Filler(disk)
                for _ in range(2):
                    with Einlass(home) as process:
                        assert names(process) == expected
                        expected |= refusals(process)
                    filler.fill()
                # The negative control: plain SQLite, which truncates the index first.
                fared.append(stock(home))
                with Einlass(home) as process:
                    process.call("initialize", client={"name": "editor"})
                    assert names(process) == expected
                    assert processor_seconds(process, seconds=0.5) < 0.2, "reading the store rings its own watch"
                filler.remove()
                with Einlass(home) as process:
                    process.add("room again")
                assert set(home.accounts()) == expected | {"room again"}
    assert kind not in DANGEROUS or set(fared) != {"reads"}
    print(f"none lost; SQLite alone: {fared}")


@pytest.mark.parametrize("method", ["accounts.list", "store.check"])
def test_a_read_after_a_snapshot_on_a_full_disk_ends_no_process(method, report):
    report(outcome=on_a_disk("snapshot_" + method.replace(".", "_"), "btrfs"))


def snapshot(disk, method):
    """After a snapshot btrfs writes each page of the index to a new block, and a full disk has none."""
    subprocess.run(["btrfs", "subvolume", "create", disk / "home"], check=True, stdout=subprocess.DEVNULL)
    outcomes = []
    with Home(disk / "home") as home, Einlass(home) as writer, Einlass(home) as reader:
        add(writer, usernames("early", 10))
        reader.call(method)
        for number in range(3):
            writer.add(f"more{number}")
            os.sync()
            subprocess.run(["btrfs", "subvolume", "snapshot", disk / "home", disk / str(number)], check=True,
                           stdout=subprocess.DEVNULL)
            filler = Filler(disk)
            try:
                reader.call(method)
                outcomes.append("answered")
            except Refused as refused:
                outcomes.append(refused.detail)
            filler.remove()
    assert set(outcomes) <= ({"answered"} if method == "accounts.list" else {"answered", "full"}), outcomes
    print(", ".join(outcomes))


@pytest.mark.parametrize("method", ["accounts.list", "store.check"])
def test_a_truncated_index_ends_no_process(method):
    """Causes the same SIGBUS as an index page without a disk block, on the event loop or on another thread."""
    with Home() as home, Einlass(home) as process:
        process.add("ada")
        process.call("store.check")
        os.truncate(home.database.with_name("store.db-shm"), 0)
        try:
            process.call(method)
        except Refused as refused:
            assert refused.detail == "full"
        assert process.call("rpc.discover")["methods"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_can_be_read_after_its_disk_becomes_read_only(kind, report):
    report(outcome=on_a_disk("read_only", kind))


def remount_read_only(disk):
    # The kernel may close a killed process's files a moment after its end.
    deadline = time.monotonic() + 30
    while subprocess.run(["mount", "-o", "remount,ro", disk]).returncode != 0:
        assert time.monotonic() < deadline, "the disk stays busy"
        time.sleep(0.1)


def read_only(disk, kind):
    for has_index in (True, False):
        for has_journal in (True, False):
            with Home() as home:
                expected = usernames("early", 10)
                process = Einlass(home)
                add(process, expected)
                process.kill() if has_journal else process.end()
                if not has_index:
                    home.database.with_name("store.db-shm").unlink()
                remount_read_only(disk)
                with Einlass(home) as process:
                    assert names(process) == expected
                    with pytest.raises(Refused) as refused:
                        process.add("late")
                    assert refused.value.detail == "readOnly"
                subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
                # The negative control.
                with Einlass(home) as process:
                    process.add("late")
                assert set(home.accounts()) == expected | {"late"}
    print("read, with and without a journal and an index")


@pytest.mark.parametrize("kind", SMALL)
def test_a_full_disk_takes_as_many_accounts_after_all_are_removed(kind, report):
    report(outcome=on_a_disk("small", kind))


def small(disk, kind):
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with open(disk / "others", "wb") as others:
        os.posix_fallocate(others.fileno(), 0, max(free - 600_000, 1))
    with Home() as home:
        with Einlass(home) as process:
            count = len(refusals(process))
            # The negative control: an open read transaction keeps the journal from releasing room.
            reader = sqlite3.connect(home.database)
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM account").fetchone()
            while "the journal has room":
                try:
                    process.call("accounts.remove", account=process.accounts()[0]["account"])
                except Refused as refusal:
                    assert refusal.detail == "full"
                    break
            reader.close()
        # A process that starts on the full disk removes all accounts.
        with Einlass(home) as process:
            refusals(process)
            for account in process.accounts():
                process.call("accounts.remove", account=account["account"])
            again = len(refusals(process))
            expected = names(process)
        assert set(home.accounts()) == expected
    assert again > count * 0.8
    print(f"{count} accounts fitted, and {again} after those were removed")


def test_a_first_start_without_room_leaves_no_key(report):
    report(outcome=on_a_disk("first", "tmpfs"))


def first(disk, _):
    refused = 0
    for kilobytes in range(8, 720, 8):
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", disk], check=True)
        with Home() as home:
            usual = {"HOME": str(home.path), "PATH": os.environ["PATH"]}
            keys = home.path / ".local/state/einlass/keys"
            for options, environment, folder in ((home.options, None, home.keys), ([], usual, keys)):
                account = {"provider": "twitter", "username": "ada", "credential": {
                    "type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "z"}}
                run = subprocess.run([EINLASS, *options, "call", "accounts.add", json.dumps(account)], env=environment,
                                     capture_output=True, text=True)
                made = list(folder.iterdir()) if folder.exists() else []
                refused += run.returncode != 0
                assert len(made) == (run.returncode == 0), (kilobytes, made, run.stderr)
    # The negative control: with enough room the store and its key are created.
    assert refused > 5 and run.returncode == 0
    print(f"{refused} of {2 * 89} first starts refused")


if __name__ == "__main__":
    test, kind, folder = sys.argv[1:]
    {"running": running, "before": before, "read_only": read_only, "small": small, "first": first,
     "snapshot_accounts_list": lambda disk, _: snapshot(disk, "accounts.list"),
     "snapshot_store_check": lambda disk, _: snapshot(disk, "store.check")}[test](mount(kind, folder), kind)
