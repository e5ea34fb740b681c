"""Sign-ins, questions and failures of the Neovim client, as a person sees them on a screen of tmux.

    python -m pytest Tests/Clients/test_neovim_screens.py
"""
import json
import os
import re
import select
import signal
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from conftest import at_two_servers
from house import missing

sys.path.append(str(Path(__file__).parent / "neovim"))
from screen import NVIM, PATIENCE, Screen, accounts, hold_pages, visit, write  # noqa: E402

pytestmark = pytest.mark.skipif(bool(missing(NVIM, "tmux")), reason=f"skipped: there is no {NVIM} or no tmux")


@pytest.fixture
def screen(house):
    with Screen(house) as screen:
        yield screen


@pytest.fixture
def page(house):
    return hold_pages(house)


def test_a_sign_in_by_page_shows_itself_and_goes_away(house, screen, page):
    screen.command("Einlass sign-in github")
    shown = screen.wait_for("Sign in at “127.0.0.1” in your browser.", "<Esc> cancel")
    assert "After the sign-in, “Neovim” may use your “GitHub” account." in shown
    visit(page())
    screen.wait_for("signed in to github/ada, Ada Lovelace (ada).")
    screen.wait_until_gone("<Esc> cancel")
    assert [account["username"] for account in accounts(house)] == ["ada"]


def test_a_sign_in_by_code_shows_itself_and_goes_away(house, screen, enter_code):
    screen.command("Einlass sign-in github deviceCode")
    shown = screen.wait_for("Enter this code at", "y copy the code")
    address = re.search(r"http://\S+/device", shown)[0]
    code = re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", shown)[0]
    assert "Enter only a code that “Neovim” shows" in shown and "“Neovim” may use your “GitHub” account." in shown
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


def test_a_split_of_the_window_goes_away_too(house, screen, page):
    screen.command("Einlass sign-in github")
    screen.wait_for("<Esc> cancel")
    screen.command("vsplit")
    screen.wait_until(lambda shown: shown.count("Sign in at “127.0.0.1”") == 2, "two windows")
    visit(page())
    screen.wait_for("signed in to github/ada, Ada Lovelace (ada).")
    screen.wait_until_gone("Sign in at “127.0.0.1”")


def test_a_sign_in_may_begin_while_the_person_types(house, screen, page):
    screen.command("inoremap <F5> <Cmd>Einlass sign-in github<CR>")
    screen.type("ihello")
    screen.wait_for("hello", "INSERT")
    screen.press("F5")
    screen.wait_for("hello", "Sign in at “127.0.0.1” in your browser.")
    screen.press("Escape")
    screen.wait_until_gone("Sign in at “127.0.0.1” in your browser.")
    screen.type("A world")
    screen.wait_for("hello world")


def process(house, screen):
    """Starts einlass in this Neovim. Returns its process id."""
    screen.command("Einlass")
    screen.wait_for("there is no account here")
    screen.command("lua print('process', #vim.api.nvim_get_proc_children(vim.fn.getpid()))")
    screen.wait_for("process 1")
    screen.command("lua vim.fn.writefile(vim.api.nvim_get_proc_children(vim.fn.getpid()), 'children')")
    children = house.folder / "work/children"
    screen.wait_until(lambda _: children.exists() and children.read_text().strip(), "a list of children")
    return int(children.read_text())


@pytest.mark.parametrize("question", ["User name:", "Password:"])
def test_a_question_goes_away_when_einlass_ends(house, screen, question):
    einlass = process(house, screen)
    screen.command("Einlass sign-in fcsdk")
    screen.wait_for("Server of FCSDK server:")
    for text, shown in ((house.origin("fcsdk"), "User name:"), ("ada", "Password:")):
        screen.type(text)
        screen.press("Enter")
        screen.wait_for(shown)
        if shown == question:
            break
    os.kill(einlass, signal.SIGKILL)
    screen.wait_for("einlass ended before it answered (exit code 137).", "1: Try again", "2: Close")
    screen.type("2")
    screen.press("Enter")
    screen.wait_until_gone("2: Close")


def test_einlass_ends_with_neovim(house, screen):
    einlass = os.pidfd_open(process(house, screen))
    screen.type(":qall!")
    screen.press("Enter")
    ended, _, _ = select.select([einlass], [], [], PATIENCE)
    os.close(einlass)
    assert ended


