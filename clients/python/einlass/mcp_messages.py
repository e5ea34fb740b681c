"""The parts of pydantic by which the package mcp reads and writes messages: `mcp_parts` loads them in its place.

The messages are four objects of JSON-RPC. For them pydantic would take a fifth of the memory of a bridge.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, get_args


class ValidationError(ValueError):
    """A text is no message."""


def Field(**_: Any) -> None:
    """Its constraints are in FITS."""


def is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


#: By annotation: whether a value fits.
FITS: Dict[str, Callable[[Any], bool]] = {
    "Any": lambda value: True,
    "Literal['2.0']": lambda value: bool(value == "2.0"),
    "RequestId": is_id,
    "RequestId | None": lambda value: value is None or is_id(value),
    "dict[str, Any]": lambda value: isinstance(value, dict),
    "dict[str, Any] | None": lambda value: value is None or isinstance(value, dict),
    "int": lambda value: isinstance(value, int),
    "str": lambda value: isinstance(value, str),
}


class BaseModel:
    """An object with the members that its class annotates. Its attributes are those that it was made with."""

    def __init_subclass__(cls) -> None:
        if unknown := set(cls.__annotations__.values()) - FITS.keys():  # of another version of mcp
            raise TypeError(f"{cls.__name__} has members of {', '.join(unknown)}")
        FITS[cls.__name__] = lambda value: cls.of(value) is not None

    def __init__(self, **members: Any) -> None:
        vars(self).update(members)

    @classmethod
    def of(cls, members: Any) -> Optional[BaseModel]:
        """Returns the object with these members, without unknown ones; None if they do not fit."""
        kinds: Dict[str, str] = cls.__annotations__
        if not isinstance(members, dict) or not all(
                FITS[kind](members[name]) if name in members else hasattr(cls, name) for name, kind in kinds.items()):
            return None
        return cls(**{name: members[name] for name in kinds if name in members})

    def model_dump(self, **_: Any) -> Dict[str, Any]:
        return {name: vars(value) if isinstance(value, BaseModel) else value for name, value in vars(self).items()}

    def model_dump_json(self, **_: Any) -> str:
        return json.dumps(self.model_dump(), ensure_ascii=False, separators=(",", ":"))


class TypeAdapter:
    """Reads a text as one of several objects."""

    def __init__(self, union: Any) -> None:
        self.models = get_args(union)

    def validate_json(self, text: Any, **_: Any) -> BaseModel:
        try:
            message = json.loads(text, parse_constant=lambda _: None)
            json.dumps(message, ensure_ascii=False, allow_nan=False).encode()  # it will be written
        except (ValueError, RecursionError) as error:
            raise ValidationError(str(error)) from None
        found: List[BaseModel] = [made for model in self.models if (made := model.of(message))]
        if not found:
            raise ValidationError("It is no message of JSON-RPC.")
        return max(found, key=lambda made: ("error" in vars(made), len(vars(made))))  # the first of the fullest
