"""Many programs that need the same sign-in open one page. The others share its end."""
import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from house import CONTROL, PROJECT

sys.path += [str(PROJECT / "Tests/Control"), str(PROJECT / "Tests/Oracles")]
from browser import Visitor  # noqa: E402
from servers import running  # noqa: E402
from terminal import PATIENCE, Terminal  # noqa: E402

PAGE = "The address in the browser:"
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


def test_a_stopped_process_is_passed_over(house, programs):
    first = holder(programs)
    einlass = einlass_of(first)
    os.kill(einlass, signal.SIGSTOP)
    try:
        others = [program for program in programs if program is not first]
        await_page(others, 40)
    finally:
        os.kill(einlass, signal.SIGCONT)
    # The failure of the one that goes on decides nothing for the others.
    first.type("\x03")
    assert first.end() == 1
    allow(holder(others))
    assert [program.end() for program in others] == [0] * len(others)
    assert {last_line(program) for program in others} == {house.do("token", "gitlab").strip()}
    assert house.count("gitlab", "POST", "/oauth/token") == 1


def test_the_page_of_a_process_that_was_stopped_is_still_good(house, programs):
    first = holder(programs)
    einlass = einlass_of(first)
    os.kill(einlass, signal.SIGSTOP)
    others = [program for program in programs if program is not first]
    second = await_page(others, 40)
    os.kill(einlass, signal.SIGCONT)
    allow(second)
    assert [program.end() for program in others] == [0] * len(others)
    # The person closes the former page, and its program takes over the token of the other one.
    first.type("\x03")
    first.end()
    assert house.do("token", "gitlab").strip() == last_line(second)


def einlass_of(program):
    """The process of einlass that the program has started."""
    [child] = Path(f"/proc/{program.process}/task/{program.process}/children").read_text().split()
    return int(child)


def await_page(programs, seconds):
    """Returns the program that shows the page next."""
    deadline = time.monotonic() + seconds
    while not (asking := [program for program in programs if PAGE in program.shown]):
        left = deadline - time.monotonic()
        screens = select.select([program.screen for program in programs], [], [], max(0, left))[0]
        assert screens, "nobody asks"
        for program in programs:
            if program.screen in screens:
                program._take()
    return asking[0]


@contextlib.contextmanager
def both(house, one, other):
    """Starts two programs, the second one after the page of the first."""
    with Terminal([CONTROL, *one], **house.environment) as first:
        first.wait_for(PAGE)
        with Terminal([CONTROL, *other], **house.environment) as second:
            yield first, second


TOKEN, SIGN_IN = ("token", "gitlab", "--sign-in"), ("sign-in", "--no-browser", "--account")


@pytest.mark.parametrize("one, other", [
    (TOKEN, (*TOKEN, "--for", "other")),
    ((*SIGN_IN, "gitlab/ada", "--scope", "api"), (*SIGN_IN, "gitlab/ada", "--scope", "read_user"))], ids=["client id", "scopes"])
def test_a_sign_in_that_differs_has_its_own_page(house, one, other):
    if one != TOKEN:
        house.sign_in("gitlab")
    configuration = json.loads(house.config.read_text())
    configuration["applications"]["other"] = {"gitlab": {"clientId": "another", "clientSecret": "demo-secret"}}
    house.config.write_text(json.dumps(configuration))
    for application in ("einlassctl", "other"):
        house.allow(application, "gitlab")
    with both(house, one, other) as (_, second):
        second.wait_for(PAGE)
        assert WAIT not in second.shown
    # The control: the same sign-in waits.
    with both(house, one, one) as (_, second):
        second.wait_for(WAIT)
        assert PAGE not in second.shown


def test_another_resource_has_its_own_page(house):
    user = next(iter(house.state()["openid"]["users"]))
    house.change({"openid": {"behaviour": {"consent": "allow", "user": user}}})
    with running("resource_server.py", house.origin("openid")) as resource:
        with house.on_terminal("einlassctl", "sign-in", resource["resource"]) as terminal:
            assert terminal.end() == 0, terminal.shown
        (account,) = json.loads(house.do("accounts", "list", "--json"))["accounts"]
        one, other = [(*SIGN_IN, account["account"], resource[name]) for name in ("resource", "other")]
        with both(house, one, other) as (first, second):
            # Both have the redirect address of one registration.
            second.wait_for("A sign-in of another program uses the port")
            first.type("\x03")
            second.wait_for(PAGE)
            assert WAIT not in second.shown
        # The control: the same sign-in waits, and shares the end.
        with both(house, one, one) as (first, second):
            second.wait_for(WAIT)
            first.type("\x03")
            assert second.end() == 1 and PAGE not in second.shown


def test_a_program_without_a_grant_asks_for_access_after_its_wait(house):
    house.allow("einlassctl", "gitlab")
    with both(house, TOKEN, (*TOKEN, "--for", "stranger")) as (first, second):
        second.wait_for(WAIT)
        allow(first)
        assert first.end() == 0
        second.wait_for("“stranger” wants to use your “GitLab” accounts.")
        second.type("\x03")
        assert second.end() != 0
        assert last_line(first) == house.do("token", "gitlab").strip() and last_line(first) not in second.shown
    assert house.run("einlassctl", "token", "gitlab", "--for", "stranger")[0] == 1


def test_many_helpers_of_git_open_one_page_of_the_prompter(house, set_prompter):
    house.allow("git", "gitlab")
    set_prompter[0]("accept")
    host = house.origin("gitlab").removeprefix("http://")
    programs = [house.start("git-credential-einlass", "--sign-in", "get") for _ in range(PROGRAMS)]
    try:
        for program in programs:
            program.stdin.write(f"protocol=http\nhost={host}\n\n")
            program.stdin.close()
        answers = [(program.stdout.read(), program.stderr.read(), program.wait(60)) for program in programs]
    finally:
        for program in programs:
            program.kill()
            program.wait()
            program.stdout.close()
            program.stderr.close()
    assert [code for _, _, code in answers] == [0] * PROGRAMS, answers
    assert len({output for output, _, _ in answers}) == 1 and "password=" in answers[0][0]
    opened = [message["params"]["kind"] for message in set_prompter[1]() if message.get("method") == "prompt.opened"]
    assert opened.count("openURL") == 1
    assert house.count("gitlab", "POST", "/oauth/token") == 1


def test_another_provider_has_its_own_page(house):
    for provider in ("gitlab", "google"):
        house.allow("einlassctl", provider)
    with Terminal([CONTROL, "token", "gitlab", "--sign-in"], **house.environment) as one:
        one.wait_for(PAGE)
        with Terminal([CONTROL, "token", "google", "--sign-in"], **house.environment) as other:
            other.wait_for(PAGE)
