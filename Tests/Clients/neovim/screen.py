"""Neovim on a screen of tmux, and Neovim without one."""
import json
import os
import re
import shlex
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

NVIM = os.environ.get("EINLASS_NEOVIM", "nvim")
PLUGIN = Path(__file__).parents[3] / "clients/neovim"
PATIENCE = 60  # seconds; turns a hang into a failure
#: Neovim with its own settings alone. The plugin is a package folder, as the README installs it.
OPTIONS = ["-u", "NONE", "-n", "--cmd", "set nocompatible shortmess+=I"]


def blocks(language):
    """Returns the blocks of this language in the README."""
    return re.findall(rf"```{language}\n(.*?)```", (PLUGIN / "README.md").read_text(), re.DOTALL)


def install(house):
    """Installs the plugin by the commands of the README."""
    if (house.folder / ".local/share/nvim").exists():
        return
    (commands,) = blocks("console")
    for line in commands.splitlines():
        code, _, errors = house.run("sh", "-c", line.removeprefix("$ "), cwd=PLUGIN.parents[1])
        assert code == 0, errors


def lua_command(house, script, *options):
    install(house)
    return [NVIM, "--headless", *OPTIONS, *options, "-c", "packloadall", "-c", f"luafile {script}", "-c", "qall!"]


def run_lua(house, script, *options, patience=PATIENCE, **more):
    """Runs a Lua file in Neovim without a screen. Returns the exit code, standard output and standard error."""
    return house.run(*lua_command(house, script, *options), patience=patience, **more)


def start_lua(house, script):
    """Starts a Lua file in Neovim without a screen. Returns the process."""
    return house.start(*lua_command(house, script))


def write(house, name, text):
    path = house.folder / name
    path.write_text(text)
    return path


def lua(house, text, *options, **more):
    """Runs Lua in Neovim without a screen. Returns standard output and standard error."""
    code, output, errors = run_lua(house, write(house, "script.lua", text), *options, **more)
    assert code == 0, errors
    return output, errors


def hold_pages(house):
    """From now on no page is visited. Returns a function that waits for an opened page and returns its address."""
    browser, address = house.folder / "bin/xdg-open", house.folder / "page"
    browser.write_text(f'#!/bin/sh\necho "$1" >{address}.new && mv {address}.new {address}\n')

    def page():
        end = time.monotonic() + 60
        while not address.exists():
            assert time.monotonic() < end, "no page was opened"
            time.sleep(0.05)
        text = address.read_text().strip()
        address.unlink()
        return text
    return page


def visit(address):
    urllib.request.urlopen(address).close()


def accounts(house):
    return json.loads(house.do("accounts", "list", "--json"))["accounts"]


class Screen:
    """Neovim on a screen that the tests see and type on."""

    def __init__(self, house, *arguments, columns=84, rows=24, **environment):
        install(house)
        # Not in the folder of the test, because the path of a socket has at most 107 bytes.
        self.folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.socket = f"{self.folder.name}/tmux"
        environment = {**house.environment, "TERM": "screen-256color", **environment}
        command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), NVIM, *OPTIONS,
                   "-c", "packloadall", *arguments]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "-c", str(house.folder / "work"), shlex.join(command))
        self.wait_for("[No Name]")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=PATIENCE)
        self.folder.cleanup()

    def shown(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def command(self, text):
        """Runs a command of Neovim, as the person types it."""
        self.type(":" + text)
        self.press("Enter")

    def wait_until(self, condition, wanted):
        end = time.monotonic() + PATIENCE
        while not condition(shown := self.shown()):
            assert time.monotonic() < end, f"not {wanted}:\n{shown}"
            time.sleep(0.05)
        return shown

    def wait_for(self, *texts):
        return self.wait_until(lambda shown: all(text in shown for text in texts), texts)

    def wait_until_gone(self, text):
        return self.wait_until(lambda shown: text not in shown, f"without {text!r}")
