"""Logins with a user name and a password at a server of the person's own, with Flask-Security as the server.

    python -m pytest Tests/Oracles/test_password_session.py
"""
import contextlib
import json
import os
import ssl
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler

import pytest

from front_end import gathered
from nginx import Authority
from oracle import Server
from servers import running, tell
from session import request_of
from session_server import PASSWORD, WIRE

pytestmark = pytest.mark.usefixtures("built")

AT, ACCEPT = "https://server.invalid", {"Accept": "application/json"}
LOGIN = {"method": "POST", "url": AT, "path": "/login", "json": {"username": "{username}", "password": "{password}"}}
WRONG_CREDENTIALS, NETWORK_FAILURE, PROVIDER_FAILURE = 1016, 1007, 1008
COOKIE_LIMIT = 50  # of one answer



# ---- Descriptors

def words(flow, rules=(), **more):
    """Returns a descriptor with one flow, at servers that the sign-in names."""
    return {"id": "oracle", "name": "Oracle", "accounts": "many", "registration": [],
            "setup": {"documentation": "https://example.com/"}, "flows": [{"kind": "passwordSession", **flow}],
            "errors": {"shapes": [], "rules": list(rules)}, **more}


RULES = [{"step": "sessionCheck", "status": 401, "outcome": "relogin"}]


def cookie_session(csrf=False):
    """Returns the descriptor of a session in cookies."""
    proof = {"X-CSRF-Token": "{csrf}"} if csrf else {}
    flow = {"login": {**LOGIN, "headers": {**ACCEPT, **proof}}, "session": {}, "cookies": "always",
            "check": {"method": "GET", "url": AT + "/me", "headers": ACCEPT}}
    if csrf:
        request = {"method": "GET", "url": AT + "/login", "headers": {**ACCEPT, "Content-Type": "application/json"}}
        flow["antiForgery"] = {"request": request, "token": "/response/csrf_token"}
    logout = {"method": "POST", "url": AT, "path": "/logout", "headers": {**ACCEPT, **proof}, "json": None}
    return words(flow, [{"step": "login", "status": 400, "outcome": "wrongCredentials"}, *RULES], revoke=logout)


def header_session():
    """Returns the descriptor of a session that a header names."""
    flow = {"login": {**LOGIN, "path": WIRE},
            "session": {"id": "/sessionid", "values": {"user": "/voiceUser", "domain": "/voiceDomain"}},
            "check": {"method": "GET", "url": AT + WIRE, "headers": {"X-Session": "{token}"}}}
    return words(flow, [{"step": "login", "status": 401, "outcome": "wrongCredentials"}, *RULES],
                 revoke={"method": "DELETE", "url": AT + WIRE + "/id", "path": "/{token}"})


# ---- The server

class Watch:
    """A server, and its log since the beginning of the test."""

    def __init__(self, ready, context=None):
        self.base, self.password, self.context, self.ready = ready["base"], ready["password"], context, ready
        self.before = 0
        self.before = len(self.entries())

    def status(self, path, headers=(), body=None):
        """Returns the status and the body of an answer to a request of the test itself."""
        request = urllib.request.Request(self.base + path, body, dict(headers))
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as failure:
            with failure:
                return failure.code, failure.read()

    def entries(self):
        return json.loads(self.status("/__log")[1])[self.before:]

    def requests(self):
        return [(entry["method"], entry["path"], entry["status"]) for entry in self.entries()]

    def logins(self):
        return [entry for entry in self.entries() if entry["method"] == "POST" and entry["path"] in ("/login", WIRE)]

    def knows(self, credential):
        """Whether the server accepts the session of a credential."""
        if "sessionId" in credential:
            return self.status(WIRE, {"X-Session": credential["sessionId"]})[0] == 200
        fields = [line.split("\t") for line in credential["cookies"].split("\n")]
        cookies = "; ".join(f"{field[5]}={field[6]}" for field in fields)
        return self.status("/me", {**ACCEPT, "Cookie": cookies})[0] == 200


@pytest.fixture(scope="module")
def plain_server():
    with running("session_server.py") as ready:
        yield ready


@pytest.fixture(scope="module")
def careful_server():
    with running("session_server.py", "--csrf") as ready:
        yield ready


@pytest.fixture
def plain(plain_server):
    """A server without a protection against forged requests."""
    return Watch(plain_server)


@pytest.fixture
def careful(careful_server):
    """A server that requires its token against forged requests."""
    return Watch(careful_server)


# ---- The front end

