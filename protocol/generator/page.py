"""The page `methods.md`: every method, object, prompt, notification, error and limit."""
import json
import re

HEAD = """# The methods of einlass, protocol version 1

`protocol/generate` writes this page from `openrpc.json`, `errors.json` and the transcripts, so nobody edits it.
[README.md](README.md) has the rules that hold for all methods, [START.md](START.md) the first steps.

- A `?` marks a parameter or a member that may be missing. A dotted name is a member of an object, `[]` an element of a
  list, and `*` any name.
- An example is a line of a [transcript](README.md#transcripts): `->` has the parameters, `<-` the result. `…` stands for
  text. The document of `rpc.discover` and `--dump-protocol` has no examples.
- The reasons of a method are its own. Each method can also fail with those of the protocol, which have negative numbers.

"""
#: The schemas that are texts, and those that only errors have.
TEXTS = ("Identifier", "Name", "Path")
OF_ERRORS = ("Error", "Problem", "NeededPrompt")


def page(document, errors):
    """Returns the text of the page."""
    schemas, methods = document["components"]["schemas"], document["methods"]
    marked = marker(methods)
    requests = [method for method in methods if method["x-direction"] == "clientToServer"]
    notifications = [method for method in methods if method["x-direction"] == "serverToClient"]
    prompts = next(method for method in notifications if method["name"] == "prompt.opened")
    parts = [HEAD, summary(requests, marked)]
    parts += [section(method, schemas, marked) for method in requests]
    parts += ["## Objects\n\n", *(component(name, schemas, prompts, marked) for name in sorted(schemas)
                                  if name not in OF_ERRORS)]
    parts += ["## Prompts\n\n", kinds(schemas["Prompt"])]
    parts += ["## Notifications\n\n", *(section(method, schemas, marked) for method in notifications)]
    parts += ["## Errors\n\n", table_of_errors(errors)]
    parts += [component(name, schemas, prompts, marked) for name in OF_ERRORS]
    parts += ["## Limits\n\n", limits(requests, marked)]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip("\n") + "\n"


def marker(methods):
    """Returns a function that marks the names of methods and the names with two words as code."""
    names = "|".join(re.escape(method["name"]) for method in sorted(methods, key=lambda one: -len(one["name"])))
    pattern = re.compile(rf"(?<![\w`/.-])((?:{names})(?!\w|\.\w)|--[a-z][a-z-]+|[a-z]+[A-Z]\w*\b)(?!`)")
    return lambda text: "".join(part if index % 2 else pattern.sub(r"`\1`", part)
                                for index, part in enumerate(re.split(r"(`[^`]*`)", text)))


def anchor(name):
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


def table(head, rows):
    lines = [" | ".join(row) for row in [head, ["---"] * len(head), *rows]]
    return "".join(f"| {line} |\n" for line in lines).replace("| --- |", "|---|").replace(" --- |", "---|") + "\n" \
        if rows else ""


def summary(methods, marked):
    return "## Methods\n\n" + table(["Method", "Class", "Purpose"], [
        [f"[`{method['name']}`](#{anchor(method['name'])})", method["x-class"], marked(method["summary"])]
        for method in methods])


def section(method, schemas, marked):
    """Returns the part about a method or a notification."""
    name, params = method["name"], {
        "properties": {param["name"]: {**param["schema"], "description": param["summary"],
                                       **({"x-secret": True} if param.get("x-secret") else {})}
                       for param in method["params"]},
        "required": [param["name"] for param in method["params"] if param["required"]]}
    text = [f"### `{name}`\n\n{marked(method['summary'])}\n\n"]
    if "x-class" in method:
        traits = [method["x-class"], *([] if method["x-batchable"] else ["not in a batch"]),
                  *(["only with `--test`"] if "x-testMode" in method else []),
                  *(["unknown parameters are refused"] if "x-closed" in method else [])]
        text.append(f"Class: {', '.join(traits)}.\n\n")
    if name == "prompt.opened":
        text.append("The parameters are a [Prompt](#prompt).\n\n")
    else:
        text.append(table(["Parameter", "Type", "Meaning"], list(rows(params, marked))) or "No parameters.\n\n")
    if "result" in method:
        result = method["result"]["schema"]
        text.append(table(["Result", "Type", "Meaning"], list(rows(result, marked))) or
                    (f"Result: {kind(result)}.\n\n" if "$ref" in result else "Result: `{}`.\n\n"))
    text += [f"{method['description']}\n\n"] if "description" in method else []
    if method.get("x-reasons"):
        reasons = ", ".join(f"`{reason}`" for reason in method["x-reasons"])
        text.append(f"Reasons: {reasons}.\n\n")
    for example in method.get("examples", []):
        text.append(f"```jsonl\n{conversation(example)}```\n\n")
    return "".join(text)


