"""A client and a schema checker independent of einlass: jsonrpcclient sends the requests, and jsonschema checks the
messages by protocol/openrpc.json.

    python -m pytest Tests/Oracles/test_protocol.py
"""
import copy
import json
import os
import queue
import subprocess
import threading
import urllib.request

import jsonrpcclient
import jsonschema
import pytest

from rotation import EINLASS, PROJECT, SANDBOX

DOCUMENT = json.loads((PROJECT / "protocol/openrpc.json").read_text())
METHODS = {method["name"]: method for method in DOCUMENT["methods"]}
ERRORS = {(error["code"], error["reason"]): error.get("data", [])
          for error in json.loads((PROJECT / "protocol/errors.json").read_text())["errors"]}

pytestmark = pytest.mark.usefixtures("built")


def closed(schema):
    """Returns the schema without additional members, so that an undocumented member is a failure."""
    schema = copy.deepcopy(schema)

    def close(part):
        if isinstance(part, dict):
            if "properties" in part and part.get("type") == "object":
                part.setdefault("additionalProperties", False)
            for child in part.values():
                close(child)
        elif isinstance(part, list):
            for child in part:
                close(child)

    close(schema)
    return schema


COMPONENTS = closed(DOCUMENT["components"])

TEXT = {"type": "string", "minLength": 1}
# The members allowed in the data of any error (protocol/README.md, Errors).
ERROR_DATA = {
    "reason": TEXT, "retryable": {"type": "boolean"}, "detail": TEXT, "provider": TEXT, "account": TEXT, "flow": TEXT, "path": TEXT,
    "hint": {"type": "object", "required": ["method", "params"], "additionalProperties": False,
             "properties": {"method": {"enum": sorted(METHODS)}, "params": {"type": "object"}}},
    "advice": {"enum": ["checkClock", "unlockOnWeb", "changeSettings"]},
    "networkCode": {"type": "integer"}, "retryAfterSeconds": {"type": "integer", "minimum": 0},
    "serverError": {"type": "object", "additionalProperties": False, "properties": {
        "status": {"type": "integer"}, "code": {**TEXT, "maxLength": 64}, "subcode": {**TEXT, "maxLength": 64},
        "text": {**TEXT, "maxLength": 200}}}}
# Members allowed only for the errors that name them in errors.json.
OWN_DATA = {
    "expected": TEXT, "supported": {"type": "array", "items": {"type": "integer"}},
    "by": {"enum": ["client", "authCancel", "endOfInput", "shutdown"]}, "method": {"type": "string"},
    "prompts": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["kind"]}},
    "outcome": {"enum": ["accepted", "declined", "cancelled", "expired", "satisfied"]}}
ERROR = {"type": "object", "required": ["code", "message", "data"], "maxProperties": 3, "properties": {
    "code": {"type": "integer"}, "message": TEXT,
    "data": {"type": "object", "required": ["reason", "retryable"], "properties": {**ERROR_DATA, **OWN_DATA},
             "additionalProperties": False}}}

# The message objects of JSON-RPC 2.0, with the restrictions of this protocol.
ENVELOPE = {
    "type": "object", "required": ["jsonrpc"], "properties": {"jsonrpc": {"const": "2.0"}}, "oneOf": [
        {"required": ["method", "params"], "maxProperties": 3,
         "properties": {"method": {"type": "string"}, "params": {"type": "object"}}},
        {"required": ["id", "result"], "maxProperties": 3, "properties": {"id": {"type": ["string", "integer"]}}},
        {"required": ["id", "error"], "maxProperties": 3, "properties": {
            "id": {"type": ["string", "integer", "null"]},
            "error": ERROR}}]}


def judge_envelope(message):
    jsonschema.Draft202012Validator(ENVELOPE).validate(message)
    for error in [part["error"] for part in (message, message.get("params", {}), message.get("result", {})) if "error" in part]:
        judge_error(error)


def judge_error(error):
    """Checks the error of an answer, or one inside a result: it must be one of errors.json, with no other members."""
    jsonschema.Draft202012Validator(ERROR).validate(error)
    data = error["data"]
    assert (error["code"], data["reason"]) in ERRORS
    own = set(data) & set(OWN_DATA)
    assert own <= set(ERRORS[error["code"], data["reason"]]), (data["reason"], own)


def judge(schema, value):
    """Checks a value from einlass, without additional members."""
    jsonschema.Draft202012Validator({**closed(schema), "components": COMPONENTS}).validate(value)


