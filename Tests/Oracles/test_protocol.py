"""A client and a schema checker independent of einlass: jsonrpcclient sends the requests, and jsonschema checks the
messages by protocol/openrpc.json.

    python -m pytest Tests/Oracles/test_protocol.py
"""
import json
import os
import sys
import urllib.request
from pathlib import Path

import jsonrpcclient
import jsonschema
import pytest

from session import DOCUMENT, METHODS, Session, judge, judge_envelope, judge_error, request_of

sys.path.append(str(Path(__file__).parents[1] / "Control"))
import kernel_keyring  # noqa: E402

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def session(config):
    session = Session("--test", "--config", str(config))
    yield session
    session.close()


@pytest.fixture
def stored(tmp_path):
    """A session with a store in a file, for the methods that a store in memory does not support."""
    tmp_path.chmod(0o700)
    passphrase = os.memfd_create("passphrase")
    os.write(passphrase, b"correct horse\n")
    os.lseek(passphrase, 0, os.SEEK_SET)
    session = Session("--key-file", str(tmp_path / "keys/key"), "--passphrase-fd", str(passphrase),
                      store=str(tmp_path / "store.db"), descriptors=(passphrase,))
    os.close(passphrase)
    yield session
    session.close()


def test_a_whole_session_is_as_the_document_says(session, stored, ready, tmp_path):
    session.call("initialize", client={"name": "oracle", "title": "Oracle"},
                 capabilities={"prompts": ["grantAccess", "selectAccount", "confirmAccount", "openURL", "enterPassword"],
                               "users": True})
    assert session.refused("initialize", client={"name": "again"}) == "alreadyInitialized"
    session.call("rpc.discover")
    session.call("providers.list")
    ids = {}
    for account in ready["accounts"]:
        ids[account["username"]] = session.call("accounts.add", **account)["account"]
    assert session.refused("accounts.add", **ready["accounts"][0]) == "accountExists"
    assert len(session.call("accounts.list", limit=2)["accounts"]) == 2

    for provider in ("twitter", "facebook"):
        flow = session.send("auth.perform", provider=provider)
        prompt = session.until("prompt.opened")
        while True:
            session.call("prompt.list")
            session.call("auth.list")
            choice = {"account": prompt["accounts"][0]["account"]} if prompt["kind"] == "selectAccount" else {}
            session.send("prompt.answer", prompt=prompt["prompt"], action="accept", **choice)
            done = None
            while done is None:
                message = session.message()
                if isinstance(message, dict):
                    done = message["params"] if message["method"] == "prompt.opened" else None
                elif message.id == flow:
                    done = message
            if not isinstance(done, dict):
                break
            prompt = done
        assert isinstance(done, jsonrpcclient.Ok), done
        checked = session.call("verify", provider=provider, credential=done.result["credential"])
        assert checked["valid"]
        session.call("credentials.sign", account=done.result["account"], method="GET", url=ready["address"] + "/a")

        session.call("credentials.get", account=done.result["account"], minValiditySeconds=300)
        session.call("credentials.reject", account=done.result["account"])
        session.call("credentials.get", account=done.result["account"])
        session.call("accounts.renew", account=done.result["account"])
        session.call("accounts.setPreferred", provider=provider, account=done.result["account"])
        session.call("accounts.explain", provider=provider, selection="whenMany")
        explained = session.call("accounts.explain", provider=provider)
        session.call("services.resolve", address=ready["addresses"]["github"])
        assert explained["rule"] == "person" and len(explained["prompts"]) == 1

    def change(state):
        address = ready["control"].rstrip("/") + "/state"
        urllib.request.urlopen(urllib.request.Request(address, json.dumps(state).encode(), method="PATCH"))

    change({"sequencing": {"behaviour": {"consent": "allow", "refreshSeconds": 60}}})
    flow = session.send("accounts.signIn", provider="sequencing", page={"loginHint": "ada@example.org"})
    page = session.until("prompt.opened")["url"]
    assert b"Signed in" in urllib.request.urlopen(page).read()
    signed_in = session.answer(flow).result["account"]
    session.call("access.set", provider="sequencing", state="granted")
    session.call("credentials.get", account=signed_in, forceRefresh=True)
    # The refresh token has expired when the access token is about to expire.
    change({"clockOffsetSeconds": 3001})
    session.call("test.advanceClock", seconds=3001)
    assert session.until("credentials.refreshFailed")["account"] == signed_in

    flow = session.send("accounts.signIn", provider="fcsdk", server={"host": ready["addresses"]["fcsdk"], "username": "ada"})
    prompt = session.until("prompt.opened")["prompt"]
    session.send("prompt.answer", prompt=prompt, action="accept", password="demo-password")
    own = session.answer(flow).result["account"]
    assert session.call("accounts.checkServer", account=own) == {"server": ready["addresses"]["fcsdk"]}

    assert session.call("providers.add", issuer=ready["addresses"]["openid"], id="op") == {"provider": "op", "created": True}
    assert session.call("providers.configure", provider="op", clientId="mine")["configured"]
    session.call("providers.configure", provider="op", remove=True)
    session.call("providers.remove", provider="op")

    session.call("access.list")
    session.call("access.set", provider="twitter", state="granted")
    session.call("auth.perform", provider="twitter", account=ids["grace"], detached=True, interactive="never")
    assert "credential" in session.until("auth.completed")
    assert session.refused("auth.perform", provider="twitter", account=ids["mallory"]) == "accountBanned"
    session.call("access.reset", provider="twitter")
    assert session.refused("auth.perform", provider="twitter", interactive="never") == "interactionRequired"
    flow = session.send("auth.perform", provider="twitter")
    opened = session.until("prompt.opened")
    ending = {flow, session.send("auth.cancel", flow=opened["flows"][0])}
    while ending:
        message = session.message()
        if not isinstance(message, dict):
            ending.discard(message.id)
    assert session.refused("auth.cancel", flow=opened["flows"][0]) == "unknownFlow"
    session.call("accounts.update", account=ids["ada"], displayName="Countess")
    session.call("accounts.signOut", account=ids["ada"])
    session.call("accounts.signOut", account=ids["grace"], revoke=False)
    session.call("accounts.remove", account=ids["grace"])
    session.call("test.advanceClock", seconds=1)
    session.call("store.status")
    session.call("network.status")
    assert session.call("avatars.get", account=signed_in) == {}
    session.call("settings.get", provider="fcsdk")

    user = session.call("users.create", email="ada@example.org", password="difference")["user"]
    assert session.call("users.current")["user"] == user
    session.call("users.signOut")
    session.call("users.signInWithPassword", email="ada@example.org", password="difference")
    session.call("users.reauthenticate", password="difference")
    token = {"type": "oauth2", "token": "own-token"}
    change({"facebook": {"tokens": {"own-token": {"application": "1234567890", "user": "2001", "scopes": ["public_profile"]}}}})
    session.call("users.link", provider="facebook.com", credential=token)
    assert session.call("users.providersForEmail", email="ada@example.org")["providers"] == ["password", "facebook"]
    assert session.call("users.signIn", provider="facebook", credential=token)["user"]["user"] == user["user"]
    session.call("users.update", displayName="Ada")
    session.call("users.unlink", provider="facebook")
    assert len(session.call("users.list")["users"]) == 1
    session.call("users.delete")
    assert "auth.perform" in {entry["method"] for entry in session.call("audit.list")["entries"]}
    session.call("audit.prune", before=1)
    assert session.refused("store.rotateKey") == "accountStoreFailure"
    session.call("shutdown")

    stored.call("accounts.add", **ready["accounts"][0])
    stored.call("store.status")
    assert stored.call("store.check")["sound"]
    stored.call("store.backup", path=str(tmp_path / "copy.db"))
    stored.call("store.rotateKey")
    assert stored.call("accounts.export", path=str(tmp_path / "accounts"))["accounts"] == 1
    assert stored.call("accounts.import", path=str(tmp_path / "accounts"))["alreadyThere"] == 1
    assert stored.call("store.addKeySlot", kind="passphrase")["slots"] == ["keyfile", "passphrase"]
    if not kernel_keyring.refused():
        stored.call("store.unlock", seconds=60)
    assert stored.call("store.lock")["wasUnlocked"] is not bool(kernel_keyring.refused())
    assert stored.call("store.removeKeySlot", kind="keyfile")["slots"] == ["passphrase"]
    assert stored.call("store.move", to=str(tmp_path / "moved.db"))["rows"] > 0

    expected = {method["name"] for method in DOCUMENT["methods"]
                if method["x-direction"] == "clientToServer" and "result" in method}
    if kernel_keyring.refused():
        expected.remove("store.unlock")
    assert session.answered | stored.answered == expected, "each method needs a call in this session"
    # network.changed needs a network of its own: Tests/Processes/test_network.py.
    assert session.notified | stored.notified | {"network.changed"} == {
        method["name"] for method in DOCUMENT["methods"] if method["x-direction"] == "serverToClient"}


