"""The Neovim client: the cases of the kit, sign-ins on a screen, tokens for plugins, health, help.

    python -m pytest Tests/Clients/test_neovim.py

EINLASS_NEOVIM names another Neovim than that of the PATH.
"""
import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from house import PROJECT, make_certificate, missing, open_gate, server_context

FOLDER = Path(__file__).parent / "neovim"
sys.path.append(str(FOLDER))
from screen import NVIM, PLUGIN, Screen, run_lua, start_lua  # noqa: E402

pytestmark = pytest.mark.skipif(bool(missing(NVIM, "tmux")), reason=f"skipped: there is no {NVIM} or no tmux")


@pytest.fixture
def screen(house):
    with Screen(house) as screen:
        yield screen


def hold_pages(house):
    """From now on no page is visited. Returns a function that waits for the page that is opened, and returns its address."""
    browser, address = house.folder / "bin/xdg-open", house.folder / "page"
    browser.write_text(f'#!/bin/sh\necho "$1" >{address}.new && mv {address}.new {address}\n')

    def page():
        end = time.monotonic() + 60
        while not address.exists():
            assert time.monotonic() < end, "no page was opened"
            time.sleep(0.05)
        text = address.read_text().strip()
        address.unlink()
        return text
    return page


@pytest.fixture
def page(house):
    return hold_pages(house)


def visit(address):
    urllib.request.urlopen(address).close()


def accounts(house):
    return json.loads(house.do("accounts", "list", "--json"))["accounts"]


def write(house, name, text):
    path = house.folder / name
    path.write_text(text)
    return path


def lua(house, text, *options, **more):
    """Runs Lua in Neovim without a screen. Returns standard output and standard error."""
    code, output, errors = run_lua(house, write(house, "script.lua", text), *options, **more)
    assert code == 0, errors
    return output, errors


# The protocol.

def test_the_client_passes_every_case(hold):
    hold(NVIM, "--headless", "-u", "NONE", "-i", "NONE", "--cmd", f"set rtp^={PLUGIN}", "-c", f"luafile {FOLDER}/adapter.lua")


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
    assert "no einlass on the PATH" in found()
    assert "The variable EINLASS names /nowhere, which is no program" in found(EINLASS="/nowhere", PATH=f"{tmp_path}/path:{search}")


def test_the_next_steps_are_those_of_the_protocol(house):
    output, _ = lua(house, 'io.write(vim.json.encode(require("einlass.next_steps")))')
    steps = {error["reason"]: error["nextStep"] for error in json.loads((PROJECT / "protocol/errors.json").read_text())["errors"]}
    assert {**json.loads(output), "serverGone": "", "notStarted": ""} == {**steps, "serverGone": "", "notStarted": ""}


# Sign-ins on a screen.

def test_a_sign_in_by_page_shows_itself_and_goes_away(house, screen, page):
    screen.command("Einlass sign-in github")
    shown = screen.wait_for("Neovim signs in at GitHub", "<Esc> cancel")
    assert "Sign in at 127.0.0.1 in your browser." in shown and "Neovim may then use this account." in shown
    visit(page())
    screen.wait_for("signed in to github/ada, Ada Lovelace (ada).")
    screen.wait_until_gone("<Esc> cancel")
    assert [account["username"] for account in accounts(house)] == ["ada"]


def test_a_sign_in_by_code_shows_itself_and_goes_away(house, screen, enter_code):
    screen.command("Einlass sign-in github deviceCode")
    shown = screen.wait_for("Enter this code at", "y copy the code")
    address = re.search(r"Enter this code at (\S+)", shown)[1].strip("│")
    code = re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", shown)[0]
    assert "Neovim on this machine asks you" in shown and "Neovim may then use this account." in shown
    screen.press("y")
    screen.command("echo 'copied' getreg('\"')")
    screen.wait_for(f"copied {code}")
    enter_code(address, code)
    screen.wait_for("signed in to github/ada")
    screen.wait_until_gone("y copy the code")
    assert [account["username"] for account in accounts(house)] == ["ada"]


@pytest.mark.parametrize("way", ["escape", "command", "close"])
def test_a_sign_in_is_cancelled(house, screen, page, way):
    screen.command("autocmd User EinlassAuthProgress let g:stages = get(g:, 'stages', 0) + 1")
    screen.command("Einlass sign-in github")
    screen.wait_for("<Esc> cancel")
    address = page()
    {"escape": lambda: screen.press("Escape"), "command": lambda: screen.command("EinlassCancel"),
     "close": lambda: screen.command("close")}[way]()
    screen.wait_until_gone("<Esc> cancel")
    screen.command("lua print(#require('einlass').request('auth.list', {}).flows .. ' flows are left')")
    screen.wait_for("0 flows are left")
    # Nobody listens for the browser any more.
    with pytest.raises(OSError):
        visit(address)
    assert accounts(house) == []