def opened(start, descriptor, *options, kinds=("enterPassword",), **more):
    return start(descriptor, None, kinds=kinds, options=options, **more)


def attempt(front_end, *entries, **params):
    """Signs in, answers each prompt with the next entry, and returns the answer and the prompts."""
    id, prompts = front_end.send("accounts.signIn", **{"provider": "oracle", **gathered(params)}), []
    while True:
        message = front_end.message()
        if not isinstance(message, dict):
            if message.id == id:
                return message, prompts
        elif message["method"] == "prompt.opened":
            entry = entries[len(prompts)]
            choice = {"action": "accept", "password": entry} if isinstance(entry, str) else entry
            prompts.append(message["params"])
            front_end.send("prompt.answer", prompt=prompts[-1]["prompt"], **choice)


def signed_in(front_end, watch, username="alice", **params):
    """Signs in with the right password, and returns the account."""
    place = {} if "account" in params else {"host": watch.base}
    answer, prompts = attempt(front_end, watch.password, username=username, **place, **params)
    assert not hasattr(answer, "code"), answer
    assert len(prompts) == 1
    front_end.call("access.set", provider="oracle", state="granted")
    return answer.result["account"]


def credential(front_end, account):
    return front_end.call("credentials.get", account=account)["credential"]


def accounts(front_end):
    return front_end.call("accounts.list")["accounts"]


def failure(answer):
    """Returns the code of a failed sign-in. It names no secret of the person."""
    assert hasattr(answer, "code"), answer
    assert "correct horse" not in json.dumps([answer.message, answer.data])
    return answer.code


# ---- Sign-ins

def test_a_sign_in_with_a_token_against_forged_requests_stores_a_session_of_cookies(careful, start):
    front_end = opened(start, cookie_session(csrf=True))
    answer, prompts = attempt(front_end, careful.password, host=careful.base, username="alice")
    assert answer.result["created"] is True
    host = careful.base.removeprefix("http://")
    assert {name: prompts[0].get(name) for name in ("kind", "server", "host", "username", "again")} == {
        "kind": "enterPassword", "server": careful.base, "host": "127.0.0.1", "username": "alice", "again": None}
    account = answer.result["account"]
    assert [(entry["account"], entry["username"], entry["health"]) for entry in accounts(front_end)] == [
        (account, "alice", "ok")]
    front_end.call("access.set", provider="oracle", state="granted")
    stored = credential(front_end, account)
    assert stored.pop("cookies").count("session_") == 1
    assert stored == {"type": "session", "id": f"alice@{host}", "username": "alice", "values": {}}
    assert careful.requests() == [("GET", "/login", 200), ("POST", "/login", 200), ("GET", "/me", 200)]
    # The token belongs to the cookie of its answer.
    assert [len(entry["cookies"]) for entry in careful.entries()] == [0, 1, 1]
    # The control: the server refuses the right password without the token.
    body = json.dumps({"username": "alice", "password": careful.password}).encode()
    assert careful.status("/login", {**ACCEPT, "Content-Type": "application/json"}, body)[0] == 400


def test_a_session_of_cookies_is_accepted_by_the_server(plain, start):
    front_end = opened(start, cookie_session())
    stored = credential(front_end, signed_in(front_end, plain))
    assert plain.requests() == [("POST", "/login", 200), ("GET", "/me", 200)]
    assert plain.knows(stored)
    # The control: the server does not accept another cookie.
    assert not plain.knows({"cookies": stored["cookies"] + "x"})


def test_a_session_with_an_id_has_the_values_of_the_descriptor(plain, start):
    front_end = opened(start, header_session())
    stored = credential(front_end, signed_in(front_end, plain))
    assert set(stored) == {"type", "id", "username", "values", "sessionId"}
    assert stored["values"] == {"user": "alice", "domain": "voice.example.test"}
    assert plain.requests() == [("POST", WIRE, 200), ("GET", WIRE, 200)]
    assert [entry["cookies"] for entry in plain.entries()] == [[], []]
    assert plain.knows(stored) and not plain.knows({"sessionId": "other"})


def test_the_descriptor_of_the_catalogue_signs_in_and_out(plain, start):
    front_end = opened(start, None)
    answer, _ = attempt(front_end, "wrong", plain.password, provider="fcsdk", host=plain.base, username="alice")
    front_end.call("access.set", provider="fcsdk", state="granted")
    stored = credential(front_end, answer.result["account"])
    assert stored["values"] == {"voiceUser": "alice", "voiceDomain": "voice.example.test"} and plain.knows(stored)
    assert len(front_end.call("accounts.signOut", account=answer.result["account"])["revoked"]) == 1
    assert not plain.knows(stored)


