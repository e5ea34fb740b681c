"""Sign-ins of the spawned einlass at independent servers: code and PKCE in a real browser, rotation of refresh
tokens, their reuse, and rotation of keys.

    python -m pytest Tests/Oracles/test_sign_in.py
"""
import json
import socket
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

import browser
import front_end as words
from browser import Chromium, Visitor
from front_end import bring_back, userinfo, visit
from servers import log, tell

pytestmark = pytest.mark.usefixtures("built")
real_browser = pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))

BASIC_SECRET = "s3cret: with/odd+chars"


def flow(ready, **more):
    """Returns a code flow at django-oauth-toolkit."""
    issuer = ready["issuer"]
    return {"kind": "authorizationCode", "authorize": {"method": "GET", "url": issuer + "/authorize/"},
            "redirect": {"path": "/callback"}, "token": {"method": "POST", "url": issuer + "/token/"}, "refresh": {},
            "clientAuthentication": "none", "scopes": ["openid", "photos"], "issuer": issuer,
            "keySet": issuer + "/.well-known/jwks.json", **more}


def provider(ready, flow, **more):
    return words.provider(flow, more.pop("identity", userinfo(ready["issuer"] + "/userinfo/")), **more)


def whose(ready, token):
    request = urllib.request.Request(ready["issuer"] + "/userinfo/", headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def sign_in(front_end, ready):
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(visit(ready, prompt["url"]).press("Authorize"))
    return front_end.end(id)


def test_each_member_of_page_is_a_parameter_of_the_page(dot, start):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"})
    claims = {"id_token": {"acr": None}}
    _, prompt = front_end.begin(page={"loginHint": "ada@example.org", "prompt": "login consent", "maxAgeSeconds": 60,
                                      "acrValues": "2 1", "claims": claims})
    sent = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(prompt["url"]).query))
    assert json.loads(sent["claims"]) == claims
    assert [sent[name] for name in ("login_hint", "prompt", "max_age", "acr_values")] == [
        "ada@example.org", "login consent", "60", "2 1"]


@real_browser
def test_a_person_allows_in_a_real_browser(dot, start):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"})
    before = len(log(dot))
    with Chromium() as chromium:
        id, prompt = front_end.begin()
        assert prompt["kind"] == "openURL" and prompt["host"] == "127.0.0.1"
        chromium.open(prompt["url"])
        chromium.type("[name=username]", dot["user"])
        chromium.type("[name=password]", dot["password"])
        chromium.press("#signin")
        chromium.press("[name=allow]")
        account = front_end.end(id)
        page = chromium.text()
        assert "Signed in" in page and "Oracle test" in page and "alice" in page and "close this tab" in page
        assert chromium.color("light") == "rgb(0, 0, 0)" and chromium.color("dark") == "rgb(255, 255, 255)"
        # The page does not contain the code.
        source = chromium.ask("GET", "/source")
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(chromium.url).query)["code"][0]
        assert code not in source
    assert front_end.call("accounts.list")["accounts"][0]["username"] == "alice"
    assert whose(dot, front_end.token(account))["preferred_username"] == "alice"
    # Only the requests required by the standards were sent.
    mine = [path for _, path in log(dot)[before:] if path.startswith("/o/") and path != "/o/authorize/"]
    assert mine == ["/o/token/", "/o/.well-known/jwks.json", "/o/userinfo/", "/o/userinfo/"]


@real_browser
def test_a_person_denies_in_a_real_browser(dot, start):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"})
    with Chromium() as chromium:
        id, prompt = front_end.begin()
        chromium.open(prompt["url"])
        chromium.type("[name=username]", dot["user"])
        chromium.type("[name=password]", dot["password"])
        chromium.press("#signin")
        chromium.press("input[type=submit]:not([name])")
        answer = front_end.answer(id)
        assert (answer.code, answer.data["reason"]) == (1012, "accessDenied")
        assert answer.data["serverError"]["code"] == "access_denied"
        assert "Not signed in" in chromium.text()
    assert front_end.call("accounts.list")["accounts"] == []


