"""Every file of a release, and the first steps of a person with each, in fresh places.

    EINLASS_RELEASE=DIR python -m pytest Tests/Release    # of the programs in DIR
"""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from checks import GLIBC, HELPERS, PROGRAMS, PROJECT, differences, faults_of_parts, newer_symbols, unsigned
from conftest import BUILT
from places import Root, environment, files_below, pip, run
from house import missing, needs
from trial import COMPLETION, SCRIPT, try_out

pytestmark = pytest.mark.skipif(not BUILT, reason="skipped: Tests/run --only release makes every file")
HOMES = ["/home/ada/.config/einlass", "/home/ada/.local/share/einlass", "/home/ada/.local/state/einlass"]
# Those of pyenv.
PYTHONS = [path for version in (9, 10, 11, 12, 13) for path in Path.home().glob(f".pyenv/versions/3.{version}.*/bin/python3")]


def test_the_files_are_those_of_the_list_and_signed(release):
    one, _, signers = release
    version = run(Path(BUILT) / "einlassctl", "--version").strip()
    name = rf"einlass-{version}"
    kinds = [rf"{name}-py3-none-manylinux_\d+_\d+_\w+\.whl", rf"einlass_{version}_\w+\.deb", rf"{name}-\w+\.tar\.gz",
             rf"{name}\.vsix", rf"{name}-\w+\.oci\.tar", rf"{name}\.spdx\.json", rf"{name}\.md", r"INSTALL\.md", "SHA256SUMS",
             r"SHA256SUMS\.sig"]
    names = [path.name for path in one.iterdir()]
    assert [name for name in names if not any(re.fullmatch(kind, name) for kind in kinds)] == []
    for kind, programs in (("vsix", ["tsc"]), ("oci", ["buildah", "mmdebstrap"])):
        kinds = [one for one in kinds if kind not in one or not missing(*programs)]
    assert [kind for kind in kinds if not any(re.fullmatch(kind, name) for name in names)] == []
    assert unsigned(one, signers) == []
    assert (one / f"einlass-{version}.md").read_text().startswith(f"## {version}")


def test_two_releases_of_one_build_are_equal(release):
    assert differences(*release[:2]) == []


def test_no_symbol_is_newer_than_the_promise(wheel):
    assert {name: newer_symbols(Path(BUILT) / name) for name in PROGRAMS} == {name: [] for name in PROGRAMS}
    assert "manylinux_{}_{}_".format(*GLIBC) in wheel.name


def test_the_list_of_parts_has_each_library(release, tmp_path):
    (document,) = release[0].glob("*.spdx.json")
    assert faults_of_parts(document, Path(BUILT)) == []
    # The control.
    parts = json.loads(document.read_text())
    parts["packages"] = [one for one in parts["packages"] if one["name"] != "sqlite"]
    (tmp_path / "parts.json").write_text(json.dumps(parts))
    assert faults_of_parts(tmp_path / "parts.json", Path(BUILT)) == ["einlass needs libsqlite3, which is not listed"]


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
@needs("curl", "git", "man")
def test_the_wheel_works_with_each_python(wheel, tmp_path, python):
    folder = environment(tmp_path / "environment", python)
    pip(folder, "install", "--no-index", wheel)
    try_out(folder, tmp_path / "home")
    found = run(folder / "bin/python", "-c", FIND, env={"HOME": str(tmp_path), "PATH": "/usr/bin"})
    assert found == f"{folder}/bin/einlass\n"


FIND = "from einlass.find import find_einlass; print(find_einlass())"


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_the_wheel_is_installed_for_one_user(wheel, tmp_path, python):
    home = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--user", "--no-index", "--no-warn-script-location", wheel, env=home)
    assert run(python, "-c", FIND, env=home) == f"{tmp_path}/.local/bin/einlass\n"
    run(*pip, "uninstall", "--yes", "einlass", env=home)
    assert not [name for name in files_below(tmp_path) if "einlass" in name]


@pytest.mark.parametrize("tool", ["uv", "pipx"])
@needs("curl", "git", "man")
def test_a_tool_installs_the_wheel_by_one_line(wheel, tmp_path, tool):
    folder = tmp_path / "tool"
    run("python3", "-m", "venv", folder)
    if subprocess.run([folder / "bin/pip", "install", "-q", tool], capture_output=True).returncode:
        pytest.skip(f"skipped: {tool} cannot be installed")
    home = {"HOME": str(tmp_path / "home"), "PATH": f"{folder}/bin:/usr/bin:/bin", "UV_OFFLINE": "1",
            "UV_PYTHON": str(folder / "bin/python"), "PIPX_DEFAULT_PYTHON": str(folder / "bin/python")}
    (tmp_path / "home").mkdir(mode=0o700)
    command = [folder / "bin" / tool, *(["tool"] if tool == "uv" else [])]
    run(*command, "install", wheel, env=home)
    installed = tmp_path / "home/.local/bin"
    names = {path.name for path in installed.iterdir()}
    assert names >= {*PROGRAMS, *(f"{kind}-credential-einlass" for kind in HELPERS)}
    done = subprocess.run([installed / "git-credential-einlass", "capability"], capture_output=True, text=True, env=home)
    assert done.stdout == "version 0\ncapability authtype\n"
    run(*command, "uninstall", "einlass", env=home)
    assert [path for path in installed.iterdir() if "einlass" in path.name] == []


@needs("curl", "git", "man")
def test_the_archive_works_in_any_folder(release, tmp_path):
    (archive,) = release[0].glob("*.tar.gz")
    run("tar", "-xzf", archive, "-C", tmp_path)
    (folder,) = tmp_path.iterdir()
    folder = folder.rename(tmp_path / "moved")
    assert os.readlink(folder / "bin/git-credential-einlass") == "einlass"
    try_out(folder, tmp_path / "home")