def test_following_a_hint_mends_the_error(session, ready):
    session.call("initialize", client={"name": "oracle"})
    account = next(account for account in ready["accounts"] if account["provider"] == "twitter")
    credential = {name: account[name] for name in ("username", "credential")}

    def follow(code, method, params, **more):
        answer = session.answer(session.send(method, **params))
        assert isinstance(answer, jsonrpcclient.Error) and answer.code == code, answer
        hint = request_of(answer.data)
        return session.call(hint["method"], **hint["params"], **more)

    id = follow(1001, "auth.perform", {"provider": "twitter"}, **credential)["account"]
    session.call("access.set", provider="twitter", state="denied")
    follow(1002, "auth.perform", {"provider": "twitter"})
    assert session.refused("auth.perform", provider="twitter") == "interactionRequired"
    session.call("access.set", provider="twitter", state="granted")
    session.call("accounts.signOut", account=id)
    for method, params in (("credentials.get", {"account": id}), ("auth.perform", {"provider": "twitter", "account": id})):
        session.call("accounts.signOut", account=id)
        assert follow(1005, method, params, **credential) == {"account": id, "created": False, "revision": session.call(
            "accounts.list")["revision"]}
        assert "credential" in session.call(method, **params)


def test_a_batch_is_parsed_as_one(session):
    batch = [jsonrpcclient.request("accounts.list", id=1), jsonrpcclient.notification("accounts.list"),
             jsonrpcclient.request("no.such", id=2)]
    session.write(batch)
    answers = json.loads(session.lines.get(timeout=60))
    for answer in answers:
        judge_envelope(answer)
    ok, error = jsonrpcclient.parse(answers)
    assert (ok.id, ok.result["accounts"]) == (1, [])
    assert (error.id, error.code) == (2, -32601)


