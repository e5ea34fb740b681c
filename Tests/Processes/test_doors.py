"""A front end that is not trusted gets the methods and the accounts of its door, and nothing else.

    python -m pytest Tests/Processes/test_doors.py

The requests are made of the protocol document: each method, each parameter, each notification and each member of
`initialize`.
"""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from rotation import EINLASS

PATIENCE = 60
METHODS = ["services.resolve", "credentials.get", "credentials.sign", "credentials.reject", "accounts.list"]
DOCUMENT = json.loads(subprocess.run([EINLASS, "--dump-protocol"], capture_output=True, check=True).stdout)
CALLED = [method for method in DOCUMENT["methods"] if method["x-direction"] == "clientToServer"]
SENT = [method["name"] for method in DOCUMENT["methods"] if method["x-direction"] == "serverToClient"]
LIFECYCLE = ["shutdown", "exit", "$/cancelRequest"]
UNKNOWN = {"code": -32601, "message": "unknownMethod", "data": {"reason": "unknownMethod"}}
QUIET = {"changes": False}
OUTSIDE = {"code": 1021, "message": "unknownAccount", "data": {"reason": "unknownAccount"}}


class House:
    """A store with the account `inside` of GitHub, and two others that no door names."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="einlass-", dir="/tmp"))
        config = self.folder / "config.json"
        config.write_text(json.dumps({
            "applications": {"*": {"github": {"clientId": "APP", "clientSecret": "s3cret"}}},
            "services": [{"address": "https://git.secret.example", "provider": "gitlab"}]}))
        config.chmod(0o600)
        # The default place of keys, because with `--key-file` einlass never asks for a passphrase.
        self.words = ["env", f"XDG_STATE_HOME={self.folder}/state", EINLASS, "--store", str(self.folder / "data/store.db"),
                      "--config", str(config)]
        self.ids = {}
        with Front(self.words) as person:
            for provider, name in ("github", "outsider"), ("github", "inside"), ("gitlab", "hidden"):
                self.ids[name] = person.call("accounts.add", {
                    "provider": provider, "username": name, "credential": {
                        "type": "oauth2", "token": f"t0ken-of-{name}", "clientId": "APP", "scopes": ["repo"]}})["account"]

    def door(self, *methods, accounts=("inside",), more=()):
        return [*self.words, "--as", "agent", "--only", ",".join(methods),
                "--account", ",".join(self.ids[name] for name in accounts), *more]

    def dump(self):
        """Everything in the store, as text."""
        with contextlib.closing(sqlite3.connect(f"file:{self.folder}/data/store.db?mode=ro", uri=True)) as store:
            return "\n".join(store.iterdump())

    def audit(self, method):
        with Front(self.words) as person:
            return person.call("audit.list", {"method": method})["entries"]

    def close(self):
        shutil.rmtree(self.folder)


class Front:
    """A process of einlass, which gets every line of its front end at once."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self.process.stdout.close()
        self.process.stderr.close()

    def send(self, method, params, **id):
        message = {"jsonrpc": "2.0", **id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, method, params=None):
        self.count += 1
        self.send(method, params or {}, id=self.count)
        answer = json.loads(self.process.stdout.readline())
        assert answer.pop("id", None) == self.count, f"not an answer to {method}: {answer}"
        return answer

    def call(self, method, params=None):
        answer = self.answer(method, params)
        assert "result" in answer, answer
        return answer["result"]


@pytest.fixture
def house():
    house = House()
    yield house
    house.close()


def value(schema, name, outside):
    """A value of a schema. An account is always one outside of the door."""
    if name == "account":
        return outside
    if name in ("url", "address"):
        return "https://api.github.com/user"
    if name == "provider":
        return "github"
    if "enum" in schema:
        return schema["enum"][0]
    if "oneOf" in schema or "anyOf" in schema:
        return value((schema.get("oneOf") or schema["anyOf"])[0], name, outside)
    if schema.get("type") == "object":
        required = schema.get("required", [])
        return {member: value(schema["properties"][member], member, outside) for member in required}
    return {"integer": max(1, schema.get("minimum", 1)), "boolean": True, "array": []}.get(schema.get("type"), "x")


