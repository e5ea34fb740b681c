"""The basis of the servers in this folder: a loopback server, a log of its requests, and one line when ready.

    python FILE PORT        (0 = any)

GET /__log answers a JSON list of the requests so far: method, path, status, and the findings of the server. It
contains no tokens or secrets. SIGTERM ends the program.
"""
import json
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


class Request:
    """A request with its whole body."""

    def __init__(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        split = urlsplit(handler.path)
        self.method = handler.command
        self.path = split.path
        self.target = handler.path
        self.headers = dict(handler.headers)
        self.body = handler.rfile.read(length).decode()
        self.query = dict(parse_qsl(split.query, keep_blank_values=True))
        self.is_form = self.headers.get("Content-Type") == "application/x-www-form-urlencoded"
        self.form = dict(parse_qsl(self.body, keep_blank_values=True)) if self.is_form else {}
        self.found = {}

    @property
    def bearer(self):
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return token if scheme == "Bearer" else None


class Answer:
    """A status, a body and its type; `headers` are additional ones."""

    def __init__(self, status, body, content_type="application/json", headers=()):
        self.status = status
        self.headers = dict(headers)
        self.body = (json.dumps(body) if content_type == "application/json" else body).encode()
        self.content_type = content_type


class Server(ThreadingHTTPServer):
    """A server for many clients at once. With the usual backlog of five, further connections would be reset."""

    request_queue_size = 256
    daemon_threads = True


def run(answer, ready):
    """Prints `ready(base)` and serves `answer(base, request) -> Answer` without end."""
    log, lock = [], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60
        wbufsize = -1  # sends head and body together

        def log_message(self, *arguments):
            pass

        def handle_request(self):
            request = Request(self)
            if request.path == "/__log":
                with lock:
                    result = Answer(200, log)
            else:
                result = answer(base, request)
                with lock:
                    log.append({"method": request.method, "path": request.path,
                                "status": result.status, **request.found})
            self.send_response(result.status)
            for name, value in {"Content-Type": result.content_type, **result.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(result.body)))
            self.end_headers()
            self.wfile.write(result.body)

        do_GET = do_POST = do_PUT = do_DELETE = handle_request

    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    base = "http://127.0.0.1:%d" % server.server_address[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"base": base, "log": base + "/__log", **ready(base)}), flush=True)
    server.serve_forever()
