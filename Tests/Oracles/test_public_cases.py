"""Cases from public bug reports of other programs that no table beside this one has: answers of providers, and a machine
with a proxy, a wrong clock or without a home folder.

    python -m pytest Tests/Oracles/test_public_cases.py
"""
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler

import jwt
import pytest

from front_end import FrontEnd
from front_end import provider as descriptor
from oracle import Server
from rotation import EINLASS
from test_answers import (  # noqa: F401
    DESCRIPTION, KEY, PAGE, REFRESH, TOKEN, add, body, error, front_end, provider, redirect, sign_in)

pytestmark = pytest.mark.usefixtures("built")


def signed_in(answer):
    assert not hasattr(answer, "code"), answer
    return answer.result["account"]


def with_issuer(usual, issuer):
    """Returns the token answer with another issuer in the id_token."""
    claims = jwt.decode(usual["id_token"], options={"verify_signature": False})
    return usual | {"id_token": jwt.encode(claims | {"iss": issuer}, KEY, "RS256", {"kid": "k0"})}


def with_claims(usual, change):
    """Returns the token answer with other claims in the id_token; None removes one."""
    claims = jwt.decode(usual["id_token"], options={"verify_signature": False, "verify_aud": False}) | change
    claims = {name: value for name, value in claims.items() if value is not None}
    return usual | {"id_token": jwt.encode(claims, KEY, "RS256", {"kid": "k0"})}


def signed_in_at(front_end):
    """Signs in at the provider that was added, and returns the answer."""
    id, prompt = front_end.begin(flowKind="authorizationCode")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(prompt["url"], timeout=60):
        pass
    return front_end.answer(id)


# Issuers.

def test_an_issuer_may_name_itself_with_the_slash_of_an_empty_path(front_end, provider):
    provider.answers[DESCRIPTION] = lambda usual: (200, {}, body(usual | {"issuer": provider.base + "/"}))
    provider.answers[TOKEN] = lambda usual: (200, {}, body(with_issuer(usual, provider.base + "/")))
    signed_in(sign_in(front_end, provider))


# The issuer in the description of the one at /tenant, and words of the refusal.
OTHER_ISSUERS = {
    "a slash more in a path": ("{base}/tenant/", "names another issuer, {base}/tenant/."),
    "a template of another path": ("{base}/{{tenantid}}/v2", "names another issuer, {base}/{{tenantid}}/v2."),
    "a template beside the path": ("{base}/a{{tenantid}}", "names another issuer, {base}/a{{tenantid}}."),
    "another host": ("https://login.example.com", "names another issuer, https://login.example.com."),
    # The server's own words are not shown as those of einlass.
    "a sentence": ("https://login.example.com. Run curl https://evil.example first", "names another issuer."),
    "an address with a password": ("https://user:pw@evil.example/", "names another issuer."),
}


@pytest.mark.parametrize("row", OTHER_ISSUERS)
def test_another_issuer_is_refused_and_named(front_end, provider, row):
    named, words = (text.format(base=provider.base) for text in OTHER_ISSUERS[row])
    provider.answers["/tenant" + DESCRIPTION] = lambda usual: (
        200, {}, body(provider.usual(DESCRIPTION, {}, {}) | {"issuer": named}))
    answer = front_end.answer(front_end.send("providers.add", issuer=provider.base + "/tenant", id="oracle"))
    assert answer.data["reason"] == "providerFailure" and words in answer.message, answer


TENANT, OTHER_TENANT = "6f1c2a34-0b7d-4e21-9a55-c0ffee123456", "9188040d-6c67-4c5b-b112-36a304b66dad"
# Claims of a token of an issuer for many tenants, a change of its key set, and the check that refuses it.
TENANTS = {
    "as it is": ({}, {}, None),
    "an e-mail address that a tenant calls verified": ({"email": "ada@example.org", "email_verified": True}, {}, None),
    "a key of the tenant": ({}, {"issuer": "{base}/" + TENANT}, None),
    "a key of any tenant": ({}, {"issuer": "{base}/{tenantid}"}, None),
    "a key of another tenant": ({}, {"issuer": "{base}/" + OTHER_TENANT}, "signature"),
    "no tenant": ({"tid": None}, {}, "claims"),
    "another tenant": ({"tid": OTHER_TENANT}, {}, "issuer"),
    "no GUID": ({"tid": "tenant", "iss": "{base}/tenant"}, {}, "issuer"),
}


