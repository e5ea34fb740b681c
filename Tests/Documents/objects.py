"""A `json` block: each of its objects is a file or a parameter of einlass, and einlass takes it.

`…` in a string, or alone, stands for some text; a bare `…` in an object for members that are not shown.
"""
import json
import subprocess

from matching import ANY, MORE, Mismatch
from world import EINLASS, PROJECT

SCHEMAS = json.loads((PROJECT / "protocol/openrpc.json").read_text())["components"]["schemas"]


def check(value, world):
    for is_kind, run in KINDS:
        if isinstance(value, dict) and is_kind(value):
            return run(value, world)
    raise Mismatch(f"nobody knows what this object is for: {json.dumps(value, ensure_ascii=False)}")


def filled(value):
    """The value with a text in place of each `…`."""
    if isinstance(value, dict):
        return {name: filled(member) for name, member in value.items() if name != MORE}
    if isinstance(value, list):
        return [filled(element) for element in value if element != MORE]
    return value.replace("…", "elided") if isinstance(value, str) and value != ANY else value


def call(world, method, params, *options):
    """The answer to one request, by `einlass call`."""
    done = subprocess.run([EINLASS, *options, "call", method, "-"], input=json.dumps(params), capture_output=True, text=True,
                          env=world.environment)
    if not done.stdout or done.returncode not in (0, 1):  # 78: it serves, but without the file
        raise Mismatch(f"einlass ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def result(answer):
    if "result" not in answer:
        raise Mismatch(f"einlass refuses it: {json.dumps(answer['error'], ensure_ascii=False)}")
    return answer["result"]


def configuration(value, world):
    value = filled(value)
    if "caFile" in value:
        value["caFile"] = "/etc/ssl/certs/ca-certificates.crt"
    result(call(world, "providers.list", {}, "--config", world.file("example.json", json.dumps(value))))


def providers(value, world):
    path = world.file("providers.json", json.dumps(filled(value)))
    there = [provider["id"] for provider in result(call(world, "providers.list", {}, "--providers", path))["providers"]]
    for provider in value["providers"]:
        assert provider["id"] in there


def descriptor(value, world):
    result(call(world, "providers.add", {"descriptor": filled(value)}))


def credential(value, world):
    provider = "twitter" if value["type"] == "oauth1" else "github"
    result(call(world, "accounts.add", {"provider": provider, "username": "example", "credential": filled(value)}))


def introduction(value, world):
    value = filled(value)
    value.pop("processId", None)
    result(call(world, "initialize", value))


def prompt(value, world):
    """The members are those of the protocol document for this kind, each of its type."""
    kinds = {branch["title"]: branch["properties"] for branch in SCHEMAS["Prompt"]["oneOf"]}
    if value["kind"] not in kinds:
        raise Mismatch(f"there is no prompt {value['kind']}")
    schema = kinds[value["kind"]]
    types = {str: "string", bool: "boolean", list: "array", dict: "object", int: "integer"}
    for name, member in value.items():
        if name not in schema:
            raise Mismatch(f"a prompt {value['kind']} has no {name}")
        if schema[name].get("type", types[type(member)]) != types[type(member)]:
            raise Mismatch(f"the {name} of a prompt is a {schema[name]['type']}")


def scripted(value, world):
    """A line of `--answers`."""
    path = world.file("answers", json.dumps(value) + "\n")
    result(call(world, "providers.list", {}, "--store", "memory", "--answers", path))


KINDS = [
    (lambda value: value.keys() & {"applications", "origins", "caFile", "proxy", "internalHosts", "audit"} and "client" not in value, configuration),
    (lambda value: "providers" in value, providers),
    (lambda value: "client" in value, introduction),
    (lambda value: "kind" in value and "action" in value, scripted),
    (lambda value: "kind" in value, prompt),
    (lambda value: value.get("type") in ("oauth1", "oauth2") and "clientId" in value, credential),
    (lambda value: "id" in value and "name" in value, descriptor),
]
