"""T-13: an allocation is refused, whichever it is. The process may end; what was acknowledged is there."""
import os
import random

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
    """Opens, reads, writes and seals anew; what was acknowledged, and whether everything was."""
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


def test_no_refused_allocation_loses_what_was_acknowledged(full, preload, report):
    library = preload("failing_malloc")
    with full.copy() as home:
        # The negative control: while nothing is refused, everything works.
        counter = home.path / "count"
        assert session(home, library, EINLASS_COUNT_TO=str(counter)) == (KEPT | {"new"}, True)
        total = int(counter.read_text())
    ended = 0
    for place in sorted(random.randint(1, total) for _ in range(4 * ROUNDS)):
        with full.copy() as home:
            acknowledged, is_whole = session(home, library, EINLASS_FAIL_AT=str(place))
            ended += not is_whole
            assert acknowledged <= set(home.accounts()) <= KEPT | {"new"}, f"allocation {place}"
    report(allocations=total, rounds=4 * ROUNDS, ended_early=ended, lost=0)
    assert ended > 0, "nothing was refused"
