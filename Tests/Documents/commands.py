"""A `console` block: commands and their output.

- `$ ` begins a command, `> ` continues it. A comment behind `  # ` belongs to the command.
- The lines below are all that the command writes, standard error included. Without such lines the output is not looked
  at. A command ends with 0, unless the next one is `echo $?`.
- A line `…` stands for any lines, none too.
- A block has a shell and a home folder of its own, without accounts. `einlass` and `einlassctl` use the sandbox. The file
  `accounts.json` holds two accounts.
- The person allows everything: on each page that the browser opens, and for each code that a command shows.
- A command of `TYPED` runs on a terminal, where these lines are typed. Only its last lines are compared.
"""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

from matching import Matcher, Mismatch, read
from world import CONTROL, EINLASS, PROJECT, SANDBOX, World, visit

DEVICE_CODE = re.compile(r"^ *(http://\S+/device)\s.*?^ *([A-Z]{4}-[A-Z]{4})\s", re.DOTALL | re.MULTILINE)
# The lines that a person types at a command that asks.
TYPED = {
    r"einlassctl sign-in": ["github", "y"],
    r"einlassctl sign-in (github|gitlab)": ["y"],
    r"einlassctl sign-in \S+( --scope \S+)*": [],
    r"einlassctl providers configure github": ["demo-github", "demo-secret"],
    r"einlassctl accounts add": ["twitter", "joan", "OAuth 1.0a", "1002-system-token", "1002-system-secret",
                                 "system-twitter-key", "system-twitter-secret"],
    r"einlassctl accounts export .*": ["correct horse battery", "correct horse battery"],
    r"einlassctl store slots add passphrase": ["correct horse battery", "correct horse battery"],
}


