"""The contents of the files of a release, and the first steps of a person with the wheel.

    python -m pytest Tests/Release                        # the wheel of the programs of this run, in one environment
    EINLASS_RELEASE=DIR python -m pytest Tests/Release    # every file, of the programs in DIR, and fresh Debian roots
"""
import re
import zipfile

import pytest

from checks import ELF, PROJECT, differences, faults_of_wheel, newer_symbols, unsigned
from places import environment, files_below, pip, run, signing_key
from house import needs
from trial import try_out


# The wheel of this run


def test_the_wheel_has_the_files_of_the_list(wheel):
    assert faults_of_wheel(wheel) == []


CLIENT = """
import einlass, einlass.find
with einlass.Client() as client:
    client.initialize("trial")
    print(einlass.find.find_einlass(), len(client.request("providers.list", {})["providers"]) > 20)
"""


@needs("curl", "git", "man")
def test_the_wheel_is_installed_tried_and_removed(wheel, tmp_path):
    folder = environment(tmp_path / "environment")
    before = files_below(folder)
    pip(folder, "install", "--no-index", wheel)
    with open(folder / "bin/einlass", "rb") as program:
        assert program.read(4) == ELF
    try_out(folder, tmp_path / "home")
    # Another einlass, first on the PATH.
    other = tmp_path / "other/einlass"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    home = {"HOME": str(tmp_path / "home"), "PATH": f"{other.parent}:{folder}/bin:/usr/bin:/bin"}
    found = run(folder / "bin/python", "-c", CLIENT, env=home)
    assert found == f"{folder}/bin/einlass True\n"
    assert "VERSION" not in run(folder / "bin/einlassctl", "help", "token", env=home).splitlines()[0]
    pip(folder, "uninstall", "--yes", "einlass")
    assert files_below(folder) == before
    left = {path.parent for path in (tmp_path / "home").rglob("einlass")}
    assert left == {tmp_path / "home" / name for name in (".config", ".local/share", ".local/state")}


# Controls: each check finds its fault


def rewritten(wheel, target, change):
    """A copy of the wheel with the members that `change` returns."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w") as new:
        for member in old.infolist():
            content = change(member.filename, old.read(member))
            new.writestr(member, content, zipfile.ZIP_STORED)
        if change("", b""):
            new.writestr("einlass/added.py", b"")
    return target


@pytest.mark.parametrize("change, fault", [
    (lambda name, content: b"#!/bin/python3" if name.endswith("scripts/einlass") else content, "einlass is a script"),
    (lambda name, content: content or b"x", "einlass/added.py is outside the list"),
    (lambda name, content: content + b"#" * (name == "einlass/wire.py"), "einlass/wire.py is not recorded")])
def test_a_wrong_wheel_is_found(wheel, tmp_path, change, fault):
    assert fault in faults_of_wheel(rewritten(wheel, tmp_path / wheel.name, change))


@needs("cc")
def test_a_newer_symbol_is_found(tmp_path):
    source = tmp_path / "newer.c"
    source.write_text("#include <math.h>\nint main(int n, char **a) { return (int)hypotf(n, 2); }\n")
    run("cc", "-fno-builtin", "-o", tmp_path / "newer", source, "-lm")
    assert newer_symbols(tmp_path / "newer") == ["2.35"]


@pytest.fixture
def signed(tmp_path):
    """A folder with a signed file, and the list of signers."""
    folder = tmp_path / "signed"
    folder.mkdir()
    (folder / "a.whl").write_text("a")
    (folder / "SHA256SUMS").write_text(run("sha256sum", "a.whl", cwd=folder))
    signers = signing_key(tmp_path)
    run("ssh-keygen", "-q", "-Y", "sign", "-f", tmp_path / "key", "-n", "file", folder / "SHA256SUMS")
    return folder, signers


def test_an_unsigned_or_changed_file_is_found(signed):
    folder, signers = signed
    assert unsigned(folder, signers) == []
    (folder / "b.whl").write_text("b")
    assert unsigned(folder, signers) == ["b.whl has no sum, or another one"]
    with open(folder / "SHA256SUMS", "a") as sums:
        sums.write(run("sha256sum", "b.whl", cwd=folder))
    assert unsigned(folder, signers) == ["the signature of SHA256SUMS is wrong"]


def test_two_releases_that_differ_are_found(tmp_path):
    for name, content in (("one", "a"), ("other", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.whl").write_text(content)
    assert differences(tmp_path / "one", tmp_path / "other") == ["a.whl"]
    assert differences(tmp_path / "one", tmp_path / "one") == []


def test_no_page_installs_einlass_by_its_name():
    """The name belongs to nobody in the indexes of packages."""
    def named(text):
        return re.findall(r"(?:pip|uv tool|pipx|npm) install einlass|(?:uvx|npx) einlass", text)

    pages = [PROJECT / "README.md"] + [
        path for folder in ("clients", "protocol", "Sources") for path in (PROJECT / folder).rglob("*")
        if path.suffix in (".md", ".swift", ".py", ".txt", ".lua", ".el", ".ts")]
    assert [(str(path), words) for path in pages for words in named(path.read_text())] == []
    assert named("$ pip install einlass")
