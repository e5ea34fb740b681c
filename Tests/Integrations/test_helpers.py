"""The helpers of other programs: headers, kubectl, cargo, docker and Bazel.

    python -m pytest Tests/Integrations/test_helpers.py
"""
import hashlib
import json
import os
import shutil

import pytest

from house import needs, open_gate, token_of
from recipes import recipe
from registry import open_registry


EXAMPLE = "registry.example.com"


@pytest.fixture
def signed_in(house):
    house.sign_in("gitlab")
    return house


def test_headers_are_one_object(signed_in):
    house = signed_in
    house.allow("mcp", "gitlab")
    address = house.origin("gitlab") + "/api/v4/mcp"
    code, output, errors = house.run("headers-credential-einlass", address)
    assert code == 0, errors
    assert list(json.loads(output)) == ["Authorization"] and token_of(json.loads(output)["Authorization"])[0] == "bearer"
    code, output, errors = house.run("einlassctl", "credential", "headers", address, "--for", "claude")
    assert code == 1 and output == "" and "einlassctl access set claude gitlab granted" in errors


def test_bazel_gets_a_list_of_headers(signed_in):
    house = signed_in
    house.allow("bazel", "gitlab")
    question = json.dumps({"uri": house.origin("gitlab") + "/a.tar.gz", "more": 1})
    code, output, errors = house.run("bazel-credential-einlass", "get", input=question)
    assert code == 0, errors
    answer = json.loads(output)
    assert answer["headers"]["Authorization"][0].startswith("Bearer ") and answer["expires"].endswith("Z")
    for text, operation in (("{", "get"), ("[]", "get"), ("{}", "get"), (question, "put"), ("x" * 70_000, "get")):
        code, output, errors = house.run("bazel-credential-einlass", operation, input=text)
        assert code == 1 and output == "" and errors.count("\n") == 1


def test_docker_gets_a_password(signed_in):
    house = signed_in
    registry = house.origin("gitlab").removeprefix("http://")

    def ask(operation, text=registry + "\n"):
        return house.run("docker-credential-einlass", operation, input=text)

    code, output, errors = ask("get")
    assert code == 1 and output == "credentials not found in native keychain\n" and "access set docker" in errors
    house.allow("docker", "gitlab")
    answer = json.loads(ask("get")[1])
    assert answer["ServerURL"] == registry and answer["Username"] == "oauth2" and answer["Secret"]
    assert ask("erase")[:2] == (0, "")
    assert json.loads(ask("get")[1])["Secret"] != answer["Secret"]
    assert ask("list", "")[:2] == (0, "{}\n")
    house.do("services", "add", "registry.example.com", "gitlab", "--yes")
    house.do("services", "add", "https://git.example.com/x", "gitlab", "--yes")
    house.do("services", "add", "https://images.example.com:5000", "gitlab", "--username", "ada", "--yes")
    assert json.loads(ask("list", "")[1]) == {"registry.example.com": "oauth2", "images.example.com:5000": "ada"}
    for operation, text in (("store", "{}"), ("other", ""), ("get", ""), ("get", "a b"), ("get", "a\nb"), ("get", "é")):
        code, output, errors = ask(operation, text)
        assert code == 1 and output == "" and errors.count("\n") == 1


@needs("docker")
def test_docker_asks_the_helper(signed_in):
    house = signed_in
    house.allow("docker", "gitlab")

    def manifest(request, body):
        return 200, {"Content-Type": "application/vnd.docker.distribution.manifest.v2+json"}, b'{"schemaVersion":2}'

    with open_gate(house.origin("gitlab") + "/api/v4/user", manifest) as gate:
        registry = gate.address.removeprefix("http://")
        house.do("services", "add", registry, "gitlab", "--yes")
        (house.folder / ".docker").mkdir()
        (house.folder / ".docker/config.json").write_text(recipe("docker, podman, skopeo", (EXAMPLE, registry)))
        house.run("docker", "manifest", "inspect", "--insecure", registry + "/a/b")
        assert "basic" in gate.schemes


@needs("skopeo", "docker-registry")
def test_skopeo_copies_an_image(signed_in, certificate):
    house = signed_in
    image = house.folder / "work/image"
    write_image(image)
    with open_registry(house.folder, house.origin("gitlab") + "/api/v4/user", *certificate) as (registry, gate):
        house.do("services", "add", registry, "gitlab", "--yes")
        (house.folder / ".docker").mkdir()
        (house.folder / ".docker/config.json").write_text(recipe("docker, podman, skopeo", (EXAMPLE, registry)))
        push = ["skopeo", "copy", "-q", "--dest-tls-verify=false", f"dir:{image}", f"docker://{registry}/ada/app:1"]
        code, output, errors = house.run(*push)
        assert code != 0 and gate.schemes == []
        house.allow("docker", "gitlab")
        code, output, errors = house.run(*push)
        assert code == 0, errors
        code, output, errors = house.run("skopeo", "copy", "-q", "--src-tls-verify=false", f"docker://{registry}/ada/app:1", "dir:copy")
        assert code == 0, errors
        assert (house.folder / "work/copy/manifest.json").read_bytes() == (image / "manifest.json").read_bytes()
        assert set(gate.schemes) == {"basic"}


