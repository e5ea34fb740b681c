"""einlass's trust in an issuer's tokens and answers. Each test changes the issuer's settings; PyJWT signs its tokens.

    python -m pytest Tests/Oracles/test_trust.py
"""
import base64
import html
import json
import re
import time
import urllib.request
from urllib.parse import quote, quote_plus

import pytest

from browser import Visitor
from front_end import bring_back
from issuer_server import MANNERS
from servers import running

pytestmark = pytest.mark.usefixtures("built")


def send(address, value=None):
    body = None if value is None else json.dumps(value).encode()
    with urllib.request.urlopen(urllib.request.Request(address, body), timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def issuer():
    with running("issuer_server.py") as ready:
        yield ready


class Issuer:
    """The issuer, a front end with its registration, and the requests to both."""

    def __init__(self, ready, start, *options, **behaviour):
        self.ready, self.base = ready, ready["base"]
        self.behave(**behaviour)
        self.front_end = start(None, {"clientId": ready["client"], "clientSecret": ready["secret"]}, options=options)
        self.front_end.call("providers.add", issuer=self.base, id="oracle")

    def behave(self, **behaviour):
        assert set(behaviour) <= set(MANNERS)
        send(self.base + "/__behaviour", behaviour)

    def rotate(self):
        send(self.base + "/__rotate", {})

    def paths(self, path):
        return [entry for entry in send(self.ready["log"]) if entry["path"] == path]

    def brought(self, **params):
        """Signs in through the browser and returns the answer."""
        id, prompt = self.front_end.begin(**params)
        bring_back(Visitor().open(prompt["url"]))
        return self.front_end.answer(id)

    def signed_in(self):
        answer = self.brought()
        assert not hasattr(answer, "code"), answer
        self.front_end.call("access.set", provider="oracle", state="granted")
        return answer.result["account"]

    def credential(self, account, **params):
        return self.front_end.call("credentials.get", account=account, **params)["credential"]

    def verify(self, credential, **expect):
        given = {"type": "oauth2", "token": credential["token"]}
        if "idToken" in credential:
            given["idToken"] = credential["idToken"]
        return self.front_end.call("verify", provider="oracle", credential=given, expect=expect)

    def unknown_application(self, credential, **expect):
        """Returns the person of a token whose application nothing names."""
        given = {"type": "oauth2", **credential}
        session = self.front_end
        answer = session.answer(session.send("verify", provider="oracle", credential=given, expect=expect))
        assert (answer.code, answer.data["detail"]) == (1015, "applicationUnknown"), answer
        return answer.data["identity"]


def checks(result):
    return {entry["check"]: entry["ok"] for entry in result["checks"]}


def is_id_token(oracle, token):
    return oracle.front_end.call("verify", provider="oracle", credential={"type": "idToken", "idToken": token})


@pytest.fixture
def at(issuer, start):
    return lambda *options, **behaviour: Issuer(issuer, start, *options, **behaviour)


# RFC 8725 sections 3.11 and 3.12; RFC 8417, RFC 9068, RFC 9449, RFC 9701, Back-Channel Logout 1.0.
OTHER_KINDS = [{"typ": typ} for typ in (
    "logout+jwt", "at+jwt", "application/at+jwt", "secevent+jwt", "dpop+jwt", "token-introspection+jwt", "JWS")]
OTHER_KINDS.append({"claims": {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}})


@pytest.mark.parametrize("behaviour", OTHER_KINDS, ids=str)
def test_a_token_of_another_kind_is_not_accepted_as_an_id_token(at, behaviour):
    oracle = at()
    token = oracle.credential(oracle.signed_in())["idToken"]
    assert is_id_token(oracle, token)["valid"]
    oracle.behave(**behaviour)
    answer = oracle.brought()
    assert answer.code == 1019 and answer.data["detail"] == "signature", answer
    assert "token of another kind" in answer.message
    # The same for an id_token passed to `verify`.
    found = is_id_token(oracle, send(oracle.base + "/__token"))
    assert checks(found) == {"signature": False} and "token of another kind" in found["checks"][0]["detail"]


@pytest.mark.parametrize("typ", ["JWT", "jwt", "application/jwt", "application/JWT", None])
def test_the_usual_typ_values_are_accepted(at, typ):
    assert at(typ=typ).signed_in()


def test_one_of_several_audiences_is_accepted_if_it_is_the_authorized_party(at):
    oracle = at(claims={"aud": ["client", "other"]})
    answer = oracle.brought()
    assert answer.code == 1019 and answer.data["detail"] == "audience"
    oracle.behave(claims={"aud": ["client", "other"], "azp": "client"})
    assert oracle.signed_in()


def test_an_unaccepted_algorithm_is_named(at):
    oracle = at(algorithm="RS512")
    assert "by an algorithm that is not accepted" in oracle.brought().message
    # An algorithm other than the key's `alg` is refused too.
    oracle.behave(algorithm="RS256", keyAlgorithm="PS256")
    oracle.rotate()
    assert "by another algorithm than that of its key" in oracle.brought().message
    oracle.behave(keyAlgorithm=None)
    oracle.rotate()
    assert oracle.signed_in()


@pytest.mark.parametrize("digest", ["sha256", "sha512", None])
def test_any_at_hash_is_accepted_with_eddsa(at, digest):
    assert at(algorithm="EdDSA", atHash=digest).signed_in()


def test_a_wrong_at_hash_is_refused_with_another_algorithm(at):
    answer = at(algorithm="ES256", atHash="sha512").brought()
    assert answer.code == 1019 and "it belongs to another token" in answer.message


def test_a_waiting_sign_in_fetches_the_keys_again_within_a_minute(at):
    oracle = at()
    first = oracle.credential(oracle.signed_in())["idToken"]
    for count in (2, 3, 4):
        oracle.rotate()
        assert oracle.signed_in()
        assert len(oracle.paths("/keys")) == count
    # The control: `verify` alone does not fetch the keys again.
    for _ in range(3):
        assert checks(is_id_token(oracle, first)) == {"signature": False}
    assert len(oracle.paths("/keys")) <= 5


def origin(credential):
    return credential["idTokenOf"], credential["idTokenExpiresAt"] - int(time.time())


@pytest.mark.parametrize("digest", ["sha256", None])
def test_a_credential_says_whether_its_id_token_belongs_to_the_current_token(at, digest, tmp_path):
    oracle = at(refreshedIdToken=False, atHash=digest)
    account = oracle.signed_in()
    first = oracle.credential(account)
    assert origin(first)[0] == "current" and 290 <= origin(first)[1] <= 300
    second = oracle.credential(account, forceRefresh=True)
    assert second["idToken"] == first["idToken"] and origin(second)[0] == "former"
    assert oracle.credential(account)["idTokenOf"] == "former"
    # The control: a refresh with a new id_token.
    oracle.behave(refreshedIdToken=True)
    third = oracle.credential(account, forceRefresh=True)
    assert third["idToken"] != first["idToken"] and origin(third)[0] == "current"


@pytest.fixture(params=["introspection", "introspection without a client", "userinfo"])
def asked(request, at):
    """Returns a function that starts the issuer with one of three ways to verify a token."""
    behaviour = {"introspection": {}} if request.param == "introspection" else {"introspection": {"client_id": None}}
    if request.param == "userinfo":
        behaviour["metadata"] = {"introspection_endpoint": None}
    return lambda *options, **more: at(*options, **behaviour, **more)


@pytest.mark.parametrize("digest", ["sha256", None])
def test_a_credential_verifies_after_refresh_id_token_expiry_and_key_rotation(asked, digest):
    oracle = asked("--test", refreshedIdToken=False, atHash=digest)
    account = oracle.signed_in()

    def is_believed(credential):
        for subject in ({"account": account}, {"credential": {
                "type": "oauth2", "token": credential["token"], "idToken": credential["idToken"]}}):
            result = oracle.front_end.call("verify", provider="oracle", **subject, expect={"id": "42", "clientId": "client"})
            assert result["valid"] and result["clientId"] == "client", result

    is_believed(oracle.credential(account))
    former = oracle.credential(account, forceRefresh=True)
    assert former["idTokenOf"] == "former"
    is_believed(former)
    oracle.rotate()
    oracle.front_end.call("test.advanceClock", seconds=61)
    is_believed(oracle.credential(account))
    # The id_token expires before the access token.
    oracle.front_end.call("test.advanceClock", seconds=1000)
    still = oracle.credential(account)
    assert still["token"] == former["token"] and still["idTokenExpiresAt"] < time.time() + 1061
    is_believed(still)


def test_an_id_token_vouches_for_no_other_access_token(at):
    oracle = at(metadata={"introspection_endpoint": None}, refreshedIdToken=False)
    account = oracle.signed_in()
    credential = oracle.credential(account)
    stolen = send(oracle.base + "/__foreign")["access_token"]
    given = {"token": stolen, "idToken": credential["idToken"]}
    assert oracle.unknown_application(given)["id"]
    # A forged id_token is refused beside the right access token.
    head, body, signature = credential["idToken"].split(".")
    forged = ".".join([head, body, ("A" if signature[0] != "A" else "B") + signature[1:]])
    assert checks(oracle.verify({"token": credential["token"], "idToken": forged})) == {"signature": False}
    # Without a valid id_token a nonce cannot be confirmed.
    former = oracle.credential(account, forceRefresh=True)
    assert checks(oracle.verify(former, nonce="n"))["nonce"] is False


def test_introspection_without_a_client_id_confirms_no_application(at):
    oracle = at(introspection={"client_id": None})
    foreign = {"token": send(oracle.base + "/__foreign")["access_token"]}
    assert oracle.unknown_application(foreign)["id"]
    assert oracle.unknown_application(foreign, clientId="client")["id"]
    # The id_token of the stored credential names the client.
    assert oracle.verify(oracle.credential(oracle.signed_in()), clientId="client")["valid"]
    # The control: a client_id in the introspection decides.
    oracle.behave(introspection={"client_id": "other"})
    assert checks(oracle.verify(foreign))["application"] is False


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_revocation_and_introspection_use_the_methods_of_the_metadata(at, method):
    names = ("revocation", "introspection")
    paths = ("/revoke", "/introspect")
    oracle = at(metadata={f"{name}_endpoint_auth_methods_supported": [method] for name in names},
                methods={path: [method] for path in paths} | {"/token": ["client_secret_basic"]})
    account = oracle.signed_in()
    assert oracle.verify(oracle.credential(account))["valid"]
    left = oracle.front_end.call("accounts.signOut", account=account)
    assert not left["notRevoked"]
    for path in paths:
        assert {entry["authentication"] for entry in oracle.paths(path)} == {method}
    assert {entry["authentication"] for entry in oracle.paths("/token")} == {"client_secret_basic"}


def test_a_public_client_keeps_its_method_despite_the_metadata(issuer, start):
    send(issuer["base"] + "/__behaviour", {"metadata": {
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"]}})
    front_end = start(None, {"clientId": issuer["client"]})
    front_end.call("providers.add", issuer=issuer["base"], id="oracle")
    id, prompt = front_end.begin()
    bring_back(Visitor().open(prompt["url"]))
    left = front_end.call("accounts.signOut", account=front_end.end(id))
    assert len(left["revoked"]) == 2
    assert [entry["authentication"] for entry in send(issuer["log"]) if entry["path"] == "/revoke"] == ["none", "none"]


def test_sign_out_revokes_both_tokens_and_reports_an_unrevoked_one(at):
    oracle = at()
    account = oracle.signed_in()
    left = oracle.front_end.call("accounts.signOut", account=account)
    assert left["revoked"] == ["application client refreshToken", "application client accessToken"]
    assert [entry["hint"] for entry in oracle.paths("/revoke")] == ["refresh_token", "access_token"]
    assert send(oracle.base + "/__alive") == 0
    # A server that cannot revoke access tokens answers an error (RFC 7009 section 2.2.1).
    oracle.behave(keeps="access_token")
    left = oracle.front_end.call("accounts.signOut", account=oracle.signed_in())
    assert left["revoked"] == ["application client refreshToken"]
    assert [entry["what"] for entry in left["notRevoked"]] == ["application client accessToken"]
    assert send(oracle.base + "/__alive") == 1


def basic(id, secret):
    return base64.b64encode(f"{id}:{secret}".encode()).decode()


# Spellings in which a server may quote a secret: unchanged, or in an encoding of its programming language.
SPELLINGS = {
    "as it is": lambda id, secret: secret,
    "form": lambda id, secret: quote_plus(secret),
    "address": lambda id, secret: quote(secret, safe=""),
    "lower address": lambda id, secret: re.sub("%..", lambda part: part[0].lower(), quote(secret, safe="")),
    "every character": lambda id, secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "JSON of PHP": lambda id, secret: json.dumps(secret).strip('"').replace("/", "\\/"),
    "JSON of Go": lambda id, secret: json.dumps(secret).strip('"').replace("&", "\\u0026"),
    "HTML": lambda id, secret: html.escape(secret),
    "HTML by numbers": lambda id, secret: secret.replace("&", "&#38;").replace("/", "&#x2F;"),
    "Basic": lambda id, secret: "Basic " + basic(id, secret),
    "Basic of forms": lambda id, secret: "Basic " + basic(quote_plus(id), quote_plus(secret)),
    "its base 64 alone": lambda id, secret: base64.b64encode(secret.encode()).decode().rstrip("="),
    "base 64 in an address": lambda id, secret: "sent/" + quote(basic(id, secret), safe=""),
}


@pytest.mark.parametrize("is_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_that_an_answer_repeats_is_hidden_in_every_spelling(at, spelling, is_json, tmp_path):
    trace = tmp_path / "trace"
    oracle = at("--trace", str(trace))
    quoted = SPELLINGS[spelling](oracle.ready["client"], oracle.ready["secret"])
    # The control: the other words of the sentence are shown.
    oracle.behave(says={"error": "no", "error_description": f"you sent {quoted} today"} if is_json
                  else f"you sent {quoted} today")
    subject = {"type": "oauth2", "token": "unknown"}
    answer = oracle.front_end.answer(oracle.front_end.send("verify", provider="oracle", credential=subject))
    said = answer.data["serverError"]["text"]
    assert said.startswith("you sent ") and said.endswith(" today") and "…" in said, said
    written = trace.read_text()
    for leak in {quoted.split(" ")[-1].split("/")[-1], oracle.ready["secret"]}:
        assert leak not in said and leak not in written and json.dumps(leak)[1:-1] not in written


def test_words_without_a_secret_are_shown(at):
    oracle = at(says="Registration of applications/clients is 100% closed &amp; over + done")
    subject = {"type": "oauth2", "token": "unknown"}
    answer = oracle.front_end.answer(oracle.front_end.send("verify", provider="oracle", credential=subject))
    assert answer.data["serverError"]["text"] == "Registration of applications/clients is 100% closed &amp; over + done"
