"""Documents, keys and answers of real providers that differ from the standards, each served to a whole sign-in. Those
that can do no harm are taken, and those that can are refused.

    python -m pytest Tests/Oracles/test_real_answers.py
"""
import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from browser import Visitor
from front_end import bring_back

pytestmark = pytest.mark.usefixtures("built")

KEY, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
WITHOUT = object()
DESCRIPTION, OAUTH = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"


def public(key=KEY, **members):
    """Returns a key of a key set with these members; `WITHOUT` removes one."""
    algorithm = jwt.algorithms.RSAAlgorithm
    members = {"kid": "k0", "use": "sig", "alg": "RS256"} | members
    return changed({name: algorithm.to_jwk(key.public_key(), as_dict=True)[name] for name in ("kty", "n", "e")}, members)


def changed(members, changes):
    return {name: value for name, value in (members | changes).items() if value is not WITHOUT}


def padded(text):
    """Returns a base64url text as base64 with padding."""
    return text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)


def unsigned(claims):
    """Returns a token of these claims with the algorithm none."""
    parts = [json.dumps({"alg": "none"}).encode(), json.dumps(claims).encode()]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


class Provider:
    """An OpenID provider, with the changes of a row: `metadata`, `keys`, `claims` and `header` of the id_token, `token`
    (the members of the token answer), `userinfo` (status, type, body) and `places` (path: JSON)."""

    person = {"sub": "1001", "name": "Ada Lovelace", "preferred_username": "ada", "email": "ada@example.org"}

    def __init__(self, row):
        self.row, self.nonce, self.asked = row, None, []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                split = urlsplit(self.path)
                status, kind, text = provider.answer(split.path, dict(parse_qsl(split.query)), body)
                self.send_response(status)
                self.send_header("Location" if status == 302 else "Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def metadata(self):
        usual = {"issuer": self.base, "scopes_supported": ["openid", "profile", "email", "offline_access"],
                 "code_challenge_methods_supported": ["S256"], "id_token_signing_alg_values_supported": ["RS256"],
                 "subject_types_supported": ["public"], "jwks_uri": self.base + "/jwks"}
        usual |= {f"{name}_endpoint": f"{self.base}/{name.partition('_')[0]}"
                  for name in ("authorization", "token", "userinfo")}
        return changed(usual, self.row.get("metadata", {}))

    def id_token(self):
        now = int(time.time())
        claims = {"iss": self.base, "sub": "1001", "aud": "client", "iat": now, "exp": now + 300, "nonce": self.nonce,
                  "preferred_username": "ada of the id_token"}
        return jwt.encode(changed(claims, self.row.get("claims", {})), KEY, "RS256",
                          {"kid": "k0"} | self.row.get("header", {}))

    def answer(self, path, query, body):
        self.asked.append(path)
        if path in self.row.get("places", {}):
            return 200, "application/json", json.dumps(self.row["places"][path]).encode()
        if path == "/userinfo" and "userinfo" in self.row:
            status, kind, content = self.row["userinfo"]
            content = content(self.base) if callable(content) else content
            return status, kind, (content if isinstance(content, str) else json.dumps(content)).encode()
        if path == "/authorization":
            self.nonce = query.get("nonce")
            self.scope = query.get("scope")
            there = query["redirect_uri"] + "?" + urlencode({"code": "c", "state": query["state"]})
            return 302, there, b""
        token = {"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt",
                 "scope": "openid profile email"}
        known = {DESCRIPTION: self.metadata, "/userinfo": lambda: self.person,
                 "/jwks": lambda: {"keys": self.row.get("keys", [public()])},
                 "/token": lambda: changed(token | {"id_token": self.id_token()}, self.row.get("token", {}))}
        if path not in known:
            return 404, "text/plain", b""
        return 200, "application/json", json.dumps(known[path]()).encode()


@pytest.fixture
def serve():
    """Starts providers."""
    started = []

    def serve(row):
        started.append(Provider(row))
        return started[-1]

    yield serve
    for provider in started:
        provider.server.shutdown()
        provider.server.server_close()


def signed_person(**changes):
    """Returns a function that signs an answer about the person for an issuer."""
    return lambda base: jwt.encode(changed({"iss": base, "aud": "client", **Provider.person}, changes), KEY, "RS256",
                                   {"kid": "k0"})


SIGNED = "application/jwt; charset=utf-8"
CLAIMS = "ada of the id_token"
# The row, and the members that `providers.add` names as ignored, the user name, the status of `identityProblem`.
TAKEN = {
    "the description is as in the standards": {},
    "addresses of documents are no addresses": {"metadata": {"service_documentation": "TBD", "op_policy_uri": ""}},
    "a method is a text": {"metadata": {"token_endpoint_auth_methods_supported": "client_secret_post"}},
    "the scopes are a text": {"metadata": {"scopes_supported": "openid profile email"}},
    "the challenge method is a text": {"metadata": {"code_challenge_methods_supported": "S256"}},
    "an endpoint is empty": {"metadata": {"registration_endpoint": ""}, "ignored": ["registration_endpoint"]},
    "an endpoint is relative": {"metadata": {"introspection_endpoint": "/introspect"},
                                "ignored": ["introspection_endpoint"]},
    "a page to end the session is unsafe": {"metadata": {"end_session_endpoint": "http://example.com/end"},
                                            "ignored": ["end_session_endpoint"]},
    "every place answers with JSON": {"places": {OAUTH: {"error": "not_found"}}},
    "a key is listed twice": {"keys": [public(), public()]},
    "two keys have one id": {"keys": [public(OTHER), public()]},
    "the keys have no id": {"keys": [public(OTHER, kid=WITHOUT), public(kid=WITHOUT)]},
    "a key's id is a number": {"keys": [public(kid=7)], "header": {"kid": "7"}},
    "a key's members are null": {"keys": [public(alg=None, use=None, key_ops=None)]},
    "a key's algorithm is misspelt": {"keys": [public(alg="RSA256")]},
    "a key is base64 with padding": {"keys": [public(n=padded(public()["n"]))]},
    "the type of the token is null": {"token": {"token_type": None}},
    "the subject is a number": {"claims": {"sub": 1001}, "userinfo": (200, "application/json", {
        **Provider.person, "sub": 1001})},
    "the algorithms are missing": {"metadata": {"id_token_signing_alg_values_supported": WITHOUT}},
    "the keys are missing": {"metadata": {"jwks_uri": WITHOUT}, "hasIDToken": False},
    "the scopes are missing": {"metadata": {"scopes_supported": WITHOUT}},
    "claims are null": {"claims": {"azp": None, "nbf": None, "at_hash": None, "c_hash": None, "auth_time": None}},
    "the answer about the person is signed": {"userinfo": (200, SIGNED, signed_person())},
    "the signed answer ends with a line feed": {"userinfo": (200, SIGNED, lambda base: signed_person()(base) + "\n")},
    "the signed answer names neither issuer nor audience": {
        "userinfo": (200, SIGNED, signed_person(iss=WITHOUT, aud=WITHOUT))},
    "GET is not allowed": {"userinfo": (405, "text/plain", ""), "username": CLAIMS, "status": 405},
    "the format is not acceptable": {"userinfo": (406, "text/plain", ""), "username": CLAIMS, "status": 406},
    "the server fails": {"userinfo": (502, "text/html", "<html>"), "username": CLAIMS, "status": 502},
    "the answer about the person is a list": {"userinfo": (200, "application/json", [1]), "username": CLAIMS,
                                              "status": None},
}
# The row and the reason; "words" are in the message.
REFUSED = {
    "the person's token is refused": ({"userinfo": (401, "application/json", {"error": "invalid_token"})},
                                      "providerFailure"),
    "the person's token is not enough": ({"userinfo": (403, "text/plain", "")}, "providerFailure"),
    "the answer is about another person": ({"userinfo": (200, "application/json", {"sub": "1002"})},
                                           "verificationFailed"),
    "the signed answer is about another person": ({"userinfo": (200, SIGNED, signed_person(sub="1002"))},
                                                  "verificationFailed"),
    "the signed answer is for another client": ({"userinfo": (200, SIGNED, signed_person(aud="other"))},
                                                "verificationFailed"),
    "the signed answer is of another issuer": ({"userinfo": (200, SIGNED, signed_person(iss="https://example.com"))},
                                               "verificationFailed"),
    "the answer has another signature": ({"userinfo": (200, SIGNED, lambda base: jwt.encode(
        Provider.person, OTHER, "RS256", {"kid": "k0"}))}, "verificationFailed"),
    "the signed answer has no signature": ({"userinfo": (200, SIGNED, lambda base: unsigned(Provider.person))},
                                           "verificationFailed"),
    "no key is the right one": ({"keys": [public(OTHER), public(OTHER, kid=WITHOUT)]}, "verificationFailed"),
    "the key is for another algorithm": ({"keys": [public(alg="RS512")]}, "verificationFailed"),
    "the key is for encryption": ({"keys": [public(use="enc")]}, "verificationFailed"),
    "the header's extensions are null": ({"header": {"crit": None}}, "verificationFailed"),
    "the subject has an exponent": ({"claims": {"sub": 1e30}}, "verificationFailed"),
    "the audience is null": ({"claims": {"aud": None}}, "verificationFailed"),
    "several audiences, and no azp": ({"claims": {"aud": ["client", "https://example.com"]},
                                       "words": "its only audience"}, "verificationFailed"),
}
NOT_ADDED = {
    "code_challenge_methods_supported": {"code_challenge_methods_supported": 7},
    "authorization_response_iss_parameter_supported": {"authorization_response_iss_parameter_supported": "yes"},
    "require_pushed_authorization_requests": {"require_pushed_authorization_requests": "true"},
    "require_signed_request_object": {"require_signed_request_object": True},
    "id_token_signing_alg_values_supported": {"id_token_signing_alg_values_supported": ["none"]},
    "authorization_endpoint": {"authorization_endpoint": WITHOUT},
    "token_endpoint": {"token_endpoint": "/token"},
    "jwks_uri": {"jwks_uri": "http://example.com/jwks"},
}


def begun(row, serve, start):
    """Adds the provider of a row, sends a browser through the sign-in, and returns the front end with the answer."""
    provider = serve(row)
    front_end = start(None, {"clientId": "client", "redirect": "http://127.0.0.1/callback"})
    added = front_end.call("providers.add", issuer=provider.base, id="oracle")
    assert added == {"provider": "oracle", "created": True,
                     **({"ignored": row["ignored"]} if "ignored" in row else {})}
    id, prompt = front_end.begin()
    bring_back(Visitor().open(prompt["url"]))
    return provider, front_end, front_end.answer(id)


@pytest.mark.parametrize("name", TAKEN)
def test_an_answer_that_does_no_harm_is_taken(name, serve, start):
    row = TAKEN[name]
    provider, front_end, answer = begun(row, serve, start)
    assert not hasattr(answer, "code"), answer
    account, = front_end.call("accounts.list")["accounts"]
    assert (account["username"], account["subject"]) == (row.get("username", "ada"), "1001")
    assert set(provider.scope.split()) >= {"openid", "profile", "email"}
    problem = answer.result.get("identityProblem")
    assert (problem is not None) == ("status" in row)
    if problem is not None:
        assert problem["reason"] == "providerFailure" and str(row["status"] or "") in problem["message"]
    front_end.call("access.set", provider="oracle", state="granted")
    credential = front_end.call("credentials.get", account=account["account"])["credential"]
    assert ("idToken" in credential) == row.get("hasIDToken", True)


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_can_do_harm_ends_the_sign_in(name, serve, start):
    row, reason = REFUSED[name]
    _, front_end, answer = begun(row, serve, start)
    assert answer.data["reason"] == reason, answer
    assert row.get("words", "") in answer.message
    assert front_end.call("accounts.list")["accounts"] == []


@pytest.mark.parametrize("name", NOT_ADDED)
def test_a_description_that_promises_too_little_is_refused_by_name_before_a_page(name, serve, start):
    provider = serve({"metadata": NOT_ADDED[name]})
    front_end = start(None, None)
    id = front_end.send("providers.add", issuer=provider.base)
    answer = front_end.answer(id)
    assert answer.data["reason"] == "providerFailure" and name in answer.message, answer
    assert "operator" in answer.data["next"][0]["label"]
    assert "/authorization" not in provider.asked


@pytest.mark.parametrize("changes, says", [({"refresh_token": WITHOUT}, True), ({"refresh_token": None}, True), ({}, False)])
def test_a_forced_refresh_without_a_refresh_token_says_that_a_sign_in_brings_one(changes, says, serve, start):
    provider, front_end, answer = begun({"token": changes}, serve, start)
    front_end.call("access.set", provider="oracle", state="granted")
    account = answer.result["account"]
    answer = front_end.answer(front_end.send("credentials.get", account=account, forceRefresh=True))
    # The control: with a refresh token the provider is asked.
    assert provider.asked.count("/token") == (1 if says else 2)
    if says:
        assert (answer.data["reason"], answer.data["detail"]) == ("reloginNeeded", "notRenewable")
        assert "A new sign-in brings a refresh token" in answer.message
        step = answer.data["next"][0]
        assert (step["method"], step["params"]) == ("accounts.signIn", {"account": account, "provider": "oracle"})
