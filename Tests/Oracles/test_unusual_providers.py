"""Sign-ins and refreshes at providers that differ from the standards, by the words of a descriptor. Without its word each
of them fails, and the server or einlass says why.

    python -m pytest Tests/Oracles/test_unusual_providers.py
"""
import copy
import urllib.error
import urllib.request

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from browser import Visitor
from front_end import bring_back, provider, userinfo
from unusual_providers import (AWS, CLIENT, SECRET, Apple, Fitbit, Linear, Notion, Shopify, Shown, Slack, TikTok, Unusual,
                               WeChat, Zoho)

pytestmark = pytest.mark.usefixtures("built")
PERSON = {"source": "tokenAnswer", "required": ["id"]}
SHOWN = "https://console.example.org/shown"
KEY = ec.generate_private_key(ec.SECP256R1())
PEM = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                        serialization.NoEncryption()).decode()
REGISTRATION = {"clientId": CLIENT, "clientSecret": SECRET}
REGISTRATIONS = {"apple": {"clientId": CLIENT, "privateKey": PEM, "keyId": "KEY1234567", "teamId": "TEAM123456"}}


@pytest.fixture(scope="module")
def server():
    server = Unusual(notion=Notion(), wechat=WeChat(), tiktok=TikTok(), fitbit=Fitbit(), slack=Slack(), aws=AWS(),
                     linear=Linear(), zoho=Zoho(), shown=Shown(), apple=Apple(), shopify=Shopify())
    server.providers["apple"].key = KEY.public_key()
    server.providers["apple"].audience = server.base.rstrip("/")
    yield server
    server.close()


def browser_flow(token, way="client_secret_post", page=None, **more):
    return {"kind": "authorizationCode", "authorize": {"method": "GET", "url": "authorize", **(page or {})}, "redirect": {},
            "token": {"method": "POST", "url": "token", **token}, "refresh": {}, "clientAuthentication": way, **more}


NAMES = {"client_id": "clientId", "client_secret": "clientSecret"}
AWS_NAMES = {**NAMES, "grant_type": "grantType", "device_code": "deviceCode", "refresh_token": "refreshToken"}
WECHAT = {"client_id": "appid", "client_secret": "secret"}
#: A flow, an identity, and the changes that take a word away, each with the flaw that the server or einlass reports.
CASES = {
    "notion": (
        browser_flow({"json": {}}, "client_secret_basic", proofKey=False),
        {**PERSON, "id": "/owner/user/id", "name": "/owner/user/name", "email": "/owner/user/person/email"},
        [("token json", None, "the body is application/x-www-form-urlencoded")]),
    "wechat": (
        browser_flow({"method": "GET", "names": WECHAT}, page={"names": {"client_id": "appid"}}, subject="/openid"),
        {"request": {"method": "GET", "url": "me", "query": {"access_token": "{token}", "openid": "{subject}"}},
         "id": "/openid", "name": "/nickname", "required": ["id"]},
        [("token method", "POST", "GET without a body is needed"), ("token names", None, "appid is not known")]),
    "tiktok": (
        browser_flow({"names": {"client_id": "client_key"}}, page={"names": {"client_id": "client_key"}}),
        {**PERSON, "id": "/open_id"},
        [("token names", None, "client_key is not known"), ("authorize names", None, "client_key is not known")]),
    "fitbit": (
        browser_flow({"form": {"client_id": "{clientId}"}}, "client_secret_basic"), userinfo("me"),
        [("token form", None, "client_id is missing")]),
    "slack": (
        browser_flow({}, tokenAnswer={"accessToken": "/authed_user/access_token", "tokenTypes": ["user"]},
                     refresh={"tokenAnswer": {"tokenTypes": ["user"]}}),
        {**PERSON, "id": "/authed_user/id"},
        [("tokenAnswer tokenTypes", None, "token_type is user and not Bearer"),
         ("tokenAnswer accessToken", None, "token_type is bot and not Bearer")]),
    "linear": (
        browser_flow({}),
        {"request": {"method": "POST", "url": "me", "bearer": "{token}",
                     "json": {"query": "{{ viewer {{ id name email }} }}"}},
         "id": "/data/viewer/id", "name": "/data/viewer/name", "email": "/data/viewer/email", "required": ["id"]},
        [("identity request json query", "{{ viewer }}", "the query is not one of GraphQL")]),
    "zoho": (
        browser_flow({}, handedOn=["location"]), userinfo("me"),
        [("handedOn", None, "the parameters are ['code', 'grant_type', 'redirect_uri']")]),
    "shown": (
        browser_flow({}, pasted="code#state", redirect={"address": SHOWN}), userinfo("me"),
        [("pasted", None, "The entered text is not the final address")]),
    "apple": (
        browser_flow({}, ["client_secret_signed", "client_secret_post"], issuer="",
                     assertion={"audience": "issuer", "algorithms": ["ES256"]}), userinfo("me"),
        [("clientAuthentication", "client_secret_post", "lacks clientSecret"),
         ("assertion algorithms", ["RS256"], "does not accept the type of the registration's private key")]),
    "shopify": (browser_flow({}), userinfo("me"), []),
    "aws": (
        {"kind": "deviceCode", "clientAuthentication": "client_secret_post", "refresh": {},
         "deviceAuthorization": {"method": "POST", "url": "device", "names": NAMES,
                                 "json": {"startUrl": "https://example.awsapps.com/start"}},
         "device": {"code": "/deviceCode", "userCode": "/userCode", "page": "/verificationUri", "expiresIn": "/expiresIn"},
         "token": {"method": "POST", "url": "token", "json": {}, "names": AWS_NAMES},
         "tokenAnswer": {"accessToken": "/accessToken", "refreshToken": "/refreshToken", "expiresIn": "/expiresIn"}},
        None,
        [("deviceAuthorization names", None, "clientId is not known"), ("device userCode", None, "lacks user_code"),
         ("tokenAnswer accessToken", None, "lacks access_token")]),
}


