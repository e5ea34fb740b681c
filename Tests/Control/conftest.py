import os

import pytest

from test_control import CONTROL, EINLASS


@pytest.fixture(autouse=True)
def built():
    for program in (EINLASS, CONTROL):
        if not os.access(program, os.X_OK):
            pytest.fail(f"{program} is not built: clients/build einlass einlassctl makes it.")