def test_the_person_enters_the_user_name_if_the_request_has_none(plain, start):
    front_end = opened(start, cookie_session())
    id, prompt = front_end.begin(host=plain.base)
    assert "username" not in prompt
    # The prompt stays open without a user name.
    for entry, missing in (({"password": plain.password}, "/username"), ({"username": "carol"}, "/password")):
        refusal = front_end.answer(front_end.send("prompt.answer", prompt=prompt["prompt"], action="accept", **entry))
        assert refusal.code == -32602 and refusal.data["path"] == missing
    front_end.send("prompt.answer", prompt=prompt["prompt"], action="accept", username="carol", password=plain.password)
    account = front_end.end(id)
    assert credential(front_end, account)["username"] == "carol"


def test_the_server_takes_its_port_from_the_request_or_the_descriptor(plain, start):
    port = int(plain.base.rpartition(":")[2])
    descriptor = cookie_session()
    descriptor["flows"][0].update(port=8443, plainPort=port)
    front_end = opened(start, descriptor)
    for place in ({"secure": False}, {"secure": False, "port": port}):
        answer, prompts = attempt(front_end, plain.password, host="127.0.0.1", username="alice", **place)
        assert not hasattr(answer, "code"), answer
        assert prompts[0]["server"] == plain.base
    assert len(accounts(front_end)) == 1
    answer, prompts = attempt(front_end, {"action": "cancel"}, host="127.0.0.1")
    assert prompts[0]["server"] == "https://127.0.0.1:8443" and answer.data["reason"] == "userCanceled"


@pytest.mark.parametrize("descriptor", [cookie_session, header_session])
def test_a_wrong_password_is_asked_for_again(plain, start, descriptor):
    front_end = opened(start, descriptor())
    answer, prompts = attempt(front_end, "wrong", "worse", plain.password, host=plain.base, username="alice")
    assert answer.result["created"] is True
    assert [prompt.get("again", False) for prompt in prompts] == [False, True, True]
    assert len({prompt["prompt"] for prompt in prompts}) == 3
    assert [entry["status"] == 200 for entry in plain.logins()] == [False, False, True]
    # Each login starts without cookies.
    assert not any(entry["cookies"] for entry in plain.logins())


@pytest.mark.parametrize("descriptor", [cookie_session, header_session])
def test_a_third_wrong_password_ends_the_sign_in(plain, start, descriptor):
    front_end = opened(start, descriptor())
    answer, prompts = attempt(front_end, "wrong", "worse", "worst", host=plain.base, username="alice")
    assert failure(answer) == WRONG_CREDENTIALS and answer.data["reason"] == "wrongCredentials"
    assert [prompt.get("again", False) for prompt in prompts] == [False, True, True]
    assert len(plain.logins()) == len(plain.entries()) == 3
    assert accounts(front_end) == []


def test_each_login_has_a_token_against_forged_requests_of_its_own(careful, start):
    front_end = opened(start, cookie_session(csrf=True))
    attempt(front_end, "wrong", careful.password, host=careful.base, username="alice")
    assert [(*request, len(entry["cookies"])) for request, entry in zip(careful.requests(), careful.entries())] == [
        ("GET", "/login", 200, 0), ("POST", "/login", 400, 1), ("GET", "/login", 200, 0), ("POST", "/login", 200, 1),
        ("GET", "/me", 200, 1)]
    assert len(accounts(front_end)) == 1


@pytest.mark.parametrize("entries", [[{"action": "cancel"}], [{"action": "decline"}], ["wrong", {"action": "cancel"}]],
                         ids=["cancel", "decline", "cancel after a wrong password"])
def test_a_cancelled_prompt_ends_the_sign_in(plain, start, entries):
    front_end = opened(start, cookie_session())
    answer, prompts = attempt(front_end, *entries, host=plain.base, username="alice")
    assert failure(answer) and answer.data["reason"] == "userCanceled"
    assert len(prompts) == len(entries) and len(plain.entries()) == len(entries) - 1
    assert accounts(front_end) == []


def test_a_front_end_without_the_prompt_is_told_so(plain, start):
    front_end = opened(start, cookie_session(), kinds=())
    assert front_end.refused("accounts.signIn", provider="oracle", server={"host": plain.base}) == "interactionRequired"
    assert plain.entries() == []