def test_the_address_of_the_last_page_is_pasted(house, screen, page):
    screen.command("Einlass sign-in github")
    screen.wait_for("If the last page does not load, press p and paste its address.")

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    def last_page(address):
        try:
            urllib.request.build_opener(NoRedirect).open(address)
        except urllib.error.HTTPError as answer:
            return answer.headers["Location"]

    last = last_page(page())
    screen.press("p")
    screen.wait_for("Address:")
    screen.type("http://127.0.0.1:1/wrong")
    screen.press("Enter")
    screen.wait_for("This does not fit.")
    screen.press("p")
    screen.wait_for("Address:")
    screen.type(last)
    shown = screen.shown()
    assert "code=" not in shown
    screen.press("Enter")
    screen.wait_for("signed in to github/ada")
    # The address is in no history.
    screen.command("wshada! | history all")
    screen.wait_for("history all")
    assert b"code=" not in b"".join(path.read_bytes() for path in house.folder.rglob("*.shada"))


def test_a_page_that_no_browser_opens_is_shown_as_text(house, screen):
    write(house, "bin/xdg-open", "#!/bin/sh\nexit 3\n")
    screen.command("Einlass sign-in github")
    shown = screen.wait_for("No browser opens here. Open this address:")
    # The window breaks the address into lines.
    address = "".join(re.findall(r"│ ?(.*?) *│", shown)).replace(" ", "")
    visit(re.search(r"http://127[^<]*?code_challenge_method=S256", address)[0])
    screen.wait_for("signed in to github/ada")


def test_the_person_chooses_among_accounts(house, screen):
    house.sign_in("github")
    house.sign_in("github", user="grace")
    house.allow("neovim", "github")
    screen.command("lua einlass = require('einlass') einlass.token({provider='github'}, function(token, problem) "
                   "einlass.request('verify', {provider='github', credential={type='oauth2', token=token}}, "
                   "function(result) print('the token is of ' .. result.identity.username) end) end)")
    shown = screen.wait_for("Which GitHub account for Neovim?")
    screen.type(re.search(r"(\d): Grace Hopper \(grace\)", shown)[1])
    screen.press("Enter")
    screen.wait_for("the token is of grace")


def test_a_failure_that_may_pass_is_tried_again(house, screen):
    fault = {"path": "/login/device/code", "answer": "status", "status": 503, "remaining": 10}
    house.change({"faults": {"down": fault}})
    screen.command("Einlass sign-in github deviceCode")
    screen.wait_for("1: Try again", "2: Close")
    house.change({"faults": {"down": None}})
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("Enter this code at")


def test_a_question_goes_away_when_another_program_answers_it(house, screen):
    house.sign_in("github")
    screen.command("lua require('einlass').token({provider='github', client='my-plugin', title='My Plugin'}, "
                   "function(token, problem) print(token and 'there is a token' or problem) end)")
    screen.wait_for("My Plugin wants to use your GitHub account.", "2: Don't allow")
    house.allow("my-plugin", "github")
    screen.wait_for("there is a token")
    # Neovim reads commands again.
    screen.command("echo 6 * 7")
    screen.wait_for("42")


def test_a_request_that_waits_is_cancelled_by_escape(house, screen, page):
    screen.command("lua token, problem = require('einlass').token({provider='github'}) print(token, problem.reason)")
    screen.wait_for("Neovim signs in at GitHub", "<Esc> cancel")
    screen.press("Escape")
    screen.wait_for("nil userCanceled")
    screen.wait_until_gone("<Esc> cancel")


def test_a_failure_shows_its_next_step_and_follows_it(house, screen):
    house.sign_in("github")
    house.do("access", "set", "neovim", "github", "denied")
    screen.command("lua function again() require('einlass').token({provider='github'}, function(token, problem) "
                   "if problem then require('einlass').report(problem, again) else print('there is a token') end end) end again()")
    shown = screen.wait_for("1: Forget the decision about github", "2: Close")
    assert "einlassctl access reset neovim github" in re.sub(r"\s+", " ", shown)
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("Neovim wants to use your GitHub account.", "1: Allow")
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("there is a token")


