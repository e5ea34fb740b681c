"""Replays a file of `einlass --trace FILE`: sends its requests and compares the answers."""
import argparse
import json
import re
import signal
import threading
import urllib.parse
from pathlib import Path
from typing import Any, Dict, List, Optional

import program
from messages import printable, quoted, same, text
from program import Failure, Program
from sandbox import browse
from server import parsed

HIDDEN = re.compile(r"\[hidden(?: \d+)?\]")
#: The forms of the stand-ins for hidden values that einlass checks, by their members.
STAND_INS = {"email": "hidden{}@example.org", "avatar": "https://example.org/hidden{}",
             "photo": "https://example.org/hidden{}"}
#: The ids of accounts, flows, prompts, users and pending credentials are new in each run.
IDENTIFIER = re.compile(r"[a-z]+_[A-Za-z0-9_-]{16,}")
#: Members that another run, another store or another machine changes.
CHANGING = {"revision", "version", "sqlite", "path", "bytes", "databaseBytes", "journalBytes", "keyUses",
            "memoryLocked", "userCode", "methods", "notifications", "prompts", "online", "clientId",
            "at", "process", "parent"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", help="the file of --trace")
    parser.add_argument("--secrets", metavar="FILE",
                        help='the hidden values that a person or a program typed: {"1": "…"}')
    parser.add_argument("--timeout", type=float, default=20, help="seconds for a message")
    parser.add_argument("--show", action="store_true", help="print each message that is sent or awaited")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND",
                        help="the server with its options (default: einlass --store memory)")


def main(options: argparse.Namespace) -> int:
    command = [part for part in options.command if part != "--"] or ["einlass", "--store", "memory"]
    program.PATIENCE = options.timeout
    try:
        entries = read(Path(options.trace))
        secrets = json.loads(Path(options.secrets).read_bytes()) if options.secrets else {}
        replay = Replay(entries, command, secrets, options.show)
        replay.run()
    except (Failure, OSError, ValueError, KeyError) as problem:
        kind = "" if isinstance(problem, Failure) else type(problem).__name__ + ": "
        print(printable(f"FAILED {kind}{problem}"))
        return 1
    for note in replay.notes:
        print(f"note: {note}")
    for difference in replay.differences:
        print(printable(f"DIFFERENT {difference}"))
    print(f"{replay.count} messages of {options.trace}: {len(replay.differences)} differences")
    return 1 if replay.differences else 0


def read(path: Path) -> List[Dict[str, Any]]:
    """Returns the entries of a trace. A process that was killed may leave a last line without an end."""
    entries = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            entry = json.loads(line)
            message = entry["msg"]
            is_entry = isinstance(entry["t"], int) and entry["dir"] in ("in", "out") and isinstance(message, dict)
            for name in "params", "error":
                is_entry = is_entry and isinstance(message.get(name, {}), (dict, list))
        except (ValueError, KeyError, TypeError, IndexError):
            is_entry = False
        if not is_entry:
            raise Failure(f"line {number} is no entry of a trace: {quoted(line)}")
        entries.append(entry)
    return entries


