"""The programs where there is no /proc: in a sandbox of bubblewrap, and in a chroot.

    python -m pytest Tests/Faults/test_without_proc.py
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stores import EINLASS, PATIENCE_SECONDS, PROJECT

PROGRAMS = {"einlass": EINLASS,
            "einlassctl": os.environ.get("EINLASS_CONTROL", EINLASS + "ctl"),
            "einlass-sandbox": os.environ.get("EINLASS_SANDBOX", EINLASS + "-sandbox")}
ACCOUNT = {"provider": "github", "username": "ada", "credential": {"type": "oauth2", "token": "t-1", "clientId": "1"}}

BUBBLEWRAP = ["bwrap", "--bind", "/", "/", "--tmpfs", "/proc", "--dev", "/dev"]
CHROOT = ["unshare", "-m", "--propagation", "private", "sh", "-c", """
mount --rbind / "$0" && mount --make-rprivate "$0" && umount -l "$0/proc" && exec chroot "$0" "$@" """]


def starts(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


@pytest.fixture(params=["bwrap", "chroot"])
def place(request, tmp_path):
    """The beginning of a command line that runs a program without /proc."""
    if request.param == "chroot":
        if os.geteuid() != 0:
            pytest.skip("skipped: only root may change its root")
        (tmp_path / "root").mkdir()
        prefix = [*CHROOT, str(tmp_path / "root")]
    else:
        if not shutil.which("bwrap"):
            pytest.skip("skipped: there is no bwrap")
        prefix = BUBBLEWRAP
    if not starts(*prefix, "true"):
        pytest.skip(f"skipped: this machine has no {request.param} for tests")
    # The control: programs that need /proc fail here.
    assert not starts(*prefix, "cat", "/proc/self/cmdline") and starts("cat", "/proc/self/cmdline")
    return prefix


@pytest.fixture
def home(tmp_path):
    """A home folder with an account of the person."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    code, _, errors = run(home, PROGRAMS["einlassctl"], "accounts", "add", "-", input=json.dumps([ACCOUNT]))
    assert code == 0, errors
    config = home / ".config/einlass/config.json"
    config.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    config.touch(0o600)
    config.write_text(json.dumps({"applications": {"*": {"github": {"clientId": "1"}}}}))
    for application in ("einlassctl", "git"):
        code, _, errors = run(home, PROGRAMS["einlassctl"], "access", "set", application, "github", "granted")
        assert code == 0, errors
    return home


def environment(home, **more):
    return {"HOME": str(home), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "EINLASS": EINLASS, **more}


def run(home, *command, input="", **more):
    done = subprocess.run(command, input=input, capture_output=True, text=True, timeout=PATIENCE_SECONDS, cwd="/",
                          env=environment(home, **more))
    return done.returncode, done.stdout, done.stderr


def contents(home):
    """Returns the files below a folder."""
    return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_reads_its_options(place, tmp_path, program):
    code, output, errors = run(tmp_path, *place, PROGRAMS[program], "--version")
    assert code == 0 and output and "OVERVIEW" not in output, errors
    code, output, errors = run(tmp_path, *place, PROGRAMS[program], "--unknown")
    assert (code, output) == (64, "") and "--unknown" in errors


def test_a_store_in_memory_leaves_the_store_of_the_person_alone(place, home):
    before = contents(home)
    lines = [{"method": "accounts.add", "params": {**ACCOUNT, "username": "eve"}},
             {"method": "accounts.list", "params": {}}]
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": id, **line}) + "\n" for id, line in enumerate(lines))
    code, output, errors = run(home, *place, EINLASS, "--store", "memory", "--finish", input=text)
    assert code == 0, errors
    listed = next(answer for answer in map(json.loads, output.splitlines()) if answer.get("id") == 1)
    assert [account["username"] for account in listed["result"]["accounts"]] == ["eve"]
    assert contents(home) == before


def test_einlassctl_does_what_its_arguments_say(place, home):
    control = [*place, PROGRAMS["einlassctl"]]
    assert run(home, *control, "token", "github")[:2] == (0, "t-1\n")
    assert run(home, *control, "token", "gitlab")[:2] == (1, "")
    assert run(home, *control, "accounts", "remove", "ada", "--yes")[0] == 0
    assert run(home, *control, "token", "github")[:2] == (1, "")


