import os

import pytest

from rotation import EINLASS, SANDBOX


@pytest.fixture
def built():
    """For tests that spawn our programs: without them they fail."""
    if not os.access(EINLASS, os.X_OK):
        pytest.fail(f"{EINLASS} is not built: clients/build makes it.")
    if not os.access(SANDBOX, os.X_OK):
        pytest.fail(f"{SANDBOX} is not built: swift build makes it.")
