"""git clone and git push over HTTPS with `git-credential-einlass`.

    python -m pytest Tests/Integrations/test_git.py
"""
import base64
import json

import pytest

from house import make_certificate, token_of
from programs import git_server, set_up_git


@pytest.fixture
def remote(house, tmp_path, tls):
    """A git server that takes gitlab's tokens, and its address as a service."""
    authority, context = tls
    set_up_git(house, authority)
    (tmp_path / "srv").mkdir()
    with git_server(tmp_path / "srv", house.origin("gitlab") + "/api/v4/user", context) as gate:
        house.do("services", "add", gate.address, "gitlab", "--yes")
        yield gate


def test_clone_commit_and_push(house, remote):
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    url = remote.address + "/hello.git"
    other, _ = make_certificate(house.folder / "work")
    code, _, errors = house.run("git", "-c", "http.sslCAInfo=" + other, "clone", "-q", url, "stranger")
    assert code == 128 and "certificate" in errors and remote.seen == []
    code, _, errors = house.run("git", "clone", "-q", url, "app")
    assert code == 0, errors
    app = house.folder / "work/app"
    (app / "a.txt").write_text("a")
    for command in (["add", "a.txt"], ["commit", "-qm", "a"], ["push", "-q", "origin", "HEAD:main"]):
        code, _, errors = house.run("git", *command, cwd=app)
        assert code == 0, errors
    assert house.run("git", "ls-remote", url)[1].endswith("refs/heads/main\n")
    assert set(remote.schemes) == {"basic"}
    header = next(header for _, _, header in remote.seen if header)
    assert base64.b64decode(header.split()[1]).decode().startswith("oauth2:")
    # The audit trail names git as the receiver of each token.
    entries = json.loads(house.do("audit", "list", "--json"))["entries"]
    received = [(entry["application"], entry["provider"]) for entry in entries if entry["method"] == "credentials.get"]
    assert received and set(received) == {("git", "gitlab")}


def get(house, text, operation="get", **more):
    return house.run("git-credential-einlass", operation, input=text, **more)


def request(gate, **more):
    scheme, _, host = gate.address.partition("://")
    lines = {"protocol": scheme, "host": host, **more}
    return "".join(f"{key}={value}\n" for key, value in lines.items()) + "\n"


def values(output):
    return dict(line.split("=", 1) for line in output.splitlines())


def test_an_expired_token_is_refreshed(house, remote):
    house.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    first = values(get(house, request(remote))[1])["password"]
    house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
    second = values(get(house, request(remote))[1])
    assert second["password"] != first and int(second["password_expiry_utc"]) > 0
    assert house.run("git", "ls-remote", remote.address + "/hello.git")[0] == 0


@pytest.fixture
def spent(house, remote):
    """Signs in and makes a commit. Returns the account's access token, which has run out by then."""
    house.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    (token,) = house.state()["gitlab"]["tokens"]
    house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}, "tokens": {token: {"expiresAt": 1}}}})
    assert remote.person(token) is None
    for command in ("init -q", "commit -q --allow-empty -m a"):
        assert house.run("git", *command.split())[0] == 0
    return token


def grants(house):
    return [entry["form"]["grant_type"] for entry in house.log("gitlab", "POST", "/oauth/token")]


@pytest.mark.parametrize("can_refresh", [True, False], ids=["refreshed", "control: the refresh token is revoked"])
def test_a_push_uses_the_token_that_einlass_has_refreshed(house, remote, spent, can_refresh, tmp_path):
    if not can_refresh:
        house.change({"gitlab": {"families": None}})
    code, _, errors = house.run("git", "push", "-q", remote.address + "/hello.git", "HEAD:main")
    pushed = house.run("git", "--git-dir", str(tmp_path / "srv/hello.git"), "rev-parse", "-q", "--verify", "main")[1]
    assert grants(house) == ["authorization_code", "refresh_token"]
    if not can_refresh:
        assert code == 128 and pushed == "" and remote.schemes == [] and "einlassctl sign-in" in errors
        return
    assert code == 0 and pushed == house.run("git", "rev-parse", "HEAD")[1], errors
    received = {token_of(header)[1] for _, _, header in remote.seen if header}
    assert received == set(house.state()["gitlab"]["tokens"]) - {spent}
    assert ("POST", "/hello.git/git-receive-pack") in [request[:2] for request in remote.seen]


