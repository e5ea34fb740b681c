"""An identity assertion of one issuer becomes a token of an MCP server: mcp's server with fastmcp's checks.

    python -m pytest Tests/Oracles/test_assertions.py
"""
import json
import os
import subprocess
import urllib.request
from pathlib import Path

import pytest

from rotation import EINLASS
from servers import log, running
from test_resource import ask

CONTROL = Path(os.environ.get("EINLASS_CONTROL", EINLASS.parent / "einlassctl"))
pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture(scope="module")
def issuer():
    with running("issuer_server.py") as ready:
        yield ready


@pytest.fixture(scope="module")
def server(issuer):
    with running("assertion_server.py", issuer["issuer"]) as ready:
        yield ready


@pytest.fixture
def behave(issuer, server):
    """Changes the settings of a server. The issuer makes valid assertions at first and after the test."""
    def behave(ready, **settings):
        request = urllib.request.Request(ready["base"] + "/__behaviour", json.dumps(settings).encode(), method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()

    grants = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange"]
    usual = {"assertions": {"client_id": server["client"]}, "says": None,
             "metadata": {"grant_types_supported": grants}}
    behave(issuer, **usual)
    yield behave
    behave(issuer, **{**usual, "assertions": None, "metadata": {}})
    behave(server, accessSeconds=3600)


@pytest.fixture
def signed_in(start, issuer, server, behave):
    """Returns a front end and its account at the issuer, which offers assertions."""
    front_end = start(None, {"clientId": server["client"], "clientSecret": server["secret"],
                             "authentication": "client_secret_post"})
    front_end.call("providers.add", issuer=issuer["issuer"], id="work")
    front_end.call("providers.configure", provider="work", clientId=issuer["client"], clientSecret=issuer["secret"])
    front_end.call("providers.add", issuer=server["issuer"], id="oracle")
    id, prompt = front_end.begin("work")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(prompt["url"], timeout=60).close()
    return front_end, front_end.end(id, "work")


def sign_in(front_end, server, source, **more):
    """Returns the answer to a sign-in at the MCP server with an assertion from the account."""
    answer = front_end.answer(front_end.send(
        "accounts.signIn", resource=server["resource"], flowKind="jwtBearer", assertionFrom=source, **more))
    front_end.call("access.set", provider="oracle", state="granted")
    return answer


def posts(ready):
    """Returns the number of token requests."""
    return log(ready).count(("POST", "/token"))


def test_an_id_token_becomes_an_account_at_the_server_and_its_token_is_replaced(issuer, server, signed_in, behave):
    front_end, source = signed_in
    wanted = {"resource": server["resource"]}
    answer = sign_in(front_end, server, source, scopes=["files"]).result
    assert (answer["provider"], answer["resource"], answer["created"]) == ("oracle", server["resource"], True)
    token = front_end.token(answer["account"], **wanted)
    assert ask(server["resource"], token)[::2] == (200, {"subject": "42", "scope": "files"})
    assert ask(server["resource"])[0] == ask(server["resource"], token + "x")[0] == 401
    # A lifetime within the margin makes each use a refresh, with an assertion of its own.
    behave(server, accessSeconds=30)
    before = posts(issuer), posts(server)
    fresh = {front_end.token(answer["account"], forceRefresh=True, **wanted),
             front_end.token(answer["account"], **wanted)}
    assert len(fresh | {token}) == 3 and (posts(issuer), posts(server)) == (before[0] + 2, before[1] + 2)
    assert all(ask(server["resource"], one)[::2] == (200, {"subject": "42", "scope": "files"}) for one in fresh)
    # The control: the next sign-in from the same source finds the same account.
    again = sign_in(front_end, server, source).result
    assert (again["account"], again["created"]) == (answer["account"], False)


def test_a_step_up_brings_a_token_with_both_scopes_and_no_page(server, signed_in):
    front_end, source = signed_in
    first = sign_in(front_end, server, source, challenge='Bearer scope="files"').result
    wanted = {"account": first["account"], "resource": server["resource"]}
    assert ask(server["resource"], front_end.token(**wanted))[2]["scope"] == "files"
    front_end.notified.clear()
    # The account remembers its flow, so a front end needs the challenge alone.
    second = front_end.answer(front_end.send(
        "accounts.signIn", challenge='Bearer error="insufficient_scope", scope="write"', **wanted)).result
    assert (second["account"], second["created"]) == (first["account"], False)
    assert "prompt.opened" not in front_end.notified
    assert set(ask(server["resource"], front_end.token(**wanted))[2]["scope"].split()) == {"files", "write"}


@pytest.mark.parametrize(("claims", "detail"), [
    ({"aud": "https://other.example"}, "aud"), ({"exp": 1}, "exp"), ({"iss": None}, "iss"), ({"aud": None}, "aud")])
def test_an_assertion_that_the_server_could_not_accept_is_not_sent(claims, detail, server, issuer, signed_in, behave):
    front_end, source = signed_in
    behave(issuer, assertions={"client_id": server["client"], **claims})
    before = posts(server)
    data = sign_in(front_end, server, source).data
    assert (data["reason"], data["detail"], posts(server)) == ("verificationFailed", detail, before)
    # The control: without that claim it is sent and accepted.
    behave(issuer, assertions={"client_id": server["client"]})
    assert "account" in sign_in(front_end, server, source).result and posts(server) == before + 1


@pytest.mark.parametrize("claims", [
    {"client_id": "another"}, {"resource": "https://other.example/mcp"}, {"iss": "https://other.example"}])
def test_an_assertion_for_another_client_resource_or_issuer_is_refused_once(claims, server, issuer, signed_in, behave):
    front_end, source = signed_in
    behave(issuer, assertions={"client_id": server["client"], **claims})
    before = posts(server)
    data = sign_in(front_end, server, source).data
    assert (data["reason"], data["serverError"]["code"]) == ("providerFailure", "invalid_grant")
    assert posts(server) == before + 1


def test_a_revoked_session_at_the_issuer_ends_the_refresh_and_not_the_token(server, issuer, signed_in, behave):
    front_end, source = signed_in
    account = sign_in(front_end, server, source).result["account"]
    wanted = {"account": account, "resource": server["resource"]}
    token = front_end.token(**wanted)
    behave(issuer, says={"error": "invalid_grant", "error_description": "the session is over"})
    before = posts(server)
    data = front_end.answer(front_end.send("credentials.get", forceRefresh=True, **wanted)).data
    assert (data["reason"], data["provider"], data["account"]) == ("providerFailure", "work", source)
    assert posts(server) == before
    assert front_end.token(**wanted) == token and ask(server["resource"], token)[0] == 200
    # The control: a session that works again brings a new token.
    behave(issuer, says=None)
    assert front_end.token(forceRefresh=True, **wanted) != token


def test_an_assertion_that_was_used_before_brings_no_second_token(server, issuer, signed_in, behave):
    front_end, source = signed_in
    behave(issuer, assertions={"client_id": server["client"], "jti": "once"})
    account = sign_in(front_end, server, source).result["account"]
    before = posts(server)
    data = front_end.answer(front_end.send(
        "credentials.get", account=account, resource=server["resource"], forceRefresh=True)).data
    assert (data["reason"], data["detail"], posts(server)) == ("verificationFailed", "used", before)
    # The control: with an id of its own, the next assertion is sent.
    behave(issuer, assertions={"client_id": server["client"], "jti": "another"})
    front_end.token(account, resource=server["resource"], forceRefresh=True)
    assert posts(server) == before + 1


def test_a_file_is_an_assertion_while_only_its_owner_can_read_it(server, issuer, start, behave, tmp_path):
    path, configuration = tmp_path / "assertion", tmp_path / "configuration.json"
    registration = {"clientId": server["client"], "clientSecret": server["secret"],
                    "authentication": "client_secret_post", "assertionFile": str(path)}
    configuration.write_text(json.dumps({"applications": {"*": {"oracle": registration}}}))
    configuration.chmod(0o600)
    front_end = start(None, None, options=("--config", str(configuration)), kinds=())
    front_end.call("providers.add", issuer=server["issuer"], id="oracle")

    def write(**claims):
        behave(issuer, assertions={"client_id": server["client"], "aud": server["issuer"],
                                   "resource": server["resource"], **claims})
        with urllib.request.urlopen(issuer["base"] + "/__assertion") as answer:
            path.write_text(json.load(answer) + "\n")
        path.chmod(0o600)

    def refusal():
        answer = sign_in(front_end, server, None)
        return answer.data["reason"], answer.data.get("detail")

    def sign_in(front_end, server, source):
        return front_end.answer(front_end.send("accounts.signIn", resource=server["resource"], flowKind="jwtBearer"))

    before = posts(server)
    assert refusal() == ("authenticatorUnconfigured", "assertionFile")
    write()
    path.chmod(0o640)
    assert refusal() == ("authenticatorUnconfigured", "assertionFile")
    path.write_text("x" * 17000)
    path.chmod(0o600)
    assert refusal() == ("verificationFailed", "tooLong") and posts(server) == before
    write(client_id="another")
    assert refusal() == ("providerFailure", None) and posts(server) == before + 1
    assert refusal() == ("verificationFailed", "refused") and posts(server) == before + 1
    write()
    account = sign_in(front_end, server, None).result["account"]
    front_end.call("access.set", provider="oracle", state="granted")
    entry = front_end.call("accounts.list")["accounts"][0]
    assert (entry["account"], entry["username"], entry["subject"]) == (account, "42", "42")
    token = front_end.token(account, resource=server["resource"])
    write()
    fresh = front_end.token(account, resource=server["resource"], forceRefresh=True)
    assert fresh != token and ask(server["resource"], fresh)[0] == 200


def test_einlassctl_signs_in_with_the_assertion_of_an_account(server, issuer, start, behave, tmp_path):
    paths = {"--store": tmp_path / "data/store.db", "--key-file": tmp_path / "keys/key"}
    for path in paths.values():
        path.parent.mkdir(0o700)
    front_end = start(None, None, store=str(paths["--store"]), options=("--key-file", str(paths["--key-file"])))
    for name, ready in (("work", issuer), ("oracle", server)):
        front_end.call("providers.add", issuer=ready["issuer"], id=name)
    front_end.call("providers.configure", provider="work", clientId=issuer["client"], clientSecret=issuer["secret"])
    front_end.call("providers.configure", provider="oracle", clientId=server["client"], clientSecret=server["secret"],
                   authentication="client_secret_post")
    id, prompt = front_end.begin("work")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(prompt["url"], timeout=60).close()
    front_end.end(id, "work")
    user = next(entry["username"] for entry in front_end.call("accounts.list")["accounts"])

    def control(*words):
        options = [str(word) for pair in paths.items() for word in pair]
        return subprocess.run([CONTROL, *words, "--einlass", EINLASS, "--no-input", *options], capture_output=True, text=True,
                              timeout=60)

    words = "sign-in", server["resource"], "--flow", "jwtBearer", "--from", f"work/{user}"
    # The control: without access to the account, einlassctl gets no assertion.
    refused = control(*words)
    assert refused.returncode == 1 and "access" in refused.stderr, refused
    assert control("access", "set", "einlassctl", "work", "granted").returncode == 0
    before = posts(server)
    done = control(*words)
    assert done.returncode == 0 and "Signed in" in done.stdout, done
    assert posts(server) == before + 1
    new = next(entry for entry in front_end.call("accounts.list")["accounts"] if entry["provider"] == "oracle")
    assert (new["username"], new["resources"]) == (user, [server["resource"]])
    wrong = control("sign-in", server["resource"], "--from", f"work/{user}")
    assert wrong.returncode != 0 and "--from needs --flow jwtBearer" in wrong.stderr
