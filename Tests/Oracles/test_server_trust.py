"""The trust in a server of the person's own: self-signed certificates, changed keys, private authorities and plain
http. Flask-Security is the server, behind a front that does its TLS and counts the bytes that it is sent.

    python -m pytest Tests/Oracles/test_server_trust.py
"""
import base64
import contextlib
import datetime
import hashlib
import json
import socket
import sqlite3
import ssl
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from nginx import Authority
from servers import running, tell
from test_password_session import (NETWORK_FAILURE, Watch, accounts, attempt, cookie_session, credential, failure,
                                   header_session, opened)

pytestmark = pytest.mark.usefixtures("built")
KINDS = ("enterPassword", "trustCertificate")
YES, NO = {"action": "accept"}, {"action": "cancel"}


class Front:
    """Decrypts connections and passes them on to a server. Its certificate can be changed."""

    def __init__(self, behind):
        self.port = int(behind.base.rpartition(":")[2])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base = "https://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.received = 0
        threading.Thread(target=self.run, daemon=True).start()

    def present(self, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.path, certificate.key)
        self.context, self.received = context, 0

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        # A client that refuses the certificate is no fault of the front.
        with contextlib.suppress(OSError), self.context.wrap_socket(connection, server_side=True) as client:
            while request := client.recv(1 << 16):
                self.received += len(request)
                # Each request fits in one record, because its head and its body are small.
                while b"\r\n\r\n" not in request or len(request) < self.length(request):
                    request += client.recv(1 << 16)
                with socket.create_connection(("127.0.0.1", self.port)) as server:
                    server.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                    while piece := server.recv(1 << 16):
                        client.sendall(piece)
                return

    @staticmethod
    def length(request):
        head, _, _ = request.partition(b"\r\n\r\n")
        sizes = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        return len(head) + 4 + int(sizes[0] if sizes else 0)


def key_of(certificate):
    """Returns the public key of a certificate, as this test computes it."""
    key = x509.load_pem_x509_certificate(certificate.path.read_bytes()).public_key()
    form = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return "sha256//" + base64.b64encode(hashlib.sha256(form).digest()).decode()


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def server():
    with running("session_server.py") as ready:
        yield ready


@pytest.fixture
def watch(server):
    return Watch(server)


@pytest.fixture
def own(authority):
    """A certificate that only its own key has signed."""
    return authority.client("own", is_self_signed=True)


@pytest.fixture
def front(watch, own):
    front = Front(watch)
    front.present(own)
    yield front
    front.listener.close()


def sign_in(front_end, front, watch, *entries, **params):
    place = {} if "account" in params else {"host": front.base, "username": "alice"}
    answer, prompts = attempt(front_end, *entries, watch.password, **{**place, **params})
    assert not hasattr(answer, "code"), answer
    front_end.call("access.set", provider="oracle", state="granted")
    return answer.result["account"], prompts


# ---- Self-signed certificates

def test_a_self_signed_certificate_is_refused_unless_the_request_accepts_it(front, watch, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    answer, prompts = attempt(front_end, watch.password, host=front.base, username="alice")
    assert failure(answer) == NETWORK_FAILURE and answer.data["networkCode"] == -1203
    assert [prompt["kind"] for prompt in prompts] == ["enterPassword"]
    assert front.received == 0 and accounts(front_end) == []


@pytest.mark.parametrize("descriptor", [cookie_session, header_session])
def test_an_accepted_key_serves_every_request_of_its_account(front, watch, own, start, descriptor):
    front_end = opened(start, descriptor(), kinds=KINDS)
    account, prompts = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True)
    trust, password = prompts
    ends = trust.pop("certificateEndsAt")
    assert abs(ends - datetime.datetime.now().timestamp() - 2 * 86400) < 3600
    assert {name: trust[name] for name in ("kind", "server", "host", "port", "publicKey", "fault")} == {
        "kind": "trustCertificate", "server": front.base, "host": "127.0.0.1",
        "port": int(front.base.rpartition(":")[2]), "publicKey": key_of(own), "fault": "selfSigned"}
    assert "formerPublicKey" not in trust
    assert password["kind"] == "enterPassword" and "secure" not in password
    stored = credential(front_end, account)
    assert watch.knows(stored)
    front_end.call("credentials.reject", account=account)
    # The check of the session came through, or the health would be unknown.
    assert watch.requests()[-1][0] == "GET" and front_end.health(account) == "ok"
    assert len(front_end.call("accounts.signOut", account=account)["revoked"]) == 1
    assert not watch.knows(stored)