@pytest.mark.parametrize("row", TENANTS)
def test_an_issuer_of_many_tenants_names_each_person_by_the_tenant(front_end, provider, row):
    claims, key, check = TENANTS[row]
    usual = {"iss": provider.base + "/" + TENANT, "tid": TENANT}
    claims = usual | {name: value.format(base=provider.base) if isinstance(value, str) else value
                      for name, value in claims.items()}
    key = {name: value.replace("{base}", provider.base) for name, value in key.items()}
    provider.answers["/common" + DESCRIPTION] = lambda usual: (
        200, {}, body(provider.usual(DESCRIPTION, {}, {}) | {"issuer": provider.base + "/{tenantid}"}))
    provider.answers["/jwks"] = lambda usual: (200, {}, body({"keys": [usual["keys"][0] | key]}))
    provider.answers[TOKEN] = lambda usual: (200, {}, body(with_claims(usual, claims)))
    front_end.call("providers.add", issuer=provider.base + "/common", id="oracle")
    front_end.call("providers.configure", provider="oracle", clientId="cid")
    answer = signed_in_at(front_end)
    if check:
        assert (answer.data["reason"], answer.data["detail"]) == ("verificationFailed", check), answer
        return
    account = front_end.call("accounts.list")["accounts"][0]
    assert account["subject"] == TENANT + "/1001" and answer.result.get("emailVerified") in (None, False)
    assert "/userinfo" not in [path for path, *_ in provider.log]


# The audiences of an id_token, the authorized party, and the check that refuses it with `audiences` and without it.
AUDIENCES = {
    "the client alone": (["cid"], None, None, None),
    "a further one": (["cid", "https://api.example.com"], None, None, "audience"),
    "a further one of the client": (["cid", "https://api.example.com"], "cid", None, None),
    "a further one of another": (["cid", "https://api.example.com"], "https://api.example.com", "audience", "audience"),
    "a foreign one": (["cid", "https://evil.example"], None, "audience", "audience"),
    "a foreign one of the client": (["cid", "https://evil.example"], "cid", "audience", None),
    "no client": (["https://api.example.com"], None, "audience", "audience"),
}


@pytest.mark.parametrize("row", AUDIENCES)
@pytest.mark.parametrize("named", [True, False])
def test_a_further_audience_is_trusted_if_the_descriptor_names_it(front_end, provider, row, named):
    audience, party, *checks = AUDIENCES[row]
    provider.answers[TOKEN] = lambda usual: (200, {}, body(with_claims(usual, {"aud": audience, "azp": party})))
    words = {"audiences": ["https://api.example.com"]} if named else {}
    front_end.call("providers.add", descriptor=descriptor({
        "kind": "authorizationCode", "authorize": {"method": "GET", "url": provider.base + "/authorize"},
        "token": {"method": "POST", "url": provider.base + "/token"}, "clientAuthentication": "none",
        "issuer": provider.base, "keySet": provider.base + "/jwks", "scopes": ["openid"], **words},
        {"id": "/sub", "required": ["id"]}))
    front_end.call("providers.configure", provider="oracle", clientId="cid")
    answer = signed_in_at(front_end)
    check = checks[0 if named else 1]
    assert (answer.data["detail"] if hasattr(answer, "code") else None) == check, answer


# Members of the token answer, and the scopes that the account then has.
SCOPES = {
    "a list": (["openid", "profile"], ["openid", "profile"]),
    "a text with commas": ("openid,profile", ["openid", "profile"]),
    "null": (None, ["openid", "profile", "email", "offline_access"]),
    "an object": ({}, ["openid", "profile", "email", "offline_access"]),
}


