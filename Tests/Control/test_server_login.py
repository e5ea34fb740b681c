"""`einlassctl sign-in` at a server of the person's own with a self-signed certificate: Flask-Security over TLS.

    python -m pytest Tests/Control/test_server_login.py
"""
import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import threading

import pytest

from control import CONTROL, EINLASS, PROJECT
from terminal import Terminal

sys.path.append(str(PROJECT / "Tests/Oracles"))
from nginx import Authority  # noqa: E402
from servers import running  # noqa: E402
from test_server_trust import key_of  # noqa: E402


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates")).client("own", is_self_signed=True)


@pytest.fixture(scope="module")
def server(certificate):
    with running("session_server.py", "--tls", str(certificate.path), str(certificate.key)) as ready:
        yield ready


def place_of(server):
    """The host and the port of a server, as the subject of an account names them."""
    return server["base"].partition("://")[2]


@pytest.fixture
def start(tmp_path):
    """Returns a function that runs einlassctl on a terminal, or with an input in place of it."""
    (tmp_path / "home").mkdir(mode=0o700)
    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "DISPLAY": "",
            "WAYLAND_DISPLAY": "", "NO_COLOR": "1"}

    def start(*arguments, given=None):
        command = [CONTROL, *arguments, "--einlass", EINLASS]
        if given is None:
            return Terminal(command, **home)
        return subprocess.run(command, input=given, text=True, capture_output=True, env=os.environ | home,
                              start_new_session=True)

    return start


def test_a_self_signed_certificate_is_asked_about_once_and_the_password_once(server, certificate, start):
    place = ("--server", server["base"], "--username", "alice")
    with start("sign-in", "fcsdk", *place) as terminal:
        terminal.wait_for("Trust this key")
        assert key_of(certificate) in terminal.shown and "Password" not in terminal.shown
        assert "is certified by nobody but itself" in terminal.shown
        terminal.type("2\r")
        terminal.wait_for("Password:")
        terminal.type(server["password"] + "\r")
        assert terminal.end() == 0 and f"Signed in: fcsdk/alice@{place_of(server)}." in terminal.shown
    assert start("access", "set", "einlassctl", "fcsdk", "granted", given="").returncode == 0
    for _ in range(2):
        with start("token", "fcsdk") as terminal:
            assert terminal.end() == 0 and len(terminal.shown.strip()) == 32, terminal.shown
    session = json.loads(start("token", "fcsdk", "--json", given="").stdout)
    assert session["type"] == "session" and session["values"]["voiceUser"] == "alice"
    # A header needs a token.
    assert start("token", "fcsdk", "--header", given="").returncode == 1
    # The next sign-in asks for the password alone.
    with start("sign-in", "fcsdk", *place) as terminal:
        terminal.wait_for("Password:")
        assert "Trust" not in terminal.shown
        terminal.type(server["password"] + "\r")
        assert terminal.end() == 0 and f"Signed in again: fcsdk/alice@{place_of(server)}." in terminal.shown


def test_the_first_choice_sends_nothing(server, start):
    with start("sign-in", "fcsdk", "--server", server["base"], "--username", "alice") as terminal:
        terminal.wait_for("> 1  Send nothing")
        terminal.type("\r")
        assert terminal.end() == 1 and "Password" not in terminal.shown


def test_a_script_names_the_key_or_the_authority(server, certificate, start):
    command = ("sign-in", "fcsdk", "--server", server["base"], "--username", "alice", "--password-fd", "0")
    refused = start(*command, given=server["password"])
    assert refused.returncode == 1 and "--trusted-key" in refused.stderr and "--ca-file" in refused.stderr
    for option in (("--trusted-key", key_of(certificate)), ("--ca-file", str(certificate.path))):
        signed_in = start(*command, *option, given=server["password"])
        assert signed_in.returncode == 0 and f"fcsdk/alice@{place_of(server)}." in signed_in.stdout, signed_in.stderr
    # The authority takes the place of the accepted key, and this one has not signed the certificate.
    other = Authority(certificate.path.parent, "unrelated").client("unrelated", is_self_signed=True)
    refused = start(*command, "--ca-file", str(other.path), given=server["password"])
    assert refused.returncode == 1 and "certificate" in refused.stderr
    wrong = "sha256//" + "A" * 43 + "="
    refused = start(*command, "--trusted-key", wrong, given=server["password"])
    assert refused.returncode == 1 and "another public key than the named one" in refused.stderr


def test_plain_http_needs_its_own_option(start):
    with running("session_server.py") as ready:
        place = ready["base"].replace("127.0.0.1", "localhost")
        command = ("sign-in", "fcsdk", "--server", place, "--username", "alice")
        refused = start(*command, given="")
        assert refused.returncode == 1 and "plain http" in refused.stderr
        with start(*command, "--plain-http") as terminal:
            terminal.wait_for("Password:")
            assert f"Log in at “{place}” as “alice”." in terminal.shown
            assert "Others on the way to this server can read the password." in terminal.shown
            terminal.type(ready["password"] + "\r")
            assert terminal.end() == 0


def test_doctor_knows_the_servers_of_accounts(certificate, start):
    other = Authority(certificate.path.parent, "another").client("another server", is_self_signed=True)
    with running("session_server.py", "--tls", str(certificate.path), str(certificate.key)) as ready:
        port = int(ready["base"].rpartition(":")[2])
        signed_in = start("sign-in", "fcsdk", "--server", ready["base"], "--username", "alice", "--password-fd", "0",
                          "--trusted-key", key_of(certificate), given=ready["password"])
        assert signed_in.returncode == 0, signed_in.stderr
        well = start("doctor", given="")
        assert well.returncode == 0 and f"server of fcsdk/alice@{place_of(ready)}: {ready['base']} answers" in well.stdout
    gone = start("doctor", given="")
    assert gone.returncode == 1 and f"server of fcsdk/alice@127.0.0.1:{port}: 127.0.0.1 does not accept connections" in gone.stdout
    with socket.create_server(("127.0.0.1", port)) as listener:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(other.path, other.key)

        def present():
            for _ in range(2):
                with contextlib.suppress(OSError):
                    context.wrap_socket(listener.accept()[0], server_side=True).close()

        threading.Thread(target=present, daemon=True).start()
        changed = start("doctor", given="")
    assert changed.returncode == 1 and "or another key than before" in changed.stdout
    assert f"next: Sign in again to see its key: einlassctl sign-in --account fcsdk/alice@127.0.0.1:{port}" in changed.stdout