def test_an_accepted_key_is_not_asked_about_again_for_its_account(front, watch, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    account, _ = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True)
    for params in ({"account": account, "username": "alice"}, {"acceptUntrustedCertificates": True}, {}):
        again, prompts = sign_in(front_end, front, watch, **params)
        assert again == account and [prompt["kind"] for prompt in prompts] == ["enterPassword"]
    # The control: the key was accepted for that account alone.
    other, prompts = sign_in(front_end, front, watch, YES, username="carol", acceptUntrustedCertificates=True)
    assert other != account and [prompt["kind"] for prompt in prompts] == ["trustCertificate", "enterPassword"]


@pytest.mark.parametrize("action", ["cancel", "decline"])
def test_a_key_that_the_person_refuses_gets_nothing(front, start, action):
    front_end = opened(start, header_session(), kinds=KINDS)
    answer, _ = attempt(front_end, {"action": action}, host=front.base, acceptUntrustedCertificates=True)
    assert failure(answer) and answer.data["reason"] == "userCanceled"
    assert front.received == 0 and accounts(front_end) == []


def test_a_front_end_that_cannot_ask_is_told_so(front, start):
    front_end = opened(start, header_session())
    answer, prompts = attempt(front_end, host=front.base, username="alice", acceptUntrustedCertificates=True)
    assert failure(answer) and answer.data["reason"] == "interactionRequired" and prompts == []
    assert [(needed["kind"], needed["parameter"]) for needed in answer.data["prompts"]] == [
        ("trustCertificate", "server.trustedPublicKey")]
    assert front.received == 0


def test_a_trusted_certificate_is_not_asked_about(authority, watch, front, start):
    front.present(authority.client("good"))
    front_end = opened(start, header_session(), kinds=KINDS)
    _, prompts = sign_in(front_end, front, watch, acceptUntrustedCertificates=True, caFile=str(authority.path))
    assert [prompt["kind"] for prompt in prompts] == ["enterPassword"]


@pytest.mark.parametrize("fault, made", [
    ("unknownAuthority", {}), ("otherHost", {"host": "elsewhere.example.test"}),
    ("expired", {"ends": datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)})])
def test_the_prompt_names_the_fault_of_the_certificate(authority, front, start, fault, made):
    front.present(authority.client(fault, **made))
    known = {} if fault == "unknownAuthority" else {"caFile": str(authority.path)}
    front_end = opened(start, header_session(), kinds=KINDS)
    _, prompts = attempt(front_end, NO, host=front.base, acceptUntrustedCertificates=True, **known)
    assert [(prompt["kind"], prompt["fault"]) for prompt in prompts] == [("trustCertificate", fault)]


# ---- The whole life of a session

@pytest.mark.parametrize("certificate", ["of a private authority", "self-signed"])
@pytest.mark.parametrize("kind", ["cookies", "cookies with a token", "header"])
def test_a_session_lives_over_tls(authority, own, start, certificate, kind):
    """A wrong password, the login, the check by age, a silent login after the session has ended, and the logout."""
    with running("session_server.py", *(["--csrf"] if "token" in kind else [])) as ready:
        watch = Watch(ready)
        front = Front(watch)
        front.present(own if certificate == "self-signed" else authority.client("good"))
        trust = {"trustedPublicKey": key_of(own)} if certificate == "self-signed" else {"caFile": str(authority.path)}
        descriptor = header_session() if kind == "header" else cookie_session(csrf="token" in kind)
        front_end = opened(start, descriptor, "--test", kinds=KINDS)
        answer, prompts = attempt(front_end, "wrong", {"action": "accept", "password": watch.password, "remember": True},
                                  host=front.base, username="alice", **trust)
        assert [prompt.get("again", False) for prompt in prompts] == [False, True]
        account = answer.result["account"]
        front_end.call("access.set", provider="oracle", state="granted")
        first = credential(front_end, account)
        assert watch.knows(first)
        requests = len(watch.entries())
        front_end.call("test.advanceClock", seconds=300)
        assert credential(front_end, account) == first
        checks = watch.requests()[requests:]
        assert len(checks) == 1 and checks[0][0] == "GET" and checks[0][2] == 200
        tell(ready, "/__end")
        front_end.call("test.advanceClock", seconds=300)
        second = credential(front_end, account)
        assert second != first and watch.knows(second) and not watch.knows(first)
        assert len(watch.logins()) == 3
        assert len(front_end.call("accounts.signOut", account=account)["revoked"]) == 1
        assert not watch.knows(second)
        front.listener.close()


# ---- Changed keys

