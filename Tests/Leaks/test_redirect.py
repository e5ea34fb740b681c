"""Another user's access to the port of the redirect listener."""
import socket
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from session import PATIENCE, Session
from somebody import IS_ROOT, NOBODY, OTHER, as_user, owned_by

pytestmark = pytest.mark.skipif(not IS_ROOT, reason="needs root, to be two users")


@pytest.fixture
def session(place):
    session = Session("--store", "memory", program=(place.einlass,), **owned_by(NOBODY))
    session.call("initialize", client={"name": "leaks"}, capabilities={"prompts": ["openURL"]})
    yield session
    session.process.kill()
    session.wait()


def descriptor(*ports):
    """Returns a descriptor with these ports for the redirect, or with any port."""
    place = "https://provider.example"
    return {"id": "somewhere", "name": "Somewhere", "accounts": "many", "registration": ["clientId"],
            "setup": {"documentation": place},
            "flows": [{"kind": "authorizationCode", "clientAuthentication": "none",
                       "authorize": {"method": "GET", "url": f"{place}/authorize"},
                       "token": {"method": "POST", "url": f"{place}/token"}, "redirect": {"ports": ports}}]}


def configured(session, *ports):
    session.call("providers.add", descriptor=descriptor(*ports))
    assert session.call("providers.configure", provider="somewhere", clientId="APP")["configured"]


def bound(port, *options):
    """Whether the port can be bound with these socket options."""
    with socket.socket() as other:
        for option in options:
            other.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            other.bind(("127.0.0.1", port))
            other.listen()
            return True
        except OSError:
            return False


def test_another_user_neither_ends_a_sign_in_nor_takes_its_port(session):
    configured(session)
    url = session.asked("accounts.signIn", provider="somewhere")["url"]
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    place = urlsplit(asked["redirect_uri"])
    port = place.port

    def come_back(**answer):
        with socket.socket() as browser:
            browser.settimeout(PATIENCE)
            browser.connect(("127.0.0.1", port))
            browser.send(f"GET {place.path}?{urlencode(answer)} HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            return int(browser.recv(4096).split()[1])

    def others():
        return [come_back(code="evil", state="guessed"), come_back(code="evil"), come_back(error="access_denied"),
                bound(port), bound(port, socket.SO_REUSEADDR, socket.SO_REUSEPORT)]

    assert as_user(OTHER, others) == [400, 400, 400, False, False]
    assert session.messages.empty()
    # The control: a request with the right state ends the sign-in, and then the port is free.
    assert come_back(error="access_denied", state=asked["state"]) == 200
    while "error" not in (message := session.arrived()):
        pass
    assert message["error"]["data"]["reason"] == "accessDenied"
    assert as_user(OTHER, lambda: bound(port, socket.SO_REUSEADDR))


def test_a_port_of_another_user_is_not_used(session):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        configured(session, port)
        session.send("accounts.signIn", {"provider": "somewhere"})
        while "id" not in (message := session.arrived()):
            assert message["method"] != "prompt.opened"
        error = message["error"]
        assert error["data"]["reason"] == "flowNotSupported"
        assert f"other programs use port {port}" in error["message"], error["message"]
    # The control: the port is free again.
    url = session.asked("accounts.signIn", provider="somewhere")["url"]
    assert f"127.0.0.1%3A{port}%2F" in url
