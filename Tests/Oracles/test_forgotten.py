"""A server that forgets the clients which registered themselves (RFC 7591), as those do that keep them in memory:
django-oauth-toolkit.

    python -m pytest Tests/Oracles/test_forgotten.py
"""
import pytest

from front_end import bring_back, visit
from test_sign_in import log, tell

pytestmark = pytest.mark.usefixtures("built")


def registered(dot):
    """How many clients have registered themselves so far."""
    return log(dot).count(("POST", "/o/register/"))


def sign_in(front_end, dot):
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    return front_end.end(id)


def add(front_end, dot):
    front_end.call("providers.add", issuer=dot["issuer"], id="oracle")


def test_a_forgotten_client_registers_anew_before_the_person_sees_a_page(dot, start):
    front_end = start(None, None)
    add(front_end, dot)
    before = registered(dot)
    account = sign_in(front_end, dot)
    # The control: who is known registers once.
    assert sign_in(front_end, dot) == account and registered(dot) == before + 1
    tell(dot, "/__forget")
    # What is stored says what to do, and nobody's account is called broken: it is the application that is not known.
    answer = front_end.answer(front_end.send("credentials.get", account=account, forceRefresh=True))
    assert (answer.data["reason"], answer.data["hint"]["method"]) == ("reloginNeeded", "accounts.signIn")
    assert answer.data["serverError"]["code"] == "invalid_client"
    assert front_end.health(account) == "ok"
    params = answer.data["hint"]["params"]
    id, prompt = front_end.begin(**params)
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    assert front_end.end(id) == account and registered(dot) == before + 2
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)


def test_a_request_that_may_sign_in_does_so(dot, start):
    front_end = start(None, None)
    add(front_end, dot)
    account = sign_in(front_end, dot)
    tell(dot, "/__forget")
    front_end.call("credentials.reject", account=account)
    id = front_end.send("auth.perform", provider="oracle", account=account, confirm=True, signIn="ifNeeded")
    prompt = front_end.until("prompt.opened")
    assert prompt["kind"] == "openURL"
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    assert front_end.answer(id).result["account"] == account


def test_what_a_person_brought_is_neither_asked_about_nor_replaced(dot, start):
    front_end = start(None, None)
    add(front_end, dot)
    front_end.call("providers.configure", provider="oracle", clientId="ghost", redirect="http://127.0.0.1/callback")
    before = log(dot)
    id, prompt = front_end.begin()
    assert log(dot) == before and "client_id=ghost" in prompt["url"]
    front_end.call("prompt.answer", prompt=prompt["prompt"], action="cancel")
    assert front_end.answer(id).data["reason"] == "userCanceled"
    assert "client_id=ghost" in front_end.begin()[1]["url"] and log(dot) == before
