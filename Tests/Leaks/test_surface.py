"""The protocol document has no member for a secret besides the permitted ones, and the command line has no option
that shows secrets."""
import copy
import json
import re
import subprocess

import pytest

from session import EINLASS, PATIENCE, PERMITTED, PERMITTED_IN_ERRORS, PROJECT

ERROR = "#/components/schemas/Error"
DOCUMENT = json.loads((PROJECT / "protocol/openrpc.json").read_text())
SECRET = re.compile(r"secret|token|password|passphrase|(^|[a-z])key$|^key|cookie|session|verifier|assertion|authorization"
                    r"|private|signature|^code$|redirectURL", re.IGNORECASE)
# Names that look like secrets and are not: `endSessionURL` contains only the client id, and `idTokenOf` is one of two
# words.
HARMLESS = {"tokenType", "tokenDigest", "idTokenOf", "publicKey", "formerPublicKey", "trustedPublicKey", "endSessionURL"}


def places(document, schema, path=()):
    """Yields the paths of members that could contain a secret: marked ones, and those with a secret's name."""
    if schema.get("$ref") == ERROR:
        return
    if "$ref" in schema:
        target = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from places(document, target, path)
    for name, member in schema.get("properties", {}).items():
        is_text = member.get("type") not in ("boolean", "integer")
        if is_text and (member.get("x-secret") or (SECRET.search(name) and name not in HARMLESS)):
            yield path + (name,)
        yield from places(document, member, path + (name,))
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            yield from places(document, schema[part], path)
    for part in ("oneOf", "anyOf", "allOf"):
        for choice in schema.get(part, []):
            yield from places(document, choice, path)


def surface(document):
    """Returns these paths for the results of methods and the parameters of notifications to the client."""
    found = {}
    for method in document["methods"]:
        schemas = [method["result"]["schema"]] if "result" in method else []
        if method["x-direction"] != "clientToServer":
            schemas.append({"properties": {param["name"]: param["schema"] for param in method["params"]}})
        if secrets := {place for schema in schemas for place in places(document, schema)}:
            found[method["name"]] = secrets
    return found


def test_only_the_permitted_fields_can_hold_a_secret():
    # These share the schema of `auth.perform`, and give no refresh token.
    shared = dict.fromkeys(("credentials.get", "users.signIn", "users.link", "users.reauthenticate"), PERMITTED["auth.perform"])
    # `code` of the form of a prompt is its `userCode`, which the person reads on the screen.
    shown = {"prompt.opened": {("show", "code")}, "prompt.list": {("prompts", "show", "code")}}
    assert surface(DOCUMENT) == PERMITTED | shared | shown


def test_only_the_permitted_fields_of_an_error_can_hold_a_secret():
    # `code` of `serverError` is the provider's word for the error.
    found = set(places(DOCUMENT, DOCUMENT["components"]["schemas"]["Error"])) - {("data", "serverError", "code")}
    assert found == {("data", name) for name, *rest in PERMITTED_IN_ERRORS if not rest}


@pytest.mark.parametrize("name, marked", [("refreshToken", False), ("note", True), ("clientSecret", False)])
def test_an_added_secret_member_is_noticed(name, marked):
    document = copy.deepcopy(DOCUMENT)
    document["components"]["schemas"]["Account"]["properties"][name] = {
        "type": "string", **({"x-secret": True} if marked else {})}
    more = surface(document)
    assert more["accounts.list"] == {("accounts", name)}
    assert more["prompt.opened"] == {("accounts", name), ("show", "code")}


def test_no_option_shows_secrets():
    text = subprocess.run([EINLASS, "--help"], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    options = set(re.findall(r"--[a-z-]+", text))
    assert {"--trace", "--log-level"} <= options
    assert not [option for option in options if re.search("secret|show|reveal|unsafe|insecure|plain", option)]