@needs("mmdebstrap", "curl", "git", "man")
def test_the_oldest_libcurl_is_enough(release, tmp_path):
    """That of Debian 11. Its glibc is too old for the programs."""
    if subprocess.run(["mmdebstrap", "--quiet", "--variant=extract", "--include=libcurl4", "bullseye", tmp_path / "old"],
                      capture_output=True).returncode:
        pytest.skip("skipped: the packages of Debian 11 cannot be had")
    old, own = tmp_path / "old/usr/lib/x86_64-linux-gnu", tmp_path / "libraries"
    listed = run("ldd", old / "libcurl.so.4", env={"PATH": "/usr/bin", "LD_LIBRARY_PATH": str(old)})
    own.mkdir()
    for path in [old / "libcurl.so.4", *map(Path, re.findall(rf"=> ({tmp_path}\S*) ", listed))]:
        if not re.match(r"lib(c|m|dl|pthread|rt|resolv)[.-]", path.name):
            (own / path.name).write_bytes(path.read_bytes())
    (archive,) = release[0].glob("*.tar.gz")
    run("tar", "-xzf", archive, "-C", tmp_path)
    (folder,) = tmp_path.glob("einlass-*")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={own} exec {folder}/bin/einlass "$@"\n')
    program.chmod(0o755)
    try_out(folder, tmp_path / "home", EINLASS=str(program))
    # The control: einlass takes the library from there, and a missing one is a sentence.
    (own / "libcurl.so.4").write_text("")
    done = subprocess.run([folder / "bin/einlassctl", "providers", "add", "https://127.0.0.1:1/"], capture_output=True,
                          text=True, env={"HOME": str(tmp_path / "home"), "EINLASS": str(program)})
    assert done.returncode == 1 and "libcurl.so.4 is missing" in done.stderr


@pytest.fixture(scope="module", params=["bookworm", "trixie"])
def root(request, tmp_path_factory):
    if missing("mmdebstrap", "unshare") or os.geteuid() != 0:
        pytest.skip("skipped: only root with mmdebstrap can make another root folder")
    return Root(tmp_path_factory.mktemp("root") / "root", request.param, "git", "man-db", "bash-completion", "curl",
                "ca-certificates", "python3", "python3-venv")


def test_the_package_works_in_a_fresh_debian(release, root):
    (package,) = release[0].glob("*.deb")
    (root.folder / "tmp/einlass.deb").write_bytes(package.read_bytes())
    root.do("! command -v swift; apt-get update -q; apt-get install -y -q /tmp/einlass.deb")
    root.do(SCRIPT, "ada")
    load = "source /usr/share/bash-completion/bash_completion; _completion_loader einlassctl || true\n"
    root.do(load + COMPLETION, "ada")
    root.do("apt-get purge -y -q einlass; rm /tmp/einlass.deb")
    assert root.left() == HOMES
    root.do("rm -r ~/.config ~/.local ~/hello ~/ready ~/.gitconfig", "ada")


def lines_of_page(heading, page="INSTALL.md"):
    """The commands of the page's blocks below a heading."""
    text = (PROJECT / "clients" / page).read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return ["\n".join(re.findall(r"^\$ (.*)", block, re.MULTILINE)) for block in blocks]


def test_the_lines_of_the_page_lead_to_a_clone(release, root):
    """The signature, the environment, the sign-in, the clone and the end, as a person in a fresh Debian types them."""
    folder, _, signers = release
    place = root.folder / "home/ada/release"
    place.mkdir()
    for path in folder.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    (place / "release-key.pub").write_text(signers.read_text().removeprefix("einlass "))
    root.do("apt-get install -y -q openssh-client libcurl4 && chown -R ada:ada /home/ada/release")
    (check,), (install, completion) = lines_of_page("Check the files"), lines_of_page("Install")
    (clone,), (undo,) = lines_of_page("Try it with simulated providers", "EINLASSCTL.md"), lines_of_page("Uninstall")
    # The person in the browser.
    clone = clone.partition("\neinlassctl setup git --undo")[0].replace("--scope git", """--scope git 2>code & program=$!
        for _ in $(seq 100); do grep -qE '[A-Z0-9]{4}-[A-Z0-9]{4}' code && break; sleep 0.1; done
        curl -s -d "user_code=$(grep -oE '[A-Z0-9]{4}-[A-Z0-9]{4}' code)&decision=allow&user=3001" \\
          "$(grep -o 'http://[^ ]*' code | head -n 1)" >page; wait $program""")
    clone = clone.replace("& sleep 1", "& until [ -s sandbox.json ]; do kill -0 $!; sleep 0.1; done")
    undo = undo.replace("--undo", "--undo --yes")
    root.do("\n".join(["cd ~/release", "trap 'kill $(jobs -p); wait' EXIT", check, install, completion, clone,
                        "grep token hello/README", "man einlassctl >man", undo, "! grep einlass ~/.gitconfig"]), "ada")
    root.do("rm -r ~/release ~/.local/lib/einlass ~/.local/share/bash-completion", "ada")
    assert root.left() == HOMES


@needs("buildah")
def test_the_image_runs_the_programs(release, tmp_path):
    images = list(release[0].glob("*.oci.tar"))
    if not images:
        pytest.skip("skipped: no image could be made")
    assert images[0].stat().st_size <= 40 << 20
    store = ["buildah", "--root", tmp_path / "storage", "--runroot", tmp_path / "run", "--storage-driver", "vfs"]
    name = run(*store, "from", f"oci-archive:{images[0]}").split()[-1]
    shown = run(*store, "run", "--isolation", "chroot", name, "einlassctl", "providers", "list")
    assert "github" in shown
