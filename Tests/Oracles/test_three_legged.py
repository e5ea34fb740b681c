"""Sign-ins by OAuth 1.0a at oauthlib's server side: with a callback, with a PIN, and with a denial.

    python -m pytest Tests/Oracles/test_three_legged.py
"""
import json
import urllib.request

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import browser
from browser import Chromium, Visitor
from front_end import bring_back, provider
from servers import running

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture(scope="module")
def oauth1():
    with running("three_legged_server.py") as ready:
        yield ready


def descriptor(ready, signature="HMAC-SHA1", needs="clientSecret", **more):
    base = ready["base"]
    flow = {"kind": "oauth1", "signature": signature,
            "requestToken": {"method": "POST", "url": base + "/oauth/request_token"},
            "authorize": {"method": "GET", "url": base + "/oauth/authorize"},
            "accessToken": {"method": "POST", "url": base + "/oauth/access_token"}, **more}
    identity = {"request": {"method": "GET", "url": base + "/1.1/account/verify_credentials.json"}, "id": "/id_str",
                "name": "/name", "username": "/screen_name", "required": ["id"]}
    errors = {"shapes": [{"codeField": "error"}], "rules": []}
    return provider(flow, identity, registration=["clientId", needs], errors=errors)


def consumer(ready, name="key-sha1"):
    if name == "key-rsa":
        return {"clientId": name, "privateKey": ready["privateKey"]}
    return {"clientId": name, "clientSecret": ready["consumers"][name]["secret"]}


def signatures(ready):
    with urllib.request.urlopen(ready["log"]) as answer:
        return [entry["signatureMethod"] for entry in json.load(answer) if entry.get("signed")]


@pytest.mark.parametrize("name", ["key-sha1", "key-sha256", "key-rsa", "key-plain"])
def test_a_callback_brings_the_verifier(oauth1, start, name):
    method = oauth1["consumers"][name]["method"]
    needs = "privateKey" if name == "key-rsa" else "clientSecret"
    front_end = start(descriptor(oauth1, method, needs), consumer(oauth1, name))
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]).press("allow"))
    account = front_end.end(id)
    listed = front_end.call("accounts.list")["accounts"][0]
    assert (listed["username"], listed["subject"]) == (oauth1["identity"]["screenName"], oauth1["identity"]["id"])
    assert signatures(oauth1)[-1] == method
    credential = front_end.call("credentials.get", account=account)["credential"]
    assert credential["type"] == "oauth1" and credential["key"]
    url = oauth1["base"] + "/1.1/account/verify_credentials.json"
    header = front_end.signed(account=account, method="GET", url=url)["Authorization"]
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": header})) as answer:
        assert json.load(answer)["screen_name"] == oauth1["identity"]["screenName"]
    # Another sign-in finds the same account.
    id, prompt = front_end.begin()
    bring_back(Visitor().open(prompt["url"]).press("allow"))
    assert front_end.end(id) == account


def test_a_pin_is_read_off_the_page(oauth1, start):
    front_end = start(descriptor(oauth1, verifier="pin"), consumer(oauth1), kinds=["openURL", "enterVerifier"])
    for pins in (["wrong"] * 3, ["wrong", None]):
        id, first = front_end.begin()
        prompts = {first["kind"]: first}
        second = front_end.until("prompt.opened")
        prompts[second["kind"]] = second
        shown = Visitor().open(prompts["openURL"]["url"]).press("allow").page.split('id="pin">')[1].split("<")[0]
        prompt = prompts["enterVerifier"]
        for attempt, pin in enumerate(pins):
            assert (prompt["expects"], prompt.get("again", False)) == ("pin", attempt > 0)
            front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept", text=pin or f" {shown} ")
            if attempt < len(pins) - 1:
                prompt = front_end.until("prompt.opened")
        if None not in pins:
            assert front_end.answer(id).data["reason"] == "providerFailure"
    front_end.end(id)


def test_a_denial_does_not_sign_in(oauth1, start):
    front_end = start(descriptor(oauth1), consumer(oauth1))
    id, prompt = front_end.begin()
    assert "Not signed in" in bring_back(Visitor().open(prompt["url"]).press("deny"))
    answer = front_end.answer(id)
    assert (answer.code, answer.data["reason"]) == (1012, "accessDenied")
    assert front_end.call("accounts.list")["accounts"] == []


def test_a_wrong_key_is_refused_and_a_missing_one_is_reported(oauth1, start):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    for registration, reason in (({"clientId": "key-rsa", "privateKey": other.decode()}, "providerFailure"),
                                 ({"clientId": "key-rsa"}, "authenticatorUnconfigured")):
        front_end = start(descriptor(oauth1, "RSA-SHA1", "privateKey"), registration)
        answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle"))
        assert answer.data["reason"] == reason


def test_a_wrong_secret_is_refused(oauth1, start):
    front_end = start(descriptor(oauth1), {**consumer(oauth1), "clientSecret": "wrong"})
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle"))
    assert answer.data["reason"] in ("providerFailure", "authenticatorUnconfigured")


@pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))
@pytest.mark.parametrize("button, shown", [("#allow", "Signed in"), ("#deny", "Not signed in")])
def test_a_person_answers_in_a_real_browser(oauth1, start, button, shown):
    front_end = start(descriptor(oauth1), consumer(oauth1))
    with Chromium() as chromium:
        id, prompt = front_end.begin()
        chromium.open(prompt["url"])
        chromium.press(button)
        front_end.answer(id)
        assert shown in chromium.text()
