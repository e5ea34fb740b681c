"""A cable between einlass and PostgreSQL that delays each message and lists the requests."""

import queue
import socket
import struct
import threading
import time

from .fleet import clusters


class Cable:
    """A Unix socket before the server's. `seconds` is the delay of each direction; `requests` the texts, in order."""

    def __init__(self, server):
        self.server, self.folder = server, clusters.folder("cable-")
        self.parameters = {"host": self.folder, "port": 5432}
        self.seconds, self.requests, self.lock = 0, [], threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / ".s.PGSQL.5432"))
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        clusters.shutil.rmtree(self.folder)

    def accept(self):
        number = 0
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            number += 1
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.server)
            for source, target, reader in ((near, far, Requests(self, number)), (far, near, None)):
                waiting = queue.SimpleQueue()
                threading.Thread(target=self.read, args=(source, waiting, reader), daemon=True).start()
                threading.Thread(target=self.write, args=(target, waiting), daemon=True).start()

    def read(self, source, waiting, reader):
        chunk = b"?"
        while chunk:
            try:
                chunk = source.recv(1 << 16)
            except OSError:
                chunk = b""
            if reader:
                reader.take(chunk)
            waiting.put((time.monotonic() + self.seconds, chunk))

    @staticmethod
    def write(target, waiting):
        while True:
            at, chunk = waiting.get()
            time.sleep(max(0, at - time.monotonic()))
            try:
                if not chunk:
                    return target.shutdown(socket.SHUT_RDWR)
                target.sendall(chunk)
            except OSError:
                return


class Requests:
    """Reads the requests of one connection: those without parameters, and the ones that are parsed first."""

    def __init__(self, cable, number):
        self.cable, self.number, self.rest, self.is_begun = cable, number, b"", False

    def take(self, chunk):
        self.rest += chunk
        while True:
            head = 1 if self.is_begun else 0
            if len(self.rest) < head + 4:
                return
            size = head + struct.unpack_from("!I", self.rest, head)[0]
            if len(self.rest) < size:
                return
            message, self.rest = self.rest[:size], self.rest[size:]
            if not self.is_begun:
                # A request for encryption, which is answered by one byte, comes before the first message.
                self.is_begun = struct.unpack_from("!I", message, 4)[0] != 80877103
                continue
            text = {b"Q": message[5:-1], b"P": message[5:].split(b"\0")[1:2]}.get(message[:1])
            if text:
                text = text if isinstance(text, bytes) else text[0]
                with self.cable.lock:
                    self.cable.requests.append((self.number, " ".join(text.decode().split())))
