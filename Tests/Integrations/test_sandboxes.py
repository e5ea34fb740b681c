"""The recipes of clients/SANDBOXES.md, each with a stand-in for its program, and tokens that end soon.

    python -m pytest Tests/Integrations/test_sandboxes.py

The stand-ins follow the documentation of docker sandboxes (sbx secret set), nono (credential_capture), fnox (command leases),
Claude Code (headersHelper, sandbox.credentials), the AWS CLI (credential_process) and rclone (bearer_token_command).
"""
import concurrent.futures
import json
import os
import re
import shlex
import signal
import time
import tomllib
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

import pytest

from house import PROJECT, needs
from recipes import filled

PAGE = (PROJECT / "clients/SANDBOXES.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
#: Rounds of tokens that end: 12 are two hours of ten minutes.
ROUNDS = int(os.environ.get("EINLASS_TOKEN_ROUNDS", "2"))


def blocks(program, *replaced):
    """The blocks of a program, with gitlab in place of the provider of the page."""
    found = re.findall(r"^```\w*\n(.*?)^```$", SECTIONS[program], re.MULTILINE | re.DOTALL)
    return [re.sub(r"^[$>] ", "", filled(text, [pair for pair in replaced if pair[0] in text]), flags=re.MULTILINE)
            for text in found]


def install(house, name, script):
    path = house.folder / "bin" / name
    path.write_text(script)
    path.chmod(0o700)
    return path


def works(house, token):
    """Whether the provider takes the token."""
    request = urllib.request.Request(house.origin("gitlab") + "/api/v4/user", headers={"Authorization": "Bearer " + token})
    try:
        urllib.request.urlopen(request).close()
    except urllib.error.HTTPError as error:
        assert error.code == 401
        return False
    return True


def seconds_left(house, token):
    return house.state()["gitlab"]["tokens"][token]["expiresAt"] - time.time()


def refreshes(house):
    return sum(entry["form"]["grant_type"] == "refresh_token" for entry in house.log("gitlab", "POST", "/oauth/token"))


GITLAB = ("github", "gitlab")


def test_docker_caches_the_token_for_less_than_its_life(signed_in):
    (line,) = blocks("Docker sandboxes", GITLAB)
    sbx, secret, set_, name, option, command = shlex.split(line)
    assert (sbx, secret, set_, name, option) == ("sbx", "secret", "set", "gitlab", "--command")
    for seconds, is_kept in (3300, False), (3460, True):  # the cache ends after 55 minutes
        signed_in.change({"gitlab": {"behaviour": {"accessSeconds": seconds}}})
        token = signed_in.do("token", "gitlab", "--refresh")
        signed_in.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
        code, output, errors = signed_in.run("sh", "-c", command)
        assert code == 0 and errors == "", errors
        assert seconds_left(signed_in, output.strip()) >= 3300 and (output == token) == is_kept


def test_nono_captures_a_token_and_headers(signed_in):
    (profile,) = map(json.loads, blocks("nono", GITLAB))
    route = profile["network"]["custom_credentials"][profile["network"]["credentials"][0]]
    capture = profile["credential_capture"][route["credential_key"].removeprefix("cmd://")]
    request = {"NONO_REQUEST_HOST": "api.gitlab.com", "NONO_REQUEST_PATH": "/user", "NONO_REQUEST_METHOD": "GET"}
    code, output, errors = signed_in.run(*capture["command"], env=request, patience=capture["timeout_secs"])
    assert code == 0 and errors == "", errors
    assert works(signed_in, output.rstrip("\n")) and seconds_left(signed_in, output.strip()) > capture["cache_ttl_secs"]
    nested, options = re.findall(r"`([^`]*)`", SECTIONS["nono"].replace("\n", " "))[-2:]
    command = json.loads(filled(nested, [("https://photos.example.com", "gitlab")]))
    signed_in.allow("mcp", "gitlab")
    output = json.loads(signed_in.run(*command)[1])
    allowed = json.loads("{" + options + "}")["output"]["allow_headers"]
    assert output["headers"] == {"Authorization": "Bearer " + signed_in.do("token", "gitlab").strip()}
    assert set(output["headers"]) <= set(allowed)
    assert datetime.fromisoformat(output["expires_at"].replace("Z", "+00:00")).timestamp() == output["expiresAt"]


def test_fnox_gets_a_lease_that_ends_with_the_token(signed_in):
    lease = tomllib.loads(*blocks("fnox", GITLAB))["leases"]["gitlab"]
    assert lease["type"] == "command" and lease["duration"] == "30m"
    code, output, errors = signed_in.run("sh", "-c", lease["create_command"],
                                         env={"FNOX_LEASE_DURATION": "1800", "FNOX_LEASE_LABEL": "fnox-lease"})
    assert code == 0 and errors == "", errors
    made = json.loads(output)
    (token,) = made["credentials"].values()
    end = datetime.fromisoformat(made["expires_at"].replace("Z", "+00:00"))
    assert works(signed_in, token) and (end - datetime.now(timezone.utc)).total_seconds() > 1800


def test_claude_code_gets_headers_and_a_variable_that_its_proxy_replaces(signed_in):
    servers, settings, start = blocks("Claude Code", GITLAB)
    (server,) = json.loads(servers)["mcpServers"].values()
    helper = filled(server["headersHelper"], [(server["url"], "gitlab")])
    signed_in.allow("mcp", "gitlab")
    headers = json.loads(signed_in.run("sh", "-c", helper)[1])
    assert all(isinstance(value, str) for value in headers.values()) and works(signed_in, headers["Authorization"].split()[1])
    (variable,) = json.loads(settings)["sandbox"]["credentials"]["envVars"]
    assert variable["mode"] == "mask" and variable["injectHosts"]
    install(signed_in, "claude", f'#!/bin/sh\nprintf %s "${variable["name"]}"\n')
    code, token, errors = signed_in.run("sh", "-c", filled(start, [("2h", "1h")]))
    assert code == 0 and works(signed_in, token), errors


@needs("socat", "git")
def test_git_gets_its_token_over_a_socket(signed_in, tmp_path):
    open_it, configure = blocks("git over a socket")
    signed_in.allow("git", "gitlab")
    runtime = Path("/tmp") / f"einlass-{os.getpid()}-{tmp_path.name[-8:]}"
    runtime.mkdir(0o700)
    signed_in.environment["XDG_RUNTIME_DIR"] = str(runtime)
    shell = signed_in.start("bash", "-c", open_it + "\nwait")
    try:
        path = runtime / "einlass-git/socket"
        deadline = time.monotonic() + 30
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        inside = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}  # without einlass
        code, _, errors = signed_in.run("sh", "-c", filled(configure, [("/run/einlass-git/socket", str(path))]), env=inside)
        assert code == 0, errors
        host = signed_in.origin("gitlab").removeprefix("http://")
        code, output, errors = signed_in.run("git", "credential", "fill", input=f"protocol=http\nhost={host}\n\n", env=inside)
        assert code == 0 and works(signed_in, re.search("^password=(.*)$", output, re.MULTILINE)[1]), errors
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()
        for left in (path, path.parent):
            left.unlink() if left.is_socket() else left.rmdir()
        runtime.rmdir()


