"""Pictures of accounts from hostile addresses and servers: none of them is fetched or kept.

The servers are those of Python's standard library, in a network of their own whose only interface has public and
private addresses. Each picture is there and can be fetched, so that only the rules of einlass keep it away.

    python test_avatars.py FOLDER    (in a network and a mount namespace of its own, as root)
"""
import gzip
import hashlib
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from stores import Einlass, Home, Refused

LIMIT = 256 << 10
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
PICTURES = {
    "png": PNG,
    "jpeg": b"\xff\xd8\xff\xe0" + bytes(64),
    "gif": b"GIF89a" + bytes(64),
    "webp": b"RIFF\x40\0\0\0WEBPVP8 " + bytes(64),
    "largest": PNG + bytes(LIMIT - len(PNG)),
}
PUBLIC, STRANGER = "198.20.0.1", "198.20.0.2"
# The private addresses, each with a name.
PRIVATE = {"loopback": "127.0.0.1", "loopback6": "::1", "metadata": "169.254.169.254", "private": "10.0.0.1",
           "shared": "100.64.0.1", "mapped": "::ffff:10.0.0.1", "local6": "fd00::1"}
NAMES = {"pictures": PUBLIC, "stranger": STRANGER, **PRIVATE}
HERE = "https://pictures.example"

GOOD = {
    **{name: f"{HERE}/{name}" for name in PICTURES},
    "redirected": f"{HERE}/redirect?{HERE}/png",
    "redirected by a path": f"{HERE}/redirect?/png",
    "redirected without a scheme": f"{HERE}/redirect?//pictures.example/png",
    "after a cookie": f"{HERE}/cookie?{HERE}/png",
}
# The reason of the refusal, and the detail or the number of the network's failure.
NOT_PUBLIC = ("unsafeURL", "notPublic")
NO_PICTURE = ("providerFailure", None)
HOSTILE = {
    "plain http": ("http://pictures.example/png", NOT_PUBLIC),
    "a file": ("file:///etc/hostname", NOT_PUBLIC),
    "a user name and a password": ("https://ada:secret@pictures.example/png", NOT_PUBLIC),
    "another port": ("https://pictures.example:8443/png", NOT_PUBLIC),
    "a public address in place of a name": (f"https://{PUBLIC}/png", NOT_PUBLIC),
    "a loopback address": ("https://127.0.0.1/png", NOT_PUBLIC),
    "a number in place of an address": ("https://2130706433/png", NOT_PUBLIC),
    "an octal address": ("https://0177.0.0.1/png", NOT_PUBLIC),
    **{f"a name for {address}": (f"https://{name}.example/png", NOT_PUBLIC) for name, address in PRIVATE.items()},
    "localhost": ("https://localhost/png", NOT_PUBLIC),
    "a redirect to plain http": (f"{HERE}/redirect?http://pictures.example/png", NOT_PUBLIC),
    "a redirect to a loopback address": (f"{HERE}/redirect?https://127.0.0.1/png", NOT_PUBLIC),
    "a redirect without a scheme": (f"{HERE}/redirect?//127.0.0.1/png", NOT_PUBLIC),
    "a redirect to a private name": (f"{HERE}/redirect?https://private.example/png", NOT_PUBLIC),
    "a redirect to a file": (f"{HERE}/redirect?file:///etc/hostname", NOT_PUBLIC),
    "a redirect to itself": (f"{HERE}/loop", ("networkFailure", -1007)),
    "SVG": (f"{HERE}/svg", NO_PICTURE),
    "HTML with the type of a picture": (f"{HERE}/html", NO_PICTURE),
    "a compressed picture over the limit": (f"{HERE}/gzip", ("networkFailure", -1103)),
    "an error with a picture": (f"{HERE}/error", NO_PICTURE),
    "a picture over the limit": (f"{HERE}/long", ("networkFailure", -1103)),
    "a picture over the limit without its length": (f"{HERE}/endless", ("networkFailure", -1103)),
    "a picture that never ends": (f"{HERE}/trickle", ("networkFailure", -1001)),
    "another certificate": ("https://stranger.example/png", ("networkFailure", -1203)),
}
# Requests to the public server before the refusal.
REACHING = {name: f"/{url.split('/', 3)[3]}" for name, (url, _) in HOSTILE.items()
            if url.startswith(HERE + "/")}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.log.append({"listener": self.server.listener, "path": self.path,
                                "headers": {name.lower(): value for name, value in self.headers.items()}})
        page, _, target = self.path[1:].partition("?")
        if page in PICTURES:
            self.answer(PICTURES[page], kind="text/html")
        elif page in ("redirect", "cookie"):
            self.answer(b"", 302, {"Location": target, "Set-Cookie": "a=b; Path=/"})
        elif page == "loop":
            self.answer(b"", 302, {"Location": self.path})
        elif page == "svg":
            self.answer(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
        elif page == "html":
            self.answer(b"<!DOCTYPE html><script>alert(1)</script>")
        elif page == "gzip":
            self.answer(gzip.compress(PNG + bytes(LIMIT)), headers={"Content-Encoding": "gzip"})
        elif page == "error" or page == "changing" and self.server.fails:
            self.answer(PNG, 404)
        elif page == "changing":
            self.answer(PNG)
        elif page == "long":
            self.answer(PICTURES["largest"] + b"\0")
        elif page == "endless":
            self.stream(PICTURES["largest"] + b"\0", pause=0)
        elif page == "trickle":
            self.stream(PNG + bytes(1000), pause=0.2)

    def answer(self, body, status=200, headers={}, kind="image/png"):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, body, pause):
        self.send_response(200)
        self.end_headers()
        try:
            for start in range(0, len(body), 1 if pause else len(body)):
                self.wfile.write(body[start:] if not pause else body[start:start + 1])
                time.sleep(pause)
        except OSError:
            pass

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    fails = False

    def __init__(self, address, port, log, context=None):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener, self.log, self.context = address, log, context
        super().__init__((address, port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        if self.context:
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except OSError:
                self.log.append({"listener": self.listener, "path": None, "headers": {}})
                return
        super().finish_request(request, client_address)

    def handle_error(self, *_):
        pass


def certificates(folder):
    """Returns the file of an authority, and the contexts of its server and of that of another authority."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
    hosts = ",".join([f"DNS:{name}.example" for name in NAMES] + ["DNS:localhost"]
                     + [f"IP:{address}" for address in [PUBLIC, "127.0.0.1", "::1"]])
    contexts = []
    for authority in ("known", "stranger"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={authority}", "-keyout", f"{authority}.key", "-out", f"{authority}.pem",
                "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=server", "-keyout", f"{authority}-server.key", "-out", f"{authority}-server.pem",
                "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-addext", f"subjectAltName={hosts}",
                "-addext", "basicConstraints=critical,CA:FALSE")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Path(folder, f"{authority}-server.pem"), Path(folder, f"{authority}-server.key"))
        contexts.append(context)
    return Path(folder, "known.pem"), *contexts


def enter_network(folder):
    """Gives the names of the test to this network and mount namespace."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (PUBLIC, STRANGER, "169.254.169.254", "10.0.0.1", "100.64.0.1", "fd00::1"):
        subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=True)
    hosts = Path(folder, "hosts")
    hosts.write_text("127.0.0.1 localhost\n" + "".join(
        f"{address} {name}.example\n" for name, address in NAMES.items()))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)