@pytest.mark.parametrize("way", ["client_secret_basic", "client_secret_post"])
def test_the_right_client_secret_signs_in_and_a_wrong_one_is_named(dot, start, way):
    descriptor = provider(dot, flow(dot, clientAuthentication=way), registration=["clientId", "clientSecret"])
    sign_in(start(descriptor, {"clientId": "basic", "clientSecret": BASIC_SECRET}), dot)
    front_end = start(descriptor, {"clientId": "basic", "clientSecret": "wrong"})
    id, prompt = front_end.begin()
    assert "failed" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    assert front_end.answer(id).data["reason"] == "authenticatorUnconfigured"


def test_a_redirect_registered_without_a_port_takes_any_port(dot, start):
    flow_without = {name: value for name, value in flow(dot).items() if name != "redirect"}
    front_end = start(provider(dot, flow_without), {"clientId": "native", "redirect": "http://127.0.0.1/callback"})
    sign_in(front_end, dot)


def test_foreign_answers_do_not_end_a_sign_in(dot, start):
    """Requests with a missing or wrong state, or for another path, are refused; the sign-in continues until the right
    answer arrives."""
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"})
    id, prompt = front_end.begin()
    visitor = visit(dot, prompt["url"]).press("Authorize")
    place, _, query = visitor.location.partition("?")
    code = urllib.parse.parse_qs(query)["code"][0]
    for wrong in (place, place + "?code=" + code, place + "?state=wrong&code=" + code, place + "/x?" + query,
                  place.rpartition("/")[0] + "/favicon.ico"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(wrong, timeout=60)
        assert refused.value.code in (400, 404)
    assert "Signed in" in bring_back(visitor)
    front_end.end(id)
    # The listener closes soon after the sign-in.
    with pytest.raises(ConnectionRefusedError):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            socket.create_connection(("127.0.0.1", urllib.parse.urlsplit(place).port), timeout=60).close()
            time.sleep(0.01)


def test_a_person_without_a_browser_here_pastes_the_address(dot, start):
    """Over SSH the browser is on another machine and cannot reach the redirect address."""
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"}, kinds=("openURL", "enterVerifier"))
    id, prompt = front_end.begin()
    prompts = {prompt["kind"]: prompt}
    prompt = front_end.until("prompt.opened")
    prompts[prompt["kind"]] = prompt
    assert prompts["enterVerifier"]["expects"] == "redirectURL"
    visitor = visit(dot, prompts["openURL"]["url"]).press("Authorize")
    front_end.call("prompt.answer", prompt=prompts["enterVerifier"]["prompt"], action="accept",
                   text=f" {visitor.location}\n")
    front_end.end(id)


def test_the_front_end_catches_an_address_of_its_own_scheme(dot, start):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native", "redirect": "einlass:/callback"})
    for wrong in ("einlass:/callback?state=wrong&code=x", "einlass:/other"):
        id, prompt = front_end.begin()
        front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept", redirectURL=wrong)
        assert front_end.answer(id).data["reason"] == "stateMismatch"
    id, prompt = front_end.begin()
    visitor = visit(dot, prompt["url"]).press("Authorize")
    assert visitor.location.startswith("einlass:/callback?")
    front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept", redirectURL=visitor.location)
    front_end.end(id)


def test_refresh_tokens_rotate_and_a_reused_one_needs_a_new_sign_in(dot, start):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"}, kinds=("openURL", "grantAccess"))
    account = sign_in(front_end, dot)
    tokens = {front_end.token(account)}
    for _ in range(5):
        tokens.add(front_end.token(account, forceRefresh=True))
        assert front_end.health(account) == "ok"
    assert len(tokens) == 6
    # A valid token causes no request.
    before = log(dot)
    assert front_end.token(account) in tokens and log(dot) == before
    # Another client uses the refresh token: the provider revokes the family when einlass uses it again.
    id = front_end.send("auth.perform", provider="oracle", account=account, confirm=True, includeRefreshToken=True)
    prompt = front_end.until("prompt.opened")
    assert prompt["kind"] == "grantAccess" and prompt["includes"] == ["refreshToken"]
    front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept")
    stolen = front_end.answer(id).result["credential"]["refreshToken"]
    form = {"grant_type": "refresh_token", "client_id": "native", "refresh_token": stolen}
    urllib.request.urlopen(dot["issuer"] + "/token/", urllib.parse.urlencode(form).encode()).close()
    assert front_end.refused("credentials.get", account=account, forceRefresh=True) == "reloginNeeded"
    assert front_end.health(account) == "reloginNeeded"
    assert sign_in(front_end, dot) == account
    assert front_end.health(account) == "ok"
    assert front_end.token(account) not in tokens


def test_an_expired_token_is_renewed_before_it_is_handed_out(dot, start):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"})
    account = sign_in(front_end, dot)
    first = front_end.token(account)
    assert front_end.token(account, minValiditySeconds=200) == first
    assert front_end.token(account, minValiditySeconds=600) != first


def test_signing_out_revokes_at_the_provider(dot, start):
    def recipe(what):
        return {"method": "POST", "url": dot["issuer"] + "/revoke_token/", "form": {"token": what, "client_id": "native"}}

    front_end = start(provider(dot, flow(dot), revoke=recipe("{token}")), {"clientId": "native"})
    account = sign_in(front_end, dot)
    token = front_end.token(account)
    assert whose(dot, token)
    said = front_end.call("accounts.signOut", account=account, revoke=True)
    assert said["revoked"] and not said["notRevoked"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        whose(dot, token)
    assert refused.value.code == 401
    assert sign_in(front_end, dot) == account


@pytest.mark.parametrize("overlap", [1, 0])
def test_keys_rotate(dot, start, overlap):
    front_end = start(provider(dot, flow(dot)), {"clientId": "native"})
    account = sign_in(front_end, dot)
    tell(dot, f"/__rotate?overlap={overlap}")
    assert sign_in(front_end, dot) == account


# ---- idpyoidc

def registered(ready, redirect, **more):
    wish = {"redirect_uris": [redirect], "grant_types": ["authorization_code", "refresh_token"], **more}
    request = urllib.request.Request(ready["base"] + "/registration", json.dumps(wish).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_idpyoidc_signs_in_four_ways_and_rotates_its_keys(idpy, start, algorithm):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        redirect = "http://127.0.0.1:%d/done" % probe.getsockname()[1]
    client = registered(idpy, redirect, token_endpoint_auth_method="client_secret_basic",
                        id_token_signed_response_alg=algorithm)
    code = {"kind": "authorizationCode", "authorize": {"method": "GET", "url": idpy["base"] + "/authorization"},
            "redirect": {"ports": [urllib.parse.urlsplit(redirect).port], "path": "/done"},
            "token": {"method": "POST", "url": idpy["base"] + "/token"}, "refresh": {},
            "clientAuthentication": "client_secret_basic", "scopes": ["openid", "profile", "email", "offline_access"],
            "issuer": idpy["issuer"], "keySet": idpy["base"] + "/jwks.json"}
    identity = {"request": {"method": "GET", "url": idpy["base"] + "/userinfo", "bearer": "{token}"}, "id": "/sub",
                "name": "/name", "username": "/email", "email": "/email", "required": ["id"]}
    front_end = start(provider(idpy, code, identity=identity),
                      {"clientId": client["client_id"], "clientSecret": client["client_secret"]})
    accounts = set()
    # Two rotations within a minute cause one request for the keys.
    for overlap in (int(algorithm in ("RS256", "EdDSA")), None):
        id, prompt = front_end.begin(page={"prompt": "consent"})
        assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
        accounts.add(front_end.end(id))
        if overlap is not None:
            tell(idpy, f"/__rotate?overlap={overlap}")
    assert len(accounts) == 1
    account = accounts.pop()
    assert front_end.call("accounts.list")["accounts"][0]["email"] == "alice@example.test"
    assert front_end.token(account) != front_end.token(account, forceRefresh=True)
