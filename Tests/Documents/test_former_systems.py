"""Each example of protocol/FORMER-SYSTEMS.md is one of the protocol of today, by its document.

    python -m pytest Tests/Documents/test_former_systems.py
"""
import json
import re
import shlex
import subprocess

import jsonschema
import pytest

from world import CONTROL, PROJECT

DOCUMENT = json.loads((PROJECT / "protocol/openrpc.json").read_text())
METHODS = {method["name"]: method for method in DOCUMENT["methods"]}
ERRORS = {error["code"]: error["reason"] for error in json.loads((PROJECT / "protocol/errors.json").read_text())["errors"]}
CATALOGUE = json.loads((PROJECT / "Sources/Einlass/Descriptors/providers.json").read_text())["providers"]
PROVIDERS = {name for provider in CATALOGUE for name in [provider["id"], *provider.get("aliases", [])]}
PAGE = (PROJECT / "protocol/FORMER-SYSTEMS.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.split("\n") if line.startswith("| ")][1:]


def fault(example):
    """The reason why an example is wrong; `None` if it is right."""
    if example.startswith("{"):
        error = json.loads(example)
        return None if ERRORS.get(error["code"]) == error["reason"] else "no such error"
    if example.startswith("einlassctl "):
        words = shlex.split(example)
        command = words[1:3] if words[1] == "providers" else words[1:2]
        help = subprocess.run([CONTROL, *command, "--help"], capture_output=True, text=True, timeout=20).stdout
        missing = [word for word in words if word.startswith("--") and not re.search(rf"{word}(?![\w-])", help)]
        return f"no option {missing}" if missing or not help else None
    name, _, text = example.partition(" ")
    if name not in METHODS:
        return "no such method"
    given, params = json.loads(text), {param["name"]: param for param in METHODS[name]["params"]}
    if unknown := given.keys() - params.keys():
        return f"no parameter {unknown}"
    if missing := {one for one in params if params[one].get("required")} - given.keys():
        return f"without {missing}"
    for provider in [given.get("provider"), *given.get("applications", {})]:
        if provider is not None and provider not in PROVIDERS:
            return f"no provider {provider}"
    for one, value in given.items():
        schema = {**DOCUMENT, **params[one]["schema"]}
        for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
            return error.message
        known = params[one]["schema"].get("properties")
        if known and isinstance(value, dict) and value.keys() - known.keys():
            return f"no members {value.keys() - known.keys()}"
    return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_an_example_is_one_of_today(row):
    system, _, _, example = row
    assert system in ("Einlass", "SocialAuth", "Firebase", "Sequencing.com", "FCSDK")
    assert re.fullmatch(r"`[^`]+`", example) and fault(example.strip("`")) is None, fault(example.strip("`"))


@pytest.mark.parametrize("example", [
    'auth.performs {"provider": "twitter"}', 'auth.perform {}', 'auth.perform {"provider": "orkut"}',
    'auth.perform {"provider": "twitter", "select": 1}', 'auth.perform {"provider": "twitter", "selection": "never"}',
    'accounts.signIn {"provider": "fcsdk", "server": {"host": "h", "secureSwitch": true}}',
    '{"code": 1004, "reason": "banned"}', "einlassctl verify facebook --token t"])
def test_a_wrong_example_is_found(example):
    assert fault(example)
