import os
from pathlib import Path

import pytest

from checks import PROGRAMS, PROJECT
from places import run, signing_key
from house import CONTROL, EINLASS, SANDBOX

BUILT = os.environ.get("EINLASS_RELEASE")


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The folders of two releases of the same programs, made in two places by two umasks, and their signers."""
    if not BUILT:
        pytest.skip("skipped: Tests/run --only release makes every file")
    folder = tmp_path_factory.mktemp("release")
    signers = signing_key(folder)
    for name, umask in (("one", 0o022), ("other", 0o077)):
        place = folder / f"place of {name}"
        place.mkdir()
        print(run(PROJECT / "clients/release", "--programs", BUILT, "--key", folder / "key", folder / name, umask=umask,
                  cwd=place, env={**os.environ, "TMPDIR": str(place)}))
    return folder / "one", folder / "other", signers


@pytest.fixture(scope="session")
def wheel(request, tmp_path_factory):
    """The wheel of the release, else one of the programs of this run."""
    if BUILT:
        (path,) = request.getfixturevalue("release")[0].glob("*.whl")
        return path
    folder = tmp_path_factory.mktemp("wheel")
    for name, path in zip(PROGRAMS, (EINLASS, CONTROL, SANDBOX)):
        run("objcopy", "--strip-all", path, folder / name)
    return Path(run(PROJECT / "clients/wheel", folder, folder).strip())
