"""Names of types, and the identity of a schema."""
import json
import re


def camel(name):
    """accounts.list -> AccountsList"""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def key(schema):
    """Returns a text that only the same members with the same types have; their descriptions do not count."""
    def bare(value):
        if isinstance(value, dict):
            return {name: {member: bare(part) for member, part in value[name].items()} if name == "properties" else
                    bare(value[name]) for name in value if name not in ("description", "default", "x-secret")}
        return [bare(part) for part in value] if isinstance(value, list) else value
    return json.dumps(bare(schema))


def members_of(method):
    """Returns the schema of the params of a method."""
    return {"description": method["summary"],
            "properties": {param["name"]: {**param["schema"], "description": param["summary"]}
                           for param in method["params"]},
            "required": [param["name"] for param in method["params"] if param["required"]]}