def names(pictures):
    return set(os.listdir(pictures)) - {"lock"} if pictures.exists() else set()


def run(folder):
    """Asks for all pictures; prints the answers, the requests and the files."""
    enter_network(folder)
    authority, known, stranger = certificates(folder)
    log = []
    own = Server(PUBLIC, 443, log, known)
    for address in ("127.0.0.1", "::1", "169.254.169.254", "10.0.0.1", "100.64.0.1", "fd00::1"):
        Server(address, 443, log, known)
    Server(STRANGER, 443, log, stranger)
    Server(PUBLIC, 8443, log, known)
    Server(PUBLIC, 80, log)
    # Control: a client without the rules gets each picture at a forbidden place.
    trusting = ssl.create_default_context(cafile=authority)
    reached = {url: urllib.request.urlopen(url, context=trusting, timeout=60).read() == PNG
               for url, _ in HOSTILE.values() if url.endswith("/png")
               and not any(word in url for word in ("@", "2130706433", "0177", "stranger", "redirect"))}
    log.clear()

    config = Path(folder, "config.json")
    config.write_text(json.dumps({"caFile": str(authority)}))
    config.chmod(0o600)
    addresses = {**GOOD, **{name: url for name, (url, _) in HOSTILE.items()}, "changing": f"{HERE}/changing",
                 "none": None}
    results = {"reached": reached}
    with Home(folder) as home:
        with Einlass(home) as process:
            ids = {name: process.add(f"account {number}") for number, name in enumerate(addresses)}
        home.sql(*(f"UPDATE account SET avatar = '{url}' WHERE id = '{ids[name]}'"
                   for name, url in addresses.items() if url))
        pictures = home.data / "store.avatars"
        with Einlass(home, "--config", str(config)) as process:
            process.call("initialize", client={"name": "editor"}, locale="de")

            def ask(name):
                """Returns the answer, its requests, and the files that were written."""
                log.clear()
                before = names(pictures)
                asked = {"new": [], "file": None}
                try:
                    asked["result"] = process.call("avatars.get", account=ids[name])
                except Refused as refusal:
                    asked["error"] = refusal.error["data"]
                asked["requests"], asked["new"] = list(log), sorted(names(pictures) - before)
                if path := asked.get("result", {}).get("path"):
                    asked["file"] = {"sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
                                     "mode": os.stat(path).st_mode & 0o777,
                                     "folder": os.path.dirname(path) == str(pictures.resolve())}
                return asked

            results["denied"] = ask("png")
            process.call("access.set", provider="twitter", state="granted")
            results["answers"] = {name: ask(name) for name in addresses}

            changing = Path(results["answers"]["changing"]["result"]["path"])
            results["fresh"] = ask("changing")
            old = int(time.time()) - 86_401
            os.utime(changing, (old, old))
            own.fails = True
            results["unreachable"], results["old"] = ask("changing"), old
            own.fails = False
            results["anew"] = ask("changing")
            process.call("accounts.remove", account=ids["changing"])
            results["removed"] = not changing.exists()
            results["others"] = len(names(pictures))
        with Einlass(home, "--config", str(config)) as process:
            # The grant is that of the application editor.
            process.call("initialize", client={"name": "other"})
            results["another application"] = ask("png")
    print(json.dumps(results))


