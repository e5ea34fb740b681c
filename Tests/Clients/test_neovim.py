"""The Neovim client without a person: the cases of the kit, each kind of question, tokens for plugins, health, help.

    python -m pytest Tests/Clients/test_neovim.py

EINLASS_NEOVIM names another Neovim than that of the PATH.
"""
import contextlib
import json
import re
import sys
import time
from pathlib import Path

import pytest

from house import PROJECT, make_certificate, missing, open_gate, server_context

FOLDER = Path(__file__).parent / "neovim"
sys.path += [str(FOLDER), str(Path(__file__).parent)]
import hints  # noqa: E402
from questions import ADA, GRACE, LANGUAGES, PROMPTS, QUESTIONS, prompt  # noqa: E402
from screen import NVIM, PLUGIN, blocks, hold_pages, lua, run_lua, start_lua, visit, write  # noqa: E402

pytestmark = pytest.mark.skipif(bool(missing(NVIM)), reason=f"skipped: there is no {NVIM}")


# The protocol.

def test_the_client_passes_every_case(hold):
    hold(NVIM, "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"set rtp^={PLUGIN}",
         "-c", f"luafile {FOLDER}/adapter.lua")


def plant(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "einlass").write_text("#!/bin/sh\n")
    (folder / "einlass").chmod(0o755)
    return str(folder / "einlass")


def test_the_order_of_the_places(house, tmp_path):
    (house.folder / "bin/einlass").unlink()
    own = tmp_path / "own"
    own.mkdir()
    (own / "nvim").symlink_to("/usr/bin/env")
    named, path = plant(tmp_path / "named"), plant(tmp_path / "path")
    beside, home = plant(own), plant(house.folder / ".local/bin")
    script = f'vim.v = {{ progpath = "{own}/nvim" }}\nprint(require("einlass.rpc").find())'
    search = house.environment["PATH"]

    def found(**variables):
        return lua(house, script, env={"EINLASS": "", **variables})[1].strip()

    assert found(EINLASS=named, PATH=f"{tmp_path}/path:{search}") == named
    assert found(PATH=f"{tmp_path}/path:{search}") == path
    assert found() == beside
    Path(beside).unlink()
    assert found() == home
    Path(home).unlink()
    assert hints.MISSING in found()
    wrong = found(EINLASS="/nowhere", PATH=f"{tmp_path}/path:{search}")
    assert "The variable EINLASS names /nowhere, which is no program" in wrong


def test_a_next_step_is_a_command_of_neovim(house):
    """Each method for which there is a command."""
    cases = json.dumps([hints.problem(*case) for case in hints.CASES])
    script = '''
local einlass, rpc, shown = require("einlass"), require("einlass.rpc"), {}
vim.notify = function(text) table.insert(shown, text) end
for _, case in ipairs(vim.json.decode(vim.env.CASES)) do
  einlass.report(rpc.problem(case.code, case.message, case.data))
end
io.write(vim.json.encode(shown))'''
    shown = json.loads(lua(house, script, env={"CASES": cases})[0])
    for (reason, message, _), text in zip(hints.CASES, shown, strict=True):
        assert ":Einlass " in text and hints.methods_in(text) == [], text
        assert text.startswith(f"einlass: {message}\nLook at it.\nDo it (:"), text
    assert ":Einlass access github allow neovim" in shown[1]


def test_the_sign_in_of_a_next_step_asks_for_the_server(house):
    script = '''
local einlass, asked = require("einlass"), nil
einlass.setup({ interactive = true })
vim.ui.select = function(items, _, chosen) chosen(items[1], 1) end
vim.ui.input = function(options) asked = options.prompt end
einlass.token({ provider = "fcsdk", interactive = false }, function(_, problem) einlass.report(problem) end)
vim.wait(30000, function() return asked end)
io.write(tostring(asked))'''
    assert lua(house, script)[0] == "Server of FCSDK server: "


