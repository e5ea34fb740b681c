"""Clients with signed assertions and pushed authorization requests, at idpyoidc.

    python -m pytest Tests/Oracles/test_client_proofs.py
"""
import base64
import json
import socket
import urllib.parse
import urllib.request

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from browser import Visitor
from front_end import bring_back, provider, userinfo
from servers import running

pytestmark = pytest.mark.usefixtures("built")

KINDS = {"RS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
         "PS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
         "ES256": lambda: ec.generate_private_key(ec.SECP256R1()), "EdDSA": ed25519.Ed25519PrivateKey.generate}


@pytest.fixture(scope="module")
def idpy():
    with running("openid_server.py") as ready:
        yield ready


def number(value, size=None):
    return base64.urlsafe_b64encode(value.to_bytes(size or (value.bit_length() + 7) // 8, "big")).rstrip(b"=").decode()


def public(key):
    """Returns the JSON Web Key of a key."""
    numbers = key.public_key().public_numbers() if not isinstance(key, ed25519.Ed25519PrivateKey) else None
    if isinstance(key, rsa.RSAPrivateKey):
        return {"kty": "RSA", "use": "sig", "kid": "mine", "n": number(numbers.n), "e": number(numbers.e)}
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return {"kty": "EC", "use": "sig", "kid": "mine", "crv": "P-256", "x": number(numbers.x, 32),
                "y": number(numbers.y, 32)}
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {"kty": "OKP", "use": "sig", "kid": "mine", "crv": "Ed25519", "x": number(int.from_bytes(raw, "big"), 32)}


def pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


def registered(idpy, **wish):
    """Registers a client, and returns its registration for einlass and its secret."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        redirect = "http://127.0.0.1:%d/callback" % probe.getsockname()[1]
    request = urllib.request.Request(idpy["base"] + "/registration", json.dumps(
        {"redirect_uris": [redirect], **wish}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        client = json.load(answer)
    return {"clientId": client["client_id"], "redirect": redirect}, client.get("client_secret")


def descriptor(idpy, way, algorithms=None, audience="endpoint", **more):
    base = idpy["base"]
    flow = {"kind": "authorizationCode", "authorize": {"method": "GET", "url": base + "/authorization"},
            "redirect": {}, "token": {"method": "POST", "url": base + "/token"}, "refresh": {},
            "clientAuthentication": way, "scopes": ["openid", "offline_access"], "issuer": idpy["issuer"],
            "keySet": base + "/jwks.json", "assertion": {"audience": audience}, **more}
    if algorithms:
        flow["assertion"]["algorithms"] = algorithms
    return provider(flow, userinfo(base + "/userinfo"),
                    verify={"recipe": "introspection", "request": {"method": "POST", "url": base + "/introspection"}})


def paths(idpy):
    with urllib.request.urlopen(idpy["base"] + "/__log") as answer:
        return [(entry["path"], entry["status"]) for entry in json.load(answer)]


def signed_in(front_end):
    id, prompt = front_end.begin(page={"prompt": "consent"})
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    return front_end.end(id)


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_private_key_signs_in_refreshes_and_asks_about_its_token(idpy, start, algorithm):
    key = KINDS[algorithm]()
    registration, _ = registered(idpy, token_endpoint_auth_method="private_key_jwt", jwks={"keys": [public(key)]},
                                 token_endpoint_auth_signing_alg=algorithm)
    front_end = start(descriptor(idpy, "private_key_jwt", [algorithm]),
                      {**registration, "privateKey": pem(key), "keyId": "mine"})
    account = signed_in(front_end)
    first = front_end.token(account)
    assert front_end.token(account, forceRefresh=True) != first
    result = front_end.call("verify", provider="oracle", account=account)
    assert result["valid"] and result["clientId"] == registration["clientId"], result


def test_another_key_is_refused(idpy, start):
    key, other = KINDS["ES256"](), KINDS["ES256"]()
    registration, _ = registered(idpy, token_endpoint_auth_method="private_key_jwt", jwks={"keys": [public(key)]})
    front_end = start(descriptor(idpy, "private_key_jwt"), {**registration, "privateKey": pem(other)})
    id, prompt = front_end.begin(page={"prompt": "consent"})
    assert "Sign-in failed" in bring_back(Visitor().open(prompt["url"]))
    assert front_end.answer(id).data["reason"] == "authenticatorUnconfigured"


def test_a_secret_signs_and_a_wrong_one_is_refused(idpy, start):
    registration, secret = registered(idpy, token_endpoint_auth_method="client_secret_jwt")
    assert len(secret) >= 32
    front_end = start(descriptor(idpy, "client_secret_jwt"), {**registration, "clientSecret": secret})
    account = signed_in(front_end)
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)
    front_end = start(descriptor(idpy, "client_secret_jwt"), {**registration, "clientSecret": secret[::-1]})
    id, prompt = front_end.begin(page={"prompt": "consent"})
    bring_back(Visitor().open(prompt["url"]))
    assert front_end.answer(id).data["reason"] == "authenticatorUnconfigured"


def test_idpyoidc_accepts_its_endpoints_as_audience_and_not_its_issuer(idpy, start):
    key = KINDS["ES256"]()
    registration, _ = registered(idpy, token_endpoint_auth_method="private_key_jwt", jwks={"keys": [public(key)]})
    front_end = start(descriptor(idpy, "private_key_jwt", audience="issuer"), {**registration, "privateKey": pem(key)})
    id, prompt = front_end.begin(page={"prompt": "consent"})
    bring_back(Visitor().open(prompt["url"]))
    assert front_end.answer(id).data["reason"] == "providerFailure"


def test_pushed_parameters_stay_out_of_the_browser(idpy, start):
    key = KINDS["ES256"]()
    registration, _ = registered(idpy, token_endpoint_auth_method="private_key_jwt", jwks={"keys": [public(key)]})
    pushed = {"pushed": {"method": "POST", "url": idpy["base"] + "/par"}}
    front_end = start(descriptor(idpy, "private_key_jwt", **pushed), {**registration, "privateKey": pem(key)})
    before = len(paths(idpy))
    id, prompt = front_end.begin(page={"prompt": "consent"})
    assert paths(idpy)[before:] == [("/par", 201)]
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(prompt["url"]).query)
    assert set(query) == {"client_id", "request_uri"}
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    front_end.end(id)
    # A refused push opens no browser.
    other = KINDS["ES256"]()
    front_end = start(descriptor(idpy, "private_key_jwt", **pushed), {**registration, "privateKey": pem(other)})
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle"))
    assert answer.data["reason"] == "authenticatorUnconfigured"


def test_a_discovered_issuer_lets_the_registration_decide(idpy, start):
    key = KINDS["RS256"]()
    registration, _ = registered(idpy, token_endpoint_auth_method="private_key_jwt", jwks={"keys": [public(key)]})
    front_end = start(None, {**registration, "privateKey": pem(key)})
    front_end.call("providers.add", issuer=idpy["issuer"], id="oracle")
    account = signed_in(front_end)
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)
    assert front_end.call("verify", provider="oracle", account=account)["valid"]


def test_an_unreadable_key_is_refused_before_anybody_is_asked(idpy, start):
    front_end = start(descriptor(idpy, "private_key_jwt"), {"clientId": "x", "privateKey": "-----BEGIN KEY-----"})
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle"))
    assert answer.data["reason"] == "authenticatorUnconfigured" and answer.data["detail"] == "privateKey"
