"""The cases for servers that no transcript has: signals, the end of input with open requests, and every limit."""
import signal
import socket
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from framing import Way
from messages import text
from program import Failure, Program
from server import parsed, write_private

LINES, HEADERS = Way("lines", False, "whole"), Way("headers", True, "whole")
#: With this registration a sign-in opens its page without a request to the provider.
APPLICATIONS = {"github": {"clientId": "conformance", "clientSecret": "conformance"}}
#: The result of `initialize` names these limits; see methods.md of the protocol, Limits.
NAMED_LIMITS = {"inboundLineBytes": 1 << 20, "outboundLineBytes": 60 << 10, "nesting": 64, "idBytes": 256,
                "batchEntries": 64, "queuedRequests": 1024, "runningFlows": 64}


class Session:
    """A spawned server and the requests to it."""

    def __init__(self, command: Sequence[str], way: Way) -> None:
        self.way = way
        self.program = Program(command, headers=way.headers)
        self.last_id = 0

    def send(self, message: Any) -> None:
        self.program.send(self.way.frame(text(message).encode()))

    def start(self, method: str, **params: Any) -> int:
        """Sends a request and returns its id."""
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def message(self) -> Any:
        line = self.program.message()
        return None if line is None else parsed(line)

    def answer(self, identifier: Any) -> Dict[str, Any]:
        """Returns the answer with this id; passes over notifications and other answers."""
        while (message := self.message()) is not None:
            if isinstance(message, dict) and "method" not in message and message.get("id") == identifier:
                return message
        raise Failure(f"the output ended before the answer {identifier}")

    def call(self, method: str, **params: Any) -> Any:
        answer = self.answer(self.start(method, **params))
        if "result" not in answer:
            raise Failure(f"{method}: {text(answer)}")
        return answer["result"]

    def initialize(self) -> Any:
        return self.call("initialize", protocolVersion=1, client={"name": "conformance"},
                         capabilities={"prompts": ["openURL"]}, applications=APPLICATIONS)

    def waiting(self) -> int:
        """Starts a sign-in that waits for the person, and returns its id."""
        identifier = self.start("accounts.signIn", provider="github")
        while (message := self.message()) is not None:
            if message.get("method") == "prompt.opened":
                return identifier
            if message.get("id") == identifier:
                break
        raise Failure(f"the sign-in does not wait: {text(message)}")

    def ends(self, code: int = 0) -> None:
        """Expects the end of the output, then this exit code."""
        while (message := self.message()) is not None:
            if "method" not in message:
                raise Failure(f"not expected: {text(message)}")
        if (actual := self.program.exit_code()) != code:
            raise Failure(f"expected the exit code {code}, got {actual}")

    def probe(self) -> None:
        """Expects an answer to an ordinary request: the connection goes on."""
        self.call("accounts.list")


class Case(NamedTuple):
    """One case: `play` raises Failure if the server deviates."""

    name: str
    about: str
    play: Callable[[Session], None]
    headers: bool = False
    #: The reasons that no transcript has.
    reasons: Sequence[str] = ()

    def run(self, command: Sequence[str]) -> None:
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            config = Path(folder, "config.json")
            write_private(config, "{}")
            way = HEADERS if self.headers else LINES
            session = Session([*command, "--config", str(config), "--store", "memory"], way)
            try:
                self.play(session)
            except Failure as failure:
                raise Failure(f"{failure}\n  {session.program.log}".rstrip()) from None
            finally:
                session.program.kill()


