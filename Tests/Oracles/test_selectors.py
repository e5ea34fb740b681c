"""A name similar to that of an account, a provider or an application selects nothing.

    python -m pytest Tests/Oracles/test_selectors.py
"""
import json

import pytest

from session import Session

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def session(tmp_path):
    session = Session()
    session.call("initialize", client={"name": "k-editor"}, applications={
        "facebook": {"clientId": "APP", "clientSecret": "s"}, "twitter": {"clientId": "T", "clientSecret": "s"}})
    yield session
    session.close()


def asked(session, method, /, **params):
    """Returns the answer to a request, without a check of its parameters."""
    session.next = getattr(session, "next", 0) + 1
    id = f"selector-{session.next}"
    session.write({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    while True:
        message = json.loads(session.lines.get(timeout=60))
        if message.get("id") == id:
            return message


def nearly(name):
    """Returns names that a person could confuse with this one, or that a program could normalize to it."""
    alike = {"k": "\u212a", "a": "\u0430", "e": "e\u0301", "o": "\u043e", "i": "\u0456"}
    names = ["", " ", name[:-1], name[:1], name + "x", name + " ", " " + name, name.swapcase(), name + "\0", name + "\n",
            "\u202e" + name, name + "\u200b", name + "\ufeff", name.replace("a", "a\u0301", 1), "%", "*", "_" * len(name), f"'{name}'",
            "".join(alike.get(letter, letter) for letter in name), name + "%", f"{name}' OR '1'='1", "../" + name]
    return [other for other in names if other != name]


USES = [("credentials.get", {}), ("credentials.reject", {}), ("accounts.renew", {}), ("accounts.signOut", {"revoke": False}),
        ("credentials.sign", {"method": "GET", "url": "https://api.example.com/"}), ("accounts.remove", {}), ("avatars.get", {}),
        ("accounts.update", {"displayName": "taken over"}), ("auth.perform", {"provider": "facebook", "interactive": "never"}),
        ("accounts.setPreferred", {"provider": "facebook"}), ("verify", {"provider": "facebook"})]


@pytest.mark.parametrize("method, params", USES)
def test_a_similar_account_id_names_no_account(session, method, params):
    account = session.call("accounts.add", provider="facebook", username="ada", credential={
        "type": "oauth2", "token": "t0ken", "clientId": "APP"})["account"]
    session.call("access.set", provider="facebook", state="granted")
    before = session.call("accounts.list")
    for name in nearly(account):
        answer = asked(session, method, account=name, **params)
        assert answer.get("error", {}).get("code") in (1021, 1025, -32602), (name, answer)
        assert "t0ken" not in json.dumps(answer)
    assert session.call("accounts.list") == before
    # The control: the exact id.
    assert session.call("credentials.get", account=account)["credential"]["token"] == "t0ken"


def test_a_similar_provider_or_application_changes_no_grant(session):
    session.call("access.set", provider="facebook", state="granted", application="k-editor")
    granted = session.call("access.list")["grants"]
    for name in nearly("facebook"):
        for method in ("access.set", "access.reset"):
            more = {"state": "denied"} if method == "access.set" else {}
            answer = asked(session, method, provider=name, application="k-editor", **more)
            assert answer["error"]["code"] in (1020, -32602), (name, answer)
        assert asked(session, "auth.perform", provider=name, interactive="never")["error"]["code"] in (1020, -32602), name
        listed = asked(session, "accounts.list", provider=name)
        assert "error" in listed or listed["result"]["accounts"] == []
    for name in nearly("k-editor"):
        asked(session, "access.set", provider="facebook", application=name, state="denied")
        asked(session, "access.reset", provider="facebook", application=name)
    assert [grant for grant in session.call("access.list")["grants"] if grant["application"] == "k-editor"] == granted
