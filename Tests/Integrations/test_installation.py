"""`clients/install` into an empty prefix.

    python -m pytest Tests/Integrations/test_installation.py
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from house import CONTROL, EINLASS, HELPERS, PROJECT, SANDBOX, needs
from trial import try_out

sys.path.append(str(PROJECT / "Tests/Control"))
from terminal import Terminal  # noqa: E402

INSTALL = str(PROJECT / "clients/install")


def install(*arguments, **environment):
    return subprocess.run([INSTALL, *arguments], capture_output=True, text=True, env={**os.environ, **environment})


def files(folder):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_symlink() or not path.is_dir()}


def programs_below(folder):
    """The programs of this run in one folder, as an archive has them."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, path in (("einlass", EINLASS), ("einlassctl", CONTROL), ("einlass-sandbox", SANDBOX)):
        if not (programs / name).exists():
            (programs / name).symlink_to(path)
    return str(programs)


def installed_below(folder):
    prefix = folder / "prefix"
    done = install("--prefix", str(prefix), "--programs", programs_below(folder))
    assert done.returncode == 0, done.stderr
    return prefix


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation that no test changes."""
    return installed_below(tmp_path_factory.mktemp("installation"))


def test_programs_pages_and_completions_are_installed(prefix):
    code = subprocess.run([prefix / "bin/einlassctl", "--version"], capture_output=True)
    assert code.returncode == 0
    for kind in HELPERS:
        assert os.readlink(prefix / f"bin/{kind}-credential-einlass") == "einlass"
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


PLUGIN = "share/nvim/site/pack/einlass/start/einlass"
PROMPTER = "share/einlass-prompter"


def test_each_file_of_the_clients_is_installed(prefix):
    def sources(folder, suffix):
        return {name for name in files(PROJECT / "clients" / folder) if name.endswith(suffix)}

    assert files(prefix / PLUGIN) == sources("neovim", ".lua") | {"doc/einlass.txt", "doc/tags"}
    for folder, package in (("prompter", "einlass_prompter"), ("python", "einlass")):
        assert files(prefix / PROMPTER / package) == sources(f"{folder}/{package}", ".py")
    assert files(prefix / "share/emacs") == {"site-lisp/einlass.el"}
    assert files(prefix / "share/applications") == {"einlass-prompter.desktop"}


@needs("nvim")
def test_neovim_finds_its_plugin_and_its_help(prefix, tmp_path):
    environment = {"HOME": str(tmp_path), "PATH": f"{prefix}/bin:/usr/bin:/bin", "XDG_DATA_DIRS": f"{prefix}/share:/usr/share"}
    nvim = ["nvim", "--headless", "-u", "NORC", "-i", "NONE", "-n"]
    find = "lua io.write(vim.fn.exists(':Einlass'), ' ', require('einlass.rpc').find())"
    done = subprocess.run([*nvim, "-c", find, "-c", "help einlass.token()", "-c", "lua io.write(' ', vim.fn.expand('%:p'))",
                           "-c", "qall!"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"2 {prefix}/bin/einlass {prefix}/{PLUGIN}/doc/einlass.txt", "")
    shutil.copytree(prefix / PLUGIN / "doc", tmp_path / "doc", ignore=shutil.ignore_patterns("tags"))
    subprocess.run([*nvim, "-c", f"helptags {tmp_path}/doc", "-c", "qall!"], env=environment, timeout=60, check=True,
                   capture_output=True)
    assert (prefix / PLUGIN / "doc/tags").read_text() == (tmp_path / "doc/tags").read_text()


@needs("emacs")
def test_emacs_finds_its_package(prefix, tmp_path):
    # Emacs looks into /usr/local/share/emacs/site-lisp by itself.
    done = subprocess.run(["emacs", "-Q", "--batch", "-L", prefix / "share/emacs/site-lisp", "--eval",
                           "(progn (require 'einlass) (princ (einlass-find-program)))"], capture_output=True, text=True,
                          env={"HOME": str(tmp_path), "PATH": f"{prefix}/bin:/usr/bin:/bin"}, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{prefix}/bin/einlass"), done.stderr


GTK = subprocess.run(["/usr/bin/python3", "-c", "import gi; gi.require_version('Gtk', '3.0')"], capture_output=True).returncode == 0


def start_prompter(prefix, home):
    """Runs the prompter until it lacks a display. Prints its exit code, and the places of its modules."""
    script = (f"import runpy, sys\nsys.argv = ['{prefix}/bin/einlass-prompter', 'sign-in']\n"
              "try: runpy.run_path(sys.argv[0], run_name='__main__')\nexcept SystemExit as end: code = end.code\n"
              "from einlass_prompter import sign_in\nimport einlass\nprint(code, sign_in.__file__, einlass.__file__)")
    return subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True, timeout=60,
                          env={"HOME": str(home), "PATH": "/usr/bin:/bin"})


@pytest.mark.skipif(not GTK, reason="skipped: there is no GTK 3 for the Python of Debian")
def test_the_prompter_finds_its_packages_and_leaves_nothing(tmp_path):
    prefix = installed_below(tmp_path)
    done = start_prompter(prefix, tmp_path)
    below = prefix / PROMPTER
    assert done.stdout == f"1 {below}/einlass_prompter/sign_in.py {below}/einlass/__init__.py\n", done.stderr
    assert list(below.rglob("*.pyc"))
    assert install("--prefix", str(prefix), "--uninstall").returncode == 0
    assert files(tmp_path / "prefix") == set()


@needs("desktop-file-validate")
def test_the_entry_of_the_menu_starts_an_installed_program(prefix):
    entry = prefix / "share/applications/einlass-prompter.desktop"
    assert subprocess.run(["desktop-file-validate", entry], capture_output=True, text=True).stdout == ""
    (command,) = [line for line in entry.read_text().splitlines() if line.startswith("Exec=")]
    program = prefix / "bin" / command.removeprefix("Exec=").split()[0]
    assert os.access(program, os.X_OK) and not program.is_symlink()


def test_a_link_to_a_plugin_elsewhere_stays(tmp_path):
    (tmp_path / "clone/lua").mkdir(parents=True)
    link = tmp_path / "prefix" / PLUGIN
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "clone")
    prefix = installed_below(tmp_path)
    assert link.is_symlink() and files(tmp_path / "clone") == set()
    # A plugin of an earlier installation, which the person has replaced by a link.
    (tmp_path / "clone/lua/mine.lua").write_text("x")
    with open(prefix / "share/doc/einlass/installed", "a") as installed:
        installed.write(f"{PLUGIN}/lua/mine.lua\n")
    assert install("--prefix", str(prefix), "--uninstall").returncode == 0
    assert files(tmp_path / "clone") == {"lua/mine.lua"} and link.is_symlink()


def test_an_update_replaces_and_the_removal_leaves_other_files(tmp_path):
    prefix = installed_below(tmp_path)
    (prefix / "bin/other").write_text("x")
    # A file of a former version that the new one has no longer.
    (prefix / "bin/former").write_text("x")
    with open(prefix / "share/doc/einlass/installed", "a") as installed:
        installed.write("bin/former\n../outside\n/etc/nothing\n")
    (prefix.parent / "outside").write_text("x")
    before = (prefix / "bin/einlass").stat().st_ino
    assert install("--prefix", str(prefix), "--programs", programs_below(tmp_path)).returncode == 0
    assert not (prefix / "bin/former").exists() and (prefix / "bin/einlass").stat().st_ino != before
    done = install("--prefix", str(prefix), "--uninstall")
    assert done.returncode == 0, done.stderr
    assert files(prefix) == {"bin/other"} and (prefix.parent / "outside").exists()
    done = install("--prefix", str(prefix), "--uninstall")
    assert done.returncode == 1 and "nothing is installed" in done.stderr


def test_the_removal_leaves_the_folders_that_were_there(tmp_path):
    prefix = tmp_path / "prefix"
    (prefix / "share/man").mkdir(parents=True)
    installed_below(tmp_path)
    assert install("--prefix", str(prefix), "--programs", programs_below(tmp_path)).returncode == 0
    assert install("--prefix", str(prefix), "--uninstall").returncode == 0
    assert {str(path.relative_to(prefix)) for path in prefix.rglob("*")} == {"share", "share/man"}


def test_an_installation_in_a_fresh_home_leaves_the_folder_of_the_store_alone(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    assert install("--prefix", f"{home}/.local", "--programs", programs_below(tmp_path)).returncode == 0
    done = subprocess.run([home / ".local/bin/einlassctl", "doctor"], env=environment, capture_output=True, text=True)
    assert "open to other users" not in done.stdout + done.stderr
    done = subprocess.run([home / ".local/bin/einlassctl", "providers", "configure", "vimeo", "--client-id", "x", "--secret-fd", "0"],
                          env=environment, capture_output=True, text=True, input="secret")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments, code", [
    (["--prefix", "relative"], 64), (["--prefix"], 64), (["--programs", "/nowhere"], 64), (["--other"], 64), (["--help"], 0)])
def test_the_command_line_is_checked(arguments, code):
    assert install(*arguments).returncode == code


def test_a_failure_installs_nothing(tmp_path):
    (tmp_path / "programs").mkdir()
    done = install("--prefix", str(tmp_path / "prefix"), "--programs", str(tmp_path / "programs"))
    assert done.returncode == 1 and "there is no program" in done.stderr and not (tmp_path / "prefix").exists()


@needs("curl", "git", "man")
def test_an_installation_signs_in_and_clones(prefix, tmp_path):
    try_out(prefix, tmp_path / "home")


@needs("zsh")
def test_zsh_loads_the_completions(prefix):
    folder = prefix / "share/zsh/site-functions"
    assert subprocess.run(["zsh", "-f", "-n", folder / "_einlassctl"], capture_output=True).stderr == b""
    script = f"fpath=('{folder}' $fpath); autoload -U compinit; compinit -u -D; print $_comps[einlassctl]; autoload +X -U _einlassctl"
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "_einlassctl\n", "")


@needs("fish")
def test_fish_completes_commands(prefix, tmp_path):
    path = prefix / "share/fish/vendor_completions.d/einlassctl.fish"
    assert subprocess.run(["fish", "--no-execute", path], capture_output=True).stderr == b""

    environment = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "",
                   "fish_greeting": ""}
    with Terminal([shutil.which("fish"), "--no-config", "--init-command", f"source '{path}'"], **environment) as fish:
        fish.type("echo [(complete -C 'einlassctl acc' | string split -f 1 \\t)]\r")
        fish.wait_for("[access] [accounts]")
        # The tab completes the only option that begins so.
        fish.type("einlassctl token --min-v\t")
        fish.wait_for("alidity")
