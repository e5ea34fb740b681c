"""Places for an installation: virtual environments and roots of Debian."""
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Integrations"))


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() and path.suffix != ".pyc"}


def environment(folder, python=sys.executable):
    """A virtual environment without pip."""
    run(python, "-m", "venv", "--without-pip", folder)
    return folder


def pip(folder, *arguments):
    python = folder / "bin/python"
    return run(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *arguments)


def signing_key(folder):
    """Makes a throw-away key. Returns the list of signers with it."""
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key")
    (folder / "signers").write_text("einlass " + (folder / "key.pub").read_text())
    return folder / "signers"


class Root:
    """A root folder with Debian and these packages, and a user ada."""

    def __init__(self, folder, suite, *packages):
        self.folder = folder
        run("mmdebstrap", "--quiet", "--variant=apt", "--include=" + ",".join(("passwd", *packages)), suite, folder)
        (folder / "etc/resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
        self.do("useradd --create-home --shell /bin/bash ada")

    def do(self, script, user="root"):
        """Runs a script of bash as this user. Returns its output."""
        (self.folder / "opt/script").write_text(script)
        home = "/root" if user == "root" else f"/home/{user}"
        enter = [f"cd '{self.folder}'", "mount -t proc proc proc", "mount --bind /dev dev",
                 f"exec chroot --userspec={user}:{user} . env HOME={home} bash -e /opt/script"]
        variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", " && ".join(enter),
                   env=variables, stdin=subprocess.DEVNULL, timeout=600)

    def left(self):
        """The files and folders with the name of einlass, without those below such a folder."""
        found = run("find", self.folder, "-xdev", "-name", "*einlass*", "-print", "-prune")
        return sorted(line.removeprefix(str(self.folder)) for line in found.split())
