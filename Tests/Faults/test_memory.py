"""Memory or descriptors run out. The process may end, but no acknowledged account is lost."""
import os
import random
import resource

import pytest

from stores import ROUNDS, Einlass, Ended, Home, Refused

KEPT = {f"user{number}" for number in range(3)}


@pytest.fixture(scope="module")
def full():
    with Home() as home:
        with Einlass(home) as process:
            for name in sorted(KEPT):
                process.add(name)
        yield home


def session(home, library, **variables):
    """Opens the store, reads, writes and rotates the key. Returns the acknowledged accounts, and whether every
    request succeeded."""
    environment = {**os.environ, "LD_PRELOAD": str(library), **variables}
    acknowledged = set(KEPT)
    process = Einlass(home, env=environment)
    try:
        process.call("accounts.list")
        process.add("new")
        acknowledged.add("new")
        process.call("store.rotateKey")
        process.call("store.check")
        process.end()
        return acknowledged, True
    except (Ended, Refused, AssertionError):
        return acknowledged, False
    finally:
        process.kill()


def lost(home, acknowledged):
    """Returns the acknowledged accounts that are missing from the store."""
    found = set(home.accounts())
    assert found <= KEPT | {"new"}
    return acknowledged - found


def test_no_refused_allocation_loses_an_acknowledged_account(full, preload, report):
    library = preload("failing_malloc")
    with full.copy() as home:
        # Without a refused allocation everything works.
        counter = home.path / "count"
        assert session(home, library, EINLASS_COUNT_TO=str(counter)) == (KEPT | {"new"}, True)
        total = int(counter.read_text())
    ended = 0
    for place in sorted(random.randint(1, total) for _ in range(ROUNDS)):
        with full.copy() as home:
            acknowledged, is_whole = session(home, library, EINLASS_FAIL_AT=str(place))
            ended += not is_whole
            assert lost(home, acknowledged) == set(), f"allocation {place}"
    report(allocations=total, rounds=ROUNDS, ended_early=ended, lost=0)
    assert ended > 0, "nothing was refused"


def test_the_negative_control_an_account_that_is_gone_is_missed(full):
    with full.copy() as home:
        with Einlass(home) as process:
            account = next(one["account"] for one in process.accounts() if one["username"] == "user1")
            process.call("accounts.remove", account=account)
        assert lost(home, KEPT) == {"user1"}


def test_without_descriptors_nothing_is_lost_and_no_missing_file_is_blamed(full, report):
    outcomes = {}
    for limit in range(4, 32):
        with full.copy() as home:
            process = Einlass(home, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            outcome, expected = "added", KEPT | {"new"}
            try:
                process.add("new")
            except Refused as refused:
                outcome, expected = "refused", KEPT
                assert "does not exist" not in refused.error["message"], f"{limit}: {refused.error}"
            except Ended:
                outcome, expected = "ended", KEPT
            process.kill()
            assert set(home.accounts()) == expected, limit
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    report(**outcomes)
    assert set(outcomes) == {"added", "refused", "ended"}