def test_a_second_sign_in_to_an_account_replaces_its_session_without_the_old_cookies(plain, start):
    front_end = opened(start, cookie_session())
    account = signed_in(front_end, plain)
    former = credential(front_end, account)
    assert plain.knows(former)
    tell(plain.ready, "/__end")
    plain.before += len(plain.entries())
    answer, prompts = attempt(front_end, plain.password, account=account, username="alice")
    assert (answer.result["account"], answer.result["created"]) == (account, False)
    assert prompts[0]["server"] == plain.base
    assert [(entry["path"], len(entry["cookies"])) for entry in plain.entries()] == [("/login", 0), ("/me", 1)]
    assert plain.knows(credential(front_end, account)) and not plain.knows(former)
    assert len(accounts(front_end)) == 1


def test_another_person_does_not_replace_the_session_of_an_account(plain, start):
    front_end = opened(start, header_session())
    account = signed_in(front_end, plain)
    former = credential(front_end, account)
    answer, _ = attempt(front_end, plain.password, account=account, username="carol")
    assert failure(answer) and answer.data["reason"] == "invalidChoice"
    assert credential(front_end, account) == former and plain.knows(former)
    # The control: without the account the other person is a second account.
    assert signed_in(front_end, plain, username="carol") != account
    assert sorted(entry["username"] for entry in accounts(front_end)) == ["alice", "carol"]


def test_the_same_user_name_at_two_servers_is_two_accounts_with_cookies_of_their_own(plain, start):
    with running("session_server.py") as ready:
        other = Watch(ready)
        front_end = opened(start, cookie_session())
        first, second = signed_in(front_end, plain), signed_in(front_end, other)
        assert first != second and len(accounts(front_end)) == 2
        for account in (first, second):
            front_end.call("credentials.reject", account=account)
        for watch in (plain, other):
            # Each cookie has the port of its server in the name, because cookies do not differ by port.
            own = "session_" + watch.base.rpartition(":")[2]
            assert [(entry["path"], entry["cookies"]) for entry in watch.entries()] == [
                ("/login", []), ("/me", [own]), ("/me", [own])]
        # A sign-in by the account goes to its own server.
        _, prompts = attempt(front_end, other.password, account=second, username="alice")
        assert prompts[0]["server"] == other.base
        front_end.call("accounts.signOut", account=first)
        assert len([entry for entry in plain.entries() if entry["path"] == "/logout"]) == 1
        assert not [entry for entry in other.entries() if entry["path"] == "/logout"]


# ---- Sessions

@pytest.mark.parametrize("descriptor", [cookie_session, header_session])
def test_a_rejected_session_that_its_server_takes_stays_but_not_for_the_service(plain, start, descriptor):
    front_end = opened(start, descriptor())
    account = signed_in(front_end, plain)
    stored, before = credential(front_end, account), plain.requests()
    front_end.call("credentials.reject", account=account, address="https://api.example.com/")
    assert plain.requests()[len(before):] == [("GET", before[-1][1], 200)]
    assert front_end.health(account) == "ok" and credential(front_end, account) == stored
    assert front_end.refused("credentials.get", account=account, address="https://api.example.com/") == "throttled"
    # A new session is returned at once.
    answer, _ = attempt(front_end, plain.password, account=account, username="alice")
    assert answer.result["account"] == account and plain.knows(credential(front_end, account))
    front_end.call("credentials.get", account=account, address="https://api.example.com/")


@pytest.mark.parametrize("descriptor", [cookie_session, header_session])
def test_a_rejected_session_that_has_ended_needs_a_new_sign_in(plain, start, descriptor):
    front_end = opened(start, descriptor())
    account = signed_in(front_end, plain)
    before = plain.requests()
    tell(plain.ready, "/__end")
    assert front_end.health(account) == "ok"
    front_end.call("credentials.reject", account=account)
    assert plain.requests()[len(before):] == [("GET", before[-1][1], 401)]
    assert front_end.health(account) == "reloginNeeded"
    answer = front_end.answer(front_end.send("credentials.get", account=account))
    assert answer.data["reason"] == "reloginNeeded"
    assert request_of(answer.data)["method"] == "accounts.signIn"
    answer, _ = attempt(front_end, plain.password, username="alice", **request_of(answer.data)["params"])
    assert answer.result["account"] == account
    assert front_end.health(account) == "ok" and plain.knows(credential(front_end, account))