def test_the_address_of_the_last_page_is_pasted(house, screen, page):
    screen.command("Einlass sign-in github")
    screen.wait_for("Does the last page not load? Then paste its address.")

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
    screen.wait_for("The address in the browser:")
    screen.type("http://127.0.0.1:1/wrong")
    screen.press("Enter")
    screen.wait_for("That does not fit.")
    screen.press("p")
    screen.wait_for("The address in the browser:")
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
    shown = screen.wait_for("Which “GitHub” account may “Neovim” use?")
    screen.type(re.search(r"(\d): Grace Hopper \(“grace”\)", shown)[1])
    screen.press("Enter")
    screen.wait_for("the token is of grace")


def test_the_server_of_a_login_is_asked_for_and_offered_again(house, screen):
    house.change({"fcsdk": {"users": {"ada": {"password": "difference", "domain": "example.com"}}}})
    server = house.origin("fcsdk")
    for time in ("first", "second"):
        screen.command("Einlass sign-in fcsdk")
        shown = screen.wait_for("Server of FCSDK server:")
        if time == "first":
            screen.type(server)
        else:
            assert f"Server of FCSDK server: {server}" in shown
        screen.press("Enter")
        screen.wait_for("User name:")
        screen.type("ada")
        screen.press("Enter")
        screen.wait_for("Password:")
        screen.type("difference")
        screen.press("Enter")
        screen.wait_for("Remember the password?")
        screen.type("1")
        screen.press("Enter")
        screen.wait_for("signed in to fcsdk/ada")
        screen.command("messages clear | mode")
        screen.wait_until_gone("signed in to fcsdk/ada")
    assert len(accounts(house)) == 1


def test_a_server_that_is_no_address_is_told_in_words(screen):
    screen.command("Einlass sign-in fcsdk")
    screen.wait_for("Server of FCSDK server:")
    screen.type("no server")
    screen.press("Enter")
    shown = screen.wait_for("Press ENTER")
    assert "einlass: The server must be a host name or an address" in shown


def test_accounts_of_one_name_at_two_servers_are_told_apart(house, screen):
    at_two_servers(house)
    port = house.origin("fcsdk").rpartition(":")[2]
    screen.command("Einlass accounts")
    screen.wait_for(f"fcsdk/ada@127.0.0.1:{port}", f"fcsdk/ada@localhost:{port}")


def test_a_server_that_is_not_named_ends_the_sign_in(house, screen):
    screen.command("Einlass sign-in fcsdk")
    screen.wait_for("Server of FCSDK server:")
    screen.press("Escape")
    screen.wait_until_gone("Server of FCSDK server:")
    screen.command("lua print(#require('einlass').request('auth.list', {}).flows .. ' flows are left')")
    screen.wait_for("0 flows are left")


def test_a_failure_that_may_pass_is_tried_again(house, screen):
    fault = {"path": "/login/device/code", "answer": "status", "status": 503, "remaining": 10}
    house.change({"faults": {"down": fault}})
    screen.command("Einlass sign-in github deviceCode")
    screen.wait_for("1: Try again", "2: Close")
    house.change({"faults": {"down": None}})
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("Enter this code at")


def test_an_address_is_signed_in_to_as_a_protected_resource(screen):
    screen.command("Einlass sign-in https://127.0.0.1:1/mcp")
    screen.wait_for("127.0.0.1 does not accept connections", "1: Try again")


def test_a_question_goes_away_when_another_program_answers_it(house, screen):
    house.sign_in("github")
    screen.command("lua require('einlass').token({provider='github', client='my-plugin', title='My Plugin'}, "
                   "function(token, problem) print(token and 'a token' or problem) end)")
    screen.wait_for("“My Plugin” wants to use your “GitHub” accounts.", "3: Don't allow, and remember it")
    house.allow("my-plugin", "github")
    screen.wait_for("a token")  # short, because it may stand behind the question in its last line
    # Neovim reads commands again.
    screen.command("echo 6 * 7")
    screen.wait_for("42")


def test_a_request_that_waits_is_cancelled_by_escape(house, screen, page):
    screen.command("lua token, problem = require('einlass').token({provider='github'}) print(token, problem.reason)")
    screen.wait_for("Sign in at “127.0.0.1” in your browser.", "<Esc> cancel")
    screen.press("Escape")
    screen.wait_for("nil userCanceled")
    screen.wait_until_gone("<Esc> cancel")


