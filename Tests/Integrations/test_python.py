"""Python programs: keyring, pip, uv and twine with the backend, requests and httpx with the authenticators.

    python -m pytest Tests/Integrations/test_python.py
"""
import functools
import hashlib
import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from house import PROJECT, open_gate
from recipes import commands, filled


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The Python client, installed with its entry points."""
    folder = tmp_path_factory.mktemp("library")
    # A copy, because the build writes beside its sources.
    source = shutil.copytree(PROJECT / "clients/python", tmp_path_factory.mktemp("source") / "python")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check",
                           "--target", folder, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(folder)


@pytest.fixture
def python(house, library):
    """Returns a function that runs a Python program in the house."""
    house.sign_in("gitlab")

    def run(*arguments, **more):
        return house.run(sys.executable, *arguments, env={"PYTHONPATH": library, "PYTHONDONTWRITEBYTECODE": "1"}, patience=60, **more)

    return run


@functools.cache  # because its bytes have the time in them
def wheel(name):
    """Returns a small wheel."""
    content = io.BytesIO()
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return content.getvalue()


def index(request, body):
    """A package index (PEP 503) with one package."""
    content = wheel("abc")
    if request.path == "/simple/abc/":
        link = f'<a href="/files/abc-1.0-py3-none-any.whl#sha256={hashlib.sha256(content).hexdigest()}">abc-1.0-py3-none-any.whl</a>'
        return 200, {"Content-Type": "text/html"}, link.encode()
    return (200, {}, content) if request.path.endswith(".whl") else (404, {}, b"")


def test_keyring_gets_a_token_and_stores_no_password(house, python):
    url = house.origin("gitlab") + "/simple/"
    code, output, errors = python("-m", "keyring", "get", url, "ada")
    assert (code, output) == (1, "") and errors.startswith("einlass: ") and "access" in errors
    house.allow("keyring", "gitlab")
    code, output, errors = python("-m", "keyring", "get", url, "ada")
    assert code == 0 and output.strip() == house.do("token", "gitlab", "--for", "keyring").strip(), errors
    code, output, errors = python("-m", "keyring", "--mode", "creds", "get", url)
    assert code == 0 and output.splitlines()[0] == "oauth2"
    assert python("-m", "keyring", "get", url, "nobody")[:2] == (1, "")
    # Another backend may have these, so nothing is said about them.
    for service, name in (("https://example.com", "ada"), ("system", "ada")):
        assert python("-m", "keyring", "get", service, name) == (1, "", "")
    code, output, errors = python("-c", "import keyring; keyring.set_password('a.example', 'ada', 'x')")
    assert code == 1


PACKAGES = "packages.example.com"


@pytest.fixture
def packages(house):
    """A package index for gitlab's accounts, which is a service. It keeps what is uploaded."""
    def answer(request, body):
        if request.command == "POST":
            uploads.append(body)
            return 200, {}, b""
        return index(request, body)

    uploads = []
    with open_gate(house.origin("gitlab") + "/api/v4/user", answer) as gate:
        house.do("services", "add", gate.address, "gitlab", "--yes")
        gate.uploads = uploads
        yield gate


@pytest.fixture
def shell(house, library):
    """Returns a function that runs a command line with the programs of this Python on the PATH."""
    house.sign_in("gitlab")
    programs = f"{Path(sys.executable).parent}:{house.environment['PATH']}"
    environment = {"PATH": programs, "PYTHONPATH": library, "PYTHONDONTWRITEBYTECODE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                   "PIP_NO_INPUT": "1", "PIP_TARGET": str(house.folder / "work/target")}
    return lambda line: house.run("sh", "-c", line, env=environment, patience=60)


@pytest.mark.parametrize("lines, installed", [
    pytest.param(commands("pip"), "target/abc.py", id="pip"),
    pytest.param(commands("uv"), ".venv/lib/*/site-packages/abc.py", id="uv")])
def test_a_package_of_a_private_index_is_installed(house, shell, packages, lines, installed):
    line = filled(lines[-1], [("https://oauth2@" + PACKAGES, packages.address.replace("//", "//oauth2@"))])
    assert shell(f"uv venv -q --python {sys.executable}")[0] == 0
    assert shell(line)[0] != 0 and packages.schemes == []
    house.allow("keyring", "gitlab")
    code, output, errors = shell(line)
    assert code == 0, errors
    assert list((house.folder / "work").glob(installed))
    assert "basic" in packages.schemes


def test_twine_uploads_a_package(house, shell, packages):
    (line,) = commands("twine", ("https://" + PACKAGES, packages.address))
    (house.folder / "work/dist").mkdir()
    (house.folder / "work/dist/abc-1.0-py3-none-any.whl").write_bytes(wheel("abc"))
    assert shell(line)[0] != 0 and packages.uploads == []
    house.allow("keyring", "gitlab")
    code, output, errors = shell(line)
    assert code == 0, output + errors
    assert len(packages.uploads) == 1 and wheel("abc") in packages.uploads[0]


PROGRAMS = {
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


@pytest.mark.parametrize("library_name", sorted(PROGRAMS))
def test_a_revoked_token_is_replaced_once_and_a_redirect_carries_none(house, python, library_name):
    house.allow("script", "gitlab")
    program = house.folder / "work/program.py"
    program.write_text(PROGRAMS[library_name])
    token = house.do("token", "gitlab", "--for", "script").strip()
    house.change({"gitlab": {"tokens": {token: None}}})

    def hello(request, body):
        if request.path == "/elsewhere":
            return 302, {"Location": other.address.replace("127.0.0.1", "localhost") + "/"}, b""
        return 200, {}, b"hello"

    userinfo = house.origin("gitlab") + "/api/v4/user"
    with open_gate(userinfo, hello) as gate, open_gate(userinfo, hello) as other:
        house.do("services", "add", gate.address, "gitlab", "--yes")
        code, output, errors = python(str(program), gate.address + "/?a=b#c", gate.address + "/elsewhere")
        assert code == 0, errors
        assert output.splitlines() == ["200 hello", "401 "]
        assert gate.refused == 1 and gate.schemes == ["bearer", "bearer"]
        assert [header for _, _, header in other.seen] == [None]
        code, output, errors = python(str(program), "https://example.com/")
        assert code == 1 and "unsafeURL" in errors
        house.change({"gitlab": {"tokens": None}})


def test_the_working_folder_selects_the_account_of_a_python_program(house, python):
    house.sign_in("gitlab", user="grace")
    house.allow("script", "gitlab")
    program = "import sys; from einlass.tokens import TokenSource; print(TokenSource('script').token(sys.argv[1]).text)"
    address = house.origin("gitlab") + "/api/v4/user"
    assert python("-c", program, address)[0] == 1
    work = house.folder / "work"
    house.do("accounts", "prefer", "gitlab/grace", "--in", str(work))
    code, output, errors = python("-c", program, address)
    assert code == 0 and output.strip() == house.do("token", "gitlab/grace", "--for", "script").strip(), errors
