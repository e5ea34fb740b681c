import json
import os
import sys
from pathlib import Path

import pytest

from house import CONTROL, EINLASS, SANDBOX, House, make_certificate, ready, server_context  # noqa: F401


@pytest.fixture(autouse=True, scope="session")
def built():
    for program in (EINLASS, CONTROL, SANDBOX):
        if not os.access(program, os.X_OK):
            pytest.fail(f"{program} is not built. Tests/run --only integrations builds it.")


@pytest.fixture
def house(tmp_path, ready):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return House(folder, ready)


@pytest.fixture
def signed_in(house):
    """The house, with an account of gitlab whose token has the scopes of git."""
    house.sign_in("gitlab", "--scope", "git")
    return house


@pytest.fixture
def certificate(house):
    """A certificate for 127.0.0.1 and its key."""
    return make_certificate(house.folder)


@pytest.fixture
def tls(certificate):
    """The certificate, and the context of a server with it."""
    return certificate[0], server_context(*certificate)


@pytest.fixture
def set_prompter(house, tmp_path):
    """Returns a function that sets the test's prompter, and one that returns the messages to it."""
    shown = tmp_path / "prompts.jsonl"
    shown.touch()

    def set(way):
        command = [sys.executable, str(Path(__file__).with_name("prompter.py")), str(shown), way]
        house.config.write_text(json.dumps({**json.loads(house.config.read_text()), "prompter": command}))

    return set, lambda: [json.loads(line) for line in shown.read_text().splitlines()]
