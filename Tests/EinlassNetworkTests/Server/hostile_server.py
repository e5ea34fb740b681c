"""A server that misbehaves on request, for the network tests. Python's standard library and `openssl`.

    python3 hostile_server.py

Prints one line of JSON when ready: the port of each listener and the files of its private authority.
Ends when its standard input does. The control listener tells the requests that arrived:
  GET /log                    everything since the last reset, as JSON
  GET /reset                  forgets it; every=BEHAVIOUR/ARGUMENT/…: so every request without one of its own is answered
  GET /await?event=E&count=N  answers when N events E were seen, or with 504 after 45 seconds
"""
import atexit
import gzip
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time
import urllib.parse
import warnings
import zlib

sys.dont_write_bytecode = True
import certificates

warnings.simplefilter("ignore", DeprecationWarning)  # for the listener that speaks old TLS
FOLDER = tempfile.mkdtemp(prefix="einlass-network-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda *_: sys.exit(1))  # by way of atexit
LOCK = threading.Condition()
EVENTS = []
NUMBERS = iter(range(1, 1 << 30))


def saw(event, **more):
    with LOCK:
        EVENTS.append(dict(more, event=event))
        LOCK.notify_all()


# ---- behaviours: each gets the connection and the request, and says whether the connection goes on

def answer(connection, body=b"", status="200 OK", headers=()):
    head = ["HTTP/1.1 " + status, *headers, "Content-Length: %d" % len(body)]
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    return True


def ok(connection, request):
    return answer(connection, b"hello")


def echo(connection, request):
    return answer(connection, json.dumps(request).encode(), headers=["Content-Type: application/json"])


def closing(connection, request):
    answer(connection, b"bye", headers=["Connection: close"])


def redirect(connection, request):
    """To another server, or with `same` to the same place, without end."""
    where = request["argument2"]
    port = PORTS[{"same": "plain", "https": "good"}.get(where, "second")]
    place = request["target"] if where == "same" else "/stolen"
    location = "%s://127.0.0.1:%d%s" % ("http" if where == "same" else where, port, place)
    return answer(connection, b"", request["argument"] + " Elsewhere", ["Location: " + location])


def interim(connection, request):
    connection.sendall(b"HTTP/1.1 103 Early Hints\r\nX-Early: yes\r\n\r\n")
    return answer(connection, b"late", headers=["X-Late: yes", "X-Late: twice"])


def forever(connection, piece, pause=0.0):
    sent = 0
    try:
        while sent < 1 << 33:
            connection.sendall(piece)
            sent += len(piece)
            time.sleep(pause)
    finally:
        saw("stopped", sent=sent)


def drip_head(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    forever(connection, b"x", 0.05)


def drip_body(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    forever(connection, b"x", 0.05)


def silence(connection, request):
    while connection.recv(65536):
        pass
    saw("closed")


def body_without_end(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    forever(connection, b"4000\r\n" + b"x" * 0x4000 + b"\r\n")


def body_until_close(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    forever(connection, b"x" * 0x4000)


def body_announced(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n")
    forever(connection, b"x" * 0x4000)


def body_of(connection, request):
    return answer(connection, b"x" * int(request["argument"]))


def header_of(connection, request):
    return answer(connection, b"", headers=["X-Long: " + "x" * int(request["argument"])])


def headers_of(connection, request):
    return answer(connection, b"", headers=["X: y"] * int(request["argument"]))


def header_without_end(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    forever(connection, b"x" * 0x4000)


def headers_without_end(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    forever(connection, b"X: y\r\n" * 1000)


def interim_without_end(connection, request):
    forever(connection, b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)


def trailers_without_end(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
    forever(connection, b"X: y\r\n" * 1000)


def too_much(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello"
                       b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray")
    return True


def truncated(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut")


def truncated_chunk(connection, request):
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\ncut")


def reset(connection, request):
    body = b"x" * 200
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + body
    connection.sendall(whole[:int(request["argument"])])
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def cut(connection, request):
    """Closes as if all were well after so many bytes."""
    whole = b"HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello"
    connection.sendall(whole[:int(request["argument"])])


def garbage(connection, request):
    connection.sendall(b"\x00\xff\xfe this is not HTTP\r\n\r\n")


def old_http(connection, request):
    connection.sendall(b"just a body, as in 1991\r\n")


def nothing(connection, request):
    pass


def said(connection, request):
    """What the test has put into a file, byte for byte; the connection ends with it."""
    with open(os.path.join(FOLDER, "said"), "rb") as file:
        connection.sendall(file.read())


def drop_kept(connection, request):
    """Closes without an answer where the connection served before, else answers."""
    if request["isFirst"]:
        return answer(connection, b"first")


# Ten MiB in a few bytes: one stream, and blocks that say how often their byte stands there (RFC 8878, 3.1.1.2).
BROTLI = bytes.fromhex("cbffff3ff82700e2b14020f7fe2fffff3ff04f00c4611180eefd07")
ZSTD = bytes.fromhex("28b52ffd0050") + b"\x02\x00\x10x" * 80 + b"\x01\x00\x00"


def compressed(connection, request):
    how = request["argument2"]
    bomb = {"br": BROTLI, "zstd": ZSTD}.get(how) or gzip.compress(b"x" * int(request["argument"]))
    saw("compressed", size=len(bomb))
    if how == "transfer":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
                           + b"%x\r\n" % len(bomb) + bomb + b"\r\n0\r\n\r\n")
        return None
    codings = {"undeclared": "", "declared": "gzip", "stacked": "gzip, " * 4 + "br, zstd"}.get(how, how)
    headers = ["Content-Encoding: " + codings] if codings else []
    return answer(connection, bomb, headers=headers)


def bomb_without_end(connection, request):
    """Each KiB of it is a MiB of zeros."""
    stream = zlib.compressobj(9, wbits=31)
    begin, piece = (stream.compress(bytes(1 << 20)) + stream.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + begin)
    forever(connection, piece * 16)


def barrier(connection, request):
    """Answers when so many requests stand here at once."""
    saw("barrier")
    count = int(request["argument"])
    with LOCK:
        together = LOCK.wait_for(
            lambda: sum(e["event"] == "barrier" for e in EVENTS) >= count, timeout=15)
    return answer(connection, b"together" if together else b"alone")


def proxied(connection, request):
    host, port = request["path"].rsplit(":", 1)
    saw("tunnel", host=host)
    if PROXY_REFUSES.is_set():
        answer(connection, b"", "403 Forbidden")
        return
    with socket.create_connection(("127.0.0.1", int(port))) as target:
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        thread = threading.Thread(target=pump, args=(target, connection), daemon=True)
        thread.start()
        pump(connection, target)
        thread.join(5)


PROXY_REFUSES = threading.Event()
EVERY = ["nothing", "", ""]


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def control(connection, request):
    path, query = request["path"], request["query"]
    if path == "/log":
        with LOCK:
            return answer(connection, json.dumps(EVENTS).encode())
    if path == "/await":
        with LOCK:
            seen = LOCK.wait_for(lambda: sum(e["event"] == query["event"] for e in EVENTS)
                                 >= int(query.get("count", 1)), timeout=45)
        return answer(connection, b"", "200 OK" if seen else "504 Never")
    if path == "/reset":
        EVERY[:] = (query.get("every", "nothing") + "//").split("/")[:3]
        PROXY_REFUSES.set() if query.get("proxy") == "refuses" else PROXY_REFUSES.clear()
        with LOCK:
            EVENTS.clear()
    return answer(connection)


BEHAVIOURS = {
    function.__name__.replace("_", "-"): function
    for function in (ok, echo, closing, redirect, interim, drip_head, drip_body, silence,
                     body_without_end, body_until_close, body_announced, body_of, header_of,
                     headers_of, header_without_end, headers_without_end, interim_without_end,
                     trailers_without_end, too_much, truncated, truncated_chunk, reset, cut, garbage, old_http,
                     nothing, said, drop_kept, compressed, bomb_without_end,
                     barrier)}


# ---- listeners

def read_request(connection, listener):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        saw("bytes", listener=listener, count=len(more))
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip(" ")) for name, _, value in (l.partition(":") for l in lines[1:])]
    length = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            return None
        body += more
    method, target, _ = lines[0].split(" ", 2)
    path, _, query = target.partition("?")
    parts = path.split("/") + ["", "", ""]
    return {"method": method, "path": path, "target": target, "headers": headers,
            "query": dict(urllib.parse.parse_qsl(query)), "body": body.decode("latin-1"),
            "name": parts[1], "argument": parts[2], "argument2": parts[3]}


def drain(connection):
    """Reads up to the client's end, because a connection closed over unread bytes is reset, and then the client may
    lose the alert."""
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(65536):
        pass


def serve(connection, listener, context):
    number = next(NUMBERS)
    saw("connection", listener=listener, number=number)
    try:
        if listener == "stalled":
            silence(connection, None)
            return
        if context:
            connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            try:
                connection.do_handshake()
            except ssl.SSLError:
                if listener.startswith("mutual"):
                    drain(connection)
                raise
            saw("handshake", listener=listener)
            if peer := connection.getpeercert():
                saw("peer", listener=listener, host=peer["subject"][0][0][1])
        is_first = True
        while (request := read_request(connection, listener)) is not None:
            request["isFirst"], is_first = is_first, False
            if request["name"] not in BEHAVIOURS:
                request.update(zip(("name", "argument", "argument2"), EVERY))
            behaviour = (control if listener == "control" else
                         proxied if request["method"] == "CONNECT" else
                         BEHAVIOURS[request["name"]])
            if behaviour is not control:
                saw("request", listener=listener, method=request["method"], path=request["path"],
                    connection=number)
            if not behaviour(connection, request):
                break
    except (OSError, ValueError):
        pass
    finally:
        connection.close()
        # One of before the log was made fresh is nobody's concern any more.
        with LOCK:
            if listener == "plain" and any(event.get("number") == number for event in EVENTS):
                saw("gone")


def listen(name, context=None):
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, name, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


NAMES = certificates.make(FOLDER)
PORTS = {name: listen(name) for name in ("plain", "second", "stalled", "proxy", "control")}
for name in NAMES:
    PORTS[name] = listen(name, certificates.context(FOLDER, name))
PORTS["old"] = listen("old", certificates.context(FOLDER, "good", old=True))
for name, version in (("mutual", ssl.TLSVersion.TLSv1_3), ("mutual12", ssl.TLSVersion.TLSv1_2)):
    PORTS[name] = listen(name, certificates.demanding(FOLDER, version))
PORTS["refused"] = unused_port()
print(json.dumps({"ports": PORTS, "folder": FOLDER}), flush=True)
sys.stdin.read()
