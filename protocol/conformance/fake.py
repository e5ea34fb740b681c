"""The server of a case: the program that a client under test finds in the variable EINLASS.

It reads the case from `case.json` in the folder of its first argument, and plays it. It writes the faults of the client
to `faults.json`, and its own state to `log.jsonl`, because a client that waits for ever ends it without a word.
"""
from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

import framing
from messages import difference, quoted, read, shortened, text, versioned
from schema import violation

HELLO = {"protocolVersion": 1, "server": {"name": "einlass", "version": "0.0.0"},
         "capabilities": {"methods": [], "notifications": [], "prompts": [], "changes": True, "network": False},
         "limits": {"inboundLineBytes": 1048576, "outboundLineBytes": 61440, "nesting": 64, "idBytes": 256,
                    "batchEntries": 64, "queuedRequests": 1024, "runningFlows": 64},
         "store": {"protection": "memory", "revision": 1}}
#: An unknown member, put into messages to see whether a client ignores it.
GREASE = "neverHeardOf"


class Fault(Exception):
    """The client deviates from the protocol or from the case."""


class Server:
    """One connection. `case` has `steps`, `cut`, `grease`, `initialize`, and the schema of its parameters."""

    def __init__(self, case: dict[str, object]) -> None:
        self.case = case
        self.deframer = framing.Deframer()
        self.inbox: list[bytes] = []
        self.ended = False
        self.ids: dict[object, object] = {}
        self.open_ids: list[object] = []
        self.opened: set[str] = set()
        self.closed: set[str] = set()
        self.answered: set[str] = set()
        self.wish = "initialize"
        self.has_end = False
        self.seed = case.get("seed", 1)
        self.out = os.fdopen(1, "wb", buffering=0, closefd=False)
        self.log = open(os.path.join(sys.argv[1], "log.jsonl"), "a", encoding="utf-8", buffering=1)

    def play(self) -> None:
        steps = list(self.case["steps"])
        if not (steps and steps[0].get("in", {}).get("method") == "initialize"):
            self.introduce({})
            self.out_message({"id": "initialize", "result": HELLO})
        else:
            self.introduce(steps.pop(0)["in"]["params"])
        for step in steps:
            self.perform(step)
        self.end()

    def perform(self, step: dict[str, object]) -> None:
        kind = next(iter(step))
        if kind == "in":
            self.expect(step["in"])
        elif kind == "unordered in":
            self.expect_all(step[kind])
        elif kind == "eof":
            self.end()
        elif kind == "quiet":
            self.expect_nothing(step[kind])
        elif kind in ("out", "unordered"):
            for message in step.get("unordered", [step.get("out")]):
                self.out_message(message)
        elif kind == "raw":
            self.note("to", quoted(step["raw"].encode()))
            self.write(step["raw"].encode())
        elif kind == "pause":
            time.sleep(step["pause"])
        elif kind == "log":
            for _ in range(step["log"]):
                os.write(2, b"x" * 1023 + b"\n")
        elif kind == "die":
            self.die(step["die"])
        else:
            raise Fault(f"the kit knows no step {kind}")

    def note(self, kind: str, state: str) -> None:
        """Writes an entry of the log: the state of the server, or the last message to or from the client."""
        self.log.write(json.dumps([kind, state]) + "\n")

    def die(self, code: object) -> None:
        save([])
        if code == "KILL":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(code)

    # Messages of the client

    def next(self) -> dict[str, object] | None:
        """Returns the next message, or `None` at the end of the input. The answer to a prompt may come after its end,
        and is refused then."""
        while (message := self.next_message()) is not None:
            if message["method"] != "prompt.answer":
                break
            prompt = (message.get("params") or {}).get("prompt")
            if not isinstance(prompt, str):
                raise Fault(f"prompt.answer names no prompt: {shortened(message)}")
            if prompt in self.answered:
                raise Fault(f"the prompt {text(prompt)} is answered twice: {shortened(message)}")
            if prompt not in self.opened:
                raise Fault(f"the prompt {text(prompt)} is answered, and is not open: {shortened(message)}")
            self.answered.add(prompt)
            if prompt not in self.closed:
                break
            self.ids["late"] = message.get("id")
            data = {"reason": "unknownPrompt", "retryable": False, "outcome": "satisfied"}
            self.out_message({"id": "late", "error": {"code": 1023, "message": "The prompt has closed.", "data": data}})
        return message

    def next_message(self) -> dict[str, object] | None:
        """Returns the next message, checked as a JSON-RPC 2.0 request."""
        self.note("state", f"waits for {self.wish}")
        while not self.inbox and not self.ended:
            chunk = os.read(0, 65536)
            self.ended = not chunk
            try:
                self.inbox += self.deframer.feed(chunk)
            except framing.InvalidFrame as error:
                raise Fault(str(error)) from None
        if not self.inbox:
            if self.deframer.rest.strip():
                raise Fault(f"the input ends within a message: {quoted(self.deframer.rest)}")
            return None
        raw = self.inbox.pop(0)
        self.note("from", quoted(raw))
        if len(raw) > 1 << 20:
            raise Fault("a message is longer than 1 MiB")
        try:
            message = read(raw)
        except ValueError as error:
            raise Fault(f"the client sent a line that {error}: {quoted(raw)}") from None
        self.check(message)
        return message

    def check(self, message: object) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            raise Fault(f"no JSON-RPC 2.0 request: {text(message)}")
        if not isinstance(message.get("method"), str):
            raise Fault(f"a request has a method: {text(message)}")
        if not isinstance(message.get("params") or {}, dict):
            raise Fault(f"params is an object: {text(message)}")
        if "id" in message:
            identifier = message["id"]
            if isinstance(identifier, bool) or not isinstance(identifier, (str, int)):
                raise Fault(f"an id is a string or an integer: {text(message)}")
            if len(text(identifier).encode("utf-8", "surrogatepass")) > 256:
                raise Fault("an id is longer than 256 bytes")
            if identifier in self.open_ids:
                raise Fault(f"the id {text(identifier)} is in use")
            self.open_ids.append(identifier)

    def introduce(self, wanted: dict[str, object]) -> None:
        message = self.next()
        if message is None or message["method"] != "initialize" or "id" not in message:
            raise Fault(f"initialize comes first, not {text(message)}")
        self.ids[self.case.get("helloId", "initialize")] = message["id"]
        params = message.get("params") or {}
        if found := violation(params, self.case["schema"], ""):
            raise Fault(f"initialize: {found}")
        if found := difference(with_sorted_prompts({**self.case["initialize"], **wanted}),
                               with_sorted_prompts(params), more=True):
            raise Fault(f"initialize: {found}")

    def expect(self, wanted: dict[str, object]) -> None:
        self.wish = shortened(wanted)
        message = self.next()
        if found := self.difference(wanted, message):
            raise Fault(found)

    def expect_all(self, wanted: list[dict[str, object]]) -> None:
        """Expects these messages in any order."""
        rest = list(wanted)
        while rest:
            self.wish = " or ".join(map(shortened, rest))
            message = self.next()
            fitting = [candidate for candidate in rest if not self.difference(candidate, message)]
            if not fitting:
                raise Fault(f"expected {self.wish}, got {shortened(message)}")
            rest.remove(fitting[0])

    def expect_nothing(self, seconds: float) -> None:
        """Expects no message for this time."""
        if self.inbox or select.select([0], [], [], seconds)[0]:
            raise Fault(f"not expected yet: {shortened(self.next())}")

    def difference(self, wanted: dict[str, object], message: object) -> str | None:
        if message is None:
            return f"the input ended before {shortened(wanted)}"
        params = wanted.get("params") or {}
        if wanted["method"] == "$/cancelRequest":
            params = {"id": self.ids.get(params["id"])}
        if message["method"] != wanted["method"]:
            return f"expected {shortened({**wanted, 'params': params})}, got {shortened(message)}"
        if found := difference({"params": params}, {"params": message.get("params") or {}}):
            return f"{wanted['method']}: {found}"
        if ("id" in wanted) != ("id" in message):
            return f"{wanted['method']} is a {'request' if 'id' in wanted else 'notification'}: {text(message)}"
        if "id" in wanted:
            self.ids[wanted["id"]] = message["id"]
        return None

    def end(self) -> None:
        """Waits for the end that the client makes: it closes the input, or sends `shutdown` or `exit`."""
        self.wish = "the end of its input"
        while not self.has_end and (message := self.next()) is not None:
            if message["method"] == "shutdown" and "id" in message:
                self.ids["shutdown"] = message["id"]
                self.out_message({"id": "shutdown", "result": {}})
            elif message["method"] != "exit":
                raise Fault(f"not expected: {shortened(message)}")
            self.has_end = True

    # Messages to the client

    def out_message(self, message: dict[str, object]) -> None:
        message = dict(message)
        if "id" in message:
            message["id"] = self.ids[message["id"]]
            if message["id"] in self.open_ids:
                self.open_ids.remove(message["id"])
        elif isinstance(message.get("params"), dict):
            message["params"] = self.with_ids(message["params"])
            prompt = message["params"].get("prompt")
            if message["method"] == "prompt.opened":
                self.opened.add(prompt)
                self.closed.discard(prompt)
                self.answered.discard(prompt)
            elif message["method"] == "prompt.closed":
                self.closed.add(prompt)
        if self.case.get("grease"):
            message = greased(message)
        data = json.dumps(versioned(message), ensure_ascii=False, separators=(",", ":")).encode()
        self.note("to", quoted(data))
        headers = bool(self.deframer.headers)
        self.write(framing.Way("", headers, "").frame(data))

    def with_ids(self, params: dict[str, object]) -> dict[str, object]:
        """Puts the client's ids in place of those of the case."""
        params = dict(params)
        if isinstance(params.get("requests"), list):
            params["requests"] = [self.ids.get(identifier, identifier) for identifier in params["requests"]]
        if "request" in params:
            params["request"] = self.ids.get(params["request"], params["request"])
        return params

    def write(self, data: bytes) -> None:
        self.note("state", "writes")
        self.seed += 1
        framing.write(self.out, data, self.case.get("cut", "whole"), self.seed)


