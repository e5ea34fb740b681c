"""Answers that real servers give, from public bug reports: a table over a provider whose every answer a row replaces.

    python -m pytest Tests/Oracles/test_answers.py
"""
import base64
import gzip
import hashlib
import json
import re
import threading
import time
import urllib.parse
import urllib.request
import zlib
from http.server import BaseHTTPRequestHandler

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from front_end import FrontEnd
from oracle import Server

pytestmark = pytest.mark.usefixtures("built")
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
MARK = b"\xef\xbb\xbf"
PAGE = b"<!DOCTYPE html><html><body>Welcome to the hotel</body></html>"


def body(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def compressed(value):
    """Returns the answer with gzip, as a content delivery network sends it to everybody."""
    return 200, {"Content-Encoding": "gzip"}, gzip.compress(body(value))


class Provider:
    """An OpenID provider. `answers` has a function by path: of the usual answer, to (status, headers, body)."""

    def __init__(self):
        self.answers, self.codes, self.log = {}, {}, []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 60

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                self.answer({})

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self.answer(dict(urllib.parse.parse_qsl(text)))

            def answer(self, form):
                path, _, query = self.path.partition("?")
                provider.log.append((path, form.get("grant_type"), self.headers.get("Accept-Encoding")))
                status, headers, content = provider.answer(path, dict(urllib.parse.parse_qsl(query)), form)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": len(content), **headers}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(content)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path, query, form):
        usual = self.usual(path, query, form)
        for name in (path, f"{path} {form.get('grant_type')}"):
            if name in self.answers:
                return self.answers[name](usual)
        if usual is None:
            return 404, {}, b"{}"
        return usual if isinstance(usual, tuple) else (200, {}, body(usual))

    def usual(self, path, query, form):
        if path == "/authorize":
            code = hashlib.sha256(self.base.encode() + str(len(self.log)).encode()).hexdigest()
            self.codes[code] = query.get("nonce")
            place = query["redirect_uri"] + "?" + urllib.parse.urlencode({"code": code, "state": query["state"]})
            return 302, {"Location": place}, b""
        if path == "/token":
            answer = {"access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt",
                      "scope": "openid profile email"}
            if form.get("grant_type") != "refresh_token":
                now = int(time.time())
                claims = {"iss": self.base, "sub": "1001", "aud": "cid", "iat": now, "exp": now + 300}
                claims |= {"nonce": self.codes[form["code"]]} if "code" in form else {}
                answer["id_token"] = jwt.encode(claims, KEY, "RS256", {"kid": "k0"})
            return answer
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.base, "authorization_endpoint": self.base + "/authorize",
                "token_endpoint": self.base + "/token", "userinfo_endpoint": self.base + "/userinfo",
                "jwks_uri": self.base + "/jwks", "device_authorization_endpoint": self.base + "/device",
                "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
                "scopes_supported": ["openid", "profile", "email", "offline_access"],
                "token_endpoint_auth_methods_supported": ["none"]},
            "/jwks": {"keys": [jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k0", "use": "sig"}]},
            "/userinfo": {"sub": "1001", "name": "Ada Lovelace", "preferred_username": "ada", "email": "ada@example.org"},
            "/device": {"device_code": "d", "user_code": "WDJB", "verification_uri": self.base + "/go", "expires_in": 60,
                        "interval": 1},
        }.get(path)


@pytest.fixture
def provider():
    provider = Provider()
    yield provider
    provider.close()


@pytest.fixture
def front_end(tmp_path):
    with (tmp_path / "log").open("w") as log:
        front_end = FrontEnd(
            tmp_path, None, None, kinds=("openURL", "deviceCode"), options=("--log-level", "debug"), log=log)
        yield front_end
        front_end.close()


def add(front_end, provider):
    """Adds the provider, and returns the refusal; None for a success."""
    answer = front_end.answer(front_end.send("providers.add", issuer=provider.base, id="oracle"))
    if hasattr(answer, "code"):
        return answer
    front_end.call("providers.configure", provider="oracle", clientId="cid")
    return None


def sign_in(front_end, provider):
    """Signs in, and returns the answer."""
    refusal = add(front_end, provider)
    if refusal:
        return refusal
    id, prompt = front_end.begin(flowKind="authorizationCode")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(prompt["url"], timeout=60):
        pass
    answer = front_end.answer(id)
    if not hasattr(answer, "code"):
        front_end.call("access.set", provider="oracle", state="granted")
    return answer


DESCRIPTION, KEYS, TOKEN, REFRESH = (
    "/.well-known/openid-configuration", "/jwks", "/token", "/token refresh_token")


def redirect(place, status=301):
    return lambda usual: (status, {"Location": place}, b"")


def chain(provider, path, count):
    """Puts the answer of a path behind redirects of each kind: absolute, from the root, and relative."""
    places = [f"{provider.base}/hop1", "/hop2", "hop3", "/hop4"][:count]
    paths = [path, "/hop1", "/hop2", "/hop3", "/hop4"]
    usual = provider.usual(path, {}, {})
    for step, place in enumerate(places):
        provider.answers[paths[step]] = redirect(place, [301, 302, 303, 307][step])
    provider.answers[paths[count]] = lambda _: (200, {}, body(usual))


SIGNED_IN = {
    "compressed with gzip": lambda usual: compressed(usual),
    "compressed with deflate": lambda usual: (200, {"Content-Encoding": "deflate"}, zlib.compress(body(usual))),
    "with a byte order mark": lambda usual: (200, {}, MARK + body(usual)),
    "compressed, with a byte order mark": lambda usual: (
        200, {"Content-Encoding": "gzip"}, gzip.compress(MARK + body(usual))),
}


@pytest.mark.parametrize("place", [DESCRIPTION, KEYS, TOKEN, "/userinfo"])
@pytest.mark.parametrize("how", SIGNED_IN)
def test_an_answer_that_other_clients_read_is_read(front_end, provider, place, how):
    provider.answers[place] = SIGNED_IN[how]
    answer = sign_in(front_end, provider)
    assert not hasattr(answer, "code"), answer
    assert front_end.call("accounts.list")["accounts"][0]["displayName"] == "Ada Lovelace"
    # Compressed answers are not asked for.
    assert {encoding for path, _, encoding in provider.log if path != "/authorize"} == {"identity"}


@pytest.mark.parametrize("place", [DESCRIPTION, KEYS])
@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_document_is_read_behind_at_most_three_redirects(front_end, provider, place, count):
    chain(provider, place, count)
    answer = sign_in(front_end, provider)
    assert hasattr(answer, "code") == (count == 4)
    if count == 4:
        assert "redirects" in answer.message and "later" not in answer.message and not answer.data["retryable"]


@pytest.mark.parametrize("place", [DESCRIPTION, KEYS])
def test_a_redirect_to_another_origin_is_named_and_not_followed(front_end, provider, place):
    other = Provider()
    try:
        provider.answers[place] = redirect(other.base + place, 302)
        answer = sign_in(front_end, provider)
        assert "redirects to 127.0.0.1" in answer.message
        assert other.log == []
    finally:
        other.close()


@pytest.mark.parametrize("place", [TOKEN, "/userinfo"])
def test_a_redirect_of_a_request_with_secrets_is_named_and_not_followed(front_end, provider, place):
    provider.answers[place] = redirect("/hop", 307)
    answer = sign_in(front_end, provider)
    assert "redirects" in answer.message, answer
    assert "/hop" not in [path for path, _, _ in provider.log]


REFUSED = {
    "compressed with br": (TOKEN, lambda usual: (200, {"Content-Encoding": "br"}, b"\x0b\x02\x80{}\x03"),
                           "is compressed with br"),
    "compressed twice": (TOKEN, lambda usual: (
        200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(body(usual)))), "compressed with gzip, gzip"),
    "another type of token": (TOKEN, lambda usual: (200, {}, body(usual | {"token_type": "BearerToken"})),
                              "token_type is BearerToken"),
    "without a token": (TOKEN, lambda usual: (200, {}, body({"token_type": "Bearer"})), "lacks access_token"),
    "a name twice": (TOKEN, lambda usual: (200, {}, b'{"access_token":"a","access_token":"b"}'),
                     "has the name access_token twice"),
    "a page": (TOKEN, lambda usual: (200, {"Content-Type": "text/html"}, PAGE), "is a web page"),
    "a page as key set": (KEYS, lambda usual: (200, {"Content-Type": "text/html"}, PAGE), "is a web page"),
    "a page as description": (DESCRIPTION, lambda usual: (200, {"Content-Type": "text/html"}, PAGE), "is a web page"),
    "a name twice in a description": (DESCRIPTION, lambda usual: (200, {}, b'{"issuer":"a","issuer":"a"}'),
                                      "has the name issuer twice"),
}


