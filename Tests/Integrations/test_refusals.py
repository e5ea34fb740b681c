"""A service refuses a token that cannot be renewed: GitHub's. Only that service does without it, unless GitHub refuses
the token too.

    python -m pytest Tests/Integrations/test_refusals.py
"""
import contextlib
import http.server
import json
import os
import signal
import sys
import threading
import time

import pytest

from house import PATIENCE
from programs import LIBRARIES, install_library

IDENTITY = ("github", "GET", "/user")


@contextlib.contextmanager
def bare():
    """A server that answers each request with a bare 401, and the Authorization headers that it has seen."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization"))
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield "http://127.0.0.1:%d" % server.server_address[1], seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return install_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def server(house):
    """The address of a service that refuses everything, for the account github/ada."""
    house.sign_in("github")
    for application in ("git", "docker", "script"):
        house.allow(application, "github")
    assert house.run("git", "config", "--global", "credential.helper", "einlass")[0] == 0
    with bare() as (address, _):
        house.do("services", "add", address, "github/ada", "--yes")
        yield address


def token(house, application="einlassctl"):
    return house.do("token", "github", "--for", application).strip()


def account(house):
    (found,) = json.loads(house.do("accounts", "list", "--json"))["accounts"]
    return found


def revoke(house):
    """The person revokes the token at GitHub."""
    house.change({"github": {"tokens": {token(house): None}}})


def is_dead(house):
    code, _, errors = house.run("einlassctl", "token", "github")
    return code != 0 and "signed in to again" in errors


def test_git_at_a_server_with_a_bare_401_leaves_the_token_to_all_other_services(house, server):
    first, before = token(house), house.count(*IDENTITY)
    assert house.run("git", "ls-remote", server + "/x.git")[0] != 0
    assert token(house) == first and token(house, "git") == first
    assert house.count(*IDENTITY) == before + 1
    # Another service gets the token, and this one is told why it does not.
    get = "protocol={}\nhost={}\n\n"
    scheme, _, host = server.partition("://")
    code, output, errors = house.run("git-credential-einlass", "get", input=get.format(scheme, host))
    assert code != 0 and output == "" and "refused the token" in errors and "sign-in --account" in errors
    origin = house.origin("github").partition("://")
    code, output, _ = house.run("git-credential-einlass", "get", input=get.format(origin[0], origin[2]))
    assert code == 0 and first in output


def test_a_refusal_is_shown_with_its_end_and_a_sign_in_ends_it(house, server):
    house.do("reject", server)
    found = account(house)
    assert found["health"] == "ok"
    (refusal,) = found["refusals"]
    assert refusal["address"] == server and set(refusal) == {"address", "endsAt"}
    assert f"refused by {server}" in house.do("accounts", "list")
    shown = house.run("einlassctl", "doctor")[1]
    assert f"note     github/ada: {server} has refused its token" in shown and "sign-in --account github/ada" in shown
    code, _, errors = house.run("einlassctl", "token", server)
    assert code != 0 and "refused the token" in errors
    house.sign_in("github")
    assert "refusals" not in account(house)
    assert house.do("token", server).strip() == token(house)


def test_docker_logout_changes_nothing_that_cannot_be_renewed(house, server):
    first = token(house)
    code, _, errors = house.run("docker-credential-einlass", "erase", input=server.partition("://")[2])
    assert code == 0, errors
    assert token(house) == first and token(house, "docker") == first
    assert "refusals" not in account(house)


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_a_library_at_one_refusing_service_leaves_the_token_to_all_others(house, server, library, name):
    first = token(house)
    program = house.folder / "work/program.py"
    program.write_text(LIBRARIES[name])
    environment = {"PYTHONPATH": library, "PYTHONDONTWRITEBYTECODE": "1"}
    code, _, errors = house.run(sys.executable, str(program), server + "/?a=b", env=environment, patience=60)
    assert code != 0 and "refused the token" in errors
    assert token(house) == first and account(house)["health"] == "ok"


def test_programs_that_are_refused_at_once_ask_the_provider_once(house, server):
    before = house.count(*IDENTITY)
    started = [house.start("einlassctl", "reject", server + f"/{number}") for number in range(6)]
    started += [house.start("einlassctl", "reject", house.origin("github") + f"/{number}") for number in range(6)]
    for process in started:
        _, errors = process.communicate(timeout=6 * PATIENCE)
        assert process.returncode == 0, errors
    assert house.count(*IDENTITY) == before + 1
    assert {refusal["address"] for refusal in account(house)["refusals"]} == {server, house.origin("github")}
    assert token(house)


@pytest.mark.parametrize("name", ["the service", "the account"])
def test_the_control_a_token_that_the_provider_refuses_too_is_given_to_nobody(house, server, name):
    revoke(house)
    house.do("reject", server if name == "the service" else "github")
    assert is_dead(house) and account(house)["health"] == "reloginNeeded"
    assert "sign in again" in house.do("accounts", "list")


def test_the_reject_of_an_account_refuses_nothing_while_the_provider_takes_the_token(house, server):
    first, before = token(house), house.count(*IDENTITY)
    house.do("reject", "github")
    assert token(house) == first and house.count(*IDENTITY) == before + 1
    assert "refusals" not in account(house) and house.do("token", server).strip() == first
    # Within a minute the provider is not asked again.
    house.do("reject", "github")
    assert house.count(*IDENTITY) == before + 1


@pytest.mark.parametrize("answer", [{"answer": "status", "status": 503}, {"answer": "status", "status": 403}, {"answer": "close"}])
def test_a_provider_that_cannot_be_asked_ends_nothing(house, server, answer):
    first = token(house)
    house.change({"faults": {"away": {"path": "/user", **answer}}})
    house.do("reject", server)
    assert token(house) == first and account(house)["health"] == "ok"
    assert [refusal["address"] for refusal in account(house)["refusals"]] == [server]


def test_a_program_that_is_killed_while_it_asks_the_provider_leaves_only_that_service_without_the_token(house, server):
    first, before = token(house), house.count(*IDENTITY)
    house.change({"faults": {"slow": {"path": "/user", "delayMilliseconds": 20000}}})
    process = house.start("einlassctl", "reject", server)
    end = time.monotonic() + 6 * PATIENCE
    while "refusals" not in account(house):
        assert process.poll() is None and time.monotonic() < end
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    house.change({"faults": {"slow": None}})
    assert token(house) == first and account(house)["health"] == "ok"
    assert [refusal["address"] for refusal in account(house)["refusals"]] == [server]
    # The next program does not repeat the question at once.
    house.do("reject", house.origin("github"))
    assert len(account(house)["refusals"]) == 2 and token(house) == first
    assert house.count(*IDENTITY) <= before + 1
