"""A home folder with einlass installed, and servers that check the token of each request at the sandbox."""
import base64
import contextlib
import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
sys.path.append(str(PROJECT / "Tests/Control"))
from terminal import Terminal  # noqa: E402

RELEASE = PROJECT / ".build/release-static/release"
EINLASS = os.environ.get("EINLASS_BINARY", str(RELEASE / "einlass"))
CONTROL = os.environ.get("EINLASS_CONTROL", str(RELEASE / "einlassctl"))
SANDBOX = os.environ.get("EINLASS_SANDBOX", str(RELEASE / "einlass-sandbox"))
HELPERS = ("git", "headers", "kubernetes", "cargo", "docker", "bazel")
# The programs with a helper give up after ten seconds.
PATIENCE = 10


def missing(*programs):
    return [program for program in programs if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")]


def needs(*programs):
    return pytest.mark.skipif(bool(missing(*programs)), reason=f"skipped: there is no {' and no '.join(missing(*programs))}")


def make_certificate(folder):
    """Returns the paths of a certificate for 127.0.0.1 and of its key."""
    certificate, key = str(folder / "tls.pem"), str(folder / "tls.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    return certificate, key


def server_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.fixture
def ready():
    """The sandbox, as it describes itself."""
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


class House:
    """A home folder of its own, with the programs on the PATH and the sandbox as every provider."""

    def __init__(self, folder, ready):
        self.folder, self.ready = folder, ready
        for name in ("bin", ".config", ".config/einlass", "work"):
            (folder / name).mkdir(mode=0o700)
        for name, program in (("einlass", EINLASS), ("einlassctl", CONTROL)):
            (folder / "bin" / name).symlink_to(program)
        for kind in HELPERS:
            (folder / f"bin/{kind}-credential-einlass").symlink_to(EINLASS)
        browser = folder / "bin/xdg-open"
        browser.write_text('#!/bin/sh\nexec curl -sSL -o /dev/null "$1"\n')
        browser.chmod(0o700)
        self.config = folder / ".config/einlass/config.json"
        self.config.write_text(json.dumps(ready["config"]))
        self.config.chmod(0o600)
        self.environment = {
            "HOME": str(folder), "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8", "NO_COLOR": "1",
            "EINLASS": EINLASS, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}

    def run(self, *command, input="", patience=PATIENCE, **more):
        """Runs a program without a terminal. Returns exit code, standard output and standard error."""
        done = subprocess.run(command, input=input, capture_output=True, text=not isinstance(input, bytes), timeout=patience,
                              start_new_session=True, env={**self.environment, **more.pop("env", {})},
                              cwd=more.pop("cwd", self.folder / "work"), **more)
        return done.returncode, done.stdout, done.stderr

    def start(self, *command, **more):
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, env=self.environment, cwd=self.folder / "work", **more)

    def do(self, *command, **more):
        """Runs einlassctl, which must succeed. Returns its output."""
        code, output, errors = self.run("einlassctl", *command, **more)
        assert code == 0, errors
        return output

    def change(self, state):
        """Merges this patch into the state of the sandbox."""
        address = self.ready["control"].rstrip("/") + "/state"
        urllib.request.urlopen(urllib.request.Request(address, json.dumps(state).encode(), method="PATCH")).close()

    def reset(self):
        """Returns the sandbox to its initial state."""
        urllib.request.urlopen(urllib.request.Request(self.ready["control"].rstrip("/") + "/reset", b"", method="POST")).close()

    def state(self):
        with urllib.request.urlopen(self.ready["control"].rstrip("/") + "/state") as answer:
            return json.load(answer)

    def log(self, provider, method, path):
        """Returns the requests of this kind that the sandbox has received, oldest first."""
        with urllib.request.urlopen(self.ready["control"].rstrip("/") + "/log") as answer:
            log = json.load(answer)["requests"]
        return [entry for entry in log if [entry["provider"], entry["method"], entry["path"]] == [provider, method, path]]

    def count(self, provider, method, path):
        return len(self.log(provider, method, path))

    def sign_in(self, provider, *more, user="ada"):
        """Signs in on a terminal, as a person with a browser in which this user allows everything."""
        user = next(id for id, known in self.state()[provider]["users"].items() if known["username"] == user)
        self.change({provider: {"behaviour": {"consent": "allow", "user": user}}})
        with self.on_terminal("einlassctl", "sign-in", provider, "--no-guide", *more) as terminal:
            assert terminal.end() == 0, terminal.shown

    def on_terminal(self, name, *arguments, **environment):
        clear = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"), "")
        program = shutil.which(name, path=self.environment["PATH"])
        return Terminal([program, *arguments], **{**clear, **self.environment, "DISPLAY": ":none", **environment})

    def allow(self, application, provider):
        self.do("access", "set", application, provider, "granted")

    def origin(self, provider):
        return self.ready["addresses"][provider]


def token_of(header):
    """Returns the scheme and the token of an Authorization header."""
    scheme, _, value = (header or "").partition(" ")
    if scheme.lower() == "basic":
        value = base64.b64decode(value).decode().partition(":")[2]
    return scheme.lower(), value


class Gate:
    """An HTTP server that asks the provider's user endpoint about the token of each request."""

    def __init__(self, userinfo, answer, tls=None, realm='Basic realm="gate"'):
        self.userinfo, self.realm = userinfo, realm
        self.seen, self.schemes, self.refused, self.heads = [], [], 0, []
        gate = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = default_request_version = "HTTP/1.1"

            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                header = self.headers.get("Authorization")
                scheme, token = token_of(header)
                person = gate.person(token)
                gate.seen.append((self.command, self.path, header))
                if person is None:
                    gate.refused += 1
                    self.reply(401, {"WWW-Authenticate": gate.realm}, b"")
                else:
                    gate.schemes.append(scheme)
                    self.reply(*answer(self, body))

            def reply(self, status, headers, body):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_CONNECT(self):
                gate.heads.append(f"{self.requestline}\r\n{self.headers}")
                self.reply(407, {"Proxy-Authenticate": gate.realm}, b"")

            do_GET = do_POST = do_PUT = do_HEAD = do_PROPFIND = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.address = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_address[1]}"

    def person(self, token):
        """Returns the owner of the token, or None."""
        if not token:
            return None
        request = urllib.request.Request(self.userinfo, headers={"Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            assert error.code == 401, error
            return None


@contextlib.contextmanager
def open_gate(*arguments, **more):
    gate = Gate(*arguments, **more)
    thread = threading.Thread(target=gate.server.serve_forever)
    thread.start()
    try:
        yield gate
    finally:
        gate.server.shutdown()
        thread.join()
        gate.server.server_close()


def git_backend(root):
    """Returns an answer function that hands each request to `git http-backend`."""

    def answer(request, body):
        path, _, query = request.path.partition("?")
        environment = {
            "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": urllib.parse.unquote(path),
            "REQUEST_METHOD": request.command, "QUERY_STRING": query, "REMOTE_USER": "ada", "PATH": "/usr/bin:/bin",
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""), "CONTENT_LENGTH": str(len(body))}
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        return int(headers.pop("Status", "200").split()[0]), headers, body

    return answer