def test_a_missing_registration_is_entered(house, screen):
    config = json.loads(house.config.read_text())
    registration = config["applications"]["*"].pop("github")
    house.config.write_text(json.dumps(config))
    screen.command("Einlass sign-in github authorizationCode")
    screen.wait_for("1: Enter the registration at github")
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("Client id:")
    screen.type(registration["clientId"])
    screen.press("Enter")
    screen.wait_for("Client secret")
    screen.type(registration["clientSecret"])
    assert registration["clientSecret"] not in screen.shown()
    screen.press("Enter")
    screen.wait_for("signed in to github/ada")


def test_accounts_and_access_are_looked_after(house, screen):
    house.sign_in("github")
    house.sign_in("google")
    screen.type(":Einlass re")
    screen.press("Tab")
    screen.wait_for(":Einlass remove")
    screen.type(" go")
    screen.press("Tab")
    screen.wait_for(":Einlass remove google/ada@example.org")
    screen.press("C-c")
    # The interrupt discards the keys that come with it.
    screen.wait_until_gone(":Einlass remove")
    screen.command("Einlass")
    screen.wait_for("Accounts", "github/ada", "google/ada@example.org")
    screen.press("Escape")
    screen.wait_until_gone("Accounts")
    screen.command("Einlass prefer github/ada")
    screen.wait_for("Neovim prefers github/ada.")
    screen.command("Einlass accounts github")
    screen.wait_for("preferred")
    screen.press("q")
    screen.command("Einlass access github deny backup")
    screen.wait_for("the access of backup to github: denied.")
    screen.command("Einlass access")
    screen.wait_for("backup", "denied")
    screen.press("q")
    screen.command("Einlass providers")
    screen.wait_for("Providers", "Facebook")
    screen.press("q")
    screen.command("Einlass remove google/ada@example.org")
    screen.wait_for("1: Remove")
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("google/ada@example.org is removed.")
    assert [account["provider"] for account in accounts(house)] == ["github"]
    screen.command("Einlass sign-out github/ada")
    screen.wait_for("1: Sign out")
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("github/ada is signed out.")
    assert [account["signedIn"] for account in accounts(house)] == [False]


def test_a_change_by_another_program_is_announced(house, screen):
    screen.command("lua vim.api.nvim_create_autocmd('User', {pattern='EinlassAccountsChanged', callback=function(event) "
                   "print('an account was', event.data and event.data.changes[1].change) end})")
    screen.command("Einlass")
    screen.wait_for("there is no account here")
    house.sign_in("github")
    has_data = subprocess.run([NVIM, "--headless", "-u", "NONE", "+echo has('nvim-0.8')", "+q"], capture_output=True, text=True)
    screen.wait_for("an account was " + ("added" if has_data.stderr.strip() == "1" else "nil"))


def test_a_passphrase_is_not_shown_and_not_kept(house, screen):
    house.sign_in("github")
    file = house.folder / "accounts.einlass"
    screen.command(f"lua require('einlass').request('accounts.export', {{path='{file}'}}, "
                   "function(result, problem) print('done', problem or result.accounts) end)")
    for wrong, question in [("another", "Passphrase for the new file"), ("", "Again"), ("", "The two differ."), ("", "Again")]:
        screen.wait_for(question)
        screen.type((wrong if question.startswith("Pass") else "") or "correct horse")
        assert "horse" not in screen.shown()
        screen.press("Enter")
    screen.wait_for("done 1")
    screen.command("wshada!")
    assert b"horse" not in b"".join(path.read_bytes() for path in house.folder.rglob("*.shada"))


# Prompts of each kind.

ORIGIN = {"prompt": "p_1", "flows": ["f_1"], "application": "my-plugin", "applicationTitle": "My Plugin", "provider": "github",
          "providerName": "GitHub", "expiresAt": 1763712345}
