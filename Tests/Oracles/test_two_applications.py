"""Two applications with their own registrations share a person's account. Neither destroys the other's token by
following einlass's hints. The server's introspection names the owner and the client of each token.

    python -m pytest Tests/Oracles/test_two_applications.py
"""
import pytest

from front_end import bring_back, visit
from session import request_of
from test_sign_in import flow, provider
from test_unidentified import introspection

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def applications(dot, start, tmp_path):
    """Two front ends with one store; a person has signed in with the first one."""
    store = {"store": str(tmp_path / "data" / "store.db"), "options": ("--key-file", str(tmp_path / "keys" / "key"))}
    first, second = (start(provider(dot, flow(dot)), {"clientId": client}, **store) for client in ("native", "second"))
    sign_in(first, dot)
    return first, second


def sign_in(front_end, dot, **params):
    id, prompt = front_end.begin(**params)
    page = bring_back(visit(dot, prompt["url"]).press("Authorize"))
    assert "Signed in" in page, page
    return front_end.end(id)


def issued_to(dot, token):
    said = introspection(dot, token)
    return said.get("username"), said.get("client_id")


def refusals(front_end, account):
    """Yields the error of each method that returns or uses a credential of the account."""
    asked = [("credentials.get", {"account": account}), ("verify", {"provider": "oracle", "account": account}),
             ("credentials.sign", {"account": account, "method": "GET", "url": "https://example.com/"})]
    for method, params in asked:
        answer = front_end.answer(front_end.send(method, **params))
        yield answer.code, answer.data["reason"], request_of(answer.data)


def test_an_application_without_a_credential_signs_in_beside_the_other(dot, applications):
    first, second = applications
    [account] = [entry["account"] for entry in second.call("accounts.list")["accounts"]]
    before = first.token(account)
    hint = {"label": "Sign in to the account again", "method": "accounts.signIn",
            "params": {"provider": "oracle", "account": account}}
    assert list(refusals(second, account)) == [(1005, "notIssuedToThisClient", hint)] * 3
    assert second.health(account) == "ok"
    assert sign_in(second, dot, **{name: value for name, value in hint["params"].items() if name != "provider"}) == account
    assert issued_to(dot, second.token(account)) == ("alice", "second")
    assert first.token(account) == before and issued_to(dot, before) == ("alice", "native")


def test_adding_a_credential_keeps_that_of_the_other_application(dot, applications):
    first, second = applications
    [entry] = second.call("accounts.list")["accounts"]
    account, before = entry["account"], first.token(entry["account"])
    added = second.call("accounts.add", provider="oracle", username=entry["username"], subject=entry["subject"], replace=True,
                        credential={"type": "oauth2", "token": "brought", "clientId": "second"})
    assert (added["account"], added["created"]) == (account, False)
    assert second.token(account) == "brought"
    assert first.token(account) == before and issued_to(dot, before) == ("alice", "native")
    renewed = first.token(account, forceRefresh=True)
    assert renewed != before and issued_to(dot, renewed) == ("alice", "native")
    # The control: a credential with the same client id is replaced.
    first.call("accounts.add", provider="oracle", username=entry["username"], subject=entry["subject"], replace=True,
               credential={"type": "oauth2", "token": "mine", "clientId": "native"})
    assert (first.token(account), second.token(account)) == ("mine", "brought")
