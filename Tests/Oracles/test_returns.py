"""The ways in which a browser comes back: answers that end the sign-in, requests that do not, and many sign-ins at one
port.

    python -m pytest Tests/Oracles/test_returns.py
"""
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import browser
from browser import Chromium
from front_end import provider
from oracle import Server

pytestmark = pytest.mark.usefixtures("built")
FORM = "application/x-www-form-urlencoded"


class Issuer:
    """A token endpoint, and a page that answers in the response mode that it is asked for."""

    def __init__(self):
        self.codes = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_GET(self):
                asked = dict(parse_qs(urlsplit(self.path).query))
                answer = urlencode({"code": "C", "state": asked["state"][0], "submit": "x", "append": "y"})
                place = asked["redirect_uri"][0]
                if asked.get("response_mode") == ["form_post"]:
                    fields = "".join(f'<input name="{name}" value="{values[0]}">' for name, values in parse_qs(answer).items())
                    body = (f'<form method="post" action="{place}">{fields}</form>'
                            "<script>HTMLFormElement.prototype.submit.call(document.forms[0])</script>")
                    return self.answer(200, body, "text/html")
                mark = "#" if asked.get("response_mode") == ["fragment"] or "fragment" in asked else "?"
                self.answer(302, "", "text/html", place + mark + answer)

            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                issuer.codes.append(form["code"][0])
                self.answer(200, json.dumps({"access_token": "AT", "token_type": "Bearer"}), "application/json")

            def answer(self, status, body, content_type, location=None):
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                if location:
                    self.send_header("Location", location)
                self.end_headers()
                self.wfile.write(body.encode())

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def descriptor(self, *ports, **more):
        words = provider({"kind": "authorizationCode", "authorize": {"method": "GET", "url": self.base + "/authorize"},
                          "redirect": {"ports": ports, "path": "/callback"}, "issuer": self.base,
                          "token": {"method": "POST", "url": self.base + "/token"}, "clientAuthentication": "none",
                          **more}, None)
        words.pop("identity")
        return words


@pytest.fixture
def issuer():
    issuer = Issuer()
    yield issuer
    issuer.server.shutdown()
    issuer.server.server_close()


@pytest.fixture
def free_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        return other.getsockname()[1]


class Return:
    """The browser on its way back from a page."""

    def __init__(self, prompt):
        asked = {name: values[0] for name, values in parse_qs(urlsplit(prompt["url"]).query).items()}
        self.state = asked["state"]
        self.place = urlsplit(asked["redirect_uri"])

    def connection(self, target="", method="GET", body=b"", host=None, **headers):
        """Sends a request, whose target is the redirect address with this query, and returns its connection."""
        target = self.place.path + (f"?{target}" if target else "")
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.place.netloc}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        connection = socket.create_connection(("127.0.0.1", self.place.port), timeout=60)
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return connection

    def page(self, *arguments, **more):
        """Returns the status of the answer, and its page."""
        with self.connection(*arguments, **more) as connection:
            return received(connection)


def received(connection):
    data = b""
    while True:
        part = connection.recv(65536)
        data += part
        head, mark, body = data.partition(b"\r\n\r\n")
        length = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")]
        if not part or mark and len(body) >= int(length[0].split(b":")[1]):
            return int(head.split()[1]), body.decode()


def configured(start, issuer, *ports, options=(), **more):
    return start(issuer.descriptor(*ports, **more), {"clientId": "native"}, options=options)


# The answers of a provider to one sign-in, and the end of it: an account, or the reason of the error and its words.
ANSWERS = {
    "a code": ("code=C&state={state}", None, None),
    "its state twice": ("code=C&state={state}&state={state}", None, None),
    "an empty error": ("code=C&error=&error_description=&state={state}", None, None),
    "the issuer": ("code=C&state={state}&iss={issuer}", None, None),
    "the issuer with a slash more": (
        "code=C&state={state}&iss={issuer}/", "verificationFailed", "names the issuer {issuer}/ instead of {issuer}"),
    "two codes": ("code=C&code=D&state={state}", "providerFailure", "several different values of code"),
    "neither": ("state={state}", "providerFailure", "neither a code nor an error"),
    "both": ("code=C&error=x&state={state}", "providerFailure", "both a code and an error"),
    "a broken escape": ("code=C&state={state}&scope=%zz", "providerFailure", "cannot be decoded"),
    "a long query": ("code=C&state={state}&x=" + 16384 * "a", "providerFailure", "too long"),
    "an error": ("error=invalid_scope&state={state}", "providerFailure", "refused the sign-in"),
}