def with_sorted_prompts(params: dict[str, object]) -> dict[str, object]:
    """Returns the parameters of `initialize` with the declared prompts in an order, because theirs is free."""
    capabilities = params.get("capabilities", {})
    return {**params, "capabilities": {**capabilities, "prompts": sorted(capabilities.get("prompts", []))}}


def greased(message: dict[str, object]) -> dict[str, object]:
    """Adds an unknown member to a message, its parameters, its result and the data of its error."""
    message = {**message, GREASE: [{"a": None}]}
    for name in ("params", "result"):
        if isinstance(message.get(name), dict):
            message[name] = {**message[name], GREASE: {"b": 1.5}}
    if "error" in message:
        message["error"] = {**message["error"], "data": {**message["error"].get("data", {}), GREASE: "c"}}
    return message


def save(faults: list[str]) -> None:
    with open(os.path.join(sys.argv[1], "faults.json"), "w", encoding="utf-8") as file:
        json.dump({"faults": faults}, file)


def main() -> None:
    if "--version" in sys.argv[2:]:
        print(json.dumps({"name": "einlass", "version": "0.0.0", "protocolVersion": 1, "libraries": {}}))
        return
    with open(os.path.join(sys.argv[1], "case.json"), encoding="utf-8") as file:
        case = json.load(file)
    try:
        Server(case).play()
        save([])
    except Fault as fault:
        save([str(fault)])
        sys.exit(70)
    except BrokenPipeError:
        save(["the client closed the output before its end"])
        os._exit(1)


if __name__ == "__main__":
    main()
