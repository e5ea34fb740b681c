"""The types of the protocol for TypeScript: one interface for each schema."""
import json
import textwrap

from shapes import camel, members_of

HEAD = '''/**
 * The types of the protocol. `protocol/generate` writes this file from protocol/openrpc.json. The parameters of
 * `accounts.list` are `AccountsListParams`, its result is `AccountsListResult`.
 */
'''


class TypeScript:
    """The interfaces and types of the schemas. Order means nothing in TypeScript."""

    def __init__(self, components):
        self.components = components
        self.named, self.lines, self.known = set(), [], {}

    def type(self, schema, name):
        """Returns the type of a schema. `name` is for an interface that it needs."""
        if len(schema.get("allOf", [])) == 1:
            schema = schema["allOf"][0]
        if "$ref" in schema:
            return self.component(schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema:
            return json.dumps(schema["const"])
        if "enum" in schema:
            return " | ".join(map(json.dumps, schema["enum"]))
        if "oneOf" in schema:
            return " | ".join(self.type(branch, camel(branch["title"]) + name) for branch in schema["oneOf"])
        kind = schema.get("type")
        if kind == "array":
            element = self.type(schema["items"], name)
            return f"({element})[]" if " " in element else f"{element}[]"
        if kind == "object" and "properties" in schema:
            return self.interface(name, schema)
        if kind == "object":
            return f"Record<string, {self.type(schema['additionalProperties'], name)}>"
        return {"string": "string", "integer": "number", "boolean": "boolean"}.get(kind, "unknown")

    def component(self, name):
        schema = self.components[name]
        if not {"properties", "oneOf", "enum"} & set(schema):
            return self.type(schema, name)
        if name not in self.named:
            self.alias(name, self.type(schema, name))
        return name

    def alias(self, name, found):
        """Writes a name for a type that has another one."""
        if found == name:
            return
        self.named.add(name)
        self.lines += ["", *choices(f"export type {name} =", found, "")]

    def interface(self, name, schema):
        """Writes an interface and returns its name: that of an earlier one with the same members and descriptions, if
        there is one."""
        same = json.dumps([schema["properties"], schema.get("required")])
        if (known := self.known.setdefault(same, name)) != name:
            return known
        assert name not in self.named, name
        self.named.add(name)
        body = []
        for member, part in schema["properties"].items():
            mark = "" if member in schema.get("required", []) else "?"
            body += comment(part.get("description"), "  ")
            body += choices(f"  {member}{mark}:", self.type(part, name + camel(member)), "  ")
        self.lines += ["", *comment(schema.get("description"), ""), f"export interface {name} {{", *body, "}"]
        return name


def comment(text, indent):
    lines = textwrap.wrap((text or "").replace("*/", "* /"), 110 - len(indent), break_on_hyphens=False)
    if len(lines) < 2:
        return [f"{indent}/** {line} */" for line in lines]
    return [f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"]


def choices(start, found, indent):
    """Returns a definition, with one choice a line if it is long."""
    if len(start + found) <= 118:
        return [f"{start} {found};"]
    *words, last = found.split(" | ")
    return [start, *(f"{indent}  | {word}" for word in words), f"{indent}  | {last};"]


def module(document):
    """Returns the module of all types, with the maps from the name of a method to its types."""
    types = TypeScript(document["components"]["schemas"])
    for name in document["components"]["schemas"]:
        types.component(name)
    requests, notifications = [], []
    for method in document["methods"]:
        name, params = camel(method["name"]), f"{camel(method['name'])}Params"
        whole = method.get("x-params", {})
        types.alias(params, types.type(whole, name) if "$ref" in whole else types.interface(params, members_of(method)))
        if "result" in method:
            types.alias(f"{name}Result", types.type(method["result"]["schema"], f"{name}Result"))
            requests.append(f'  "{method["name"]}": {{ params: {params}; result: {name}Result }};')
        elif method["x-direction"] == "serverToClient":
            notifications.append(f'  "{method["name"]}": {params};')
    return "\n".join([
        HEAD.rstrip("\n"), *types.lines,
        "", "/** The requests of a client, by method. */", "export interface Requests {", *requests, "}",
        "", "/** The notifications of einlass, by method. */", "export interface Notifications {", *notifications, "}", ""])