ADA = {"account": "a_ada", "provider": "github", "username": "ada", "displayName": "Ada Lovelace", "health": "ok"}
GRACE = {"account": "a_grace", "provider": "github", "username": "grace", "health": "reloginNeeded"}
SERVER = {"server": "https://pbx.example:8443", "host": "pbx.example"}
KEY = "sha256//X3pGTSOuJeEVw989IJ/cEtXUEmy52zs1TZQrU06KUKg="
#: Members of the prompt, replies of the person, parts of the questions in their order, and the answer.
KINDS = [
    ({"kind": "grantAccess", "permissions": ["email", "friends"], "added": ["friends"], "audience": "onlyMe", "includes": ["refreshToken"]},
     ["Allow"], ["My Plugin wants to use your GitHub account: email, friends (new), posts for only you, lasting access."], ["accept"]),
    ({"kind": "grantAccess"}, ["Don't allow"], ["My Plugin wants"], ["decline"]),
    ({"kind": "grantAccess"}, [], ["[Allow|Don't allow|Not now]"], ["cancel"]),
    ({"kind": "grantAccess", "applicationTitle": "A\x1b[2J\u202eB\n"}, ["Not now"], ["A^[[2J<202e>B^@ wants"], ["cancel"]),
    ({"kind": "selectAccount", "accounts": [ADA, GRACE]}, ["grace – must sign in again"],
     ["Which GitHub account for My Plugin? [Ada Lovelace (ada)|grace – must sign in again]"], ["accept", {"account": "a_grace"}]),
    ({"kind": "selectAccount", "accounts": [ADA], "more": True}, ["Another account", "nobody", "Another account", "grace"],
     ["|Another account]", "User name: ", "Which GitHub account", "User name: "], ["accept", {"account": "a_grace"}]),
    ({"kind": "confirmAccount", "accounts": [ADA]}, ["Continue as Ada Lovelace (ada)"], ["My Plugin wants to use your GitHub account."], ["accept"]),
    ({"kind": "confirmAccount", "accounts": [ADA]}, ["Not now"], ["Not now]"], ["cancel"]),
    ({"kind": "replaceAccount", "accounts": [ADA]}, ["Ada Lovelace (ada)"], ["Is this a new account, or one of these?"], ["accept", {"account": "a_ada"}]),
    ({"kind": "replaceAccount", "accounts": [ADA]}, ["A new account"], ["|A new account]"], ["accept"]),
    ({"kind": "replaceAccount", "accounts": [ADA]}, [], ["|A new account]"], ["cancel"]),
    ({"kind": "enterPassphrase", "purpose": "keySlot", "path": "/store.db", "again": True}, ["horse"],
     ["secret This passphrase does not fit. My Plugin: Passphrase of the store /store.db"], ["accept", {"passphrase": "horse"}]),
    ({"kind": "enterPassphrase", "purpose": "import", "path": "/file"}, [""], ["Passphrase of the file /file"], ["cancel"]),
    ({"kind": "enterPassword", **SERVER, "mayRemember": True, "again": True, "secure": False, "grantsAccess": True}, ["ada", "horse", "Yes"],
     ["The server refused that user name or password. Others on the way can read the password. My Plugin may then use this account. "
      "My Plugin signs in. User name at https://pbx.example:8443: ", "secret Password of ada at https://pbx.example:8443: ", "[No|Yes]"],
     ["accept", {"username": "ada", "password": "horse", "remember": True}]),
    ({"kind": "enterPassword", **SERVER, "username": "ada"}, ["horse"], ["secret Password of ada at"], ["accept", {"password": "horse"}]),
    ({"kind": "enterPassword", **SERVER}, ["ada", ""], ["User name", "secret"], ["cancel"]),
    ({"kind": "trustCertificate", **SERVER, "port": 8443, "fault": "selfSigned", "publicKey": KEY, "formerPublicKey": "sha256//former",
      "certificateEndsAt": 1893456000}, ["Trust this key"],
     ["is certified by nobody but itself, and ends on 2030-01-01. The server has another key than before. Before: sha256//former. "
      f"Its key: {KEY}. Compare it with that of your server. [Do not connect|Trust this key]"], ["accept"]),
    ({"kind": "trustCertificate", **SERVER, "port": 8443, "publicKey": KEY, "certificateEndsAt": 1893456000}, ["Do not connect"],
     ["is trusted, and ends"], ["cancel"]),
]


def test_each_kind_of_question_is_asked_and_answered(house):
    pages = {"first": {"accounts": [ADA], "nextCursor": "more"}, "more": {"accounts": [GRACE]}}
    cases = [{"prompt": {**ORIGIN, **members}, "replies": replies, "pages": pages} for members, replies, _, _ in KINDS]
    code, output, errors = run_lua(house, FOLDER / "prompts.lua", env={"CASES": json.dumps(cases), "TZ": "UTC"})
    assert code == 0 and output, errors
    for (members, replies, questions, answer), result in zip(KINDS, json.loads(output), strict=True):
        assert len(result["asked"]) == len(questions), result
        for question, asked in zip(questions, result["asked"]):
            assert question in asked, members
        expected = {"action": answer[0], **({"members": answer[1]} if len(answer) > 1 else {})}
        assert result["answer"] == expected, members


