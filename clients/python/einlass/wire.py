"""The messages of the protocol: lines out, lines in, errors. `Client` and `AsyncClient` share them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections import deque
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Union

log = logging.getLogger("einlass")

Params = Mapping[str, Any]
#: The answer to a prompt: the members of "accept", or True for none; False declines; None cancels.
Answer = Union[Params, bool, None]


class EinlassError(Exception):
    """An error response. Programs switch on `reason`, people read `message`."""

    def __init__(self, code: int, reason: str, data: Optional[Params], message: str) -> None:
        super().__init__(f"{message} ({reason}, {code})")
        self.code = code
        self.reason = reason
        self.data = dict(data or {})
        self.message = message


class ServerGone(EinlassError):
    """The server ended, or was closed, before it answered. `data` has `exitCode` and the last `log` lines."""

    def __init__(self, exit_code: Optional[int], last_lines: Iterable[str]) -> None:
        data = {"exitCode": exit_code, "log": list(last_lines), "retryable": True}
        super().__init__(0, "serverGone", data, f"einlass ended before it answered (exit code {exit_code}).")


class Lines:
    """Splits bytes on LF alone, because U+2028 and other separators are ordinary text inside a line."""

    def __init__(self, longest: Optional[int] = None) -> None:
        """A line beyond `longest` bytes is cut."""
        self._rest = bytearray()
        self._longest = longest

    def feed(self, chunk: bytes) -> List[bytes]:
        """Returns the lines that this chunk completes."""
        self._rest += chunk
        if b"\n" not in chunk:
            return self.end() if self._longest and len(self._rest) > self._longest else []
        *lines, self._rest = self._rest.split(b"\n")
        return [bytes(line) for line in lines]

    def end(self) -> List[bytes]:
        """Returns the rest without a line end, if there is one."""
        rest, self._rest = bytes(self._rest), bytearray()
        return [rest] if rest else []


@contextlib.contextmanager
def logging_failure(what: object) -> Iterator[None]:
    """Logs a failure of a function of the program, because the client goes on."""
    try:
        yield
    except Exception:
        log.exception("the function for %s failed", what)


class Log:
    """The last lines of the server's log. Each goes to `on_line` too."""

    def __init__(self, on_line: Optional[Callable[[str], None]]) -> None:
        self.last: deque[str] = deque(maxlen=20)
        self._on_line = on_line

    def add(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            text = line.decode("utf-8", "replace")
            self.last.append(text)
            with logging_failure("log lines"):
                if self._on_line:
                    self._on_line(text)


def to_line(message: Params) -> bytes:
    """Returns a message as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def from_line(line: bytes) -> Optional[Dict[str, Any]]:
    """Returns the message of a line, with an object as `params` of a notification; None for anything else."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):  # the latter from arrays within arrays
        log.warning("not JSON: %d bytes", len(line))
        return None
    if not isinstance(message, dict):
        return None
    if "method" in message and not isinstance(message.get("params"), dict):
        message["params"] = {}
    return message


def error_of(answer: Params) -> Optional[EinlassError]:
    """Returns the error of an answer; None for a result."""
    error = answer.get("error")
    if not isinstance(error, dict):
        return None
    code, data = error.get("code"), error.get("data")
    data = data if isinstance(data, dict) else {}
    reason, message = str(data.get("reason", "unknown")), str(error.get("message", ""))
    return EinlassError(code if isinstance(code, int) else 0, reason, data, message)


def settle(calls: Dict[int, Any], answer: Params) -> None:
    """Gives an answer to its call."""
    identifier = answer.get("id")
    call = calls.pop(identifier, None) if isinstance(identifier, int) else None
    if call is None:
        log.warning("an answer without a request: %r", identifier)
    else:
        call._settle(answer.get("result"), error_of(answer))


def hello(name: str, prompts: Iterable[str], params: Params) -> Dict[str, Any]:
    """Returns the params of `initialize`. `title` in `params` is that of the client."""
    client = {"name": name, **({"title": params["title"]} if "title" in params else {})}
    more = {member: value for member, value in params.items() if member != "title"}
    return {"protocolVersion": 1, "client": client, "processId": os.getpid(),
            "capabilities": {"prompts": sorted(prompts)}, **more}


def to_answer(prompt: str, answer: Answer) -> Dict[str, Any]:
    """Returns the params of `prompt.answer`."""
    action = "cancel" if answer is None else "decline" if answer is False else "accept"
    return {**(answer if isinstance(answer, Mapping) else {}), "prompt": prompt, "action": action}


def answer_after(prompt: str, error: EinlassError) -> Optional[Dict[str, Any]]:
    """Returns the params of a second answer after a refused one; None if the prompt is over."""
    if error.reason in ("unknownPrompt", "promptAlreadyAnswered", "serverGone"):
        log.debug("prompt %s: %s", prompt, error)  # it closed meanwhile, or einlass has ended
        return None
    log.warning("prompt %s: %s", prompt, error)
    return to_answer(prompt, None) if error.reason in ("invalidChoice", "invalidParams") else None