@pytest.mark.parametrize("kind", ["cookies", "cookies with a token", "header"])
def test_a_sign_out_ends_the_session_at_the_server(plain, careful, start, kind):
    watch = careful if kind == "cookies with a token" else plain
    front_end = opened(start, header_session() if kind == "header" else cookie_session(csrf=watch is careful))
    account = signed_in(front_end, watch)
    stored = credential(front_end, account)
    assert watch.knows(stored)
    left = front_end.call("accounts.signOut", account=account)
    assert len(left["revoked"]) == 1 and not left["notRevoked"]
    assert not watch.knows(stored)
    assert front_end.refused("credentials.get", account=account) == "reloginNeeded"


def test_a_sign_out_reports_a_session_that_the_server_did_not_end(plain, start):
    front_end = opened(start, header_session())
    account = signed_in(front_end, plain)
    tell(plain.ready, "/__end")
    left = front_end.call("accounts.signOut", account=account)
    assert left["revoked"] == [] and len(left["notRevoked"]) == 1


def test_a_session_works_after_an_export_and_an_import(plain, start, tmp_path):
    def moved(front_end, method):
        id = front_end.send(method, path=str(tmp_path / "moving"))
        prompt = front_end.until("prompt.opened")
        front_end.send("prompt.answer", prompt=prompt["prompt"], action="accept", passphrase="a long passphrase")
        answer = front_end.answer(id)
        assert not hasattr(answer, "code"), answer
        return answer.result

    kinds = ("enterPassword", "enterPassphrase")
    first = opened(start, cookie_session(), kinds=kinds)
    stored = credential(first, signed_in(first, plain))
    moved(first, "accounts.export")
    second = opened(start, cookie_session(), kinds=kinds)
    assert moved(second, "accounts.import")["added"] == 1
    second.call("access.set", provider="oracle", state="granted")
    account = accounts(second)[0]["account"]
    assert credential(second, account) == stored and plain.knows(stored)
    # The imported session has its server, and so ends there.
    assert len(second.call("accounts.signOut", account=account)["revoked"]) == 1
    assert not plain.knows(stored)


def test_a_session_stays_in_a_store_on_disk(plain, start, tmp_path):
    place = {"store": str(tmp_path / "store/store.db"), "options": ("--key-file", str(tmp_path / "keys/key"))}
    first = start(cookie_session(), None, kinds=("enterPassword",), **place)
    account = signed_in(first, plain)
    stored = credential(first, account)
    assert plain.knows(stored)
    second = start(cookie_session(), None, kinds=("enterPassword",), **place)
    assert credential(second, account) == stored
    cookie = stored["cookies"].split("\t")[6].encode()
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    contents = b"".join(path.read_bytes() for path in files)
    assert contents and cookie not in contents and plain.password.encode() not in contents


# ---- Servers

def test_a_sign_in_without_a_server_is_refused(start):
    front_end = opened(start, cookie_session())
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", server={"username": "alice"}))
    assert answer.code == -32602 and answer.data["path"] == "/server/host"
    assert "prompt.opened" not in front_end.notified


@pytest.mark.parametrize("name, value", [
    ("host", "pbx.example.com"), ("port", 3), ("secure", True), ("username", "alice")])
def test_a_member_of_server_is_named_at_a_provider_without_servers(start, name, value):
    front_end = opened(start, cookie_session())
    front_end.call("providers.configure", provider="google", clientId="c", clientSecret="s")
    answer = front_end.answer(front_end.send("accounts.signIn", provider="google", server={name: value}))
    assert answer.code == -32602 and answer.data["path"] == f"/server/{name}"


@pytest.mark.parametrize("server", [
    "http://", "https://user@pbx.example.com", "pbx.example.com/path", "https://pbx.example.com/?a=b", "a b",
    "ftp://pbx.example.com", "https://pbx.example.com:99999", "pbx.example.com#x"])
def test_a_server_that_is_no_address_is_refused(start, server):
    front_end = opened(start, cookie_session())
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", server={"host": server, "username": "alice"}))
    assert answer.code == -32602 and answer.data["path"] == "/server/host"


@pytest.mark.parametrize("place", [
    {"host": "http://pbx.example.com"}, {"host": "http://192.0.2.1:8080"}], ids=str)
def test_a_password_is_not_asked_for_plain_http_to_another_machine(start, place):
    front_end = opened(start, cookie_session())
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", server={"username": "alice", **place}))
    assert failure(answer) and answer.data["reason"] == "unsafeURL" and answer.data["path"] == "/server/host"
    assert "prompt.opened" not in front_end.notified
    # The control: https to the same machine asks.
    id, prompt = front_end.begin(username="alice", **{**place, "host": "https://pbx.example.com", "secure": True})
    assert prompt["server"] == "https://pbx.example.com"
    front_end.send("prompt.answer", prompt=prompt["prompt"], action="cancel")
    assert front_end.answer(id).data["reason"] == "userCanceled"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@contextlib.contextmanager
