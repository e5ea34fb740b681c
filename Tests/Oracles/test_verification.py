"""`verify` at django-oauth-toolkit and idpyoidc: introspection, id_tokens by kept keys, and keys that rotate.

    python -m pytest Tests/Oracles/test_verification.py
"""
import json
import urllib.request

import pytest

from browser import Visitor
from front_end import bring_back, provider, visit
from test_client_proofs import registered

pytestmark = pytest.mark.usefixtures("built")


def requests(ready):
    with urllib.request.urlopen(ready["base"] + "/__log") as answer:
        return [entry["path"] for entry in json.load(answer)]


def rotate(ready, overlap):
    urllib.request.urlopen(f"{ready['base']}/__rotate?overlap={overlap}", b"").close()


def checks(result):
    return {entry["check"]: entry["ok"] for entry in result["checks"]}


def at_dot(dot, start, client="basic", verify=True, **flow):
    """Returns a front end at django-oauth-toolkit, with introspection, after a sign-in."""
    base = dot["issuer"]
    words = {"kind": "authorizationCode", "authorize": {"method": "GET", "url": base + "/authorize/"},
             "token": {"method": "POST", "url": base + "/token/"}, "refresh": {}, "scopes": ["openid", "photos"],
             "redirect": {"path": "/callback"}, "issuer": dot["issuer"], "keySet": base + "/.well-known/jwks.json",
             **flow}
    recipe = {"verify": {"recipe": "introspection",
                         "request": {"method": "POST", "url": base + "/introspect/"}}} if verify else {}
    registration = {"clientId": client, "redirect": "http://127.0.0.1/callback"}
    if dot["clients"][client]:
        registration["clientSecret"] = dot["clients"][client]
    identity = {"request": {"method": "GET", "url": base + "/userinfo/", "bearer": "{token}"}, "id": "/sub",
                "required": ["id"]}
    front_end = start(provider(words, identity, **recipe), registration)
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    account = front_end.end(id)
    return front_end, account, front_end.call("credentials.get", account=account)["credential"]


def test_introspection_tells_a_good_token_from_another_client_s_and_from_a_dead_one(dot, start):
    front_end, account, credential = at_dot(dot, start)
    for subject in ({"account": account}, {"credential": {"type": "oauth2", "token": credential["token"]}}):
        result = front_end.call("verify", provider="oracle", **subject)
        assert result["valid"] and result["clientId"] == "basic", result
        assert set(result["scopes"]) == {"openid", "photos"} and result["expiresAt"] and result["identity"]["id"]
    wanted = {"credential": {"type": "oauth2", "token": credential["token"]}, "provider": "oracle"}
    assert checks(front_end.call("verify", **wanted, expect={"id": "nobody"}))["identity"] is False
    assert checks(front_end.call("verify", **wanted, expect={"scopes": ["mail"]}))["scopes"] is False
    assert checks(front_end.call("verify", **wanted, expect={"clientId": "x"}))["application"] is False
    _, _, other = at_dot(dot, start, "native", clientAuthentication="none")
    foreign = {"type": "oauth2", "token": other["token"]}
    result = front_end.call("verify", provider="oracle", credential=foreign)
    assert not result["valid"] and checks(result) == {"active": True, "application": False, "expiry": True}
    urllib.request.urlopen(dot["base"] + "/__expire", b"").close()
    for token in (credential["token"], "nobody's"):
        result = front_end.call("verify", provider="oracle", credential={"type": "oauth2", "token": token})
        assert not result["valid"] and checks(result) == {"active": False}


def test_sign_out_revokes_the_tokens(dot, start):
    where = {"revocation": {"method": "POST", "url": dot["issuer"] + "/revoke_token/"}}
    front_end, account, credential = at_dot(dot, start, **where)
    subject = {"provider": "oracle", "credential": {"type": "oauth2", "token": credential["token"]}}
    assert front_end.call("verify", **subject)["valid"]
    left = front_end.call("accounts.signOut", account=account)
    assert (left["revoked"], left["notRevoked"]) == (
        ["application basic refreshToken", "application basic accessToken"], [])
    assert checks(front_end.call("verify", **subject)) == {"active": False}