def test_invalid_requests_get_a_valid_error_response(session):
    lines = ["{", "[]", "7", '{"id":1}', '{"jsonrpc":"2.0","id":{},"method":"x"}', '{"jsonrpc":"2.0","id":2,"method":"x"}']
    session.process.stdin.write("".join(line + "\n" for line in lines))
    session.process.stdin.flush()
    answers = [json.loads(session.lines.get(timeout=60)) for _ in lines]
    for answer in answers:
        judge_envelope(answer)
    assert [answer["id"] for answer in answers] == [None, None, None, 1, None, 2]


@pytest.mark.parametrize("message", [
    {"id": 1, "result": {}}, {"jsonrpc": "2.1", "id": 1, "result": {}}, {"jsonrpc": "2.0", "result": {}},
    {"jsonrpc": "2.0", "id": 1}, {"jsonrpc": "2.0", "id": 1, "result": {}, "error": None},
    {"jsonrpc": "2.0", "id": None, "result": {}}, {"jsonrpc": "2.0", "id": 1, "result": {}, "more": 1},
    {"jsonrpc": "2.0", "method": "x", "params": []}, {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "x", "data": {"reason": "x", "retryable": True}}},
    {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}])
def test_the_envelope_check_refuses_invalid_messages(message):
    with pytest.raises(jsonschema.ValidationError):
        judge_envelope(message)


CANCELLED = {"code": -32800, "message": "x", "data": {"reason": "cancelled", "retryable": False, "by": "client", "next": [{"label": "x"}]}}


@pytest.mark.parametrize("member", [
    {"token": "x"}, {"next": [{"label": "x", "method": "no.such", "params": {}}]}, {"next": []}, {"next": [{"label": "x", "method": "auth.list"}]}, {"serverError": {"body": "x"}},
    {"serverError": {"text": "x" * 201}}, {"path": None}, {"next": [{"label": "x", "page": "http://example.com"}]}, {"expected": "a rarer word"}, {"reason": "x"}])
def test_the_error_check_refuses_undocumented_members(member):
    judge_error(CANCELLED)
    with pytest.raises((jsonschema.ValidationError, AssertionError)):
        judge_error({**CANCELLED, "data": {**CANCELLED["data"], **member}})


@pytest.mark.parametrize("change", [
    lambda result: result.pop("revision"), lambda result: result.update(revision="0"),
    lambda result: result.update(undocumented=1), lambda result: result["accounts"].append({"account": "a_1"})])
def test_the_result_check_refuses_undocumented_results(session, change):
    result = session.call("accounts.list")
    change(result)
    with pytest.raises(jsonschema.ValidationError):
        judge(METHODS["accounts.list"]["result"]["schema"], result)
