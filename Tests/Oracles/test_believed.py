"""`verify` accepts every credential that einlass returns, from every provider and flow of the sandbox, and those that
are bound to a key or a certificate. It refuses to judge a session.

    python -m pytest Tests/Oracles/test_believed.py
"""
import json
import re
import subprocess
import time
import urllib.request

import pytest

from browser import Visitor
from front_end import bring_back
from rotation import PROJECT, SANDBOX
from session import Session, request_of
from test_mutual_tls import behind_nginx, person, started, world  # noqa: F401
from test_password_session import attempt, header_session, plain, plain_server  # noqa: F401
from test_proofs import descriptor, entries, server  # noqa: F401

pytestmark = pytest.mark.usefixtures("built")

CATALOGUE = json.loads((PROJECT / "Sources/Einlass/Descriptors/providers.json").read_text())["providers"]
# `verify` is about tokens, and a session is none: `test_a_session_is_not_judged`.
WAYS = [(provider["id"], flow["kind"]) for provider in CATALOGUE for flow in provider["flows"]
        if flow["kind"] != "passwordSession"]
WAYS += [("openid", kind) for kind in ("authorizationCode", "deviceCode", "clientCredentials")]
OTHER_CLIENTS = {
    ("twitter", "authorizationCode"): {"clientId": "demo-x", "clientSecret": "demo-secret"},
    ("gitea", "authorizationCode"): {"clientId": "secret-gitea", "clientSecret": "demo-secret"},
    ("apple", "authorizationCode"): {"clientId": "demo-apple", "clientSecret": "demo-secret",
                                     "redirect": "https://example.org/callback"}}
SECRET = {"clientId": "secret-openid", "clientSecret": "s3cret: with/odd+chars"}
# The client of the OpenID provider: one without the right to introspection, one with it.
CLIENTS = [None, SECRET]
# The states in which a provider cannot name a token's owner. Apple names it only in the id_token, until that expires.
CANNOT = {"sequencing": {"new", "refreshed", "rotated", "ended"}, "outlook": {"new", "refreshed", "rotated", "ended"},
          "notion": {"new", "refreshed", "rotated", "ended"}, "apple": {"ended"}}
# Flows without a refresh token from the sandbox, although their descriptors can refresh.
WITHOUT_REFRESH = {("github", "authorizationCode"), ("github", "deviceCode"), ("linkedin", "authorizationCode"),
                   ("slack", "authorizationCode")}
# Flows that cannot refresh, although another flow of their provider can.
CANNOT_REFRESH = {("facebook", "deviceCode")}


def without_ports(value):
    """Removes fixed ports, because another program may use them here."""
    if isinstance(value, list):
        return [without_ports(element) for element in value]
    if isinstance(value, dict):
        return {name: without_ports(member) for name, member in value.items() if name != "ports"}
    return value


