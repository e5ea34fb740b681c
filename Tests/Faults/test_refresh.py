"""A token is being turned, and memory runs out (T-13) or the clock jumps (T-14). The provider is strict: a refresh token that comes twice ends everything."""
import mmap
import os
import random
import struct
import time

import pytest

from rotation import World
from stores import ROUNDS

# Ten minutes and a day either way, to 1970 and to 2100.
JUMPS = [0, 600, -600, 86_400, -86_400, 1000 - int(time.time()), 4_102_444_800 - int(time.time())]


@pytest.fixture
def world():
    world = World(0)
    yield world
    world.close()


@pytest.fixture
def clock(tmp_path, preload):
    """Moves the wall clock of the processes that `environment` is given to."""
    path = tmp_path / "clock"
    path.write_bytes(bytes(8))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 8) as memory:
        yield lambda seconds: memory.__setitem__(slice(0, 8), struct.pack("=q", seconds)), {
            **os.environ, "LD_PRELOAD": str(preload("jumping_clock")), "EINLASS_CLOCK": str(path)}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("jump", JUMPS)
def test_the_clock_jumps_and_the_provider_is_asked_once(world, clock, jump, when):
    move, environment = clock
    world.processes = [world.spawn(env=environment) for _ in range(2)]
    world.allow()
    account, family = world.add()
    provider = world.provider
    provider.gate = lambda number, moment: move(jump) if moment == when else None
    answers = world.get(account)
    # The clock was what it should be, and the token ends by that.
    asked_at = time.time() + jump
    for answer in answers:
        credential = answer["result"]["credential"]
        assert credential["token"] == provider.families[family]["access"]
        assert abs(credential["expiresAt"] - 3600 - asked_at) < 300
    provider.gate = lambda number, moment: None
    for _ in range(3):
        assert [answer["result"]["credential"]["token"] for answer in world.get(account)] == [
            provider.families[family]["access"]] * 2
    assert len(provider.requests) == 1
    # Back again. A token that was over by then is turned once more, and not with every question.
    move(0)
    for _ in range(3):
        assert {answer["result"]["credential"]["token"] for answer in world.get(account)} == {
            provider.families[family]["access"]}
    assert len(provider.requests) == (2 if jump < -3600 else 1)
    assert not provider.families[family]["revoked"]
    assert world.accounts()[0]["health"] == "ok"


def test_no_refused_allocation_loses_a_token_that_was_handed_out(world, preload, tmp_path, report):
    world.processes = [world.spawn()]
    world.allow()
    other, _ = world.add("grace")
    world.get(other)
    library = {**os.environ, "LD_PRELOAD": str(preload("failing_malloc"))}

    def turned(spoil=lambda account: None, **variables):
        """What a process that runs out of memory answers, and whether it kept the token, of an account that is there."""
        account, family = world.add()
        process, answer = world.spawn(env={**library, **variables}, is_introduced=False), None
        try:
            process.introduce()
            answer = process.call("credentials.get", account=account)
        except OSError:
            pass  # it has ended
        process.kill() if variables.get("EINLASS_FAIL_AT") else process.close()
        spoil(account)
        (after,) = world.get(account)
        assert {entry["account"]: entry["signedIn"] for entry in world.accounts()} == {other: True, account: True}
        assert world.processes[0].call("store.check")["result"]["sound"]
        assert "result" in world.get(other)[0]
        return answer, after, world.provider.families[family]

    # The negative control: an account that is gone afterwards.
    with pytest.raises(AssertionError):
        turned(lambda account: world.processes[0].call("accounts.remove", account=account))
    # While nothing is refused, everything works.
    counter = tmp_path / "count"
    answer, after, family = turned(EINLASS_COUNT_TO=str(counter))
    assert answer["result"]["credential"]["token"] == after["result"]["credential"]["token"] == family["access"]
    total, outcomes = int(counter.read_text()), {"turned": 0, "not turned": 0, "lost between answer and commit": 0}
    for place in sorted(random.randint(1, total) for _ in range(ROUNDS)):
        answer, after, family = turned(EINLASS_FAIL_AT=str(place))
        if answer and "result" in answer:
            # What was handed out is what is stored.
            assert after["result"]["credential"]["token"] == answer["result"]["credential"]["token"] == family["access"]
            outcomes["turned"] += 1
        elif "result" in after:
            assert after["result"]["credential"]["token"] == family["access"], f"allocation {place}"
            outcomes["not turned"] += 1
        else:
            # Nobody can close this window (C-43): the provider had turned the token, and its answer did not come through.
            assert answer is None or answer["error"]["code"] == 1007, f"allocation {place}: {answer}"
            assert after["error"]["code"] == 1005 and family["turned"], f"allocation {place}"
            outcomes["lost between answer and commit"] += 1
    report(allocations=total, rounds=ROUNDS, **outcomes)
    assert outcomes["turned"] < ROUNDS, "nothing was refused"