@pytest.mark.parametrize("row", REFUSED)
def test_a_refused_answer_is_called_what_it_is(front_end, provider, row):
    place, change, words = REFUSED[row]
    provider.answers[place] = change
    answer = sign_in(front_end, provider)
    assert words in answer.message, answer
    assert "later" not in answer.message and not answer.data["retryable"]


@pytest.mark.parametrize("type", ["Bearer ", "", "bearer", "BEARER"])
def test_spellings_of_bearer_are_read(front_end, provider, type):
    provider.answers[TOKEN] = lambda usual: (200, {}, body(usual | {"token_type": type}))
    assert not hasattr(sign_in(front_end, provider), "code")


def test_a_bomb_of_a_thousand_to_one_is_cut_at_the_limit(front_end, provider):
    bomb = gzip.compress(bytes(64 << 20), 9)
    assert len(bomb) < (64 << 20) / 1000
    provider.answers[TOKEN] = lambda usual: (200, {"Content-Encoding": "gzip"}, bomb)
    answer = sign_in(front_end, provider)
    assert (answer.data["reason"], answer.data["networkCode"]) == ("networkFailure", -1103)


# Refreshes.

def error(status, content, headers=()):
    return lambda usual: (status, {"Content-Type": "application/json", **dict(headers)}, body(content))


