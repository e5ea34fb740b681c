"""Clients with certificates and tokens bound to them (RFC 8705), with nginx as the judge of each certificate.

    python -m pytest Tests/Oracles/test_mutual_tls.py
"""
import contextlib
import json
import socket
import ssl
import threading
import urllib.error
import urllib.request

import pytest

import nginx
from browser import Visitor
from front_end import bring_back, provider, userinfo
from nginx import Authority
from servers import running

pytestmark = pytest.mark.usefixtures("built")
behind_nginx = pytest.mark.skipif(nginx.WHY_NOT is not None, reason=str(nginx.WHY_NOT))


class World:
    """The authority, the certificates of clients, and the addresses of nginx."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority(folder)
        self.authority.client("localhost")
        stranger = Authority(folder, "stranger")
        self.clients = {
            "service": self.authority.client("service"), "native": self.authority.client("native"),
            "secretive": self.authority.client("secretive"), "stranger": stranger.client("service", file="foreign"),
            "pinned": self.authority.client("pinned", is_self_signed=True),
            "unpinned": self.authority.client("pinned", is_self_signed=True, file="unpinned")}
        config = folder / "config.json"
        config.write_text(json.dumps({"caFile": str(self.authority.path)}))
        config.chmod(0o600)
        self.options = ("--config", str(config))
        self.base, self.fronts = None, {}

    def registration(self, name, certificate=None, **more):
        """Returns a registration with the client's own or another certificate."""
        return {"clientId": name, **self.clients[certificate or name].parts, **more}

    def entries(self):
        with urllib.request.urlopen(self.base + "/__log") as answer:
            return json.load(answer)

    def status(self, token, name=None, path="/me", front="optional"):
        """Returns the status of the resource for this token and a client's certificate."""
        context = ssl.create_default_context(cafile=self.authority.path)
        if name:
            context.load_cert_chain(self.clients[name].path, self.clients[name].key)
        request = urllib.request.Request(self.fronts[front] + path, headers={"Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(request, context=context) as answer:
                return answer.status
        except urllib.error.HTTPError as failure:
            with failure:
                return failure.code


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The certificates without nginx."""
    return World(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("nginx"))
    with nginx.listening() as sockets:
        alias = "https://127.0.0.1:%d" % sockets["required"].getsockname()[1]
        with running("mutual_tls_server.py", world.clients["pinned"].thumbprint, alias) as ready, \
                nginx.front(world.folder, sockets, ready["base"]) as world.fronts:
            world.base = ready["base"]
            yield world


def tokens(at, **more):
    """Returns the words of the endpoints at this address."""
    return {"token": {"method": "POST", "url": at + "/token"}, "clientAuthentication": "tls_client_auth", "refresh": {},
            "revocation": {"method": "POST", "url": at + "/revoke"}, **more}


def service(at, **more):
    """Returns the descriptor of a provider for an application itself."""
    return provider({"kind": "clientCredentials", **tokens(at, **more)}, None)


def person(world, at, **more):
    """Returns the descriptor of a provider for people."""
    flow = {"kind": "authorizationCode", "authorize": {"method": "GET", "url": world.base + "/authorize"}, "redirect": {}}
    return provider({**flow, **tokens(at, **more)}, userinfo(at + "/me"),
                    verify={"recipe": "introspection", "request": {"method": "POST", "url": at + "/introspect"}})


def sign_in(front_end):
    return front_end.send("accounts.signIn", provider="oracle", flowKind="clientCredentials")


def refused(front_end):
    """Returns the data of the error of a sign-in."""
    return front_end.answer(sign_in(front_end)).data


def started(start, world, descriptor, registration, **more):
    descriptor = {name: value for name, value in descriptor.items() if value is not None} if descriptor else None
    return start(descriptor, registration, options=world.options, **more)


@behind_nginx
@pytest.mark.parametrize("front", ["optional", "required"])
def test_an_application_signs_in_with_its_certificate_and_its_token_is_bound_to_it(world, start, front):
    before = len(world.entries())
    front_end = started(start, world, service(world.fronts[front]), world.registration("service"), kinds=())
    account = front_end.end(sign_in(front_end))
    token = front_end.token(account)
    fresh = front_end.token(account, forceRefresh=True)
    assert fresh != token
    assert world.status(fresh, "service") == 200
    # Another certificate of the same authority, and none.
    assert world.status(fresh, "native") == 401
    assert world.status(fresh) == 401
    left = front_end.call("accounts.signOut", account=account)
    assert left["revoked"] == ["application service"]
    assert world.status(fresh, "service") == 401
    asked = [entry["certificate"] for entry in world.entries()[before:] if entry["method"] == "POST"]
    assert asked == ["service"] * 3


@behind_nginx
@pytest.mark.parametrize("client, words, more", [
    ("native", {}, {}),
    # The client has a secret, and its tokens are bound all the same.
    ("secretive", {"clientAuthentication": "client_secret_basic", "mutualTLS": {"bindsTokens": True}},
     {"clientSecret": "s3cret"})])
def test_a_person_signs_in_and_the_token_is_refreshed_and_shown_with_the_certificate(world, start, client, words, more):
    at, before = world.fronts["optional"], len(world.entries())
    front_end = started(start, world, person(world, at, **words), world.registration(client, **more))
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    account = front_end.end(id)
    token = front_end.token(account)
    assert world.status(token, client) == 200 and world.status(token, "service") == 401
    fresh = front_end.token(account, forceRefresh=True)
    assert fresh != token and world.status(fresh, client) == 200 and world.status(fresh) == 401
    result = front_end.call("verify", provider="oracle", account=account)
    assert result["valid"] and result["clientId"] == client, result
    assert front_end.call("accounts.signOut", account=account)["notRevoked"] == []
    seen = [(entry["path"], entry["certificate"]) for entry in world.entries()[before:]]
    own = [(path, name) for path, name in seen if path not in ("/authorize", "/me")]
    assert own == [(path, client) for path in ("/token", "/token", "/introspect", "/revoke", "/revoke")]
    assert seen[2] == ("/me", client)


@behind_nginx
def test_a_token_is_not_bound_without_a_certificate(world, start):
    """The control of the server and of the resource."""
    words = {"clientAuthentication": "client_secret_basic", "mutualTLS": {"bindsTokens": True}}
    front_end = started(start, world, service(world.fronts["optional"], **words),
                        {"clientId": "secretive", "clientSecret": "s3cret"}, kinds=())
    token = front_end.token(front_end.end(sign_in(front_end)))
    assert world.status(token) == 200 and world.status(token, "native") == 200


@behind_nginx
def test_a_self_signed_certificate_is_accepted_by_its_thumbprint(world, start):
    descriptor = service(world.fronts["any"], clientAuthentication="self_signed_tls_client_auth")
    front_end = started(start, world, descriptor, world.registration("pinned"), kinds=())
    token = front_end.token(front_end.end(sign_in(front_end)))
    assert world.status(token, "pinned", front="any") == 200
    assert world.status(token, "unpinned", front="any") == 401
    # Another self-signed certificate with the same name.
    front_end = started(start, world, descriptor, world.registration("pinned", "unpinned"), kinds=())
    assert refused(front_end)["reason"] == "authenticatorUnconfigured"


@behind_nginx
def test_nginx_answers_for_a_foreign_and_a_missing_certificate(world, start):
    """nginx completes the handshake and answers with status 400, so the error is the provider's."""
    before = len(world.entries())
    for registration in (world.registration("service", "stranger"), {"clientId": "service", "clientSecret": "s"}):
        way = "tls_client_auth" if "certificate" in registration else "client_secret_post"
        front_end = started(start, world, service(world.fronts["required"], clientAuthentication=way), registration,
                            kinds=())
        data = refused(front_end)
        assert (data["reason"], data["serverError"]["status"]) == ("providerFailure", 400)
    assert world.entries()[before:] == []


@behind_nginx
def test_the_address_for_certificates_is_found_in_the_metadata(world, start):
    before = len(world.entries())
    front_end = started(start, world, None, world.registration("service"), kinds=())
    front_end.call("providers.add", issuer=world.base, id="oracle")
    entry = next(entry for entry in front_end.call("providers.list")["providers"] if entry["id"] == "oracle")
    assert entry["setup"]["needs"] == ["clientId", "certificate", "privateKey"]
    account = front_end.end(sign_in(front_end))
    assert world.status(front_end.token(account), "service") == 200
    asked = [(entry["path"], entry["certificate"]) for entry in world.entries()[before:] if entry["method"] == "POST"]
    assert asked == [("/token", "service")]


class Judge:
    """A server that demands a certificate during the handshake, and reports a fault by a TLS alert."""

    def __init__(self, world, version):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = self.context.maximum_version = version
        self.context.load_cert_chain(world.folder / "localhost.pem", world.folder / "localhost.key")
        self.context.load_verify_locations(world.authority.path)
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.base = "https://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.connections = self.requests = 0
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                if not connection.recv(1, socket.MSG_PEEK):
                    return  # the connection of `close`
                self.connections += 1
                with self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as secured:
                    secured.settimeout(60)
                    self.answer(secured)

    def answer(self, connection):
        try:
            connection.do_handshake()
        except ssl.SSLError:
            # A connection closed over unread bytes is reset, and then the client may lose the alert.
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
            return
        text = b""
        while b"grant_type" not in text and (more := connection.recv(65536)):
            text += more
        self.requests += 1
        body = json.dumps({"access_token": "AT", "token_type": "Bearer", "expires_in": 300}).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d"
                           b"\r\n\r\n" % len(body) + body)

    def close(self):
        with socket.create_connection(self.listener.getsockname()):
            pass
        self.thread.join(60)
        self.listener.close()


@contextlib.contextmanager
def judging(world, version):
    judge = Judge(world, version)
    try:
        yield judge
    finally:
        judge.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda version: version.name)