def write_image(folder):
    """Writes an image without layers in skopeo's format."""
    folder.mkdir()
    content = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}).encode()
    digest = hashlib.sha256(content).hexdigest()
    (folder / digest).write_bytes(content)
    (folder / "version").write_text("Directory Transport Version: 1.1\n")
    (folder / "manifest.json").write_text(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [],
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": "sha256:" + digest, "size": len(content)}}))


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c
clusters:
- {{name: c, cluster: {{server: "{server}", certificate-authority: "{certificate}"}}}}
contexts:
- {{name: c, context: {{cluster: c, user: ada}}}}
users:
{users}
"""


@needs("kubectl")
def test_kubectl_gets_the_id_token(house, tls):
    house.sign_in("google")
    house.allow("kubectl", "google")
    certificate, context = tls
    access = house.do("token", "google", "--for", "kubectl").strip()
    id_token = house.do("token", "google", "--for", "kubectl", "--id-token").strip()
    pods = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}).encode()
    with open_gate(house.origin("google") + "/v1/userinfo", lambda *_: (200, {"Content-Type": "application/json"}, pods),
                   tls=context) as gate:
        # The cluster knows the id_token, and the sandbox only the access token.
        person = gate.person
        gate.person = lambda token: person(access) if token == id_token else None
        for version in ("v1", "v1beta1"):
            kubeconfig = house.folder / "kubeconfig"
            kubeconfig.write_text(KUBECONFIG.format(
                server=gate.address, certificate=certificate,
                users=recipe("kubectl", ("k8s.io/v1", "k8s.io/" + version))))
            code, output, errors = house.run("kubectl", "--kubeconfig", str(kubeconfig), "get", "--raw", "/api/v1/pods")
            assert code == 0 and json.loads(output)["kind"] == "PodList", errors
        assert gate.schemes == ["bearer"] * len(gate.schemes) and gate.schemes


def test_kubernetes_answers_in_the_version_asked_for(house):
    house.sign_in("google")
    house.allow("kubectl", "google")
    for version in ("v1", "v1beta1"):
        version = "client.authentication.k8s.io/" + version
        info = {"KUBERNETES_EXEC_INFO": json.dumps({"kind": "ExecCredential", "apiVersion": version, "spec": {}})}
        code, output, errors = house.run("kubernetes-credential-einlass", "google", env=info)
        answer = json.loads(output)
        assert answer["apiVersion"] == version and answer["kind"] == "ExecCredential"
        assert answer["status"]["token"].count(".") == 2 and answer["status"]["expirationTimestamp"].endswith("Z")
    for info in ("{", "{}", '{"apiVersion":"client.authentication.k8s.io/v9"}', "7"):
        code, output, errors = house.run("kubernetes-credential-einlass", "google", env={"KUBERNETES_EXEC_INFO": info})
        assert code == 1 and output == "" and "asks for no known version" in errors


def cargo(house, *requests):
    lines = "".join((text if isinstance(text, str) else json.dumps(text)) + "\n" for text in requests)
    code, output, errors = house.run("cargo-credential-einlass", "--cargo-plugin", input=lines)
    first, *rest = (json.loads(line) for line in output.splitlines())
    assert code == 0 and first == {"v": [1]}
    return rest, errors


def test_cargo_speaks_one_line_each_way(signed_in):
    house = signed_in

    def get(index, **more):
        return {"v": 1, "registry": {"index-url": index}, "kind": "get", "operation": "read", "args": [], **more}

    index = "sparse+" + house.origin("gitlab") + "/index/"
    (answer,), _ = cargo(house, get(index))
    assert answer["Err"]["kind"] == "other" and "access set cargo gitlab granted" in answer["Err"]["message"]
    house.allow("cargo", "gitlab")
    answers, _ = cargo(house, get(index), get(index, operation="publish"))
    assert answers[0]["Ok"]["kind"] == "get" and answers[0]["Ok"]["token"].startswith("Bearer ")
    assert answers[0]["Ok"]["cache"] == "expires" and answers[0]["Ok"]["expiration"] > 0 and answers[0] == answers[1]
    answers, _ = cargo(house, get("https://example.com/"), get(house.origin("github") + "/"), get(index, kind="login"), "{",
                       {"v": 2, "registry": {"index-url": index}, "kind": "get"}, {"v": 1, "kind": "get"}, "x" * 70_000)
    assert [answer["Err"]["kind"] for answer in answers] == [
        "url-not-supported", "not-found", "operation-not-supported", "other", "other", "other", "other"]


@needs("cargo")
def test_cargo_reads_a_registry(signed_in, tls):
    house = signed_in
    house.allow("cargo", "gitlab")

    def index(request, body):
        files = {"/config.json": {"dl": gate.address + "/dl", "auth-required": True}}
        entry = {"name": "abc", "vers": "1.0.0", "deps": [], "cksum": "0" * 64, "features": {}, "yanked": False}
        if request.path == "/3/a/abc":
            return 200, {}, json.dumps(entry).encode()
        return (200, {}, json.dumps(files[request.path]).encode()) if request.path in files else (404, {}, b"")

    with open_gate(house.origin("gitlab") + "/api/v4/user", index, realm='Cargo login_url="https://example.com"') as gate:
        house.do("services", "add", gate.address, "gitlab", "--yes")
        project = house.folder / "work/project"
        (project / "src").mkdir(parents=True)
        (project / "src/lib.rs").write_text("")
        (project / "Cargo.toml").write_text(
            '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nabc = { version = "1", registry = "example" }\n')
        cargo_home = house.folder / ".cargo"
        cargo_home.mkdir()
        (cargo_home / "config.toml").write_text(recipe("cargo", ("https://" + EXAMPLE, gate.address)))
        real = os.path.realpath(shutil.which("cargo"))
        more = {"PATH": os.environ["PATH"] + ":" + str(house.folder / "bin"), "CARGO_HOME": str(cargo_home)}
        more |= {name: os.environ[name] for name in ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
        if os.path.basename(real) == "rustup":
            more.setdefault("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
        code, output, errors = house.run("cargo", "generate-lockfile", cwd=project, env=more, patience=60)
        assert code == 0, errors
        assert "bearer" in gate.schemes and ("GET", "/3/a/abc") in [seen[:2] for seen in gate.seen]
