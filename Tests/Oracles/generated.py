"""Requests made from the schemas of protocol/openrpc.json, valid ones and ones with one fault each."""
import copy
import functools
import random

import jsonschema

from session import DOCUMENT, METHODS, params_schema


def is_short(validator, limit, value, schema):
    if isinstance(value, str) and len(value.encode()) > limit:
        yield jsonschema.ValidationError(f"{len(value.encode())} bytes are more than {limit}")


VALIDATOR = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"x-maxBytes": is_short})


@functools.cache
def validator(name):
    return VALIDATOR({**params_schema(METHODS[name]), "components": DOCUMENT["components"]})


def is_valid(method, params):
    """Whether the parameters are as the document says, its `x-maxBytes` included."""
    return validator(method["name"]).is_valid(params)


def resolved(schema):
    """Returns the schema without `$ref`, and without the `allOf` around one."""
    while "$ref" in schema or "allOf" in schema:
        if "allOf" in schema:
            schema = schema["allOf"][0]
        else:
            schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


class Requests:
    """A source of requests. The same seed makes the same ones."""

    def __init__(self, seed, values):
        """`values` has possible values of members, by their names."""
        self.random, self.values = random.Random(seed), values

    def text(self, schema):
        count = self.random.choice([1, 2, 5, 20, 200])
        text = "".join(self.random.choices("abcXYZ019 -_./:?&=%äß字🙂\"\\", k=min(count, schema.get("maxLength", 1000))))
        while len(text.encode()) > schema.get("x-maxBytes", 1000):
            text = text[:-1]
        return text if text.strip() or not schema.get("minLength") else "x"

    def value(self, schema, name=""):
        """Returns a value of this schema."""
        schema = resolved(schema)
        if name in self.values and self.random.random() < 0.9:
            return copy.deepcopy(self.random.choice(self.values[name]))
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "oneOf" in schema:
            return self.value(self.random.choice(schema["oneOf"]))
        kind = schema.get("type")
        if kind == "string":
            return self.text(schema)
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "integer":
            low, high = schema["minimum"], schema["maximum"]
            return self.random.choice([low, high, self.random.randint(low, high)])
        if kind == "array":
            return [self.value(schema["items"]) for _ in range(self.random.randint(0, 3))]
        if kind == "object":
            required, members = schema.get("required", []), schema.get("properties", {})
            result = {name: self.value(member, name) for name, member in members.items()
                      if name in required or self.random.random() < 0.4}
            if isinstance(schema.get("additionalProperties"), dict):
                for _ in range(self.random.randint(0, 2)):
                    result[self.text({"minLength": 1, "x-maxBytes": 256})] = self.value(schema["additionalProperties"])
            return result
        return self.random.choice([[None], True, 7, "text", [], {}, {"id": "a", "name": "A"}])

    def valid(self, method):
        """Returns parameters that are as the document says."""
        for _ in range(1000):
            params = {param["name"]: self.value(param["schema"], param["name"]) for param in method["params"]
                      if param["required"] or self.random.random() < 0.3}
            if is_valid(method, params):
                return params
        raise AssertionError(f"the rules of {method['name']} leave nothing")

    def invalid(self, method):
        """Yields parameters with one fault each."""
        for param in method["params"]:
            valid = self.valid(method)
            for fault in self.faults(param["schema"], param["name"]):
                yield {**valid, param["name"]: fault}
            if param["required"]:
                yield {name: value for name, value in valid.items() if name != param["name"]}
        yield from self.broken_rules(method)

    def faults(self, schema, name=""):
        """Yields values that are not of this schema."""
        schema = resolved(schema)
        if "oneOf" in schema:
            yield from ({}, 7, {"type": "no such"})
            for branch in schema["oneOf"]:
                yield from self.faults(branch)
            return
        kind = schema.get("type")
        if "const" in schema or not kind:
            return
        yield from {"string": (7, True, ["x"]), "boolean": (0, "true"), "integer": ("1", 1.5, True),
                    "array": ({}, "x"), "object": ([], "x")}[kind]
        if "enum" in schema:
            yield "no such word"
        elif kind == "string":
            if schema.get("minLength"):
                yield ""
            if "pattern" in schema:
                yield "a\0b"
            if "x-maxBytes" in schema:
                yield "x" * (schema["x-maxBytes"] + 1)
                yield "ä" * (schema["x-maxBytes"] // 2 + 1)
        elif kind == "integer":
            yield from (schema["minimum"] - 1, schema["maximum"] + 1, 2**53, -2**53, 2**63, 10**30)
        elif kind == "array":
            if "maxItems" in schema:
                yield [self.value(schema["items"]) for _ in range(schema["maxItems"] + 1)]
            for fault in self.faults(schema["items"]):
                yield [fault]
        elif kind == "object":
            for member, part in schema.get("properties", {}).items():
                for fault in self.faults(part, member):
                    yield {**self.value(schema), member: fault}
                if member in schema.get("required", []):
                    value = self.value(schema)
                    del value[member]
                    yield value
            if isinstance(schema.get("additionalProperties"), dict):
                for fault in self.faults(schema["additionalProperties"]):
                    yield {"x": fault}
            if "propertyNames" in schema:
                yield {"a\u200bb": self.value(schema["additionalProperties"])}

    def broken_rules(self, method):
        """Yields parameters that are valid each by itself, and not together."""
        if "x-params" not in method:
            return
        count = 0
        for _ in range(1000):
            params = {param["name"]: self.value(param["schema"], param["name"]) for param in method["params"]
                      if param["required"] or self.random.random() < 0.4}
            if not is_valid(method, params):
                yield params
                count += 1
                if count == 12:
                    return
        raise AssertionError(f"no parameters break the rules of {method['name']}")
