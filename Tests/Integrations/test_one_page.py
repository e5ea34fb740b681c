"""Many programs that need the same sign-in open one page. The others share its end."""
import os
import select
import signal
import sys

import pytest

from house import CONTROL, PROJECT

sys.path += [str(PROJECT / "Tests/Control"), str(PROJECT / "Tests/Oracles")]
from browser import Visitor  # noqa: E402
from terminal import PATIENCE, Terminal  # noqa: E402

PAGE = "paste the address of that page here:"
WAIT = "Another program asks for the same sign-in."
PROGRAMS = 20


@pytest.fixture
def programs(house):
    """Starts the programs, each on a terminal of its own, and waits until each shows the page or its wait."""
    house.allow("einlassctl", "gitlab")
    running = [Terminal([CONTROL, "token", "gitlab", "--sign-in"], **house.environment) for _ in range(PROGRAMS)]
    try:
        yield running
    finally:
        for program in running:
            program.__exit__()


def holder(programs):
    """Returns the only program with the page, after all programs have shown the page or their wait."""
    for program in programs:
        while PAGE not in program.shown and WAIT not in program.shown:
            assert program._read(program.end_of_process), program.shown
    asking = [program for program in programs if PAGE in program.shown]
    assert len(asking) == 1
    return asking[0]


def allow(program):
    page = next(word for word in program.shown.split() if word.startswith("http"))
    program.type(Visitor().open(page).press("allow").location + "\r")


def last_line(program):
    return program.shown.strip().splitlines()[-1]


def test_one_page_signs_all_of_them_in(house, programs):
    allow(holder(programs))
    assert [program.end() for program in programs] == [0] * PROGRAMS
    assert {last_line(program) for program in programs} == {house.do("token", "gitlab").strip()}
    assert house.count("gitlab", "POST", "/oauth/token") == 1


def test_a_cancelled_page_ends_all_of_them(house, programs):
    holder(programs).type("\x03")
    assert [program.end() for program in programs] == [1] * PROGRAMS
    assert sum("The sign-in of another program has ended" in program.shown for program in programs) == PROGRAMS - 1
    with Terminal([CONTROL, "token", "gitlab", "--sign-in"], **house.environment) as later:
        later.wait_for(PAGE)
        allow(later)
        assert later.end() == 0


def test_the_next_one_asks_after_the_end_of_the_first_process(programs):
    first = holder(programs)
    os.kill(first.process, signal.SIGKILL)
    first.code = os.waitpid(first.process, 0)[1]
    others = [program for program in programs if program is not first]
    while not any(PAGE in program.shown for program in others):
        screens = select.select([program.screen for program in others], [], [], PATIENCE)[0]
        assert screens, "nobody asks"
        for program in others:
            if program.screen in screens:
                program._take()
    allow(holder(others))
    assert [program.end() for program in others] == [0] * len(others)


def test_another_provider_has_its_own_page(house):
    for provider in ("gitlab", "google"):
        house.allow("einlassctl", provider)
    with Terminal([CONTROL, "token", "gitlab", "--sign-in"], **house.environment) as one:
        one.wait_for(PAGE)
        with Terminal([CONTROL, "token", "google", "--sign-in"], **house.environment) as other:
            other.wait_for(PAGE)