PAGE_HEADERS = {"Content-Type": "text/html"}
# For each answer to a refresh: the reason, whether it is retryable, the health, and the code or text that is shown.
REFRESHES = {
    "invalid_grant": (error(400, {"error": "invalid_grant"}), "reloginNeeded", False, "reloginNeeded", "invalid_grant"),
    "Entra's sign-in frequency": (
        error(400, {"error": "interaction_required", "error_description": "AADSTS70043: The refresh token has expired."}),
        "reloginNeeded", False, "reloginNeeded", "interaction_required"),
    "login_required": (error(400, {"error": "login_required"}), "reloginNeeded", False, "reloginNeeded", "login_required"),
    "consent_required": (
        error(400, {"error": "consent_required"}), "reloginNeeded", False, "reloginNeeded", "consent_required"),
    "Fitbit's shape": (error(401, {"errors": [{"errorType": "invalid_grant", "message": "Refresh token invalid"}]}),
                       "reloginNeeded", False, "reloginNeeded", "invalid_grant"),
    "a dead token as invalid_request": (
        error(400, {"error": "invalid_request", "error_description": "Invalid refresh token"}),
        "reloginNeeded", False, "refreshRefused", "invalid_request"),
    "a dead token as 401 invalid_token": (
        error(401, {"error": "invalid_token"}), "reloginNeeded", False, "refreshRefused", "invalid_token"),
    "an object as error": (error(400, {"error": {"code": "TOKEN_DEAD", "message": "It is over."}}),
                           "reloginNeeded", False, "refreshRefused", "TOKEN_DEAD"),
    "a problem document": (
        error(403, {"type": "about:blank", "title": "Forbidden", "detail": "Session ended", "status": 403}),
        "reloginNeeded", False, "refreshRefused", "Session ended"),
    "a text": (error(403, {"message": "No session"}), "reloginNeeded", False, "refreshRefused", "No session"),
    "invalid_client": (error(401, {"error": "invalid_client"}), "authenticatorUnconfigured", False, "ok", "invalid_client"),
    "503 with invalid_grant": (error(503, {"error": "invalid_grant"}), "providerFailure", True, "ok", "invalid_grant"),
    "500 with invalid_client": (error(500, {"error": "invalid_client"}), "providerFailure", True, "ok", "invalid_client"),
    "a portal's redirect": (redirect("http://portal.example/login", 302), "providerFailure", True, "ok", None),
    "a portal's page": (lambda usual: (200, PAGE_HEADERS, PAGE), "providerFailure", True, "ok", None),
    "a portal's refusal": (lambda usual: (403, PAGE_HEADERS, PAGE), "providerFailure", True, "ok", None),
    "408": (error(408, {"error": "timeout"}), "providerFailure", True, "ok", "timeout"),
    "a proxy's 404": (lambda usual: (404, {"Content-Type": "text/plain"}, b"404 page not found"),
                      "providerFailure", True, "ok", "404 page not found"),
    "a proxy's 403": (lambda usual: (403, {"Content-Type": "text/plain"}, b"Forbidden"),
                      "providerFailure", True, "ok", "Forbidden"),
    "a text of the provider": (lambda usual: (400, {"Content-Type": "text/plain"}, b"Invalid refresh token"),
                               "reloginNeeded", False, "refreshRefused", "Invalid refresh token"),
    "511": (lambda usual: (511, PAGE_HEADERS, PAGE), "providerFailure", True, "ok", None),
}


