"""The servers to which the programs send a token of einlass: real programs, at servers that note each token.

    python -m pytest Tests/Integrations/test_destinations.py
"""
import json

import pytest

import programs
from house import PROJECT, needs, open_gate, token_of


@pytest.fixture
def signed_in(house):
    house.sign_in("gitlab")
    return house


def userinfo(house):
    return house.origin("gitlab") + "/api/v4/user"


def add_forge(house, host):
    """Adds a provider with this host, and an account of it. It is the gitlab of the sandbox, where ada has signed in."""
    catalogue = json.loads((PROJECT / "Sources/Einlass/Descriptors/providers.json").read_text())
    gitlab = next(provider for provider in catalogue["providers"] if provider["id"] == "gitlab")
    forge = json.loads(json.dumps(gitlab).replace("https://gitlab.com", house.origin("gitlab")))
    forge |= {"id": "forge", "name": "Forge", "hosts": [{"host": host}]}
    config = json.loads(house.config.read_text())
    config["applications"]["*"]["forge"] = config["applications"]["*"]["gitlab"]
    house.config.write_text(json.dumps(config))
    house.do("providers", "add", str(programs.write(house, "forge.json", json.dumps(forge))))
    with house.on_terminal("einlassctl", "sign-in", "forge") as terminal:
        assert terminal.end() == 0, terminal.shown


def tokens(gate):
    return [token_of(header)[1] for _, _, header in gate.seen if header]


# cargo sends the token to the hosts that the index names, so einlass answers only for the index of a service.

REGISTRY = """\
[registries.example]
index = "{index}"
credential-provider = ["cargo-credential-einlass"]
[net]
git-fetch-with-cli = true
[http]
cainfo = "{authority}"
"""


def git_index(house, folder, api):
    """Makes a git index that names this api, and lets git take it for the address of a repository at gitlab."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"dl": api + "/dl", "api": api}))
    for command in ("init -q -b main", "add .", "-c user.name=Ada -c user.email=a@example.org commit -qm a"):
        assert house.run("git", *command.split(), cwd=folder)[0] == 0
    address = house.origin("gitlab") + "/mallory/index"
    assert house.run("git", "config", "--global", f"url.file://{folder}.insteadOf", address)[0] == 0
    return address


@needs("cargo")
def test_an_index_that_is_a_repository_at_a_provider_gets_no_token(signed_in, tmp_path, certificate):
    house = signed_in
    house.allow("cargo", "gitlab")
    with open_gate(userinfo(house), programs.hello) as api:
        address = git_index(house, tmp_path / "index", api.address)
        configuration = REGISTRY.format(index=address, authority=certificate[0])
        code, _, errors = programs.run_cargo(house, configuration, "owner", "--list", "abc", "--registry", "example")
        assert code == 101 and tokens(api) == [], errors
        assert "sign-in" not in errors and "services add" not in errors
        # Not even a service makes an answer of it, because cargo sends nothing to a git index.
        house.do("services", "add", address, "gitlab")
        code, _, errors = programs.run_cargo(house, configuration, "owner", "--list", "abc", "--registry", "example")
        assert code == 101 and tokens(api) == [], errors


@needs("cargo")
def test_a_sparse_index_at_a_provider_gets_a_token_only_as_a_service(signed_in, tls):
    house, (authority, context) = signed_in, tls

    def index(request, body):
        if request.path == "/mallory/config.json":
            return 200, {}, json.dumps({"dl": api.address + "/dl", "api": api.address}).encode()
        return 404, {}, b""

    with open_gate(userinfo(house), programs.hello) as api, open_gate(userinfo(house), index, tls=context) as gate:
        gate.person = lambda token: {}
        add_forge(house, gate.address.removeprefix("https://"))
        house.allow("cargo", "forge")
        configuration = REGISTRY.format(index=f"sparse+{gate.address}/mallory/", authority=authority)
        code, _, errors = programs.run_cargo(house, configuration, "owner", "--list", "abc", "--registry", "example")
        assert code == 101 and gate.seen and tokens(api) == [], errors
        # As a service it is the choice of the person. The token goes to the api that the index names.
        house.do("services", "add", gate.address + "/mallory", "forge")
        programs.run_cargo(house, configuration, "owner", "--list", "abc", "--registry", "example")
        assert [api.person(token)["username"] for token in tokens(api)] == ["ada"]
