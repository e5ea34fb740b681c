"""A provider known only by its issuer, at django-oauth-toolkit and idpyoidc.

    python -m pytest Tests/Oracles/test_discovery.py
"""
import json
import socket
import urllib.request

import pytest

from browser import Visitor
from front_end import bring_back, visit

pytestmark = pytest.mark.usefixtures("built")


def test_django_oauth_toolkit_is_found_by_its_issuer(dot, start):
    front_end = start(None, {"clientId": "native", "redirect": "http://127.0.0.1/callback"})
    added = front_end.call("providers.add", issuer=dot["issuer"], id="oracle")
    assert added == {"provider": "oracle", "created": True}
    id, prompt = front_end.begin(scopes=["openid", "photos"])
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    account = front_end.end(id)
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)
    assert front_end.call("providers.add", issuer=dot["issuer"], id="oracle")["created"] is False


@pytest.mark.parametrize("algorithm", ["HS256", None])
def test_the_id_tokens_of_a_client_with_hs256_are_verified_with_its_secret(dot, start, algorithm):
    front_end = start(None, {"clientId": "hs256", "clientSecret": dot["clients"]["hs256"], "redirect": "http://127.0.0.1/callback",
                             **({"idTokenAlgorithm": algorithm} if algorithm else {})})
    front_end.call("providers.add", issuer=dot["issuer"], id="oracle")
    id, prompt = front_end.begin()
    page = bring_back(visit(dot, prompt["url"]).press("Authorize"))
    if algorithm:
        assert "Signed in" in page
        assert front_end.call("credentials.get", account=front_end.end(id))["credential"]["idToken"]
    else:
        # The control: without the word of the registration, only the issuer's keys are believed.
        assert "Sign-in failed" in page
        data = front_end.answer(id).data
        assert (data["reason"], data["detail"]) == ("verificationFailed", "signature")


def test_idpyoidc_is_found_by_its_issuer(idpy, start):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        redirect = "http://127.0.0.1:%d/done" % probe.getsockname()[1]
    wish = {"redirect_uris": [redirect], "token_endpoint_auth_method": "client_secret_basic"}
    request = urllib.request.Request(idpy["base"] + "/registration", json.dumps(wish).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        client = json.load(answer)
    front_end = start(None, {"clientId": client["client_id"], "clientSecret": client["client_secret"],
                             "redirect": redirect})
    front_end.call("providers.add", issuer=idpy["issuer"], id="oracle")
    # idpyoidc refuses offline_access without `prompt=consent`.
    id, prompt = front_end.begin(page={"prompt": "consent"})
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    account = front_end.end(id)
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)
    left = front_end.call("accounts.signOut", account=account)
    both = [f"application {client['client_id']} {token}" for token in ("refreshToken", "accessToken")]
    assert (left["revoked"], left["notRevoked"]) == (both, [])


@pytest.mark.parametrize("change", ["/", "/o", "?x=1"])
def test_another_issuer_than_the_document_s_is_refused(dot, start, change):
    front_end = start(None, None)
    assert front_end.refused("providers.add", issuer=dot["issuer"] + change) in ("providerFailure", "unsafeURL")
    assert [entry["id"] for entry in front_end.call("providers.list")["providers"] if "127" in entry["id"]] == []


def test_an_application_without_a_registration_gets_one_once(dot, idpy, start):
    """idpyoidc compares redirect addresses whole, so the second sign-in must use the same port."""
    front_end = start(None, None)
    for ready, person in ((dot, None), (idpy, "alice")):
        id = front_end.call("providers.add", issuer=ready["issuer"])["provider"]
        for _ in range(2):
            request, prompt = front_end.begin(provider=id, page={"prompt": "consent"})
            visitor = Visitor().open(prompt["url"]) if person else visit(ready, prompt["url"]).press("Authorize")
            assert "Signed in" in bring_back(visitor)
            account = front_end.end(request, provider=id)
        assert front_end.token(account) != front_end.token(account, forceRefresh=True)
        with urllib.request.urlopen(ready["base"] + "/__log") as answer:
            paths = [entry["path"].partition("?")[0].rstrip("/") for entry in json.load(answer)]
        registered = [path for path in paths if path.endswith(("/register", "/registration"))]
        assert len(registered) == 1 if ready is dot else registered


def test_the_reported_address_ends_the_browser_session_and_contains_no_secret(dot, start):
    front_end = start(None, {"clientId": "native", "redirect": "http://127.0.0.1/callback"})
    front_end.call("providers.add", issuer=dot["issuer"], id="oracle")
    id, prompt = front_end.begin()
    visitor = visit(dot, prompt["url"]).press("Authorize")
    assert "Signed in" in bring_back(visitor)
    account = front_end.end(id)

    def is_known():
        """Whether the provider shows the consent page, not the password form."""
        id, prompt = front_end.begin()
        visitor.open(prompt["url"])
        front_end.call("prompt.answer", prompt=prompt["prompt"], action="cancel")
        assert front_end.answer(id).data["reason"] == "userCanceled"
        return "Authorize" in visitor.page

    report = front_end.call("accounts.signOut", account=account)
    assert report["revoked"][0] == "application native refreshToken"  # found in OAuth's own metadata alone
    assert report["endSessionURL"] == dot["issuer"] + "/logout/?client_id=native"
    # The control: revoked tokens leave the browser signed in.
    assert is_known()
    visitor.open(report["endSessionURL"])
    assert "requested by native" in visitor.page
    visitor.press("Logout")
    assert not is_known()
    # Without revocation, or without a credential, the answer has no address.
    assert "endSessionURL" not in front_end.call("accounts.signOut", account=account)
