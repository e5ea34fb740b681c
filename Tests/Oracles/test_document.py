"""The protocol document against the meta-schemas of OpenRPC and JSON Schema, and against the server: requests made from
its schemas.

    python -m pytest Tests/Oracles/test_document.py
"""
import json
import re

import jsonrpcclient
import jsonschema
import pytest
import referencing

from generated import Requests, is_valid, resolved
from rotation import PROJECT
from session import DOCUMENT, ERRORS, METHODS, Session, judge, params_schema

pytestmark = pytest.mark.usefixtures("built")

VECTORS = PROJECT / "Tests/Vectors/OpenRPC"
# These end the process, or have no answer.
NOT_SENT = {"shutdown", "exit", "$/cancelRequest"}
REQUESTS = [method for method in DOCUMENT["methods"]
            if method["x-direction"] == "clientToServer" and method["name"] not in NOT_SENT]
EXAMPLES = [(method, example) for method in DOCUMENT["methods"] for example in method.get("examples", [])]
# The network changes for no transcript, and the kernel of a machine may keep no key.
WITHOUT_EXAMPLE = {"network.changed", "store.unlock"}


def meta_schema(name):
    return json.loads((VECTORS / name).read_text())


def test_the_document_is_valid_by_the_meta_schema_of_open_rpc():
    schema, json_schema = meta_schema("open-rpc.json"), meta_schema("json-schema.json")
    # The repository has a placeholder, which a release replaces by the versions.
    schema["properties"]["openrpc"] = {"const": "1.3.2"}
    registry = referencing.Registry().with_resources(
        (address, referencing.Resource(json_schema, referencing.jsonschema.DRAFT7))
        for address in ("https://meta.json-schema.tools", "https://meta.json-schema.tools/"))
    validator = jsonschema.Draft7Validator(schema, registry=registry)
    validator.validate(DOCUMENT)
    for change in (lambda document: document.pop("info"), lambda document: document["methods"][0].pop("params"),
                   lambda document: document["methods"][0].update(unknown=1),
                   lambda document: document["components"]["schemas"]["Account"].update(type=7)):
        document = json.loads(json.dumps(DOCUMENT))
        change(document)
        with pytest.raises(jsonschema.ValidationError):
            validator.validate(document)


