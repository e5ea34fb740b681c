"""A screen without a person: Xvfb, a session bus, eyes by the accessibility tree, hands by xdotool."""
import contextlib
import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from house import missing

PYTHON = "/usr/bin/python3"
PATIENCE = 120
NEEDED = "Xvfb", "xdotool", "dbus-daemon", "desktop-file-validate", "import", PYTHON


def has_gtk():
    versions = "import gi; gi.require_version('Gtk', '3.0'); gi.require_version('Atspi', '2.0')"
    return not missing(*NEEDED) and subprocess.run([PYTHON, "-c", versions], capture_output=True).returncode == 0


needs_gtk = pytest.mark.skipif(not has_gtk(), reason="skipped: there is no GTK 3 for the Python of Debian, or no Xvfb")


@pytest.fixture(scope="module")
def desktop():
    # A short path, because sockets lie in it.
    with tempfile.TemporaryDirectory() as folder, open_desktop(folder) as desktop:
        yield desktop


def until(look, wanted):
    """Looks until there is something. The machine may be busy, so the limit is far away."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if seen := look():
            return seen
        time.sleep(0.02)
    raise AssertionError(wanted() if callable(wanted) else wanted)


def nodes(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def names(tree):
    """Returns the names of all widgets of a window, in their order on the screen."""
    return [node["name"] for node in nodes(tree) if node["name"]]


def words(tree):
    return "\n".join(names(tree))


def find(tree, role, name=""):
    return next((node for node in nodes(tree) if node["role"] == role and name in node["name"]), None)


def focused(tree):
    return next((node["name"] for node in nodes(tree) if "focused" in node["states"]), None)


def lasting(tree):
    """Returns what does not change by itself: all but the time that is left."""
    return [(node["role"], node["name"], node["states"], node.get("text")) for node in nodes(tree)
            if not node["name"].startswith("Closes in ")]


def outline(window):
    lines = [[node["role"], repr(node["name"]), *node["states"]] for node in nodes(window) if node["name"]]
    return "\n".join(map(" ".join, lines))


def check_names(window):
    """Every widget that takes the focus or acts has a name."""
    acting = [node for node in nodes(window) if "focusable" in node["states"] or node["role"] in (
        "push button", "text", "password text", "check box", "list box", "list item", "icon")]
    assert len(acting) > 1 and [node["role"] for node in acting if not node["name"]] == []


class Desktop:
    def __init__(self, folder):
        self.environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
                            "XDG_RUNTIME_DIR": str(folder), "GSETTINGS_BACKEND": "memory"}
        self.processes = []
        self.environment["DISPLAY"] = ":" + self.start(
            "Xvfb", "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp").stdout.readline().strip()
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.start(
            "dbus-daemon", "--session", "--nofork", "--print-address").stdout.readline().strip()
        self.eyes = self.start(PYTHON, str(Path(__file__).with_name("eyes.py")))

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, env=self.environment)
        self.processes.append(process)
        return process

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(PATIENCE)
            process.stdin.close()
            process.stdout.close()

    # Eyes

    def look(self, command):
        self.eyes.stdin.write(command + "\n")
        self.eyes.stdin.flush()
        return json.loads(self.eyes.stdout.readline())

    def windows(self):
        return {window["name"]: window for window in self.look("windows")}

    def window(self, title, ready=lambda window: True):
        """Waits for a window with this title that satisfies `ready`.

        A window is read widget by widget and changes meanwhile, so it counts once a second look finds the same.
        """
        def look():
            window = self.windows().get(title)
            if not window or not window["whole"] or not ready(window):
                return None
            again = self.windows().get(title)
            return window if again and lasting(again) == lasting(window) else None
        return until(look, lambda: "\n".join([f"no window {title} as expected:", *map(outline, self.look("windows"))]))

    def gone(self, title):
        until(lambda: title not in self.windows(), f"{title} is still there")

    def clipboard(self, wanted):
        until(lambda: self.look("clipboard") == wanted, f"the clipboard has not {wanted}")

    # Hands

    def hand(self, title, *command):
        """Runs xdotool with the keyboard at the window. There is no window manager that does so."""
        self.xdotool("windowfocus", "--sync", self.number(title))
        self.xdotool(*command)

    def number(self, title):
        """Waits for the number of the window at the X server."""
        search = "search", "--onlyvisible", "--name", f"^{re.escape(title)}$"
        return until(lambda: self.xdotool(*search).split()[-1:], f"no X window {title}")[0]

    def press(self, title, *keys):
        for key in keys:
            self.hand(title, "key", key)

    def type(self, title, text):
        self.hand(title, "type", "--delay", "1", text)

    def reach(self, title, label):
        """Presses Tab until the widget whose name begins so has the focus."""
        for _ in range(20):
            before = focused(self.window(title, focused))
            if before.startswith(label):
                return
            self.press(title, "Tab")
            self.window(title, lambda window: focused(window) not in (None, before))
        raise AssertionError(f"Tab does not reach {label}")

    def xdotool(self, *command):
        return subprocess.run(["xdotool", *command], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE).stdout

    def picture(self, title, path):
        """Writes a picture of the window. A window that is not on the screen yet has none."""
        command = ["import", "-window", self.number(title), str(path)]
        until(lambda: subprocess.run(command, env=self.environment, timeout=PATIENCE).returncode == 0, "no picture")


@contextlib.contextmanager
def open_desktop(folder):
    desktop = Desktop(folder)
    try:
        yield desktop
    finally:
        desktop.close()
