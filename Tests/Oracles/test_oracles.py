"""The servers refuse wrong requests, so that a passing test of einlass means something.

    python -m pytest Tests/Oracles
"""
import hashlib
import hmac
import json
import urllib.error
import urllib.parse
import urllib.request

import pytest
from oauthlib.oauth1 import Client

from servers import running

@pytest.fixture(scope="module")
def oauth1():
    with running("oauth1_server.py") as ready:
        yield ready


@pytest.fixture(scope="module")
def facebook():
    with running("facebook_server.py") as ready:
        yield ready


def send(url, method="GET", headers=(), form=None):
    body = urllib.parse.urlencode(form).encode() if form is not None else None
    request = urllib.request.Request(url, body, dict(headers), method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code, failure.read().decode()


# ---- OAuth 1.0a

def signed(client, url, method="GET", form=None):
    kind = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
    url, headers, _ = client.sign(url, method, form, kind)
    return send(url, method, headers, form)


def application(ready):
    given = ready["config"]["applications"]["*"]["twitter"]
    return {"client_key": given["clientId"], "client_secret": given["clientSecret"]}


def system(ready, **changes):
    given = ready["accounts"][0]["credential"]
    keys = {"client_key": given["clientId"], "client_secret": given["clientSecret"],
            "resource_owner_key": given["key"], "resource_owner_secret": given["secret"]}
    return Client(**{**keys, **changes})


def first_step(ready, **changes):
    return signed(Client(**{**application(ready), **changes}), ready["base"] + "/oauth/request_token",
                  "POST", {"x_auth_mode": "reverse_auth"})


def second_step(ready, parameters, client=None, target=None):
    return signed(client or system(ready), ready["base"] + "/oauth/access_token", "POST",
                  {"x_reverse_auth_target": target or application(ready)["client_key"],
                   "x_reverse_auth_parameters": parameters})


def identity(ready, **keys):
    url = ready["base"] + "/1.1/account/verify_credentials.json?include_email=true&x=%20%2F"
    return signed(Client(**keys), url)


def test_reverse_authentication_ends_in_a_token_of_the_application(oauth1):
    before = len(json.loads(send(oauth1["log"])[1]))
    status, parameters = first_step(oauth1)
    assert status == 200 and parameters.startswith("OAuth ")
    status, body = second_step(oauth1, parameters)
    assert status == 200
    token = dict(urllib.parse.parse_qsl(body))
    keys = {**application(oauth1), "resource_owner_key": token["oauth_token"],
            "resource_owner_secret": token["oauth_token_secret"]}
    status, body = identity(oauth1, **keys)
    assert status == 200 and json.loads(body)["screen_name"] == "ada"
    assert identity(oauth1, **keys, signature_method="HMAC-SHA256")[0] == 200
    # Another consumer or a wrong secret is refused.
    assert identity(oauth1, **{**keys, "resource_owner_secret": "wrong"})[0] == 401
    assert identity(oauth1, **{**keys, "client_secret": "wrong"})[0] == 401
    assert identity(oauth1, **{**keys, "client_key": "system-consumer"})[0] == 401
    log = json.loads(send(oauth1["log"])[1])[before:]
    assert [entry["signed"] for entry in log] == [True] * 4 + [False] * 3
    assert [entry["consumer"] for entry in log[:3]] == ["app-consumer", "system-consumer", "app-consumer"]


@pytest.mark.parametrize("changes", [{"client_secret": "wrong"}, {"client_key": "unknown"},
                                     {"resource_owner_key": "6253282-system"},
                                     {"signature_method": "PLAINTEXT"}])
def test_a_first_step_with_a_wrong_signature_is_refused(oauth1, changes):
    assert first_step(oauth1, **changes)[0] == 401


def test_a_nonce_serves_once_and_an_old_timestamp_never(oauth1):
    headers = Client(**application(oauth1)).sign(
        oauth1["base"] + "/oauth/request_token", "POST", {"x_auth_mode": "reverse_auth"},
        {"Content-Type": "application/x-www-form-urlencoded"})[1]
    url, form = oauth1["base"] + "/oauth/request_token", {"x_auth_mode": "reverse_auth"}
    assert send(url, "POST", headers, form)[0] == 200
    assert send(url, "POST", headers, form)[0] == 401
    assert first_step(oauth1, timestamp="1500000000")[0] == 401


def test_a_wrong_second_step_is_refused(oauth1):
    def fresh():
        return first_step(oauth1)[1]
    assert second_step(oauth1, fresh(), system(oauth1, resource_owner_secret="wrong"))[0] == 401
    assert second_step(oauth1, fresh(), system(oauth1, client_secret="wrong"))[0] == 401
    assert second_step(oauth1, fresh(), Client(**application(oauth1)))[0] == 401
    assert second_step(oauth1, fresh(), target="system-consumer")[0] == 401
    assert second_step(oauth1, fresh() + " ")[0] == 401
    once = fresh()
    assert second_step(oauth1, once)[0] == 200
    assert second_step(oauth1, once)[0] == 401


# ---- Facebook

def bearer(token):
    return {"Authorization": "Bearer " + token}


def mint(ready, token=None, **changes):
    form = {"grant_type": "fb_attenuate_token", "scope": "email,public_profile", "audience": "me",
            "client_id": ready["config"]["applications"]["*"]["facebook"]["clientId"], **changes}
    headers = bearer(token or ready["accounts"][0]["credential"]["token"])
    status, body = send(ready["base"] + "/oauth/access_token", "POST", headers, form)
    return status, json.loads(body)


def whose(ready, token, **query):
    query = urllib.parse.urlencode({"fields": "id,name,email", **query})
    status, body = send(ready["base"] + "/v26.0/me?" + query, headers=bearer(token))
    return status, json.loads(body)


def test_a_token_is_minted_renewed_and_identified(facebook):
    status, minted = mint(facebook)
    assert status == 200 and whose(facebook, minted["access_token"])[1]["email"] == "ada@example.test"
    assert "email" not in whose(facebook, mint(facebook, scope="public_profile")[1]["access_token"])[1]
    status, renewed = mint(facebook, grant_type="fb_extend_sso_token")
    assert status == 200 and renewed["access_token"] != minted["access_token"]


def test_minting_is_refused(facebook):
    assert mint(facebook, client_id="3")[1]["error"]["code"] == 101
    assert mint(facebook, token="wrong")[1]["error"]["code"] == 190
    assert mint(facebook, audience="nobody")[0] == 400
    assert mint(facebook, scope="")[0] == 400
    assert mint(facebook, grant_type="password")[0] == 400
    assert mint(facebook, access_token="in the form")[0] == 400


def test_a_proof_must_be_right(facebook):
    token = mint(facebook)[1]["access_token"]
    secret = facebook["config"]["applications"]["*"]["facebook"]["clientSecret"]
    right = hmac.new(secret.encode(), token.encode(), hashlib.sha256).hexdigest()
    assert whose(facebook, token, appsecret_proof=right)[0] == 200
    wrong = hmac.new(b"wrong", token.encode(), hashlib.sha256).hexdigest()
    assert whose(facebook, token, appsecret_proof=wrong)[1]["error"]["code"] == 100
    assert whose(facebook, token, appsecret_proof="")[0] == 400


def test_debug_token_knows_the_application(facebook):
    given = facebook["config"]["applications"]["*"]["facebook"]

    def debug(token, secret=given["clientSecret"]):
        query = urllib.parse.urlencode({"input_token": token})
        status, body = send(facebook["base"] + "/debug_token?" + query,
                            headers=bearer(given["clientId"] + "|" + secret))
        return status, json.loads(body)

    good = debug(mint(facebook)[1]["access_token"])[1]["data"]
    assert good["is_valid"] and good["app_id"] == given["clientId"]
    assert debug(facebook["tokens"]["ofAnotherApplication"])[1]["data"]["app_id"] != given["clientId"]
    assert not debug(facebook["tokens"]["expired"])[1]["data"]["is_valid"]
    assert not debug(facebook["tokens"]["unknown"])[1]["data"]["is_valid"]
    assert debug(facebook["tokens"]["unknown"], secret="wrong")[0] == 400
