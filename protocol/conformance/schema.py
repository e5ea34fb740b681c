"""Values and the schemas of `openrpc.json`. The server of a case uses this module, so it imports little."""
from __future__ import annotations

import re

from messages import shortened

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
NOTES = {"default", "description", "title", "x-secret"}
#: The keywords that bound a size: the size, and whether it is the largest.
BOUNDS = {"minimum": (lambda value: value, False), "maximum": (lambda value: value, True),
          "minLength": (len, False), "maxLength": (len, True), "maxItems": (len, True),
          "x-maxBytes": (lambda value: len(value.encode("utf-8", "surrogatepass")), True)}


def inlined(schema: object, schemas: dict[str, object]) -> object:
    """Returns a schema with its references replaced by the schemas."""
    if isinstance(schema, list):
        return [inlined(element, schemas) for element in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return inlined(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    return {name: inlined(member, schemas) for name, member in schema.items()}


def violation(value: object, schema: dict[str, object] | bool, path: str) -> str | None:
    """Returns the first deviation from a schema without references, with its path, or `None`."""
    got = f"got {shortened(value)}"
    if schema is False:
        return f"{path}: unknown, {got}"
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or isinstance(value, bool) and kind != "boolean"):
        return f"{path}: expected the type {kind}, {got}"
    for keyword, bound in schema.items():
        found = None
        if keyword in BOUNDS:
            size, is_largest = BOUNDS[keyword]
            found = f"{keyword} is {bound}" if (size(value) > bound if is_largest else size(value) < bound) else None
        elif keyword == "enum":
            found = None if value in bound else f"expected one of {', '.join(bound)}"
        elif keyword == "pattern":
            found = None if re.search(rf"(?:{bound})\Z", value) else "the text has a character that is not allowed"
        elif keyword in ("properties", "required", "additionalProperties", "propertyNames", "items", "allOf"):
            if inner := inner_violation(value, schema, keyword, path):
                return inner
        elif keyword != "type" and keyword not in NOTES:
            raise ValueError(f"the kit knows no keyword {keyword}")
        if found:
            return f"{path}: {found}, {got}"
    return None


def inner_violation(value: object, schema: dict[str, object], keyword: str, path: str) -> str | None:
    """Returns the first deviation from a keyword with schemas of members, elements or parts."""
    inner = schema[keyword]
    if keyword == "required":
        return next((f"{path}/{name}: missing" for name in inner if name not in value), None)
    if keyword == "allOf":
        parts = [(value, part, path) for part in inner]
    elif keyword == "items":
        parts = [(element, inner, f"{path}/{index}") for index, element in enumerate(value)]
    elif keyword == "properties":
        parts = [(value[name], inner[name], f"{path}/{name}") for name in inner if name in value]
    elif keyword == "propertyNames":
        parts = [(name, inner, f"{path}/{name}") for name in value]
    else:
        known = schema.get("properties", {})
        parts = [(value[name], inner, f"{path}/{name}") for name in value if name not in known]
    return next(filter(None, (violation(*part) for part in parts)), None)
