"""The servers for sign-ins refuse wrong requests, so that a passing test of einlass means something.

    python -m pytest Tests/Oracles/test_sign_in_oracles.py
"""
import base64
import hashlib
import json
import urllib.error
import urllib.parse
import urllib.request

import pytest
from oauthlib.oauth1 import Client

import browser
from browser import Chromium, Stay, Visitor
from servers import running

REDIRECT = "http://127.0.0.1:9/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


def send(url, form=None, headers=(), body=None):
    """Returns status, body and redirect address, without following a redirect."""
    data = urllib.parse.urlencode(form).encode() if form is not None else body
    opener = urllib.request.build_opener(Stay, urllib.request.ProxyHandler({}))
    try:
        answer = opener.open(urllib.request.Request(url, data, dict(headers)), timeout=60)
    except urllib.error.HTTPError as failure:
        answer = failure
    with answer:
        return answer.status, answer.read().decode(), answer.headers.get("Location")


def address(endpoint, **changes):
    asked = {"response_type": "code", "client_id": "native", "redirect_uri": REDIRECT, "scope": "openid photos",
             "state": "s", "nonce": "n", "code_challenge": CHALLENGE, "code_challenge_method": "S256", **changes}
    return endpoint + "?" + urllib.parse.urlencode({name: value for name, value in asked.items() if value is not None})


def query(url):
    assert url.startswith(REDIRECT), url
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


@pytest.fixture
def alice(dot):
    """Returns a visitor after a sign-in at the provider."""
    visitor = Visitor().open(dot["base"] + "/login/?next=/o/applications/")
    visitor.press("signin", username=dot["user"], password=dot["password"])
    return visitor


def token(dot, **form):
    status, body, _ = send(dot["issuer"] + "/token/", {"client_id": "native", **form})
    return status, json.loads(body)


@pytest.fixture
def consented(dot, alice):
    """Returns a function that presses a button of the consent page and returns the query of the redirect."""
    def ask(button="Authorize", **changes):
        alice.open(address(dot["issuer"] + "/authorize/", **changes))
        assert alice.status == 200, alice.page
        return query(alice.press(button).location)
    return ask


def test_a_code_needs_its_verifier_and_serves_once(dot, consented):
    grant = {"grant_type": "authorization_code", "redirect_uri": REDIRECT}
    answer = consented()
    assert answer["state"] == "s"
    assert token(dot, **grant, code=answer["code"], code_verifier="x" * 43)[0] == 400
    assert token(dot, **grant, code=answer["code"])[0] == 400
    assert token(dot, **grant, code=answer["code"], code_verifier=VERIFIER)[0] == 200
    assert token(dot, **grant, code=answer["code"], code_verifier=VERIFIER)[0] == 400
    assert consented("Cancel")["error"] == "access_denied"


def test_an_old_refresh_token_revokes_its_family(dot, consented):
    first = token(dot, grant_type="authorization_code", redirect_uri=REDIRECT, code=consented()["code"],
                  code_verifier=VERIFIER)[1]
    status, second = token(dot, grant_type="refresh_token", refresh_token=first["refresh_token"])
    assert status == 200 and second["refresh_token"] != first["refresh_token"]
    assert token(dot, grant_type="refresh_token", refresh_token=first["refresh_token"])[1]["error"] == "invalid_grant"
    assert token(dot, grant_type="refresh_token", refresh_token=second["refresh_token"])[1]["error"] == "invalid_grant"


def test_no_code_without_a_challenge_or_for_another_address(dot, alice):
    for changes in ({"code_challenge": None, "code_challenge_method": None}, {"redirect_uri": REDIRECT + "/x"},
                    {"client_id": "nobody"}):
        alice.open(address(dot["issuer"] + "/authorize/", **changes))
        assert alice.status == 400 or query(alice.location)["error"] == "invalid_request"


def test_a_resource_asks_the_issuer_about_every_token(dot, consented):
    with running("resource_server.py", dot["issuer"]) as ready:
        def get(token=None):
            return send(ready["resource"], headers={"Authorization": "Bearer " + token} if token else {})[0]

        metadata = json.loads(send(ready["metadata"])[1])
        assert metadata["resource"] == ready["resource"] and metadata["authorization_servers"] == [dot["issuer"]]
        assert get() == 401 and get("unknown") == 401
        for scope, status in (("photos", 200), ("openid", 403)):
            code = consented(scope=scope, resource=ready["resource"])["code"]
            grant = {"grant_type": "authorization_code", "redirect_uri": REDIRECT, "code": code}
            assert get(token(dot, **grant, code_verifier=VERIFIER)[1]["access_token"]) == status
        description = json.loads(send(dot["base"] + "/.well-known/oauth-authorization-server/o")[1])
        assert description["issuer"] == dot["issuer"] and description["registration_endpoint"]


