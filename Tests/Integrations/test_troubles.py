"""Each program of clients/RECIPES.md with a good token, with an old and a refused one, and without one.

    python -m pytest Tests/Integrations/test_troubles.py -k "git and locked"
"""
import concurrent.futures
import contextlib
import json
import os
import subprocess
import time
import urllib.request
from collections import namedtuple
from types import SimpleNamespace

import pytest

import programs
from house import PATIENCE, SANDBOX, House, make_certificate, missing, needs, open_gate, server_context
from mail_server import SUBMISSION, open_mail_server
from registry import open_registry
from troubles import PROVIDERS, TITLES, TROUBLES, trouble

# The function of programs.py, the name for `access set`, the provider, and the installed programs that it needs.
Program = namedtuple("Program", "run application provider needed")
PROGRAMS = {
    "git": Program(programs.git, "git", "gitlab", ["git"]),
    "curl": Program(programs.curl, "einlassctl", "gitlab", ["curl"]),
    "kubectl": Program(programs.kubectl, "kubectl", "google", ["kubectl"]),
    "cargo": Program(programs.cargo, "cargo", "gitlab", ["cargo"]),
    "docker": Program(programs.docker, "docker", "gitlab", ["docker", "skopeo", "docker-registry"]),
    "skopeo": Program(programs.skopeo, "docker", "gitlab", ["skopeo", "docker-registry"]),
    "pip": Program(programs.pip, "keyring", "gitlab", []),
    "uv": Program(programs.uv, "keyring", "gitlab", []),
    "twine": Program(programs.twine, "keyring", "gitlab", []),
    "requests": Program(programs.requests, "script", "gitlab", []),
    "httpx": Program(programs.httpx, "script", "gitlab", []),
    "msmtp": Program(programs.msmtp, "einlassctl", "gitlab", ["msmtp", "dovecot"]),
    "neomutt": Program(programs.neomutt, "einlassctl", "gitlab", ["neomutt", "dovecot"]),
    "mbsync": Program(programs.mbsync, "einlassctl", "gitlab", ["mbsync", "dovecot"]),
    "offlineimap": Program(programs.offlineimap, "einlassctl", "gitlab", ["offlineimap", "dovecot"]),
    "aerc": Program(programs.aerc, "einlassctl", "gitlab", ["aerc", "dovecot"]),
    "mcp": Program(programs.mcp, "mcp", "gitlab", []),
}
APPLICATIONS = sorted({program.application for program in PROGRAMS.values()})
GOOD, OLD, REFUSED = "good token", "old token", "refused token"
# A refused token: git erases it, and these libraries try again with a new one. The others need einlassctl reject.
ERASES, TRIES_AGAIN = ("git",), ("requests", "httpx")
# Exit codes without a token and with a refused one, if they are not 1. aerc shows its screen until it is told to quit.
CODES = {"git": (128, 128), "curl": (22, 22), "cargo": (101, 101), "msmtp": (78, 77), "aerc": (1, 0)}
# This one hides the line of einlassctl.
HIDING = ("aerc",)


def is_hanging(name, state):
    return (name, state) == ("mbsync", REFUSED)


def is_run(name, state):
    return not is_hanging(name, state) and not missing(*PROGRAMS[name].needed)


