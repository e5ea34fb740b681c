"""Tokens bound to a key (RFC 9449), at a server with requests-oauth2client as the judge of each proof.

    python -m pytest Tests/Oracles/test_proofs.py
"""
import json
import urllib.error
import urllib.request

import pytest

from browser import Visitor
from front_end import bring_back, provider, userinfo
from servers import running

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def server():
    with running("dpop_server.py") as ready:
        yield ready


def descriptor(server, **more):
    base = server["base"]
    flow = {"kind": "authorizationCode", "authorize": {"method": "GET", "url": base + "/authorize"}, "redirect": {},
            "token": {"method": "POST", "url": base + "/token"}, "refresh": {}, "clientAuthentication": "none", **more}
    return provider(flow, userinfo(base + "/me"))


def entries(server):
    with urllib.request.urlopen(server["log"]) as answer:
        return json.load(answer)


def log(server):
    return [(entry["path"], entry["status"], entry.get("error")) for entry in entries(server)]


def send(url, method, headers):
    """Returns the status and the next nonce."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers)) as answer:
            return answer.status, answer.headers["DPoP-Nonce"]
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code, failure.headers["DPoP-Nonce"]


def test_a_token_is_bound_refreshed_and_shown_to_its_resource(server, start):
    front_end = start(descriptor(server, dpop=True), {"clientId": "native"})
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    account = front_end.end(id)
    # The first proof lacks the nonce, and the server's error brings it. Each later answer brings the next one.
    assert log(server) == [("/authorize", 302, None), ("/token", 400, "use_dpop_nonce"), ("/token", 200, None),
                           ("/me", 200, None)]
    credential = front_end.call("credentials.get", account=account)["credential"]
    assert credential["tokenType"] == "DPoP" and "proofKey" not in credential
    fresh = front_end.call("credentials.get", account=account, forceRefresh=True)["credential"]
    assert fresh["token"] != credential["token"] and fresh["tokenType"] == "DPoP"
    assert log(server)[-1] == ("/token", 200, None)
    result = front_end.call("verify", provider="oracle", account=account)
    assert result["valid"] and result["identity"]["id"] == "42"

    url = server["base"] + "/things"
    headers = front_end.signed(account=account, method="PUT", url=url + "?a=b")
    status, nonce = send(url + "?a=b", "PUT", headers)
    assert status == 200
    # The same proof again, no proof, a proof for another method, and the token as a bearer token.
    assert send(url, "PUT", headers)[0] == 401
    assert send(url, "PUT", {"Authorization": headers["Authorization"]})[0] == 401
    second = front_end.signed(account=account, method="GET", url=url, nonce=nonce)
    assert send(url, "PUT", second)[0] == 401
    assert send(url, "PUT", {"Authorization": "Bearer " + fresh["token"]})[0] == 401
    third = front_end.signed(account=account, method="PUT", url=url, nonce=nonce)
    assert send(url, "PUT", third)[0] == 200


def test_a_proof_is_valid_for_one_request_only(server, start):
    """The negative control of the server: each proof is valid for one request and is used for another."""
    front_end = start(descriptor(server, dpop=True), {"clientId": "native"})
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    account = front_end.end(id)
    url, elsewhere = server["base"] + "/things", server["base"] + "/others"
    former = front_end.call("credentials.get", account=account)["credential"]["token"]
    fresh = front_end.token(account, forceRefresh=True)
    signed = front_end.signed(account=account, method="PUT", url=url)
    assert signed["Authorization"] == "DPoP " + fresh
    nonce = send(url, "PUT", {"Authorization": "DPoP " + fresh})[1]

    def sign(**about):
        return front_end.signed(account=account, **{"method": "PUT", "url": url, "nonce": nonce, **about})["DPoP"]

    def spoiled(proof):
        head, claims, signature = proof.split(".")
        return ".".join([head, claims, ("A" if signature[0] != "A" else "B") + signature[1:]])

    for proof, token, flaw in [
        (sign(method="GET"), fresh, "(htm)"), (sign(url=elsewhere), fresh, "(htu)"), (sign(), former, "(ath)"),
        (spoiled(sign()), fresh, "signature"),
    ]:
        assert send(url, "PUT", {"Authorization": "DPoP " + token, "DPoP": proof})[0] == 401
        assert flaw in entries(server)[-1]["flaw"]
    assert send(url, "PUT", {"Authorization": "DPoP " + fresh, "DPoP": sign(nonce="x" + nonce)})[0] == 401
    assert log(server)[-1] == ("/things", 401, "use_dpop_nonce")
    assert send(url, "PUT", {"Authorization": "DPoP " + fresh, "DPoP": sign()})[0] == 200


def test_without_dpop_in_the_descriptor_the_server_refuses_a_token(server, start):
    front_end = start(descriptor(server), {"clientId": "native"})
    id, prompt = front_end.begin()
    assert "Sign-in failed" in bring_back(Visitor().open(prompt["url"]))
    assert front_end.answer(id).data["serverError"]["code"] == "invalid_dpop_proof"


def test_another_process_uses_the_same_key(server, start, tmp_path):
    store = str(tmp_path / "data" / "store.db")
    (tmp_path / "data").mkdir(0o700)
    words, registration = descriptor(server, dpop=True), {"clientId": "native"}
    options = ("--key-file", str(tmp_path / "keys" / "key"))
    (tmp_path / "keys").mkdir(0o700)
    first = start(words, registration, store=store, options=options)
    id, prompt = first.begin()
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    account = first.end(id)
    second = start(words, registration, store=store, options=options)
    assert second.call("credentials.get", account=account, forceRefresh=True)["credential"]["tokenType"] == "DPoP"
    assert second.call("verify", provider="oracle", account=account)["valid"]
