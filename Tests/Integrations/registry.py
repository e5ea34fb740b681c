"""Debian's docker-registry with token authentication, and the server that gives those tokens for tokens of the sandbox."""
import base64
import contextlib
import json
import socket
import ssl
import subprocess
import time
import urllib.parse

import jwt

from house import open_gate

CONFIGURATION = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
auth:
  token: {{realm: "{realm}/token", service: registry, issuer: gate, rootcertbundle: {certificate}}}
"""


@contextlib.contextmanager
def open_registry(folder, userinfo, certificate, key):
    """Yields the registry's host and the gate that gives its tokens."""
    with open_gate(userinfo, lambda request, _: ticket(request, certificate, key)) as gate:
        # Another program may take a free port before the registry does.
        for _ in range(5):
            with socket.create_server(("127.0.0.1", 0)) as listener:
                port = listener.getsockname()[1]
            configuration = folder / "registry.yml"
            configuration.write_text(CONFIGURATION.format(
                folder=folder / "registry", port=port, realm=gate.address, certificate=certificate))
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(["docker-registry", "serve", configuration], **quiet) as process:
                try:
                    if is_up(process, port):
                        yield f"127.0.0.1:{port}", gate
                        return
                finally:
                    process.kill()
    raise AssertionError("docker-registry does not start")


def is_up(process, port):
    deadline = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return process.poll() is None
        time.sleep(0.02)
    return False


def ticket(request, certificate, key):
    """Answers with the registry's own token for the scopes that were asked for."""
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
    access = []
    for scope in asked.get("scope", []):
        kind, name, actions = scope.split(":")
        access.append({"type": kind, "name": name, "actions": actions.split(",")})
    now = int(time.time())
    claims = {"iss": "gate", "sub": "ada", "aud": "registry", "exp": now + 300, "nbf": now - 10, "iat": now, "jti": "1", "access": access}
    with open(certificate) as text:
        chain = [base64.b64encode(ssl.PEM_cert_to_DER_cert(text.read())).decode()]
    with open(key) as text:
        token = jwt.encode(claims, text.read(), "ES256", headers={"x5c": chain})
    return 200, {"Content-Type": "application/json"}, json.dumps({"token": token}).encode()
