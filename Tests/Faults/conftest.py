import os

import pytest

import stores


@pytest.fixture(autouse=True)
def binary():
    if not os.access(stores.EINLASS, os.X_OK):
        pytest.fail(f"{stores.EINLASS} is not built: clients/build makes it.")


@pytest.fixture
def report(capsys, request):
    """Shows figures, whatever becomes of the test."""
    def show(**figures):
        with capsys.disabled():
            print(f"\n  {request.node.name}:", ", ".join(f"{name} {value}" for name, value in figures.items()))
    return show
