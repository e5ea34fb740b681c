"""A protected resource known only by its address, from its challenge to its answer, at django-oauth-toolkit. The
application registers itself, and the server binds tokens to their resource (RFC 8707).

    python -m pytest Tests/Oracles/test_resource.py
"""
import json
import urllib.error
import urllib.parse
import urllib.request

import pytest

import browser
from browser import Chromium
from front_end import bring_back, visit
from servers import log, running
from session import request_of

pytestmark = pytest.mark.usefixtures("built")
real_browser = pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))


@pytest.fixture(scope="module")
def resource(dot):
    with running("resource_server.py", dot["issuer"]) as ready:
        yield ready


@pytest.fixture(scope="module")
def strict():
    """django-oauth-toolkit with a required resource in each request, and a resource server of it."""
    with running("oauth2_server.py", "resources") as ready, running("resource_server.py", ready["issuer"]) as resource:
        yield {**ready, **resource, "base": ready["base"]}


def all_named(server):
    """Returns the token and page requests so far: kind, resource, status."""
    with urllib.request.urlopen(server["base"] + "/__log") as answer:
        return [(entry.get("grant_type", entry["method"]), entry.get("resource"), entry["status"])
                for entry in json.load(answer) if entry["path"] in ("/o/authorize/", "/o/token/")]


def named(server):
    """Returns the same, each once: the page is requested before and after the sign-in."""
    return list(dict.fromkeys(all_named(server)))


def elsewhere(url, resource):
    """Returns the page's address with another resource, or with none."""
    split = urllib.parse.urlsplit(url)
    query = {**dict(urllib.parse.parse_qsl(split.query)), "resource": resource}
    query = {name: value for name, value in query.items() if value}
    return split._replace(query=urllib.parse.urlencode(query)).geturl()


def ask(address, token=None):
    """Returns status, challenge and answer of the resource."""
    request = urllib.request.Request(address, headers={"Authorization": "Bearer " + token} if token else {})
    try:
        answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)
    except urllib.error.HTTPError as failure:
        answer = failure
    with answer:
        return answer.status, answer.headers.get("WWW-Authenticate"), json.load(answer)


def begin(front_end, **params):
    """Starts a sign-in and returns the request's id and its first prompt."""
    id = front_end.send("accounts.signIn", **params)
    while True:
        message = front_end.message()
        assert isinstance(message, dict), message
        if message["method"] == "prompt.opened":
            return id, message["params"]


def end(front_end, id):
    answer = front_end.answer(id)
    assert not hasattr(answer, "code"), answer
    front_end.call("access.set", provider=answer.result["provider"], state="granted")
    return answer.result


def sign_in(front_end, dot, **params):
    id, prompt = begin(front_end, **params)
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    return end(front_end, id)


@real_browser
def test_from_the_challenge_to_the_resource_s_answer(dot, resource, start):
    front_end = start(None, None)
    status, challenge, _ = ask(resource["resource"])
    assert status == 401
    id, prompt = begin(front_end, resource=resource["resource"], challenge=challenge)
    assert prompt["resource"] == resource["resource"] and prompt["host"] == "127.0.0.1"
    with Chromium() as chromium:
        chromium.open(prompt["url"])
        chromium.type("[name=username]", dot["user"])
        chromium.type("[name=password]", dot["password"])
        chromium.press("#signin")
        chromium.press("[name=allow]")
        signed_in = end(front_end, id)
        assert "Signed in" in chromium.text()
    assert signed_in["resource"] == resource["resource"]
    token = front_end.token(signed_in["account"], resource=signed_in["resource"], scopes=["photos"])
    status, _, answer = ask(resource["resource"], token)
    assert status == 200 and answer["person"] == dot["user"]
    # The account has the person's name, and lists the resource.
    account = front_end.call("accounts.list")["accounts"][0]
    assert account["resources"] == [resource["resource"]] and account["username"] == dot["user"]
    fresh = front_end.token(signed_in["account"], resource=signed_in["resource"], forceRefresh=True)
    assert fresh != token and ask(resource["resource"], fresh)[0] == 200
    # The controls: an invalid token and a token without the scope are refused.
    assert ask(resource["resource"], "x" + token)[0] == 401


