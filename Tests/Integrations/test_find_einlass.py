"""Each client finds einlass: the variable EINLASS, the PATH, its own folder, ~/.local/bin. einlassctl: its own folder before the PATH.

    python -m pytest Tests/Integrations/test_find_einlass.py
"""
import json
import shutil
import subprocess
import sys

import pytest

from house import CONTROL, EINLASS, PROJECT

PYTHON = "import sys; sys.path.insert(0, {path!r}); sys.argv[0] = {own!r}; from einlass.tokens import find_einlass; print(find_einlass())"


@pytest.fixture(params=["einlassctl", "python", "bash"])
def client(request, tmp_path):
    """Returns the client's name and its folder, and a function that returns the program that it starts, or its error."""
    own = tmp_path / "own"
    own.mkdir()
    if request.param == "einlassctl":
        shutil.copy(CONTROL, own)
    elif request.param == "bash":
        if not shutil.which("jq"):
            pytest.skip("skipped: there is no jq")
        shutil.copy(PROJECT / "clients/bash/sign-in", own)

    def start(home, **variables):
        environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", **variables}
        if request.param == "python":
            command = [sys.executable, "-c", PYTHON.format(path=str(PROJECT / "clients/python"), own=str(own / "program"))]
        elif request.param == "bash":
            command = [str(own / "sign-in"), "twitter"]
        else:
            command = [str(own / "einlassctl"), "accounts", "--store", "memory"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20)
        return done.stdout + done.stderr

    return request.param, own, start


def plant(folder):
    """Puts a program of the name einlass there that says its folder's name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "einlass"
    path.write_text(f"#!/bin/sh\necho this is {folder.name} >&2\n")
    path.chmod(0o755)
    return str(path)


def test_the_order_of_the_places(client, tmp_path):
    name, own, start = client
    home = tmp_path / "home"
    named = plant(tmp_path / "named")
    places = {"path": tmp_path / "path", "own": own, "bin": home / ".local/bin"}
    order = ["own", "path", "bin"] if name == "einlassctl" else ["path", "own", "bin"]
    for place in places.values():
        plant(place)
    search = f"{tmp_path / 'path'}:/usr/bin:/bin"

    def found(**variables):
        text = start(home, PATH=search, **variables)
        seen = [place for place in ("named", *order) if f"/{place}/einlass" in text or f"this is {place}" in text]
        assert len(seen) <= 1, text
        return seen[0] if seen else text

    assert found(EINLASS=named) == "named"
    for place in order:
        assert found() == place
        (places[place] / "einlass").unlink()
    assert "no einlass" in found() or "missing" in found() or "There is no einlass" in found()


def test_a_variable_that_names_no_program_is_an_error(client, tmp_path):
    _, own, start = client
    plant(own)
    text = start(tmp_path, EINLASS="/nonexistent/einlass")
    assert "/nonexistent/einlass" in text and "EINLASS" in text and "this is own" not in text


def test_the_version_is_told_as_json():
    told = json.loads(subprocess.run([EINLASS, "--version", "--json"], capture_output=True, check=True).stdout)
    assert told["name"] == "einlass" and told["protocolVersion"] == 1 and set(told["libraries"]) == {"sqlite", "openssl"}
    control = subprocess.run([CONTROL, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    project = (PROJECT / "clients/python/pyproject.toml").read_text()
    assert told["version"] == control and f'version = "{control}"' in project
    changes = (PROJECT / "protocol/CHANGELOG.md").read_text()
    assert changes.split("\n## ")[1].startswith(control + " ")