class Replay:
    """One run of a trace against a spawned server."""

    def __init__(self, entries: List[Dict[str, Any]], command: List[str], secrets: Dict[str, str], show: bool) -> None:
        self.entries, self.command, self.show = entries, command, show
        #: A name in the trace, such as an id or a numbered hidden value, and its value in this run.
        self.values: Dict[str, Any] = {f"[hidden {number}]": value for number, value in secrets.items()}
        self.pending: List[Dict[str, Any]] = []
        self.differences: List[str] = []
        self.notes: List[str] = []
        self.count = self.moves = 0
        self.ended = False
        self.asked_to_end = any(entry["msg"].get("method") in ("shutdown", "exit") for entry in entries)
        self.server: Optional[Program] = None

    def run(self) -> None:
        self.server = Program(self.command)
        try:
            before = None
            for line, entry in enumerate(self.entries, 1):
                self._move_clock(before, entry["t"])
                before = entry["t"]
                self._play(line, entry)
            if not self.server.process.stdin.closed:
                self.server.close_input()
            self._rest()
        finally:
            self.server.kill()

    def _play(self, line: int, entry: Dict[str, Any]) -> None:
        message = entry["msg"]
        self.count += 1
        if self.show:
            print(printable(f"{line} {'->' if entry['dir'] == 'in' else '<-'} {text(message)[:200]}"))
        if entry["dir"] == "in":
            self._send(message)
        elif "method" not in message and message.get("id") is None:
            self.notes.append(f"line {line}: a trace has no message that could not be read, so its refusal is left out")
        elif found := self._expect(message):
            self.differences.append(f"line {line} {text(message)[:160]}\n  {found}")

    def _move_clock(self, before: Optional[int], now: int) -> None:
        """With `--test`, the seconds between two messages pass at once."""
        if before is not None and now - before > 1 and "--test" in self.command:
            self.moves += 1
            identifier = f"replay-clock-{self.moves}"
            self._write({"jsonrpc": "2.0", "id": identifier, "method": "test.advanceClock",
                         "params": {"seconds": now - before}})
            self._take(lambda message: message.get("id") == identifier)

    def _send(self, message: Dict[str, Any]) -> None:
        message = self._translated(message)
        if message.get("method") == "initialize":
            message.get("params", {}).pop("processId", None)  # einlass would end with a process of that day
        self._write(message)

    def _write(self, message: Dict[str, Any]) -> None:
        self.server.send(text(message).encode() + b"\n")

    def _translated(self, value: Any, name: str = "") -> Any:
        """Returns the value of a member as it is in this run."""
        if isinstance(value, dict):
            return {name: self._translated(member, name) for name, member in value.items()}
        if isinstance(value, list):
            return [self._translated(element, name) for element in value]
        if not isinstance(value, str):
            return value
        if value in self.values:
            return self.values[value]
        if HIDDEN.fullmatch(value):
            stand_in = STAND_INS.get(name, "hidden{}").format(re.sub(r"\D", "", value))
            self.values[value] = stand_in
            return stand_in
        return value

    def _expect(self, expected: Dict[str, Any]) -> Optional[str]:
        self._end_if_awaited()
        if "method" in expected:
            def fits(message):
                return message.get("method") == expected["method"]
        else:
            def fits(message):
                return "method" not in message and same(message.get("id"), expected.get("id"))
        try:
            actual = self._take(fits)
        except Failure as failure:
            return str(failure)
        found = self._difference(expected, actual, "")
        self._browse(expected, actual)
        return found

    def _take(self, fits) -> Dict[str, Any]:
        """Returns the first message that fits; the others keep their order. Answers and notifications may cross."""
        for index, message in enumerate(self.pending):
            if fits(message):
                return self.pending.pop(index)
        while (line := self.server.message()) is not None:
            message = parsed(line)
            if fits(message):
                return message
            self.pending.append(message)
        raise Failure(f"the server has ended with the code {self.server.exit_code()}: {self.server.log.strip()}")

    def _end_if_awaited(self) -> None:
        """Ends the server as in the trace, after the last request: the cancelled requests name the cause."""
        rest = [entry["msg"] for entry in self.entries[self.count - 1:] if entry["dir"] == "out"]
        if self.ended or len(rest) < len(self.entries) - self.count + 1:
            return
        causes = {message.get("error", {}).get("data", {}).get("by") for message in rest}
        if "endOfInput" in causes:
            self.ended = True
            self.server.close_input()
        elif "shutdown" in causes and not self.asked_to_end:
            self.ended = True
            self.server.signal(signal.SIGTERM)

    def _browse(self, expected: Dict[str, Any], actual: Dict[str, Any]) -> None:
        """Goes to the page of a sign-in at this machine, before or after the answer to its prompt, as in the trace."""
        params = actual.get("params") or {}
        if actual.get("method") == "prompt.opened" and urllib.parse.urlsplit(params.get("url", "")).hostname == "127.0.0.1":
            for entry in self.entries[self.count:]:
                message = entry["msg"]
                closed = message.get("method") == "prompt.closed"
                if closed and message["params"]["prompt"] == expected["params"]["prompt"]:
                    self.values[f"browse {params['prompt']}"] = params["url"]
                    if message["params"]["outcome"] == "satisfied":
                        self._open(params["prompt"])
        elif actual.get("method") == "prompt.closed" and params.get("outcome") == "accepted":
            self._open(params.get("prompt"))

    def _open(self, prompt: Any) -> None:
        if address := self.values.pop(f"browse {prompt}", None):
            threading.Thread(target=browse, args=(address,), daemon=True).start()

    def _rest(self) -> None:
        try:
            while (line := self.server.message()) is not None:
                self.pending.append(parsed(line))
        except Failure as failure:
            self.differences.append(str(failure))
        for message in self.pending:
            self.differences.append(f"not in the trace: {text(message)[:300]}")

    def _difference(self, expected: Any, actual: Any, path: str) -> Optional[str]:
        name = path.rsplit("/", 1)[-1]
        if isinstance(expected, dict) and isinstance(actual, dict):
            if expected.keys() != actual.keys():
                return f"{path}: members {sorted(expected.keys() ^ actual.keys())} are on one side alone"
            found = (self._difference(value, actual[key], f"{path}/{key}") for key, value in expected.items())
            return next(filter(None, found), None)
        if name in CHANGING or name.endswith("At") and isinstance(actual, int):
            return None
        if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            pairs = enumerate(zip(expected, actual))
            return next(filter(None, (self._difference(*pair, f"{path}/{index}") for index, pair in pairs)), None)
        if isinstance(expected, str) and HIDDEN.fullmatch(expected) or (
                isinstance(expected, str) and isinstance(actual, str)
                and IDENTIFIER.fullmatch(expected) and IDENTIFIER.fullmatch(actual)):
            return self._bind(expected, actual, path)
        if path == "/error/message" and isinstance(actual, str) and actual:
            return None
        if isinstance(expected, str) and isinstance(actual, str) and "://" in expected:
            expected, actual = address(expected), address(actual)
        return None if same(expected, actual) else f"{path}: expected {text(expected)}, got {text(actual)}"

    def _bind(self, expected: str, actual: Any, path: str) -> Optional[str]:
        """Remembers the value of this run. The same name in the trace has the same value everywhere."""
        if expected == "[hidden]":
            return None  # of an einlass that does not number
        if expected not in self.values:
            self.values[expected] = actual
        known = self.values[expected]
        return None if same(known, actual) else f"{path}: {expected} was another value before"


def address(value: str) -> List[Any]:
    """Returns the parts of an address that stay the same: the values of its query and a port of this machine do not."""
    parts = urllib.parse.urlsplit(value)
    host = parts.hostname if parts.hostname in ("127.0.0.1", "localhost", "::1") else parts.netloc
    names = sorted(name for name, _ in urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    return [parts.scheme, host, parts.path, names]
