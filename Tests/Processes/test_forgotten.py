"""A server forgets dynamically registered clients (RFC 7591), as a server without a database does:
django-oauth-toolkit.

    python -m pytest Tests/Processes/test_forgotten.py
"""
import pytest

from front_end import bring_back, visit
from servers import log, tell

pytestmark = pytest.mark.usefixtures("built")


def registered(dot):
    """Returns the number of registrations so far."""
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
    # The control: a known client registers once.
    assert sign_in(front_end, dot) == account and registered(dot) == before + 1
    tell(dot, "/__forget")
    # The error has a hint, and the account's health stays ok, because the server forgot the application and not the
    # account.
    answer = front_end.answer(front_end.send("credentials.get", account=account, forceRefresh=True))
    assert (answer.data["reason"], next(step for step in answer.data["next"] if "method" in step)["method"]) == ("reloginNeeded", "accounts.signIn")
    assert answer.data["serverError"]["code"] == "invalid_client"
    assert front_end.health(account) == "ok"
    params = next(step for step in answer.data["next"] if "method" in step)["params"]
    id, prompt = front_end.begin(**params)
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    assert front_end.end(id) == account and registered(dot) == before + 2
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)


def test_auth_perform_signs_in_after_the_client_was_forgotten(dot, start):
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


def test_a_registration_from_the_person_is_not_replaced(dot, start):
    front_end = start(None, None)
    add(front_end, dot)
    front_end.call("providers.configure", provider="oracle", clientId="ghost", redirect="http://127.0.0.1/callback")
    before = log(dot)
    id, prompt = front_end.begin()
    assert log(dot) == before and "client_id=ghost" in prompt["url"]
    front_end.call("prompt.answer", prompt=prompt["prompt"], action="cancel")
    assert front_end.answer(id).data["reason"] == "userCanceled"
    assert "client_id=ghost" in front_end.begin()[1]["url"] and log(dot) == before
