"""A screen without a person: Xvfb, a session bus, eyes by the accessibility tree, hands by xdotool."""
import contextlib
import json
import os
import re
import subprocess
import time
from pathlib import Path

PYTHON = "/usr/bin/python3"
PATIENCE = 30


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


def outline(window):
    return "\n".join(" ".join([node["role"], repr(node["name"]), *node["states"]]) for node in nodes(window) if node["name"])


class Desktop:
    def __init__(self, folder):
        self.environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(folder),
                            "GSETTINGS_BACKEND": "memory"}
        self.processes = []
        self.environment["DISPLAY"] = ":" + self.start(
            "Xvfb", "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp").stdout.readline().strip()
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.start(
            "dbus-daemon", "--session", "--nofork", "--print-address").stdout.readline().strip()
        self.eyes = self.start(PYTHON, str(Path(__file__).with_name("eyes.py")))

    def start(self, *command, **more):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=self.environment, **more)
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
        """Waits for a window with this title that satisfies `ready`."""
        def look():
            window = self.windows().get(title)
            return window if window and ready(window) else None
        return until(look, lambda: "\n".join([f"no window {title} as expected:", *map(outline, self.windows().values())]))

    def gone(self, title):
        until(lambda: title not in self.windows(), f"{title} is still there")

    def clipboard(self, wanted):
        until(lambda: self.look("clipboard") == wanted, f"the clipboard has not {wanted}")

    # Hands

    def hand(self, title, *command):
        """Runs xdotool with the keyboard at the window. There is no window manager that does so."""
        def window():
            found = self.xdotool("search", "--onlyvisible", "--name", f"^{re.escape(title)}$").split()
            return found[-1] if found else None
        self.xdotool("windowfocus", "--sync", until(window, f"no X window {title}"))
        self.xdotool(*command)

    def press(self, title, *keys):
        for key in keys:
            self.hand(title, "key", key)

    def type(self, title, text):
        self.hand(title, "type", "--delay", "1", text)

    def xdotool(self, *command):
        return subprocess.run(["xdotool", *command], env=self.environment, capture_output=True, text=True, timeout=PATIENCE).stdout

    def picture(self, title, path):
        """Writes a picture of the window."""
        window = until(lambda: self.xdotool("search", "--onlyvisible", "--name", f"^{re.escape(title)}$").split(), "no window")
        subprocess.run(["import", "-window", window[-1], str(path)], env=self.environment, check=True, timeout=PATIENCE)


@contextlib.contextmanager
def open_desktop(folder):
    desktop = Desktop(folder)
    try:
        yield desktop
    finally:
        desktop.close()
