"""The committed types are those of the protocol document, and describe its examples."""

import json
import sys
import typing
from pathlib import Path

import pytest

from einlass import protocol_types

PROJECT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "protocol/generator"))

import python_types  # noqa: E402
from shapes import camel  # noqa: E402

DOCUMENT = json.loads((PROJECT / "protocol/openrpc.json").read_text())


def test_another_document_has_other_types():
    document = json.loads(json.dumps(DOCUMENT))
    document["components"]["schemas"]["Account"]["properties"]["colour"] = {"type": "string"}
    assert python_types.module(document) != Path(protocol_types.__file__).read_text()


@pytest.mark.parametrize("method", DOCUMENT["methods"], ids=lambda method: method["name"])
def test_the_types_have_the_members_of_the_examples(method):
    name = camel(method["name"])
    params = getattr(protocol_types, f"{name}Params")
    kinds = typing.get_args(params) or [params]  # a union for prompt.opened
    assert {param["name"] for param in method["params"]} == {
        member for kind in kinds for member in typing.get_type_hints(kind)}
    result = getattr(protocol_types, f"{name}Result", None)
    assert (result is None) == ("result" not in method)
    if hasattr(result, "__required_keys__"):
        for example in method.get("examples", []):
            assert result.__required_keys__ <= set(example["result"]["value"]) <= set(typing.get_type_hints(result))
