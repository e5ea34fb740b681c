"""Makes clients/emacs/screen.png from a sign-in by code at the sandbox: emacs in tmux, and its screen drawn by Chromium.

    python Tests/Clients/emacs/screen.py
"""
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[3]
sys.path.append(str(PROJECT / "Tests/Integrations"))
from house import SANDBOX, House  # noqa: E402

COLUMNS, ROWS = 76, 22
START = """(progn (setq inhibit-startup-screen t) (menu-bar-mode -1)
 (write-region "Hello.\\n" nil "hello.txt" nil 'quiet) (find-file "hello.txt")
 (run-with-idle-timer 0.1 nil (lambda () (message nil) (einlass-sign-in "github" t))))"""
COLOURS = "#000000 #a00000 #00702a #80600a #2040c0 #a000a0 #007080 #c0c0c0".split()


def colour(number):
    """Returns a colour of the terminal: the eight ones, their bright ones, and the greys from 232 on."""
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    return COLOURS[number % 8]


def in_html(screen):
    """Returns a page that draws the captured screen: bold, inverse and colours."""
    state, parts = {}, []
    for text, codes in re.findall(r"([^\x1b]+)|\x1b\[([\d;]*)m", screen):
        codes = [int(code or 0) for code in codes.split(";")] if not text else []
        while codes:
            code = codes.pop(0)
            part = "ground" if code // 10 in (4, 10) else "text"
            if code == 0:
                state = {}
            elif code in (1, 7):
                state[code] = True
            elif code in (38, 48):
                state[part], codes = colour(codes[1]), codes[2:]
            elif code in (39, 49):
                state.pop(part, None)
            else:
                state[part] = colour(code % 10)
        if text:
            colours = [state.get("text", "#202020"), state.get("ground", "#ffffff")]
            text_colour, ground = reversed(colours) if 7 in state else colours
            weight = "bold" if 1 in state else "normal"
            parts.append(f'<span style="color:{text_colour};background:{ground};font-weight:{weight}">{html.escape(text)}</span>')
    return ("<!DOCTYPE html><meta charset=utf-8><style>body{margin:0;background:#fff}"
            "pre{margin:12px;font:16px/20px 'DejaVu Sans Mono',monospace}</style><pre>" + "".join(parts) + "</pre>")


def capture(house, socket):
    def tmux(*words, **more):
        return subprocess.run(["tmux", "-S", str(socket), "-f", "/dev/null", *words], env={**house.environment, "TERM": "xterm"},
                              check=True, capture_output=True, text=True, cwd=house.folder / "work", **more).stdout

    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "emacs", "-nw", "-Q", "-l",
         str(PROJECT / "clients/emacs/einlass.el"), "--eval", START, ";", "set", "status", "off")
    try:
        while True:
            screen = tmux("capture-pane", "-e", "-p")
            if "Enter this code" in screen and "[k Cancel]" in screen:
                return screen
    finally:
        tmux("kill-server")


def main():
    with tempfile.TemporaryDirectory() as name, subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        folder = Path(name)
        (folder / "home").mkdir(mode=0o700)
        house = House(folder / "home", json.loads(sandbox.stdout.readline()))
        (folder / "page.html").write_text(in_html(capture(house, folder / "socket")))
        sandbox.terminate()
        subprocess.run([shutil.which("chromium"), "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu",
                        f"--user-data-dir={name}/profile", "--force-device-scale-factor=1.5", "--window-size=760,464",
                        f"--screenshot={name}/screen.png", f"file://{name}/page.html"], check=True, capture_output=True)
        subprocess.run(["convert", f"{name}/screen.png", "-colors", "32", "-strip", str(PROJECT / "clients/emacs/screen.png")], check=True)


if __name__ == "__main__":
    main()