def test_questions_wait_for_each_other_and_go_away(house):
    output, _ = lua(house, (FOLDER / "windows.lua").read_text())
    assert json.loads(output) == {"asked": ["My Plugin wants", "Third wants"], "answers": {"3": "accept"}, "windows": 1}


# Tokens for plugins.

def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (PLUGIN / "README.md").read_text(), re.DOTALL)


@contextlib.contextmanager
def github(house, tmp_path):
    """Yields a server that curl takes for https://api.github.com. It asks the sandbox about each token."""
    body = json.dumps({"login": "ada"}).encode()
    userinfo = house.origin("github") + "/user"
    with open_gate(userinfo, lambda *_: (200, {}, body), tls=server_context(*make_certificate(tmp_path))) as gate:
        port = gate.server.server_address[1]
        write(house, ".curlrc", f'connect-to = "api.github.com:443:127.0.0.1:{port}"\ninsecure\n')
        # The sandbox plays the provider at an address of its own, so the configuration names the real one.
        config = {**json.loads(house.config.read_text()), "services": [{"address": "https://api.github.com", "provider": "github"}]}
        house.config.write_text(json.dumps(config))
        write(house, "bin/xdg-open", '#!/bin/sh\nexec curl -q -sSL -o /dev/null "$1"\n')
        yield gate


def test_the_example_of_the_readme(house, tmp_path):
    (example,) = blocks("lua")
    assert len(example.splitlines()) == 10
    with github(house, tmp_path) as gate:
        assert lua(house, example)[1].endswith("Hello ada")
        # The provider takes the token back: einlass signs in again.
        first = gate.seen[0][2].split()[1]
        house.change({"github": {"tokens": {first: {"revoked": True}}}})
        assert lua(house, example)[1].endswith("Hello ada")
        assert [header.split()[1] == first for _, _, header in gate.seen] == [True, True, False] and gate.refused == 1
        # A failure is shown with its next step.
        house.do("access", "set", "my-plugin", "github", "denied")
        choose = "vim.ui.select = function(items, options) print(options.prompt, items[1]) end\n"
        shown = lua(house, choose + example)[1]
        assert "(einlassctl access set my-plugin github granted)" in shown and "Forget the decision about github" in shown


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
io.write(tostring(token), " ", problem.reason, " ", problem.data.hint.method)'''
    assert lua(house, script)[0] == "nil accessNotGranted access.set"


def test_a_token_needs_its_scopes(house):
    house.sign_in("github")
    house.allow("my-plugin", "github")
    page = hold_pages(house)
    script = '''
local einlass, over = require("einlass"), false
einlass.token({ provider = "github", client = "my-plugin", scopes = { "repo" } }, function(token, problem)
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
    program = write(house, "program", f'#!/bin/sh\nmkdir {house.folder}/once && echo "the fault" >&2 && exit 7\nexec einlass\n')
    program.chmod(0o755)
    script = '''
local einlass = require("einlass")
local _, problem = einlass.request("accounts.list", {})
io.write(problem.reason, " ", problem.data.exitCode, " ", problem.message, " ", #einlass.list("accounts.list", "accounts"))'''
    output, _ = lua(house, script, env={"EINLASS": str(program)})
    assert output == "serverGone 7 einlass ended before it answered (exit code 7). the fault 0"


# The plugin folder.

def test_checkhealth_names_the_program_the_store_and_the_accounts(house):
    house.sign_in("github")

    def health(**environment):
        return lua(house, 'vim.cmd("checkhealth einlass")\nio.write(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\\n"))',
                   env=environment)[0]

    report = health()
    for line in ("einlass 0.1.0", "the store is protected by: ", "pages are opened by ", "github/ada"):
        assert line in report
    assert "ERROR" not in report and "WARNING" not in report
    assert "The variable EINLASS names /nowhere" in health(EINLASS="/nowhere")
    house.config.chmod(0o644)
    assert "ERROR" in health()


def test_the_help_has_valid_tags(house, tmp_path):
    folder = tmp_path / "doc"
    folder.mkdir()
    (folder / "einlass.txt").write_text((PLUGIN / "doc/einlass.txt").read_text())
    _, errors = lua(house, f'vim.cmd("helptags {folder}")')
    assert errors == ""
    tags = {line.split("\t")[0] for line in (folder / "tags").read_text().splitlines()}
    text = (folder / "einlass.txt").read_text()
    assert {f"einlass.{name}()" for name in ("token", "reject", "request", "list", "report", "cancel", "stop", "setup")} <= tags
    assert {":Einlass", ":EinlassCancel"} <= tags
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