@pytest.mark.parametrize("words", ANSWERS)
def test_each_answer_with_the_state_of_the_sign_in_ends_it_at_once(start, issuer, words):
    query, reason, sentence = ANSWERS[words]
    front_end = configured(start, issuer)
    id, prompt = front_end.begin()
    back = Return(prompt)
    begun = time.monotonic()
    status, page = back.page(query.format(state=back.state, issuer=issuer.base))
    answer = front_end.answer(id)
    assert time.monotonic() - begun < 10 and status == 200
    if reason is None:
        assert answer.result["account"] and "Signed in" in page and issuer.codes == ["C"]
    else:
        assert answer.data["reason"] == reason and sentence.format(issuer=issuer.base) in answer.message
        assert "Sign-in failed" in page and "how to go on" in page and issuer.codes == []


# Requests that end no sign-in, the words of their page, and those of the error at the deadline.
REFUSED = {
    "an error without state": (
        {"target": "error=invalid_scope&error_description=Unknown"}, 400, "belong to the sign-in that is waiting", "had the error invalid_scope"),
    "an error with words": ({"target": "error=Call+0900"}, 400, "belong to the sign-in that is waiting", "did not have the state"),
    "another state": ({"target": "code=C&state=other"}, 400, "belong to the sign-in that is waiting", "did not have the state"),
    "two states": ({"target": "code=C&state={state}&state=other"}, 400, "belong to the sign-in that is waiting", "did not have the state"),
    "nothing": ({}, 400, "belong to the sign-in that is waiting", "came back without an answer"),
    "another host": ({"target": "code=C&state={state}", "host": "localhost:{port}"}, 421, "are two hosts", "are two hosts"),
    "another method": ({"target": "code=C&state={state}", "method": "PUT"}, 405, "another method", "another method"),
    "too many cookies": (
        {"target": "code=C&state={state}", "Cookie": 65536 * "a"}, 431, "cookies of other programs", "cookies of other programs"),
    "another form": (
        {"method": "POST", "body": b"{}", "Content_Type": "application/json", "Content_Length": 2}, 415, "another form",
        "another form"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_refused_request_gets_words_and_is_named_at_the_deadline(start, issuer, words):
    request, status, page, sentence = REFUSED[words]
    front_end = configured(start, issuer, options=("--test",))
    id, prompt = front_end.begin(deadlineSeconds=60)
    back = Return(prompt)
    filled = {name: value.format(state=back.state, port=back.place.port) if isinstance(value, str) else value
              for name, value in request.items()}
    got = back.page(**filled)
    assert got[0] == status and page in got[1]
    # A browser asks for the icon of the page that it shows.
    back.place = back.place._replace(path="/favicon.ico")
    assert back.page()[0] == 404
    front_end.call("test.advanceClock", seconds=61)
    answer = front_end.answer(id)
    assert answer.data["reason"] == "flowExpired" and sentence in answer.message, answer.message
    assert "The person" not in answer.message and "0900" not in answer.message


def test_without_a_refused_request_the_deadline_is_the_person_s(start, issuer):
    """The control."""
    front_end = configured(start, issuer, options=("--test",))
    id, _ = front_end.begin(deadlineSeconds=60)
    front_end.call("test.advanceClock", seconds=61)
    assert front_end.answer(id).message.startswith("The person did not answer in time")


def test_a_refused_request_does_not_hinder_the_answer(start, issuer):
    front_end = configured(start, issuer)
    id, prompt = front_end.begin()
    back = Return(prompt)
    answer = f"code=C&state={back.state}"
    assert back.page(answer, method="OPTIONS")[0] == 405
    assert back.page(answer, Sec_Purpose="prefetch")[0] == 503
    assert back.page("error=x")[0] == 400
    assert "Signed in" in back.page(answer, Cookie=20000 * "a")[1]
    front_end.end(id)


def test_a_browser_that_comes_back_several_times_signs_in_once(start, issuer):
    front_end = configured(start, issuer)
    id, prompt = front_end.begin()
    back = Return(prompt)
    answer = f"code=C&state={back.state}"
    connections = [back.connection(answer) for _ in range(3)]
    connections.append(back.connection(
        method="POST", body=answer.encode(), Content_Type=FORM, Content_Length=len(answer)))
    pages = [received(connection) for connection in connections]
    front_end.end(id)
    assert issuer.codes == ["C"]
    # A connection may have been accepted after the end of the sign-in.
    assert pages[0][0] == 200 and all("Signed in" in page for _, page in pages)


@pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))
@pytest.mark.parametrize("mode", ["form_post", "fragment"])
def test_a_real_browser_brings_the_answer_in_the_mode_of_the_descriptor(start, issuer, mode):
    front_end = configured(start, issuer, responseMode=mode)
    with Chromium() as chromium:
        id, prompt = front_end.begin()
        chromium.open(prompt["url"])
        front_end.end(id)
        assert "Signed in" in chromium.text() and "#" not in chromium.url
    assert issuer.codes == ["C"]


@pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))
def test_a_fragment_that_the_descriptor_does_not_name_is_not_read(start, issuer):
    front_end = configured(start, issuer, options=("--test",))
    with Chromium() as chromium:
        id, prompt = front_end.begin()
        chromium.open(prompt["url"] + "&fragment=1")
        assert "belong to the sign-in that is waiting" in chromium.text()
    front_end.call("test.advanceClock", seconds=301)
    assert "came back without an answer" in front_end.answer(id).message and issuer.codes == []


def test_two_providers_share_their_port(start, issuer, free_port):
    front_end = configured(start, issuer, free_port)
    front_end.call("providers.add", descriptor={**issuer.descriptor(free_port), "id": "other", "name": "Other"})
    front_end.call("providers.configure", provider="other", clientId="native")
    flows = [front_end.begin(provider) for provider in ("oracle", "other")]
    flows += [front_end.begin(page={"loginHint": f"person-{number}"}) for number in range(62)]
    returns = [Return(prompt) for _, prompt in flows]
    assert {back.place for back in returns} == {urlsplit(f"http://127.0.0.1:{free_port}/callback")}
    # Nobody knows whose answer it is.
    assert returns[0].page("error=access_denied")[0] == 400
    for number in reversed(range(64)):
        back = returns[number]
        assert "Signed in" in back.page(f"code={number}&state={back.state}")[1]
        front_end.answer(flows[number][0])
    assert issuer.codes == [str(number) for number in reversed(range(64))]
    with pytest.raises(ConnectionRefusedError):
        returns[0].page()


def test_another_process_waits_in_line_for_the_port(start, issuer, free_port):
    first, second = (configured(start, issuer, free_port) for _ in range(2))
    id, prompt = first.begin()
    waiting = second.send("accounts.signIn", provider="oracle")
    assert second.until("auth.progress")["stage"] == "awaitingPort"
    back = Return(prompt)
    back.page(f"code=C&state={back.state}")
    first.end(id)
    back = Return(second.until("prompt.opened"))
    assert back.place.port == free_port
    back.page(f"code=D&state={back.state}")
    second.end(waiting)
    assert issuer.codes == ["C", "D"]


def test_a_wait_for_the_port_of_another_sign_in_is_named_at_the_deadline(start, issuer, free_port):
    first, second = configured(start, issuer, free_port), configured(start, issuer, free_port, options=("--test",))
    id, _ = first.begin()
    waiting = second.send("accounts.signIn", provider="oracle", deadlineSeconds=10)
    assert second.until("auth.progress")["stage"] == "awaitingPort"
    second.call("test.advanceClock", seconds=11)
    answer = second.answer(waiting)
    assert answer.data["reason"] == "flowExpired" and answer.data["retryable"]
    assert f"a sign-in of another program uses port {free_port}" in answer.message
    first.write({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})
    first.answer(id)


@pytest.mark.parametrize("answers", [True, False])
def test_a_port_of_another_program_is_named_within_seconds(start, issuer, answers):
    """`answers`: the program speaks HTTP."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = issuer.server.server_address[1] if answers else taken.getsockname()[1]
        front_end = configured(start, issuer, port)
        begun = time.monotonic()
        answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", deadlineSeconds=60))
        assert time.monotonic() - begun < 10
    assert answer.data["reason"] == "flowNotSupported" and answer.data["retryable"] is True
    assert f"other programs use port {port}" in answer.message


def test_only_the_port_of_the_registration_is_used(start, issuer, free_port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        registered = {"clientId": "native", "redirect": f"http://127.0.0.1:{port}/callback"}
        front_end = start(issuer.descriptor(port, free_port), registered)
        answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle"))
        assert f"port {port}" in answer.message and str(free_port) not in answer.message
        # The control: the provider's steps name both ports.
        front_end = start(issuer.descriptor(port, free_port), {"clientId": "native"})
        id, prompt = front_end.begin()
        back = Return(prompt)
        assert back.place.port == free_port
        back.page(f"code=C&state={back.state}")
        front_end.end(id)
