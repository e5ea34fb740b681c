"""A program on a pseudo-terminal. The tests wait for its output instead of sleeping."""
import os
import pty
import select
import signal
import struct
import termios
from fcntl import ioctl

import pytest

PATIENCE = 60  # seconds; turns a hang into a failure


class Terminal:
    def __init__(self, command, columns=400, rows=24, output=None, **environment):
        """Starts the command. Its standard output is the terminal, or the file `output`. By default no sentence is
        broken."""
        if reason := missing():
            pytest.skip(f"skipped: {reason}")
        # The program's side stays open here, because its modes must be readable after the program's end.
        self.screen, self.line = pty.openpty()
        ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.line)
        self.process = os.fork()
        if self.process == 0:
            try:
                os.setsid()
                ioctl(self.line, termios.TIOCSCTTY, 0)
                standard = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if output else self.line
                for number, descriptor in enumerate([self.line, standard, self.line]):
                    os.dup2(descriptor, number)
                os.execve(command[0], command, {**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment})
            finally:
                os._exit(127)
        self.end_of_process = os.pidfd_open(self.process)
        self.shown = ""
        self.seen = 0
        self.code = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        for descriptor in (self.screen, self.line, self.end_of_process):
            os.close(descriptor)

    def wait_for(self, text):
        """Waits until this text is shown after the last one."""
        while text not in self.shown[self.seen:]:
            assert self._read(self.end_of_process), f"ended without {text!r}:\n{self.shown}"
        self.seen = self.shown.index(text, self.seen) + len(text)

    def type(self, text):
        os.write(self.screen, text.encode())

    def end(self):
        """Waits for the program's exit, reads the rest of its output and returns its exit code."""
        while self._read(self.end_of_process):
            pass
        while select.select([self.screen], [], [], 0)[0]:
            self._take()
        _, status = os.waitpid(self.process, 0)
        self.code = os.waitstatus_to_exitcode(status)
        assert termios.tcgetattr(self.line) == self.before, "the terminal is left as it was not before"
        return self.code

    def _read(self, end):
        ready, _, _ = select.select([self.screen, end], [], [], PATIENCE)
        assert ready, f"nothing happened for {PATIENCE} s:\n{self.shown}"
        if self.screen in ready:
            self._take()
            return True
        return False

    def _take(self):
        self.shown += os.read(self.screen, 1 << 16).decode("utf-8", "replace")


def missing():
    """Returns the reason why this machine has no pseudo-terminals; None if it has."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        for descriptor in pty.openpty():
            os.close(descriptor)
        os.stat("/dev/tty")
    except (OSError, AttributeError) as problem:
        return f"there are no pseudo-terminals or process descriptors here ({problem})"
    return None
