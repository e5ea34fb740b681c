"""The types of the protocol for Python: one class for each schema."""
import json
import keyword
import textwrap

from shapes import camel, key, members_of

HEAD = '''"""The types of the protocol. `protocol/generate` writes this file from protocol/openrpc.json.

The parameters of `accounts.list` are `AccountsListParams`, its result is `AccountsListResult`. A member may be missing
unless its class is the base of another one here, or has no base and no `total=False`.
"""

from typing import Any, Dict, List, Literal, TypedDict, Union
'''


class Types:
    """The classes in an order in which each one stands after those that it names."""

    def __init__(self, document):
        self.components = document["components"]["schemas"]
        self.named, self.lines, self.known = {}, [], {}

    def type(self, schema, name):
        """Returns the type of a schema. `name` is for a class that it needs."""
        if isinstance(schema, dict) and len(schema.get("allOf", [])) == 1:
            schema = schema["allOf"][0]
        if "$ref" in schema:
            return self.component(schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(word) for word in schema['enum'])}]"
        if "oneOf" in schema:
            branches = [self.type(branch, camel(branch["title"]) + name) for branch in schema["oneOf"]]
            return f"Union[{', '.join(branches)}]"
        kind = schema.get("type")
        if kind == "array":
            return f"List[{self.type(schema['items'], name)}]"
        if kind == "object" and "properties" in schema:
            return self.object(schema, name)
        if kind == "object":
            return f"Dict[str, {self.type(schema['additionalProperties'], name)}]"
        return {"string": "str", "integer": "int", "boolean": "bool"}.get(kind, "Any")

    def component(self, name):
        if name not in self.named:
            schema = self.components[name]
            found = self.type(schema, name)
            if "enum" in schema or "oneOf" in schema:
                self.lines += ["", f"#: {schema.get('description', name)}", *wrapped(f"{name} = ", found)]
                found = name
            elif found != name and "properties" in schema:
                self.alias(name, found)
            self.named[name] = found
        return self.named[name]

    def object(self, schema, name):
        """Writes a class, and one before it for the members that are always there, and returns its name: that of an
        earlier class with the same members, if there is one."""
        if (known := self.known.setdefault(key(schema), name)) != name:
            return known
        members = [(member, self.type(part, name + camel(member))) for member, part in schema["properties"].items()]
        assert name not in self.named and not any(keyword.iskeyword(member) for member, _ in members), name
        self.named[name] = name
        required = [pair for pair in members if pair[0] in schema.get("required", [])]
        optional = [pair for pair in members if pair not in required]
        base = "TypedDict"
        if required and optional:
            base = f"{name}Always"
            self.write(base, "TypedDict", required, "")
            required = []
        total = ", total=False" if optional else ""
        self.write(name, base + total, required or optional, schema.get("description", ""))
        return name

    def alias(self, name, found):
        """Writes a name for a type that has another one."""
        if found != name:
            self.lines += ["", "", f"{name} = {found}"]

    def write(self, name, base, members, summary):
        line = f"class {name}({base}):"
        self.lines += ["", "", *([line] if len(line) <= 120 else [f"class {name}(", f"    {base}", "):"])]
        if summary:
            self.lines += textwrap.wrap(f'"""{summary}"""', 116, initial_indent="    ", subsequent_indent="    ")
        for member, kind in members:
            self.lines += wrapped(f"    {member}: ", kind)
        if not members and not summary:
            self.lines.append("    pass")


def wrapped(start, kind):
    """Returns a definition, in several lines if it is long."""
    if len(start + kind) <= 120:
        return [start + kind]
    head, _, rest = kind.partition("[")
    indent = " " * (len(start) - len(start.lstrip()) + 4)
    words = textwrap.wrap(rest[:-1], 116 - len(indent), break_long_words=False, break_on_hyphens=False)
    return [f"{start}{head}[", *(indent + line for line in words), indent[4:] + "]"]


def module(document):
    """Returns the text of the module of all types."""
    types = Types(document)
    for name in document["components"]["schemas"]:
        types.component(name)
    for method in document["methods"]:
        name = camel(method["name"])
        whole = method.get("x-params", {})
        types.alias(f"{name}Params", types.type(whole, name) if "$ref" in whole else
                    types.object(members_of(method), f"{name}Params"))
        if "result" in method:
            types.alias(f"{name}Result", types.type(method["result"]["schema"], f"{name}Result"))
    return HEAD + "\n".join(types.lines) + "\n"