def secured(authority, host):
    """Runs a server with a certificate for a host, and yields it."""
    certificate = authority.client(host, host=host)
    with running("session_server.py", "--tls", str(certificate.path), str(certificate.key)) as ready:
        context = ssl.create_default_context(cafile=authority.path)
        context.check_hostname = host == "localhost"
        yield Watch(ready, context)


def trusting(authority, folder):
    """Returns the options of einlass with the authority."""
    config = folder / "config.json"
    config.write_text(json.dumps({"caFile": str(authority.path)}))
    config.chmod(0o600)
    return "--config", str(config)


def test_a_private_authority_is_trusted_if_the_configuration_names_it(authority, start, tmp_path):
    with secured(authority, "localhost") as watch:
        stranger = opened(start, cookie_session())
        answer, prompts = attempt(stranger, watch.password, host=watch.base, username="alice")
        assert failure(answer) == NETWORK_FAILURE and answer.data["networkCode"] in (-1202, -1203)
        assert len(prompts) == 1 and watch.entries() == [] and accounts(stranger) == []
        # The control: with the authority.
        front_end = opened(start, cookie_session(), *trusting(authority, tmp_path))
        account = signed_in(front_end, watch)
        assert watch.requests() == [("POST", "/login", 200), ("GET", "/me", 200)]
        assert watch.knows(credential(front_end, account))
        assert len(front_end.call("accounts.signOut", account=account)["revoked"]) == 1


def test_a_certificate_of_another_host_gets_no_password(authority, start, tmp_path):
    with secured(authority, "elsewhere.example.test") as watch:
        front_end = opened(start, cookie_session(), *trusting(authority, tmp_path))
        answer, _ = attempt(front_end, watch.password, host=watch.base, username="alice")
        assert failure(answer) == NETWORK_FAILURE and answer.data["networkCode"] in (-1202, -1203)
        assert watch.entries() == [] and accounts(front_end) == []
        # The control: the test's own client, which does not compare the host, gets an answer and an entry in the log.
        assert watch.status("/me", ACCEPT)[0] == 401
        assert watch.requests() == [("GET", "/me", 401)]


# ---- Hostile answers