@pytest.mark.parametrize("program", ["einlass", "einlassctl"])
def test_a_helper_knows_its_name(place, home, program):
    helper = home / "git-credential-einlass"
    helper.symlink_to(PROGRAMS[program])
    code, output, errors = run(home, *place, helper, "get", input="protocol=https\nhost=github.com\n\n")
    assert code == 0 and "password=t-1\n" in output, errors


def test_the_einlass_beside_einlassctl_comes_before_the_path(place, home):
    (home / "own").mkdir()
    (home / "other").mkdir()
    for name in ("einlass", "einlassctl"):
        shutil.copy(PROGRAMS[name], home / "own" / name)
    other = home / "other/einlass"
    other.write_text(f"#!/bin/sh\necho used >{home}/used\n")
    other.chmod(0o700)
    path = {"EINLASS": "", "PATH": f"{home}/other:/usr/bin:/bin:/usr/sbin:/sbin"}
    assert run(home, *place, home / "own/einlassctl", "token", "github", **path)[:2] == (0, "t-1\n")
    (home / "link").symlink_to("own/einlassctl")
    assert run(home, *place, home / "link", "token", "github", **path)[:2] == (0, "t-1\n")
    assert not (home / "used").exists()


def test_an_einlassctl_without_a_path_looks_for_no_einlass(place, home):
    """A program that was started by a descriptor has no path without /proc."""
    start = ("import os, sys; file = os.open(sys.argv[1], os.O_RDONLY | os.O_CLOEXEC)\n"
             "os.execve(file, ['einlassctl', 'token', 'github'], os.environ)")
    command = [*place, shutil.which("python3", path="/usr/bin"), "-c", start, PROGRAMS["einlassctl"]]
    code, output, errors = run(home, *command, EINLASS="", PATH=f"{Path(EINLASS).parent}:/usr/bin:/bin:/usr/sbin")
    assert (code, output) == (70, ""), errors
    assert "does not tell where einlassctl is" in errors and "--einlass" in errors
    # The control: with a name for einlass, the same program works.
    assert run(home, *command)[:2] == (0, "t-1\n")


def test_a_file_system_of_an_unknown_kind_is_a_network(place, home, preload):
    with_fuse = {"LD_PRELOAD": str(preload("network_disk")), "EINLASS_FILE_SYSTEM": "65735546"}
    for variables, is_refused in ((with_fuse, True), ({}, False)):
        command = ["env", *(f"{name}={value}" for name, value in variables.items()), EINLASS, "call", "accounts.add",
                   json.dumps({**ACCOUNT, "username": "eve"})]
        code, output, errors = run(home, *place, *command)
        assert (code == 1 and '"unsupportedFileSystem"' in output) == is_refused, (output, errors)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_without_its_arguments_does_not_run(preload, tmp_path, program):
    """A start that hands nothing over is not one without options."""
    code, output, errors = run(tmp_path, PROGRAMS[program], "--version", LD_PRELOAD=str(preload("no_arguments")))
    assert (code, output) == (78, "") and "did not hand over the command line" in errors
    assert contents(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("bwrap"), reason="skipped: needs root and bwrap")
def test_no_process_of_another_namespace_is_named_as_the_parent(home):
    """In this sandbox /proc shows the processes outside, where the same id means another one."""
    def parent(*place):
        code, _, errors = run(home, *place, EINLASS, "call", "access.set",
                              '{"application": "x", "provider": "github", "state": "granted"}')
        assert code == 0, errors
        code, output, errors = run(home, EINLASS, "call", "audit.list")
        assert code == 0, errors
        return json.loads(output)["result"]["entries"][0]["parent"]

    # The first process outside is a shell. Inside, the parent of einlass is the first process.
    assert parent("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh",
                  "bwrap", "--dev-bind", "/", "/", "--unshare-pid") == ""
    # The control: in its own namespace the parent is known.
    assert parent() == os.path.realpath(sys.executable)


def test_the_installation_is_removed_whole(place, tmp_path):
    install, prefix = PROJECT / "clients/install", tmp_path / "prefix"
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("einlass", "einlassctl"):
        (programs / name).symlink_to(PROGRAMS[name])
    code, _, errors = run(tmp_path, *place, install, "--prefix", prefix, "--programs", programs)
    assert code == 0, errors
    assert (prefix / "bin/einlassctl").exists()
    code, _, errors = run(tmp_path, *place, install, "--prefix", prefix, "--uninstall")
    assert code == 0 and list(prefix.iterdir()) == [], errors