def expect(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise Failure(f"expected {text(expected)}, got {text(actual)}")


def refused(answer: Optional[Dict[str, Any]], code: int, reason: str) -> None:
    error = (answer or {}).get("error", {})
    expect([error.get("code"), error.get("data", {}).get("reason")], [code, reason])


def cancelled_by(session: Session, identifier: int, by: str) -> None:
    answer = session.answer(identifier)
    refused(answer, -32800, "cancelled")
    expect(answer["error"]["data"].get("by"), by)


# Ends

def by_signal(number: signal.Signals) -> Callable[[Session], None]:
    def play(session: Session) -> None:
        session.initialize()
        identifier = session.waiting()
        session.program.signal(number)
        cancelled_by(session, identifier, "shutdown")
        session.ends()
    return play


def end_of_input(session: Session) -> None:
    session.initialize()
    identifier = session.waiting()
    session.program.close_input()
    cancelled_by(session, identifier, "endOfInput")
    session.ends()


def end_by_exit(session: Session) -> None:
    session.initialize()
    identifier = session.waiting()
    session.send({"jsonrpc": "2.0", "method": "exit"})
    cancelled_by(session, identifier, "shutdown")
    session.ends()


def end_within_a_header(session: Session) -> None:
    session.probe()
    session.program.send(b"Content-Length: 50\r\n\r\n{\"jsonrpc\"")
    session.program.close_input()
    while (message := session.message()) is not None:
        if "result" in message:
            raise Failure(f"a message without its end is answered: {text(message)}")
    expect(session.program.exit_code(), 0)


def stalled(session: Session) -> None:
    """The other half of a message may come seconds later, and a whole message before that is answered at once."""
    first = text({"jsonrpc": "2.0", "id": "first", "method": "accounts.list"}).encode() + b"\n"
    second = text({"jsonrpc": "2.0", "id": "second", "method": "accounts.list"}).encode() + b"\n"
    session.program.send(first + second[:20])
    session.answer("first")
    session.program.send(second[20:], "bytes")
    session.answer("second")


# Limits

def of_initialize(session: Session) -> None:
    expect(session.initialize()["limits"], NAMED_LIMITS)


def padded(count: int) -> bytes:
    """Returns a request of this many bytes."""
    head, tail = b'{"jsonrpc":"2.0","id":"long","method":"accounts.list","params":{"x":"', b'"}}'
    return head + b"y" * (count - len(head) - len(tail)) + tail


def message_length(session: Session) -> None:
    limit = NAMED_LIMITS["inboundLineBytes"]
    session.program.send(session.way.frame(padded(limit)))
    if "result" not in session.answer("long"):
        raise Failure(f"a message of {limit} bytes is refused")
    session.program.send(session.way.frame(padded(limit + 1)))
    refused(session.answer(None), -32700, "lineTooLong")
    session.probe()


def header_length(session: Session) -> None:
    body = text({"jsonrpc": "2.0", "id": "headed", "method": "accounts.list"}).encode()
    start = b"Content-Length: %d\r\nX: " % len(body)
    session.program.send(start + b"y" * (4096 - len(start) - 4) + b"\r\n\r\n" + body)
    if "result" not in session.answer("headed"):
        raise Failure("a header of 4096 bytes is refused")
    session.program.send(start + b"y" * (4097 - len(start) - 4) + b"\r\n\r\n" + body)
    refused(session.answer(None), -32700, "invalidHeader")
    session.ends()


def nesting(session: Session) -> None:
    def request(depth: int) -> bytes:
        # The message and its params are two levels.
        deep = b"[" * (depth - 2) + b"]" * (depth - 2)
        return b'{"jsonrpc":"2.0","id":"deep","method":"accounts.list","params":{"x":' + deep + b"}}"
    session.program.send(session.way.frame(request(NAMED_LIMITS["nesting"])))
    if "result" not in session.answer("deep"):
        raise Failure("64 levels are refused")
    session.program.send(session.way.frame(request(NAMED_LIMITS["nesting"] + 1)))
    refused(session.answer(None), -32700, "tooDeep")
    session.probe()


def id_length(session: Session) -> None:
    fitting = "i" * NAMED_LIMITS["idBytes"]
    session.send({"jsonrpc": "2.0", "id": fitting, "method": "accounts.list"})
    if "result" not in session.answer(fitting):
        raise Failure("an id of 256 bytes is refused")
    session.send({"jsonrpc": "2.0", "id": fitting + "i", "method": "accounts.list"})
    refused(session.answer(None), -32600, "invalidId")
    session.probe()


def batch_length(session: Session) -> None:
    def batch(count: int) -> List[Dict[str, Any]]:
        return [{"jsonrpc": "2.0", "id": number, "method": "network.status"} for number in range(count)]
    session.send(batch(NAMED_LIMITS["batchEntries"]))
    answers = session.message()
    expect(sorted(answer["id"] for answer in answers), list(range(NAMED_LIMITS["batchEntries"])))
    session.send(batch(NAMED_LIMITS["batchEntries"] + 1))
    refused(session.answer(None), -32600, "batchTooLarge")
    session.probe()


def running_flows(session: Session) -> None:
    session.initialize()
    limit = NAMED_LIMITS["runningFlows"]
    for _ in range(limit):
        session.call("accounts.signIn", provider="github", detached=True)
    answer = session.answer(session.start("accounts.signIn", provider="github", detached=True))
    refused(answer, -32001, "overloaded")
    expect(answer["error"]["data"]["retryable"], True)
    session.probe()


def queued_requests(session: Session) -> None:
    """64 requests wait for a server that does not answer, 1024 wait for their turn, and one more is refused."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as silent:
        issuer = f"http://127.0.0.1:{silent.getsockname()[1]}"
        limit = 64 + NAMED_LIMITS["queuedRequests"]
        for number in range(limit):
            session.start("providers.add", issuer=f"{issuer}/{number}")
        refused(session.answer(session.start("providers.add", issuer=f"{issuer}/last")), -32001, "overloaded")
        session.probe()
        session.program.close_input()
        answers = [message for message in iter(session.message, None) if "id" in message]
        expect({text(answer.get("error", {}).get("code")) for answer in answers}, {"-32800"})
        expect(len(answers), limit)


def answer_length(session: Session) -> None:
    limit, pages, cursor, names = NAMED_LIMITS["outboundLineBytes"], 0, {}, set()
    for number in range(150):
        session.call("accounts.add", provider="twitter", username=f"user{number}", displayName="ä" * 128,
                     subject=str(number), credential={"type": "oauth1", "key": f"{number}-key", "secret": "secret",
                                                      "clientId": "id", "clientSecret": "secret"})
    while True:
        identifier = session.start("accounts.list", limit=1000, **cursor)
        while True:
            line = session.program.message()
            if line is None or len(line) > limit:
                raise Failure(f"a message has {len(line or b'')} bytes")
            message = parsed(line)
            if message.get("id") == identifier:
                break
        pages += 1
        names |= {account["username"] for account in message["result"]["accounts"]}
        if "nextCursor" not in message["result"]:
            break
        cursor = {"cursor": message["result"]["nextCursor"]}
    expect([pages > 1, len(names)], [True, 150])


def unsupported_version(session: Session) -> None:
    answer = session.answer(session.start("initialize", protocolVersion=0, client={"name": "conformance"}))
    refused(answer, -32602, "unsupportedVersion")
    expect(answer["error"]["data"]["supported"], [1])


CASES = [
    Case("end/SIGTERM", "SIGTERM while a sign-in waits: it is answered, and the exit code is 0",
         by_signal(signal.SIGTERM)),
    Case("end/SIGINT", "SIGINT while a sign-in waits", by_signal(signal.SIGINT), headers=True),
    Case("end/SIGHUP", "SIGHUP while a sign-in waits", by_signal(signal.SIGHUP)),
    Case("end/input", "the input ends while a sign-in waits", end_of_input),
    Case("end/input-headers", "the input ends while a sign-in waits, with headers", end_of_input, headers=True),
    Case("end/exit", "exit while a sign-in waits", end_by_exit),
    Case("end/within-a-message", "the input ends within a message with a header", end_within_a_header, headers=True),
    Case("wire/stall", "half a message comes, a pause, then the other half byte by byte", stalled),
    Case("initialize/unsupported-version", "a front end that is too old is refused", unsupported_version,
         reasons=["unsupportedVersion"]),
    Case("limits/named", "initialize names the limits", of_initialize),
    Case("limits/inboundLineBytes", "a message of 1 MiB, and one byte more", message_length,
         reasons=["lineTooLong"]),
    Case("limits/inboundLineBytes-headers", "the same with headers", message_length, headers=True),
    Case("limits/header", "a header of 4096 bytes, and one byte more", header_length, headers=True,
         reasons=["invalidHeader"]),
    Case("limits/nesting", "64 levels, and one more", nesting),
    Case("limits/idBytes", "an id of 256 bytes, and one byte more", id_length),
    Case("limits/batchEntries", "64 entries, and one more", batch_length),
    Case("limits/runningFlows", "64 sign-ins, and one more", running_flows, reasons=["overloaded"]),
    Case("limits/queuedRequests", "64 requests run and 1024 wait, and one more", queued_requests),
    Case("limits/outboundLineBytes", "a list beyond 60 KiB comes in pages", answer_length),
]