def requests(method, outside, is_open):
    """The parameters of the requests of one method: the required ones, and each other one beside them.

    A method of the door gets each parameter of the document.
    """
    needed = {param["name"]: value(param["schema"], param["name"], outside) for param in method["params"] if param["required"]}
    yield needed
    for param in method["params"]:
        yield needed | {param["name"]: value(param["schema"], param["name"], outside)}
    for name in {param["name"] for other in CALLED for param in other["params"] if is_open} - set(needed):
        yield {name: outside if name == "account" else "x"} | needed


def is_terse(error):
    return error["message"] == error["data"]["reason"] and list(error["data"]) == ["reason"]


def check(house, words, methods):
    """Tries everything of the document at a door that should have these methods."""
    before, kept = house.dump(), []
    with Front(words) as front:
        for method in CALLED:
            name = method["name"]
            if name in (*LIFECYCLE, "initialize"):
                continue
            for account in (house.ids["outsider"], "a_0000000000000000000000") if name in methods else ("a_x",):
                for params in requests(method, account, name in methods):
                    answer = front.answer(name, params)
                    if name not in methods:
                        assert answer.get("error") == UNKNOWN, (name, params, answer)
                        continue
                    kept.append(json.dumps(answer))
                    if "error" in answer:
                        assert is_terse(answer["error"]), answer
                        if params.get("account") == account and "path" not in answer["error"] and name != "accounts.list":
                            assert answer["error"] == OUTSIDE or answer["error"]["code"] == -32602, (name, params, answer)
                    else:
                        assert name in ("accounts.list", "services.resolve"), (name, params, answer)
            # As a notification it changes nothing either, and has no answer.
            front.send(name, next(requests(method, house.ids["outsider"], False)))
        for name in (*SENT, "rpc.discover", "prompt.answer"):
            assert front.answer(name) == {"jsonrpc": "2.0", "error": UNKNOWN}
    said = "".join(kept)
    for word in ("outsider", "hidden", "t0ken", "s3cret", "gitlab", str(house.folder), '"next"', '"path"'):
        assert word not in said
    assert house.dump() == before


DOORS = [*([method] for method in METHODS), METHODS]


@pytest.mark.parametrize("methods", DOORS, ids=[*METHODS, "all"])
def test_a_door_has_only_its_methods_and_accounts(house, methods):
    check(house, house.door(*methods), methods)


def test_a_door_with_one_method_too_many_is_found(house):
    """The negative control."""
    with pytest.raises(AssertionError, match="accounts.list"):
        check(house, house.door("credentials.get", "accounts.list"), ["credentials.get"])


MEMBERS = {
    "client": {"name": "person", "title": "The person", "version": "9"}, "processId": 2**31 - 1, "locale": "de",
    "capabilities": {"prompts": ["any"], "changes": True, "network": True, "users": True},
    "applications": {"github": {"clientId": "APP2", "clientSecret": "other"}}, "protocolVersion": 7}


def test_no_member_of_initialize_has_an_effect(house):
    document = next(method for method in CALLED if method["name"] == "initialize")
    assert {param["name"] for param in document["params"]} == set(MEMBERS), "a member is not tried"
    greetings = set()
    for name, member in [(None, None), *MEMBERS.items()]:
        with Front(house.door("credentials.get", "accounts.list")) as front:
            greetings.add(json.dumps(front.call("initialize", {"client": {"name": "x"}, **({name: member} if name else {})})))
            # Another process changes the accounts, the access and the providers.
            with Front(house.words) as person:
                person.call("initialize", {"client": {"name": "person"}, "capabilities": QUIET})
                person.call("access.set", {"application": "agent", "provider": "github", "state": "denied"})
            credential = front.call("credentials.get", {"account": house.ids["inside"]})["credential"]
            assert credential["token"] == "t0ken-of-inside"
            assert front.answer("initialize", {"client": {"name": "x"}})["error"]["data"] == {"reason": "alreadyInitialized"}
    (greeting,) = map(json.loads, greetings)
    assert greeting["capabilities"]["methods"] == [*LIFECYCLE, "initialize", "accounts.list", "credentials.get"]
    assert greeting["capabilities"]["notifications"] == [] and greeting["store"] == {}