def test_an_id_token_may_be_signed_with_the_client_s_secret(dot, start):
    before = len(requests(dot))
    front_end, _, credential = at_dot(dot, start, "hs256", algorithms=["HS256"])
    assert id_token_is_good(front_end, credential["idToken"])["valid"]
    head, body, signature = credential["idToken"].split(".")
    forged = ".".join([head, body, ("A" if signature[0] != "A" else "B") + signature[1:]])
    assert checks(id_token_is_good(front_end, forged)) == {"signature": False}
    assert "/o/.well-known/jwks.json" not in requests(dot)[before:]
    # If the issuer's keys are expected, a signature by the secret is refused.
    front_end, _, _ = at_dot(dot, start)
    assert checks(id_token_is_good(front_end, credential["idToken"], clientId="hs256")) == {"signature": False}


def test_a_client_without_a_secret_verifies_by_userinfo(dot, start):
    front_end, account, credential = at_dot(dot, start, "native", clientAuthentication="none")
    result = front_end.call("verify", provider="oracle", account=account)
    assert result["valid"] and result["identity"]["id"]
    given = {"type": "oauth2", "token": credential["token"]}
    assert front_end.call("verify", provider="oracle", credential=given)["valid"]
    # After the account's removal nothing names the token's client.
    assert front_end.call("accounts.remove", account=account)["notRevoked"]
    answer = front_end.answer(front_end.send("verify", provider="oracle", credential=given))
    assert (answer.code, answer.data["detail"]) == (1015, "applicationUnknown"), answer
    # The id_token names the client.
    result = front_end.call("verify", provider="oracle", credential={**given, "idToken": credential["idToken"]})
    assert result["valid"] and checks(result)["application"] and checks(result)["audience"], result
    result = front_end.call("verify", provider="oracle", credential={"type": "oauth2", "token": "nobody's"})
    assert checks(result) == {"active": False}


def id_token_is_good(front_end, token, **expect):
    return front_end.call("verify", provider="oracle", credential={"type": "idToken", "idToken": token}, expect=expect)


@pytest.mark.parametrize("overlap", [0, 1])
def test_id_tokens_are_checked_offline_and_rotation_is_noticed(dot, start, overlap):
    front_end, account, credential = at_dot(dot, start)
    token = credential["idToken"]
    before = len(requests(dot))
    result = id_token_is_good(front_end, token)
    assert result["valid"] and list(checks(result)) == ["signature", "issuer", "audience", "expiry", "identity"]
    assert not id_token_is_good(front_end, token, clientId="other")["valid"]
    assert checks(id_token_is_good(front_end, token, nonce="other"))["nonce"] is False
    assert len(requests(dot)) == before
    head, body, signature = token.split(".")
    # A token with an unknown key: the issuer is asked once, and then not again.
    forged = ".".join([head, body, ("A" if signature[0] != "A" else "B") + signature[1:]])
    for _ in range(3):
        assert checks(id_token_is_good(front_end, forged)) == {"signature": False}
    assert requests(dot)[before:] == ["/o/.well-known/jwks.json"]
    rotate(dot, overlap)
    # Another process has no old keys: the token is valid only with overlap.
    again, _, fresh = at_dot(dot, start)
    assert id_token_is_good(again, fresh["idToken"])["valid"]
    assert id_token_is_good(again, token)["valid"] is bool(overlap)


@pytest.mark.parametrize("overlap", [0, 1])
def test_a_process_with_the_old_keys_accepts_a_token_of_the_new_ones(idpy, start, overlap):
    registration, secret = registered(idpy, token_endpoint_auth_method="client_secret_basic")
    front_end = start(None, {**registration, "clientSecret": secret})
    front_end.call("providers.add", issuer=idpy["issuer"], id="oracle")

    def signed_in():
        id, prompt = front_end.begin(page={"prompt": "consent"})
        assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
        return front_end.call("credentials.get", account=front_end.end(id))["credential"]["idToken"]

    old = signed_in()
    before = len(requests(idpy))
    signed_in()
    assert "/jwks.json" not in requests(idpy)[before:]
    rotate(idpy, overlap)
    new = signed_in()
    assert requests(idpy)[before:].count("/jwks.json") == 1
    assert id_token_is_good(front_end, new)["valid"]
    assert id_token_is_good(front_end, old)["valid"] is bool(overlap)