def test_nothing_is_sent_to_a_server_with_another_key(authority, front, watch, own, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    account, _ = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True)
    stored = credential(front_end, account)
    other = authority.client("other", is_self_signed=True)
    front.present(other)
    front_end.call("credentials.reject", account=account)
    assert len(front_end.call("accounts.signOut", account=account)["notRevoked"]) == 1
    assert front.received == 0 and watch.knows(stored)
    # The control: the same requests of a client that does not compare the key.
    careless = ssl._create_unverified_context()
    Watch({**watch.ready, "base": front.base}, careless)
    assert front.received > 0


def test_a_changed_key_is_asked_about_with_the_former_one(authority, front, watch, own, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    account, _ = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True)
    other = authority.client("other", is_self_signed=True)
    front.present(other)
    answer, (prompt,) = attempt(front_end, NO, account=account)
    assert failure(answer) and answer.data["reason"] == "userCanceled"
    assert (prompt["publicKey"], prompt["formerPublicKey"]) == (key_of(other), key_of(own))
    assert front.received == 0
    again, prompts = sign_in(front_end, front, watch, YES, account=account, username="alice")
    assert again == account and [prompt["kind"] for prompt in prompts] == ["trustCertificate", "enterPassword"]
    # The new key has replaced the former one.
    _, prompts = sign_in(front_end, front, watch, account=account, username="alice")
    assert len(prompts) == 1 and watch.knows(credential(front_end, account))
    front.present(own)
    _, (prompt,) = attempt(front_end, NO, account=account)
    assert prompt["formerPublicKey"] == key_of(other)


def test_a_changed_key_with_a_trusted_certificate_is_asked_about_too(authority, front, watch, own, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    place = {"caFile": str(authority.path)}
    account, _ = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True, **place)
    front.present(authority.client("good"))
    _, (prompt, _) = sign_in(front_end, front, watch, YES, account=account, username="alice")
    assert "fault" not in prompt and prompt["formerPublicKey"] == key_of(own)
    # From now on the authority decides, so that the server may renew its key.
    front.present(authority.client("renewed"))
    _, prompts = sign_in(front_end, front, watch, account=account, username="alice")
    assert len(prompts) == 1


# ---- Keys and authorities that the request names

def test_a_key_of_the_request_needs_no_person(front, watch, own, start):
    front_end = opened(start, header_session())
    account, prompts = sign_in(front_end, front, watch, trustedPublicKey=key_of(own))
    assert len(prompts) == 1 and watch.knows(credential(front_end, account))