class Shell:
    def __init__(self, folder, is_covered):
        self.world, self.is_covered, self.matcher = World(folder, accounts=False), is_covered, Matcher()
        self.world.sandbox.consent("allow")
        self.clone = folder / "clone"
        self.make_clone()
        self.process = subprocess.Popen(["bash", "--norc"], cwd=self.clone, env=self.environment(self.world), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # with the jobs that an example left behind
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.world.close()

    @staticmethod
    def environment(world, **more):
        """With einlass, einlassctl and a browser on the path, for programs that know nothing of the sandbox."""
        programs = world.folder / "programs"
        programs.mkdir(exist_ok=True)
        configuration = world.configuration()
        # An example that makes the person's own file uses that one.
        usual = f'[ -e "$HOME/.config/einlass/config.json" ] && EINLASS={EINLASS}'
        scripts = {
            "einlass": f'case " $* " in *" --config "*) exec {EINLASS} "$@" ;; esac\nexec {EINLASS} --config {configuration} "$@"',
            "einlassctl": f'{usual} exec {CONTROL} "$@"\n'
                          f'case " $* " in *" --config "* | " -"*) exec {CONTROL} "$@" ;; esac\n'
                          f'exec {CONTROL} "$@" --config {configuration}',
            "git-credential-einlass": f'{usual} exec {CONTROL} credential git "$@"\n'
                                      f'exec {CONTROL} credential git --config {configuration} "$@"',
            "einlass-sandbox": f'exec {SANDBOX} "$@"',
            "xdg-open": f'exec {sys.executable} -c "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])" "$1"'}
        for name, script in scripts.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o700)
        return {**world.environment, "PATH": f"{programs}:{os.environ['PATH']}", "DISPLAY": ":none", **more}

    def make_clone(self):
        """A folder that looks like the clone of the project, and that examples may write to."""
        self.clone.mkdir(mode=0o700)
        for path in PROJECT.iterdir():
            if path.name != ".build":
                (self.clone / path.name).symlink_to(path)
        accounts = [account for account in self.world.sandbox.accounts() if account["provider"] == "twitter"]
        (self.clone / "accounts.json").write_text(json.dumps(accounts))
        (self.clone / "accounts.json").chmod(0o600)
        (self.clone / ".build/debug").mkdir(parents=True)
        (self.clone / ".build/debug/einlass-sandbox").symlink_to(SANDBOX)
        (self.clone / ".build/release-static").mkdir()
        (self.clone / ".build/release-static/release").symlink_to(self.world.folder / "programs")

    def run(self, text):
        commands = parsed(text)
        for place, (command, expected) in enumerate(commands):
            is_asked = place + 1 < len(commands) and commands[place + 1][0] == "echo $?"
            here = self.world.names.here(command)
            bare = re.sub(r"\s+# .*", "", here)
            if self.is_covered(bare):
                continue
            code, output = self.typed(bare) if self.keys(bare) is not None else self.execute(here, is_asked)
            self.compare(command, expected, output)
            if code and not is_asked:
                raise Mismatch(f"$ {command}\nended with {code}:\n{output}")

    def compare(self, command, expected, output):
        if not expected:
            return
        lines = output.rstrip("\n").split("\n")
        if self.keys(command) is not None:  # the questions and what was typed stand there too
            lines = lines[-len(expected):] if "…" not in expected else lines
        try:
            self.match_lines(expected, [self.world.names.shown(line.rstrip()) for line in lines])
        except Mismatch as problem:
            raise Mismatch(f"$ {command}\nwrote:\n{output}\n{problem}") from None

    def match_lines(self, expected, lines):
        if "…" in expected:
            first = expected.index("…")
            behind = len(expected) - first - 1
            self.match_lines(expected[:first], lines[:first])
            return self.match_lines(expected[first + 1:], lines[max(first, len(lines) - behind):])
        if len(lines) != len(expected):
            raise Mismatch(f"{len(lines)} lines, not {len(expected)}")
        for shown, line in zip(expected, lines):
            self.match(shown, line)

    def match(self, shown, line):
        if shown.startswith("{") and "…" in shown:
            return self.matcher.match(read(shown)[0], json.loads(line))
        self.matcher.match_line(shown, line)

    def execute(self, command, is_asked):
        """Runs it in the page's shell, so that variables, folders and jobs last."""
        end = f"end-of-command-{time.monotonic_ns()}"
        restore = "(exit $code)" if is_asked else ":"
        self.process.stdin.write(f"{{\n{command}\n}} </dev/null\ncode=$?; echo; echo {end} $code; {restore}\n")
        self.process.stdin.flush()
        output, codes = "", set()
        while not (found := re.search(rf"\n{end} (\d+)\n", output)):
            assert select.select([self.process.stdout], [], [], 60)[0], f"$ {command}\ndoes not end:\n{output}"
            piece = os.read(self.process.stdout.fileno(), 1 << 16).decode()
            assert piece, f"$ {command}\nended the shell:\n{output}"
            output += piece
            for address, code in set(DEVICE_CODE.findall(output)) - codes:
                visit(address, {"user_code": code, "decision": "allow"})
                codes.add((address, code))
        return int(found[1]), output[:found.start()]

    def keys(self, command):
        bare = re.sub(r"\s+# .*", "", command)
        return next((keys for pattern, keys in TYPED.items() if re.fullmatch(pattern, bare)), None)

    def typed(self, command):
        """Runs it on a terminal, where a line is typed whenever nothing more is shown."""
        screen, line = pty.openpty()
        process = subprocess.Popen(["bash", "-c", command], cwd=self.clone, env=self.environment(self.world), stdin=line,
                                   stdout=line, stderr=line, start_new_session=True,
                                   preexec_fn=lambda: __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0))
        os.close(line)
        keys, output, is_shown = list(self.keys(command)), b"", False
        try:
            while True:
                if select.select([screen], [], [], 0.5 if keys and is_shown else 30)[0]:
                    output += os.read(screen, 1 << 16)
                    is_shown = True
                elif keys and is_shown:
                    os.write(screen, keys.pop(0).encode() + b"\r")
                    is_shown = False
                else:
                    raise AssertionError(f"$ {command}\nasks for more: {output.decode()}")
        except OSError:  # the other end is closed
            return process.wait(), output.decode().replace("\r", "")
        finally:
            process.kill()
            process.wait()
            os.close(screen)


def parsed(text):
    """Commands with the lines of their output."""
    commands = []
    for line in text.split("\n"):
        if line.startswith("$ "):
            commands.append([line[2:], []])
        elif line.startswith("> ") and commands and not commands[-1][1]:
            commands[-1][0] += "\n" + line[2:]
        elif commands and line:
            commands[-1][1].append(line)
        elif line:
            commands.append([line, []])
    return commands
