"""`TokenSource`, and the libraries that send its tokens, against a fake server and a service on this machine."""

import asyncio
import http.server
import io
import os
import signal
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import requests

from einlass import Client, EinlassError, ServerGone
from einlass import httpx_auth, keyring_backend, mcp_bridge, requests_auth, slow_answer, tokens
from einlass.keyring_backend import EinlassKeyring
from einlass.tokens import Token, TokenSource

FAKE = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
ADDRESS = "https://api.example.com/user"


@pytest.fixture
def started(monkeypatch):
    """The clients that were started."""
    made = []

    class Counted(Client):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            made.append(self)

    monkeypatch.setattr(tokens, "Client", Counted)
    yield made
    for client in made:
        client.close()


def kill(client):
    os.kill(client.process.pid, signal.SIGKILL)
    client.process.wait()


def test_an_einlass_that_was_killed_is_started_anew(started):
    with TokenSource("script", FAKE) as source:
        for number in range(3):
            assert source.token(ADDRESS).text == "token of a_1"
            kill(started[number])
        source.reject(Token("token of a_1", "a_1", None, None, None))
        assert source.token(ADDRESS).text == "token of a_1"
    assert len(started) == 4 and all(client.process.returncode is not None for client in started)


def test_an_einlass_that_ends_each_time_is_started_anew_once(started):
    with TokenSource("script", FAKE) as source:
        with pytest.raises(ServerGone):
            source._request("die", {}, 20)
        assert len(started) == 2
        assert source.token(ADDRESS).text == "token of a_1"


@pytest.mark.parametrize("command, timeout, reason", [
    (["/bin/cat"], 0.2, "timeout"), (["/bin/true"], 20, "serverGone")])
def test_a_program_that_is_no_einlass_is_an_error_and_is_closed(started, command, timeout, reason):
    with TokenSource("script", command) as source, pytest.raises(EinlassError) as caught:
        source.token(ADDRESS, timeout=timeout)
    assert caught.value.reason == reason
    assert started and all(client.process.returncode is not None for client in started)
    assert reason != "timeout" or "/bin/cat did not answer" in caught.value.message


def test_requests_that_wait_for_one_start_fail_with_it(started):
    with TokenSource("script", ["/bin/cat"]) as source:
        first = threading.Thread(target=lambda: pytest.raises(EinlassError, source.token, ADDRESS, timeout=2))
        first.start()
        while not started:
            time.sleep(0.01)
        with pytest.raises(EinlassError, match="did not answer within 2 s"):
            source.token(ADDRESS, timeout=20)
        first.join()
        assert len(started) == 1
        with pytest.raises(EinlassError, match="did not answer within 0.2 s"):  # a later request tries again
            source.token(ADDRESS, timeout=0.2)