@pytest.mark.parametrize("row", SCOPES)
def test_the_scopes_of_a_token_are_read_in_each_spelling(front_end, provider, row):
    scope, scopes = SCOPES[row]
    provider.answers[TOKEN] = lambda usual: (200, {}, body(usual | {"scope": scope}))
    account = signed_in(sign_in(front_end, provider))
    assert front_end.call("credentials.get", account=account)["credential"]["scopes"] == scopes


# `expires_in` and other members of a token answer, each beside a good token.
HARMLESS = {
    **{f"expires_in {value!r}": {"expires_in": value}
       for value in ("3600", "3599.7", None, 0, -1, "", "never", 1e11, True, {})},
    "an error that is null": {"error": None, "error_description": None},
    "an error that is empty": {"error": "", "error_description": ""},
    "an access token with the signs of base64": {"access_token": "a+/b=="},
    "an access token of 12 kB": {"access_token": 12000 * "a"},
}


@pytest.mark.parametrize("row", HARMLESS)
def test_a_harmless_member_of_a_token_answer_does_not_end_the_sign_in(front_end, provider, row):
    provider.answers[TOKEN] = lambda usual: (201, {}, body(usual | HARMLESS[row]))
    account = signed_in(sign_in(front_end, provider))
    assert front_end.token(account) == HARMLESS[row].get("access_token", "at")


def test_a_descriptor_sends_the_client_id_under_another_name_too(tmp_path, provider):
    seen = []
    usual = provider.usual

    def noting(path, query, form):
        if path in ("/authorize", "/token"):
            seen.append((query or form)["client_key"])
        return usual(path, query, form)

    provider.usual = noting
    more = {"client_key": "{clientId}"}
    words = descriptor(
        {"kind": "authorizationCode", "authorize": {"method": "GET", "url": provider.base + "/authorize", "query": more},
         "redirect": {}, "token": {"method": "POST", "url": provider.base + "/token", "form": more},
         "clientAuthentication": "none"}, None)
    words.pop("identity")
    front_end = FrontEnd(tmp_path, words, {"clientId": "cid"})
    id, prompt = front_end.begin()
    open_page(prompt["url"])
    signed_in(front_end.answer(id))
    assert seen == ["cid", "cid"]
    front_end.close()


def open_page(url):
    subprocess.run(["curl", "-sSL", "--noproxy", "*", "-o", "/dev/null", url], check=True, timeout=60)


def test_a_device_code_whose_answer_names_no_lifetime_is_called_so(front_end, provider):
    provider.answers["/device"] = lambda usual: (200, {}, body({name: usual[name] for name in usual if name != "expires_in"}))
    add(front_end, provider)
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", flowKind="deviceCode"))
    assert "expires_in" in answer.message and "later" not in answer.message, answer


# Refreshes.

DEAD = {"error": "interaction_required", "error_codes": [70043],
        "error_description": "AADSTS70043: The refresh token has expired or is invalid due to sign-in frequency checks."}


def test_the_sign_in_frequency_of_a_built_in_provider_asks_for_a_sign_in(tmp_path, provider):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"origins": {"https://login.microsoftonline.com": provider.base,
                                              "https://graph.microsoft.com": provider.base}}))
    config.chmod(0o600)
    front_end = FrontEnd(tmp_path, None, None, options=("--config", str(config)))
    front_end.call("providers.configure", provider="microsoft", clientId="cid")
    account = front_end.call("accounts.add", provider="microsoft", username="ada", credential={
        "type": "oauth2", "token": "at", "refreshToken": "rt", "clientId": "cid", "expiresAt": 1})["account"]
    front_end.call("access.set", provider="microsoft", state="granted")
    provider.answers["/common/oauth2/v2.0/token"] = error(400, DEAD)
    answer = front_end.answer(front_end.send("credentials.get", account=account))
    assert answer.data["reason"] == "reloginNeeded" and answer.data["serverError"]["code"] == "interaction_required", answer
    assert answer.data["next"][0]["method"] == "accounts.signIn"
    assert front_end.health(account) == "reloginNeeded"
    front_end.close()


