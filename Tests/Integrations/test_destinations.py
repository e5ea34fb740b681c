"""The servers to which the programs send a token of einlass: real programs, at servers that note each token.

    python -m pytest Tests/Integrations/test_destinations.py
"""
import json
from types import SimpleNamespace

import pytest

import programs
from house import PROJECT, needs, open_gate, token_of
from recipes import recipe


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
    with house.on_terminal("einlassctl", "sign-in", "forge", "--no-guide") as terminal:
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


# The other programs. `elsewhere` is another host to each of them, and would take any token.

@pytest.fixture
def elsewhere(signed_in):
    with open_gate(userinfo(signed_in), programs.hello) as gate:
        gate.address = gate.address.replace("127.0.0.1", "localhost")
        yield gate


def led_to(place):
    """Returns an answer function that sends every request to this place."""
    return lambda request, body: (302, {"Location": place + request.path}, b"")


def serve(house, application, gate):
    house.allow(application, "gitlab")
    house.do("services", "add", gate.address, "gitlab", "--yes")


@needs("git")
def test_git_asks_for_the_address_that_it_uses_and_for_that_of_a_redirect(signed_in, elsewhere, tmp_path):
    house = signed_in
    house.run("git", "config", "--global", "credential.helper", "einlass")
    with open_gate(userinfo(house), led_to(elsewhere.address)) as gate:
        serve(house, "git", gate)
        house.run("git", "config", "--global", f"url.{gate.address}/.insteadOf", "https://gitlab.com/")
        code, _, errors = house.run("git", "ls-remote", "https://gitlab.com/hello.git")
        assert code == 128 and len(tokens(gate)) == 1, errors
        assert elsewhere.seen and tokens(elsewhere) == []
        elsewhere.seen.clear()
        # The other way round, the address of gitlab does not count.
        house.run("git", "config", "--global", f"url.{elsewhere.address}/.insteadOf", gate.address + "/")
        house.run("git", "ls-remote", gate.address + "/hello.git")
        assert elsewhere.seen and tokens(elsewhere) == []


@needs("git")
def test_the_proxy_of_git_gets_no_token(signed_in, tls, elsewhere):
    house, (authority, context) = signed_in, tls
    house.run("git", "config", "--global", "credential.helper", "einlass")
    with open_gate(userinfo(house), programs.hello, tls=context) as gate:
        serve(house, "git", gate)
        house.run("git", "config", "--global", "http.sslCAInfo", authority)
        for proxy in (elsewhere.address, elsewhere.address.replace("//", "//oauth2@")):
            elsewhere.heads.clear()
            _, _, errors = house.run("git", "-c", "http.proxy=" + proxy, "ls-remote", gate.address + "/hello.git")
            # For a user name in its address git wants a password first, and einlass has none.
            assert elsewhere.heads or "could not read Password" in errors, errors
            assert elsewhere.seen == [] and gate.seen == []
            assert not any("uthorization" in head for head in elsewhere.heads)


@needs("curl")
def test_curl_takes_no_token_along_to_another_host(signed_in, elsewhere):
    house = signed_in
    with open_gate(userinfo(house), led_to(elsewhere.address)) as gate:
        serve(house, "einlassctl", gate)
        (line,) = programs.commands("curl", ("https://api.example.com", gate.address))
        house.run("bash", "-c", line.replace("curl -sSf", "curl -sSfL"))
        assert len(tokens(gate)) == 1 and elsewhere.seen and tokens(elsewhere) == []


