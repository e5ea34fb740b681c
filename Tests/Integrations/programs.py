"""The programs of clients/RECIPES.md at servers that check each token at the sandbox.

Each function runs one program in a house by its recipe. It returns the exit code, the text that the program shows, and
whether the program has done its work.
"""
import asyncio
import contextlib
import functools
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from collections import namedtuple
from pathlib import Path
from typing import Annotated

import httpx2
import jwt
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.dependencies import get_access_token
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from pydantic import Field

from house import PROJECT, git_backend, open_gate
from recipes import commands, filled, recipe

Ended = namedtuple("Ended", "code shown has_worked")
# A program that has not ended by then hangs.
HANGING = 60


def write(house, name, text):
    path = house.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    # docker and skopeo run at the same time and read the same file, so it is never there in part.
    new = path.with_name(f".{path.name}.{threading.get_ident()}")
    new.write_text(text)
    new.chmod(0o600)
    new.rename(path)
    return path


def empty(house, name):
    """Returns a folder of the house without content."""
    path = house.folder / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def hello(request, body):
    return 200, {}, b"hello"


# git, at git http-backend over https.

@contextlib.contextmanager
def git_server(folder, userinfo, tls):
    """Yields a gate with the repositories of the folder and the repository /hello.git, which anyone may write."""
    subprocess.run(["git", "init", "-q", "--bare", folder / "hello.git"], check=True)
    subprocess.run(["git", "-C", folder / "hello.git", "config", "http.receivepack", "true"], check=True)
    with open_gate(userinfo, git_backend(folder), tls=tls) as gate:
        yield gate


def set_up_git(house, authority):
    for line in commands("git"):
        assert house.run("sh", "-c", line)[0] == 0
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org"), ("init.defaultBranch", "main"),
                        ("http.sslCAInfo", authority)):
        assert house.run("git", "config", "--global", name, value)[0] == 0


def git(house, servers):
    set_up_git(house, servers.authority)
    shutil.rmtree(house.folder / "work/hello", ignore_errors=True)
    code, _, errors = house.run("git", "clone", "-q", servers.git.address + "/hello.git", patience=HANGING)
    return Ended(code, errors, (house.folder / "work/hello/.git").is_dir())


# curl. --fail and pipefail, because the line alone ends with 0 after every answer of a server.

def curl(house, servers):
    (line,) = commands("curl", ("https://api.example.com", servers.curl.address))
    code, output, errors = house.run("bash", "-o", "pipefail", "-c", line + " --fail", patience=HANGING)
    return Ended(code, errors, output == "hello")