@pytest.mark.parametrize("row", REFRESHES)
def test_each_answer_to_a_refresh_has_its_consequence(front_end, provider, row):
    change, reason, retryable, health, said = REFRESHES[row]
    account = sign_in(front_end, provider).result["account"]
    provider.answers[REFRESH] = change
    ask = {"account": account, "minValiditySeconds": 7200}
    answer = front_end.answer(front_end.send("credentials.get", **ask))
    assert (answer.data["reason"], answer.data["retryable"]) == (reason, retryable), answer
    assert ("later" in answer.message) <= retryable
    error = answer.data.get("serverError", {})
    assert said in (None, error.get("code"), error.get("text")), error
    if reason == "reloginNeeded":
        assert answer.data["next"][0]["method"] == "accounts.signIn"
    (entry,) = front_end.call("accounts.list")["accounts"]
    assert entry["health"] == health
    if health != "reloginNeeded":
        # The time is there, and goes with a success. The refresh token was kept.
        assert abs(entry["refreshFailsSince"] - time.time()) < 60
        del provider.answers[REFRESH]
        assert front_end.token(account, forceRefresh=True) == "at"
        (entry,) = front_end.call("accounts.list")["accounts"]
        assert entry["health"] == "ok" and "refreshFailsSince" not in entry


def test_the_time_of_the_first_failure_stays(front_end, provider):
    account = sign_in(front_end, provider).result["account"]
    provider.answers[REFRESH] = error(503, {})
    times = []
    for _ in range(3):
        front_end.answer(front_end.send("credentials.get", account=account, forceRefresh=True))
        times.append(front_end.call("accounts.list")["accounts"][0]["refreshFailsSince"])
        time.sleep(1.1)
    assert len(set(times)) == 1


@pytest.mark.parametrize(("name", "kept"), [("refresh_token_expires_in", True), ("refresh_expires_in", True),
                                            ("expires_in_refresh", False)])