def test_a_next_step_has_its_page_or_its_command_behind_it(house):
    script = '''
vim.notify = function(text) io.write(text) end
local data = { reason = "other", next = {
  { label = "Open it", method = "store.status", params = {} }, { label = "Close it", command = "chmod go-rwx '/A B'" },
  { label = "Look", page = "https://a.example/" }, { label = "Wait", method = "later.method", params = {} },
  { label = "Add it", method = "accounts.add", params = { provider = "google" } },
  { label = "Replace it", method = "accounts.add", params = { replace = true } },
} }
require("einlass").report(require("einlass.rpc").problem(1, "No. Use accounts.list.", data))'''
    assert lua(house, script)[0].split("\n") == [
        "einlass: No. Use accounts.list.", "Open it (einlassctl store slots).", "Close it (chmod go-rwx '/A B').",
        "Look: https://a.example/.", "Wait.", "Add it (einlassctl accounts add).",
        "Replace it (einlassctl accounts add --replace)."]
    script = script.replace(
        "require(", 'require("einlass").setup({ arguments = { "--store", "/a b" } })\nrequire(', 1)
    assert "Open it (einlassctl store slots --store '/a b').\nClose it (chmod go-rwx '/A B').\n" in lua(house, script)[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_kind_of_question_is_asked_and_answered(house, language):
    pages = {"first": {"accounts": [ADA], "nextCursor": "more"}, "more": {"accounts": [GRACE]}}
    prompts = [prompt(case, language) for case in QUESTIONS]
    cases = [{"prompt": prompt, "replies": case.replies, "pages": pages} for prompt, case in zip(prompts, QUESTIONS)]
    code, output, errors = run_lua(house, FOLDER / "prompts.lua", env={"CASES": json.dumps(cases), "TZ": "UTC"})
    assert code == 0 and output, errors
    for prompt_, case, result in zip(prompts, QUESTIONS, json.loads(output), strict=True):
        assert result["answer"] == case.answer, case
        assert len(result["asked"]) == case.asked, result
        show, (asked, *_) = prompt_["show"], result["asked"]
        fields = [field["label"] for field in show.get("fields", [])]
        labels = [part["label"] for part in show.get("choices", show["buttons"])]
        for text in [show.get("warning", ""), *show.get("text", []), show["title"].replace("\x1b", "^["),
                     *(labels if "choices" in show else fields[:1] or labels)]:
            assert text in asked, case


def test_a_field_of_an_unknown_type_is_hidden(house):
    show = {"title": "?", "fields": [{"name": "pin", "label": "PIN", "type": "digits"}], "buttons": []}
    case = {"prompt": {"prompt": "p_1", "kind": "enterPassword", "show": show}, "replies": ["12"], "pages": {}}
    code, output, errors = run_lua(house, FOLDER / "prompts.lua", env={"CASES": json.dumps([case])})
    assert code == 0, errors
    assert json.loads(output) == [{"asked": ["secret ? PIN: "], "answer": {"action": "accept", "members": {"pin": "12"}}}]


def test_a_text_is_pasted_unseen_though_its_prompt_opens_before_the_page(house):
    hold_pages(house)
    script = '''
local show, answer, asked = require("einlass.prompts").show, nil, 0
vim.ui.input = function() asked = asked + 1 end
vim.fn.inputsecret = function() return "1234567" end
for _, prompt in ipairs(vim.json.decode(vim.env.PROMPTS)) do
  show(prompt, function(action, members) answer = { action = action, members = members } end)
end
vim.wait(200, function() return asked > 0 end, 5)
local first = vim.trim(vim.api.nvim_buf_get_lines(0, 0, 1, false)[1])
vim.api.nvim_feedkeys("p", "mx", false)
io.write(vim.json.encode({ asked = asked, first = first, answer = answer }))'''
    page = {key: value for key, value in PROMPTS["openURL"]["show"].items() if key != "fields"}
    prompts = [{"prompt": f"p_{number}", "flows": ["f_1"], "expiresAt": 1763712345, "show": show}
               for number, show in enumerate([PROMPTS["enterVerifier"]["show"], page])]
    output, _ = lua(house, script, env={"PROMPTS": json.dumps(prompts)})
    assert json.loads(output) == {"asked": 0, "first": page["title"],
                                  "answer": {"action": "accept", "members": {"text": "1234567"}}}


def test_questions_wait_for_each_other_and_go_away(house):
    output, _ = lua(house, (FOLDER / "windows.lua").read_text())
    assert json.loads(output) == {"asked": ["My Plugin", "Third"], "answers": {"3": "accept"}, "windows": 1}


# Tokens for plugins.

@contextlib.contextmanager
def github(house, tmp_path):
    """Yields a server that curl takes for https://api.github.com. It asks the sandbox about each token."""
    body = json.dumps({"login": "ada"}).encode()
    userinfo = house.origin("github") + "/user"
    with open_gate(userinfo, lambda *_: (200, {}, body), tls=server_context(*make_certificate(tmp_path))) as gate:
        port = gate.server.server_address[1]
        write(house, ".curlrc", f'connect-to = "api.github.com:443:127.0.0.1:{port}"\ninsecure\n')
        # The sandbox plays the provider at an address of its own, so the configuration names the real one.
        services = [{"address": "https://api.github.com", "provider": "github"}]
        house.config.write_text(json.dumps({**json.loads(house.config.read_text()), "services": services}))
        write(house, "bin/xdg-open", '#!/bin/sh\nexec curl -q -sSL -o /dev/null "$1"\n')
        yield gate


def test_the_example_of_the_readme(house, tmp_path):
    (example,) = blocks("lua")
    assert len(example.splitlines()) == 10
    with github(house, tmp_path) as gate:
        # Without a user interface nobody is asked, unless the person wants it.
        assert "(:Einlass sign-in github)" in lua(house, example)[1] and not gate.seen
        ask = 'require("einlass").setup({ interactive = true })\n'
        assert lua(house, ask + example)[1].endswith("Hello ada")
        # The provider takes the token back: einlass signs in again.
        first = gate.seen[0][2].split()[1]
        house.change({"github": {"tokens": {first: {"revoked": True}}}})
        assert lua(house, ask + example)[1].endswith("Hello ada")
        assert [header.split()[1] == first for _, _, header in gate.seen] == [True, True, False] and gate.refused == 1
        # A failure is shown with its next step.
        house.do("access", "set", "my-plugin", "github", "denied")
        choose = "vim.ui.select = function(items, options) print(options.prompt, items[1]) end\n"
        shown = lua(house, ask + choose + example)[1]
        assert "(:Einlass access github allow my-plugin)" in shown
        assert "Forget the decision about github" in shown


@pytest.fixture
def recorded(house):
    """Returns a function with the command lines of all curls so far."""
    write(house, "bin/curl", f'#!/bin/sh\necho "$@" >>{house.folder}/curls\nexec /usr/bin/curl "$@"\n').chmod(0o755)
    return lambda: (house.folder / "curls").read_text()


def test_a_plugin_uses_the_token_that_einlass_has_refreshed(house, recorded):
    house.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    house.sign_in("gitlab")
    house.allow("my-plugin", "gitlab")
    with open_gate(house.origin("gitlab") + "/api/v4/user", lambda *_: (200, {}, b"")) as gate:
        house.environment["GATE"] = gate.address
        with start_lua(house, FOLDER / "requests.lua") as plugin:
            def go_on():
                plugin.stdin.write("\n")
                plugin.stdin.flush()
                return plugin.stdout.readline().strip()

            # The token of the first request has been refused or served; only its end matters here.
            assert go_on() in ("first 200", "first 401")
            first = gate.seen[0][2].split()[1]
            house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
            ends = house.state()["gitlab"]["tokens"][first]["expiresAt"]
            time.sleep(max(0, ends - time.time()))
            assert gate.person(first) is None
            assert go_on() == "refreshed 200"
            refreshed = gate.seen[1][2].split()[1]
            assert refreshed != first
            assert go_on() == "after the 401 200"
            assert gate.seen[2][2].split()[1] == refreshed
            assert [plugin.stdout.readline() for _ in range(2)] == ["the same token\n", "a new token\n"]
            _, errors = plugin.communicate(timeout=60)
            assert plugin.returncode == 0, errors
    tokens = [token for token in house.state()["gitlab"]["tokens"]]
    assert {first, refreshed} <= set(tokens) and "--config -" in recorded()
    files = [path for path in house.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for token in (first, refreshed):
        assert token not in recorded()
        assert not [path for path in files if token.encode() in path.read_bytes()]


def test_a_token_without_a_question_fails_at_once(house):
    house.sign_in("github")
    script = '''
local token, problem = require("einlass").token({ provider = "github", client = "my-plugin", interactive = false })
io.write(tostring(token), " ", problem.reason, " ", problem.data.next[1].method)'''
    assert lua(house, script)[0] == "nil accessNotGranted access.set"
    # The same without a user interface, unless the plugin wants it.
    page = hold_pages(house)
    silent = script.replace(", interactive = false", "").replace("github", "google").replace(
        '.next[1].method', '.next and ""')
    assert lua(house, silent)[0].startswith("nil noSystemAccount")
    write(house, "script.lua", silent.replace(" })", ", interactive = true })", 1))
    with start_lua(house, house.folder / "script.lua") as plugin:
        assert page()
        plugin.kill()


@pytest.mark.parametrize("program", ["/bin/cat", "/bin/sleep"])
def test_a_program_that_does_not_answer_is_named(house, program):
    script = f'''
require("einlass.rpc").patience = 300
local einlass = require("einlass")
einlass.setup({{ arguments = {{ {'"60"' if program == "/bin/sleep" else ""} }} }})
local token, problem = einlass.token({{ provider = "github" }})
io.write(tostring(token), " ", problem.reason, " ", problem.message)'''
    output, _ = lua(house, script, env={"EINLASS": program})
    assert output.startswith(f"nil notStarted {program} did not answer within ")


def test_the_patience_does_not_matter_after_the_answer(house):
    script = '''
local rpc, is_there, found = require("einlass.rpc"), false, nil
local hello = { protocolVersion = 1, client = { name = "x" }, capabilities = { prompts = {} } }
local client = rpc.start({ assert(rpc.find()) }, hello, { started = function() is_there = true end })
vim.wait(60000, function() return is_there end, 10)
client:request("accounts.list", {}, function(result, problem) found = result and "a list" or problem end)
client:_is_late("einlass")
vim.wait(60000, function() return found end, 10)
io.write(tostring(found))'''
    assert lua(house, script)[0] == "a list"


def test_a_next_step_about_a_provider_that_is_gone(house):
    script = '''
require("einlass").setup({ interactive = true })
vim.ui.select = function(items, options, chosen) chosen(items[1], 1) end
local step = { label = "Do it", method = "providers.configure", params = { provider = "gone" } }
require("einlass").report(require("einlass.rpc").problem(1, "the problem", { reason = "other", next = { step } }))
vim.wait(30000, function() return vim.fn.execute("messages"):find("There is no provider gone.") end)'''
    assert "There is no provider gone." in lua(house, script)[1]


def test_a_token_needs_its_scopes(house):
    house.sign_in("github")
    house.allow("my-plugin", "github")
    page = hold_pages(house)
    script = '''
local einlass, over = require("einlass"), false
einlass.token({ provider = "github", client = "my-plugin", scopes = { "repo" }, interactive = true }, function(token, problem)
  io.write(token and "there is a token" or problem.message)
  over = true
end)
vim.wait(60000, function() return over end, 10)'''
    write(house, "script.lua", script)
    with start_lua(house, house.folder / "script.lua") as plugin:
        address = page()
        assert "repo" in address
        visit(address)
        assert plugin.communicate(timeout=60)[0] == "there is a token"


def test_a_server_that_ends_fails_the_request_and_starts_again(house):
    fault = f'mkdir {house.folder}/once && echo "the fault" >&2 && exit 7'
    program = write(house, "program", f"#!/bin/sh\n{fault}\nexec einlass\n")
    program.chmod(0o755)
    script = '''
local einlass = require("einlass")
local _, problem = einlass.request("accounts.list", {})
local accounts = einlass.list("accounts.list", "accounts")
io.write(problem.reason, " ", problem.data.exitCode, " ", problem.message, " ", #accounts)'''
    output, _ = lua(house, script, env={"EINLASS": str(program)})
    assert output == "serverGone 7 einlass ended before it answered (exit code 7). the fault 0"


# The plugin folder.

def test_checkhealth_names_the_program_the_store_and_the_accounts(house):
    house.sign_in("github")

    def health(**environment):
        script = 'vim.cmd("checkhealth einlass")\nio.write(table.concat(vim.fn.getline(1, "$"), "\\n"))'
        return lua(house, script, env=environment)[0]

    report = health()
    for line in ("einlass 0.2.0", "the store is protected by: ", "pages are opened by ", "github/ada"):
        assert line in report
    assert "ERROR" not in report and "WARNING" not in report
    assert "The variable EINLASS names /nowhere" in health(EINLASS="/nowhere")
    house.config.chmod(0o644)
    assert "ERROR" in health()
    house.config.chmod(0o600)
    store = json.loads(house.do("store", "status", "--json"))["path"]
    Path(store).chmod(0o644)
    report = health()
    assert "is open to other users" in report and "accountStoreFailure" not in report


def test_the_help_has_valid_tags(house, tmp_path):
    folder = tmp_path / "doc"
    folder.mkdir()
    (folder / "einlass.txt").write_text((PLUGIN / "doc/einlass.txt").read_text())
    _, errors = lua(house, f'vim.cmd("helptags {folder}")')
    assert errors == ""
    tags = {line.split("\t")[0] for line in (folder / "tags").read_text().splitlines()}
    text = (folder / "einlass.txt").read_text()
    functions = ("token", "reject", "request", "list", "report", "cancel", "stop", "setup")
    assert {":Einlass", ":EinlassCancel", *(f"einlass.{name}()" for name in functions)} <= tags
    # Each link leads to a tag of this page or of Neovim.
    links = sorted(set(re.findall(r"\|([^|\s]+)\|", text)) - tags)
    script = "\n".join(f'assert(#vim.fn.getcompletion("{link}", "help") > 0, "no help for {link}")' for link in links)
    assert links and lua(house, script)[1] == ""


def test_each_subcommand_is_in_the_help_and_in_the_readme(house):
    output, _ = lua(house, 'io.write(table.concat(require("einlass.command").complete("", "Einlass "), " "))')
    assert len(output.split()) == 8
    for name in output.split():
        for page in ("README.md", "doc/einlass.txt"):
            assert f":Einlass {name}" in (PLUGIN / page).read_text(), (name, page)


def test_a_retired_provider_is_in_no_completion(house):
    output, _ = lua(house, 'io.write(table.concat(require("einlass.command").complete("", "Einlass sign-in "), " "))')
    assert "github" in output.split() and "tencent-weibo" not in output.split()