def test_a_token_is_handed_out_for_its_own_resource_alone(dot, resource, start):
    front_end = start(None, None)
    first = sign_in(front_end, dot, resource=resource["resource"])
    account, provider = first["account"], first["provider"]
    for wrong in ({"resource": resource["other"]}, {}, {"resource": resource["resource"] + "/"}):
        id = front_end.send("credentials.get", account=account, **wrong)
        data = front_end.answer(id).data
        method = "accounts.signIn" if wrong else "credentials.get"
        assert data["reason"] == "reloginNeeded" and request_of(data)["method"] == method
    # The hint names the resource, so following it works.
    id = front_end.send("credentials.get", account=account, resource=resource["other"])
    hint = request_of(front_end.answer(id).data)
    second = sign_in(front_end, dot, **hint["params"])
    assert second["account"] == account and second["resource"] == resource["other"]
    tokens = {name: front_end.token(account, resource=name) for name in (first["resource"], second["resource"])}
    assert len(set(tokens.values())) == 2
    assert front_end.call("accounts.list")["accounts"][0]["resources"] == sorted(tokens)
    # A rejected token is replaced, and the other resource's token stays.
    front_end.call("credentials.reject", account=account, resource=first["resource"])
    assert front_end.token(account, resource=first["resource"]) != tokens[first["resource"]]
    assert front_end.token(account, resource=second["resource"]) == tokens[second["resource"]]
    assert front_end.call("accounts.renew", account=account, resource=second["resource"]) == {"result": "renewed"}
    assert front_end.call("accounts.signOut", account=account)["revision"]
    assert front_end.refused("credentials.get", account=account, resource=second["resource"]) == "reloginNeeded"
    # One registration served all sign-ins.
    assert [entry["configured"] for entry in front_end.call("providers.list")["providers"]
            if entry["id"] == provider] == [True]


def test_a_missing_scope_is_refused_and_the_challenge_leads_to_it(dot, resource, start):
    front_end = start(None, None)
    signed_in = sign_in(front_end, dot, resource=resource["resource"], scopes=["openid"])
    wanted = {"account": signed_in["account"], "resource": resource["resource"]}
    status, challenge, _ = ask(resource["resource"], front_end.token(**wanted))
    assert status == 403 and "insufficient_scope" in challenge
    data = front_end.answer(front_end.send("credentials.get", scopes=["photos"], **wanted)).data
    assert data["reason"] == "reloginNeeded" and data["detail"] == "photos"
    assert request_of(data)["params"]["scopes"] == ["openid", "photos"]
    sign_in(front_end, dot, **request_of(data)["params"])
    token = front_end.token(scopes=["photos"], **wanted)
    assert ask(resource["resource"], token)[0] == 200


def test_a_token_of_another_server_is_refused(resource, start):
    """The negative control of the resource itself."""
    with running("oauth2_server.py") as elsewhere, running("resource_server.py", elsewhere["issuer"]) as other:
        front_end = start(None, None)
        signed_in = sign_in(front_end, elsewhere, resource=other["resource"])
        token = front_end.token(signed_in["account"], resource=other["resource"])
        assert ask(other["resource"], token)[0] == 200
        assert ask(resource["resource"], token)[0] == 401


def test_each_request_names_the_resource_at_a_server_that_insists(strict, start):
    front_end = start(None, None)
    before = len(named(strict))
    signed_in = sign_in(front_end, strict, resource=strict["resource"])
    wanted = {"account": signed_in["account"], "resource": strict["resource"]}
    fresh = front_end.token(**wanted, forceRefresh=True)
    assert ask(strict["resource"], fresh)[0] == 200
    assert front_end.call("accounts.renew", **wanted) == {"result": "renewed"}
    requests = named(strict)[before:]
    assert [kind for kind, _, _ in requests if kind != "GET"] == ["POST", "authorization_code", "refresh_token"]
    assert {resource for _, resource, _ in requests} == {strict["resource"]}
    assert {status for kind, _, status in requests if kind.endswith(("code", "token"))} == {200}
    # The token is bound to its resource: the other resource of the server refuses it.
    assert ask(strict["other"], front_end.token(**wanted))[0] == 401


def test_one_account_s_tokens_for_two_resources_serve_one_each(strict, start):
    front_end = start(None, None)
    first = sign_in(front_end, strict, resource=strict["resource"])
    second = sign_in(front_end, strict, resource=strict["other"], account=first["account"])
    for force in (False, True):
        tokens = {name: front_end.token(second["account"], resource=name, forceRefresh=force)
                  for name in (strict["resource"], strict["other"])}
        answers = {(name, at): ask(at, token)[0] for name, token in tokens.items() for at in tokens}
        assert {pair for pair, status in answers.items() if status == 200} == {(name, name) for name in tokens}