def described(server, name, place=None, value=None):
    """Returns the descriptor of a provider with its addresses, and one place changed or removed."""
    flow, identity, _ = copy.deepcopy(CASES[name])
    words = {**flow, "identity": identity}
    if place:
        *places, last = place.split()
        inside = words
        for member in places:
            inside = inside[member]
        if value is None:
            del inside[last]
        else:
            inside[last] = value
    identity = words.pop("identity")
    for request in (words, identity or {}):
        for member in {"authorize", "token", "deviceAuthorization", "request"} & set(request):
            request[member]["url"] = f"{server.base}{name}/{request[member]['url']}"
    if "issuer" in words:
        words["issuer"] = server.base.rstrip("/")
    found = provider(words, identity, registration=["clientId", "clientSecret"])
    return found if identity else {member: found[member] for member in found if member != "identity"}


def enter(server, front_end, id, name):
    """Does the person's part of a sign-in, and returns its answer."""
    while True:
        message = front_end.message()
        if not isinstance(message, dict):
            return message
        if message["method"] != "prompt.opened":
            continue
        prompt = message["params"]
        if prompt["kind"] == "deviceCode":
            front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept")
        elif prompt["kind"] == "enterVerifier":
            if name == "shown":
                text = server.providers[name].shown
                # Another state is of another sign-in, and is asked for again.
                text = text if "again" in prompt or prompt["expects"] != "pin" else text + "x"
                front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept", text=text)
        else:
            visitor = Visitor().open(prompt["url"])
            if visitor.location is not None:
                bring_back(visitor)
            elif server.flaws:
                front_end.call("prompt.answer", prompt=prompt["prompt"], action="cancel")


def sign_in(server, start, name, *change):
    """Returns the front end and the answer of a sign-in."""
    server.flaws.clear()
    kinds = ["openURL", "deviceCode"] + (["enterVerifier"] if name == "shown" else [])
    front_end = start(described(server, name, *change), REGISTRATIONS.get(name, REGISTRATION), kinds=kinds)
    return front_end, enter(server, front_end, front_end.send("accounts.signIn", provider="oracle"), name)


@pytest.mark.parametrize("name", CASES)
def test_a_person_signs_in_and_the_token_is_refreshed(server, start, name):
    front_end, answer = sign_in(server, start, name)
    assert server.flaws == [] and not hasattr(answer, "code"), answer
    account = answer.result["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    if name != "aws":
        assert front_end.call("accounts.list")["accounts"][0]["subject"] == "1001"
    first = front_end.token(account)
    second = front_end.token(account, forceRefresh=True)
    assert first != second and {first, second} <= server.providers[name].access_tokens
    assert server.flaws == []


@pytest.mark.parametrize("name, change", [(name, change) for name, case in CASES.items() for change in case[2]])
def test_without_its_word_the_sign_in_fails(server, start, name, change):
    """The control."""
    place, value, flaw = change
    _, answer = sign_in(server, start, name, place, value)
    assert hasattr(answer, "code") and any(flaw in text for text in [*server.flaws, answer.message]), server.flaws


def test_a_signed_secret_is_new_for_each_request_and_revokes_too(server, start):
    words = described(server, "apple")
    words["revoke"] = {"method": "POST", "url": server.base + "apple/revoke", "form": {
        "client_id": "{clientId}", "client_secret": "{clientSecret}", "token": "{refreshToken}"}}
    server.flaws.clear()
    front_end = start(words, REGISTRATIONS["apple"])
    account = enter(server, front_end, front_end.send("accounts.signIn", provider="oracle"), "apple").result["account"]
    assert front_end.call("accounts.signOut", account=account)["revoked"]
    assert server.flaws == [] and len(set(server.providers["apple"].secrets_seen)) >= 2


HOSTS = {"zoho": {"prefix": "Zoho-oauthtoken"},
         "shopify": {"header": "X-Shopify-Access-Token", "headers": {"X-Api-Version": "2024-07"}}}


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("is_described", [True, False])
def test_a_host_takes_fields_of_its_own(server, start, name, is_described):
    """`is_described` false is the control."""
    words = described(server, name)
    words["hosts"] = [{"host": "api.example.org", **(HOSTS[name] if is_described else {})}]
    front_end = start(words, REGISTRATION)
    account = enter(server, front_end, front_end.send("accounts.signIn", provider="oracle"), name).result["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    fields = front_end.signed(account=account, method="GET", url="https://api.example.org/things")
    resolved = front_end.call("services.resolve", address="https://api.example.org/things").get("headers", {})
    assert fields == {field: value.replace("{token}", front_end.token(account)) for field, value in resolved.items()} \
        or not is_described
    request = urllib.request.Request(f"{server.base}{name}/things", headers=fields)
    if is_described:
        urllib.request.urlopen(request).close()
    else:
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(request)
    # The provider's other servers take bearer tokens.
    assert front_end.signed(account=account, method="GET", url=server.base + name)["Authorization"] \
        == "Bearer " + front_end.token(account)