# The first answer to a refresh, and whether the refreshing goes on.
PORTALS = {
    "a redirect": (redirect("http://portal.example/login", 302), True),
    "a page": (lambda usual: (200, {"Content-Type": "text/html"}, PAGE), True),
    "503": (error(503, {}), True),
    "the provider's refusal": (error(400, {"error": "invalid_grant"}), False),
}


def refreshes(front_end, provider, count):
    """Moves the clock until the provider has been asked so often."""
    for _ in range(200):
        if [kind for _, kind, _ in provider.log].count("refresh_token") >= count:
            return
        front_end.call("test.advanceClock", seconds=60)
        time.sleep(0.01)
    pytest.fail("the token is not refreshed")


@pytest.mark.parametrize("row", PORTALS)
def test_the_refresh_without_a_request_goes_on_after_a_network_in_the_way(tmp_path, provider, row):
    front_end = FrontEnd(tmp_path, None, None, options=("--test",))
    account = signed_in(sign_in(front_end, provider))
    assert front_end.token(account) == "at"

    provider.answers[REFRESH], goes_on = PORTALS[row]
    front_end.call("test.advanceClock", seconds=3480)
    refreshes(front_end, provider, 1)
    if goes_on:
        provider.answers[REFRESH] = lambda usual: (200, {}, body(usual | {"access_token": "new"}))
        refreshes(front_end, provider, 2)
        assert front_end.token(account) == "new" and front_end.health(account) == "ok"
    else:
        assert front_end.until("credentials.refreshFailed")["account"] == account
    front_end.close()


# A front end that is killed.

def test_a_front_end_that_ends_during_a_sign_in_leaves_its_port(tmp_path, provider):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    front_end = FrontEnd(tmp_path, None, None)
    front_end.call("providers.add", issuer=provider.base, id="oracle")
    front_end.call("providers.configure", provider="oracle", clientId="cid", redirect=f"http://127.0.0.1:{port}/callback")
    id, _ = front_end.begin()
    socket.create_connection(("127.0.0.1", port), timeout=60).close()
    front_end.process.stdin.close()
    answer = front_end.answer(id)
    assert (answer.code, answer.data["by"]) == (-32800, "endOfInput")
    assert front_end.process.wait(timeout=60) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=60)
    front_end.process.stdout.close()


# A clock that is not the provider's.

# The seconds by which the provider is ahead, and words of the refusal; None for a sign-in.
CLOCKS = {300: None, -300: None, 3 * 3600 + 60: "clock is 3 hours behind", -3 * 3600 - 60: "clock is 3 hours ahead of",
          2 * 365 * 86400: "behind", -20 * 365 * 86400: "ahead of"}


@pytest.mark.parametrize("seconds", CLOCKS)
def test_a_small_difference_of_the_clocks_is_borne_and_a_large_one_is_named(front_end, provider, seconds):
    def token(usual):
        claims = jwt.decode(usual["id_token"], options={"verify_signature": False})
        claims |= {name: claims[name] + seconds for name in ("iat", "exp")}
        return 200, {}, body(usual | {"id_token": jwt.encode(claims, KEY, "RS256", {"kid": "k0"})})

    provider.answers[TOKEN] = token
    provider.server.RequestHandlerClass.date_time_string = lambda handler, moment=None: formatdate(
        time.time() + seconds, usegmt=True)
    answer = sign_in(front_end, provider)
    if CLOCKS[seconds] is None:
        signed_in(answer)
    else:
        assert CLOCKS[seconds] in answer.message and "127.0.0.1" in answer.message, answer


# A machine with a proxy, or without a home folder.

