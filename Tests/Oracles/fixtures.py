"""The fixtures of the tests with spawned programs. Tests/Processes uses them too."""
import json
import os
import subprocess

import pytest

from rotation import EINLASS, SANDBOX
from servers import running


@pytest.fixture
def built():
    """Fails a test with spawned programs if these are not built."""
    if not os.access(EINLASS, os.X_OK):
        pytest.fail(f"{EINLASS} is not built: clients/build makes it.")
    if not os.access(SANDBOX, os.X_OK):
        pytest.fail(f"{SANDBOX} is not built: swift build makes it.")


@pytest.fixture
def ready():
    """The sandbox, as it describes itself."""
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def config(ready, tmp_path):
    """The path of a configuration with the sandbox as every provider."""
    config = tmp_path / "config.json"
    config.touch(0o600)
    config.write_text(json.dumps(ready["config"]))
    return config


@pytest.fixture
def start(tmp_path):
    """Starts front ends; each must exit with code 0 at the end of the test."""
    from front_end import FrontEnd
    started = []

    def start(*arguments, **more):
        started.append(FrontEnd(tmp_path, *arguments, **more))
        return started[-1]

    yield start
    for front_end in started:
        front_end.close()


@pytest.fixture(scope="module")
def dot():
    """django-oauth-toolkit."""
    with running("oauth2_server.py") as ready:
        yield ready


@pytest.fixture(scope="module")
def idpy():
    """idpyoidc."""
    with running("openid_server.py") as ready:
        yield ready
