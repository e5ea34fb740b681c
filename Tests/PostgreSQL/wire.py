"""The wire between einlass and PostgreSQL: a proxy that can hang, be cut, and act at the sight of bytes.

    wire = Wire(cluster.sockets / f".s.PGSQL.{cluster.port}")
    wire.freeze()                                             # nothing moves, and nothing is reset
    wire.delay = 0.5                                          # the seconds before each answer of the server
    wire.trap(("out", b"COMMIT"), do=cluster.interrupt)       # before the bytes are passed on
"""
import shutil
import socket
import struct
import threading
import time
from pathlib import Path

from cluster import folder, give

PATIENCE = 60
PORT = 5432  # a part of the socket's name


class Trap:
    """Patterns that come one after the other on one connection, and an action at the last one.

    Each pattern is a direction, `out` to the server or `in` from it, and bytes. The action runs before the chunk with
    the last pattern is passed on. `drop` as its result throws the chunk away and cuts the connection.
    """

    def __init__(self, patterns, do):
        self.patterns, self.do = patterns, do
        self.lock, self.sprung = threading.Lock(), threading.Event()
        self.found = {}

    def look(self, connection, direction, chunk, tail):
        """Returns the result of the action if this chunk completes the patterns. `tail` is the end of the chunk before."""
        place = 0
        with self.lock:
            if self.sprung.is_set():
                return None
            seen = tail + chunk
            while True:
                index = self.found.get(connection, 0)
                wanted, pattern = self.patterns[index]
                at = seen.find(pattern, place) if wanted == direction else -1
                # A pattern within the tail was there before the trap, or has been counted.
                while 0 <= at and at + len(pattern) <= len(tail):
                    at = seen.find(pattern, at + 1)
                if at < 0:
                    return None
                place = at + len(pattern)
                if index + 1 < len(self.patterns):
                    self.found[connection] = index + 1
                    continue
                self.sprung.set()
                break
        return self.do()

    def wait(self):
        assert self.sprung.wait(PATIENCE), f"{self.patterns} did not come"


class Wire:
    """A Unix socket in a folder of its own, or a TCP port, before the address of a server."""

    def __init__(self, server, tcp=False):
        self.server, self.folder = server, None
        if tcp:
            self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
            self.parameters = {"host": "127.0.0.1", "port": self.listener.getsockname()[1]}
        else:
            self.folder = folder("wire-")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(str(self.folder / f".s.PGSQL.{PORT}"))
            give(self.folder / f".s.PGSQL.{PORT}")
            self.listener.listen(256)
            self.parameters = {"host": str(self.folder), "port": PORT}
        self.changed = threading.Condition()
        self.is_frozen, self.is_refusing, self.is_closed = False, False, False
        self.delay = 0
        self.connections, self.traps, self.count = {}, [], 0
        self.seen = {"out": 0, "in": 0}
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(near,), daemon=True).start()

    def serve(self, near):
        self.wait_while_frozen()
        far = socket.socket(socket.AF_INET if isinstance(self.server, tuple) else socket.AF_UNIX)
        with self.changed:
            self.count += 1
            number = self.count
            self.connections[number] = (near, far)
        try:
            if self.is_refusing:
                raise OSError
            far.connect(self.server if isinstance(self.server, tuple) else str(self.server))
        except OSError:
            return self.end(number)
        threading.Thread(target=self.carry, args=(number, "in", far, near), daemon=True).start()
        self.carry(number, "out", near, far)

    def carry(self, number, direction, source, target):
        tail = b""
        while True:
            try:
                chunk = source.recv(65536)
            except OSError:
                chunk = b""
            self.wait_while_frozen()
            if not chunk:
                return self.end(number)
            if direction == "in":
                time.sleep(self.delay)
            self.seen[direction] += len(chunk)
            results = [trap.look(number, direction, chunk, tail) for trap in list(self.traps)]
            tail = (tail + chunk)[-256:]
            if "drop" in results:
                return self.end(number)
            self.wait_while_frozen()
            try:
                target.sendall(chunk)
            except OSError:
                return self.end(number)

    def wait_while_frozen(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.is_frozen or self.is_closed)

    def end(self, number, resets=False):
        with self.changed:
            pair = self.connections.pop(number, ())
        for end in pair:
            try:
                if resets and end.family == socket.AF_INET:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def trap(self, *patterns, do=lambda: None):
        """Runs `do` once, when these patterns have come on one connection."""
        trap = Trap(patterns, do)
        self.traps.append(trap)
        return trap

    def freeze(self):
        with self.changed:
            self.is_frozen = True

    def thaw(self):
        with self.changed:
            self.is_frozen = False
            self.changed.notify_all()

    def cut(self):
        """Ends every connection. New ones are served."""
        for number in list(self.connections):
            self.end(number, resets=True)

    def refuse(self, refuses=True):
        """Ends every connection, and each new one before the server sees it."""
        self.is_refusing = refuses
        self.cut()

    def close(self):
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self.listener.close()
        self.cut()
        if self.folder:
            shutil.rmtree(self.folder)


def socket_of(cluster):
    return Path(cluster.sockets) / f".s.PGSQL.{cluster.port}"