def test_a_refused_certificate_and_a_missing_one_have_error_numbers(plain, start, version):
    with judging(plain, version) as judge:
        cases = [(plain.registration("service", "stranger"), -1205), (plain.registration("pinned"), -1205)]
        if version == ssl.TLSVersion.TLSv1_3:  # earlier versions have no alert for a missing certificate
            cases.append(({"clientId": "service", "clientSecret": "s"}, -1206))
        for registration, number in cases:
            way = "tls_client_auth" if "certificate" in registration else "client_secret_post"
            front_end = started(start, plain, service(judge.base, clientAuthentication=way), registration, kinds=())
            data = refused(front_end)
            assert (data["reason"], data["networkCode"], data["retryable"]) == ("networkFailure", number, False)
        assert (judge.connections, judge.requests) == (len(cases), 0)
        # The control: a certificate of the authority.
        front_end = started(start, plain, service(judge.base), plain.registration("service"), kinds=())
        front_end.end(sign_in(front_end))
        assert judge.requests == 1


def test_a_certificate_of_another_key_is_refused_before_a_connection(plain, start):
    with judging(plain, ssl.TLSVersion.TLSv1_3) as judge:
        good = plain.registration("service")
        for flaw in ({"privateKey": plain.clients["native"].key.read_text()}, {"certificate": "none"},
                     {"certificate": good["certificate"] + good["privateKey"]}):
            front_end = started(start, plain, service(judge.base), {**good, **flaw}, kinds=())
            data = refused(front_end)
            assert (data["reason"], data["detail"]) == ("authenticatorUnconfigured", "certificate")
            assert front_end.refused("providers.configure", provider="oracle", **{**good, **flaw}) == data["reason"]
        assert judge.connections == 0
        # The control.
        front_end = started(start, plain, service(judge.base), good, kinds=())
        front_end.end(sign_in(front_end))
        assert judge.connections == 1