class Proxy:
    """A proxy that answers each CONNECT with a status, and keeps its target and its name and password."""

    def __init__(self, status="502 Bad Gateway"):
        self.asked = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.place = "127.0.0.1:%d" % self.server.getsockname()[1]
        self.status = status
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(4096)
                lines = head.decode().split("\r\n")
                authorization = [line.split(": ")[1] for line in lines if line.lower().startswith("proxy-authorization")]
                self.asked.append((lines[0].split(" ")[1], *authorization))
                connection.sendall(f"HTTP/1.1 {self.status}\r\nProxy-Authenticate: Basic realm=\"a\"\r\n"
                                   "Content-Length: 0\r\n\r\n".encode())


@pytest.fixture
def proxy():
    proxy = Proxy()
    yield proxy
    if proxy.server.fileno() >= 0:
        proxy.server.shutdown(socket.SHUT_RDWR)
        proxy.server.close()


def call(method, variables, *options, **params):
    """Returns the answer of a process with these variables alone."""
    done = subprocess.run(
        [EINLASS, *options, "call", method, json.dumps(params)], capture_output=True, text=True, timeout=60,
        env={"PATH": os.environ["PATH"], **variables})
    return json.loads(done.stdout)


def add_elsewhere(variables):
    return call("providers.add", variables, "--store", "memory", issuer="https://login.example.invalid")["error"]


TARGET = "login.example.invalid:443"
# The variables, and the requests of the proxy.
VARIABLES = {
    "in capitals": ({"HTTPS_PROXY": "http://{proxy}"}, [(TARGET,)]),
    "in small letters": ({"https_proxy": "http://{proxy}"}, [(TARGET,)]),
    "for all schemes": ({"ALL_PROXY": "http://{proxy}"}, [(TARGET,)]),
    "without a scheme": ({"https_proxy": "{proxy}"}, [(TARGET,)]),
    "with an empty one in small letters": ({"https_proxy": "", "HTTPS_PROXY": "http://{proxy}"}, [(TARGET,)]),
    "with a name and an encoded password": (
        {"https_proxy": "http://user:p%40ss@{proxy}"}, [(TARGET, "Basic dXNlcjpwQHNz")]),
    "with an exception below a domain": ({"https_proxy": "http://{proxy}", "NO_PROXY": ".example.invalid"}, []),
    "with an exception for all": ({"https_proxy": "http://{proxy}", "NO_PROXY": "*"}, []),
    "with exceptions between blanks": (
        {"https_proxy": "http://{proxy}", "NO_PROXY": "10.0.0.0/8 , login.example.invalid"}, []),
    "with an exception of a star and a domain": (
        {"https_proxy": "http://{proxy}", "NO_PROXY": "*.example.invalid"}, []),
    "with an exception for the port": (
        {"https_proxy": "http://{proxy}", "NO_PROXY": "login.example.invalid:443"}, []),
    "with an exception for another port": (
        {"https_proxy": "http://{proxy}", "NO_PROXY": "login.example.invalid:8443"}, [(TARGET,)]),
    "for http alone": ({"http_proxy": "http://{proxy}", "HTTP_PROXY": "http://{proxy}"}, []),
}


@pytest.mark.parametrize("row", VARIABLES)
def test_the_variables_of_proxies_are_read_as_curl_reads_them(proxy, row):
    variables, asked = VARIABLES[row]
    failure = add_elsewhere({name: value.format(proxy=proxy.place) for name, value in variables.items()})
    assert proxy.asked == asked and failure["data"]["reason"] == "networkFailure"
    assert ("proxy" in failure["message"]) == bool(asked), failure


def test_a_proxy_that_wants_a_name_and_a_password_is_told_from_one_that_refuses(proxy):
    variables = {"https_proxy": f"http://{proxy.place}"}
    failure = add_elsewhere(variables)
    assert "refused" in failure["message"] and failure["data"]["retryable"]
    proxy.status = "403 Forbidden"
    assert not add_elsewhere(variables)["data"]["retryable"]
    proxy.status = "407 Proxy Authentication Required"
    failure = add_elsewhere(variables)
    assert "wants a name and a password" in failure["message"] and not failure["data"]["retryable"]
    assert "proxy" in failure["data"]["next"][0]["label"]


