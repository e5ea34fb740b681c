"""Messages on a pipe: lines, or the headers of the Language Server Protocol, and ways to cut them into writes."""
from __future__ import annotations

import time
from collections import namedtuple

from messages import quoted


class Way(namedtuple("Way", "name headers cut")):
    """A way to write messages: with headers or as lines, cut into these pieces."""

    def frame(self, message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%s" % (len(message), message) if self.headers else message + b"\n"


WAYS = [Way(f"{cut} {framing}", framing == "headers", cut)
        for cut in ("whole", "bytes", "stall", "pieces", "characters") for framing in ("lines", "headers")]
#: Beyond this size single bytes would take minutes, so pieces of a random size replace them.
LARGE = 20_000


def pieces(data: bytes, cut: str, seed: int = 1) -> Iterator[tuple[bytes, float]]:
    """Yields pieces of `data`, each with the seconds to wait after it."""
    if cut == "whole" or not data:
        yield data, 0
    elif cut == "stall":
        yield data[:len(data) // 2], 0.05
        yield data[len(data) // 2:], 0
    elif cut == "bytes" and len(data) <= LARGE:
        for index in range(len(data)):
            yield data[index:index + 1], 0
    elif cut == "characters" and len(data) <= LARGE:
        yield from ((piece, 0.002) for piece in within_characters(data))
    else:
        while data:
            # A linear congruential generator, because the same seed cuts in the same places everywhere.
            seed = (seed * 1103515245 + 12345) % (1 << 31)
            count = 1 + (seed >> 8) % len(data)
            yield data[:count], 0
            data = data[count:]


def within_characters(data: bytes) -> Iterator[bytes]:
    """Cuts after the first byte of each character of several bytes, so that no reader gets such a character whole."""
    start = 0
    for index, byte in enumerate(data):
        if byte >= 0xC0:
            yield data[start:index + 1]
            start = index + 1
    yield data[start:]


def write(file, data: bytes, cut: str = "whole", seed: int = 1) -> None:
    """Writes all of `data` to an unbuffered binary file."""
    for piece, pause in pieces(data, cut, seed):
        rest = memoryview(piece)
        while rest:
            rest = rest[file.write(rest) or 0:]
        if pause:
            time.sleep(pause)


class InvalidFrame(Exception):
    """The header of a message cannot be read."""


class Deframer:
    """Cuts a stream of bytes into messages. The first bytes decide the framing, unless `headers` says it."""

    def __init__(self, headers=None) -> None:
        self.headers = headers
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        self.rest += data
        if self.headers is None and len(self.rest) >= 8:
            self.headers = self.rest[:8].lower() == b"content-"
        if self.headers is None and b"\n" in self.rest:
            self.headers = False
        if self.headers is None:
            return []
        if not self.headers:
            *lines, self.rest = self.rest.split(b"\n")
            return [line for line in lines if line.strip()]
        messages = []
        while b"\r\n\r\n" in self.rest:
            head, body = self.rest.split(b"\r\n\r\n", 1)
            length = self.length(head)
            if len(body) < length:
                break
            messages.append(body[:length])
            self.rest = body[length:]
        return messages

    @staticmethod
    def length(head: bytes) -> int:
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                return int(value)
        raise InvalidFrame(f"a header without a length: {quoted(head)}")