@pytest.fixture(scope="module")
def results():
    if os.geteuid() != 0:
        pytest.skip("only root may make a network of its own")
    for tool in ("unshare", "ip", "openssl"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool} here")
    with tempfile.TemporaryDirectory(prefix="einlass-") as folder:
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        done = subprocess.run(["unshare", "--net", "--mount", sys.executable, __file__, folder],
                              capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.mark.parametrize("name", GOOD)
def test_a_picture_of_each_kind_is_fetched_and_kept_in_a_private_file(results, name):
    asked = results["answers"][name]
    picture = name if name in PICTURES else "png"
    assert asked["result"]["type"] == ("image/png" if picture == "largest" else f"image/{picture}")
    assert asked["file"] == {"sha256": hashlib.sha256(PICTURES[picture]).hexdigest(), "mode": 0o600, "folder": True}
    assert len(asked["new"]) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_address_or_answer_is_neither_fetched_nor_kept(results, name):
    asked = results["answers"][name]
    reason, detail = HOSTILE[name][1]
    error = asked["error"]
    assert error["reason"] == reason and detail in (None, error.get("detail"), error.get("networkCode")), error
    assert asked["new"] == [], "a file was written"
    # Only the public server with its own certificate has got a request, and only for the first address.
    requests = [(request["listener"], request["path"]) for request in asked["requests"] if request["path"]]
    assert set(requests) == ({(PUBLIC, REACHING[name])} if name in REACHING else set())


def test_every_forbidden_place_has_a_picture_for_another_client(results):
    assert len(results["reached"]) >= 11 and all(results["reached"].values()), results["reached"]


def test_no_request_has_a_credential_a_cookie_or_a_language(results):
    requests = [request for name in GOOD for request in results["answers"][name]["requests"]]
    assert len(requests) == len(PICTURES) + 2 * (len(GOOD) - len(PICTURES))
    for request in requests:
        assert sorted(request["headers"]) == ["accept", "accept-encoding", "host", "user-agent"], request
        assert request["headers"]["accept-encoding"] == "identity"  # the same for everybody


@pytest.mark.parametrize("case", ["denied", "another application"])
def test_without_access_nothing_is_fetched(results, case):
    asked = results[case]
    assert asked["error"]["reason"] == "accessNotGranted"
    assert asked["requests"] == [] and asked["new"] == []


def test_an_account_without_a_picture_has_no_path(results):
    asked = results["answers"]["none"]
    assert asked["result"] == {} and asked["requests"] == []


def test_a_picture_is_fetched_once_a_day_and_the_former_one_stays_if_that_fails(results):
    first = results["answers"]["changing"]["result"]
    asked = results["fresh"]
    assert asked["result"] == first and asked["requests"] == []
    asked = results["unreachable"]
    assert asked["result"] == {**first, "fetchedAt": results["old"]} and len(asked["requests"]) == 1
    asked = results["anew"]
    assert asked["result"]["fetchedAt"] >= first["fetchedAt"] and len(asked["requests"]) == 1


def test_a_removed_account_leaves_no_picture(results):
    # The redirected ones have addresses and files of their own.
    assert results["removed"] and results["others"] == len(GOOD)


if __name__ == "__main__":
    run(sys.argv[1])
