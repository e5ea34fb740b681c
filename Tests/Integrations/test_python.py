"""The Python client: keyring with the backend, requests and httpx with the authenticators.

    python -m pytest Tests/Integrations/test_python.py
"""
import sys

import pytest

from house import open_gate
from programs import LIBRARIES, install_library


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return install_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def python(house, library):
    """Returns a function that runs a Python program in the house."""
    house.sign_in("gitlab")

    def run(*arguments, **more):
        return house.run(sys.executable, *arguments, env={"PYTHONPATH": library, "PYTHONDONTWRITEBYTECODE": "1"}, patience=60, **more)

    return run


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
    # A host alone may be asked for over plain http, so neither the host of a provider nor a service with a scheme has one.
    house.do("services", "add", "https://packages.example.com", "gitlab", "--yes")
    for service in (url.split("/")[2], "packages.example.com"):
        assert python("-m", "keyring", "get", service, "ada") == (1, "", "")
    assert python("-m", "keyring", "get", "https://packages.example.com/simple/", "ada")[0] == 0
    house.do("services", "add", "files.example.com", "gitlab", "--yes")
    for service in ("files.example.com", "https://files.example.com/simple/"):
        assert python("-m", "keyring", "get", service, "ada")[0] == 0
    code, output, errors = python("-c", "import keyring; keyring.set_password('a.example', 'ada', 'x')")
    assert code == 1


@pytest.mark.parametrize("library_name", sorted(LIBRARIES))
def test_a_revoked_token_is_replaced_once_and_a_redirect_carries_none(house, python, library_name):
    house.allow("script", "gitlab")
    program = house.folder / "work/program.py"
    program.write_text(LIBRARIES[library_name])
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
