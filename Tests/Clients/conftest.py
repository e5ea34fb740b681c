"""Each client of `clients` against the cases for clients, and with the real server and the sandbox."""
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "Tests/Integrations"))
from house import House, ready  # noqa: E402, F401

# The groups of cases that are about a client's own work. The others are conversations in the same ways.
SOME = ("wire", "compatibility", "end", "cancel", "prompts", "notifications", "errors", "accounts.signIn")
CONFORMANCE = PROJECT / "protocol/conformance"


@pytest.fixture
def house(tmp_path, ready):
    """A home folder with einlass on its PATH. Its `xdg-open` is a browser in which ada allows everything."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    house = House(folder, ready)
    for provider in ("github", "google"):
        user = next(id for id, known in house.state()[provider]["users"].items() if known["username"] == "ada")
        house.change({provider: {"behaviour": {"consent": "allow", "user": user}}})
    return house


def at_two_servers(house):
    """Signs ada in at two servers of her own, which are two names of one."""
    house.change({"fcsdk": {"users": {"ada": {"password": "difference", "domain": "example.com"}}}})
    for server in (house.origin("fcsdk"), house.origin("fcsdk").replace("127.0.0.1", "localhost")):
        house.do("sign-in", "fcsdk", "--server", server, "--plain-http", "--username", "ada", "--password-fd", "0",
                 input="difference")


@pytest.fixture
def enter_code(house):
    """Returns a function that enters the code of a device code prompt on its page, as ada. No code is allowed before."""
    for provider in ("github", "google"):
        house.change({provider: {"behaviour": {"consent": "page"}}})

    def enter(page, code, provider="github"):
        user = house.state()[provider]["behaviour"]["user"]
        form = urllib.parse.urlencode({"user_code": code, "decision": "allow", "user": user})
        urllib.request.urlopen(page, form.encode()).close()
    return enter


@pytest.fixture
def hold(tmp_path):
    """Returns a function that holds the adapter of a client against the cases for clients: those of SOME, or every one
    with EINLASS_EVERY_CASE."""
    def hold(*adapter, patience=1500, **more):
        every = os.environ.get("EINLASS_EVERY_CASE")
        only = [] if every else [f"--only={group}/*" for group in SOME]
        done = subprocess.run([sys.executable, str(CONFORMANCE), "client", *only, *map(str, adapter)], capture_output=True,
                              text=True, timeout=patience, stdin=subprocess.DEVNULL, cwd=tmp_path, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        summary = done.stdout.strip().splitlines()[-1]
        assert summary.endswith(" passed") and int(summary.split()[0]) >= (333 if every else 75), summary
    return hold
