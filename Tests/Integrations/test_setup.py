"""`einlassctl setup`: the configuration of git, docker and kubectl, and the way back.

    python -m pytest Tests/Integrations/test_setup.py
"""
import json
import os
import shutil
import sys

import pytest

from house import CONTROL, PROJECT, git_backend, open_gate, token_of

sys.path.append(str(PROJECT / "Tests/Control"))
from terminal import Terminal  # noqa: E402


@pytest.fixture
def remote(signed_in, tmp_path):
    root = tmp_path / "srv"
    root.mkdir()
    assert signed_in.run("git", "init", "--bare", "-q", str(root / "app.git"))[0] == 0
    with open_gate(signed_in.origin("gitlab") + "/api/v4/user", git_backend(root)) as gate:
        signed_in.do("services", "add", gate.address, "gitlab", "--yes")
        yield gate


def clone(house, remote):
    return house.run("git", "clone", "-q", remote.address + "/app.git", str(house.folder / f"work/{os.urandom(4).hex()}"))


def grants(house, application):
    found = json.loads(house.do("access", "list", "--json"))["grants"]
    return [grant["provider"] for grant in found if grant["application"] == application and grant["state"] == "granted"]


def gitconfig(house):
    path = house.folder / ".gitconfig"
    return path.read_bytes() if path.exists() else b""


def test_git_clones_after_the_setup_and_not_after_undo(signed_in, remote):
    house = signed_in
    house.run("git", "config", "--global", "user.name", "Ada")
    house.run("git", "config", "--global", "credential.https://example.com.helper", "store")
    before = gitconfig(house)
    assert clone(house, remote)[0] == 128 and grants(house, "git") == []
    code, output, errors = house.run("einlassctl", "setup", "git", "--yes")
    assert code == 0, errors
    assert f"credential.{remote.address}.helper" in errors and 'after:  "", "einlass"' in errors
    assert "git may use gitlab accounts" in errors and grants(house, "git") == ["gitlab"]
    code, _, errors = clone(house, remote)
    assert code == 0, errors
    # Again: nothing is left to do.
    after = gitconfig(house)
    assert "set up already" in house.do("setup", "git") and gitconfig(house) == after
    house.do("setup", "git", "--undo", "--yes")
    # git leaves the headings of empty sections.
    assert gitconfig(house).startswith(before) and b"einlass" not in gitconfig(house)
    assert grants(house, "git") == [] and clone(house, remote)[0] == 128
    assert "was not set up" in house.do("setup", "git", "--undo")


def test_what_was_there_before_comes_back_and_a_later_edit_stays(signed_in, remote):
    house = signed_in
    name = f"credential.{remote.address}.helper"
    house.run("git", "config", "--global", name, "cache")
    house.allow("git", "gitlab")
    house.do("setup", "git", "--yes")
    assert house.run("git", "config", "--get-all", name)[1] == "\neinlass\n"
    house.do("setup", "git", "--undo", "--yes")
    assert house.run("git", "config", "--get-all", name)[1] == "cache\n"
    # Access from before the setup is not taken back.
    assert grants(house, "git") == ["gitlab"]
    house.do("setup", "git", "--yes")
    house.run("git", "config", "--global", "--add", name, "store")
    code, _, errors = house.run("einlassctl", "setup", "git", "--undo", "--yes")
    assert code == 0 and "has changed since and stays" in errors
    assert house.run("git", "config", "--get-all", name)[1] == "\neinlass\nstore\n"


