"""Two persons at a plain OAuth 2.0 server that identifies neither. A sign-in replaces no token without a question.
The server's introspection names the owner of each token.

    python -m pytest Tests/Oracles/test_unidentified.py
"""
import base64
import json
import urllib.parse
import urllib.request

import pytest

from front_end import bring_back, provider, visit

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def unidentified(dot):
    """Returns a descriptor without an identity."""
    flow = {"kind": "authorizationCode", "authorize": {"method": "GET", "url": dot["issuer"] + "/authorize/"},
            "redirect": {"path": "/callback"}, "token": {"method": "POST", "url": dot["issuer"] + "/token/"},
            "refresh": {}, "clientAuthentication": "none", "scopes": ["photos"]}
    words = provider(flow, None)
    del words["identity"]
    return words


def introspection(dot, token):
    """Returns the server's introspection of a token (RFC 7662)."""
    proof = base64.b64encode(f"service:{dot['clients']['service']}".encode()).decode()
    form = urllib.parse.urlencode({"token": token}).encode()
    request = urllib.request.Request(dot["issuer"] + "/introspect/", form, {"Authorization": "Basic " + proof})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def sign_in(front_end, dot, user, choose=None, **params):
    """Signs in, and returns the answer and the browser's last page."""
    id, prompt = front_end.begin(**params)
    visitor = visit(dot, prompt["url"], user).press("Authorize")
    page = bring_back(visitor)
    if choose:
        prompt = front_end.until("prompt.opened")
        assert prompt["kind"] == "replaceAccount" and prompt["providerName"] == "Oracle"
        front_end.call("prompt.answer", prompt=prompt["prompt"], **choose(prompt["accounts"]))
    answer = front_end.answer(id)
    front_end.call("access.set", provider="oracle", state="granted")
    return answer, page


def people(front_end, dot):
    """Returns the owners of the tokens by account name."""
    accounts = front_end.call("accounts.list")["accounts"]
    return {account["username"]: introspection(dot, front_end.token(account["account"])).get("username")
            for account in accounts}


def test_a_second_person_becomes_a_second_account_without_a_prompt(dot, unidentified, start):
    front_end = start(unidentified, {"clientId": "native"})
    first, _ = sign_in(front_end, dot, "user")
    second, page = sign_in(front_end, dot, "otherUser")
    assert people(front_end, dot) == {"Oracle": "alice", "Oracle 2": "bob"}
    assert first.result["created"] is second.result["created"] is True
    assert "Signed in" in page and "Oracle 2" in page
    third, _ = sign_in(front_end, dot, "otherUser", page={"loginHint": "bob@example.test"})
    assert people(front_end, dot) == {"Oracle": "alice", "Oracle 2": "bob", "bob@example.test": "bob"}
    # The control: an account named in the request is replaced.
    again, _ = sign_in(front_end, dot, "user", account=second.result["account"])
    assert (again.result["account"], again.result["created"]) == (second.result["account"], False)
    assert people(front_end, dot) == {"Oracle": "alice", "Oracle 2": "alice", "bob@example.test": "bob"}


def test_the_person_decides_whether_to_replace_an_account(dot, unidentified, start):
    front_end = start(unidentified, {"clientId": "native"}, kinds=("openURL", "replaceAccount"))
    first, page = sign_in(front_end, dot, "user")
    assert "Signed in" in page
    second, page = sign_in(front_end, dot, "otherUser", lambda accounts: {"action": "accept"})
    # The browser's page does not wait for the answer; it refers the person to the question.
    assert "One question is left" in page and "Oracle test now asks you for it" in page
    assert second.result["created"] is True
    assert people(front_end, dot) == {"Oracle": "alice", "Oracle 2": "bob"}
    again, _ = sign_in(front_end, dot, "user", lambda accounts: {
        "action": "accept", "account": next(a["account"] for a in accounts if a["username"] == "Oracle 2")})
    assert (again.result["account"], again.result["created"]) == (second.result["account"], False)
    assert people(front_end, dot) == {"Oracle": "alice", "Oracle 2": "alice"}
    refused, _ = sign_in(front_end, dot, "otherUser", lambda accounts: {"action": "cancel"})
    assert refused.data["reason"] == "userCanceled"
    assert people(front_end, dot) == {"Oracle": "alice", "Oracle 2": "alice"}