@pytest.mark.parametrize("provider", ["forgejo", "gitea"])
def test_a_repository_of_gitea_or_forgejo_is_cloned_with_the_provider_s_user_name(house, provider):
    place = house.origin(provider)
    clone = ["git", "-c", "credential.helper=einlass", "clone", "-q", place + "/ada/hello.git", "app"]
    assert house.run(*clone)[0] == 128
    house.sign_in(provider)
    house.allow("git", provider)
    answer = values(get(house, f"protocol=http\nhost={place.removeprefix('http://')}\n\n")[1])
    assert answer["username"] == "oauth2" and int(answer["password_expiry_utc"]) > 0
    code, _, errors = house.run(*clone)
    assert code == 0 and (house.folder / "work/app/README").exists(), errors


def test_the_erase_of_a_former_password_rejects_nothing(house, remote):
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    token = values(get(house, request(remote))[1])["password"]
    assert get(house, request(remote, username="oauth2", password="former"), "erase") == (0, "", "")
    assert values(get(house, request(remote))[1])["password"] == token
    assert get(house, request(remote, username="oauth2", password=token), "erase") == (0, "", "")
    assert values(get(house, request(remote))[1])["password"] != token


def test_a_problem_is_one_line_with_the_command_that_mends_it(house, remote):
    def line():
        code, output, errors = get(house, request(remote))
        assert code == 1 and output == "" and errors.count("\n") == 1 and errors.startswith("einlassctl: ")
        return errors

    assert "einlassctl sign-in gitlab" in line()
    house.sign_in("gitlab")
    assert "einlassctl access set git gitlab granted" in line()
    house.allow("git", "gitlab")
    assert get(house, request(remote))[0] == 0
    house.sign_in("gitlab", user="grace")
    assert "einlassctl accounts prefer gitlab/ada --for git" in line()
    house.do("accounts", "prefer", "gitlab/grace", "--for", "git")
    assert get(house, request(remote))[0] == 0


def test_the_user_name_selects_the_account(house, remote):
    house.sign_in("gitlab")
    house.sign_in("gitlab", user="grace")
    house.allow("git", "gitlab")
    tokens = {name: values(get(house, request(remote, username=name))[1])["password"] for name in ("ada", "grace")}
    assert tokens["ada"] != tokens["grace"]
    assert remote.person(tokens["grace"])["username"] == "grace"
    for name in ("GRACE", "grace@example.org", "Grace@Example.org"):
        assert values(get(house, request(remote, username=name))[1])["password"] == tokens["grace"]
    code, output, errors = get(house, request(remote, username="nobody"))
    assert code == 1 and output == "" and "There is no GitLab account of this name" in errors


@pytest.mark.parametrize("service, path", [("https://git.example.com", ""), ("https://git.example.com/team", "team/app.git")])
def test_the_usual_port_and_capitals_make_no_other_host(house, service, path):
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    house.do("services", "add", service, "gitlab", "--yes")
    asked = "protocol=https\nhost={}\n" + (f"path={path}\n" if path else "") + "\n"
    passwords = {values(get(house, asked.format(host))[1]).get("password")
                 for host in ("git.example.com", "git.example.com:443", "GIT.Example.COM:443")}
    assert len(passwords) == 1 and None not in passwords
    # The control.
    assert get(house, asked.format("git.example.com:8443"))[0] == 1


@pytest.mark.parametrize("takes", [True, False])
def test_a_service_may_take_any_user_name(house, remote, takes):
    """The addresses that Azure's clone button writes have the name of the organization."""
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    house.do("services", "add", remote.address, "gitlab", "--yes", *(["--username", "*"] if takes else []))
    code, output, errors = get(house, request(remote, username="org"))
    assert (code == 0) == takes, errors
    if takes:
        answer = values(output)
        assert answer["username"] == "org" and remote.person(answer["password"])["username"] == "ada"
        assert values(get(house, request(remote))[1])["username"] == "oauth2"


def test_an_older_git_gets_no_refresh_token(house, remote):
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    kept = list(house.state()["gitlab"]["refreshTokens"])
    for more in ({}, {"username": "ada"}, {"username": ""}, {"oauth_refresh_token": "former"}, {"password_expiry_utc": "1"}):
        code, output, errors = get(house, request(remote, **more))
        assert code == 0 and {"username", "password"} <= set(values(output)) <= {"username", "password", "password_expiry_utc"}, errors
        assert values(output)["username"] and kept and not any(token in output for token in kept)