def test_a_proxy_that_is_down_is_the_cause_and_not_the_server(proxy):
    proxy.server.shutdown(socket.SHUT_RDWR)
    proxy.server.close()
    failure = add_elsewhere({"https_proxy": f"http://{proxy.place}"})
    assert failure["message"].startswith("The proxy for login.example.invalid does not accept"), failure
    assert failure["data"]["retryable"] and "proxy" in failure["data"]["next"][0]["label"]


# A server with a certificate of an authority that the system does not know.

@pytest.fixture
def secure(tmp_path):
    """The address of a server, and its certificate, which is its own authority."""
    certificate, key = str(tmp_path / "authority.pem"), str(tmp_path / "authority.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                    "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield f"https://localhost:{server.server_port}", certificate
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
def test_an_authority_of_a_variable_is_not_trusted_and_the_next_step_says_so(secure, variable):
    issuer, certificate = secure
    failure = call("providers.add", {variable: certificate}, "--store", "memory", issuer=issuer)["error"]
    assert failure["data"]["networkCode"] == -1203, failure
    assert "caFile" in failure["data"]["next"][0]["label"] and "SSL_CERT_FILE" in failure["data"]["next"][0]["label"]


def test_a_certificate_of_the_network_in_the_way_of_a_refresh_is_no_end(secure, tmp_path):
    place, _ = secure
    words = descriptor(
        {"kind": "authorizationCode", "authorize": {"method": "GET", "url": place + "/authorize"}, "redirect": {},
         "token": {"method": "POST", "url": place + "/token"}, "refresh": {}, "clientAuthentication": "none"}, None)
    words.pop("identity")
    front_end = FrontEnd(tmp_path, words, {"clientId": "cid"})
    account = front_end.call("accounts.add", provider="oracle", username="ada", credential={
        "type": "oauth2", "token": "at", "refreshToken": "rt", "clientId": "cid", "expiresAt": 1})["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    failure = front_end.answer(front_end.send("credentials.get", account=account))
    assert failure.data["networkCode"] == -1203 and failure.data["retryable"], failure
    assert front_end.health(account) == "ok"
    front_end.close()


@pytest.mark.parametrize("content", ["missing", "folder", "junk", "the authority (the control)"])
def test_a_file_of_authorities_that_cannot_be_read_is_named(secure, tmp_path, content):
    issuer, certificate = secure
    file, config = tmp_path / "ca.pem", tmp_path / "config.json"
    if content == "folder":
        file.mkdir()
    elif content != "missing":
        file.write_text(content if content == "junk" else (tmp_path / "authority.pem").read_text())
    config.write_text(json.dumps({"caFile": str(file)}))
    config.chmod(0o600)
    failure = call("providers.add", {}, "--store", "memory", "--config", str(config), issuer=issuer)["error"]
    # The server answers every request with 501.
    is_good = content.endswith("(the control)")
    assert (str(file) in failure["message"]) != is_good, failure
    assert (failure["data"]["reason"] == "networkFailure") != is_good, failure


# HOME, whether accounts can be read, and words of the refusal.
HOMES = {
    "unset": ({}, False, "HOME is not set"),
    "empty": ({"HOME": ""}, False, "HOME is not set"),
    "a relative path": ({"HOME": "x"}, False, "HOME is not an absolute path"),
    "a folder that cannot be made": ({"HOME": "/proc/nobody"}, True, "/proc/nobody"),
}


@pytest.mark.parametrize("row", HOMES)
def test_without_a_usable_home_folder_a_change_names_the_cause(row):
    variables, reads, words = HOMES[row]
    listed = call("accounts.list", variables)
    assert ("result" in listed) == reads
    changed = call("accounts.add", variables, provider="github", username="ada", credential={
        "type": "oauth2", "token": "t", "clientId": "c"})["error"]
    for failure in [changed] if reads else [listed["error"], changed]:
        assert failure["data"]["reason"] == "accountStoreFailure" and words in failure["message"], failure
        assert failure["data"]["next"]