class Hostile:
    """A server with one answer for each request: a status, a body, and header fields. Logs methods and paths, and
    the number of cookies of each request."""

    def __init__(self, address=("127.0.0.1", 0)):
        self.answer, self.log, self.cookies = (404, "", ()), [], []
        hostile = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60

            def log_message(self, *arguments):
                pass

            def handle_request(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                hostile.log.append((self.command, self.path))
                hostile.cookies.append(self.headers.get("Cookie", "").count("="))
                status, body, headers = hostile.answer
                content = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                for name, value in [*headers, ("Content-Length", str(len(content)))]:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_DELETE = handle_request

        self.server = Server(address, Handler)
        self.base = "http://%s:%d" % self.server.server_address
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def hostile():
    server = Hostile()
    yield server
    server.close()


@pytest.fixture
def target():
    server = Hostile()
    server.answer = (200, {"id": "s3ssion"}, ())
    yield server
    server.close()


WITH_ID = {"login": LOGIN, "session": {"id": "/id", "values": {"name": "/name"}}}
WITH_COOKIES = {"login": LOGIN, "session": {}, "cookies": "always"}


def answered(front_end, hostile, status=200, body="", headers=(), **params):
    """Signs in at the server with this answer."""
    hostile.answer = (status, body, headers)
    return attempt(front_end, PASSWORD, host=hostile.base, username="alice", **params)[0]


def accepted(front_end, hostile, *answer, **params):
    """Returns the credential of a sign-in with this answer."""
    result = answered(front_end, hostile, *answer, **params)
    assert not hasattr(result, "code"), result
    front_end.call("access.set", provider="oracle", state="granted")
    return credential(front_end, result.result["account"])


HTML = "<!doctype html><title>Welcome</title><p>Signed in"


@pytest.mark.parametrize("status, body", [
    (200, HTML), (200, ""), (200, "null"), (200, [{"id": "s3ssion"}]), (200, '{"id": "s3ssion"'),
    (200, {"error": "The password has expired."}), (200, {"id": ""}), (200, {"id": None}), (200, {"id": 7}),
    (200, {"id": ["s3ssion"]}), (200, {"id": "s3ss\u0007ion"}), (200, {"id": "s3ss\r\nion: 1"}),
    (200, {"id": "s3ss ion"}), (200, {"id": "sëssion"}), (200, {"id": "x" * 4097}),
    (200, {"id": "s3ssion", "name": "a\nb"}), (200, {"id": "s3ssion", "name": "x" * 1025}),
    (204, ""), (403, {"id": "s3ssion"}), (404, HTML), (500, {"id": "s3ssion"}), (503, HTML)],
    ids=lambda part: str(part)[:30])
def test_an_answer_without_a_session_is_refused(hostile, start, status, body):
    front_end = opened(start, words(WITH_ID))
    answer = answered(front_end, hostile, status, body)
    assert failure(answer) == PROVIDER_FAILURE
    assert answer.data["retryable"] is (status >= 500)
    assert hostile.log == [("POST", "/login")] and accounts(front_end) == []
    # The control: a session of the same server is stored.
    assert accepted(front_end, hostile, 200, {"id": "s3ssion", "name": "Ada"})["sessionId"] == "s3ssion"


@pytest.mark.parametrize("body, member, length", [
    ({"id": "x" * 4096}, "sessionId", 4096), ({"id": "s3ssion", "name": "x" * 1024}, "name", 1024)])
def test_the_longest_values_are_stored(hostile, start, body, member, length):
    stored = accepted(opened(start, words(WITH_ID)), hostile, 200, body)
    assert len({**stored, **stored["values"]}[member]) == length


def test_an_error_in_a_successful_answer_is_a_wrong_password_if_the_descriptor_says_so(hostile, start):
    descriptor = words(WITH_ID, [{"step": "login", "codes": ["E7"], "outcome": "wrongCredentials"}])
    descriptor["errors"]["shapes"] = [{"code": "/error", "anyStatus": True}]
    front_end = opened(start, descriptor)
    hostile.answer = (200, {"error": "E7", "id": "s3ssion"}, ())
    answer, prompts = attempt(front_end, "wrong", "worse", "worst", host=hostile.base, username="alice")
    assert failure(answer) == WRONG_CREDENTIALS and len(prompts) == len(hostile.log) == 3
    # The control: another error.
    assert failure(answered(front_end, hostile, 200, {"error": "E8", "id": "s3ssion"})) == PROVIDER_FAILURE
    assert accounts(front_end) == []


@pytest.mark.parametrize("body", [{"error": f"no {PASSWORD} there"}, f"no {PASSWORD} there"], ids=["json", "text"])
def test_a_password_that_an_answer_repeats_is_hidden(hostile, start, body, tmp_path):
    descriptor = words(WITH_ID)
    descriptor["errors"]["shapes"] = [{"text": "/error"}]
    trace = tmp_path / "trace"
    front_end = opened(start, descriptor, "--trace", str(trace))
    answer = answered(front_end, hostile, 403, body)
    assert failure(answer) == PROVIDER_FAILURE
    # A trace hides the whole text, because it may name a person.
    assert PASSWORD not in trace.read_text() and "there" not in trace.read_text()
    if isinstance(body, dict):
        # The control: the other words are shown.
        assert answer.data["serverError"]["text"] == "no … there"


def test_a_session_at_the_usual_port_is_usable(start):
    # An address of this process alone, because other programs may use port 80.
    host = "127.%d.%d.7" % (os.getpid() >> 8 & 255, os.getpid() & 255)
    try:
        hostile = Hostile((host, 80))
    except PermissionError:
        pytest.skip("skipped: port 80 needs a privilege")
    with contextlib.closing(hostile):
        hostile.answer = (200, {"id": "s3ssion"}, ())
        front_end = opened(start, words(WITH_ID))
        # The control: the address without a port. Then the port of the request, and that of the descriptor.
        for place in ({"host": f"http://{host}"}, {"host": f"http://{host}", "port": 80},
                      {"host": host, "secure": False}):
            answer, prompts = attempt(front_end, PASSWORD, username="alice", **place)
            front_end.call("access.set", provider="oracle", state="granted")
            assert prompts[0]["server"] == f"http://{host}"
            assert credential(front_end, answer.result["account"])["sessionId"] == "s3ssion"
        assert len(accounts(front_end)) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(hostile, target, start, status):
    front_end = opened(start, words(WITH_ID))
    answer = answered(front_end, hostile, status, {"id": "s3ssion"}, [("Location", target.base + "/login")])
    assert failure(answer) == PROVIDER_FAILURE and answer.data["serverError"]["status"] == status
    assert hostile.log == [("POST", "/login")] and target.log == [] and accounts(front_end) == []
    # The control: the target would have given a session.
    target_answer, _ = attempt(front_end, PASSWORD, host=target.base, username="alice")
    assert target_answer.result["created"] is True and target.log == [("POST", "/login")]


# ---- Cookies

def names(stored):
    return sorted(line.split("\t")[5] for line in stored.get("cookies", "").split("\n") if line)


def cookies(count):
    return [("Set-Cookie", f"c{number}=v") for number in range(count)]


def test_as_many_cookies_as_the_limit_are_stored(hostile, start):
    stored = accepted(opened(start, words(WITH_COOKIES)), hostile, 200, {}, cookies(COOKIE_LIMIT))
    assert len(names(stored)) == COOKIE_LIMIT


def test_more_cookies_than_the_limit_are_refused(hostile, start):
    front_end = opened(start, words(WITH_COOKIES))
    assert failure(answered(front_end, hostile, 200, {}, cookies(COOKIE_LIMIT + 1))) == PROVIDER_FAILURE
    assert accounts(front_end) == []


CHECKED = {**WITH_COOKIES, "check": {"method": "GET", "url": AT + "/me"}}


def test_fifty_cookies_are_stored_and_sent_back(hostile, start):
    stored = accepted(opened(start, words(CHECKED)), hostile, 200, {}, cookies(50))
    assert names(stored) == sorted(f"c{number}" for number in range(50))
    assert hostile.log == [("POST", "/login"), ("GET", "/me")] and hostile.cookies == [0, 50]


def test_more_cookies_than_a_request_takes_are_refused(hostile, start):
    front_end = opened(start, words(CHECKED))
    long = [("Set-Cookie", f"c{number}=" + "v" * 3000) for number in range(3)]
    # The control: the cookies that a request takes are all sent.
    assert names(accepted(front_end, hostile, 200, {}, long[:2])) == ["c0", "c1"] and hostile.cookies == [0, 2]
    account = accounts(front_end)[0]["account"]
    front_end.call("accounts.remove", account=account)
    assert failure(answered(front_end, hostile, 200, {}, long)) == PROVIDER_FAILURE
    assert accounts(front_end) == []


@pytest.mark.parametrize("domain", ["example.com", ".example.com", "127.0.0.2", "0.0.1", "1", "localhost"])
def test_a_cookie_for_another_domain_is_not_stored(hostile, start, domain):
    front_end = opened(start, words(WITH_COOKIES))
    foreign = ("Set-Cookie", f"foreign=1; Domain={domain}")
    # A session in that cookie alone is no session.
    assert failure(answered(front_end, hostile, 200, {}, [foreign])) == PROVIDER_FAILURE
    assert accounts(front_end) == []
    # The control: the server's own cookie is stored.
    stored = accepted(front_end, hostile, 200, {}, [foreign, ("Set-Cookie", "own=1")])
    assert names(stored) == ["own"]


@pytest.mark.parametrize("headers", [
    pytest.param([], id="no cookie"),
    pytest.param([("Set-Cookie", "own=1; Max-Age=0")], id="a deleted cookie"),
    pytest.param([("Set-Cookie", "own=1"), ("Set-Cookie", "own=; Expires=Thu, 01 Jan 1970 00:00:00 GMT")],
                 id="a cookie that is deleted again")])
def test_an_answer_without_cookies_is_no_session_of_cookies(hostile, start, headers):
    front_end = opened(start, words(WITH_COOKIES))
    answer = answered(front_end, hostile, 200, {}, headers)
    assert failure(answer) == PROVIDER_FAILURE and accounts(front_end) == []
    # The control: a cookie that lasts.
    assert names(accepted(front_end, hostile, 200, {}, [("Set-Cookie", "own=1; Max-Age=600")])) == ["own"]


@pytest.mark.parametrize("manner, asked, is_kept", [
    ("always", False, True), ("asked", False, False), ("asked", True, True), ("never", True, False)])
def test_cookies_are_kept_as_the_descriptor_and_the_request_say(hostile, start, manner, asked, is_kept):
    front_end = opened(start, words({**WITH_ID, "cookies": manner}))
    stored = accepted(front_end, hostile, 200, {"id": "s3ssion"}, [("Set-Cookie", "own=1")], useCookies=asked)
    assert names(stored) == (["own"] if is_kept else []) and stored["sessionId"] == "s3ssion"
