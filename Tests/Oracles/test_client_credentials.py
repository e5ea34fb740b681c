"""An application signs in as itself (RFC 6749 section 4.4) at django-oauth-toolkit.

    python -m pytest Tests/Oracles/test_client_credentials.py
"""
import base64
import json
import urllib.error
import urllib.parse
import urllib.request

import pytest

from front_end import provider, userinfo
from servers import log
from test_sign_in import flow, whose

pytestmark = pytest.mark.usefixtures("built")

SERVICE = {"clientId": "service", "clientSecret": "service-secret"}


def descriptor(dot, **more):
    """Returns a descriptor with a flow for people too."""
    words = {"kind": "clientCredentials", "token": {"method": "POST", "url": dot["issuer"] + "/token/"},
             "scopes": ["photos"], "revocation": {"method": "POST", "url": dot["issuer"] + "/revoke_token/"}, **more}
    whole = provider(flow(dot), userinfo(dot["issuer"] + "/userinfo/"))
    return {**whole, "flows": whole["flows"] + [words]}


def is_active(dot, token):
    """Whether the token is active, according to the server's introspection (RFC 7662)."""
    proof = "Basic " + base64.b64encode(b"service:service-secret").decode()
    form = urllib.parse.urlencode({"token": token}).encode()
    request = urllib.request.Request(dot["issuer"] + "/introspect/", form, {"Authorization": proof})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        said = json.load(answer)
    assert not said["active"] or (said["client_id"], said["scope"], said.get("username")) == ("service", "photos", None)
    return said["active"]


def sign_in(front_end):
    return front_end.end(front_end.send("accounts.signIn", provider="oracle", flowKind="clientCredentials"))


@pytest.mark.parametrize("way", ["client_secret_basic", "client_secret_post"])
def test_an_application_signs_in_as_itself_without_a_person(dot, start, way):
    front_end = start(descriptor(dot, clientAuthentication=way), SERVICE, kinds=())
    before = len(log(dot))
    account = sign_in(front_end)
    entry = front_end.call("accounts.list")["accounts"][0]
    assert (entry["account"], entry["username"], entry["subject"]) == (account, "service", "service")
    token = front_end.token(account)
    assert front_end.token(account) == token
    # A renewal is the same request again, with the application's own authentication.
    fresh = {front_end.token(account, forceRefresh=True), front_end.token(account, minValiditySeconds=600)}
    assert len(fresh | {token}) == 3
    assert [path for _, path in log(dot)[before:]] == ["/o/token/"] * 3
    assert all(is_active(dot, good) for good in fresh | {token}) and not is_active(dot, "x" + token)
    # The control: the token belongs to no person.
    with pytest.raises(urllib.error.HTTPError) as refused:
        whose(dot, token)
    assert refused.value.code in (401, 403)
    # The next sign-in finds the same account, and sign-out revokes its token.
    assert sign_in(front_end) == account
    token = front_end.token(account)
    assert front_end.call("accounts.signOut", account=account)["revoked"] == ["application service"]
    assert not is_active(dot, token)
    # An account that is named signs in by its own flow: no page is opened, and this front end could not show one.
    assert front_end.end(front_end.send("accounts.signIn", provider="oracle", account=account)) == account


def test_a_wrong_secret_and_a_public_client_are_reported_and_add_no_account(dot, start):
    for application, detail in (({"clientId": "service", "clientSecret": "wrong"}, None),
                                ({"clientId": "native"}, "clientSecret")):
        front_end = start(descriptor(dot), application, kinds=())
        data = front_end.answer(front_end.send(
            "accounts.signIn", provider="oracle", flowKind="clientCredentials")).data
        assert (data["reason"], data.get("detail")) == ("authenticatorUnconfigured", detail)
        assert front_end.call("accounts.list")["accounts"] == []


def test_a_sign_in_without_a_flow_kind_needs_a_person(dot, start):
    front_end = start(descriptor(dot), SERVICE, kinds=())
    assert front_end.refused("accounts.signIn", provider="oracle") == "interactionRequired"
