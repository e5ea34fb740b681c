"""The TypeScript client: its types, the cases for clients, and sign-ins with the real server at the sandbox."""
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import hints
from conftest import PROJECT

sys.path.append(str(PROJECT / "Tests/Integrations"))
from house import needs  # noqa: E402

pytestmark = needs("node", "tsc")
HERE = Path(__file__).parent / "typescript"
DOCUMENT = json.loads((PROJECT / "protocol/openrpc.json").read_text())


def blocks(language):
    text = (PROJECT / "clients/typescript/README.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def compile_strictly(folder, *files):
    """Compiles as a program that uses the library does. Everything that tsc prints is a fault."""
    options = ["--strict", "--target", "es2021", "--lib", "es2021,dom", "--module", "commonjs"]
    done = subprocess.run(["tsc", *options, *files], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The library in a clone, built as its README says, and the folder of a program that has installed it."""
    clone = tmp_path_factory.mktemp("clone")
    leave = shutil.ignore_patterns("build")
    shutil.copytree(PROJECT / "clients/typescript", clone / "clients/typescript", ignore=leave)
    shutil.copytree(HERE, clone / "Tests/Clients/typescript")
    done = subprocess.run(["tsc", "-p", "clients/typescript"], cwd=clone, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    (clone / "program/node_modules").mkdir(parents=True)
    (clone / "program/node_modules/einlass").symlink_to(clone / "clients/typescript")
    return clone


@pytest.fixture
def program(clone, house):
    """Returns a function that starts a JavaScript program which uses the library: its text, or the name of its file."""
    started = []

    def start(program):
        if "\n" in program:
            (clone / "program/program.mjs").write_text(program)
            program = "program.mjs"
        started.append(house.start("node", str(clone / "program" / program)))
        return started[-1]

    yield start
    for process in started:
        process.kill()  # it has ended, unless the test has failed
        process.communicate()


def finish(process):
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, ""), output
    return output.splitlines()


# The types


def test_each_method_has_its_types():
    text = (PROJECT / "clients/typescript/src/protocol.ts").read_text()
    requests = {method["name"] for method in DOCUMENT["methods"] if "result" in method}
    heard = {method["name"] for method in DOCUMENT["methods"] if method["x-direction"] == "serverToClient"}
    for map_, names in (("Requests", requests), ("Notifications", heard)):
        body = text.split(f"export interface {map_} {{")[1].split("\n}")[0]
        assert set(re.findall(r'^  "([^"]+)":', body, re.MULTILINE)) == names


def test_a_program_has_the_types_of_each_request_prompt_and_notification(clone):
    shutil.copy(HERE / "types.ts", clone / "program")
    compile_strictly(clone / "program", "types.ts", "--noEmit")


def test_the_control_a_wrong_type_is_an_error(clone):
    (clone / "program/wrong.ts").write_text(
        'import { Client } from "einlass";\nnew Client().request("accounts.list", { provider: 1 });\n')
    with pytest.raises(AssertionError, match="is not assignable to type 'string"):
        compile_strictly(clone / "program", "wrong.ts", "--noEmit")


# The cases for clients


def test_each_case_of_the_kit_passes(clone, hold):
    hold("node", clone / "Tests/Clients/typescript/adapter.js")


# With the real server


def test_the_example_signs_in_on_a_page(house, program):
    [example] = blocks("js")
    assert len(example.splitlines()) <= 18
    shown, line = finish(program(example))
    assert shown.startswith("Sign in on this page: http://") and line == "Signed in: Ada Lovelace"
    pages = house.count("github", "GET", "/login/oauth/authorize")
    assert pages == 1
    # The sign-in has given access, so the same program is asked nothing now.
    assert finish(program(example)) == ["Signed in: Ada Lovelace"]
    assert house.count("github", "GET", "/login/oauth/authorize") == pages


def test_the_example_shows_its_page_without_xdg_open(program):
    [example] = blocks("js")
    process = program(example.replace('"xdg-open"', '"xdg-open-missing"'))
    urllib.request.urlopen(process.stdout.readline().split()[-1]).close()
    assert finish(process) == ["Signed in: Ada Lovelace"]


def test_the_example_signs_in_by_a_code(house, clone, program, enter_code):
    [example] = blocks("ts")
    (clone / "program/program.ts").write_text(example)
    [command] = [line[2:] for line in "".join(blocks("console")).splitlines() if line.endswith("program.ts")]
    done = subprocess.run(command.split(), cwd=clone / "program", capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    process = program("program.js")
    code, page = re.fullmatch(r"Enter the code (\S+) at (\S+)\.\n", process.stdout.readline()).groups()
    assert process.stdout.readline() == "My Script may then use this account.\n"
    enter_code(page, code)
    [line] = finish(process)
    account = json.loads(house.do("accounts", "list", "--json"))["accounts"][0]["account"]
    assert line == f"Signed in: {account}"


START = """
import { Client, EinlassError, ServerGone, findEinlass } from "einlass";
const say = (...words) => console.log(...words);
async function open(prompts, name = "tester") {
  const einlass = new Client({ prompts });
  await einlass.initialize(name);
  return einlass;
}
"""


def test_a_signal_cancels_a_sign_in_and_its_dialog_goes_away(program, enter_code):
    assert finish(program(START + """
const abort = new AbortController();
const openURL = (prompt, closed) => {
  closed.addEventListener("abort", () => say("the dialog is gone"));
  abort.abort();
  return new Promise(() => undefined);
};
const einlass = await open({ openURL });
await einlass.request("accounts.signIn", { provider: "github" }, { signal: abort.signal })
  .catch((error) => say(error instanceof EinlassError, error.reason, error.code));
await einlass.request("accounts.list", {}, { signal: abort.signal }).catch((error) => say(error.reason));
say((await einlass.request("accounts.list")).accounts.length);
say(await einlass.close());
""")) == ["the dialog is gone", "true cancelled -32800", "cancelled", "0", "0"]


def test_a_person_who_closes_the_dialog_cancels_the_sign_in(program):
    assert finish(program(START + """
const einlass = await open({ openURL: () => undefined });
await einlass.request("accounts.signIn", { provider: "github" }).catch((error) => say(error.reason, error.next[0].label));
await einlass.close();
""")) == ["userCanceled Start again, and answer the question"]


def test_a_next_step_is_followed(program):
    assert finish(program(START + """
const einlass = await open({ openURL: ({ url }) => fetch(url).then(() => true) });
const wish = { provider: "github", selection: "whenMany" };
const error = await einlass.request("auth.perform", wish).catch((error) => error);
say(error.reason, error.nextRequest.method, error.nextRequest.params.provider);
await einlass.follow(error.nextRequest);
say((await einlass.request("auth.perform", wish)).credential.name);
await einlass.close();
""")) == ["noSystemAccount accounts.signIn github", "Ada Lovelace"]


def test_changes_by_another_process_are_heard(house, program):
    process = program(START + """
const einlass = await open({});
einlass.on("accounts.changed", () => say("never")) ();
einlass.on("accounts.changed", ({ changes }) => {
  say(changes[0].change);
  einlass.close();
});
say("ready");
""")
    assert process.stdout.readline() == "ready\n"
    house.sign_in("github")
    assert finish(process) == ["added"]


def test_the_end_of_einlass_is_an_error_with_its_exit_code(house, program):
    fake = house.folder / "bin/dies"
    fake.write_text("#!/bin/sh\nread line\necho 'the last words' >&2\nexit 70\n")
    fake.chmod(0o700)
    assert finish(program(START + f"""
const einlass = new Client({{ command: ["{fake}"] }});
const error = await einlass.initialize("tester").catch((error) => error);
say(error instanceof ServerGone, error.exitCode, error.log.join());
say(await einlass.request("accounts.list").catch(({{ reason }}) => reason), await einlass.close());
const none = new Client({{ command: ["{fake}-missing"] }});
say(await none.initialize("tester").catch(({{ message }}) => message));
say(await none.close());
""")) == ["true 70 the last words", "serverGone 70", 
                    f"{fake}-missing cannot be started: spawn {fake}-missing ENOENT", "undefined"]


def test_a_program_that_does_not_answer_is_named(program):
    """It repeats the request, which is no answer."""
    assert finish(program(START + """
const einlass = new Client({ command: ["/bin/cat"] });
const error = await einlass.initialize("tester", {}, 300).catch((error) => error);
say(error instanceof EinlassError, error.reason, error.message);
say(await einlass.close());
""")) == ["true notStarted /bin/cat did not answer within 0.3 s, so it may be another program.", "0"]


@pytest.fixture
def fake(house):
    """Returns a function that writes a program in sh in place of einlass."""
    def write(text):
        path = house.folder / "bin/fake"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path
    return write


# A process that einlass has started, and that outlives it, has its output. It ends with the test.
HOLDER = "(while kill -0 {parent} 2>/dev/null; do sleep 0.2; done) &"


@pytest.mark.parametrize("text, code", [
    ("read line; exit 3", 3), ("trap '' TERM; while true; do sleep 0.1; done", 137)])
def test_close_ends_although_another_process_holds_the_output(fake, program, text, code):
    path = fake(HOLDER.format(parent="$PPID") + "\n" + text)
    assert finish(program(START + f"""
const einlass = new Client({{ command: ["{path}"] }});
einlass.request("accounts.list").catch(({{ reason, exitCode }}) => say(reason, exitCode));
say(await einlass.close(300));
""")) == [f"serverGone {code}", str(code)]


def test_the_end_is_noticed_although_another_process_holds_the_output(fake, program):
    path = fake(HOLDER.format(parent="$PPID") + """
read line
echo '{"jsonrpc": "2.0", "id": 1, "result": {"accounts": [7]}}'
exit 70""")
    assert finish(program(START + f"""
const einlass = new Client({{ command: ["{path}"] }});
const first = einlass.request("accounts.list");
const second = einlass.request("accounts.list");
say((await first).accounts.join());
say(await second.catch(({{ exitCode }}) => exitCode));
""")) == ["7", "70"]


def test_the_last_line_of_the_log_needs_no_line_feed(fake, program):
    path = fake("read line; echo first >&2; printf last >&2; exit 70")
    assert finish(program(START + f"""
const einlass = new Client({{ command: ["{path}"], log: say }});
say((await einlass.initialize("tester").catch((error) => error)).log.join());
""")) == ["first", "last", "first,last"]


@pytest.mark.parametrize("log", ["() => { throw new Error(); }", "async () => { throw new Error(); }"])
def test_a_log_that_fails_does_not_end_the_program(fake, program, log):
    path = fake("""read line; echo words >&2; echo 'no JSON'
echo '{"jsonrpc": "2.0", "id": 1, "result": 7}'; read line""")
    assert finish(program(START + f"""
const einlass = new Client({{ command: ["{path}"], log: {log} }});
say(await einlass.initialize("tester"));
say(await einlass.close());
""")) == ["7", "1"]


def test_a_prompt_without_a_function_is_not_declared(program):
    assert finish(program(START + """
const einlass = await open({ deviceCode: () => undefined });
await einlass.request("accounts.signIn", { provider: "github", flowKind: "authorizationCode" })
  .catch(({ reason, data }) => say(reason, data.prompts.map(({ kind }) => kind).includes("openURL")));
await einlass.close();
""")) == ["interactionRequired true"]


def found(house, clone, folder=None, **environment):
    """Returns the path or the message of findEinlass, in a program of this folder, with only these variables."""
    script = (folder or clone / "program") / "find.cjs"
    script.write_text("""
const { findEinlass } = require(process.env.LIBRARY);
try { console.log(findEinlass()); } catch (error) { console.log(error.message); }
""")
    variables = {"HOME": str(house.folder), "LIBRARY": str(clone / "clients/typescript"), **environment}
    return subprocess.run([shutil.which("node"), script], env=variables, capture_output=True, text=True).stdout.strip()


def test_einlass_is_found_in_the_order_of_the_guide(house, clone, tmp_path):
    folders = {name: tmp_path / name for name in ("named", "path", "beside")}
    folders["home"] = house.folder / ".local/bin"
    for folder in folders.values():
        folder.mkdir(parents=True)
        (folder / "einlass").write_text("#!/bin/sh\n")
        (folder / "einlass").chmod(0o755)
    places = {"folder": folders["beside"], "PATH": str(folders["path"])}
    named = str(folders["named"] / "einlass")
    assert found(house, clone, **places, EINLASS=named) == named
    assert found(house, clone, **places, EINLASS="einlass") == str(folders["path"] / "einlass")
    assert found(house, clone, **places) == str(folders["path"] / "einlass")
    (folders["path"] / "einlass").chmod(0o644)
    assert found(house, clone, **places) == str(folders["beside"] / "einlass")
    (folders["beside"] / "einlass").unlink()
    assert found(house, clone, **places) == str(folders["home"] / "einlass")
    (folders["home"] / "einlass").unlink()
    assert found(house, clone, **places).startswith(hints.MISSING)
    missing = f"{named}-missing"
    message = f"The variable EINLASS names {missing}, which is no program. Correct or remove it."
    assert found(house, clone, **{**places, "PATH": str(folders["named"])}, EINLASS=missing) == message
