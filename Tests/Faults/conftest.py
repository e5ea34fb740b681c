import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
import stores


@pytest.fixture(autouse=True)
def binary():
    if not os.access(stores.EINLASS, os.X_OK):
        pytest.fail(f"{stores.EINLASS} is not built: clients/build makes it.")


@pytest.fixture(scope="session")
def preload(tmp_path_factory):
    """Returns a function that compiles a C file of this folder into a library for LD_PRELOAD."""
    compiler = shutil.which("cc") or shutil.which("clang")
    if not compiler:
        pytest.skip("there is no C compiler here")
    folder = tmp_path_factory.mktemp("libraries")

    def compiled(name):
        path = folder / f"{name}.so"
        if not path.exists():
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, HERE / f"{name}.c"], check=True)
        return path
    return compiled


@pytest.fixture
def report(capsys, request):
    """Returns a function that prints figures, also for a test that passes."""
    def show(**figures):
        with capsys.disabled():
            print(f"\n  {request.node.name}:", ", ".join(f"{name} {value}" for name, value in figures.items()))
    return show
