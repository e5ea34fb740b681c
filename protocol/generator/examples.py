"""The examples of the document: messages of the transcripts, in lines marked with `"example": true`."""
import re

from schema import inlined
from transcripts import outs

#: The value of a time in an example.
TIME = 1790000000
#: The largest time of the protocol, by which a member is known for a time.
LAST_TIME = 253402300799
#: The members that hold an id of einlass, with the letter that begins it.
IDS = {"account": "a_…", "accounts": "a_…", "flow": "f_…", "flows": "f_…", "prompt": "p_…", "user": "u_…",
       "pendingCredential": "c_…"}


def without_examples(document):
    return {**document, "methods": [{name: value for name, value in method.items() if name != "examples"}
                                    for method in document["methods"]]}


def with_examples(document, transcripts):
    """Returns the document with the examples of these transcripts."""
    found = {}
    for name, params, result in (message for transcript in transcripts for message in marked(transcript)):
        if name in found:
            raise ValueError(f"two lines are examples of {name}")
        found[name] = params, result
    schemas = document["components"]["schemas"]
    methods = [{**method, "examples": [pairing(method, *found[method["name"]], schemas)]}
               if method["name"] in found else method for method in document["methods"]]
    return {**document, "methods": methods}


def marked(transcript):
    """Yields the name, the params and the result of each message in a marked line."""
    results = {repr(message["id"]): message["result"] for step in transcript.steps for message in outs(step)
               if isinstance(message, dict) and "result" in message}
    for step in transcript.steps:
        if not step.get("example"):
            continue
        if "clock" in step:
            yield "test.advanceClock", {"seconds": step["clock"]}, {}
        for message in [step["in"]] if "in" in step else outs(step):
            if "method" in message:
                yield message["method"], message.get("params", {}), results.get(repr(message.get("id")))


def pairing(method, params, result, schemas):
    """Returns the pairing of OpenRPC, with values in place of the placeholders."""
    kinds = {param["name"]: inlined(param["schema"], schemas) for param in method["params"]}
    example = {"name": method["name"], "params": [
        {"name": name, "value": filled(value, kinds.get(name, {}), name)} for name, value in params.items()]}
    if "result" in method:
        schema = inlined(method["result"]["schema"], schemas)
        example["result"] = {"name": "result", "value": filled(result, schema, "result")}
    return example


def filled(value, schema, name):
    """Returns a value of a transcript with values of the schema in place of its placeholders."""
    schema = whole(schema, value)
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        rest = schema.get("additionalProperties") or {}
        return {member: filled(part, inner.get(member, rest), member) for member, part in value.items()}
    if isinstance(value, list):
        return [filled(part, schema.get("items", {}), name) for part in value]
    if isinstance(value, str) and re.fullmatch(r"\$(any|string|capture:.*|ref:(?!at:|folder)[^/]*)", value):
        return made(schema, name)
    return elided(value) if isinstance(value, str) else value


def elided(text):
    """Returns a text with addresses and paths in place of those of a test."""
    text = re.sub(r"\$ref:at:(\w+)", r"https://\1.example.com", text)
    return re.sub(r"\$ref:\w+", "…", text.replace("$ref:folder", "/home/ada"))


def whole(schema, value=None):
    """Returns the branch of a schema that a value belongs to, the first one without a value."""
    if len(schema.get("allOf", [])) == 1:
        schema = schema["allOf"][0]
    for branch in schema.get("oneOf", []):
        if not isinstance(value, dict) or branch["title"] in (value.get("type"), value.get("kind")):
            return branch
    return schema


def made(schema, name):
    """Returns a value of the schema for the member of this name."""
    schema = whole(schema)
    if "const" in schema or "enum" in schema:
        return schema.get("const") or schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        members = schema.get("properties", {})
        return {member: made(members[member], member) for member in schema.get("required", [])}
    if kind == "array":
        return [made(schema["items"], name)]
    if kind == "integer":
        return TIME if schema["maximum"] == LAST_TIME else max(schema["minimum"], 1)
    return True if kind == "boolean" else IDS.get(name, "…")
