import json
import os
import subprocess

import pytest

from house import CONTROL, EINLASS, SANDBOX, House


@pytest.fixture(autouse=True, scope="session")
def built():
    for program in (EINLASS, CONTROL, SANDBOX):
        if not os.access(program, os.X_OK):
            pytest.fail(f"{program} is not built. Tests/run --only integrations builds it.")


@pytest.fixture
def ready():
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def house(tmp_path, ready):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return House(folder, ready)