# kubectl, at a cluster that takes id_tokens.

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c
clusters:
- {{name: c, cluster: {{server: "{server}", certificate-authority: "{authority}"}}}}
contexts:
- {{name: c, context: {{cluster: c, user: ada}}}}
users:
{users}
"""


@contextlib.contextmanager
def cluster(userinfo, tls):
    """Yields a gate that takes each id_token before its end, except those in `revoked`."""
    pods = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}).encode()
    with open_gate(userinfo, lambda *_: (200, {"Content-Type": "application/json"}, pods), tls=tls) as gate:
        gate.revoked = set()

        def person(token):
            try:
                claims = jwt.decode(token, options={"verify_signature": False, "verify_exp": True})
            except jwt.InvalidTokenError:
                return None
            return None if token in gate.revoked else claims

        gate.person = person
        yield gate


def kubectl(house, servers, version="v1"):
    kubeconfig = write(house, "kubeconfig", KUBECONFIG.format(
        server=servers.kubectl.address, authority=servers.authority,
        users=recipe("kubectl", ("google/ada@example.org", "google"), ("k8s.io/v1", "k8s.io/" + version))))
    code, output, errors = house.run(
        "kubectl", "--kubeconfig", str(kubeconfig), "get", "--raw", "/api/v1/pods", patience=HANGING)
    return Ended(code, errors, "PodList" in output)


# cargo, at a sparse index.

def crates(request, body):
    """An index with the crate abc."""
    if request.path == "/config.json":
        return 200, {}, json.dumps({"dl": "https://example.com/dl", "auth-required": True}).encode()
    entry = {"name": "abc", "vers": "1.0.0", "deps": [], "cksum": "0" * 64, "features": {}, "yanked": False}
    return (200, {}, json.dumps(entry).encode()) if request.path == "/3/a/abc" else (404, {}, b"")


def cargo(house, servers):
    project = empty(house, "work/crate")
    write_crate(project, "example")
    code, _, errors = run_cargo(
        house, recipe("cargo", ("https://registry.example.com", servers.cargo.address)), "generate-lockfile", cwd=project)
    return Ended(code, errors, (project / "Cargo.lock").exists())


def write_crate(project, registry):
    """Writes a crate that needs abc of this registry."""
    (project / "src").mkdir()
    (project / "src/lib.rs").write_text("")
    (project / "Cargo.toml").write_text(
        f'[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nabc = {{ version = "1", registry = "{registry}" }}\n')


def run_cargo(house, configuration, *arguments, **more):
    """Runs cargo with this configuration and no other."""
    cargo_home = empty(house, ".cargo")
    (cargo_home / "config.toml").write_text(configuration)
    environment = {"PATH": os.environ["PATH"] + ":" + str(house.folder / "bin"), "CARGO_HOME": str(cargo_home)}
    environment |= {name: os.environ[name] for name in ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
    if os.path.basename(os.path.realpath(shutil.which("cargo"))) == "rustup":
        environment.setdefault("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
    return house.run("cargo", *arguments, env=environment, patience=HANGING, **more)


# docker and skopeo, at docker-registry.

def set_up_docker(house, servers):
    write(house, ".docker/config.json", recipe("docker, podman, skopeo", ("registry.example.com", servers.registry)))


def docker(house, servers):
    set_up_docker(house, servers)
    code, output, errors = house.run(
        "docker", "manifest", "inspect", "--insecure", servers.registry + "/ada/app:1", patience=HANGING)
    return Ended(code, errors, "schemaVersion" in output)


def skopeo(house, servers):
    set_up_docker(house, servers)
    shutil.rmtree(house.folder / "work/copy", ignore_errors=True)
    code, _, errors = house.run(
        "skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{servers.registry}/ada/app:1", "dir:copy", patience=HANGING)
    return Ended(code, errors, (house.folder / "work/copy/manifest.json").exists())


def push_image(house, servers):
    set_up_docker(house, servers)
    image = empty(house, "work/image")
    write_image(image)
    return house.run("skopeo", "copy", "-q", "--dest-tls-verify=false", f"dir:{image}", f"docker://{servers.registry}/ada/app:1")


def write_image(folder):
    """Writes an image without layers in skopeo's format."""
    content = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
    digest = hashlib.sha256(content).hexdigest()
    (folder / digest).write_bytes(content)
    (folder / "version").write_text("Directory Transport Version: 1.1\n")
    (folder / "manifest.json").write_text(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [],
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": "sha256:" + digest, "size": len(content)}}))


# pip, uv, twine and programs with requests or httpx. They need the Python client.

PACKAGES = "packages.example.com"


@functools.cache  # because its bytes have the time in them
def wheel():
    """Returns a small wheel."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("abc.py", "")
        archive.writestr("abc-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: abc\nVersion: 1.0\n")
        archive.writestr("abc-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("abc-1.0.dist-info/RECORD", "")
    return content.getvalue()


@contextlib.contextmanager
def packages(userinfo):
    """Yields a package index (PEP 503) with the package abc. It keeps each upload."""

    def answer(request, body):
        content = wheel()
        if request.command == "POST":
            gate.uploads.append(body)
            return 200, {}, b""
        if request.path == "/simple/abc/":
            link = f'<a href="/files/abc-1.0-py3-none-any.whl#sha256={hashlib.sha256(content).hexdigest()}">abc-1.0-py3-none-any.whl</a>'
            return 200, {"Content-Type": "text/html"}, link.encode()
        return (200, {}, content) if request.path.endswith(".whl") else (404, {}, b"")

    with open_gate(userinfo, answer) as gate:
        gate.uploads = []
        yield gate


def install_library(folder):
    """Installs the Python client with its entry points. Returns its folder."""
    # A copy, because the build writes beside its sources.
    source = shutil.copytree(PROJECT / "clients/python", folder / "source")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check",
                           "--target", folder / "library", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(folder / "library")


def python_line(house, servers, line):
    """Runs a command line with the programs of this Python on the PATH."""
    return house.run("sh", "-c", line, patience=HANGING, env={
        "PATH": f"{Path(sys.executable).parent}:{house.environment['PATH']}", "PYTHONPATH": servers.library,
        "PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "UV_NO_CACHE": "1"})


def pip(house, servers):
    return install(house, servers, commands("pip")[-1], empty(house, "pip"))


def uv(house, servers):
    return install(house, servers, commands("uv")[-1] + f" --python {sys.executable}", empty(house, "uv"))


def install(house, servers, line, target):
    line = filled(line, [("https://oauth2@" + PACKAGES, servers.packages.address.replace("//", "//oauth2@"))])
    code, output, errors = python_line(house, servers, f"{line} --target {target}")
    return Ended(code, output + errors, (target / "abc.py").exists())


def twine(house, servers):
    (line,) = commands("twine", ("https://" + PACKAGES, servers.packages.address))
    (empty(house, "work/dist") / "abc-1.0-py3-none-any.whl").write_bytes(wheel())
    before = len(servers.packages.uploads)
    code, output, errors = python_line(house, servers, line)
    return Ended(code, output + errors, any(wheel() in upload for upload in servers.packages.uploads[before:]))


LIBRARIES = {
    "requests": """
import requests, sys
from einlass.requests_auth import EinlassAuth
auth = EinlassAuth("script")
with requests.Session() as session:
    for url in sys.argv[1:]:
        answer = session.get(url, auth=auth)
        print(answer.status_code, answer.text)
""",
    "httpx": """
import httpx, sys
from einlass.httpx_auth import EinlassAuth
auth = EinlassAuth("script")
with httpx.Client(auth=auth, follow_redirects=True) as client:
    for url in sys.argv[1:]:
        answer = client.get(url)
        print(answer.status_code, answer.text)
""",
    "httpx in an event loop": """
import asyncio, httpx, sys
from einlass.httpx_auth import EinlassAuth
async def main():
    async with httpx.AsyncClient(auth=EinlassAuth("script"), follow_redirects=True) as client:
        for url in sys.argv[1:]:
            answer = await client.get(url)
            print(answer.status_code, answer.text)
asyncio.run(main())
""",
}


def requests(house, servers):
    return script(house, servers, "requests")


def httpx(house, servers):
    return script(house, servers, "httpx")


def script(house, servers, library):
    path = write(house, f"work/{library}.program", LIBRARIES[library])
    code, output, errors = python_line(house, servers, f"{sys.executable} {path} {servers.curl.address}/")
    return Ended(code, output + errors, output == "200 hello\n")


# Mail programs, at Dovecot.

def msmtp(house, servers, mechanism="oauthbearer"):
    mail = servers.mail
    write(house, ".msmtprc", recipe(
        "msmtp", ("host smtp.example.org\nport 465", f"host 127.0.0.1\nport {mail.smtp}\ntls_trust_file {mail.certificate}"),
        ("auth oauthbearer", "auth " + mechanism)))
    return sent(mail, "msmtp", lambda: house.run(
        "msmtp", "ada@example.org", input="From: grace@example.org\nTo: ada@example.org\n\nhello, msmtp\n", patience=HANGING))


def neomutt(house, servers):
    write_neomuttrc(house, servers.mail)
    return sent(servers.mail, "neomutt", lambda: house.run(
        "neomutt", "-n", "-s", "hello", "ada@example.org", input="hello, neomutt\n", patience=HANGING))


def sent(mail, name, run):
    before = len(mail.sent)
    code, output, errors = run()
    return Ended(code, output + errors, any("hello, " + name in message for message in mail.sent[before:]))


def write_neomuttrc(house, mail):
    write(house, ".config/neomutt/neomuttrc", recipe(
        "neomutt", ("ada@imap.example.org/", f"ada@127.0.0.1:{mail.imap}/"), ("ada@smtp.example.org/", f"ada@127.0.0.1:{mail.smtp}/"))
        + f"set certificate_file = {mail.certificate}\nset copy = no\nset sleep_time = 0\nset wait_key = no\n")


def mbsync(house, servers):
    mail = servers.mail
    shutil.rmtree(house.folder / ".mbsync", ignore_errors=True)
    write(house, ".mbsyncrc", recipe(
        "isync", ("Host imap.example.org", f"Host 127.0.0.1\nPort {mail.imap}\nCertificateFile {mail.certificate}"),
        ("~/Mail", "~/mbsync")))
    return received(empty(house, "mbsync"), lambda: house.run("mbsync", "-a", patience=HANGING))


def offlineimap(house, servers):
    mail = servers.mail
    shutil.rmtree(house.folder / ".offlineimap", ignore_errors=True)
    write(house, ".offlineimaprc", recipe(
        "offlineimap", ("remotehost = imap.example.org", f"remotehost = 127.0.0.1\nremoteport = {mail.imap}"),
        ("/etc/ssl/certs/ca-certificates.crt", mail.certificate), ("~/Mail", "~/offlineimap")))
    return received(empty(house, "offlineimap"), lambda: house.run("offlineimap", "-o", "-1", "-u", "basic", patience=HANGING))


def received(folder, run):
    code, output, errors = run()
    return Ended(code, output + errors, any("hello, ada" in path.read_text() for path in folder.rglob("*/new/*")))


def aerc(house, servers):
    write(house, ".config/aerc/accounts.conf", recipe("aerc", ("ada@imap.example.org", f"ada@127.0.0.1:{servers.mail.imap}")))
    with house.on_terminal("aerc", SSL_CERT_FILE=servers.mail.certificate) as terminal:
        while not re.search("hello|Disconnected", terminal.shown) and terminal._read(terminal.end_of_process):
            pass
        terminal.type(":quit\r")
        return Ended(terminal.end(), terminal.shown, "hello" in terminal.shown)


# A client of MCP.

@contextlib.contextmanager
def mcp_server(provider, registration):
    """Starts a server of fastmcp, which asks the sandbox about each token. Yields its address."""
    verifier = IntrospectionTokenVerifier(
        introspection_url=provider + "/oauth/introspect", client_id=registration["clientId"],
        client_secret=registration["clientSecret"])
    photos = FastMCP("photos", auth=verifier)

    @photos.tool
    def owner() -> str:
        return get_access_token().claims["username"]

    @photos.tool
    def place(name: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Place"})]) -> str:
        return name

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(photos.http_app(), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


class Headers(httpx2.Auth):
    """The headers of the helper. It runs for the first request and again after a 401."""

    def __init__(self, house, address):
        (line,) = commands("MCP clients", ("https://photos.example.com/mcp", address))
        self.house, self.command, self.headers = house, shlex.split(line), None
        self.runs, self.refused = 0, 0

    def run(self):
        self.runs += 1
        code, output, errors = self.house.run(*self.command)
        if code != 0:
            raise NoHeaders(output + errors)
        self.headers = json.loads(output)

    def auth_flow(self, request):
        if self.headers is None:
            self.run()
        request.headers.update(self.headers)
        response = yield request
        if response.status_code == 401:
            self.refused += 1
            self.run()
            request.headers.update(self.headers)
            yield request

    @property
    def token(self):
        return self.headers["Authorization"].removeprefix("Bearer ")


class NoHeaders(Exception):
    pass


def ask(address, headers, between=None):
    """Calls the tool of the server with a client of the mcp package, and again after `between`."""

    async def talk():
        async with httpx2.AsyncClient(auth=headers) as http, streamable_http_client(address, http_client=http) as (reading, writing):
            async with ClientSession(reading, writing) as session:
                await session.initialize()
                answer = await session.call_tool("owner", {})
                if between:
                    between()
                    answer = await session.call_tool("owner", {})
                return answer.content[0].text

    return asyncio.run(asyncio.wait_for(talk(), 30))


def mcp(house, servers):
    try:
        return Ended(0, "", ask(servers.mcp, Headers(house, servers.mcp)) == "ada")
    except Exception as failure:
        return Ended(1, repr(failure), False)
