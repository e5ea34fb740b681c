"""JSON texts, strictly. The server of a case starts for each case, so this module imports little."""
from __future__ import annotations

import json
import re


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("has a name twice in an object")
    return members


def read(message: bytes) -> object:
    """Reads JSON strictly. Raises ValueError, with a text that goes on after “a line that”."""
    def refuse(constant):
        raise ValueError(f"is not JSON: it has {constant}")
    try:
        return json.loads(message.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON at character {error.pos}") from None
    except RecursionError:
        raise ValueError("has too many levels") from None


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shortened(value: object, length: int = 300) -> str:
    """Returns the JSON text of a value, or its beginning."""
    whole = text(value)
    return whole if len(whole) <= length else whole[:length] + "…"


def quoted(data: bytes) -> str:
    """Returns the beginning of bytes that may be no text."""
    return data[:200].decode("utf-8", "backslashreplace") + ("…" if len(data) > 200 else "") or "nothing"


def printable(message: str) -> str:
    """Escapes the characters that a terminal obeys or takes for the end of a line, and those that UTF-8 has not."""
    escaped = "[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
    return re.sub(escaped, lambda found: f"\\u{ord(found[0]):04x}", message)


def same(left: object, right: object) -> bool:
    """Whether two JSON values are equal. In Python, `True == 1`."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def difference(expected: object, actual: object, path: str = "", more: bool = False) -> str | None:
    """Returns the first difference with its path, or `None`. With `more`, the objects of `actual` may have further
    members."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name, value in expected.items():
            if name not in actual:
                return f"{path}/{name}: missing, expected {shortened(value)}"
            if found := difference(value, actual[name], f"{path}/{name}", more):
                return found
        further = [] if more else [name for name in actual if name not in expected]
        return f"{path}/{further[0]}: not expected: {shortened(actual[further[0]])}" if further else None
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} elements, got {len(actual)}: {shortened(actual)}"
        pairs = enumerate(zip(expected, actual))
        return next(filter(None, (difference(*pair, f"{path}/{index}", more) for index, pair in pairs)), None)
    if same(expected, actual):
        return None
    if isinstance(expected, str) and isinstance(actual, str) and max(len(expected), len(actual)) > 100:
        length = min(len(expected), len(actual))
        start = next((index for index in range(length) if expected[index] != actual[index]), length)
        return (f"{path}: from character {start} expected {text(expected[start:start + 40])}, "
                f"got {text(actual[start:start + 40])}")
    return f"{path or '/'}: expected {shortened(expected)}, got {shortened(actual)}"


def versioned(message: object) -> object:
    """Adds the `jsonrpc` that transcripts leave out."""
    if isinstance(message, list):
        return [versioned(entry) for entry in message]
    return {"jsonrpc": "2.0", **message} if isinstance(message, dict) else message
