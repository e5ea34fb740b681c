import os

import pytest

from control import CONTROL, EINLASS, add


@pytest.fixture(autouse=True)
def built():
    for program in (EINLASS, CONTROL):
        if not os.access(program, os.X_OK):
            pytest.fail(f"{program} is not built: clients/build einlass einlassctl makes it.")


@pytest.fixture
def store(tmp_path):
    """Returns the options for a store of this test."""
    return ["--einlass", EINLASS, "--store", str(tmp_path / "store/a.db"), "--key-file", str(tmp_path / "key/a.key")]


@pytest.fixture
def two(store):
    """Returns the options for a store with two accounts."""
    add(store, "ada", "bob")
    return store