def rows(schema, marked, before=""):
    """Yields the rows of the members of an object, and of the objects within it."""
    for branch in schema.get("oneOf", []):
        tag = next(name for name, part in branch["properties"].items() if "const" in part)
        yield [f"`{before}{tag}`", "string", f"`{branch['title']}`"]
        yield from rows({**branch, "properties": {name: part for name, part in branch["properties"].items()
                                                  if name != tag}}, marked, before)
    for name, part in schema.get("properties", {}).items():
        mark = "" if name in schema.get("required", []) else "?"
        yield [f"`{before}{name}{mark}`", kind(part), marked(part.get("description", "")).replace("|", "\\|")]
        inner, path = part, f"{before}{name}"
        while inner.get("type") == "array" or isinstance(inner.get("additionalProperties"), dict):
            is_list = inner.get("type") == "array"
            inner, path = (inner["items"], f"{path}[]") if is_list else (inner["additionalProperties"], f"{path}.*")
        yield from rows(inner, marked, f"{path}.")


def kind(schema):
    """Returns the type of a value in words."""
    if len(schema.get("allOf", [])) == 1:
        return kind({**schema, **schema["allOf"][0], "allOf": []})
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{anchor(name)}){ending(schema)}"
    if "oneOf" in schema:
        return "object" + ending(schema)
    if "enum" in schema and "invalidParams" in schema["enum"]:
        return "a reason of the [errors](#errors)"
    if "enum" in schema:
        words = [f"`{word}`" for word in schema["enum"]]
        return (", ".join(words[:-1]) + " or " if words[:-1] else "") + words[-1] + ending(schema)
    if schema.get("type") == "array":
        most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
        return f"list of {kind(schema['items'])}{most}{ending(schema)}"
    words = schema.get("type", "any")
    if words == "integer" and abs(schema["maximum"]) < 2**53 - 1 and schema["maximum"] != 253402300799:
        words += f" {schema['minimum']}–{schema['maximum']}"
    if words == "integer" and schema["maximum"] == 253402300799:
        words = "time"
    if "x-maxBytes" in schema:
        words += f" of at most {schema['x-maxBytes']} bytes"
    return words + ending(schema)


def ending(schema):
    default = json.dumps(schema.get("default"))
    shown = "" if default in ("null", "{}", "[]", "0", "253402300799") else f", default `{default}`".replace('"', "")
    return shown + (", secret" if schema.get("x-secret") else "")


def component(name, schemas, prompts, marked):
    """Returns the part about a schema that others refer to."""
    schema, text = schemas[name], f"### {name}\n\n"
    if name in TEXTS:
        return f"{text}{marked(schema['description'])} It has at most {schema['x-maxBytes']} bytes.\n\n"
    if name == "Prompt":
        schema = {"properties": {param["name"]: {**param["schema"], "description": param["summary"]}
                                 for param in prompts["params"]},
                  "required": [param["name"] for param in prompts["params"] if param["required"]]}
    if schema.get("additionalProperties") is False:
        text += "Unknown members are refused.\n\n"
    return text + table(["Member", "Type", "Meaning"], list(rows(schema, marked)))


def kinds(prompt):
    """Returns the table of the kinds of prompt, with the members that not all of them have."""
    branches = prompt["oneOf"]
    common = set.intersection(*(set(branch["properties"]) for branch in branches))
    return "Each kind has these members besides those that all have.\n\n" + table(["Kind", "Members"], [
        [f"`{branch['title']}`", ", ".join(f"`{name}{'' if name in branch['required'] else '?'}`"
                                           for name in branch["properties"] if name not in common) or "–"]
        for branch in branches])


def table_of_errors(errors):
    return table(["Number", "Reason", "Retryable", "Meaning", "Next step", "Data"], [
        [str(error["code"]), f"`{error['reason']}`", "yes" if error["retryable"] else "no", error["summary"],
         "; ".join(step["label"] for step in error["next"]) or "none, because it has ended",
         ", ".join(f"`{name}`{details(error) if name == 'detail' else ''}" for name in error.get("data", []))]
        for error in errors])


def details(error):
    """Returns the values of `detail` that the reason always has."""
    values = ", ".join(f"`{value}`" for value in error.get("details", []))
    return f" ({values})" if values else ""


def limits(requests, marked):
    """Returns the limits with their values in the example of `initialize`."""
    initialize = next(method for method in requests if method["name"] == "initialize")
    values = initialize["examples"][0]["result"]["value"]["limits"]
    members = initialize["result"]["schema"]["properties"]["limits"]["properties"]
    return table(["Limit", "Value", "Meaning"], [
        [f"`{name}`", str(values[name]), marked(member["description"])] for name, member in members.items()])


def conversation(example):
    """Returns the parameters and the result of an example, broken between members."""
    lines = [("-> ", {param["name"]: param["value"] for param in example["params"]})]
    lines += [("<- ", example["result"]["value"])] if "result" in example else []
    return "".join(broken(mark + json.dumps(value, ensure_ascii=False)) for mark, value in lines)


def broken(line):
    """Returns a line in several ones of at most 118 columns, where members and elements allow it."""
    found, current = [], ""
    for part in re.split(r'(?<=, )(?=["{\[])', line):
        if current and len(current) + len(part.rstrip()) > 118:
            found.append(current.rstrip())
            current = "   "
        current += part
    return "\n".join([*found, current]) + "\n"