def parts(value):
    """Yields every object of the document."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from parts(child)


def test_every_schema_is_one_and_every_reference_leads_somewhere():
    schemas = [*DOCUMENT["components"]["schemas"].values()]
    for method in DOCUMENT["methods"]:
        schemas += [part["schema"] for part in [*method["params"], *([method["result"]] if "result" in method else [])]]
        schemas += [method["x-params"]] if "x-params" in method else []
    assert len(schemas) > 200
    for schema in schemas:
        jsonschema.Draft7Validator.check_schema(schema)
        jsonschema.Draft202012Validator.check_schema(schema)
    references = {part["$ref"] for part in parts(DOCUMENT) if isinstance(part.get("$ref"), str)}
    for reference in references:
        target = DOCUMENT
        for name in reference.removeprefix("#/").split("/"):
            target = target[name]
    assert "#/components/schemas/Prompt" in references


def test_an_integer_is_one_that_every_reader_keeps_exactly():
    integers = [part for part in parts(DOCUMENT) if part.get("type") == "integer"]
    assert len(integers) > 50
    assert all(-2**53 < part["minimum"] <= part["maximum"] < 2**53 for part in integers)


def test_a_pattern_is_written_once_and_without_what_re2_refuses():
    patterns = [part["pattern"] for part in parts(DOCUMENT) if isinstance(part.get("pattern"), str)]
    assert len(patterns) == len(set(patterns)) == 3
    assert not any("\\u" in pattern for pattern in patterns)


def test_every_member_with_x_is_explained():
    used = {name for part in parts(DOCUMENT) for name in part if name.startswith("x-")}
    assert used == set(DOCUMENT["info"]["x-members"])


def test_the_file_is_pretty():
    text = (PROJECT / "protocol/openrpc.json").read_text()
    assert text.isascii() and text.endswith("\n}\n") and json.loads(text) == DOCUMENT
    assert len(text.splitlines()) > 1000


@pytest.mark.parametrize("method, example", EXAMPLES, ids=lambda value: value.get("name", ""))
def test_an_example_is_valid(method, example):
    params = {param["name"]: param["value"] for param in example["params"]}
    judge(params_schema(method), params)
    assert is_valid(method, params)
    assert ("result" in example) == ("result" in method)
    if "result" in example:
        judge(method["result"]["schema"], example["result"]["value"])


def test_every_method_has_an_example():
    assert {method["name"] for method, _ in EXAMPLES} == set(METHODS) - WITHOUT_EXAMPLE


def test_a_default_is_valid():
    defaults = [(param["schema"], param["required"]) for method in DOCUMENT["methods"] for param in method["params"]
                if "default" in param["schema"]]
    assert len(defaults) > 30
    for schema, is_required in defaults:
        assert not is_required
        jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(schema["default"])


def test_the_errors_of_a_method_are_those_of_the_protocol_and_its_own():
    reasons = {reason for _, reason in ERRORS}
    assert set(DOCUMENT["components"]["errors"]) == reasons
    assert set(resolved(DOCUMENT["components"]["schemas"]["Error"])["properties"]["data"]["properties"]["reason"]["enum"]) == reasons
    for method in DOCUMENT["methods"]:
        assert ("errors" in method) == ("result" in method)
        assert set(method.get("x-reasons", [])) <= {error["$ref"].rsplit("/", 1)[1] for error in method.get("errors", [])} or \
            "result" not in method


# Requests


@pytest.fixture
def world(ready, config, tmp_path):
    """A process with accounts, and values of parameters that lead somewhere in it."""
    session = Session("--test", "--config", str(config))
    session.call("initialize", client={"name": "oracle"})
    accounts = [session.call("accounts.add", **account)["account"] for account in ready["accounts"]]
    for provider in ("twitter", "facebook"):
        session.call("access.set", provider=provider, state="granted")
    nowhere = "https://127.0.0.1:9"
    token = {"type": "oauth2", "token": "own-token"}
    values = {
        "provider": ["twitter", "facebook", "github", "fcsdk", "password", "nowhere"],
        "account": [*accounts, "a_unknown"], "assertionFrom": [*accounts, "a_unknown"],
        "application": ["oracle", "other"], "issuer": [ready["addresses"]["openid"], nowhere, "http://example.org"],
        "resource": [nowhere, "text"], "address": [ready["addresses"]["github"], "github.com", "text"],
        "url": [ready["address"], "http://example.org"], "host": [ready["addresses"]["fcsdk"], "127.0.0.1"],
        "path": [str(tmp_path / "file"), "file"], "email": ["ada@example.org", "text"], "seconds": [0, 1],
        "password": ["difference", "short"], "credential": [token], "deadlineSeconds": [10], "remove": [True, False],
        "flowKind": ["reverseAuth", "deviceCode", "jwtBearer", "authorizationCode"], "processId": [session.process.pid],
        "claims": [{}, {"id_token": {}}], "interactive": ["never"], "caFile": ["/etc/ssl/certs/ca-certificates.crt"]}
    yield session, values
    session.close()


def ask(session, method, *requests):
    """Sends requests with these params at once and returns the answers. `Session` compares a result with the document."""
    ids = []
    for params in requests:
        request = jsonrpcclient.request(method["name"], params=params)
        session.asked[request["id"]] = method["name"]
        session.write(request)
        ids.append(request["id"])
    answers = {}
    while len(answers) < len(ids):
        message = session.message()
        if not isinstance(message, dict):
            answers[message.id] = message
    return [answers[id] for id in ids]


def reason(answer):
    return answer.data["reason"] if isinstance(answer, jsonrpcclient.Error) else None


def unnamed(method, answer):
    """Returns the reason of an error that the document does not name for the method; `None` if there is none."""
    named = {error["$ref"].rsplit("/", 1)[1] for error in method["errors"]}
    return None if reason(answer) in named else reason(answer)


def test_a_reason_that_the_document_does_not_name_is_noticed(world):
    session, _ = world
    method = METHODS["accounts.remove"]
    answer, = ask(session, method, {"account": "a_unknown"})
    assert unnamed(method, answer) is None
    errors = [error for error in method["errors"] if not error["$ref"].endswith("/unknownAccount")]
    assert unnamed({**method, "errors": errors}, answer) == "unknownAccount"
    assert is_valid(method, {"account": "a" * 256})
    assert not is_valid(method, {"account": "ä" * 129}), "maxLength alone does not refuse it"


def test_requests_find_no_result_and_no_reason_that_the_document_does_not_name(world):
    session, values = world
    requests = Requests(1815, values)
    counts = {"result": 0, "refused": 0, "invalid": 0}
    for method in REQUESTS:
        valid = [requests.valid(method) for _ in range(12 if method["params"] else 2)]
        for params, answer in zip(valid, ask(session, method, *valid)):
            assert not unnamed(method, answer), (method["name"], answer, params)
            counts["refused" if reason(answer) else "result"] += 1
        invalid = [*requests.invalid(method)]
        for start in range(0, len(invalid), 20):
            some = invalid[start:start + 20]
            for params, answer in zip(some, ask(session, method, *some)):
                assert not is_valid(method, params), (method["name"], params)
                assert reason(answer) == "invalidParams", (method["name"], answer, str(params)[:500])
                counts["invalid"] += 1
    print(counts)
    assert counts["result"] > 150 and counts["refused"] > 150 and counts["invalid"] > 1000


def texts(schema, path=()):
    """Yields the texts with a limit in a schema: their paths, limits and makers of a value around them."""
    schema = resolved(schema)
    for branch in schema.get("oneOf", []):
        yield from texts(branch, path)
    if schema.get("type") == "string" and "x-maxBytes" in schema:
        yield path, schema["x-maxBytes"], lambda text: text
    if schema.get("type") == "array":
        for inner, limit, make in texts(schema["items"], (*path, "0")):
            yield inner, limit, lambda text, make=make: [make(text)]
    for name, member in schema.get("properties", {}).items():
        for inner, limit, make in texts(member, (*path, name)):
            others = {other: REQUIRED.get(other, "x") for other in schema.get("required", []) if other != name}
            if "const" in schema["properties"].get("type", {}):
                others["type"] = schema["properties"]["type"]["const"]
            yield inner, limit, lambda text, make=make, others=others, name=name: {**others, name: make(text)}
    if isinstance(schema.get("additionalProperties"), dict):
        for inner, limit, make in texts(schema["additionalProperties"], (*path, "x")):
            yield inner, limit, lambda text, make=make: {"x": make(text)}


REQUIRED = {"provider": "twitter", "state": "granted", "username": "ada", "action": "accept", "method": "GET",
            "url": "https://api.twitter.com", "client": {"name": "x"}, "kind": "keyfile", "email": "a@example.org",
            "credential": {"type": "oauth2", "token": "t", "clientId": "x"}, "path": "/nowhere/x"}


def filled(path, count):
    """Returns a text of this number of bytes that may stand in this place."""
    start, end = FORMS.get(path[-1], ("", ""))
    text = "x" * (count - len(start) - len(end))
    if path[-1] == "host":  # a label of a host name has at most 63 characters
        text = ".".join(re.findall(".{1,63}", "x" * (len(text) - len(text) // 64)))
    return start + text + end


FORMS = {"issuer": ("https://127.0.0.1:9/", ""), "resource": ("https://127.0.0.1:9/", ""),
         "address": ("https://127.0.0.1:9/", ""), "url": ("https://127.0.0.1:9/", ""), "path": ("/nowhere/", ""),
         "folder": ("/", ""), "caFile": ("/", ""), "redirect": ("http://127.0.0.1/", ""), "email": ("", "@example.org"),
         "host": ("https://", ":65535/"), "trustedPublicKey": ("sha256//", "A=")}
# Further parameters, one of which satisfies the rules of a method.
COMPANY = [{}, {"provider": "fcsdk", "server": {"host": "127.0.0.1"}}, {"provider": "fcsdk"}, {"clientId": "x"},
           {"resource": "https://127.0.0.1:9"}, {"issuer": "https://127.0.0.1:9"}, {"password": "difference"},
           {"flowKind": "jwtBearer", "provider": "github"}, {"account": "a_unknown"}, {"action": "decline"}]
LIMITS = [(method, param["name"], path, limit, make) for method in REQUESTS for param in method["params"]
          for path, limit, make in texts(param["schema"], (param["name"],))]
# Texts that a request at the limit cannot have here: twitter has no use for them.
WITHOUT_USE = {"privateKey", "certificate"}


def test_the_limit_of_every_text_is_the_server_s(world):
    session, _ = world
    assert len(LIMITS) > 100
    wrong = []
    for method, name, path, limit, make in LIMITS:
        required = {param["name"]: REQUIRED.get(param["name"], "x") for param in method["params"] if param["required"]}
        for count in (limit, limit + 1):
            params = next((params for more in COMPANY if is_valid(
                method, params := {**required, **more, name: make(filled(path, limit))})), None)
            assert params, (method["name"], path)
            params[name] = make(filled(path, count))
            answer, = ask(session, method, params)
            refused = reason(answer) == "invalidParams" and answer.data.get("path") == "/" + "/".join(path)
            if refused != (count > limit) and not (count == limit and path[-1] in WITHOUT_USE):
                wrong.append((method["name"], "/".join(path), count, getattr(answer, "message", None)))
    assert not wrong, "\n".join(map(str, wrong))
