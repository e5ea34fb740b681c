"""`einlassctl verify` at the sandbox: tokens by value and those of accounts, with and without conditions.

    python -m pytest Tests/Control/test_verify.py
"""
import json
import os
import subprocess
import urllib.request

import pytest

from control import EINLASS, RELEASE, run

SANDBOX = os.environ.get("EINLASS_SANDBOX", str(RELEASE / "einlass-sandbox"))
TOKENS = {"own": {"application": "demo-github", "user": "3001", "scopes": ["repo"]},
          "foreign": {"application": "another", "user": "3001", "scopes": ["repo"]}}
ANOTHER = {"another": {"secret": "s", "name": "Another", "redirects": []}}


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """Returns the options for einlassctl at a sandbox whose GitHub knows two tokens, with the account of one."""
    folder = tmp_path_factory.mktemp("verify")
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        ready = json.loads(sandbox.stdout.readline())
        state = {"github": {"tokens": TOKENS, "applications": ANOTHER},
                 "twitter": {"tokens": {"k": {"secret": "s", "application": "demo-twitter-key", "user": "1001"}}}}
        request = urllib.request.Request(ready["control"] + "/state", json.dumps(state).encode(), method="PATCH")
        urllib.request.urlopen(request, timeout=20).close()
        (folder / "config.json").touch(0o600)
        (folder / "config.json").write_text(json.dumps(ready["config"]))
        options = ["--einlass", EINLASS, "--store", str(folder / "store/a.db"), "--key-file", str(folder / "key/a.key"),
                   "--config", str(folder / "config.json")]
        ada = {"provider": "github", "username": "ada", "credential":
               {"type": "oauth2", "token": "own", "clientId": "demo-github", "scopes": ["repo"]}}
        assert run("accounts", "add", "-", *options, input=json.dumps(ada))[0] == 0
        code, _, errors = run("verify", "ada", *options)
        assert code == 1 and "einlassctl access set einlassctl github granted" in errors, errors
        assert run("access", "set", "einlassctl", "github", "granted", *options)[0] == 0
        yield options
        sandbox.terminate()


def test_the_token_of_an_account_is_valid(options):
    code, output, errors = run("verify", "github/ada", "--scope", "repo", "--id", "3001", *options)
    assert (code, errors) == (0, ""), errors
    lines = dict(line.split(maxsplit=1) for line in output.replace("client id", "client").splitlines())
    assert lines == {"account": "github/ada", "token": "valid", "person": "ada (3001)", "client": "demo-github",
                     "scopes": "repo", "passed": "active, application, expiry, identity, scopes"}
    code, output, _ = run("verify", "github", "--json", *options)
    assert code == 0 and json.loads(output)["valid"] is True


def test_the_step_of_a_missing_scope_keeps_those_of_the_account(options):
    code, _, errors = run("token", "github", "--scope", "gist", *options)
    assert code == 1 and " --scope repo --scope gist " in errors, errors


@pytest.mark.parametrize("token, provider, conditions, failed", [
    ("foreign", "github", [], "active: "), ("own", "github", ["--id", "9"], "identity: "),
    ("own", "github", ["--scope", "gist"], "scopes: "), ("own", "github", ["--client-id", "another"], "application: "),
    ("a b", "github", [], "active: "), ("a.b.c", "google", ["--id-token"], "signature: ")])
def test_a_token_by_value_is_not_valid_with_a_code_of_its_own(options, token, provider, conditions, failed):
    code, output, errors = run("verify", provider, "--token-fd", "0", *conditions, *options, input=token)
    assert (code, errors) == (2, "") and "token      not valid\n" in output, (output, errors)
    assert f"failed     {failed}" in output, output


def test_a_token_by_value_is_valid_from_a_line(options):
    code, output, errors = run("verify", "github", "--token-fd", "0", *options, input="own\n")
    assert (code, errors) == (0, "") and "token      valid\n" in output


def test_a_credential_of_oauth_1_is_a_json_object(options):
    given = json.dumps({"type": "oauth1", "key": "k", "secret": "s"})
    code, output, _ = run("verify", "twitter", "--token-fd", "0", "--json", *options, input=given)
    assert code == 0 and json.loads(output)["identity"]["id"] == "1001"
    code, _, errors = run("verify", "twitter", "--token-fd", "0", *options, input="{nope")
    assert code == 1 and "problem: The credential " in errors


@pytest.mark.parametrize("arguments, given, code, said", [
    (["nobody"], "", 1, "There is no account nobody."), (["ada", "--id-token"], "", 64, "--id-token needs --token-fd."),
    (["nope", "--token-fd", "0"], "own", 1, "(unknownProvider, "), ([], "", 64, "ACCOUNT is missing."),
    (["github", "--token-fd", "0"], "", 1, "Write the token there."),
    (["ada", "--id", ""], "", 1, "--id must be")])
def test_a_check_that_cannot_be_made_is_no_verdict(options, arguments, given, code, said):
    done = run("verify", *arguments, *options, input=given)
    assert done[0] == code and said in done[2], done

