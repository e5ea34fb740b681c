import os
import subprocess

import pytest

from session import EINLASS, PATIENCE
from somebody import Place


@pytest.fixture(autouse=True)
def binary():
    if not os.access(EINLASS, os.X_OK):
        pytest.fail(f"{EINLASS} is not built: clients/build makes it.")


@pytest.fixture
def place():
    place = Place()
    try:
        subprocess.run([place.einlass, "--version"], capture_output=True, timeout=PATIENCE)
    except PermissionError:
        place.remove()
        pytest.skip("no program may run in /tmp here")
    yield place
    place.remove()
