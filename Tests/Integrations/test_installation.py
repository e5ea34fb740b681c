"""`clients/install` into an empty prefix, and the Debian package in a fresh Debian.

    python -m pytest Tests/Integrations/test_installation.py
    EINLASS_PACKAGE_TEST=1 python -m pytest Tests/Integrations/test_installation.py    # with the package; needs root
"""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from house import CONTROL, HELPERS, PROJECT

INSTALL = str(PROJECT / "clients/install")
PACKAGE = "skipped: EINLASS_PACKAGE_TEST=1 makes and installs the package; it needs root, dpkg-deb and mmdebstrap"


def install(*arguments, **environment):
    return subprocess.run([INSTALL, *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def files(folder):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.fixture
def prefix(tmp_path):
    prefix = tmp_path / "prefix"
    done = install("--prefix", str(prefix), "--programs", str(Path(CONTROL).parent))
    assert done.returncode == 0, done.stderr
    return prefix


def test_programs_pages_and_completions_are_installed(prefix):
    code = subprocess.run([prefix / "bin/einlassctl", "--version"], capture_output=True)
    assert code.returncode == 0
    for kind in HELPERS:
        assert os.readlink(prefix / f"bin/{kind}-credential-einlass") == "einlassctl"
    shown = subprocess.run(["git-credential-einlass", "capability"], env={"PATH": f"{prefix}/bin"}, capture_output=True, text=True)
    assert shown.stdout == "version 0\ncapability authtype\n"
    pages = {path.name.removesuffix(".1.gz") for path in (prefix / "share/man/man1").iterdir()}
    assert {"einlass", "einlassctl", "einlassctl-token", "einlassctl-services-add", "git-credential-einlass"} <= pages
    page = subprocess.run(["gzip", "-dc", prefix / "share/man/man1/einlassctl-token.1.gz"], capture_output=True, text=True).stdout
    assert page.startswith('.TH "EINLASSCTL-TOKEN" 1') and "\n.SH NAME\neinlassctl-token \\- Print a fresh" in page
    if shutil.which("groff"):
        checked = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True)
        assert checked.stderr == ""
    bash = f"source {prefix}/share/bash-completion/completions/einlassctl && complete -p einlassctl"
    assert subprocess.run(["bash", "-c", bash], capture_output=True).returncode == 0


def test_an_update_replaces_and_the_removal_leaves_other_files(prefix):
    (prefix / "bin/other").write_text("x")
    # A file of a former version that the new one has no longer.
    (prefix / "bin/former").write_text("x")
    with open(prefix / "share/einlass/installed", "a") as installed:
        installed.write("bin/former\n../outside\n/etc/nothing\n")
    (prefix.parent / "outside").write_text("x")
    before = (prefix / "bin/einlass").stat().st_ino
    assert install("--prefix", str(prefix), "--programs", str(Path(CONTROL).parent)).returncode == 0
    assert not (prefix / "bin/former").exists() and (prefix / "bin/einlass").stat().st_ino != before
    done = install("--prefix", str(prefix), "--uninstall")
    assert done.returncode == 0, done.stderr
    assert files(prefix) == {"bin/other"} and (prefix.parent / "outside").exists()
    done = install("--prefix", str(prefix), "--uninstall")
    assert done.returncode == 1 and "nothing is installed" in done.stderr


@pytest.mark.parametrize("arguments, code", [
    (["--prefix", "relative"], 64), (["--prefix"], 64), (["--programs", "/nowhere"], 64), (["--other"], 64), (["--help"], 0)])
def test_the_command_line_is_checked(arguments, code):
    assert install(*arguments).returncode == code


def test_a_failure_installs_nothing(tmp_path):
    (tmp_path / "programs").mkdir()
    done = install("--prefix", str(tmp_path / "prefix"), "--programs", str(tmp_path / "programs"))
    assert done.returncode == 1 and "there is no program" in done.stderr and not (tmp_path / "prefix").exists()


SCRIPT = r"""
set -ex
trap 'kill $(jobs -p)' EXIT
cd ~
! command -v swift
mkfifo ready; einlass-sandbox >ready & head -n 1 <ready >ready.json
mkdir -p -m 700 .config/einlass; (umask 077; jq .config ready.json >.config/einlass/config.json)
einlassctl sign-in gitlab --flow deviceCode 2>code & program=$!
for _ in $(seq 100); do grep -qE '[A-Z0-9]{4}-[A-Z0-9]{4}' code && break; sleep 0.1; done
curl -s -d "user_code=$(grep -oE '[A-Z0-9]{4}-[A-Z0-9]{4}' code)&decision=allow" "$(grep -o 'http://[^ ]*' code | head -n 1)" >page
wait $program
einlassctl access set git gitlab granted
git config --global credential.helper einlass
host=$(jq -r .addresses.gitlab ready.json); host=${host#http://}
printf 'protocol=http\nhost=%s\n\n' "$host" | git credential fill | grep -q ^password=
curl -sS -K <(einlassctl token gitlab --for git --curl) "http://$host/api/v4/user" | jq -e '.username == "ada"'
man einlassctl | grep -q 'Manages the accounts' && man git-credential-einlass | grep -q erase
bash -ic 'source /usr/share/bash-completion/bash_completion; _completion_loader einlassctl; complete -p einlassctl' 2>/dev/null
"""


@pytest.mark.skipif(os.environ.get("EINLASS_PACKAGE_TEST") != "1", reason=PACKAGE)
def test_the_package_works_in_a_fresh_debian(tmp_path):
    made = subprocess.run([PROJECT / "clients/package", tmp_path], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    package = next(tmp_path.glob("*.deb"))
    root = tmp_path / "root"
    subprocess.run(["mmdebstrap", "--variant=apt", "--include=git,man-db,bash-completion,curl,jq,ca-certificates", "bookworm", root],
                   check=True, capture_output=True)
    shutil.copy(package, root / "tmp")
    shutil.copy("/etc/resolv.conf", root / "etc")
    (root / "tmp/try.sh").write_text(SCRIPT)

    def inside(command):
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c",
                               f"mount -t proc proc {root}/proc && mount --bind /dev {root}/dev && chroot {root} {command}"],
                              capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    inside("sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q /tmp/*.deb && useradd -m ada'")
    inside("su ada -c 'bash /tmp/try.sh'")
    inside("sh -c 'DEBIAN_FRONTEND=noninteractive apt-get purge -y -q einlass && rm /tmp/*.deb'")
    left = subprocess.run(["find", root, "-xdev", "-name", "*einlass*", "-not", "-path", f"{root}/proc/*"], capture_output=True, text=True).stdout
    assert sorted(line.removeprefix(str(root)) for line in left.split()) == [
        "/home/ada/.config/einlass", "/home/ada/.local/share/einlass", "/home/ada/.local/state/einlass"]