def test_keys_rotate_with_overlap_and_without(dot):
    def keys():
        return [key["kid"] for key in json.loads(send(dot["issuer"] + "/.well-known/jwks.json")[1])["keys"]]

    first = keys()
    send(dot["base"] + "/__rotate?overlap=1", {})
    assert len(keys()) == 2 and first[0] in keys()
    send(dot["base"] + "/__rotate?overlap=0", {})
    assert len(keys()) == 1 and first[0] not in keys()


def test_idpyoidc_compares_redirects_whole_and_wants_a_challenge(idpy):
    wish = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    status, body, _ = send(idpy["base"] + "/registration", body=json.dumps(wish).encode(),
                           headers={"Content-Type": "application/json"})
    assert status == 201
    client = json.loads(body)["client_id"]
    place = idpy["base"] + "/authorization"
    status, _, location = send(address(place, client_id=client, scope="openid"))
    assert status == 302 and query(location)["state"] == "s"
    grant = {"grant_type": "authorization_code", "client_id": client, "redirect_uri": REDIRECT,
             "code": query(location)["code"]}
    assert send(idpy["base"] + "/token", {**grant, "code_verifier": "x" * 43})[0] == 400
    other = "http://127.0.0.1:10/callback"
    assert send(address(place, client_id=client, scope="openid", redirect_uri=other))[0] == 400
    status, body, location = send(address(place, client_id=client, scope="openid", code_challenge=None,
                                          code_challenge_method=None))
    assert status == 400 or "error" in query(location)


@pytest.fixture(scope="module")
def oauth1():
    with running("three_legged_server.py") as ready:
        yield ready


def signed(client, url):
    url, headers, _ = client.sign(url, "POST")
    status, body, _ = send(url, headers=headers, body=b"")
    return status, dict(urllib.parse.parse_qsl(body))


def keys(oauth1, name):
    consumer = oauth1["consumers"][name]
    keys = {"client_key": name, "client_secret": consumer["secret"] or None, "signature_method": consumer["method"]}
    if consumer["method"] == "RSA-SHA1":
        keys["rsa_key"] = oauth1["privateKey"]
    return keys


@pytest.mark.parametrize("name", ["key-sha1", "key-sha256", "key-plain", "key-rsa"])
def test_three_legs_end_in_a_token_and_a_wrong_verifier_does_not(oauth1, name):
    base, given = oauth1["base"], keys(oauth1, name)
    status, first = signed(Client(**given, callback_uri="oob"), base + "/oauth/request_token")
    assert status == 200 and first["oauth_callback_confirmed"] == "true"
    pin = Visitor().open(base + "/oauth/authorize?oauth_token=" + first["oauth_token"]).press("allow")
    pin = pin.page.split('id="pin">')[1].split("<")[0]
    request = {**given, "resource_owner_key": first["oauth_token"], "resource_owner_secret": first["oauth_token_secret"]}
    assert signed(Client(**request, verifier="wrong"), base + "/oauth/access_token")[0] == 401
    assert signed(Client(**{**request, "client_key": "nobody"}, verifier=pin), base + "/oauth/access_token")[0] == 401
    status, token = signed(Client(**request, verifier=pin), base + "/oauth/access_token")
    assert status == 200 and token["screen_name"] == "alice"
    assert signed(Client(**request, verifier=pin), base + "/oauth/access_token")[0] == 401


def test_a_denial_brings_no_verifier(oauth1):
    _, first = signed(Client(**keys(oauth1, "key-sha1"), callback_uri=REDIRECT), oauth1["base"] + "/oauth/request_token")
    page = oauth1["base"] + "/oauth/authorize?oauth_token=" + first["oauth_token"]
    status, _, location = send(page, {"decision": "deny"})
    assert status == 302 and query(location) == {"denied": first["oauth_token"]}
    assert send(page, {"decision": "allow"})[0] == 404


@pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))
def test_a_real_browser_presses_the_buttons(oauth1):
    _, first = signed(Client(**keys(oauth1, "key-sha1"), callback_uri="oob"), oauth1["base"] + "/oauth/request_token")
    with Chromium() as chromium:
        chromium.open(oauth1["base"] + "/oauth/authorize?oauth_token=" + first["oauth_token"])
        chromium.press("#allow")
        assert len(chromium.text("#pin")) >= 8