def test_nothing_changes_without_an_answer(signed_in, remote):
    house = signed_in
    before = gitconfig(house)
    code, output, errors = house.run("einlassctl", "setup", "git")
    assert code == 64 and output == "" and "--yes" in errors
    with Terminal([CONTROL, "setup", "git"], **house.environment) as terminal:
        terminal.wait_for("Make these changes? [y/N]")
        terminal.type("\r")
        assert terminal.end() == 1
    assert gitconfig(house) == before and grants(house, "git") == []
    with Terminal([CONTROL, "setup", "git"], **house.environment) as terminal:
        terminal.wait_for("Make these changes? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert clone(house, remote)[0] == 0


def test_without_an_account_the_next_step_is_a_sign_in(house):
    code, output, errors = house.run("einlassctl", "setup", "git")
    assert code == 1 and output == "" and "einlassctl sign-in" in errors
    code, _, errors = house.run("einlassctl", "setup", "git", "nothing")
    assert code == 1 and "There is no provider nothing" in errors


def test_docker_keeps_the_rest_of_its_file(signed_in, remote):
    house = signed_in
    registry = remote.address.removeprefix("http://")
    file = house.folder / ".docker/config.json"
    file.parent.mkdir()
    before = {"auths": {"example.com": {}}, "credHelpers": {"gcr.io": "gcloud"}, "psFormat": "table"}
    file.write_text(json.dumps(before))
    file.chmod(0o644)
    house.do("setup", "docker", registry, "--yes")
    assert json.loads(file.read_text()) == {**before, "credHelpers": {"gcr.io": "gcloud", registry: "einlass"}}
    assert file.stat().st_mode & 0o777 == 0o644 and grants(house, "docker") == ["gitlab"]
    code, output, errors = house.run("docker-credential-einlass", "get", input=registry)
    assert code == 0 and json.loads(output)["Secret"], errors
    house.do("setup", "docker", "--undo", "--yes")
    assert json.loads(file.read_text()) == before and grants(house, "docker") == []
    # A file of its own folder, and none before.
    other = house.folder / "other"
    house.do("setup", "docker", registry, "--yes", env={"DOCKER_CONFIG": str(other)})
    assert json.loads((other / "config.json").read_text()) == {"credHelpers": {registry: "einlass"}}
    file.write_text("{")
    code, _, errors = house.run("einlassctl", "setup", "docker", registry, "--yes")
    assert code == 1 and "not a JSON object" in errors and file.read_text() == "{"


def test_docker_needs_a_registry_that_a_provider_serves(signed_in):
    code, _, errors = signed_in.run("einlassctl", "setup", "docker", "registry.example.com", "--yes")
    assert code == 1 and "einlassctl services add" in errors
    assert signed_in.run("einlassctl", "setup", "docker", "--yes")[0] == 64


@pytest.mark.parametrize("registry", ["registry.example.com/x", "https://registry.example.com", "registry.example.com/"])
def test_docker_is_not_set_up_for_a_name_that_it_never_looks_up(signed_in, registry):
    signed_in.do("services", "add", "https://registry.example.com", "gitlab", "--yes")
    code, _, errors = signed_in.run("einlassctl", "setup", "docker", registry, "--yes")
    assert code == 1 and "docker looks helpers up by host and port" in errors
    assert not (signed_in.folder / ".docker").exists()
    # The control.
    signed_in.do("setup", "docker", "registry.example.com", "--yes")


def test_docker_is_set_up_for_a_registry_of_this_machine(signed_in):
    house = signed_in
    code, _, errors = house.run("einlassctl", "setup", "docker", "localhost:5000", "--yes")
    assert code == 1 and "plain http" not in errors and "einlassctl services add https://localhost:5000 gitlab" in errors
    for service in ("https://localhost:5000", "localhost:5001", "http://127.0.0.1:5002", "https://127.0.0.1:5003", "[::1]:5004"):
        house.do("services", "add", service, "gitlab", "--yes")
        registry = service.rpartition("/")[2]
        house.do("setup", "docker", registry, "--yes")
        code, output, errors = house.run("docker-credential-einlass", "get", input=registry)
        assert code == 0 and json.loads(output)["Secret"], errors


@pytest.mark.skipif(not shutil.which("kubectl"), reason="skipped: there is no kubectl")
def test_kubectl_gets_a_user(signed_in):
    house = signed_in
    house.run("kubectl", "config", "set-credentials", "other", "--username=ada")
    before = (house.folder / ".kube/config").read_bytes()
    house.do("setup", "kubectl", "gitlab/ada", "--yes")
    view = json.loads(house.run("kubectl", "config", "view", "--raw", "-o", "json")[1])
    user = next(user["user"] for user in view["users"] if user["name"] == "einlass")
    assert user["exec"]["command"] == "einlassctl" and user["exec"]["args"] == ["credential", "kubernetes", "gitlab/ada"]
    assert grants(house, "kubectl") == ["gitlab"]
    assert "set up already" in house.do("setup", "kubectl", "gitlab/ada")
    house.do("setup", "kubectl", "--undo", "--yes")
    assert (house.folder / ".kube/config").read_bytes() == before and grants(house, "kubectl") == []
    code, _, errors = house.run("einlassctl", "setup", "kubectl", "gitlab/ada", "--user", "other", "--yes")
    assert code == 1 and "--user" in errors


def test_doctor_names_the_setups(signed_in, remote):
    house = signed_in
    assert "git" not in [finding["check"] for finding in json.loads(house.run("einlassctl", "doctor", "--json")[1])["findings"]]
    house.do("setup", "git", "--yes")

    def findings():
        found = json.loads(house.run("einlassctl", "doctor", "--json")[1])["findings"]
        return [(finding["verdict"], finding["detail"]) for finding in found if finding["check"] == "git"]

    assert [verdict for verdict, _ in findings()] == ["ok"]
    house.do("access", "set", "git", "gitlab", "denied")
    assert findings()[0][0] == "problem" and "gitlab" in findings()[0][1]
    house.allow("git", "gitlab")
    house.run("git", "config", "--global", "--unset-all", f"credential.{remote.address}.helper")
    assert findings()[0][0] == "note" and remote.address in findings()[0][1]


def test_doctor_checks_the_rest_beside_an_invalid_configuration(signed_in):
    house = signed_in
    house.do("setup", "git", "--yes")
    checks = []
    for text in (house.config.read_text(), '{"caFiles": "x"}'):
        house.config.write_text(text)
        code, output, errors = house.run("einlassctl", "doctor", "--json")
        found = {finding["check"]: finding["verdict"] for finding in json.loads(output)["findings"]}
        checks.append((code, found["configuration"], found["git"], found["accounts"], errors))
    assert checks == [(0, "ok", "ok", "ok", ""), (1, "problem", "ok", "ok", "")]


@pytest.mark.parametrize("later", [True, False], ids=["after", "before"])
def test_a_helper_that_would_keep_the_tokens_is_named(signed_in, remote, later):
    house, config = signed_in, signed_in.folder / ".gitconfig"
    section, store = f'[credential "{remote.address}"]\n\tuseHttpPath = false\n', "[credential]\n\thelper = store\n"
    config.write_text(section + store if later else store + section)
    code, _, errors = house.run("einlassctl", "setup", "git", "--yes")
    assert code == 0 and ("gives the tokens also to store" in errors) == later, errors
    found = json.loads(house.run("einlassctl", "doctor", "--json")[1])["findings"]
    (finding,) = [finding for finding in found if finding["check"] == "git"]
    assert (finding["verdict"], "also to store" in finding["detail"]) == (("problem", True) if later else ("ok", False))
    assert clone(house, remote)[0] == 0 and (house.folder / ".git-credentials").exists() == later


def test_a_denial_after_the_setup_stays(signed_in, remote):
    house = signed_in
    house.do("setup", "git", "--yes")
    house.do("access", "set", "git", "gitlab", "denied")
    house.do("setup", "git", "--undo", "--yes")
    found = json.loads(house.do("access", "list", "--json"))["grants"]
    assert [grant["state"] for grant in found if grant["application"] == "git"] == ["denied"]


def test_a_configuration_that_git_cannot_read_is_no_empty_one(signed_in, remote):
    house, config = signed_in, signed_in.folder / ".gitconfig"
    house.do("setup", "git", "--yes")
    sound = config.read_text()
    config.write_text(sound + "[broken\n")
    code, _, errors = house.run("einlassctl", "setup", "git", "--undo", "--yes")
    assert code != 0 and "git config failed" in errors
    config.write_text(sound)
    house.do("setup", "git", "--undo", "--yes")
    assert "einlass" not in config.read_text()


def test_a_setup_for_another_store_is_refused(signed_in, tmp_path):
    code, _, errors = signed_in.run("einlassctl", "setup", "git", "--yes", "--store", str(tmp_path / "other.db"))
    assert code == 64 and "without --store" in errors


def test_doctor_finds_a_helper_that_the_person_configured(signed_in):
    house = signed_in

    def findings():
        found = json.loads(house.run("einlassctl", "doctor", "--json")[1])["findings"]
        return [(finding["verdict"], finding["detail"]) for finding in found if finding["check"] == "git"]

    house.run("git", "config", "--global", "credential.helper", "store")
    assert findings() == []
    house.run("git", "config", "--global", "credential.helper", "einlass")
    (verdict, detail), = findings()
    assert verdict == "problem" and "has no access" in detail
    house.allow("git", "gitlab")
    (verdict, detail), = findings()
    assert verdict == "ok" and "credential.helper" in detail
    house.run("git", "config", "--global", "credential.helper", "/nowhere/git-credential-einlass")
    (verdict, detail), = findings()
    assert verdict == "problem" and "/nowhere" in detail


def test_the_longest_path_of_a_service_decides_the_account_of_git(house, tmp_path):
    for user in ("ada", "grace"):
        house.sign_in("gitlab", user=user)
    for name in ("corp/app.git", "home/app.git"):
        assert house.run("git", "init", "--bare", "-q", str(tmp_path / name))[0] == 0
    with open_gate(house.origin("gitlab") + "/api/v4/user", git_backend(tmp_path)) as gate:
        house.do("services", "add", gate.address + "/corp", "gitlab/ada", "--yes")
        house.do("services", "add", gate.address + "/home", "gitlab/grace", "--yes")
        house.do("setup", "git", "--yes")
        house.allow("einlassctl", "gitlab")
        people = {house.do("token", "gitlab/" + user).strip(): user for user in ("ada", "grace")}
        for path, user in (("corp", "ada"), ("home", "grace")):
            code, _, errors = house.run("git", "clone", "-q", f"{gate.address}/{path}/app.git", str(house.folder / "work" / path))
            assert code == 0, errors
            used = {token_of(header)[1] for _, place, header in gate.seen if header and place.startswith("/" + path)}
            assert {people.get(token) for token in used} == {user}


def test_git_clones_the_repository_of_the_sandbox(house):
    house.sign_in("github", "--scope", "git")
    address = house.origin("github") + "/ada/hello.git"
    assert house.run("git", "clone", "-q", address, str(house.folder / "work/before"))[0] == 128
    house.do("setup", "git", "--yes")
    code, _, errors = house.run("git", "clone", "-q", address, str(house.folder / "work/hello"))
    assert code == 0, errors
    assert (house.folder / "work/hello/README").read_text() == "Cloned with a token of einlass.\n"
    assert house.run("git", "-C", str(house.folder / "work/hello"), "fsck", "--strict")[0] == 0


# Names of folders that a shell would split, expand or end its word at.
AWKWARD = ["my tools", "it's", """a;touch ran;$(touch ran)`touch ran` "b" #*~\\ new\nline 'c'"""]


def install_in(house, name, *helpers):
    """Puts the programs into a folder of this name that is not on the PATH, and nowhere else. Returns the path of einlassctl there."""
    folder = house.folder / name
    folder.mkdir()
    for program in ("einlass", "einlassctl"):
        shutil.copy((house.folder / "bin" / program).resolve(), folder / program)
    for helper in helpers:
        (folder / helper).symlink_to("einlassctl")
        (house.folder / "bin" / helper).unlink()
    return str(folder / "einlassctl")


@pytest.mark.parametrize("beside", [True, False], ids=["with git-credential-einlass beside it", "without"])
@pytest.mark.parametrize("name", AWKWARD)
def test_git_runs_einlass_from_a_folder_of_any_name(signed_in, remote, name, beside):
    house = signed_in
    control = install_in(house, name, "git-credential-einlass")
    if not beside:
        (house.folder / name / "git-credential-einlass").unlink()
    code, _, errors = house.run(control, "setup", "git", "--yes")
    assert code == 0, errors
    code, _, errors = clone(house, remote)
    assert code == 0, errors
    assert git_findings(house) == ["ok"]
    assert not list(house.folder.rglob("ran"))
    house.do("setup", "git", "--undo", "--yes")
    assert b"einlass" not in gitconfig(house)


def git_findings(house):
    found = json.loads(house.run("einlassctl", "doctor", "--json")[1])["findings"]
    return [finding["verdict"] for finding in found if finding["check"] == "git"]


@pytest.mark.parametrize("command", ["{folder}/git-credential-einlass", "!'{folder}/einlassctl' credential git"])
def test_doctor_runs_the_helper_as_git_does_and_an_old_unquoted_command_can_be_replaced_and_taken_back(signed_in, remote, command):
    house = signed_in
    control = install_in(house, "it's mine", "git-credential-einlass")
    house.run(control, "setup", "git", "--yes")
    # As a former version has written and recorded it.
    name, folder = f"credential.{remote.address}.helper", house.folder / "it's mine"
    values = ["", command.format(folder=folder)]
    house.run("git", "config", "--global", "--unset-all", name)
    for value in values:
        house.run("git", "config", "--global", "--add", name, value)
    path = house.folder / ".config/einlass/setup.json"
    record = json.loads(path.read_text())
    next(setting for setting in record["git"]["settings"] if setting["name"] == name)["values"] = values
    path.write_text(json.dumps(record))
    assert clone(house, remote)[0] == 128
    assert git_findings(house) == ["problem"]
    former = gitconfig(house), path.read_bytes()
    house.do("setup", "git", "--undo", "--yes")
    assert b"einlass" not in gitconfig(house)
    (house.folder / ".gitconfig").write_bytes(former[0])
    path.write_bytes(former[1])
    house.run(control, "setup", "git", "--yes")
    assert clone(house, remote)[0] == 0 and git_findings(house) == ["ok"]
    house.do("setup", "git", "--undo", "--yes")
    assert b"einlass" not in gitconfig(house)


@pytest.mark.parametrize("value, verdict", [
    ("einlass", "ok"), ("einlass --sign-in", "ok"), ("!einlassctl credential git", "ok"), ("!f() { einlassctl credential git \"$@\"; }; f", "ok"),
    ("einlasss", "problem"), ("!einlassctl credential gti", "problem"), ("!true einlass", "problem"), ("!'einlass", "problem")])
def test_doctor_runs_a_helper_that_the_person_configured(signed_in, value, verdict):
    house = signed_in
    house.allow("git", "gitlab")
    house.run("git", "config", "--global", "credential.helper", value)
    # Another helper beside it is none of einlass's.
    house.run("git", "config", "--global", "--add", "credential.helper", "store")
    assert git_findings(house) == [verdict]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="skipped: there is no kubectl")
def test_kubectl_gets_the_command_and_its_arguments_whole(house):
    name = "ada, \"a\" $(x) 'b'"
    user = next(id for id, known in house.state()["gitlab"]["users"].items() if known["username"] == "ada")
    house.change({"gitlab": {"users": {user: {"username": name}}}})
    house.sign_in("gitlab", user=name)
    control = install_in(house, "it's, \"mine\"")
    (house.folder / "bin/einlassctl").unlink()
    code, _, errors = house.run(control, "setup", "kubectl", "gitlab/" + name, "--yes")
    assert code == 0, errors
    view = json.loads(house.run("kubectl", "config", "view", "--raw", "-o", "json")[1])
    (entry,) = view["users"]
    assert [entry["user"]["exec"]["command"], *entry["user"]["exec"]["args"]] == [control, "credential", "kubernetes", "gitlab/" + name]
    code, _, errors = house.run(control, "setup", "kubectl", "--undo", "--yes")
    assert code == 0 and "einlass" not in (house.folder / ".kube/config").read_text(), errors
