"""A server that the person chooses in place of a provider's own: another Mastodon, a Gitea below a folder, and a host with
a label to fill in.

    python -m pytest Tests/Oracles/test_own_servers.py
"""
import copy
import json
import urllib.request

import pytest

from front_end import FrontEnd
from own_servers import OUT_OF_BAND, MASTODON_SCOPES, Gitea, Mastodon
from rotation import PROJECT

pytestmark = pytest.mark.usefixtures("built")
CATALOGUE = {provider["id"]: provider for provider in
             json.loads((PROJECT / "Sources/Einlass/Descriptors/providers.json").read_text())["providers"]}
BROWSER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts a front end; its descriptor is the only one of a file."""
    started = []

    def start(descriptor=None, **configuration):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(configuration))
        path.chmod(0o600)
        started.append(FrontEnd(tmp_path, descriptor, None, options=("--config", str(path))))
        return started[-1]

    yield start
    for front_end in started:
        front_end.close()


@pytest.fixture
def serve():
    servers = []

    def serve(server):
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.close()


def browse(prompt):
    """Follows the page to its end, as the browser of the person does."""
    try:
        with BROWSER.open(prompt["url"], timeout=60):
            pass
    except urllib.error.HTTPError as failure:
        failure.close()


def sign_in(front_end, provider, **params):
    """Returns the answer to a sign-in; a refusal has `code`."""
    id = front_end.send("accounts.signIn", provider=provider, **params)
    while True:
        message = front_end.message()
        if not isinstance(message, dict):
            return message
        if message["method"] == "prompt.opened":
            browse(message["params"])
    return front_end.answer(id)


def at(server, front_end, provider, **params):
    return sign_in(front_end, provider, server={"host": server}, **params)


def added(front_end):
    return [entry["id"] for entry in front_end.call("providers.list")["providers"] if entry.get("added")]


def moved(provider, base):
    """Returns a built-in descriptor at a server of the test, as another provider."""
    text = json.dumps(CATALOGUE[provider]).replace(CATALOGUE[provider]["server"], base)
    return {**json.loads(text), "id": "copy", "setup": {"documentation": "https://example.com"}}


def test_an_application_registers_itself_at_another_mastodon(start, serve):
    server, front_end = serve(Mastodon()), start()
    signed_in = at(server.base, front_end, "mastodon").result
    place = signed_in["provider"]
    assert place == "127.0.0.1-" + server.base.rpartition(":")[2] and added(front_end) == [place]
    [(client, app)] = server.apps.items()
    assert app["name"] == "Oracle test" and app["scopes"] == MASTODON_SCOPES - {"follow", "admin:read", "admin:write"}
    assert len(app["redirects"]) == 1 and app["redirects"][0].startswith("http://127.0.0.1:")
    assert [scopes for _, scopes in server.tokens.values()] == [{"profile"}]
    # The same server has the same provider and application, also with other scopes.
    again = at(server.base + "/", front_end, "mastodon", scopes=["profile", "write:statuses"]).result
    assert (again["provider"], again["account"], again["created"]) == (place, signed_in["account"], False)
    assert list(server.apps) == [client]
    # A scope that the application lacks needs another application.
    at(server.base, front_end, "mastodon", scopes=["profile", "admin:read"])
    assert len(server.apps) == 2 and "admin:read" in list(server.apps.values())[1]["scopes"]
    front_end.call("accounts.signOut", account=signed_in["account"])
    assert server.log.count("/oauth/revoke") and {"profile", "admin:read"} not in [s for _, s in server.tokens.values()]


# A change of the descriptor's registration, and whether the sign-in works.
REGISTRATIONS = {
    "as it is": ({}, True),
    "the requested scopes alone": ({"scopes": []}, True),
    "the standard's JSON": ({"form": None}, False),
    "a redirect of no browser": (
        {"form": {"client_name": "a", "redirect_uris": OUT_OF_BAND, "scopes": "profile"}, "scopes": []}, False),
}


@pytest.mark.parametrize("row", REGISTRATIONS)
def test_the_words_of_the_registration_are_needed(start, serve, row):
    change, works = REGISTRATIONS[row]
    server = serve(Mastodon())
    descriptor = copy.deepcopy(moved("mastodon", server.base))
    registration = descriptor["dynamicRegistration"] | change
    descriptor["dynamicRegistration"] = {name: value for name, value in registration.items() if value is not None}
    answer = sign_in(start(descriptor), "copy", deadlineSeconds=10)
    assert hasattr(answer, "code") != works, answer
    assert works or answer.data["reason"] != "authenticatorUnconfigured", answer


# The scopes that a server lacks, those of the request, those of the application, and those of the token.
OLDER = {
    "without push": ({"push"}, None, {"profile"}, {"profile"}),
    "before 4.3": ({"profile"}, None, None, {"read:accounts"}),
    "before 4.3, with a scope": ({"profile"}, ["read:accounts"], None, {"read:accounts"}),
    "before 4.3 and without push": ({"profile", "push"}, ["read:accounts", "write:statuses"], {"read:accounts", "write:statuses"},
                                    {"read:accounts", "write:statuses"}),
}


@pytest.mark.parametrize("row", OLDER)
def test_an_older_mastodon_gets_the_scopes_that_it_has(start, serve, row):
    missing, scopes, registered, granted = OLDER[row]
    server, front_end = serve(Mastodon(scopes=MASTODON_SCOPES - missing)), start()
    request = {"scopes": scopes} if scopes else {}
    assert at(server.base, front_end, "mastodon", **request).result["created"]
    assert at(server.base, front_end, "mastodon", **request).result["created"] is False
    [app] = server.apps.values()
    assert app["scopes"] == registered or registered is None and "push" in app["scopes"]
    assert {frozenset(scopes) for _, scopes in server.tokens.values()} == {frozenset(granted)}


def test_a_provider_of_a_failed_sign_in_is_gone_again(start, serve):
    server, front_end = serve(Mastodon()), start()
    server.allows = False
    assert at(server.base, front_end, "mastodon").data["reason"] == "accessDenied"
    assert added(front_end) == []
    server.allows = True
    assert at(server.base, front_end, "mastodon").result["created"]
    # One that was there before stays.
    server.allows = False
    assert at(server.base, front_end, "mastodon").data["reason"] == "accessDenied"
    assert len(added(front_end)) == 1


def test_a_provider_that_refuses_to_register_the_application_stays(start, serve):
    server, front_end = serve(Mastodon(scopes=[])), start()
    refusal = at(server.base, front_end, "mastodon")
    [step] = [step for step in refusal.data["next"] if step.get("method") == "providers.configure"]
    assert refusal.data["detail"] == "selfRegistration" and [step["params"]["provider"]] == added(front_end), refusal
    assert server.log == ["/api/v1/apps"] * 4
    front_end.call("providers.configure", provider=added(front_end)[0], clientId="cid", clientSecret="secret")


def test_a_server_of_another_provider_is_refused_with_a_step(start, serve):
    front_end = start()
    for host, other in (("https://github.com", "github"), ("https://gitlab.com", "gitlab"), ("https://api.github.com/x", "github")):
        refusal = at(host, front_end, "gitlab")
        assert refusal.data["path"] == "/server/host" and refusal.data["provider"] == other, refusal
        assert refusal.data["next"][0]["params"] == {"provider": other}
    for host in ("http://git.example.com", "https://git.example.com/a/../b", "https://a@b.example", "a b", "https://a.example?x"):
        assert at(host, front_end, "gitlab").data["path"] == "/server/host", host
    assert at("https://git.example.com", front_end, "github").data["path"] == "/server/host"
    assert added(front_end) == []


def test_nothing_of_a_gitea_in_a_folder_leaves_it(start, serve):
    server = serve(Gitea(folder="/git"))
    registration = {"clientId": "of-the-built-in", "clientSecret": "secret-of-the-built-in"}
    front_end = start(applications={"*": {"gitea": registration}})
    refusal = at(server.base, front_end, "gitea")
    [step] = [step for step in refusal.data["next"] if step.get("method") == "providers.configure"]
    place = step["params"]["provider"]
    assert place.endswith("-git") and added(front_end) == [place] and server.log == []
    front_end.call("providers.configure", provider=place, clientId="cid")
    account = at(server.base, front_end, "gitea").result["account"]
    front_end.call("access.set", provider=place, state="granted")
    assert front_end.token(account) in server.tokens and server.strays == []
    assert not any("of-the-built-in" in sent for sent in server.secrets)
    resolved = front_end.call("services.resolve", address=server.base + "/ada/notes.git")
    assert (resolved["provider"], resolved["username"], resolved["scheme"]) == (place, "oauth2", "basic")
    for address in ("", "/", "/gitx", "/other/git", "/g%69t/a", "/git;a/b"):
        assert front_end.refused("services.resolve", address=server.host + address) == "unsafeURL", address
    assert front_end.signed(account=account, method="GET", url=server.base + "/api/v1/user")["Authorization"]
    for address in ("/api/v1/user", "/gitx", "/git/../api", "/git/%2e%2e/api", "/git%2Fapi"):
        refused = front_end.refused("credentials.sign", account=account, method="GET", url=server.host + address)
        assert refused == "unsafeURL", address


def test_a_server_in_a_folder_needs_the_folder(start, serve):
    server = serve(Mastodon(folder="/social"))
    answer = at(server.host, start(), "mastodon")
    assert answer.data["reason"] == "providerFailure" and server.strays == ["/api/v1/apps"]


SHOP = {**moved("gitea", "https://{shop}.shops.example"), "server": "https://{shop}.shops.example", "id": "shop"}


def test_a_token_of_one_shop_goes_to_no_other(start, serve):
    one, two = serve(Gitea()), serve(Gitea(person="bea"))
    front_end = start(SHOP, origins={"https://one.shops.example": one.base, "https://two.shops.example": two.base},
                      applications={"*": {"one.shops.example": {"clientId": "cid"}, "two.shops.example": {"clientId": "cid"}}})
    assert sign_in(front_end, "shop").data["path"] == "/server/host"
    assert front_end.refused("providers.configure", provider="shop", clientId="cid") == "invalidParams"
    for name in ("one.evil.example", "https://evil.example", "-", "a_b", "a.b.shops.example"):
        assert at(name, front_end, "shop").data["path"] == "/server/host", name
    accounts = [at(name, front_end, "shop").result for name in ("one", "https://two.shops.example")]
    assert [account["provider"] for account in accounts] == ["one.shops.example", "two.shops.example"]
    for account in accounts:
        front_end.call("access.set", provider=account["provider"], state="granted")
    tokens = [front_end.token(account["account"]) for account in accounts]
    assert [list(server.tokens) for server in (one, two)] == [[token] for token in tokens]
    # The sign-in of an account again is at its shop.
    assert sign_in(front_end, "one.shops.example", account=accounts[0]["account"]).result["created"] is False
    for server, foreign in ((one, tokens[1]), (two, tokens[0])):
        assert not any(foreign in sent for sent in server.secrets)


def test_a_host_without_the_label_is_asked_for_it(start, serve):
    """The control: without the word there is no place for a label in a host."""
    front_end = start()
    without = {name: value for name, value in SHOP.items() if name != "server"}
    answer = front_end.answer(front_end.send("providers.add", descriptor=without))
    assert answer.data["path"].startswith("/descriptor/"), answer
