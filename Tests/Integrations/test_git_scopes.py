"""The scopes that git needs: clone and push at the simulated hosts, which check them, and the commands that add them.

    python -m pytest Tests/Integrations/test_git_scopes.py
"""
import json
import os
import signal
import subprocess
import urllib.request

import pytest

from house import SANDBOX

DENIED = {"github": "not found", "gitlab": "403"}
HOSTS = ["github", "gitlab", "gitea", "forgejo", "huggingface"]


def clone(house, provider):
    """Clones into a new folder with the helper of einlass."""
    house.allow("git", provider)
    house.run("git", "config", "--global", "credential.helper", "einlass")
    return house.run("git", "clone", "-q", house.origin(provider) + "/ada/hello.git", provider)


def push(house, provider, path="README"):
    """Changes a file and pushes it."""
    folder = house.folder / "work" / provider
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("Pushed with a token of einlass.\n")
    for command in (["add", "."], ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "Push"]):
        code, _, errors = house.run("git", *command, cwd=folder)
        assert code == 0, errors
    return house.run("git", "push", "-q", "origin", "main", cwd=folder)


def shown(house, account):
    """Returns the lines of `accounts show`, by their names."""
    lines = house.do("accounts", "show", account).splitlines()
    return {line.split("  ")[0]: line[line.index("  "):].strip() for line in lines}


def git_findings(house):
    found = json.loads(house.run("einlassctl", "doctor", "--json")[1])["findings"]
    return [(finding["verdict"], finding.get("next")) for finding in found if finding["check"] == "git"]


@pytest.mark.parametrize("provider", HOSTS)
def test_a_sign_in_with_the_scopes_of_git_clones_and_pushes(house, provider):
    house.sign_in(provider, "--scope", "git")
    code, _, errors = clone(house, provider)
    assert code == 0, errors
    code, _, errors = push(house, provider)
    assert code == 0, errors
    # The push has arrived.
    assert house.run("git", "fsck", "--strict", cwd=house.folder / "work" / provider)[0] == 0
    heads = house.run("git", "ls-remote", "origin", "main", cwd=house.folder / "work" / provider)[1].split()
    assert heads[0] == house.run("git", "rev-parse", "HEAD", cwd=house.folder / "work" / provider)[1].strip()
    # GitHub has another name too, for tokens that end, which no program needs.
    assert "lacks" not in shown(house, provider + "/ada")


@pytest.mark.parametrize("provider", DENIED)
def test_a_usual_sign_in_reaches_no_private_repository_and_keeps_its_token(house, provider):
    house.sign_in(provider)
    code, _, errors = clone(house, provider)
    assert code == 128 and DENIED[provider] in errors, errors
    (token,) = house.state()[provider]["tokens"]
    house.allow("einlassctl", provider)
    assert house.do("token", provider).strip() == token


@pytest.mark.parametrize("provider, scopes, reads, writes", [
    ("gitlab", ["read_user"], False, False), ("gitlab", ["read_repository"], True, False), ("gitlab", ["write_repository"], True, True),
    ("gitea", ["openid"], True, True), ("gitea", ["openid", "read:repository"], True, False),
    ("gitea", ["openid", "write:repository"], True, True), ("gitea", ["openid", "read:user"], False, False),
    ("forgejo", ["read:user"], True, True), ("github", ["repo"], True, True), ("github", ["public_repo"], False, False),
    ("bitbucket", ["account"], False, False), ("bitbucket", ["repository"], True, False),
    ("bitbucket", ["repository:write"], True, True), ("huggingface", ["profile"], False, False),
    ("huggingface", ["read-repos"], True, False),
])
def test_the_simulated_repository_checks_scopes_as_the_provider_does(house, provider, scopes, reads, writes):
    token = {"application": "demo-" + provider, "user": "3001", "scopes": scopes, "expiresAt": 1 << 40}
    house.change({provider: {"tokens": {"T": token}}})
    house.run("git", "config", "--global", "http.extraHeader", "Authorization: Bearer T")
    code, _, errors = house.run("git", "clone", "-q", house.origin(provider) + "/ada/hello.git", provider)
    assert (code == 0) == reads and (reads or "not found" in errors or "403" in errors), errors
    if reads:
        code, _, errors = push(house, provider)
        assert (code == 0) == writes and (writes or "403" in errors), errors


@pytest.mark.parametrize("scope, taken", [("repo", False), ("git", True)])
def test_a_workflow_file_needs_its_own_scope_at_github(house, scope, taken):
    house.sign_in("github", "--scope", scope)
    assert clone(house, "github")[0] == 0
    code, _, errors = push(house, "github", ".github/workflows/test.yml")
    assert (code == 0) == taken and ("without workflow scope" in errors) == (not taken), errors


def test_a_reset_of_the_sandbox_forgets_pushes(house):
    house.sign_in("forgejo")
    assert clone(house, "forgejo")[0] == 0
    first = house.run("git", "rev-parse", "HEAD", cwd=house.folder / "work/forgejo")[1].strip()
    assert push(house, "forgejo")[0] == 0
    house.reset()
    house.sign_in("forgejo")
    assert house.run("git", "ls-remote", "origin", "main", cwd=house.folder / "work/forgejo")[1].split()[0] == first


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_the_repository_ends_with_the_sandbox(tmp_path, end):
    token = {"application": "demo-forgejo", "user": "3001", "scopes": [], "expiresAt": 1 << 40}
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}) as sandbox:
        ready = json.loads(sandbox.stdout.readline())
        patch = json.dumps({"forgejo": {"tokens": {"T": token}}}).encode()
        urllib.request.urlopen(urllib.request.Request(ready["control"] + "/state", patch, method="PATCH")).close()
        listed = subprocess.run(
            ["git", "-c", "http.extraHeader=Authorization: Bearer T", "ls-remote", ready["addresses"]["forgejo"] + "/ada/hello.git"],
            capture_output=True, text=True, env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull})
        assert "refs/heads/main" in listed.stdout, listed.stderr
        assert [path.name[:16] for path in tmp_path.iterdir()] == ["einlass-sandbox-"]
        sandbox.send_signal(end)
    assert sandbox.returncode == 0 and not list(tmp_path.iterdir())


