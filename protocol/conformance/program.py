"""A child process with the messages of its standard output."""
import os
import queue
import signal
import subprocess
import threading
from typing import Optional, Sequence

import framing
from messages import quoted

#: The default limit in seconds for a message or an end, so that a case fails instead of hanging.
PATIENCE = 20.0


class Failure(Exception):
    """A conversation deviates from its case. The text says how."""


class Program:
    """A child process. `headers` is the framing of its output; `None` leaves it to the first bytes."""

    def __init__(self, command: Sequence[str], headers: Optional[bool] = False, env=None, pass_fds=()) -> None:
        self.patience = PATIENCE
        try:
            self.process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, bufsize=0, env=env, pass_fds=pass_fds)
        except OSError as error:
            raise Failure(f"{command[0]} does not start: {error.strerror}") from None
        self._messages = queue.Queue()
        self._log = b""
        self._deframer = framing.Deframer(headers)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_log)]
        for thread in self._threads:
            thread.start()

    @property
    def log(self) -> str:
        """The last lines of standard error."""
        return self._log.decode("utf-8", "replace")

    def _read(self) -> None:
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            try:
                for message in self._deframer.feed(chunk):
                    self._messages.put(message)
            except framing.InvalidFrame as error:
                self._messages.put(error)
                break
        if self._deframer.rest.strip():
            self._messages.put(Failure(f"the output ends within a message: {quoted(self._deframer.rest)}"))
        self._messages.put(None)

    def _read_log(self) -> None:
        while chunk := os.read(self.process.stderr.fileno(), 65536):
            self._log = (self._log + chunk)[-4000:]

    def send(self, data: bytes, cut: str = "whole", seed: int = 1) -> None:
        try:
            framing.write(self.process.stdin, data, cut, seed)
        except OSError as error:
            raise Failure(f"the input is closed: {error.strerror}") from None

    def close_input(self) -> None:
        self.process.stdin.close()

    def message(self, seconds: Optional[float] = None) -> Optional[bytes]:
        """Returns the next message, or `None` at the end of the output."""
        try:
            message = self._messages.get(timeout=seconds or self.patience)
        except queue.Empty:
            raise Failure(f"no message within {seconds or self.patience:g} s") from None
        if isinstance(message, Exception):
            raise Failure(str(message))
        if message is None:
            self._messages.put(None)
        return message

    def exit_code(self, seconds: Optional[float] = None) -> int:
        """Returns the exit code; 128 and the number for the end by a signal."""
        try:
            code = self.process.wait(seconds or self.patience)
        except subprocess.TimeoutExpired:
            raise Failure(f"no end within {seconds or self.patience:g} s") from None
        for thread in self._threads:
            thread.join(1)
        return code if code >= 0 else 128 - code

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if not self.process.stdin.closed:
            self.process.stdin.close()
        for thread in self._threads:
            thread.join(1)
        self.process.stdout.close()
        self.process.stderr.close()
