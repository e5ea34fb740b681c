"""JSON texts, strictly. The server of a case starts for each case, so this module imports little."""
from __future__ import annotations

import json


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return members


def read(message: bytes) -> object:
    """Reads JSON strictly. Raises ValueError."""
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")
    return json.loads(message.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def same(left: object, right: object) -> bool:
    """Whether two JSON values are equal. In Python, `True == 1`."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def versioned(message: object) -> object:
    """Adds the `jsonrpc` that transcripts leave out."""
    if isinstance(message, list):
        return [versioned(entry) for entry in message]
    return {"jsonrpc": "2.0", **message} if isinstance(message, dict) else message
