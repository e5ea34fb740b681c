"""A `json` block: each of its objects is a file or a parameter of einlass, and einlass takes it.

`…` in a string, or alone, stands for some text; a bare `…` in an object for members that are not shown.
"""
import json
import subprocess

import jsonschema

from matching import ANY, MORE, Mismatch
from world import EINLASS, PROJECT


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


def introduction(value, world):
    value = filled(value)
    value.pop("processId", None)
    result(call(world, "initialize", value))


def scripted(value, world):
    """A line of `--answers`."""
    path = world.file("answers", json.dumps(value) + "\n")
    result(call(world, "providers.list", {}, "--store", "memory", "--answers", path))


def form(value, world):
    """`show` of a prompt: einlass sends it, so the document says what it may be."""
    document = json.loads((PROJECT / "protocol/openrpc.json").read_text())
    schema = {"$ref": "#/components/schemas/PromptForm", "unevaluatedProperties": False}
    try:
        jsonschema.Draft202012Validator({**document, **schema}).validate(filled(value))
    except jsonschema.ValidationError as error:
        raise Mismatch(f"a prompt does not show it: {error.message}") from error


KINDS = [
    (lambda value: "title" in value and "buttons" in value, form),
    (lambda value: value.keys() & {"applications", "origins", "caFile", "proxy", "internalHosts", "audit"} and "client" not in value, configuration),
    (lambda value: "providers" in value, providers),
    (lambda value: "client" in value, introduction),
    (lambda value: "kind" in value and "action" in value, scripted),
]
