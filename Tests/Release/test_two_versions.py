"""A store that a newer einlass has changed, and an older einlass: two builds.

    EINLASS_RELEASE=DIR python -m pytest Tests/Release/test_two_versions.py    # DIR has the older programs
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checks import PROJECT
from conftest import BUILT
from places import run
from house import missing

pytestmark = pytest.mark.skipif(not BUILT, reason="skipped: Tests/run --only release builds a newer einlass")


@pytest.fixture
def newer(tmp_path):
    """The einlass of this tree with one more step of the store."""
    if missing("unshare", "swift") or os.geteuid() != 0:
        pytest.skip("skipped: only root with swift can build a copy of the tree")
    tree = tmp_path / "tree"

    def left_out(folder, names):
        kept = {PROJECT: [name for name in names if name != ".git"], PROJECT / ".build": ["release-static"]}
        return set(names) - set(kept.get(Path(folder), names))

    shutil.copytree(PROJECT, tree, symlinks=True, ignore=left_out)
    migrations = tree / "Sources/EinlassStorage/Rows/Migrations.swift"
    text, added = re.subn(r"(let releasedSteps: .*?)\n  \]\n", r'\1\n    ["CREATE INDEX later ON account (email)"],\n  ]\n',
                          migrations.read_text(), count=1, flags=re.DOTALL)
    text, named = re.subn(r'needs: "[0-9.]+"\)', 'needs: "7.1.0")', text)
    assert added == named == 1
    migrations.write_text(text)
    # In the place of the tree, because the folder of a build has absolute paths.
    build = f"mount --bind '{tree}' '{PROJECT}' && cd '{PROJECT}' && clients/build --portable"
    run("unshare", "--mount", "bash", "-c", build, env={**os.environ, "TMPDIR": "/tmp"})
    return tree / ".build/release-static/release/einlass"


def test_an_older_einlass_refuses_the_store_and_names_the_version_that_it_needs(newer, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    older = Path(BUILT) / "einlass"

    def control(einlass, *words):
        environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "EINLASS": str(einlass)}
        return subprocess.run([Path(BUILT) / "einlassctl", *words], env=environment, capture_output=True, text=True)

    def store():
        return {path.name: path.read_bytes() for path in (home / ".local/share/einlass").iterdir() if path.is_file()}

    assert control(older, "access", "set", "editor", "github", "granted").returncode == 0
    assert "editor" in control(older, "access", "list").stdout
    assert "editor" in control(newer, "access", "list").stdout
    before = store()
    for command in (["access", "list"], ["access", "set", "editor", "github", "denied"], ["store", "check"]):
        done = control(older, *command)
        assert done.returncode == 1 and "needs einlass 7.1.0 (schema " in done.stderr, done
        assert "Update einlass" in done.stderr
    assert store() == before
    assert "granted" in control(newer, "access", "list").stdout