class World:
    """The sandbox, and einlass with a front end."""

    def __init__(self, ready, folder, provider, client):
        self.ready, self.provider, self.offset = ready, provider, 0
        config = ready["config"]
        if client:
            config["applications"]["*"][provider] = client
        for name, value in (("config.json", config), ("providers.json", {"providers": without_ports(CATALOGUE)})):
            (folder / name).touch(0o600)
            (folder / name).write_text(json.dumps(value))
        self.session = Session("--test", "--config", str(folder / "config.json"), "--providers",
                               str(folder / "providers.json"))
        self.call = self.session.call
        kinds = ["openURL", "enterVerifier", "deviceCode", "confirmAccount"]
        self.call("initialize", client={"name": "believed"}, capabilities={"prompts": kinds})
        if provider == "openid":
            self.call("providers.add", issuer=ready["addresses"]["openid"], id="openid")
        behaviour = {"consent": "allow", "idTokenSeconds": 300, "renewsIDToken": False, "accessSeconds": 7200}
        self.change({name: {"consent": "allow"} if name == "facebook" else {"behaviour": behaviour}
                     for name, value in self.state().items()
                     if name == "facebook" or isinstance(value, dict) and "behaviour" in value})

    def control(self, method, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.ready["control"].rstrip("/") + "/state", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def state(self):
        return self.control("GET")

    def change(self, patch):
        self.control("PATCH", patch)

    def advance(self, seconds):
        """Advances the clocks of the sandbox and of einlass."""
        self.offset += seconds
        self.change({"clockOffsetSeconds": self.offset})
        self.call("test.advanceClock", seconds=seconds)

    def rotate(self):
        """Replaces the signing keys without overlap."""
        keys = self.state().get(self.provider, {}).get("keys")
        if keys:
            self.change({self.provider: {"keys": {name: None for name in keys} | {"next": {"algorithm": "RS256"}}}})
        self.advance(61)

    def sign_in(self, kind):
        if kind in ("reverseAuth", "systemToken"):
            account = next(entry for entry in self.ready["accounts"] if entry["provider"] == self.provider)
            return self.call("accounts.add", **account)["account"]
        id = self.session.send("accounts.signIn", provider=self.provider, flowKind=kind, deadlineSeconds=3600)
        answer, shown, is_device = None, "", False
        while answer is None:
            if is_device and self.session.lines.empty():
                self.session.send("test.advanceClock", seconds=6)
                self.offset += 6
                time.sleep(0.2)
            message = self.session.message()
            if getattr(message, "id", None) == id:
                answer = message
            elif isinstance(message, dict) and message["method"] == "prompt.opened":
                prompt = message["params"]
                if prompt["kind"] == "deviceCode":
                    is_device = True
                elif prompt["kind"] == "openURL":
                    shown = self.visit(kind, prompt)
                elif prompt["expects"] == "pin":
                    self.accept(prompt, text=re.search(r"\b[0-9]{7}\b", shown)[0])
        assert not hasattr(answer, "code"), answer
        return answer.result["account"]

    def accept(self, prompt, **answer):
        self.session.send("prompt.answer", prompt=prompt["prompt"], action="accept", **answer)

    def visit(self, kind, prompt):
        """The person agrees. Returns the last page if the browser stays on it."""
        visitor = Visitor().open(prompt["url"])
        if kind == "oauth1":
            visitor.press("allow")
        if visitor.location is None or not visitor.location.startswith("http://127.0.0.1"):
            self.accept(prompt, **({"redirectURL": visitor.location} if visitor.location else {}))
        else:
            bring_back(visitor)
        return visitor.page

    def verified(self, state, credential, account, subject):
        """Checks that `verify` accepts the credential, by account and by value, or gives the reason why the provider
        cannot tell."""
        given = {name: credential[name] for name in ("type", "key", "secret", "token", "idToken") if name in credential}
        expected = {"id": subject} if subject else {}
        for what in ({"account": account}, {"credential": given}):
            id = self.session.send("verify", provider=self.provider, expect=expected, **what)
            answer = self.session.answer(id)
            if state in CANNOT.get(self.provider, ()):
                assert answer.code == 1015 and answer.data["provider"] == self.provider, (state, answer)
            else:
                assert not hasattr(answer, "code") and answer.result["valid"], (state, what, answer)
                assert answer.result["clientId"], answer


def is_found(provider, kind):
    return [client for client in (CLIENTS if provider == "openid" else [OTHER_CLIENTS.get((provider, kind))])
            if kind != "clientCredentials" or client]


@pytest.mark.parametrize("provider, kind, client", [
    (provider, kind, client) for provider, kind in WAYS for client in is_found(provider, kind)],
    ids=lambda value: value["clientId"] if isinstance(value, dict) else str(value))
def test_every_returned_credential_verifies(provider, kind, client, tmp_path):
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        try:
            world = World(json.loads(sandbox.stdout.readline()), tmp_path, provider, client)
            account = world.sign_in(kind)
            world.call("access.set", provider=provider, state="granted")
            subject = next(entry.get("subject") for entry in world.call("accounts.list")["accounts"]
                           if entry["account"] == account)
            if kind == "clientCredentials":
                subject = None  # the account belongs to the application, and no provider names an owner of its token

            def performed():
                return world.call("auth.perform", provider=provider, account=account, confirm=True)["credential"]

            def got(**params):
                return world.call("credentials.get", account=account, **params)["credential"]

            for credential in (performed(), got()):
                world.verified("new", credential, account, subject)
            can_refresh = next(entry["can"]["refresh"] for entry in listed(world) if entry["id"] == provider)
            if can_refresh and kind not in ("reverseAuth", "systemToken", "oauth1"):
                forced = world.session.answer(world.session.send("credentials.get", account=account, forceRefresh=True))
                if (provider, kind) in CANNOT_REFRESH:
                    assert (forced.code, forced.data["reason"]) == (1015, "flowNotSupported"), forced
                elif (provider, kind) in WITHOUT_REFRESH:
                    # The token is good; only a sign-in brings another one.
                    assert (forced.code, forced.data.get("detail")) == (1005, "notRenewable"), forced
                    assert request_of(forced.data)["method"] == "accounts.signIn", forced
                elif provider == "apple":
                    # Apple takes one refresh a day.
                    assert (forced.code, forced.data["reason"]) == (1017, "throttled"), forced
                else:
                    world.verified("refreshed", forced.result["credential"], account, subject)
                    world.verified("refreshed", performed(), account, subject)
            world.rotate()
            world.verified("rotated", got(), account, subject)
            # The id_token expires before the access token.
            world.advance(1000)
            kept = got()
            assert "idToken" not in kept or kept["idTokenExpiresAt"] < time.time() + world.offset
            world.verified("ended", kept, account, subject)
            world.session.close()
        finally:
            sandbox.terminate()


def listed(world):
    providers, cursor = [], {}
    while True:
        page = world.call("providers.list", **cursor)
        providers += page["providers"]
        if "nextCursor" not in page:
            return providers
        cursor = {"cursor": page["nextCursor"]}


# ---- Bound tokens and sessions

def got(front_end, account, **params):
    """Returns the credential, as a front end would give it to `verify`."""
    credential = front_end.call("credentials.get", account=account, **params)["credential"]
    return {name: credential[name] for name in ("type", "token", "idToken") if name in credential}


def signed_in_by_browser(front_end):
    id, prompt = front_end.begin()
    assert "Signed in" in bring_back(Visitor().open(prompt["url"]))
    return front_end.end(id)


def judged(front_end, account, credential):
    """Returns the results of `verify` for the account and for the value of its credential."""
    return [front_end.call("verify", provider="oracle", expect={"id": "42"}, **what)
            for what in ({"account": account}, {"credential": credential})]


def test_a_token_that_is_bound_to_a_key_verifies_before_and_after_a_refresh(server, start):  # noqa: F811
    front_end = start(descriptor(server, dpop=True), {"clientId": "native"})
    account = signed_in_by_browser(front_end)
    for params in ({}, {"forceRefresh": True}):
        results = judged(front_end, account, got(front_end, account, **params))
        assert all(result["valid"] and result["clientId"] == "native" for result in results), results
    assert {entry["scheme"] for entry in entries(server) if entry["path"] == "/me"} == {"DPoP"}
    # A token whose key is not stored is neither sent nor judged.
    before = len(entries(server))
    assert front_end.refused("verify", provider="oracle", credential={"type": "oauth2", "token": "x"}) == "flowNotSupported"
    assert len(entries(server)) == before


@behind_nginx
def test_a_token_that_is_bound_to_a_certificate_verifies_before_and_after_a_refresh(world, start):  # noqa: F811
    at = world.fronts["optional"]
    for words in (person(world, at), {**person(world, at), "verify": None}):
        front_end = started(start, world, words, world.registration("native"))
        account = signed_in_by_browser(front_end)
        for params in ({}, {"forceRefresh": True}):
            results = judged(front_end, account, got(front_end, account, **params))
            assert all(result["valid"] and result["clientId"] == "native" for result in results), results


def test_a_session_is_not_judged(plain, start):  # noqa: F811
    front_end = start(header_session(), None, kinds=("enterPassword",))
    answer, _ = attempt(front_end, {"action": "accept", "password": plain.password, "remember": True},
                        host=plain.base, username="alice")
    account = answer.result["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    for params in ({}, {"forceRefresh": True}):
        front_end.call("credentials.get", account=account, **params)
        assert front_end.refused("verify", provider="oracle", account=account) == "flowNotSupported"