def test_a_newer_git_gets_a_bearer_token_that_no_other_helper_stores(house, remote):
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    asked = "capability[]=authtype\ncapability[]=state\n" + request(remote, **{"wwwauth[]": "Basic"})
    lines = get(house, asked)[1].splitlines()
    assert lines[0] == "capability[]=authtype"
    answer = values("\n".join(lines[1:]))
    assert answer["authtype"] == "Bearer" and answer["ephemeral"] == "1" and remote.person(answer["credential"])
    assert "password" not in answer and "oauth_refresh_token" not in answer
    assert get(house, "", "capability") == (0, "version 0\ncapability authtype\n", "")
    for operation in ("store", "other"):
        assert get(house, request(remote, username="a", password="b"), operation) == (0, "", "")


@pytest.mark.parametrize("text, line", [
    ("protocol=https\nhost=gitlab.com\r\n\n", "Line 2"), ("protocol=https\nhost=git\0lab.com\n\n", "Line 2"),
    ("protocol=https\nhost\n\n", "Line 2"), ("=https\nhost=gitlab.com\n\n", "Line 1"),
    ("protocol=https\n\nhost=gitlab.com\n", "names no protocol and host"),
    ("protocol=https\nhost=ada@gitlab.com\n\n", "character that no host name has"),
    ("protocol=https\nhost=gitlab.com/x\n\n", "character that no host name has"),
    ("protocol=https\nhost=bücher.example\n\n", "not in Punycode"),
    ("protocol=https\nhost=gitlab.com?x\n\n", "character that no host name has"),
    ("protocol=https\nhost=gitlab.com%0ahost=evil\n\n", "character that no host name has"),
    ("protocol=ssh\nhost=gitlab.com\n\n", "Line 1"),
    ("protocol=http\nhost=gitlab.com\n\n", "plain http to another machine"),
    ("protocol=https\nhost=gitlab.com\npath=../evil.git\n\n", "dot segment"),
    ("protocol=https\nhost=gitlab.com\npath=/evil.example/x\n\n", "empty segment"),
    ("protocol=https\nhost=gitlab.com\npath=a%2f%2e%2e\n\n", "is not"),
    ("protocol=https\nhost=gitlab.com:8443\n\n", "No provider is known"),
    ("protocol=https\nhost=evil.example\n\n", "einlassctl services add"),
    ("protocol=https\nhost=evil.example\nhost=gitlab.com\n\n", "Line 3"), ("protocol=smtp\nhost=smtp.gmail.com:9999\n\n", "Line 2"),
    ("x" * 70_000, "longer than 65536 bytes"),
])
def test_bad_input_is_refused_and_nothing_is_printed(house, text, line):
    code, output, errors = get(house, text)
    if line == "is not":
        # git has decoded the path already, so a % of it is a character of a name.
        assert code == 1 and output == "" and "dot segment" not in errors
        return
    assert code == 1 and output == "" and line in errors and errors.count("\n") == 1


@pytest.mark.parametrize("service, served", [
    ("https://mail.example.com", {"https"}),
    ("mail.example.com", {"https", "smtp :465", "smtp :587", "smtps", "smtps :465", "imap :993", "imaps", "imaps :993"}),
    ("mail.example.com:25", {"smtp", "smtp :25"}),
    ("mail.example.com:143", {"imap", "imap :143"}),
])
def test_a_service_gets_a_token_over_the_protocols_that_it_names(house, service, served):
    house.sign_in("gitlab")
    house.allow("git", "gitlab")
    house.do("services", "add", service, "gitlab", "--yes")
    asked = ["https", "smtp", "smtp :25", "smtp :465", "smtp :587", "smtps", "smtps :465", "imap", "imap :143", "imap :993",
             "imaps", "imaps :993"]
    answered = set()
    for question in asked:
        protocol, _, port = question.partition(" ")
        code, output, errors = house.run(
            "git", "-c", "credential.helper=einlass", "credential", "fill", input=f"protocol={protocol}\nhost=mail.example.com{port}\n\n")
        if code == 0 and values(output).get("password"):
            answered.add(question)
    assert answered == served
