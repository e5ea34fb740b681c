"""T-04: a process is killed while it seals everything anew; the store has one key, the old or the new one."""
import random
import shutil

import pytest

from stores import ROUNDS, Einlass, Ended, Home, pause

ACCOUNTS = 500


@pytest.fixture(scope="module")
def full():
    with Home() as home:
        with Einlass(home) as process:
            for number in range(ACCOUNTS):
                process.add(f"user{number}")
        yield home


def generations(home):
    """The key ids that sealed cells name, and the one that counts."""
    cells = " UNION ".join(f"SELECT hex(substr({column}, 2, 4)) FROM credential"
                           for column in ("token", "token_secret", "client_secret"))
    return {row[0] for row in home.sql(cells)}, home.sql("SELECT hex(key_id) FROM meta")[0][0]


def faults(home):
    """Cells that do not open, and generations that should not be there."""
    with Einlass(home) as process:
        check = process.call("store.check")
    found, current = generations(home)
    assert check["accounts"] == ACCOUNTS
    return check["countFindings"] + len(found - {current})


def killed_at(process, percent):
    """Kills it soon after it told this much progress; more than 100 is its answer."""
    process.send("store.rotateKey")
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


def test_a_kill_leaves_the_old_key_or_the_new_one(full, report):
    before = generations(full)[1]
    outcomes = {"old": 0, "new": 0}
    wrong = 0
    for _ in range(ROUNDS):
        with full.copy() as home:
            killed_at(Einlass(home), random.choice([random.randint(0, 99), 100, 100, 101]))
            wrong += faults(home)
            outcomes["old" if generations(home)[1] == before else "new"] += 1
    report(rounds=ROUNDS, undecryptable=wrong, **outcomes)
    assert wrong == 0


def test_the_negative_control_a_rotation_in_two_steps_is_found(full, report):
    with full.copy() as home:
        with Einlass(home) as process:
            assert process.call("store.rotateKey")["sealedValues"] == 3 * ACCOUNTS
        assert faults(home) == 0
        shutil.copy(full.database, home.path / "old.db")
        home.sql(f"ATTACH '{home.path}/old.db' AS old", """
            UPDATE credential SET token = (SELECT o.token FROM old.credential AS o WHERE o.account = credential.account)
            WHERE rowid % 2""")
        wrong = faults(home)
    report(undecryptable=wrong)
    assert wrong > ACCOUNTS / 4
