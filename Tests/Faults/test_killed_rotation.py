"""A process is killed during a key rotation: the store is sealed under the old key or the new one, never both. A
process killed during a backup leaves no partial copy, only a hidden file with the store's permissions."""
import random
import re
import shutil
import stat

import pytest

from stores import ROUNDS, Einlass, Ended, Home, pause

ACCOUNTS = 500


@pytest.fixture(scope="module")
def full():
    with Home() as home:
        with Einlass(home) as process:
            for number in range(ACCOUNTS):
                process.add(f"user{number}")
            process.call("providers.configure", provider="github", clientId="c", clientSecret="s")
        yield home


def generations(home):
    """Returns the key ids of the sealed cells, and the store's current key id."""
    cells = " UNION ".join(f"SELECT hex(substr({column}, 2, 4)) FROM credential"
                           for column in ("token", "token_secret", "client_secret"))
    cells += " UNION SELECT hex(substr(client_secret, 2, 4)) FROM registration"
    return {row[0] for row in home.sql(cells)}, home.sql("SELECT hex(key_id) FROM meta")[0][0]


def faults(home):
    """Returns the number of findings of `store.check` and of key ids other than the current one."""
    with Einlass(home) as process:
        check = process.call("store.check")
    found, current = generations(home)
    assert check["accounts"] == ACCOUNTS
    return check["countFindings"] + len(found - {current})


def killed_at(process, percent):
    """Kills the process soon after it reports this much progress; more than 100 means after its answer. Returns the
    last reported progress."""
    process.send("store.rotateKey")
    done = 0
    try:
        while percent > 0:
            message = process.message()
            done = 101 if "id" in message else message["params"]["done"] * 100 // ACCOUNTS
            if done >= percent:
                break
        pause(0.005)
    except Ended:
        raise AssertionError("it ended by itself") from None
    process.kill()
    return done


def test_a_kill_leaves_the_old_key_or_the_new_one(full, report):
    before = generations(full)[1]
    outcomes = {"old": 0, "new": 0}
    interrupted, wrong = 0, 0
    for number in range(ROUNDS):
        with full.copy() as home:
            done = killed_at(Einlass(home), [random.randint(0, 99), 1, 100, 100, 101][number % 5])
            wrong += faults(home)
            outcome = "old" if generations(home)[1] == before else "new"
            assert outcome == "new" or done <= 100, "it was acknowledged"
            outcomes[outcome] += 1
            interrupted += outcome == "old" and done > 0
    report(rounds=ROUNDS, undecryptable=wrong, interrupted=interrupted, **outcomes)
    assert wrong == 0
    if ROUNDS >= 20:
        assert interrupted > 0 and outcomes["new"] > 0, "no kill fell into the rotation, or none after it"


def test_the_negative_control_a_rotation_in_two_steps_is_found(full, report):
    with full.copy() as home:
        with Einlass(home) as process:
            assert process.call("store.rotateKey")["sealedValues"] == 3 * ACCOUNTS + 1
        assert faults(home) == 0
        shutil.copy(full.database, home.path / "old.db")
        home.sql(f"ATTACH '{home.path}/old.db' AS old", """
            UPDATE credential SET token = (SELECT o.token FROM old.credential AS o WHERE o.account = credential.account)
            WHERE rowid % 2""")
        wrong = faults(home)
    report(undecryptable=wrong)
    assert wrong > ACCOUNTS / 4


def copied(full, kill_after):
    """Returns the names of the files left by a backup whose process is killed soon after so many messages; with None
    it is not killed."""
    with full.copy() as home:
        process = Einlass(home)
        process.send("store.backup", path=str(home.path / "copy.db"))
        while kill_after is None or kill_after > 0:
            if "id" in process.message():
                break
            kill_after = kill_after and kill_after - 1
        pause(0.002)
        process.kill() if kill_after is not None else process.end()
        left = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.path.iterdir() if path.is_file()}
        assert set(left.values()) <= {0o600} and faults(home) == 0
        with Einlass(home) as process:
            if "copy.db" in left:
                shutil.move(home.path / "copy.db", home.database)
                home.database.with_name("store.db-wal").unlink(missing_ok=True)
            else:
                process.call("store.backup", path=str(home.path / "copy.db"))
        if "copy.db" in left:
            assert faults(home) == 0
        return set(left)


def test_a_killed_backup_leaves_a_whole_copy_or_none(full, report):
    # 9 falls after the answer.
    left = [copied(full, [0, 1, 1, 2, 9][number % 5]) for number in range(ROUNDS)]
    hidden = [names - {"copy.db"} for names in left]
    assert all(re.fullmatch(r"\.copy\.db\.[0-9a-f]{16}(-journal)?", name) for names in hidden for name in names)
    assert copied(full, None) == {"copy.db"}  # the control: without a kill
    left_hidden, whole = sum(map(bool, hidden)), sum("copy.db" in names for names in left)
    report(rounds=ROUNDS, left_hidden=left_hidden, whole=whole)
    if ROUNDS >= 20:
        assert left_hidden > 0 and whole > 0, "no kill fell into the copying, or none after it"