def test_keyring_repeats_the_line_of_a_late_failure(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("EINLASS", "/bin/cat")
    for name, seconds in (("USUAL_SECONDS", 0.5), ("SHORT_SECONDS", 0.1), ("SLOW_SECONDS", 0.3)):
        monkeypatch.setattr(slow_answer, name, seconds)
    (tmp_path / "einlass").mkdir()
    for _ in range(3):
        assert EinlassKeyring().get_password(ADDRESS, "ada") is None
        assert capsys.readouterr().err.startswith("einlass: /bin/cat did not answer within 0.5 s.")
    slow_answer.note("The store is locked.")  # as einlassctl does
    assert EinlassKeyring().get_password(ADDRESS, "ada") is None and slow_answer.former() == "The store is locked."
    assert capsys.readouterr().err == "einlass: The store is locked.\n"


@pytest.mark.parametrize("host, given, username", [
    ("as-any", None, "oauth2"), ("as-any", "oauth2", "oauth2"), ("as-any", "org", "org"), ("as-bot", "bot", "bot"),
    ("as-bot", None, "bot"), ("as-bot", "org", None)])
def test_a_user_name_that_the_service_takes_names_no_account(monkeypatch, started, host, given, username):
    monkeypatch.setattr(keyring_backend, "TokenSource", lambda application: TokenSource(application, FAKE))
    found = EinlassKeyring().get_credential(f"https://{host}.example.com/simple/", given)
    assert (found and (found.username, found.password)) == (username and (username, "token of a_1"))


# The einlass that the requests of the bridge share

@pytest.fixture
def accounts(started):
    made = mcp_bridge.Accounts(mcp_bridge.parse([ADDRESS]))
    made._command = FAKE
    yield made
    made.close()


def test_an_error_takes_einlass_from_no_other_request(started, accounts):
    begun = threading.Event()
    results = []

    def other():
        try:
            accounts._request("hang", {}, 20)
        except EinlassError as error:
            results.append(error.reason)

    accounts.warm_up()
    started[0].on("hanging", lambda _: begun.set())
    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(20)
    for account in ("nobody", "banned", "nobody"):
        accounts.options.account = account
        with pytest.raises(EinlassError):
            accounts.token(ADDRESS)
    accounts.options.account = None
    assert accounts.token(ADDRESS).text == "token of a_1"
    assert len(started) == 1 and not results
    started[0].notify("$/cancelRequest", {"id": 3})  # after initialize and accounts.list
    thread.join(20)
    assert results == ["cancelled"]
    # The sign-in may have been meanwhile.
    assert accounts.token(ADDRESS).text == "token of a_1"
    assert len(started) == 2 and started[0].process.returncode == 0


def test_an_error_that_no_sign_in_mends_keeps_einlass(started, accounts):
    accounts.options.account = "banned"
    for _ in range(2):
        with pytest.raises(EinlassError):
            accounts.token(ADDRESS)
    assert len(started) == 1


def test_a_client_of_mcp_is_told_of_no_log_lines(accounts):
    accounts._command = ["/bin/true"]
    with pytest.raises(EinlassError) as caught:
        accounts.token(ADDRESS)
    assert caught.value.reason == "serverGone"
    assert "log lines" not in caught.value.message and "einlassctl doctor" in caught.value.message


# The second request after a 401

class Source:
    """Gives the token `old`, and `new` after that was refused."""

    text = "old"

    def token(self, address, account=None, timeout=9):
        return Token(self.text, "a_1", None, None, None)

    def replaced(self, address, refused, timeout=9):
        self.text = "new"
        return self.token(address)


@pytest.fixture
def service():
    """A server that refuses the token `old` after it has read the body, and its list of the tokens and bodies."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            if "Content-Length" in self.headers:
                body = self.rfile.read(int(self.headers["Content-Length"]))
            else:
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            token = self.headers["Authorization"].split()[1]
            seen.append((token, body))
            self.send_response(200 if token == "new" else 401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", seen
        server.shutdown()
        thread.join()


def with_requests(address, source, body):
    with requests.Session() as session:
        return session.post(address, **body("data"), auth=requests_auth.EinlassAuth("script", source)).status_code


def with_httpx(address, source, body):
    with httpx.Client(auth=httpx_auth.EinlassAuth("script", source)) as client:
        return client.post(address, **body("content")).status_code


def with_httpx_in_an_event_loop(address, source, body):
    async def send():
        async with httpx.AsyncClient(auth=httpx_auth.EinlassAuth("script", source)) as client:
            return (await client.post(address, **body("content"))).status_code

    return asyncio.run(send())


def file_at_5():
    file = io.BytesIO(b"0123456789")
    file.seek(5)
    return file


class Pipe(io.BytesIO):
    """A file that can be read only once."""

    def seekable(self):
        return False

    def tell(self, *_):
        raise io.UnsupportedOperation

    seek = tell


async def asynchronously():
    yield b"0123456789"


BOTH = [with_requests, with_httpx]


@pytest.mark.parametrize("send, make", [
    *((send, make) for send in BOTH for make in (lambda: b"56789", file_at_5)),
    (with_httpx_in_an_event_loop, lambda: b"56789")])
def test_a_body_that_can_be_sent_again_is_sent_again_as_it_was(service, send, make):
    address, seen = service
    # httpx counts the file from its start.
    headers = {"headers": {"Content-Length": "5"}} if send is with_httpx else {}
    assert send(address, Source(), lambda name: {name: make(), **headers}) == 200
    assert seen == [("old", b"56789"), ("new", b"56789")]


@pytest.mark.parametrize("send, make", [
    *((send, make) for send in BOTH for make in (
        lambda: (part for part in [b"01234", b"56789"]), lambda: iter([b"0123456789"]), lambda: Pipe(b"0123456789"))),
    (with_httpx_in_an_event_loop, asynchronously)])
def test_a_body_that_can_be_read_once_is_sent_once_and_the_next_request_has_the_new_token(service, send, make):
    address, seen = service
    source = Source()
    assert send(address, source, lambda name: {name: make()}) == 401
    assert send(address, source, lambda name: {name: make()}) == 200
    assert seen == [("old", b"0123456789"), ("new", b"0123456789")]


@pytest.mark.parametrize("send", BOTH)
def test_a_form_with_a_file_is_sent_again(service, send):
    address, seen = service
    assert send(address, Source(), lambda name: {"files": {"photo": io.BytesIO(b"0123456789")}, "data": {"a": "b"}}) == 200
    (_, first), (_, second) = seen
    assert first == second and b"0123456789" in first


def test_a_form_with_a_pipe_is_sent_once(service):
    address, seen = service
    assert with_httpx(address, Source(), lambda name: {"files": {"photo": Pipe(b"0123456789")}}) == 401
    assert len(seen) == 1