def test_untrusted_agent_of_the_trial_gets_its_account_alone(house):
    """It listed all accounts and granted itself GitHub when its socket was a full einlass."""
    trial = [("accounts.list", {}), ("access.set", {"application": "untrusted-agent", "provider": "github", "state": "granted"}),
             ("credentials.get", {"account": house.ids["outsider"]}),
             ("accounts.export", {"path": "/tmp/x", "passphrase": "x"}), ("services.resolve", {"provider": "gitlab"}),
             ("services.resolve", {"address": "https://git.secret.example/a"}), ("services.resolve", {"address": "https://x.invalid"})]
    with Front(house.door(*METHODS)) as front:
        front.call("initialize", {"client": {"name": "untrusted-agent"}})
        listed, *others = [front.answer(*request) for request in trial]
        assert [account["username"] for account in listed["result"]["accounts"]] == ["inside"]
        assert listed["result"]["revision"] == 0
        assert [answer["error"] for answer in others] == [UNKNOWN, OUTSIDE, UNKNOWN, OUTSIDE, OUTSIDE, OUTSIDE]
        resolved = front.call("services.resolve", {"address": "https://api.github.com/user"})
        assert resolved["account"] == house.ids["inside"]
        signed = front.call("credentials.sign", {
            "account": resolved["account"], "method": "HEAD", "url": "https://github.com/a/b.git/info/refs?service=x"})
        assert [field["name"] for field in signed["headers"]] == ["Authorization"]
    # The control: without a door it gets everything.
    with Front(house.words) as front:
        front.call("initialize", {"client": {"name": "untrusted-agent"}, "capabilities": QUIET})
        assert len(front.call(*trial[0])["accounts"]) == 3
        front.call(*trial[1])
        assert front.call(*trial[2])["credential"]["token"] == "t0ken-of-outsider"


def test_the_audit_trail_names_a_door_and_its_requests(house):
    end = int(time.time()) + 3600
    with Front(house.door("credentials.sign", "accounts.list", more=["--until", str(end)])) as front:
        front.call("credentials.sign", {"account": house.ids["inside"], "method": "GET",
                                        "url": f"https://api.github.com/a?access_token=x{'b' * 9}"})
        front.call("credentials.sign", {"account": house.ids["inside"], "method": "POST",
                                        "url": "https://api.github.com/" + 300 * "p"})
    (opened,), (closed,) = house.audit("door.open"), house.audit("door.close")
    for entry in opened, closed:
        assert entry["application"] == "agent" and entry["accounts"] == [house.ids["inside"]]
        assert entry["methods"] == ["credentials.sign", "accounts.list"] and entry["until"] == end
        assert entry["parent"]
    second, first = house.audit("credentials.sign")
    assert first["request"] == "GET api.github.com/a"
    assert second["request"].startswith("POST api.github.com/ppp") and len(second["request"].encode()) == 256


def test_no_new_token_comes_a_second_after_the_end(house):
    end = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(seconds=3)
    get = ("credentials.get", {"account": house.ids["inside"]})
    with Front(house.door("credentials.get", more=["--until", end.strftime("%Y-%m-%dT%H:%M:%SZ")])) as front:
        while "result" in (answer := front.answer(*get)):
            assert datetime.now(timezone.utc) < end + timedelta(seconds=PATIENCE)
            time.sleep(0.05)
        # The clock of the boot counts whole seconds, so the door may end within the last one.
        assert datetime.now(timezone.utc) >= end - timedelta(seconds=1) and answer["error"]["data"] == {"reason": "accessNotGranted"}
        assert front.answer(*get) == answer
    # A restart does not make it longer.
    assert subprocess.run(house.door("credentials.get", more=["--until", end.isoformat()]), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False).returncode == 64


