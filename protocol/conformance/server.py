"""Plays the client of a transcript against a server."""
import base64
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from framing import WAYS, Way
from messages import quoted, read, text, versioned
from program import Failure, Program
from sandbox import Sandbox, browse
from transcripts import Matcher, Transcript, merged, outs, strings


#: Steps of the player that need a provider, and methods with answers that depend on the sandbox's registrations.
STEPS_OF_PROVIDERS = {"sandbox", "browser", "account", "requests"}
METHODS_OF_PROVIDERS = {"accounts.signIn", "auth.perform", "providers.list"}


def needs_sandbox(transcript: Transcript) -> bool:
    """Whether the transcript needs providers, or their loopback addresses for `--test` with a store in a file."""
    if any("$folder" in option for option in transcript.header.get("options", [])):
        return True
    methods = {step["in"].get("method") for step in transcript.steps if isinstance(step.get("in"), dict)}
    return bool(any(STEPS_OF_PROVIDERS & set(step) for step in transcript.steps) or METHODS_OF_PROVIDERS & methods
                or "$ref:at:" in " ".join(strings(transcript.steps)))


def ways(transcript: Transcript) -> List[Way]:
    """Returns the ways to play a transcript. One with raw text is about lines."""
    raw = any("bytes" in step or isinstance(step.get("in"), str) for step in transcript.steps)
    return [way for way in WAYS if not (raw and way.headers) and way.cut != "characters"]


def one_way(transcript: Transcript) -> Way:
    """Returns one way for a transcript, always the same. All transcripts together have all ways."""
    known = ways(transcript)
    return known[zlib.crc32(transcript.name.encode()) % len(known)]


class Player:
    """One transcript against a spawned server, with a sandbox and a folder of its own."""

    def __init__(self, transcript: Transcript, command: Sequence[str], sandbox: Optional[str], way: Way) -> None:
        self.transcript, self.command, self.way = transcript, list(command), way
        self.matcher = Matcher()
        self.ignored = set(transcript.header.get("ignore", []))
        self.early: List[Any] = []
        self.setups = 0
        self.sandbox = Sandbox(sandbox) if sandbox and needs_sandbox(transcript) else None
        self.server: Optional[Program] = None

    def run(self) -> None:
        """Raises Failure if the conversation deviates from the transcript."""
        try:
            with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
                self._start(folder)
                try:
                    self._play()
                finally:
                    self.server.kill()
        finally:
            if self.sandbox:
                self.sandbox.kill()

    def _start(self, folder: str) -> None:
        header, ready = self.transcript.header, self.sandbox.ready if self.sandbox else {}
        for name, content in header.get("files", {}).items():
            write_private(Path(folder, name), content if isinstance(content, str) else text(content))
        config = merged(ready.get("config", {}), header.get("config", {}))
        write_private(Path(folder, "config.json"), text(config))
        self.matcher.captures["folder"] = folder
        for name, address in ready.get("addresses", {}).items():
            self.matcher.captures[f"at:{name}"] = address
        options = [option.replace("$folder", folder) for option in header.get("options", ["--store", "memory"])]
        self.server = Program([*self.command, "--test", "--config", f"{folder}/config.json", *options],
                              headers=self.way.headers)

    def _play(self) -> None:
        for number, step in enumerate(self.transcript.steps, 2):
            try:
                self._perform(step)
            except Failure as failure:
                raise Failure(f"line {number}, {text(step)[:300]}\n  {failure}\n  {self.server.log}".rstrip()) from None
        if "exit" not in self.transcript.steps[-1]:
            try:
                self.server.close_input()
                self._end(0)
            except Failure as failure:
                raise Failure(f"at the end: {failure}\n  {self.server.log}".rstrip()) from None

    def _perform(self, step: Dict[str, Any]) -> None:
        kind = next(iter(step))
        value = step[kind]
        if kind == "in":
            self._send(value)
        elif kind == "bytes":
            self.server.send(base64.b64decode(value), self.way.cut, self._seed)
        elif kind in ("out", "unordered"):
            self._expect(outs(step))
        elif kind == "sandbox":
            self.sandbox.patch(self.matcher.resolved(value))
        elif kind == "browser":
            self._browse(self.matcher.resolved(value))
        elif kind == "account":
            result = self._call("accounts.add", self.sandbox.account(value))
            self.matcher.captures[value] = result.get("account")
        elif kind == "clock":
            self._call("test.advanceClock", {"seconds": value})
        elif kind == "requests":
            if found := self.matcher.matches(value, self.sandbox.new_requests()):
                raise Failure(found)
        elif kind == "eof":
            self.server.close_input()
        elif kind == "exit":
            self._end(value)
        else:
            raise Failure(f"there is no step {kind}")

    @property
    def _seed(self) -> int:
        return zlib.crc32(self.transcript.name.encode())

    def _send(self, message: Any) -> None:
        if isinstance(message, str):
            data = message.encode()
        else:
            data = text(self.matcher.resolved(versioned(message))).encode()
        self.server.send(self.way.frame(data), self.way.cut, self._seed)

    def _expect(self, messages: List[Any]) -> None:
        remaining = [versioned(message) for message in messages]
        while remaining:
            actual = self._next()
            if actual is None:
                raise Failure(f"the output ended instead of {text(remaining[0])[:300]}")
            differences = []
            for expected in remaining:
                found = self.matcher.matches(expected, actual)
                if not found:
                    remaining.remove(expected)
                    break
                differences.append(found)
            else:
                raise Failure("\n  ".join([f"got {text(actual)}", *differences]))

    def _browse(self, value: Any) -> None:
        address, status = (value["url"], value["status"]) if isinstance(value, dict) else (value, 200)
        if (actual := browse(address)) != status:
            raise Failure(f"the browser ends on a page of status {actual}")

    def _call(self, method: str, params: Dict[str, Any]) -> Any:
        """Sends a request of the player's own and returns the result."""
        self.setups += 1
        identifier = f"setup-{self.setups}"
        self._send({"id": identifier, "method": method, "params": params})
        while (line := self.server.message()) is not None:
            message = parsed(line)
            if isinstance(message, dict) and message.get("id") == identifier:
                if "result" not in message:
                    raise Failure(text(message))
                return message["result"]
            self.early.append(message)
        raise Failure("the output ended")

    def _next(self) -> Any:
        while True:
            if self.early:
                message = self.early.pop(0)
            elif (line := self.server.message()) is not None:
                message = parsed(line)
            else:
                return None
            if not (isinstance(message, dict) and message.get("method") in self.ignored):
                return message

    def _end(self, code: int) -> None:
        if (message := self._next()) is not None:
            raise Failure(f"not expected: {text(message)}")
        if (actual := self.server.exit_code()) != code:
            raise Failure(f"expected the exit code {code}, got {actual}")


def parsed(line: bytes) -> Any:
    try:
        return read(line)
    except ValueError as error:
        raise Failure(f"the server sent a line that {error}: {quoted(line)}") from None


def write_private(path: Path, content: str) -> None:
    """Writes a file that only this user can read, because einlass uses no other."""
    path.write_text(content, encoding="utf-8")
    os.chmod(path, 0o600)
