"""An einlass process and a checker of its messages, independent of einlass: jsonrpcclient parses the answers, and
jsonschema checks each message by protocol/openrpc.json.
"""
import copy
import json
import queue
import subprocess
import threading

import jsonrpcclient
import jsonschema

from place import place
from rotation import EINLASS, PROJECT

DOCUMENT = json.loads((PROJECT / "protocol/openrpc.json").read_text())
METHODS = {method["name"]: method for method in DOCUMENT["methods"]}
ERRORS = {(error["code"], error["reason"]): error.get("data", [])
          for error in json.loads((PROJECT / "protocol/errors.json").read_text())["errors"]}


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
PERSON = {"type": "object", "required": ["id"], "additionalProperties": False,
          "properties": {name: TEXT for name in ("id", "name", "username", "email", "avatar")}}
# The members allowed in the data of any error (protocol/methods.md, Error).
ERROR_DATA = {
    "reason": TEXT, "retryable": {"type": "boolean"}, "detail": TEXT, "provider": TEXT, "account": TEXT, "flow": TEXT, "path": TEXT,
    "next": {"type": "array", "items": {
        "type": "object", "required": ["label"], "additionalProperties": False, "dependentRequired": {"method": ["params"]},
        "properties": {"label": TEXT, "method": {"enum": sorted(METHODS)}, "params": {"type": "object"},
                       "page": {"type": "string", "pattern": "^https://"}, "command": TEXT}}},
    "final": {"const": True},
    "networkCode": {"type": "integer"}, "retryAfterSeconds": {"type": "integer", "minimum": 0},
    "serverError": {"type": "object", "additionalProperties": False, "properties": {
        "status": {"type": "integer"}, "code": {**TEXT, "maxLength": 64}, "subcode": {**TEXT, "maxLength": 64},
        "text": {**TEXT, "maxLength": 200}}}}
# Members allowed only for the errors that name them in errors.json.
OWN_DATA = {
    "expected": TEXT, "supported": {"type": "array", "items": {"type": "integer"}},
    "by": {"enum": ["client", "authCancel", "endOfInput", "shutdown"]}, "method": {"type": "string"},
    "prompts": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["kind"]}},
    "email": TEXT, "providers": {"type": "array", "items": TEXT}, "pendingCredential": {**TEXT, "pattern": "^c_"},
    "outcome": {"enum": ["accepted", "declined", "cancelled", "expired", "satisfied"]}, "identity": PERSON}
ERROR = {"type": "object", "required": ["code", "message", "data"], "maxProperties": 3, "properties": {
    "code": {"type": "integer"}, "message": TEXT,
    "data": {"type": "object", "required": ["reason", "retryable", "next"], "properties": {**ERROR_DATA, **OWN_DATA},
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
    assert bool(data["next"]) != data.get("final", False), data
    # A person who is told to try again later must have a chance.
    said = [error["message"], *(step["label"] for step in data["next"])]
    assert data["retryable"] or not any("try again later" in words.lower() for words in said), said
    assert "identity" not in data or data.get("detail") == "applicationUnknown", data
    own = set(data) & set(OWN_DATA)
    assert own <= set(ERRORS[error["code"], data["reason"]]), (data["reason"], own)


def judge(schema, value):
    """Checks a value from einlass, without additional members."""
    jsonschema.Draft202012Validator({**closed(schema), "components": COMPONENTS}).validate(value)


def judge_params(method, params):
    """Checks a client's parameters; additional members are allowed unless the method is closed."""
    schema = {**params_schema(method), "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(schema).validate(params)


def params_schema(method):
    return {"type": "object", "properties": {param["name"]: param["schema"] for param in method["params"]},
            "required": [param["name"] for param in method["params"] if param["required"]],
            "additionalProperties": "x-closed" not in method,
            "allOf": [method["x-params"]] if "x-params" in method else [{}]}


def request_of(data):
    """Returns the first next step that is a request."""
    return next(step for step in data["next"] if "method" in step)


class Session:
    """An einlass process. Each line of its output is checked."""

    def __init__(self, *options, store="memory", descriptors=(), before=(), log=subprocess.DEVNULL):
        """`before` is a command that runs einlass in its place, `log` a file for its standard error."""
        if store != "memory":
            store = place(store)
        self.process = subprocess.Popen([*before, EINLASS, "--store", store, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=log, text=True, pass_fds=descriptors)
        self.asked, self.answered, self.notified = {}, set(), set()
        self.notifications, self.faults = [], []
        # The answers that came while another message was awaited, by their ids.
        self.early = {}
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
        while id not in self.early:
            message = self.message()
            if not isinstance(message, dict):
                self.early[message.id] = message
        return self.early.pop(id)

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
            if not isinstance(message, dict):
                self.early[message.id] = message
            elif message["method"] == notification:
                return message["params"]

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()
