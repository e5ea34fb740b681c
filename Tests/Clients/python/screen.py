"""Makes clients/images/python-sign-in.png: the terminal program at the sandbox, in a tmux, drawn by ImageMagick.

    EINLASS_BINARY=… EINLASS_SANDBOX=… python Tests/Clients/python/screen.py
"""
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

PROJECT = Path(__file__).parents[3]
sys.path.append(str(PROJECT / "Tests/Integrations"))
from house import SANDBOX, House  # noqa: E402

PICTURE = PROJECT / "clients/images/python-sign-in.png"
COMMAND = "python -m einlass sign-in github --flow deviceCode"


def wait_for(screen, pattern):
    for _ in range(600):
        if found := re.search(pattern, screen(), re.DOTALL):
            return found
        time.sleep(0.1)
    raise TimeoutError(screen())


@contextlib.contextmanager
def shell(folder, environment, columns, rows):
    """A bash in a tmux: yields a function that runs a command of tmux, and one that returns the screen."""
    def tmux(*arguments):
        return subprocess.run(["tmux", "-S", folder / "tmux", "-f", "/dev/null", *arguments], env=environment,
                              cwd=folder / "work", capture_output=True, text=True, check=True).stdout

    def screen():
        return tmux("capture-pane", "-p")

    tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "env", "PS1=$ ", "HISTFILE=", "bash", "--norc")
    try:
        wait_for(screen, r"^\$")
        yield tmux, screen
    finally:
        tmux("kill-server")


def sign_in(folder, ready):
    """Returns the screen after the sign-in."""
    house = House(folder, ready)
    house.environment["PATH"] = f"{Path(sys.executable).parent}:{house.environment['PATH']}"
    house.change({"github": {"behaviour": {"consent": "page"}}})

    variables = {**house.environment, "PYTHONPATH": str(PROJECT / "clients/python")}
    with shell(folder, variables, 76, 50) as (tmux, screen):
        tmux("send-keys", COMMAND, "Enter")
        page, code = wait_for(screen, r"(http://\S+/device)\s[^█]*?\b([A-Z]{4}-[A-Z]{4})\s.*Ctrl-C").groups()
        form = {"user_code": code, "decision": "allow", "user": "3001"}
        urllib.request.urlopen(page, urllib.parse.urlencode(form).encode()).close()
        wait_for(screen, r"Signed in at.*\n\$\s*$")
        return screen().rstrip().removesuffix("$").rstrip()


def draw(text, path):
    """Each line by itself, so that the halves of the QR code meet."""
    width, height, margin, lines = 10, 19, 20, text.split("\n")
    size = f"{max(map(len, lines)) * width + 2 * margin}x{len(lines) * height + 2 * margin}"
    drawn = []
    for number, line in enumerate(lines, 1):
        indent = len(line) - len(line.lstrip())  # -annotate drops it
        place = f"+{margin + indent * width}+{margin + number * height - 4}"
        drawn += ["-annotate", place, line.lstrip().replace("%", "%%")] if line else []
    subprocess.run(["convert", "-size", size, "xc:#16181d", "-fill", "#e6e6e6", "-font", "DejaVu-Sans-Mono",
                    "-pointsize", "16", *drawn, "-colors", "8", "-strip", path], check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, \
            subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        try:
            shown = sign_in(Path(folder), json.loads(sandbox.stdout.readline()))
        finally:
            sandbox.terminate()
    draw(shown, PICTURE)
    print(shown)