def test_on_a_pipe_the_setup_names_the_sign_in_that_adds_the_scopes_in_one_line(house):
    house.sign_in("github")
    code, _, errors = house.run("einlassctl", "setup", "git", "--yes")
    (line,) = [line for line in errors.splitlines() if "lacks" in line]
    assert code == 0 and line.endswith("einlassctl sign-in --account github/ada --scope git"), errors
    assert "repo, workflow, gist" in line
    assert shown(house, "github/ada")["lacks"].startswith("for git: repo, workflow, gist")
    verdicts = git_findings(house)
    assert [verdict for verdict, _ in verdicts] == ["ok", "note"] and verdicts[1][1].endswith(" --scope git")
    house.sign_in("github", "--account", "github/ada", "--scope", "git")
    code, output, errors = house.run("einlassctl", "setup", "git", "--yes")
    assert code == 0 and "set up already" in output and errors == ""
    assert [verdict for verdict, _ in git_findings(house)] == ["ok"]


def test_the_setup_and_doctor_look_at_the_account_of_a_service_too(house):
    house.sign_in("github", "--scope", "git")
    house.sign_in("github", user="grace")
    house.do("accounts", "prefer", "github/ada", "--for", "git")
    house.do("services", "add", house.origin("github") + "/corp", "github/grace", "--yes")
    code, _, errors = house.run("einlassctl", "setup", "git", "--yes")
    (line,) = [line for line in errors.splitlines() if "lacks" in line]
    assert code == 0 and line.endswith("einlassctl sign-in --account github/grace --scope git"), errors
    assert [verdict for verdict, _ in git_findings(house)] == ["ok", "note"]


@pytest.mark.parametrize("answer, code", [("y", 0), ("n", 128)], ids=["accepted", "declined"])
def test_on_a_terminal_the_setup_offers_the_sign_in(house, answer, code):
    house.sign_in("github")
    with house.on_terminal("einlassctl", "setup", "git") as terminal:
        terminal.wait_for("Make these changes? [y/N]")
        terminal.type("y\r")
        terminal.wait_for("Sign in again with them? [y/N]")
        terminal.type(answer + "\r")
        assert terminal.end() == 0, terminal.shown
    assert ("--scope git" in terminal.shown.replace("\r\n", "")) == (answer == "n"), terminal.shown
    assert house.run("git", "clone", "-q", house.origin("github") + "/ada/hello.git", "github")[0] == code


def test_a_provider_that_does_not_grant_the_scopes_is_named(house):
    # As at Bitbucket, where the permissions of the application decide.
    house.change({"gitlab": {"behaviour": {"grants": ["read_user"]}}})
    house.sign_in("gitlab")
    with house.on_terminal("einlassctl", "setup", "git") as terminal:
        terminal.wait_for("Make these changes? [y/N]")
        terminal.type("y\r")
        terminal.wait_for("Sign in again with them? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 0, terminal.shown
    assert "did not grant read_repository, write_repository" in terminal.shown and "providers show" in terminal.shown
    assert clone(house, "gitlab")[0] == 128


def test_scopes_that_the_provider_does_not_name_are_not_called_lacking(house):
    # As with a GitHub App, which has permissions in place of scopes.
    house.change({"github": {"behaviour": {"grants": []}}})
    house.sign_in("github")
    code, _, errors = house.run("einlassctl", "setup", "git", "--yes")
    assert code == 0 and "lacks" not in errors and [verdict for verdict, _ in git_findings(house)] == ["ok"]
    assert shown(house, "github/ada")["scopes"] == "not known"


def test_the_setup_looks_at_the_account_that_git_gets(house):
    house.sign_in("github", user="grace")
    house.sign_in("github", "--scope", "git")
    house.do("accounts", "prefer", "github/ada", "--for", "git")
    assert "lacks" not in house.run("einlassctl", "setup", "git", "--yes")[2]
    house.do("accounts", "prefer", "github/grace", "--for", "git")
    assert "github/grace lacks" in house.run("einlassctl", "setup", "git", "--yes")[2]


def test_a_name_adds_to_the_scopes_of_the_account(house):
    house.sign_in("github", "--scope", "rotating")
    house.sign_in("github", "--account", "github/ada", "--scope", "git")
    scopes = shown(house, "github/ada")["scopes"].split(", ")
    assert sorted(scopes) == sorted(["repo", "workflow", "gist", "offline_access", "read:user", "user:email"])
    # Scopes replace, as they always did.
    house.sign_in("github", "--account", "github/ada", "--scope", "read:user")
    assert shown(house, "github/ada")["scopes"] == "read:user"


def test_an_account_with_a_wider_scope_lacks_nothing_and_pushes(house):
    house.sign_in("gitlab", "--scope", "read_user", "--scope", "api")
    code, _, errors = house.run("einlassctl", "setup", "git", "--yes")
    assert code == 0 and "lacks" not in errors, errors
    assert "lacks" not in shown(house, "gitlab/ada")
    assert [verdict for verdict, _ in git_findings(house)] == ["ok"]
    assert clone(house, "gitlab")[0] == 0
    assert push(house, "gitlab")[0] == 0