@needs("jq")
def test_aws_gets_its_keys_for_the_id_token(house):
    house.sign_in("google")
    (script,) = blocks("AWS", ("example/ada", "google"))
    install(house, "einlass-aws", script)
    answer = {"Credentials": {"AccessKeyId": "AK", "SecretAccessKey": "SK", "SessionToken": "ST", "Expiration": "2026-11-29T18:00:00Z"}}
    install(house, "aws", f"""#!/usr/bin/env python3
import pathlib, sys
token = pathlib.Path(sys.argv[sys.argv.index("--web-identity-token") + 1].removeprefix("file://")).read_text()
pathlib.Path({str(house.folder / "given")!r}).write_text(token)
print({json.dumps(answer)!r})
""")
    code, output, errors = house.run("einlass-aws", "arn:aws:iam::123456789012:role/work")
    assert code == 0, errors
    assert json.loads(output) == {**answer["Credentials"], "Version": 1}
    assert (house.folder / "given").read_text() == house.do("token", "google", "--id-token").strip()
    house.do("access", "reset", "einlassctl", "google")
    assert house.run("einlass-aws", "arn")[:2] == (1, "")


def test_rclone_gets_another_token_after_a_refused_one(signed_in):
    script, configure = blocks("rclone", ("nextcloud/ada", "gitlab"))
    program = install(signed_in, "new-token", script)
    command = filled(shlex.split(configure)[-1], [("/home/ada/bin/new-token", str(program))]).split()
    first = signed_in.run(*command)[1].strip()
    signed_in.change({"gitlab": {"tokens": {first: {"expiresAt": 1}}}})  # 401
    assert not works(signed_in, first)
    code, second, errors = signed_in.run(*command)
    assert code == 0 and works(signed_in, second.strip()), errors
    # The control: without the report the token that einlass takes for good comes again.
    signed_in.change({"gitlab": {"tokens": {second.strip(): {"expiresAt": 1}}}})
    assert not works(signed_in, signed_in.do("token", "gitlab").strip())


def test_a_life_that_no_token_has_is_said_and_costs_one_refresh(signed_in):
    before = refreshes(signed_in)
    said = [signed_in.run("einlassctl", "token", "gitlab", "--min-validity", "3h") for _ in range(3)]
    assert [code for code, _, _ in said] == [0, 0, 0] and len({token for _, token, _ in said}) == 1
    assert all("and not the 10800 s of --min-validity" in errors for _, _, errors in said)
    assert refreshes(signed_in) == before + 1
    assert signed_in.run("einlassctl", "token", "gitlab", "--min-validity", "1h")[2] == ""


def test_twenty_programs_never_get_a_token_that_is_refused(signed_in):
    """Tokens last two seconds beyond the margin of einlass, and each round begins when the last one has ended."""
    signed_in.change({"gitlab": {"behaviour": {"accessSeconds": 62}}})
    signed_in.do("token", "gitlab", "--refresh")
    before, tokens = refreshes(signed_in), []

    def ask(_):
        code, token, errors = signed_in.run("einlassctl", "token", "gitlab", patience=60)
        assert code == 0 and works(signed_in, token.strip()), errors
        return token

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for _ in range(ROUNDS):
            time.sleep(2.5)
            tokens += pool.map(ask, range(20))
    distinct = list(dict.fromkeys(tokens))
    assert len(distinct) >= ROUNDS and refreshes(signed_in) == before + len(distinct)


@pytest.mark.parametrize("program", SECTIONS)
def test_each_recipe_is_run(program):
    assert re.search(rf'\bblocks\("{re.escape(program)}"', Path(__file__).read_text())
