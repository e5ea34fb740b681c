"""The extension for VS Code in a stand-in for VS Code, with the real server at the sandbox."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

import hints
from conftest import CONFORMANCE, PROJECT

sys.path += [str(PROJECT / "Tests/Integrations"), str(Path(__file__).parent / "vscode")]
from driver import LINKS, PATIENCE, Host  # noqa: E402
from house import EINLASS, needs  # noqa: E402

pytestmark = needs("node", "tsc")
FAKE = Path(__file__).parent / "vscode/one_prompt.py"
#: For each kind of prompt: a prompt of the kit, and an answer.
KINDS = {entry["prompt"]["kind"]: entry for entry in json.loads((CONFORMANCE / "prompts.json").read_text())}
sys.path.append(str(CONFORMANCE))
from pseudo import shown as in_pseudo  # noqa: E402

LANGUAGES = pytest.mark.parametrize("language", [lambda show: show, in_pseudo], ids=["english", "pseudo"])
MAY_USE = "After the sign-in, “Visual Studio Code” may use your “GitHub” account."


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """The folder of the extension, packed and unpacked again."""
    clone = tmp_path_factory.mktemp("clone")
    for name in ("typescript", "vscode"):
        shutil.copytree(PROJECT / "clients" / name, clone / "clients" / name,
                        ignore=shutil.ignore_patterns("build"))
    shutil.copy(PROJECT / "LICENSE", clone)
    done = subprocess.run([clone / "clients/vscode/package"], cwd=clone, capture_output=True, text=True)
    target = clone / "clients/vscode/build/einlass.vsix"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")
    with zipfile.ZipFile(target) as archive:
        archive.extractall(clone / "installed")
    return clone / "installed/extension"


@pytest.fixture
def host(house, extension):
    with Host(house, extension, signInWith="browser") as host:
        host.answer("activate")
        host.lines.clear()
        yield host


@pytest.fixture
def signed_in(host):
    """Returns the session of ada."""
    call = host.call("createSession", [])
    host.on_page()
    session = host.answer(call)
    assert host.expect(event="einlass-github")["added"] == [session]
    return session


def become(house, name):
    """This person is at the browser now."""
    user = next(id for id, known in house.state()["github"]["users"].items() if known["username"] == name)
    house.change({"github": {"behaviour": {"user": user}}})


def accounts(house):
    return {one["username"]: one["account"] for one in json.loads(house.do("accounts", "list", "--json"))["accounts"]}


def owner(house, token):
    """Returns the user name of the owner of a token at GitHub, or None."""
    address = house.origin("github") + "/user"
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["login"]
    except urllib.error.HTTPError as error:
        assert error.code == 401, error
        return None


# The package


def test_the_manifest_declares_the_providers_of_einlass(house):
    known = json.loads(house.run("einlass", "--store", "memory", "call", "providers.list")[1])["result"]["providers"]
    declared = json.loads((PROJECT / "clients/vscode/package.json").read_text())["contributes"]["authentication"]
    assert declared == [
        {"id": f"einlass-{one['id']}", "label": f"{one['name']} (einlass)"} for one in known
        if not one.get("retired") and {"authorizationCode", "deviceCode"} & set(one["flowKinds"]) and not one.get("added")]


def test_the_commands_of_the_manifest_are_those_of_the_extension(host, extension):
    manifest = json.loads((extension / "package.json").read_text())
    commands = [one["command"] for one in manifest["contributes"]["commands"]]
    assert commands == ["einlass.signIn", "einlass.configure"]
    for command in commands:
        call = host.start(command=command)
        host.send(dialog=host.expect(kind="list")["dialog"])
        assert host.answer(call) is None


def test_each_provider_with_a_registration_is_registered(house, extension):
    configuration = json.loads(house.config.read_text())
    configuration["applications"]["*"] = {
        name: one for name, one in configuration["applications"]["*"].items() if name in ("github", "google", "flickr")}
    house.config.write_text(json.dumps(configuration))
    with Host(house, extension) as host:
        host.answer("activate")
        registered = [line for line in host.lines if "registered" in line]
    # Applications register themselves at DigitalOcean and Mastodon.
    assert sorted(registered, key=lambda line: line["registered"]) == [
        {"registered": f"einlass-{id}", "label": f"{name} (einlass)", "options": {"supportsMultipleAccounts": True}}
        for id, name in (("digitalocean", "DigitalOcean"), ("github", "GitHub"), ("google", "Google"), ("mastodon", "Mastodon"))]


# Sign-ins


def test_a_sign_in_by_page_is_a_session(house, host):
    assert host.answer(host.call("getSession", ["read:user"], {})) is None
    call = host.call("getSession", [], {"createIfNone": True})
    shown, notification = host.on_page()
    assert shown["title"] == "Sign in at “127.0.0.1” in your browser."
    assert shown["placeHolder"] == MAY_USE
    assert notification["cancellable"]
    assert notification["title"].startswith(f"Sign in at “127.0.0.1” in your browser. {MAY_USE} [")
    host.expect(gone=notification["dialog"])
    session = host.answer(call)
    assert session["account"] == {"id": accounts(house)["ada"], "label": "ada"}
    assert session["scopes"] == ["read:user", "user:email"]
    assert owner(house, session["accessToken"]) == "ada"
    assert host.expect(event="einlass-github") == {
        "event": "einlass-github", "added": [session], "removed": [], "changed": []}
    assert host.sessions(None) == host.sessions([]) == [session]
    assert host.sessions(["read:user"]) == [{**session, "scopes": ["read:user"]}]
    assert host.answer(host.call("getSession", [], {})) == session
    assert not [line for line in host.lines if "event" in line or line.get("kind") == "list"]


def test_the_example_of_the_readme_gets_a_token(house, host):
    text = (PROJECT / "clients/vscode/README.md").read_text()
    [example] = re.findall(r"^```js\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    call = host.start(example=example, returns="headers")
    host.on_page()
    scheme, token = host.answer(call)["Authorization"].split()
    assert (scheme, owner(house, token)) == ("Bearer", "ada")


def test_a_sign_in_by_a_code_is_a_session(house, extension, enter_code):
    with Host(house, extension, signInWith="deviceCode") as host:
        host.answer("activate")
        call = host.call("createSession", [])
        shown = host.expect(kind="progress")
        code, page = re.search(r" (\S+) – (\S+) \(until", shown["title"]).groups()
        assert MAY_USE in shown["title"]
        assert "Enter only a code that “Visual Studio Code” shows on a machine of yours." in shown["title"]
        links = host.links(shown)
        host.answer(host.follow(links["Copy the code"]))
        assert host.expect("copied")["copied"] == code
        host.answer(host.follow(links["Open 127.0.0.1"]))
        assert host.expect("opened")["opened"].startswith(page)
        enter_code(page, code)
        host.expect(gone=shown["dialog"])
        session = host.answer(call)
        assert host.expect(event="einlass-github")["added"] == [session]
        assert owner(house, session["accessToken"]) == "ada"


def test_auto_is_a_code_on_another_computer(house, extension, enter_code):
    with Host(house, extension, signInWith="auto", remoteName="ssh-remote") as host:
        host.answer("activate")
        call = host.call("createSession", [])
        shown = host.expect(kind="progress")
        assert "Enter this code" in shown["title"]
        host.send(dialog=shown["dialog"])
        assert host.failure(call)["name"] == "Canceled"


def test_the_address_of_a_page_that_did_not_load_is_pasted(house, host):
    call = host.call("createSession", [])
    host.choose("Open 127.0.0.1 in the browser")
    notification = host.expect(kind="progress")

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(Stay).open(host.expect("opened")["opened"])
    wrong = host.follow(host.links(notification)["Paste the address of a page that did not load"])
    here = "The address in the browser."
    by_itself = "The sign-in goes on by itself if the browser is on this machine."
    host.type("http://127.0.0.1:1/", prompt=f"{here} {by_itself}")
    host.answer(wrong)
    host.type(answer.value.headers["Location"],
              prompt=f"{here} That does not fit. The whole address begins with “http://”. {by_itself}")
    host.expect(gone=notification["dialog"])
    assert owner(house, host.answer(call)["accessToken"]) == "ada"


@pytest.mark.parametrize("when", ["list", "progress"])
def test_a_closed_dialog_cancels_the_sign_in(house, host, when):
    call = host.call("createSession", [])
    if when == "progress":
        host.choose("Open 127.0.0.1 in the browser")
    host.send(dialog=host.expect(kind=when)["dialog"])
    assert host.failure(call) == {"name": "Canceled", "message": "Canceled"}
    assert host.sessions(None) == []
    assert accounts(house) == {}
    assert not [line for line in host.lines if line.get("kind") == "error"]


# Several accounts, scopes and access


def test_several_accounts_are_several_sessions(house, host, signed_in):
    become(house, "grace")
    call = host.call("createSession", [])
    shown = host.expect(kind="list")
    assert shown["title"] == "Account of GitHub"
    assert [item["label"] for item in shown["items"]] == ["Ada Lovelace", "Sign in to another account"]
    host.send(dialog=shown["dialog"], answer=1)
    host.on_page()
    grace = host.answer(call)
    assert grace["account"]["label"] == "grace"
    assert host.expect(event="einlass-github")["added"] == [grace]
    assert [one["account"]["label"] for one in host.sessions(None)] == ["ada", "grace"]
    assert host.sessions(None, {"account": grace["account"]}) == [grace]
    assert host.sessions([], {"account": signed_in["account"]}) == [signed_in]


def test_a_sign_in_can_be_to_a_known_account(house, host, signed_in):
    call = host.call("createSession", [])
    host.choose("Ada Lovelace", title="Account of GitHub")
    assert host.answer(call) == signed_in
    assert not [line for line in host.lines if "event" in line]


def test_missing_scopes_are_signed_in_for(house, host, signed_in):
    assert host.sessions(["repo"]) == []
    call = host.call("getSession", ["repo"], {"createIfNone": True, "account": signed_in["account"]})
    host.on_page()
    session = host.answer(call)
    assert (session["id"], session["scopes"]) == (signed_in["id"], ["repo"])
    # VS Code looks for the requested scopes in `added`.
    while session not in host.expect(event="einlass-github")["added"]:
        pass
    assert host.sessions(["repo"]) == [session]
    assert {"read:user", "user:email", "repo"} <= set(host.sessions(None)[0]["scopes"])


def test_an_account_of_another_program_needs_access(house, host):
    house.sign_in("github")
    assert host.sessions(None) == []
    call = host.call("createSession", [])
    host.choose("Ada Lovelace", title="Account of GitHub")
    shown = host.choose("Don't allow, and remember it", title="“Visual Studio Code” wants to use your “GitHub” accounts.")
    assert [item["label"] for item in shown["items"]][:3] == ["Not now", "Allow", "Don't allow, and remember it"]
    problem = host.press("Ask Again", "error")
    assert "Forget the earlier answer, to be asked again (einlass: Sign In)." in problem["text"] and "einlassctl" not in problem["text"]
    host.choose("Allow", title="“Visual Studio Code” wants to use your “GitHub” accounts.")
    session = host.answer(call)
    assert owner(house, session["accessToken"]) == "ada"
    assert host.expect(event="einlass-github")["added"] == [session]


def test_an_error_without_its_button_fails_the_session(house, host):
    house.sign_in("github")
    call = host.call("createSession", [])
    host.choose("Ada Lovelace", title="Account of GitHub")
    host.choose("Don't allow, and remember it", title="“Visual Studio Code” wants to use your “GitHub” accounts.")
    host.press(None, "error")
    assert host.failure(call)["reason"] == "accessNotGranted"


def test_a_next_step_is_a_command_of_vs_code(extension):
    """Each method for which there is a command."""
    script = """
