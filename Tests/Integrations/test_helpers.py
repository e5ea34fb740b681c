"""The helpers of other programs: headers, kubectl, cargo, docker and Bazel.

    python -m pytest Tests/Integrations/test_helpers.py
"""
import json
from types import SimpleNamespace

from house import needs, token_of
from programs import cluster, kubectl


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
    # `docker logout` of a registry that is not known here.
    assert ask("erase", "nowhere.example") == (0, "", "")
    house.do("services", "add", "https://index.docker.io/v1", "gitlab", "--yes")
    assert json.loads(ask("get", "https://index.docker.io/v1/")[1])["Secret"]
    for name in ("access-token", "refresh-token"):
        code, output, errors = ask("get", "https://index.docker.io/v1/" + name)
        assert code == 1 and output == "credentials not found in native keychain\n", errors
        assert ask("erase", "https://index.docker.io/v1/" + name) == (0, "", "")
    for operation, text in (("store", "{}"), ("other", ""), ("get", ""), ("get", "a b"), ("get", "a\nb"), ("get", "é")):
        code, output, errors = ask(operation, text)
        assert code == 1 and output == "" and errors.count("\n") == 1


@needs("kubectl")
def test_kubectl_takes_the_older_version_of_the_answer(house, tls):
    house.sign_in("google")
    house.allow("kubectl", "google")
    authority, context = tls
    with cluster(house.origin("google") + "/v1/userinfo", context) as gate:
        ended = kubectl(house, SimpleNamespace(kubectl=gate, authority=authority), "v1beta1")
        assert (ended.code, ended.has_worked) == (0, True), ended.shown
        assert set(gate.schemes) == {"bearer"}
    # The audit trail names kubectl as the receiver.
    entries = json.loads(house.do("audit", "list", "--json"))["entries"]
    received = [(entry["application"], entry["provider"]) for entry in entries if entry["method"] == "credentials.get"]
    assert received and set(received) == {("kubectl", "google")}


def test_kubernetes_refreshes_an_id_token_about_to_end(house):
    def status():
        return json.loads(house.run("kubernetes-credential-einlass", "google")[1])["status"]

    house.change({"google": {"behaviour": {"idTokenSeconds": 30}}})
    house.sign_in("google")
    house.allow("kubectl", "google")
    short = status()
    house.change({"google": {"behaviour": {"idTokenSeconds": 3600}}})
    long = status()
    assert long["token"] != short["token"] and long["expirationTimestamp"] > short["expirationTimestamp"]
    assert status() == long


def test_kubernetes_answers_in_the_version_asked_for(house):
    house.sign_in("google")
    house.allow("kubectl", "google")
    for version in ("v1", "v1beta1"):
        version = "client.authentication.k8s.io/" + version
        spec = {"interactive": False, "cluster": {"server": "https://cluster.example.com:6443"}}
        info = {"KUBERNETES_EXEC_INFO": json.dumps({"kind": "ExecCredential", "apiVersion": version, "spec": spec})}
        code, output, errors = house.run("kubernetes-credential-einlass", "google", env=info)
        answer = json.loads(output)
        assert answer["apiVersion"] == version and answer["kind"] == "ExecCredential"
        assert answer["status"]["token"].count(".") == 2 and answer["status"]["expirationTimestamp"].endswith("Z")
    # Without the variable, or with an empty one, nobody asks for a version.
    for info in ({}, {"KUBERNETES_EXEC_INFO": ""}):
        answer = json.loads(house.run("kubernetes-credential-einlass", "google", env=info)[1])
        assert answer["apiVersion"] == "client.authentication.k8s.io/v1"
    for info in ("{", "{}", '{"apiVersion":"client.authentication.k8s.io/v1alpha1"}', "7"):
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

    place = house.origin("gitlab") + "/index"
    index = f"sparse+{place}/"
    house.do("services", "add", place, "gitlab")
    house.do("services", "add", house.origin("github"), "github")
    (answer,), _ = cargo(house, get(index))
    assert answer["Err"]["kind"] == "other" and "access set cargo gitlab granted" in answer["Err"]["message"]
    house.allow("cargo", "gitlab")
    answers, _ = cargo(house, get(index), get(index, operation="publish"))
    assert answers[0]["Ok"]["kind"] == "get" and answers[0]["Ok"]["token"].startswith("Bearer ")
    assert answers[0]["Ok"]["cache"] == "expires" and answers[0]["Ok"]["expiration"] > 0 and answers[0] == answers[1]
    answers, _ = cargo(house, get(f"sparse+{house.origin('github')}/"), get(index, kind="login"), "{",
                       {"v": 2, "registry": {"index-url": index}, "kind": "get"}, {"v": 1, "kind": "get"}, "x" * 70_000)
    assert [answer["Err"]["kind"] for answer in answers] == [
        "not-found", "operation-not-supported", "other", "other", "other", "other"]


def test_cargo_is_answered_only_for_the_sparse_index_of_a_service(signed_in):
    house = signed_in
    house.allow("cargo", "gitlab")
    place = house.origin("gitlab") + "/index"

    def ask(index, **more):
        (answer,), errors = cargo(house, {"v": 1, "registry": {"index-url": index, **more}, "kind": "get", "operation": "publish"})
        return answer, errors

    refused = ({"Err": {"kind": "url-not-supported"}}, "")
    # The host of a provider, with and without an account, and an unknown one.
    for index in (place + "/", f"sparse+{place}/", f"sparse+{house.origin('github')}/", "sparse+https://example.com/", "https://example.com/"):
        assert ask(index) == refused, index
    house.do("services", "add", place, "gitlab")
    # A git index, the public registry by its name, other spellings and other places.
    for index in (place + "/", f"Sparse+{place}/", f"sparse+sparse+{place}/", f"sparse+{place}2/", f"sparse+{house.origin('gitlab')}/"):
        assert ask(index) == refused, index
    assert ask(f"sparse+{place}/", name="crates-io") == refused
    # The control.
    assert "Ok" in ask(f"sparse+{place}/", name="example")[0]
