"""The layout of `openrpc.json`, as `einlass --dump-protocol` prints it."""
import json


def pretty(value):
    """Returns the value as JSON for people: ASCII, and in several lines where one would be longer than 100 columns."""
    return broken(value, 0, "") + "\n"


def broken(value, before, indentation):
    line = json.dumps(value)
    if len(indentation) + before + len(line) <= 100 or not isinstance(value, (dict, list)) or not value:
        return line
    inner = indentation + "  "
    if isinstance(value, list):
        parts, (left, right) = [inner + broken(element, 1, inner) for element in value], "[]"
    else:
        names = {name: json.dumps(name) + ": " for name in value}
        parts, (left, right) = [inner + names[name] + broken(member, len(names[name]) + 1, inner)
                                for name, member in value.items()], "{}"
    return left + "\n" + ",\n".join(parts) + "\n" + indentation + right