@pytest.mark.parametrize("named", [None, "other"])
def test_a_page_that_names_another_resource_or_none_ends_without_an_account(strict, start, named):
    """The negative control of the page and of the token request: a missing or another resource is refused."""
    front_end = start(None, None)
    id, prompt = begin(front_end, resource=strict["resource"])
    page = visit(strict, elsewhere(prompt["url"], named and strict[named]))
    assert "Sign-in failed" in bring_back(page.press("Authorize") if named else page)
    error = front_end.answer(id)
    assert error.data["reason"] == "providerFailure" and error.data["serverError"]["code"] == "invalid_target"
    assert front_end.call("accounts.list")["accounts"] == []


def test_a_sign_in_that_names_no_resource_is_refused(strict, start):
    """The negative control of the server: each request must name a resource."""
    front_end = start(None, None)
    added = front_end.call("providers.add", issuer=strict["issuer"], id="oracle")
    assert added["provider"] == "oracle"
    front_end.call("providers.configure", provider="oracle", clientId="native")
    id, prompt = front_end.begin()
    assert "Sign-in failed" in bring_back(visit(strict, prompt["url"]))
    assert front_end.answer(id).data["serverError"]["code"] == "invalid_target"


@pytest.mark.parametrize("omits", [False, True])
def test_a_registration_can_leave_the_resource_out_of_each_request(dot, resource, start, omits):
    front_end = start(None, {"clientId": "native", **({"resourceParameter": "omit"} if omits else {})})
    front_end.call("providers.add", issuer=dot["issuer"], id="oracle")
    before = len(all_named(dot))
    account = sign_in(front_end, dot, resource=resource["resource"])["account"]
    wanted = {"account": account, "resource": resource["resource"]}
    assert front_end.call("accounts.list")["accounts"][0]["resources"] == [resource["resource"]]
    first = front_end.token(**wanted)
    fresh = front_end.token(**wanted, forceRefresh=True)
    assert fresh != first and front_end.token(**wanted) == fresh
    requests = all_named(dot)[before:]
    assert {kind for kind, _, _ in requests} >= {"GET", "authorization_code", "refresh_token"}
    # The page of the server has an empty field for a missing resource.
    assert {name or None for _, name, _ in requests} == {None if omits else resource["resource"]}


@pytest.fixture
def named_servers(dot):
    """A resource of its own, and a function that changes the issuers that it names."""
    with running("resource_server.py", dot["issuer"]) as resource:

        def name(*issuers):
            body = json.dumps(issuers).encode()
            urllib.request.urlopen(urllib.request.Request(resource["base"] + "/__servers", body)).close()

        yield resource, name


def test_after_a_migration_the_hint_leads_to_a_token_of_the_new_server(dot, strict, named_servers, start):
    resource, name = named_servers
    front_end = start(None, None)
    first = sign_in(front_end, dot, resource=resource["resource"])
    former = front_end.token(first["account"], resource=resource["resource"])
    assert ask(resource["resource"], former)[0] == 200
    name(strict["issuer"])
    status, challenge, _ = ask(resource["resource"], former)
    assert status == 401 and "invalid_token" in challenge
    error = front_end.answer(front_end.send(
        "accounts.signIn", resource=resource["resource"], challenge=challenge, account=first["account"]))
    assert error.data["reason"] == "invalidChoice"
    # The only page is that of the first sign-in.
    assert [entry["method"] for entry in front_end.notifications].count("prompt.opened") == 1
    hint = request_of(error.data)
    assert hint == {"label": "Sign in", "method": "accounts.signIn", "params": {"resource": resource["resource"]}}
    second = sign_in(front_end, strict, **hint["params"])
    assert second["created"] and second["account"] != first["account"] and second["provider"] != first["provider"]
    token = front_end.token(second["account"], resource=resource["resource"])
    assert ask(resource["resource"], token)[0] == 200
    # The former account keeps its token, which the resource refuses.
    assert front_end.token(first["account"], resource=resource["resource"]) == former
    assert ask(resource["resource"], former)[0] == 401


def test_the_metadata_of_another_issuer_is_refused_and_the_next_server_is_used(dot, named_servers, start):
    resource, name = named_servers
    front_end = start(None, None)
    name(resource["liar"])
    error = front_end.answer(front_end.send("accounts.signIn", resource=resource["resource"]))
    assert error.data["reason"] == "providerFailure" and "issuer" in error.message, error
    assert "prompt.opened" not in front_end.notified
    # No provider was added.
    assert all("127.0.0.1" not in entry["id"] for entry in front_end.call("providers.list")["providers"])
    name(resource["liar"], dot["issuer"])
    signed_in = sign_in(front_end, dot, resource=resource["resource"])
    assert ask(resource["resource"], front_end.token(signed_in["account"], resource=resource["resource"]))[0] == 200
    paths = [path for _, path in log(resource)]
    assert paths.count("/.well-known/oauth-authorization-server/liar") == 2