@needs("skopeo")
def test_a_registry_names_the_server_that_gets_the_token(signed_in, elsewhere):
    house = signed_in
    realm = f'Bearer realm="{elsewhere.address}/token",service="registry"'
    with open_gate(userinfo(house), programs.hello, realm=realm) as gate:
        registry = gate.address.removeprefix("http://")
        programs.write(house, ".docker/config.json", json.dumps({"credHelpers": {registry: "einlass"}}))
        inspect = ["skopeo", "inspect", "--tls-verify=false", f"docker://{registry}/ada/app:1"]
        house.allow("docker", "gitlab")
        house.run(*inspect)
        assert tokens(elsewhere) == [] and tokens(gate) == []
        serve(house, "docker", gate)
        house.run(*inspect)
        assert elsewhere.person(tokens(elsewhere)[0])["username"] == "ada" and tokens(gate) == []


@needs("kubectl")
def test_kubectl_sends_the_id_token_to_its_cluster_and_to_where_that_leads(signed_in, tls, elsewhere):
    house, (authority, context) = signed_in, tls
    house.sign_in("google")
    house.allow("kubectl", "google")
    with open_gate(userinfo(house), led_to(elsewhere.address), tls=context) as gate:
        gate.person = lambda token: {}
        programs.kubectl(house, SimpleNamespace(kubectl=gate, authority=authority))
        (token,) = {*tokens(gate), *tokens(elsewhere)}
        assert tokens(gate) and tokens(elsewhere)
        # It is for the client id of the account, so a cluster that checks the audience takes no other.
        assert programs.jwt.decode(token, options={"verify_signature": False})["aud"] == "demo-google"


@pytest.mark.parametrize("program", ["pip", "uv"])
def test_the_host_of_a_file_gets_no_token_of_the_index(signed_in, tmp_path, elsewhere, program):
    house = signed_in

    def index(request, body):
        return 200, {"Content-Type": "text/html"}, f'<a href="{elsewhere.address}/abc-1.0-py3-none-any.whl">abc-1.0-py3-none-any.whl</a>'.encode()

    with open_gate(userinfo(house), index) as gate:
        serve(house, "keyring", gate)
        servers = SimpleNamespace(library=programs.install_library(tmp_path), packages=gate)
        ended = getattr(programs, program)(house, servers)
        assert tokens(gate) and elsewhere.seen and tokens(elsewhere) == [], ended.shown


def test_twine_takes_no_token_along_to_another_host(signed_in, tmp_path, elsewhere):
    house = signed_in
    with open_gate(userinfo(house), led_to(elsewhere.address)) as gate:
        gate.uploads = []
        serve(house, "keyring", gate)
        ended = programs.twine(house, SimpleNamespace(library=programs.install_library(tmp_path), packages=gate))
        assert ended.code != 0 and tokens(gate) and tokens(elsewhere) == [], ended.shown


@needs("terraform")
def test_a_registry_of_terraform_names_the_server_that_gets_the_token(signed_in, tls, elsewhere):
    house, (authority, context) = signed_in, tls

    def registry(request, body):
        return 200, {"Content-Type": "application/json"}, json.dumps({"modules.v1": elsewhere.address + "/v1/modules/"}).encode()

    with open_gate(userinfo(house), registry, tls=context) as gate:
        gate.person = lambda token: {}
        host = gate.address.removeprefix("https://")
        helper = programs.write(house, ".terraform.d/plugins/terraform-credentials-einlass", recipe("Terraform"))
        helper.chmod(0o700)
        programs.write(house, ".terraformrc", 'credentials_helper "einlass" {}\n')
        programs.write(house, "work/main.tf", f'module "abc" {{\n  source = "{host}/ada/abc/any"\n}}\n')
        environment = {"SSL_CERT_FILE": authority, "CHECKPOINT_DISABLE": "1"}
        house.allow("terraform", "gitlab")
        house.run("terraform", "init", "-no-color", env=environment, patience=programs.HANGING)
        assert gate.seen and tokens(gate) == [] and tokens(elsewhere) == []
        serve(house, "terraform", gate)
        code, output, errors = house.run("terraform", "init", "-no-color", env=environment, patience=programs.HANGING)
        assert tokens(gate), output + errors
        assert [elsewhere.person(token)["username"] for token in tokens(elsewhere)] == ["ada"], output + errors
