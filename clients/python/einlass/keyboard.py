"""Lines that a person types at the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
from typing import Any, Iterator, List, Optional, Set


class Closed(Exception):
    """The question is no longer needed, because its prompt has closed by itself."""


class Keyboard:
    """Asks the questions of one prompt at a time. Prompts may close on another thread."""

    def __init__(self) -> None:
        self.prompt = ""  # the id of the prompt that is asked
        self._closed: Set[str] = set()
        self._bell, self._button = os.pipe()
        self._before: Optional[List[Any]] = None

    def close(self, prompt: str) -> None:
        """Removes the question of this prompt."""
        self._closed.add(prompt)
        os.write(self._button, b".")

    def line(self, question: str, hidden: bool = False) -> Optional[str]:
        """Returns one line from the person without its end, or None at the end of input. Raises Closed."""
        keyboard = sys.stdin.fileno()
        with self._hidden(keyboard) if hidden else contextlib.nullcontext():
            print(question, end="", file=sys.stderr, flush=True)
            while self.prompt not in self._closed:
                # Not input(): a thread blocked in it would keep Python from exiting.
                ready, _, _ = select.select([keyboard, self._bell], [], [])
                if keyboard in ready:
                    line = os.read(keyboard, 4096)
                    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None
                os.read(self._bell, 1)
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        raise Closed

    @contextlib.contextmanager
    def _hidden(self, keyboard: int) -> Iterator[None]:
        self._before = termios.tcgetattr(keyboard)
        silent = [*self._before]
        silent[3] = silent[3] & ~termios.ECHO
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, silent)  # what was typed too early is dropped
        try:
            yield
        finally:
            self.restore()
            print(file=sys.stderr)  # the person's Enter was not shown

    def restore(self) -> None:
        """Shows again what is typed. At the end of the program too, because Ctrl-C stops no other thread."""
        before, self._before = self._before, None
        if before:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