const [{ advice }, { EinlassError }] = ["vscode/src/text.js", "typescript/src/errors.js"].map(
  (file) => require(process.argv[1] + "/build/" + file));
const problems = JSON.parse(process.argv[2]);
console.log(JSON.stringify(problems.map(({ code, message, data }) => advice(new EinlassError(code, message, data)))));
console.log(advice(new EinlassError(1, "Ask accounts.list.", {})), advice(new EinlassError(1, "No.", { reason: "x", next: [
  { label: "Look", page: "https://a.example/" }, { label: "Close it", command: "chmod go-rwx '/a b'" }] })));
"""
    problems = json.dumps([hints.problem(*case) for case in hints.CASES])
    output = subprocess.check_output(["node", "-e", script, str(extension), problems], text=True)
    shown, others = output.splitlines()
    commands = json.loads((extension / "package.json").read_text())["contributes"]["commands"]
    titles = {f"{one['category']}: {one['title']}" for one in commands}
    for (_, message, _), text in zip(hints.CASES, json.loads(shown), strict=True):
        named = set(re.findall(r"einlass: [A-Z][a-z]*(?: [A-Z][a-z]*| a)*", text))
        assert named and named <= titles and hints.methods_in(text) == [], text
        assert text.startswith(f"{message} Look at it. Do it (einlass: "), text
    assert others == "Ask accounts.list. No. Look: https://a.example/. Close it (chmod go-rwx '/a b')."


# Changes by other processes


def test_access_by_another_process_adds_and_removes_sessions(house, host):
    house.sign_in("github")
    house.allow("vscode", "github")
    [added] = host.expect(event="einlass-github")["added"]
    assert (added["id"], owner(house, added["accessToken"])) == (accounts(house)["ada"], "ada")
    house.do("access", "reset", "vscode", "github")
    [removed] = host.expect(event="einlass-github")["removed"]
    assert removed["id"] == added["id"]
    assert host.sessions(None) == []


def test_a_removal_by_another_process_removes_the_session(house, host, signed_in):
    house.do("accounts", "remove", "ada", "--yes")
    assert host.expect(event="einlass-github") == {
        "event": "einlass-github", "added": [], "changed": [], "removed": [{**signed_in, "accessToken": ""}]}
    assert host.sessions(None) == []


def test_a_session_of_the_start_is_removed_too(house, extension):
    house.sign_in("github")
    house.allow("vscode", "github")
    with Host(house, extension) as host:
        host.answer("activate")
        assert len(host.sessions(None)) == 1
        house.do("accounts", "sign-out", "ada", "--yes")
        [removed] = host.expect(event="einlass-github")["removed"]
        assert removed["id"] == accounts(house)["ada"]


def test_a_refused_token_is_replaced(house, host):
    user = next(id for id, known in house.state()["google"]["users"].items() if known["username"] == "ada")
    house.change({"google": {"behaviour": {"consent": "allow", "user": user}}})
    call = host.call("createSession", [], provider="einlass-google")
    host.on_page()
    session = host.answer(call)
    assert host.expect(event="einlass-google")["added"] == [session]
    code, output, _ = house.run("einlass", "call", "--application", "vscode", "credentials.reject", "-",
                                input=json.dumps({"account": session["id"]}))
    assert code == 0, output
    [fresh] = host.sessions(None, provider="einlass-google")
    assert fresh["accessToken"] != session["accessToken"]
    assert host.expect(event="einlass-google") == {
        "event": "einlass-google", "added": [], "removed": [], "changed": [fresh]}


def test_without_the_network_no_account_is_signed_out(house, host):
    user = next(id for id, known in house.state()["google"]["users"].items() if known["username"] == "ada")
    house.change({"google": {"behaviour": {"consent": "allow", "user": user}}})
    call = host.call("createSession", [], provider="einlass-google")
    host.on_page()
    session = host.answer(call)
    house.run("einlass", "call", "--application", "vscode", "credentials.reject", "-",
              input=json.dumps({"account": session["id"]}))
    house.change({"faults": {"down": {"path": "/token", "answer": "status", "status": 503}}})
    assert host.failure(host.call("getSessions", None, provider="einlass-google"))["reason"] == "providerFailure"


# Removal


def test_sign_out_of_vs_code_leaves_the_account(house, host, signed_in):
    become(house, "grace")
    call = host.call("createSession", [])
    host.choose("Sign in to another account")
    host.on_page()
    grace = host.answer(call)
    host.expect(event="einlass-github")
    call = host.call("removeSession", signed_in["id"])
    warning = host.press("Sign Out of VS Code", "warning")
    assert (warning["text"], warning["modal"]) == ("Sign out of ada at GitHub?", True)
    assert warning["buttons"] == ["Sign Out of VS Code", "Remove the Account"]
    host.answer(call)
    assert [one["id"] for one in host.expect(event="einlass-github")["removed"]] == [signed_in["id"]]
    assert host.sessions(None) == [grace]
    assert set(accounts(house)) == {"ada", "grace"}
    call = host.call("removeSession", grace["id"])
    host.press("Sign Out of VS Code", "warning")
    host.answer(call)
    assert host.sessions(None) == []
    assert owner(house, signed_in["accessToken"]) == "ada"


def test_remove_the_account_revokes_its_token(house, host, signed_in):
    call = host.call("removeSession", signed_in["id"])
    host.press("Remove the Account", "warning")
    host.answer(call)
    assert [one["id"] for one in host.expect(event="einlass-github")["removed"]] == [signed_in["id"]]
    assert accounts(house) == {}
    assert owner(house, signed_in["accessToken"]) is None


def test_a_removal_can_be_cancelled(house, host, signed_in):
    call = host.call("removeSession", signed_in["id"])
    host.press(None, "warning")
    assert host.failure(call)["name"] == "Canceled"
    assert host.sessions(None) == [signed_in]


# Registrations, and the end of einlass


def test_a_provider_without_a_registration_is_set_up(house, extension):
    configuration = json.loads(house.config.read_text())
    registration = configuration["applications"]["*"].pop("github")
    house.config.write_text(json.dumps(configuration))
    with Host(house, extension, signInWith="browser") as host:
        host.answer("activate")
        assert not [line for line in host.lines if line.get("registered") == "einlass-github"]
        call = host.start(command="einlass.signIn")
        shown = host.choose("GitHub", title="Sign in")
        [github] = [item for item in shown["items"] if item["label"] == "GitHub"]
        assert github["description"] == "needs a registration of yours"
        prompt = host.type(registration["clientId"], title="Your registration at GitHub")["prompt"]
        assert "/settings/applications/new" in prompt and "1. Type a name" in prompt, prompt
        assert host.type(registration["clientSecret"], title="Your registration at GitHub")["password"]
        host.expect(registered="einlass-github")
        host.on_page()
        assert host.answer(call) is None
        assert len(host.sessions(None)) == 1
        house.do("providers", "configure", "github", "--remove")
        host.expect(unregistered="einlass-github")


def test_the_einlass_of_the_package_is_the_last_choice(house, extension):
    del house.environment["EINLASS"]
    house.environment["PATH"] = "/usr/bin:/bin"
    own = extension / "bin/einlass"
    own.parent.mkdir()
    with Host(house, extension) as host:
        assert host.press(None, "error")["text"].startswith(hints.MISSING)
    try:
        own.symlink_to(EINLASS)
        with Host(house, extension) as host:
            host.answer("activate")
    finally:
        shutil.rmtree(own.parent)


def test_an_einlass_that_is_missing_is_named(house, extension):
    missing = str(house.folder / "missing")
    with Host(house, extension, path=missing) as host:
        problem = host.press("Open Settings", "error")
        assert problem["text"].startswith(f"{missing} cannot be started")
        assert host.expect(executed="workbench.action.openSettings")["values"] == ["einlass.path"]
        host.answer("activate")
    house.environment["EINLASS"] = missing
    with Host(house, extension) as host:
        assert host.press(None, "error")["text"].startswith(f"The variable EINLASS names {missing}")


def test_an_einlass_that_ends_is_started_again(house, extension, tmp_path):
    program = tmp_path / "einlass"
    program.write_text(f'#!/bin/sh\necho $$ >"{tmp_path}/process"\nexec "{house.environment["EINLASS"]}" "$@"\n')
    program.chmod(0o700)
    with Host(house, extension, path=str(program), signInWith="browser") as host:
        host.answer("activate")
        for _ in range(2):
            subprocess.run(["kill", "-KILL", (tmp_path / "process").read_text().strip()], check=True)
            assert host.press("Start Again", "error")["text"] == "einlass ended before it answered (exit code 137)."
            assert host.sessions(None) == []
        call = host.call("createSession", [])
        host.on_page()
        session = host.answer(call)
        assert host.expect(event="einlass-github")["added"] == [session]
        subprocess.run(["kill", "-KILL", (tmp_path / "process").read_text().strip()], check=True)
        ended = host.expect(kind="error", buttons=["Start Again"])
        house.do("access", "reset", "vscode", "github")
        host.send(dialog=ended["dialog"], answer="Start Again")
        assert [one["id"] for one in host.expect(event="einlass-github")["removed"]] == [session["id"]]


@pytest.fixture
def two(house, tmp_path):
    """Returns a function that writes two programs: the former ends when `end` is there, the next is einlass."""
    def write(former):
        for name, text in (("former", former), ("next", f'exec "{house.environment["EINLASS"]}" "$@"')):
            (tmp_path / name).write_text(f'#!/bin/sh\necho $$ >>"{tmp_path}/{name}.pid"\n{text}\n')
            (tmp_path / name).chmod(0o700)
        with open(tmp_path / "former", "a") as file:
            file.write(f'until [ -e "{tmp_path}/end" ]; do sleep 0.05; done\n')
        return tmp_path
    return write


def test_the_end_of_the_former_einlass_leaves_the_next_one(house, extension, two):
    folder = two(f'"{house.environment["EINLASS"]}" "$@"')
    with Host(house, extension, path=str(folder / "former")) as host:
        host.answer("activate")
        host.send(settings={"einlass.path": str(folder / "next")})
        assert host.sessions(None) == []  # by the next one, while the former has not ended
        (folder / "end").touch()
        deadline = time.monotonic() + PATIENCE
        while Path(f"/proc/{(folder / 'former.pid').read_text().strip()}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert host.sessions(None) == []
        subprocess.run(["kill", "-KILL", (folder / "next.pid").read_text().strip()], check=True)
        assert host.press(None, "error")["text"] == "einlass ended before it answered (exit code 137)."


def test_a_restart_during_the_start_leaves_the_next_one(house, extension, two):
    folder = two("read line; echo started >&2")
    with Host(house, extension, path=str(folder / "former")) as host:
        host.expect(log="started")
        host.send(settings={"einlass.path": str(folder / "next")})
        host.start(command="einlass.signIn")
        host.choose("GitHub", title="Sign in")
        (folder / "end").touch()
        host.expect(registered="einlass-github")
        host.answer("activate")
        assert len((folder / "next.pid").read_text().splitlines()) == 1
        assert not [line for line in host.lines if line.get("kind") == "error"]


def test_the_end_of_vs_code_during_the_start_ends_einlass(house, extension, two):
    """The program never answers, and ends with its input."""
    folder = two(f'echo started >&2; cat >"{house.folder}/input"; echo ended >"{house.folder}/ended"; exit')
    with Host(house, extension, path=str(folder / "former")) as host:
        host.expect(log="started")
    assert (house.folder / "ended").read_text() == "ended\n"
    assert [line for line in host.lines if line.get("kind") == "error"] == []


def test_a_program_that_does_not_answer_is_named(house, extension):
    with Host(house, extension, path="/bin/cat") as host:
        problem = host.expect(kind="error")
        assert problem["text"] == "/bin/cat did not answer within 10 s, so it may be another program."


def test_a_failed_start_again_is_shown_and_offered_again(house, extension, tmp_path):
    program = tmp_path / "einlass"
    works = f'echo $$ >"{tmp_path}/process"; exec "{house.environment["EINLASS"]}" "$@"'

    def write(text):
        program.with_suffix(".new").write_text(f"#!/bin/sh\n{text}\n")
        program.with_suffix(".new").chmod(0o700)
        program.with_suffix(".new").rename(program)

    write(works)
    with Host(house, extension, path=str(program)) as host:
        host.answer("activate")
        write("read line; exit 3")
        subprocess.run(["kill", "-KILL", (tmp_path / "process").read_text().strip()], check=True)
        assert host.press("Start Again", "error")["text"] == "einlass ended before it answered (exit code 137)."
        problem = host.expect(kind="error")
        assert problem["text"] == "einlass ended before it answered (exit code 3)."
        write(works)
        host.send(dialog=problem["dialog"], answer="Start Again")
        assert host.sessions(None) == []


# The other kinds of prompt, at an einlass that opens one of them

PERSON = {
    "grantAccess": [("press", 0)], "selectAccount": [("choose", "grace")], "confirmAccount": [("press", 0)],
    "replaceAccount": [("choose", "Ada Lovelace")],
    "openURL": [("choose", "Open github.example in the browser"), ("type", "com.example.editor:/callback?code=a&b=c")],
    "enterVerifier": [("type", "1234567")],
    "enterPassphrase": [("type", "ä \\ \" 😀"), ("type", "another"), ("type", "ä \\ \" 😀")],
    "enterPassword": [("type", "ada"), ("type", "ä \\ \" 😀"), ("choose", "Yes")],
    "trustCertificate": [("press", 0)],
}


@pytest.fixture
def at_fake(house, extension, tmp_path):
    """Returns a function that starts the extension at an einlass whose sign-in opens this prompt, and signs in."""
    hosts, file = [], tmp_path / "task.json"

    def start(prompt, **more):
        file.write_text(json.dumps({"prompt": prompt, **more}))
        program = tmp_path / "einlass"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} "{FAKE}" "{file}"\n')
        program.chmod(0o700)
        host = Host(house, extension, path=str(program))
        hosts.append(host)
        host.answer("activate")
        return host, host.call("createSession", []), lambda: json.loads(file.read_text())["answer"]

    yield start
    for host in hosts:
        host.__exit__()


@LANGUAGES
@pytest.mark.parametrize("kind", PERSON)
def test_a_prompt_of_each_kind_is_answered(at_fake, kind, language):
    show = language(KINDS[kind]["prompt"]["show"])
    prompt = {**KINDS[kind]["prompt"], "show": show}
    if kind == "selectAccount":
        prompt["more"] = False
    host, call, answer = at_fake(prompt)
    for step, text in PERSON[kind]:
        if step == "press":
            shown = host.choose(show["buttons"][text]["label"])
        else:
            shown = getattr(host, step)(text)
        assert shown["title"] == show["title"]
        if kind in ("enterPassphrase", "enterPassword") and step == "type":
            assert shown.get("password", False) == (text != "ada")
    assert host.failure(call)["name"] == "Canceled"
    assert answer() == {"prompt": "p_1", **KINDS[kind]["answer"]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_of_each_kind_is_cancelled(at_fake, kind):
    host, call, answer = at_fake(KINDS[kind]["prompt"])
    host.send(dialog=host.expect("dialog")["dialog"])
    assert host.failure(call)["name"] == "Canceled"
    assert answer() == {"prompt": "p_1", "action": "cancel"}


def test_a_field_of_an_unknown_type_is_hidden(at_fake):
    show = {"title": "?", "fields": [{"name": "pin", "label": "PIN", "type": "digits"}], "buttons": []}
    host, call, answer = at_fake({"kind": "enterPassword", "show": show})
    assert host.type("12")["password"]
    assert host.failure(call)["name"] == "Canceled"
    assert answer() == {"prompt": "p_1", "action": "accept", "pin": "12"}


def test_a_text_of_another_kind_is_asked_for_at_once(at_fake):
    show = {"title": "?", "fields": [{"name": "username", "label": "Name", "type": "text"}], "buttons": []}
    host, call, answer = at_fake({"kind": "enterPassword", "show": show})
    host.type("ada")
    assert host.failure(call)["name"] == "Canceled"
    assert answer() == {"prompt": "p_1", "action": "accept", "username": "ada"}


def test_a_bracket_of_a_text_is_in_no_link(at_fake):
    show = KINDS["deviceCode"]["prompt"]["show"]
    prompt = {**KINDS["deviceCode"]["prompt"], "show": {**show, "title": "A [b] [c", "text": ["“d [e”"]}}
    host, call, _ = at_fake(prompt)
    shown = host.expect(kind="progress")
    assert list(host.links(shown)) == ["Copy the code", "Open github.example"]
    assert "A [b] (c" in shown["title"] and "“d (e”" in shown["title"]
    host.send(dialog=shown["dialog"])
    assert host.failure(call)["name"] == "Canceled"


def test_a_sign_in_is_a_new_account_beside_more_accounts_than_those_shown(at_fake):
    prompt = KINDS["replaceAccount"]["prompt"]
    host, call, answer = at_fake(prompt)
    shown = host.choose(prompt["show"]["buttons"][0]["label"])
    assert [item["label"] for item in shown["items"]][:2] == ["A new account", "Ada Lovelace"]  # Enter replaces none
    assert host.failure(call)["name"] == "Canceled"
    assert answer() == {"prompt": "p_1", "action": "accept"}


@pytest.mark.parametrize("button, action", [(1, "decline"), (2, "cancel")])
def test_a_grant_shows_its_sentences_and_is_refused(at_fake, button, action):
    prompt = KINDS["grantAccess"]["prompt"]
    host, _, answer = at_fake(prompt)
    shown = host.choose(prompt["show"]["buttons"][button]["label"])
    assert shown["placeHolder"] == " ".join(prompt["show"]["text"])
    host.expect("answer", answer=1)
    assert answer() == {"prompt": "p_1", "action": action}


@pytest.mark.parametrize("length, rows", [(80, 2), (81, 3)])
def test_a_text_that_fits_above_a_list_is_in_no_row(at_fake, length, rows):
    show = {**KINDS["confirmAccount"]["prompt"]["show"], "text": ["x" * length]}
    host, _, answer = at_fake({**KINDS["confirmAccount"]["prompt"], "show": show})
    shown = host.choose("Continue")
    assert (shown["placeHolder"], len(shown["items"])) == ("x" * length, rows)
    host.expect("answer", answer=1)
    assert answer() == {"prompt": "p_1", "action": "accept"}


@LANGUAGES
def test_a_warning_stands_before_the_other_sentences(at_fake, language):
    show = language({**KINDS["trustCertificate"]["prompt"]["show"], "warning": "The server has another key than before."})
    host, _, answer = at_fake({**KINDS["trustCertificate"]["prompt"], "show": show})
    host.choose(show["text"][2])  # the key has a row of its own, which is no answer
    shown = host.choose(show["buttons"][1]["label"])
    assert shown["placeHolder"] == " ".join([show["warning"], *show["text"]])
    rows = [show["buttons"][1]["label"], show["buttons"][0]["label"], show["warning"], *show["text"]]
    assert [item["label"] for item in shown["items"]] == rows  # the default first, which Enter chooses
    host.expect("answer", answer=1)
    assert answer() == {"prompt": "p_1", "action": "cancel"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_dialog_goes_away_with_its_prompt(at_fake, tmp_path, kind):
    host, call, answer = at_fake(KINDS[kind]["prompt"])
    shown = host.expect("dialog")
    os.kill(int((tmp_path / "task.pid").read_text()), signal.SIGUSR1)
    assert host.expect(gone=shown["dialog"])["kind"] == shown["kind"]
    assert host.failure(call)["name"] == "Canceled"
    with pytest.raises(KeyError):
        answer()


def test_the_text_of_a_provider_is_text(at_fake):
    evil = "[GitHub](command:evil) $(trash) \x1b[31m\u202e"
    show = {"title": evil, "text": [evil], "warning": evil, "code": evil, "page": {"url": evil, "host": evil},
            "buttons": [{"action": "cancel", "label": evil}]}
    host, _, _ = at_fake({**KINDS["deviceCode"]["prompt"], "show": show})
    shown = host.expect(kind="progress")["title"]
    assert [target.partition("?")[0] for _, target, *_ in LINKS.findall(shown)] == ["command:einlass.link"] * 2
    assert "$(" not in shown and shown.isprintable()
    assert LINKS.findall(evil), "the control: the text is a link by itself"
