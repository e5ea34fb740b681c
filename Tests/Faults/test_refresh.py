"""Memory runs out or the clock jumps during a token refresh. The provider revokes the token family if a refresh token
comes twice."""
import mmap
import os
import random
import struct
import time

import pytest

from place import ADDRESS
from rotation import World
from stores import ROUNDS

# Ten minutes and a day, forwards and back; to 1970 and to 2100.
# With names, because two workers of pytest may begin in different seconds.
JUMPS = {"none": 0, "10 min on": 600, "10 min back": -600, "a day on": 86_400, "a day back": -86_400,
         "to 1970": 1000 - int(time.time()), "to 2100": 4_102_444_800 - int(time.time())}


@pytest.fixture
def world():
    world = World(0)
    yield world
    world.close()


@pytest.fixture
def clock(tmp_path, preload):
    """Yields a function that shifts the wall clock, and the environment of the processes with that clock."""
    path = tmp_path / "clock"
    path.write_bytes(bytes(8))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 8) as memory:
        yield lambda seconds: memory.__setitem__(slice(0, 8), struct.pack("=q", seconds)), {
            **os.environ, "LD_PRELOAD": str(preload("jumping_clock")), "EINLASS_CLOCK": str(path)}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
def test_the_clock_jumps_and_the_provider_is_asked_once(world, clock, jump, when):
    move, environment = clock
    world.processes = [world.spawn(env=environment) for _ in range(2)]
    world.allow()
    account, family = world.add()
    provider = world.provider
    provider.gate = lambda number, moment: move(jump) if moment == when else None
    answers = world.get(account)
    # einlass takes the shifted clock for the right one, and computes the expiry from it.
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
    # The clock is right again. A token that the shifted clock had expired is refreshed once more, and not on every
    # request.
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
        """Runs out of memory during a refresh. Returns the answer, a later answer about the same account, and the
        token family."""
        account, family = world.add()
        process, answer = world.spawn(env={**library, **variables}, is_introduced=False), None
        try:
            process.introduce()
            answer = process.call("credentials.get", account=account)
        except OSError:
            pass  # the process has ended
        process.kill() if variables.get("EINLASS_FAIL_AT") else process.close()
        world.end_lease(account)
        spoil(account)
        (after,) = world.get(account)
        assert {entry["account"]: entry["signedIn"] for entry in world.accounts()} == {other: True, account: True}
        assert world.processes[0].call("store.check")["result"]["sound"]
        assert "result" in world.get(other)[0]
        return answer, after, world.provider.families[family]

    # The negative control: an account that is removed.
    with pytest.raises(AssertionError):
        turned(lambda account: world.processes[0].call("accounts.remove", account=account))
    # Without a refused allocation everything works.
    counter = tmp_path / "count"
    answer, after, family = turned(EINLASS_COUNT_TO=str(counter))
    assert answer["result"]["credential"]["token"] == after["result"]["credential"]["token"] == family["access"]
    total, outcomes = int(counter.read_text()), {"turned": 0, "not turned": 0, "lost between answer and commit": 0}
    rounds = max(ROUNDS, 15)
    # Over TLS most allocations are for the connection to the database, which is made anew after a refused one.
    may_all_succeed = "sslcert=" in (ADDRESS or "")
    for count in range(10 * rounds):
        # A few places may all be harmless. More of them are tried then.
        if count >= rounds and (may_all_succeed or outcomes["turned"] < count):
            break
        place = random.randint(1, total)
        answer, after, family = turned(EINLASS_FAIL_AT=str(place))
        if answer and "result" in answer:
            # The token in the answer is the stored one.
            assert after["result"]["credential"]["token"] == answer["result"]["credential"]["token"] == family["access"]
            outcomes["turned"] += 1
        elif "result" in after:
            assert after["result"]["credential"]["token"] == family["access"], f"allocation {place}"
            outcomes["not turned"] += 1
        else:
            # This window cannot be closed: the provider had rotated the token, and its response was lost. einlass
            # sends the request once more (RFC 6749 section 10.4 leaves the reaction to the provider), and this provider
            # then ends the token family: 1005. If the repeated request fails too, the answer is 1007.
            assert answer is None or answer["error"]["code"] in (1005, 1007), f"allocation {place}: {answer}"
            assert after["error"]["code"] == 1005 and family["turned"], f"allocation {place}"
            outcomes["lost between answer and commit"] += 1
    report(allocations=total, **outcomes)
    assert may_all_succeed or outcomes["turned"] < sum(outcomes.values()), "nothing was refused"