ACCOUNT = ["--account", "a_x"]
ONLY = ["--only", "credentials.get"]
DOOR = ["--as", "agent", *ONLY, *ACCOUNT]


@pytest.mark.parametrize("words", [
    ["--as", "agent"], ["--as", "agent", *ONLY], ["--as", "agent", *ACCOUNT], [*ONLY, *ACCOUNT], ACCOUNT, ["--until", "9999999999"],
    [*DOOR, "--as", "other"], ["--as", "", *ONLY, *ACCOUNT], ["--as", "a\nb", *ONLY, *ACCOUNT], [*DOOR, "--only", "access.set"],
    [*DOOR, "--only", "credentials.get,"], [*DOOR, "--only", "Credentials.get"], [*DOOR, "--account", "a_y,"],
    [*DOOR, "--until", "soon"], [*DOOR, "--until", "2026-11-29"], [*DOOR, "--until", "1"], [*DOOR, "--test"],
    [*DOOR, "--until", "9999999999", "--until", "9999999999"], [*DOOR, "--trace", "/nowhere/trace"],
    [*DOOR, "--answers", "/nowhere/answers"], [*DOOR, "--dump-protocol"], [*DOOR, "call", "--application", "x", "accounts.list"]])
def test_options_that_contradict_each_other_are_refused_before_anything_is_opened(tmp_path, words):
    place = tmp_path / "data/store.db"
    done = subprocess.run([EINLASS, "--store", str(place), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (64, "") and "einlass --help" in done.stderr
    assert not place.parent.exists()


def test_one_request_may_be_called_through_a_door(house):
    door = house.door("credentials.get")
    done = subprocess.run([*door, "call", "credentials.get", json.dumps({"account": house.ids["inside"]})],
                          capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert json.loads(done.stdout)["result"]["credential"]["token"] == "t0ken-of-inside"
    done = subprocess.run([*door, "call", "accounts.list"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == UNKNOWN


PROMPTER = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "prompt.opened":
        prompt = message["params"]
        assert prompt["application"] == "agent" and prompt["kind"] == "enterPassphrase"
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "prompt.answer",
                          "params": {"prompt": prompt["prompt"], "action": "accept", "passphrase": "correct horse"}}), flush=True)
"""


@pytest.mark.parametrize("has_prompter", [True, False])
def test_a_question_goes_to_the_prompter_or_the_request_fails(house, has_prompter):
    descriptor = os.memfd_create("passphrase")
    os.write(descriptor, b"correct horse\n")
    os.lseek(descriptor, 0, os.SEEK_SET)
    words = [*house.words, "--passphrase-fd", str(descriptor)]
    for method, params in ("store.addKeySlot", {"kind": "passphrase"}), ("store.removeKeySlot", {"kind": "keyfile"}):
        done = subprocess.run([*words, "call", method, json.dumps(params)], capture_output=True, text=True, check=False,
                              pass_fds=[descriptor], timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
        os.lseek(descriptor, 0, os.SEEK_SET)
    os.close(descriptor)
    prompter = house.folder / "prompter"
    prompter.write_text(PROMPTER)
    prompter.chmod(0o700)
    with Front(house.door("credentials.get", more=["--prompter", str(prompter)] if has_prompter else [])) as front:
        front.call("initialize", {"client": {"name": "x"}, "capabilities": {"prompts": ["any"]}})
        answer = front.answer("credentials.get", {"account": house.ids["inside"]})
    if has_prompter:
        assert answer["result"]["credential"]["token"] == "t0ken-of-inside"
    else:
        assert is_terse(answer["error"]), answer
