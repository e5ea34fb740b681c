"""Makes clients/images/first-steps.svg: the lines of clients/EINLASSCTL.md at simulated providers, in a tmux.

    EINLASS_BINARY=… EINLASS_CONTROL=… EINLASS_SANDBOX=… python Tests/Clients/screens/first_steps.py
"""
import json
import re
import sys
import tempfile
import time
import urllib.request
from html import escape
from pathlib import Path

PROJECT = Path(__file__).parents[3]
sys.path[:0] = [str(PROJECT / name) for name in ("Tests/Integrations", "Tests/Documents", "Tests/Clients/python")]
from commands import parsed  # noqa: E402
from house import SANDBOX, House  # noqa: E402
from pages import blocks  # noqa: E402
from screen import shell, wait_for  # noqa: E402

PICTURE = PROJECT / "clients/images/first-steps.svg"
PAGE = "clients/EINLASSCTL.md"
COLUMNS, ROWS = 92, 60
COLOURS = {"31": "#f2777a", "32": "#99cc99", "33": "#ffcc66", "34": "#6699cc", "36": "#66cccc", "90": "#8b8f98"}


def lines_of_page():
    """The sign-in, the setup and the clone of the page."""
    (block,) = (block for block in blocks(PAGE, (PROJECT / PAGE).read_text()) if "--try" in block.text)
    return [command.partition("  # ")[0].rstrip() for command, _ in parsed(block.text)]


def type_lines(folder):
    """Returns the screen with its colours, after the lines of the page."""
    house = House(folder, {"config": {}})
    house.config.unlink()
    house.environment.pop("NO_COLOR")
    (folder / "bin/einlass-sandbox").symlink_to(SANDBOX)
    first, *lines = lines_of_page()
    variables = {**house.environment, "TMPDIR": str(folder), "DISPLAY": ":none", "SHELL": "/bin/sh"}
    with shell(folder, variables, COLUMNS, ROWS) as (tmux, screen):
        tmux("send-keys", f"exec {first} env PS1='$ ' bash --norc", "Enter")
        (trial,) = wait_until(lambda: list(folder.glob("tmp.*/sandbox.json")))
        control = json.loads(wait_until(trial.read_text))["control"]
        change = json.dumps({"github": {"behaviour": {"consent": "allow"}}}).encode()
        urllib.request.urlopen(urllib.request.Request(control.rstrip("/") + "/state", change, method="PATCH")).close()
        tmux("send-keys", "clear", "Enter")
        for number, line in enumerate(lines):
            wait_for(screen, rf"^(\$ [^\n]*\n(?:(?!\$)[^\n]*\n)+){{{number}}}\$\s*$")
            tmux("send-keys", "-l", line)
            tmux("send-keys", "Enter")
            if number == 0:
                wait_for(screen, r"Use it for git")
                tmux("send-keys", "y", "Enter")
        wait_for(screen, r'"login".*\$\s*$')  # the answer has no line end
        return tmux("capture-pane", "-p", "-e").rstrip().removesuffix("$").rstrip()


def wait_until(look):
    for _ in range(600):
        if found := look():
            return found
        time.sleep(0.1)
    raise TimeoutError


def spans(line):
    """The text of a line with its colour and weight."""
    colour, is_bold = None, False
    for codes, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
        for code in codes.split(";"):
            colour, is_bold = {"0": (None, False), "": (colour, is_bold), "1": (colour, True), "22": (colour, False),
                               "39": (None, is_bold)}.get(code, (COLOURS.get(code, colour), is_bold))
        if text:
            yield text, colour, is_bold


def draw(shown):
    """Each piece has its place and its width, so that the columns stand below each other in every font."""
    width, height, margin, drawn = 8.4, 19, 16, []
    for number, line in enumerate(shown.split("\n"), 1):
        column = 0
        for text, colour, is_bold in spans(line):
            style = (f' fill="{colour}"' if colour else "") + (' font-weight="bold"' if is_bold else "")
            for word in re.finditer(r"\S+( \S+)*", text):  # a text has no two blanks in a row
                place = f'x="{margin + (column + word.start()) * width:g}" y="{margin + number * height - 5}"'
                place += f' textLength="{len(word[0]) * width:g}"'
                drawn.append(f"<text {place}{style}>{escape(word[0], quote=False)}</text>")
            column += len(text)
    size = f'width="{COLUMNS * width + 2 * margin:g}" height="{len(shown.splitlines()) * height + 2 * margin}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="ui-monospace, DejaVu Sans Mono, monospace" '
            'font-size="14" fill="#e6e6e6">\n<rect width="100%" height="100%" rx="8" fill="#16181d"/>\n'
            + "\n".join(drawn) + "\n</svg>\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        shown = type_lines(Path(folder))
    PICTURE.write_text(draw(shown))
    print(shown)