def each(*states):
    """Parametrizes a test with the programs and with these states."""
    found = []
    for state in states:
        for name, program in PROGRAMS.items():
            marks = [needs(*program.needed)]
            if "dovecot" in program.needed:
                marks.append(pytest.mark.skipif(not SUBMISSION.exists(), reason="skipped: there is no dovecot-submissiond"))
            if is_hanging(name, state):
                marks.append(pytest.mark.skip(reason=f"skipped: {name} 1.4 waits for ever when a server refuses its token"))
            found.append(pytest.param(name, state, marks=marks, id=f"{name}-{state}"))
    return pytest.mark.parametrize("name, state", found)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A sandbox, and a server of each kind that asks it about each token."""
    folder = tmp_path_factory.mktemp("servers")
    with contextlib.ExitStack() as stack:
        start = stack.enter_context
        sandbox = start(subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True))
        stack.callback(sandbox.terminate)
        ready = json.loads(sandbox.stdout.readline())
        certificate = make_certificate(folder)
        tls = server_context(*certificate)
        provider, registration = ready["addresses"]["gitlab"], ready["config"]["applications"]["*"]["gitlab"]
        userinfo = provider + "/api/v4/user"
        servers = SimpleNamespace(
            ready=ready, authority=certificate[0], library=programs.install_library(folder), registry=None, mail=None,
            git=start(programs.git_server(folder, userinfo, tls)), curl=start(open_gate(userinfo, programs.hello)),
            kubectl=start(programs.cluster(userinfo, tls)),
            cargo=start(open_gate(userinfo, programs.crates, realm='Cargo login_url="https://example.com"')),
            packages=start(programs.packages(userinfo)), mcp=start(programs.mcp_server(provider, registration)))
        if not missing("skopeo", "docker-registry"):
            servers.registry, _ = start(open_registry(folder, userinfo, *certificate))
        if not missing("dovecot") and SUBMISSION.exists():
            servers.mail = start(open_mail_server(provider, *certificate))
        yield servers


def open_house(folder, servers):
    """Returns a new house with accounts at both providers that every program may use, at a sandbox that starts anew."""
    urllib.request.urlopen(urllib.request.Request(servers.ready["control"].rstrip("/") + "/reset", method="POST")).close()
    house = House(folder, servers.ready)
    # A page would open, because there is a desktop.
    house.environment["DISPLAY"] = ":none"
    house.change({"gitlab": {"behaviour": {"takesQuery": True}}})
    for provider in PROVIDERS:
        house.sign_in(provider)
        for application in APPLICATIONS:
            house.allow(application, provider)
    addresses = [gate.address for gate in (servers.git, servers.curl, servers.cargo, servers.packages)]
    for address in (*addresses, servers.mcp, servers.registry, "imap.example.org", "smtp.example.org"):
        if address:
            house.do("services", "add", address, "gitlab", "--yes")
    if servers.registry:
        assert programs.push_image(house, servers)[0] == 0
    return house


@pytest.fixture(scope="module")
def run_all(request, servers, tmp_path_factory):
    """Returns a function that runs all selected programs in a state.

    Several run at the same time, because a provider that is down costs each of them seconds. All of them at once would be
    too many for their own time limits."""
    names = {item.callspec.params["name"]: None for item in request.session.items if item.module is request.module}
    done = {}

    def run_all(state):
        if state not in done:
            house = open_house(tmp_path_factory.mktemp("house"), servers)
            with trouble(state, house, APPLICATIONS):
                asked = uses(house)
                way = {OLD: with_an_old_token, REFUSED: with_a_refused_token}.get(state, attempt)
                # Programs that change the token run one after another.
                with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count() if way == attempt else 1) as pool:
                    attempts = {name: pool.submit(way, house, servers, name) for name in names if is_run(name, state)}
            done[state] = attempts, pages(house), uses(house) - asked
        return done[state]

    return run_all


def pages(house):
    return house.count("gitlab", "GET", "/oauth/authorize") + house.count("google", "GET", "/o/oauth2/v2/auth")


def uses(house):
    """Returns how often a server has asked the sandbox about a token."""
    return house.count("gitlab", "GET", "/api/v4/user") + house.count("gitlab", "POST", "/oauth/introspect")


Attempt = namedtuple("Attempt", "code shown has_worked seconds")


def attempt(house, servers, name):
    begin = time.monotonic()
    ended = PROGRAMS[name].run(house, servers)
    return Attempt(*ended, time.monotonic() - begin)


def refreshes(house, provider):
    return house.count(provider, "POST", PROVIDERS[provider])


def with_an_old_token(house, servers, name):
    """Returns the attempt and the number of refreshes by it."""
    provider = PROGRAMS[name].provider
    house.change({provider: {"behaviour": {"accessSeconds": 2, "idTokenSeconds": 2}}})
    house.do("token", provider, "--refresh")
    house.change({provider: {"behaviour": {"accessSeconds": 7200, "idTokenSeconds": 7200}}})
    before = refreshes(house, provider)
    return attempt(house, servers, name), refreshes(house, provider) - before


def with_a_refused_token(house, servers, name):
    """Returns the attempt, the next one, and the number of refreshes by both."""
    program = PROGRAMS[name]
    token = house.do("token", program.provider).strip()
    house.change({program.provider: {"tokens": {token: None}}})
    servers.kubectl.revoked.add(house.do("token", "google", "--id-token").strip())
    before = refreshes(house, program.provider)
    first = attempt(house, servers, name)
    if name not in ERASES + TRIES_AGAIN:
        # Without the reject the token stays.
        assert house.do("token", program.provider).strip() == token
        house.do("reject", program.provider, "--for", program.application)
    return first, attempt(house, servers, name), refreshes(house, program.provider) - before


def check_success(attempt):
    assert (attempt.code, attempt.has_worked) == (0, True), attempt.shown
    assert "einlassctl:" not in attempt.shown


@each(GOOD)
def test_a_program_works_with_a_good_token(run_all, name, state):
    attempts, pages, uses = run_all(state)
    check_success(attempts[name].result())
    # The sign-ins have opened these.
    assert pages == len(PROVIDERS)
    assert uses > 0 or PROGRAMS[name].provider == "google"


@each(OLD)
def test_an_old_token_is_refreshed_once(run_all, name, state):
    attempts, pages, _ = run_all(state)
    ended, refreshes = attempts[name].result()
    check_success(ended)
    assert (refreshes, pages) == (1, len(PROVIDERS))


@each(REFUSED)
def test_a_refused_token_is_replaced(run_all, name, state):
    attempts, pages, _ = run_all(state)
    first, second, refreshes = attempts[name].result()
    if name in TRIES_AGAIN:
        check_success(first)
    else:
        assert (first.code, first.has_worked) == (CODES.get(name, (1, 1))[1], False), first.shown
        assert first.seconds < PATIENCE
    check_success(second)
    assert (refreshes, pages) == (1, len(PROVIDERS))


@each(*TROUBLES)
def test_a_program_without_a_token_ends_with_the_sentence(run_all, name, state):
    attempts, pages, uses = run_all(state)
    ended = attempts[name].result()
    assert (ended.code, ended.has_worked) == (CODES.get(name, (1, 1))[0], False), ended.shown
    words = [part.format(application=PROGRAMS[name].application, provider=PROGRAMS[name].provider,
                         title=TITLES[PROGRAMS[name].provider]) for part in TROUBLES[state]]
    for part in [] if name in HIDING else words:
        assert part in ended.shown
    # No page has opened, and no server has got a token.
    assert (pages, uses) == (len(PROVIDERS), 0)
    # A program may take its own time besides.
    own = run_all(GOOD)[0][name].result().seconds
    assert ended.seconds < PATIENCE + own