def judge_params(method, params):
    """Checks a client's parameters; additional members are allowed."""
    schema = {**params_schema(method), "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(params)


def params_schema(method):
    return {"type": "object", "properties": {param["name"]: param["schema"] for param in method["params"]},
            "required": [param["name"] for param in method["params"] if param["required"]]}


class Session:
    """An einlass process. Each line of its output is checked."""

    def __init__(self, *options, store="memory", descriptors=()):
        self.process = subprocess.Popen([EINLASS, "--store", store, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, pass_fds=descriptors)
        self.asked, self.answered, self.notified = {}, set(), set()
        self.notifications, self.faults = [], []
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, method, /, **params):
        request = jsonrpcclient.request(method, params=params)
        judge_params(METHODS[method], params)
        self.asked[request["id"]] = method
        self.write(request)
        return request["id"]

    def write(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def message(self):
        line = self.lines.get(timeout=60)
        assert line is not None, "the output ended"
        message = json.loads(line)
        judge_envelope(message)
        if "method" in message:
            judge(params_schema(METHODS[message["method"]]), message["params"])
            self.notified.add(message["method"])
            self.notifications.append(message)
            return message
        answer = jsonrpcclient.parse(message)
        method = METHODS[self.asked.pop(answer.id)]
        if isinstance(answer, jsonrpcclient.Ok):
            judge(method["result"]["schema"], answer.result)
            self.answered.add(method["name"])
        else:
            assert answer.code < 0 or answer.data["reason"] in method["x-reasons"]
        return answer

    def answer(self, id):
        while True:
            message = self.message()
            if not isinstance(message, dict) and message.id == id:
                return message

    def call(self, method, /, **params):
        answer = self.answer(self.send(method, **params))
        assert isinstance(answer, jsonrpcclient.Ok), answer
        return answer.result

    def refused(self, method, /, **params):
        answer = self.answer(self.send(method, **params))
        assert isinstance(answer, jsonrpcclient.Error), answer
        return answer.data["reason"]

    def until(self, notification):
        while True:
            message = self.message()
            if isinstance(message, dict) and message["method"] == notification:
                return message["params"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


@pytest.fixture
def ready():
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def session(ready, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(ready["config"]))
    config.chmod(0o600)
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
                 capabilities={"prompts": ["grantAccess", "selectAccount", "confirmAccount", "openURL"]})
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
        session.call("credentials.sign", account=done.result["account"], method="GET", url="https://api.example.com/a")

        session.call("credentials.get", account=done.result["account"], minValiditySeconds=300)
        session.call("credentials.reject", account=done.result["account"])
        session.call("credentials.get", account=done.result["account"])
        session.call("accounts.renew", account=done.result["account"])
        session.call("accounts.setPreferred", provider=provider, account=done.result["account"])
        session.call("accounts.explain", provider=provider, selection="whenMany")
        explained = session.call("accounts.explain", provider=provider)
        assert explained["rule"] == "person" and len(explained["prompts"]) == 1

    def change(state):
        address = ready["control"].rstrip("/") + "/state"
        urllib.request.urlopen(urllib.request.Request(address, json.dumps(state).encode(), method="PATCH"))

    change({"sequencing": {"behaviour": {"consent": "allow", "refreshSeconds": 60}}})
    flow = session.send("accounts.signIn", provider="sequencing", loginHint="ada@example.org")
    page = session.until("prompt.opened")["url"]
    assert b"Signed in" in urllib.request.urlopen(page).read()
    signed_in = session.answer(flow).result["account"]
    session.call("access.set", provider="sequencing", state="granted")
    session.call("credentials.get", account=signed_in, forceRefresh=True)
    # The refresh token has expired when the access token is about to expire.
    change({"clockOffsetSeconds": 3001})
    session.call("test.advanceClock", seconds=3001)
    assert session.until("credentials.refreshFailed")["account"] == signed_in

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
    assert stored.call("store.removeKeySlot", kind="keyfile")["slots"] == ["passphrase"]

    expected = {method["name"] for method in DOCUMENT["methods"]
                if method["x-direction"] == "clientToServer" and "result" in method}
    assert session.answered | stored.answered == expected
    assert session.notified | stored.notified == {method["name"] for method in DOCUMENT["methods"]
                                if method["x-direction"] == "serverToClient"}


def test_following_a_hint_mends_the_error(session, ready):
    session.call("initialize", client={"name": "oracle"})
    account = next(account for account in ready["accounts"] if account["provider"] == "twitter")
    credential = {name: account[name] for name in ("username", "credential")}

    def follow(code, method, params, **more):
        answer = session.answer(session.send(method, **params))
        assert isinstance(answer, jsonrpcclient.Error) and answer.code == code, answer
        hint = answer.data["hint"]
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


CANCELLED = {"code": -32800, "message": "x", "data": {"reason": "cancelled", "retryable": False, "by": "client"}}


@pytest.mark.parametrize("member", [
    {"token": "x"}, {"hint": {"method": "no.such", "params": {}}}, {"serverError": {"body": "x"}},
    {"serverError": {"text": "x" * 201}}, {"path": None}, {"advice": "x"}, {"expected": "a rarer word"}, {"reason": "x"}])
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
