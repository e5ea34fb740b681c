"""Makes the picture of clients/neovim/README.md: Neovim in tmux during a sign-in by code at the sandbox.

    python Tests/Clients/screens/neovim.py clients/neovim/device-code.png

It needs the programs of Tests/Clients, tmux, chromium and ImageMagick.
"""
import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CLIENTS = Path(__file__).parents[1]
sys.path += [str(CLIENTS.parent / "Integrations"), str(CLIENTS / "neovim")]
from house import SANDBOX, House  # noqa: E402
from screen import Screen, blocks  # noqa: E402

COLUMNS, ROWS = 84, 24
CELL, LINE = 9.63, 19  # pixels of DejaVu Sans Mono at 16 pixels
FOREGROUND, BACKGROUND = "#d0d0d0", "#262626"
SIXTEEN = ["#1c1c1c", "#d75f5f", "#87af87", "#d7af5f", "#5f87af", "#af87af", "#5f8787", "#d0d0d0",
           "#767676", "#ff8787", "#afd7af", "#ffd787", "#87afd7", "#d7afd7", "#87d7d7", "#ffffff"]
#: The levels of the colours 16 to 231.
LEVELS = [0, 95, 135, 175, 215, 255]


def colour(codes):
    """Takes the rest of a colour from the codes of a sequence: 5 and a number, or 2 and three parts."""
    if codes.pop(0) == 2:
        return "#%02x%02x%02x" % tuple(codes.pop(0) for _ in range(3))
    number = codes.pop(0)
    if number < 16:
        return SIXTEEN[number]
    if number > 231:
        return "#%02x%02x%02x" % ((8 + 10 * (number - 232),) * 3)
    return "#%02x%02x%02x" % tuple(LEVELS[(number - 16) // step % 6] for step in (36, 6, 1))


def change(style, codes):
    """Applies the codes of one SGR sequence (ECMA-48) to a style."""
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.clear()
        elif code in (38, 48):
            style["color" if code == 38 else "background"] = colour(codes)
        elif code in (39, 49):
            style.pop("color" if code == 39 else "background", None)
        elif code in (1, 7):
            style[code] = True
        elif code in (22, 27):
            style.pop(code - 21 if code == 22 else 7, None)
        elif 30 <= code % 60 <= 37 or 40 <= code % 60 <= 47:
            bright = 8 if code >= 90 else 0
            style["color" if code % 60 < 40 else "background"] = SIXTEEN[code % 10 + bright]


def page(text):
    """Returns the output of `tmux capture-pane -e` as HTML."""
    style, parts = {}, []
    for part in re.split(r"(\x1b\[[\d;:]*m)", text):
        if sequence := re.fullmatch(r"\x1b\[([\d;:]*)m", part):
            change(style, [int(code or 0) for code in re.split("[;:]", sequence[1])])
            continue
        front, back = style.get("color", FOREGROUND), style.get("background", BACKGROUND)
        front, back = (back, front) if style.get(7) else (front, back)
        weight = "bold" if style.get(1) else "normal"
        look = f"color:{front};background:{back};font-weight:{weight}"
        parts.append("\n".join(f'<span style="{look}">{html.escape(line)}</span>' for line in part.split("\n")))
    return (f'<meta charset="utf-8"><body style="margin:0;background:{BACKGROUND}"><pre style="margin:8px;'
            f'font:16px/{LINE}px DejaVu Sans Mono">{"".join(parts)}</pre>')


def picture(text, path):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "page.html").write_text(page(text))
        size = f"{round(COLUMNS * CELL) + 16},{ROWS * LINE + 16}"
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--hide-scrollbars",
                        f"--user-data-dir={folder}/profile", f"--window-size={size}",
                        f"--screenshot={folder}/page.png", f"file://{folder}/page.html"],
                       check=True, capture_output=True, timeout=120)
        small = ["-strip", "+dither", "-colors", "48", f"png8:{path}"]
        subprocess.run(["convert", f"{folder}/page.png", *small], check=True)


def main():
    with (tempfile.TemporaryDirectory() as folder,
          subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox):
        try:
            home = Path(folder, "home")
            home.mkdir(mode=0o700)
            house = House(home, json.loads(sandbox.stdout.readline()))
            house.change({"github": {"behaviour": {"consent": "page"}}})
            (home / "work/hello.lua").write_text(blocks("lua")[0])
            with Screen(house, columns=COLUMNS, rows=ROWS) as screen:
                screen.command("set laststatus=2 termguicolors nowrap | syntax on | colorscheme slate | edit hello.lua")
                screen.wait_for("local einlass")
                screen.command("Einlass sign-in github deviceCode")
                screen.wait_for("Enter this code at", "y copy the code")
                picture(screen.shown("-e", "-N"), sys.argv[1])
        finally:
            sandbox.terminate()


main()