def test_the_end_of_a_refresh_token_is_known_until_another_one_comes(front_end, provider, name, kept):
    provider.answers["/token"] = lambda usual: (200, {}, body(usual | {name: 86400}))
    account = sign_in(front_end, provider).result["account"]
    end = lambda: front_end.call("accounts.list")["accounts"][0].get("refreshExpiresAt")
    first = end()
    assert (first is not None) == kept and (not kept or abs(first - time.time() - 86400) < 60)
    # An answer without a refresh token leaves the stored one, and its end.
    provider.answers["/token"] = lambda usual: (200, {}, body({k: v for k, v in usual.items() if k != "refresh_token"}))
    assert front_end.token(account, forceRefresh=True) == "at" and end() == first
    del provider.answers["/token"]
    assert front_end.token(account, forceRefresh=True) == "at" and end() is None


# The log.

def lines(folder, area):
    return [line for line in (folder / "log").read_text().splitlines() if line.split(" ")[2] == area]


def test_each_request_to_a_provider_is_one_debug_line_without_secrets(front_end, provider, tmp_path):
    provider.answers["/userinfo"] = redirect("http://[::1]:1/", 302)
    sign_in(front_end, provider)
    found = lines(tmp_path, "http")
    assert all(re.fullmatch(r"\d+ debug http (GET|POST) 127\.0\.0\.1:\d+/[a-z./-]* \d{3}, \d+ ms", line) for line in found), found
    # The requests of the browser are not einlass's.
    asked = [path for path, _, _ in provider.log if path != "/authorize"]
    assert [line.split(" ")[4].partition("/")[2] for line in found] == [path[1:] for path in asked]
    text = (tmp_path / "log").read_text()
    for secret in [*provider.codes, "?", "Bearer", "eyJ"]:
        assert secret not in text


@pytest.mark.parametrize("row", [row for row in REFRESHES])
def test_each_failed_refresh_is_one_warning(front_end, provider, tmp_path, row):
    account = sign_in(front_end, provider).result["account"]
    # The control: a refresh that succeeds.
    assert front_end.token(account, forceRefresh=True)
    assert lines(tmp_path, "refresh") == []
    provider.answers[REFRESH] = REFRESHES[row][0]
    front_end.answer(front_end.send("credentials.get", account=account, forceRefresh=True))
    (line,) = lines(tmp_path, "refresh")
    assert f" warning refresh {account} of oracle was not refreshed: " in line


# Device polls.

POLLS = {
    "pending as a message": (error(400, {"status": 400, "message": "authorization_pending"}), True),
    "a portal's redirect": (redirect("http://portal.example/login", 302), True),
    "a portal's page": (lambda usual: (200, PAGE_HEADERS, PAGE), True),
    "503 with expired_token": (error(503, {"error": "expired_token"}), True),
    "access_denied": (error(400, {"error": "access_denied"}), False),
    "invalid_grant": (error(400, {"error": "invalid_grant"}), False),
}


@pytest.mark.parametrize("row", POLLS)
def test_each_answer_to_a_poll_ends_the_polling_or_does_not(front_end, provider, row):
    change, goes_on = POLLS[row]
    add(front_end, provider)
    seen = []

    def answer(usual):
        seen.append(1)
        if len(seen) == 1:
            return change(usual)
        return 200, {}, body(usual)

    provider.answers["/token urn:ietf:params:oauth:grant-type:device_code"] = answer
    id, prompt = front_end.begin(flowKind="deviceCode")
    front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept")
    answer = front_end.answer(id)
    assert hasattr(answer, "code") != goes_on, answer
    assert len(seen) == (2 if goes_on else 1)


def test_a_device_code_without_a_lifetime_is_called_so(front_end, provider):
    provider.answers["/device"] = lambda usual: (200, {}, body(usual | {"expires_in": 0}))
    add(front_end, provider)
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", flowKind="deviceCode"))
    assert "expires_in is 0" in answer.message and "later" not in answer.message