@pytest.mark.parametrize("key", ["Escape", "C-c"])
def test_a_second_key_ends_the_wait_for_a_program_that_hangs(house, screen, key):
    screen.command("Einlass")
    screen.wait_for("there is no account here")
    screen.command("lua vim.fn.writefile(vim.api.nvim_get_proc_children(vim.fn.getpid()), 'children')")
    children = house.folder / "work/children"
    screen.wait_until(lambda _: children.exists() and children.read_text().strip(), "a list of children")
    einlass = int(children.read_text())
    os.kill(einlass, signal.SIGSTOP)
    try:
        screen.command("lua _, problem = require('einlass').token({provider='github'}) print('reason', problem.reason)")
        press_until(screen, key, "reason cancelled")
    finally:
        os.kill(einlass, signal.SIGCONT)
    screen.command("echo 6 * 7")
    screen.wait_for("42")


def press_until(screen, key, text):
    def press(shown):
        if text in shown:
            return True
        screen.press(key)
        time.sleep(0.3)  # two escapes at once are another key
        return False
    screen.wait_until(press, text)


def test_a_program_that_says_nothing_is_left_by_escape(house):
    with Screen(house, EINLASS="/bin/cat") as screen:
        screen.command("lua require('einlass.rpc').patience = 600000")
        screen.command("lua _, problem = require('einlass').token({provider='github'}) print('reason', problem.reason)")
        press_until(screen, "Escape", "reason cancelled")


def test_lines_break_between_words_and_all_rows_are_seen(house, page):
    with Screen(house, columns=48) as screen:
        screen.command("Einlass sign-in github")
        shown = screen.wait_for("Does the last page", "cancel")
        text = " ".join(" ".join(re.findall(r"│(.*?)│", shown)).split())
        assert "Does the last page not load? Then paste its address." in text
        assert text.startswith("Sign in at “127.0.0.1” in your browser.") and text.endswith("<Esc> cancel")


@pytest.mark.parametrize("key", ["C-c", "Escape"])
def test_an_interrupted_secret_stores_nothing_and_is_no_error(house, screen, key):
    screen.command("lua einlass = require('einlass') request = einlass.request einlass.request = function(method, ...) "
                   "if method == 'providers.configure' then vim.g.stored = 1 end return request(method, ...) end")
    config = json.loads(house.config.read_text())
    config["applications"]["*"].pop("github")
    house.config.write_text(json.dumps(config))
    screen.command("Einlass sign-in github authorizationCode")
    screen.wait_for("1: Enter the registration at github")
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("1. Type a name")
    screen.wait_for("Client id:")
    screen.type("some-client")
    screen.press("Enter")
    screen.wait_for("Client secret")
    screen.press(key)
    screen.wait_until_gone("Registration at GitHub")
    screen.command("echo 'stored' get(g:, 'stored', 0)")
    screen.wait_for("stored 0")
    screen.command("echo 'errors:' execute('messages') =~ 'E5108\\|rror '")
    screen.wait_for("errors: 0")


def test_a_failure_shows_its_next_step_and_follows_it(house, screen):
    house.sign_in("github")
    house.do("access", "set", "neovim", "github", "denied")
    write(house, "work/again.lua", """
local einlass = require("einlass")
local function again()
  einlass.token({ provider = "github" }, function(token, problem)
    if problem then return einlass.report(problem, again) end
    print("there is a token")
  end)
end
again()""")
    screen.command("luafile again.lua")
    shown = screen.wait_for("1: Forget the decision about github", "2: Close")
    assert ":Einlass access github reset neovim" in re.sub(r"\s+", " ", shown)
    screen.type("1")
    screen.press("Enter")
    screen.wait_for("“Neovim” wants to use your “GitHub” accounts.", "1: Not now", "2: Allow")
    screen.type("2")
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
    screen.command("lua vim.api.nvim_create_autocmd('User', {pattern='EinlassAccountsChanged', callback="
                   "function(event) print('an account was', event.data and event.data.changes[1].change) end})")
    screen.command("Einlass")
    screen.wait_for("there is no account here")
    house.sign_in("github")
    _, _, has_data = house.run(NVIM, "--headless", "-u", "NONE", "+echo has('nvim-0.8')", "+q")
    screen.wait_for("an account was " + ("added" if has_data.strip() == "1" else "nil"))


def test_a_passphrase_is_not_shown_and_not_kept(house, screen):
    house.sign_in("github")
    file = house.folder / "accounts.einlass"
    screen.command(f"lua require('einlass').request('accounts.export', {{path='{file}'}}, "
                   "function(result, problem) print('done', problem or result.accounts) end)")
    for question in ("Passphrase:", "Again:"):
        screen.wait_for(question)
        screen.type("correct horse")
        assert "horse" not in screen.shown()
        screen.press("Enter")
    screen.wait_for("done 1")
    screen.command("wshada!")
    assert b"horse" not in b"".join(path.read_bytes() for path in house.folder.rglob("*.shada"))