def test_another_key_than_that_of_the_request_gets_nothing(authority, front, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    wrong = key_of(authority.client("wrong", is_self_signed=True))
    answer, prompts = attempt(front_end, host=front.base, username="alice", trustedPublicKey=wrong)
    assert failure(answer) == NETWORK_FAILURE and answer.data["networkCode"] == -1202
    assert prompts == [] and front.received == 0


@pytest.mark.parametrize("name, value", [
    ("trustedPublicKey", "sha256//short="), ("trustedPublicKey", "A" * 52), ("caFile", "authority.pem")])
def test_a_malformed_key_or_path_is_refused(front, start, name, value):
    front_end = opened(start, header_session())
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", server={"host": front.base, name: value}))
    assert answer.code == -32602 and answer.data["path"] == "/server/" + name


def test_an_authority_of_the_request_is_kept_for_the_account_alone(authority, front, watch, start):
    front.present(authority.client("good"))
    front_end = opened(start, header_session())
    account, _ = sign_in(front_end, front, watch, caFile=str(authority.path))
    assert len(front_end.call("accounts.signOut", account=account)["revoked"]) == 1
    # The control: another account does not know the authority.
    answer, _ = attempt(front_end, watch.password, host=front.base, username="carol")
    assert failure(answer) == NETWORK_FAILURE and answer.data["networkCode"] == -1203


def test_a_missing_file_of_authorities_is_named(front, watch, start, tmp_path):
    front_end = opened(start, header_session())
    missing = str(tmp_path / "missing.pem")
    answer, _ = attempt(front_end, watch.password, host=front.base, username="alice", caFile=missing)
    assert failure(answer) == NETWORK_FAILURE and answer.data["path"] == missing


# ---- The store

def test_a_trust_that_was_edited_without_the_key_is_not_used(authority, front, watch, own, start, tmp_path):
    path = tmp_path / "store/store.db"
    place = {"store": str(path), "options": ("--key-file", str(tmp_path / "keys/key"))}
    front_end = start(header_session(), None, kinds=KINDS, **place)
    account, _ = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        (text,) = database.execute("SELECT bound_trust FROM credential").fetchone()
        assert json.loads(text) == {"publicKey": key_of(own)}
        other = json.dumps({"publicKey": key_of(authority.client("other"))}, separators=(",", ":"))
        for edited in (other, None, "{}", "x"):
            database.execute("UPDATE credential SET bound_trust = ?", (edited,))
            database.commit()
            assert front_end.refused("credentials.get", account=account) == "bindingMismatch"
        # The control: the former text opens again.
        database.execute("UPDATE credential SET bound_trust = ?", (text,))
    assert watch.knows(credential(front_end, account))


def test_a_trust_is_exported_and_imported(front, watch, start, tmp_path):
    def moved(front_end, method):
        id = front_end.send(method, path=str(tmp_path / "moving"))
        prompt = front_end.until("prompt.opened")
        front_end.send("prompt.answer", prompt=prompt["prompt"], action="accept", passphrase="a long passphrase")
        assert not hasattr(front_end.answer(id), "code")

    kinds = (*KINDS, "enterPassphrase")
    first = opened(start, header_session(), kinds=kinds)
    sign_in(first, front, watch, YES, acceptUntrustedCertificates=True)
    moved(first, "accounts.export")
    second = opened(start, header_session(), kinds=kinds)
    moved(second, "accounts.import")
    account = accounts(second)[0]["account"]
    assert len(second.call("accounts.signOut", account=account)["revoked"]) == 1


# ---- Plain http

def test_plain_http_to_another_name_is_sent_only_if_the_request_says_so(watch, start):
    # `localhost` stands for another machine, because only literal addresses are known to be this one.
    server = watch.base.replace("127.0.0.1", "localhost")
    front_end = opened(start, header_session())
    for params in ({}, {"secure": True}):
        answer, prompts = attempt(front_end, NO, host=server, username="alice", **params)
        assert failure(answer)
    assert watch.entries() == []
    answer, (prompt,) = attempt(front_end, watch.password, host=server, username="alice", secure=False)
    assert (prompt["server"], prompt["secure"]) == (server, False)
    front_end.call("access.set", provider="oracle", state="granted")
    account = answer.result["account"]
    assert watch.knows(credential(front_end, account))
    # The account's later requests go there too.
    answer, (prompt,) = attempt(front_end, watch.password, account=account, username="alice")
    assert not hasattr(answer, "code") and prompt["secure"] is False
    assert len(front_end.call("accounts.signOut", account=account)["revoked"]) == 1


# ---- The check of a server

def test_the_check_of_a_server_tells_its_certificate_without_a_request(authority, front, watch, own, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    account, _ = sign_in(front_end, front, watch, YES, acceptUntrustedCertificates=True)
    front.received = 0

    def check():
        found = front_end.call("accounts.checkServer", account=account)
        assert found.pop("server") == front.base and found.pop("certificateEndsAt")
        return found

    assert check() == {"publicKey": key_of(own), "fault": "selfSigned", "expired": False, "accepted": True}
    old = authority.client("own", ends=datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1))
    front.present(old)
    assert check() == {"publicKey": key_of(old), "fault": "unknownAuthority", "expired": True, "accepted": False}
    assert front.received == 0
    front.listener.close()
    answer = front_end.answer(front_end.send("accounts.checkServer", account=account))
    assert failure(answer) == NETWORK_FAILURE


# ---- Renewals

def test_a_renewed_session_keeps_the_accepted_key(front, watch, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    answer, _ = attempt(front_end, YES, {"action": "accept", "password": watch.password, "remember": True},
                        host=front.base, username="alice", acceptUntrustedCertificates=True)
    account = answer.result["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    sessions = {credential(front_end, account)["sessionId"]}
    for _ in range(2):
        front_end.call("credentials.reject", account=account)
        sessions.add(credential(front_end, account)["sessionId"])
    assert len(sessions) == 3 and len(watch.logins()) == 3
    assert len(front_end.call("accounts.signOut", account=account)["revoked"]) == 1


def test_a_remembered_password_is_not_sent_to_a_server_with_another_key(authority, front, watch, own, start):
    front_end = opened(start, header_session(), kinds=KINDS)
    answer, _ = attempt(front_end, YES, {"action": "accept", "password": watch.password, "remember": True},
                        host=front.base, username="alice", acceptUntrustedCertificates=True)
    account = answer.result["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    front_end.call("credentials.reject", account=account)
    front.present(authority.client("other", is_self_signed=True))
    answer = front_end.answer(front_end.send("credentials.get", account=account))
    assert failure(answer) == NETWORK_FAILURE and answer.data["networkCode"] == -1202 and front.received == 0
    # The control: with the accepted key the session is replaced.
    front.present(own)
    assert watch.knows(credential(front_end, account))
