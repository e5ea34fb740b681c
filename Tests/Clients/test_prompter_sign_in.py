"""`clients/prompter` with einlass and the sandbox: helpers that have no terminal, whole sign-ins, README.md."""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
sys.path += [str(Path(__file__).with_name("prompter")), str(PROJECT / "Tests/Integrations"),
             str(PROJECT / "Tests/Oracles"), str(PROJECT / "protocol/conformance"), str(Path(__file__).parent)]
import hints  # noqa: E402
from browser import Visitor  # noqa: E402
from desktop import (  # noqa: E402, F401
    PATIENCE, PYTHON, check_names, desktop, find, focused, names, needs_gtk, nodes, until, words)
from pseudo import pseudo  # noqa: E402

FOLDER = PROJECT / "clients/prompter"
PROMPTER = str(FOLDER / "einlass-prompter")
pytestmark = needs_gtk
PAGE = "Sign in at “127.0.0.1” in your browser."
CODE = "Enter this code at “127.0.0.1”, on any device."


@pytest.fixture
def home(house, desktop):
    """A house whose programs are on the desktop, with the prompter in its configuration."""
    for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "GSETTINGS_BACKEND", "XDG_RUNTIME_DIR"):
        house.environment[name] = desktop.environment[name]
    (house.folder / "bin/einlass-prompter").symlink_to(PROMPTER)
    house.change({"gitlab": {"behaviour": {"consent": "allow"}}})
    configure(house, prompter=[PROMPTER])
    start, started = house.start, []
    house.start = lambda *command: started.append(start(*command)) or started[-1]
    yield house
    for process in started:  # only a failed test leaves one
        if process.poll() is None:
            process.kill()
            process.communicate()


def configure(house, **members):
    house.config.write_text(json.dumps({**json.loads(house.config.read_text()), **members}))


def finish(process):
    output, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, output, errors


def test_git_signs_in_by_the_keyboard(desktop, home):
    configure(home, access="ask")
    host = home.origin("gitlab").removeprefix("http://")
    git = home.start("git-credential-einlass", "--sign-in", "get")
    git.stdin.write(f"protocol=http\nhost={host}\n\n")
    git.stdin.close()
    git.stdin = None
    window = desktop.window(PAGE, lambda window: focused(window) and find(window, "text"))
    check_names(window)
    assert "Started by git-credential-einlass" in words(window)
    desktop.press(PAGE, "Return")
    # `access: ask`: the question comes after the page.
    window = desktop.window("“git” wants to use your “GitLab” accounts.", focused)
    check_names(window)
    desktop.press(window["name"], "alt+a")
    code, output, errors = finish(git)
    assert code == 0 and "password=" in output, errors
    until(lambda: not desktop.windows(), "a window is left")


def test_a_helper_without_a_person_names_the_cancel(desktop, home):
    token = home.start("einlassctl", "token", "gitlab", "--sign-in")
    window = desktop.window(PAGE, focused)
    assert any(name.startswith("After the sign-in, ") for name in names(window))
    desktop.press(PAGE, "Escape")
    code, output, errors = finish(token)
    assert code == 1 and output == "" and "cancel" in errors


def test_without_a_display_it_asks_at_the_terminal(home):
    configure(home, prompter=[str(home.folder / "bin/einlass-prompter")])
    for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS"):
        del home.environment[name]
    host = home.origin("gitlab").removeprefix("http://")
    # The page waits, so that its address is shown before the sign-in ends.
    home.change({"gitlab": {"behaviour": {"consent": "page"}}})
    question = f"printf 'protocol=http\\nhost={host}\\n\\n' | git-credential-einlass --sign-in get"
    with home.on_terminal("sh", "-c", question) as terminal:
        terminal.wait_for("einlass asks for git-credential-einlass")
        terminal.wait_for("/oauth/authorize?")
    code, _, errors = home.run("einlass-prompter", "sign-in", "gitlab")
    assert code == 1 and "no display" in errors


def test_a_sign_in_by_page(desktop, home):
    code, output, errors = finish(home.start("einlass-prompter", "sign-in", "github", "--application", "editor"))
    assert code == 0 and errors == "", errors
    account = json.loads(home.do("accounts", "list", "--json"))["accounts"][0]
    assert output == account["account"] + "\n" and account["username"] == "ada"
    # The sign-in has granted the application its account.
    assert home.do("token", "github", "--for", "editor").strip()
    assert not home.run("einlassctl", "token", "github", "--for", "another")[0] == 0


def test_a_sign_in_by_code(desktop, home, enter_code):
    signing = home.start("einlass-prompter", "sign-in", "github", "--flow", "deviceCode", "--title", "Editor")
    window = desktop.window(CODE, lambda window: find(window, "label", "Code "))
    check_names(window)
    code = find(window, "label", "Code ")["text"]
    enter_code(next(name for name in names(window) if name.startswith("http://")), code)
    assert finish(signing)[0] == 0
    assert desktop.windows() == {}


@pytest.mark.parametrize("provider, field", [("gitlab", "The address in the browser"), ("twitter", "Code")])
def test_a_browser_on_another_machine(desktop, home, provider, field):
    """The address or the number of its last page is entered, after a wrong one."""
    home.change({"gitlab": {"behaviour": {"consent": "page"}}})
    signing = home.start("einlass-prompter", "sign-in", provider)
    desktop.window(PAGE, lambda window: find(window, "text", field))
    desktop.reach(PAGE, "Copy Address")
    desktop.press(PAGE, "space")
    page = until(lambda: desktop.look("clipboard"), "the address is not copied")
    browser = Visitor().open(page).press("allow")
    right = browser.location if provider == "gitlab" else re.search(r"\b[0-9]{7}\b", browser.page)[0]
    wrong = right.replace("state=", "state=x") if provider == "gitlab" else "1234567"
    for text in (wrong, right):
        # The question for a number comes again without the page.
        title = "Enter the code that the page of “Twitter” shows." if text == right and provider == "twitter" else PAGE
        window = desktop.window(title, lambda window: focused(window) and find(window, "text", field) and (
            text == wrong or "That does not fit." in words(window)))
        check_names(window)
        if text == wrong:  # the second time it has the focus
            desktop.reach(title, field)
        desktop.type(title, text)
        desktop.press(title, "Return")
    code, output, errors = finish(signing)
    assert code == 0 and output.startswith("a_"), errors


def test_a_login_with_a_password(desktop, home):
    home.change({"fcsdk": {"users": {"ada": {"password": "difference", "domain": "example.com"}}}})
    signing = home.start("einlass-prompter", "sign-in", "fcsdk", "--server", home.origin("fcsdk"))
    title = f"Log in at “{home.origin('fcsdk')}”."
    for password in ("wrong", "difference"):
        again = password != "wrong"
        window = desktop.window(title, lambda window: focused(window) and again == (
            "The server refused that user name or password." in words(window)))
        check_names(window)
        desktop.type(title, "ada")
        desktop.press(title, "Return")
        desktop.type(title, password)
        desktop.press(title, "Return")
    code, output, errors = finish(signing)
    assert code == 0 and output.startswith("a_"), errors
    assert "difference" not in errors


def test_a_sign_in_in_the_pseudo_language(desktop, home):
    home.change({"fcsdk": {"users": {"ada": {"password": "difference", "domain": "example.com"}}}})
    program = home.folder / "pseudo"
    program.write_text(f'#!/bin/sh\nexec "{home.folder}/bin/einlass" --pseudo-language "$@"\n')
    program.chmod(0o700)
    home.environment["EINLASS"] = str(program)
    signing = home.start("einlass-prompter", "sign-in", "fcsdk", "--server", home.origin("fcsdk"))
    title = pseudo(f"Log in at “{home.origin('fcsdk')}”.")
    window = desktop.window(title, focused)
    assert pseudo("Continue") in names(window)
    for typed in ("ada", "difference"):
        desktop.type(title, typed)
        desktop.press(title, "Return")
    code, output, errors = finish(signing)
    assert code == 0 and output.startswith("a_"), errors


def test_the_server_of_a_login_is_asked_for_and_offered_again(desktop, home):
    home.change({"fcsdk": {"users": {"ada": {"password": "difference", "domain": "example.com"}}}})
    server = home.origin("fcsdk")
    title = f"Log in at “{server}”."
    for typed in ("no server", None):
        signing = home.start("einlass-prompter", "sign-in", "fcsdk")
        window = desktop.window("Sign In", lambda window: focused(window) == "Server")
        check_names(window)
        assert find(window, "text", "Server")["text"] == ("" if typed else server)
        if typed:
            desktop.type("Sign In", typed)
            desktop.press("Sign In", "Return")
            desktop.window("Sign In", lambda window: "The server must be a host name or an address" in words(window)
                           and find(window, "text", "Server")["text"] == typed)
            desktop.press("Sign In", "ctrl+a")
            desktop.type("Sign In", "http://pbx.example")
            desktop.press("Sign In", "Return")
            desktop.window("Sign In", lambda window: "plain http. Name the server with https." in words(window))
            desktop.press("Sign In", "ctrl+a")
            desktop.type("Sign In", server)
        desktop.press("Sign In", "Return")
        for text in ("ada", "difference"):
            desktop.window(title, focused)
            desktop.type(title, text)
            desktop.press(title, "Return")
        code, output, errors = finish(signing)
        assert code == 0 and output.startswith("a_") and errors == "", errors


def test_a_server_at_a_provider_without_one_is_told(desktop, home):
    signing = home.start("einlass-prompter", "sign-in", "github", "--server", "https://pbx.example")
    step = "Correct --server, or leave it out."
    window = desktop.window("Sign-In Failed", lambda window: step in names(window) and focused(window))
    assert "The server is for a server of your own, and GitHub is none." in names(window)
    desktop.press("Sign-In Failed", "Escape")
    code, output, errors = finish(signing)
    assert (code, output) == (1, "") and errors.endswith(f"\n   next: {step}\n")


def test_a_provider_of_the_list_is_without_the_server_of_another_one(desktop, home):
    signing = home.start("einlass-prompter", "sign-in", "nowhere", "--server", "https://pbx.example")
    desktop.window("Sign-In Failed", lambda window: focused(window) == "Choose a Provider")
    choose_github(desktop)
    code, output, _ = finish(signing)
    assert code == 0 and output.startswith("a_")


def test_a_server_that_is_not_named_cancels(desktop, home):
    signing = home.start("einlass-prompter", "sign-in", "fcsdk")
    desktop.window("Sign In", lambda window: focused(window) == "Server")
    desktop.press("Sign In", "Escape")
    assert finish(signing) == (3, "", "")


def test_the_person_says_whether_the_account_is_new(desktop, home):
    home.change({"sequencing": {"behaviour": {"consent": "allow"}}})
    code, first, errors = finish(home.start("einlass-prompter", "sign-in", "sequencing"))
    assert code == 0, errors
    title = "You signed in at “Sequencing.com” for “einlass-prompter”. Is this a new account, or one of these?"
    for button, same in (("Choose", True), ("A new account", False)):
        signing = home.start("einlass-prompter", "sign-in", "sequencing")
        check_names(desktop.window(title, focused))
        desktop.reach(title, button)
        desktop.press(title, "space")
        code, output, errors = finish(signing)
        assert code == 0 and (output == first) == same, errors


def test_a_cancelled_sign_in_has_a_code_of_its_own(desktop, home):
    home.change({"github": {"behaviour": {"consent": "page"}}})
    signing = home.start("einlass-prompter", "sign-in", "github")
    desktop.window(PAGE, lambda window: find(window, "push button", "Open Again"))
    desktop.press(PAGE, "Escape")
    assert finish(signing)[:2] == (3, "")


def test_a_failed_sign_in_shows_its_next_step_and_tries_again(desktop, home):
    home.change({"faults": {"down": {"path": "/login/oauth/access_token", "answer": "status", "status": 503}}})
    signing = home.start("einlass-prompter", "sign-in", "github")
    window = desktop.window("Sign-In Failed", focused)
    check_names(window)
    assert "503" in words(window) and "Try again later." in names(window)
    home.change({"faults": {"down": None}})
    desktop.press("Sign-In Failed", "alt+t")
    code, output, errors = finish(signing)
    assert code == 0 and output.startswith("a_") and "503" in errors


def test_the_end_of_einlass_is_shown(desktop, home):
    home.change({"github": {"behaviour": {"consent": "page"}}})
    signing = home.start("einlass-prompter", "sign-in", "github")
    desktop.window(PAGE, focused)
    children = [int(child) for task in Path(f"/proc/{signing.pid}/task").iterdir()
                for child in (task / "children").read_text().split()]
    (server,) = [child for child in children if Path(f"/proc/{child}/comm").read_text() == "einlass\n"]
    os.kill(server, signal.SIGKILL)
    window = desktop.window("Sign-In Failed", focused)
    assert {"einlass ended before the end of the sign-in.", "Start the sign-in again."} <= set(names(window))
    assert "exit code" not in words(window) and "log lines" not in words(window)
    assert not find(window, "push button", "Try Again")
    desktop.press("Sign-In Failed", "Escape")
    code, output, errors = finish(signing)
    assert (code, output) == (1, "") and "einlass ended before the end of the sign-in." in errors


def choose_github(desktop):
    desktop.press("Sign-In Failed", "alt+p")
    desktop.window("Sign In", lambda window: focused(window) == "Twitter")
    desktop.type("Sign In", "github")
    desktop.window("Sign In", lambda window: [
        node["name"] for node in nodes(window) if node["role"] == "list item"] == ["GitHub"])
    desktop.press("Sign In", "Return")


def test_the_next_step_of_a_failure_leads_to_the_list_of_providers(desktop, home):
    signing = home.start("einlass-prompter", "sign-in", "nowhere")
    window = desktop.window("Sign-In Failed", lambda window: focused(window) == "Choose a Provider")
    assert "Choose one of the providers." in names(window) and hints.methods_in(words(window)) == []
    choose_github(desktop)
    code, output, _ = finish(signing)
    assert code == 0 and output.startswith("a_")


def test_another_einlass_in_python_changes_nothing(home, tmp_path):
    (tmp_path / "einlass.py").write_text("raise SystemExit('another one')\n")
    home.environment["PYTHONPATH"] = str(tmp_path)
    assert home.run(PYTHON, "-c", "import einlass")[2] == "another one\n"
    del home.environment["DISPLAY"]
    code, _, errors = home.run("einlass-prompter", "sign-in", "gitlab")
    assert code == 1 and "no display" in errors


@pytest.mark.parametrize("program, message", [
    ("/nonexistent", "The variable EINLASS names /nonexistent, which is no program. Correct or remove it."),
    ("/bin/true", "einlass ended before it answered."), ("/bin/cat", "einlass did not answer within 10 seconds."),
    ("", hints.MISSING)])
def test_a_sign_in_that_cannot_begin_says_so(desktop, home, program, message):
    home.environment["EINLASS"] = program
    if not program:
        (home.folder / "bin/einlass").unlink()
    signing = home.start("einlass-prompter", "sign-in", "github")
    window = desktop.window("Sign-In Failed", lambda window: focused(window) and message in names(window))
    assert focused(window) == "Close" and "EINLASS" in words(window)
    desktop.press("Sign-In Failed", "Escape")
    code, output, errors = finish(signing)
    assert (code, output) == (1, "") and message in errors


def test_a_page_that_does_not_open_is_not_called_open(desktop, home):
    opener = home.folder / "bin/xdg-open"
    browser = opener.read_text()
    opener.write_text("#!/bin/sh\nexit 3\n")
    signing = home.start("einlass-prompter", "sign-in", "github")
    problem = "No browser has opened the page. Copy the address into a browser."
    window = desktop.window(PAGE, lambda window: problem in names(window))
    assert find(window, "push button", "Open 127.0.0.1")
    opener.write_text(browser)
    desktop.press(PAGE, "alt+o")
    code, output, errors = finish(signing)
    assert code == 0 and output.startswith("a_"), errors


def test_a_code_whose_page_does_not_open(desktop, home, enter_code):
    (home.folder / "bin/xdg-open").write_text("#!/bin/sh\nexit 3\n")
    signing = home.start("einlass-prompter", "sign-in", "github", "--flow", "deviceCode")
    desktop.window(CODE, focused)
    desktop.press(CODE, "alt+o")
    desktop.window(CODE, lambda window: "No browser has opened the page." in words(window))
    desktop.press(CODE, "Escape")
    assert finish(signing)[0] == 3


def test_a_wrong_command_line_has_a_code_of_its_own(desktop, home):
    code, _, errors = home.run("einlass-prompter", "sign-out")
    assert code == 2


def test_a_registration_is_entered_where_it_is_missing(desktop, home):
    configuration = json.loads(home.config.read_text())
    registration = configuration["applications"]["*"].pop("github")
    home.config.write_text(json.dumps(configuration))
    signing = home.start("einlass-prompter", "sign-in", "github")
    window = desktop.window("Sign-In Failed", lambda window: focused(window) == "Register")
    assert "its client id (https://docs.github.com/" in words(window)
    assert "The registration at GitHub lacks" in words(window)
    assert "einlassctl" not in words(window) and hints.methods_in(words(window)) == []
    desktop.press("Sign-In Failed", "alt+r")
    window = desktop.window("Registration", focused)
    check_names(window)
    assert "Redirect address: http://127.0.0.1/callback" in names(window) and "Open the Form" in names(window)
    assert "1. Type a name" in words(window) and "unused for a year" in words(window)
    desktop.type("Registration", registration["clientId"])
    desktop.press("Registration", "Return")
    desktop.type("Registration", registration["clientSecret"])
    desktop.press("Registration", "Return")
    code, output, errors = finish(signing)
    assert code == 0 and output.startswith("a_"), errors
    assert registration["clientSecret"] not in errors


def test_accounts_have_pictures_or_initials(desktop, home, tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name, size in (("ada", "64x32"), ("huge", "5000x1")):
        subprocess.run(["convert", "-size", size, "xc:#ff00ff", str(pictures / f"{name}.png")], check=True)
    whole = (pictures / "ada.png").read_bytes()
    (pictures / "broken.png").write_bytes(whole[:30])
    (pictures / "none.png").write_bytes(b"GIF89a no picture")
    home.environment.update(EINLASS=str(Path(__file__).with_name("prompter") / "stand_in.py"), PICTURES=str(pictures))
    signing = home.start("einlass-prompter", "sign-in", "github")

    def seen(window):
        rows = [node for node in nodes(window) if node["role"] == "list item"]
        return len(rows) == 5 and find(window, "icon", "Picture") and rows
    rows = seen(desktop.window("Choose an Account", seen))
    # The last row comes from accounts.list, because `more` says that the prompt has not all.
    assert [(row["name"], bool(find(row, "icon", "Picture"))) for row in rows] == [
        ("ada", True), ("broken", False), ("huge", False), ("none", False), ("zoe", False)]
    assert {"B", "H", "N", "Z"} <= set(words(desktop.window("Choose an Account")).split("\n"))

    def pixels():
        desktop.picture("Choose an Account", tmp_path / "shown.png")
        convert = ["convert", str(tmp_path / "shown.png"), "txt:"]
        return subprocess.run(convert, capture_output=True, text=True).stdout.upper().count("#FF00FF") or None
    # In its own proportions, 40 pixels wide.
    assert until(pixels, "no picture") == 40 * 20
    desktop.press("Choose an Account", "End", "Return")
    assert finish(signing) == (0, "a_zoe\n", "")


def refuse(home, folder, method):
    folder.mkdir()
    (folder / "ada.png").write_bytes(b"no picture")
    home.environment.update(EINLASS=str(Path(__file__).with_name("prompter") / "stand_in.py"), PICTURES=str(folder),
                            REFUSED=method)


def test_a_failed_list_of_providers_is_shown_and_tried_again(desktop, home, tmp_path):
    refuse(home, tmp_path / "pictures", "providers.list")
    signing = home.start("einlass-prompter", "sign-in")
    for _ in range(2):
        desktop.window("Sign-In Failed", lambda window: "The store is locked." in names(window) and focused(window))
        desktop.press("Sign-In Failed", "alt+t")
    desktop.window("Sign-In Failed", focused)
    desktop.press("Sign-In Failed", "Escape")
    code, output, errors = finish(signing)
    assert (code, output) == (1, "") and errors.count("The store is locked.") == 3


def test_a_failed_list_of_accounts_is_shown_and_a_failed_picture_logged(desktop, home, tmp_path):
    for method in ("accounts.list", "avatars.get"):
        refuse(home, tmp_path / method, method)
        signing = home.start("einlass-prompter", "sign-in", "github")
        problem = "Some accounts are missing. The store is locked."
        desktop.window("Choose an Account", lambda window: focused(window) and (
            problem in names(window) if method == "accounts.list" else "zoe" in names(window)))
        desktop.press("Choose an Account", "Return")
        code, output, errors = finish(signing)
        assert (code, output) == (0, "a_ada\n")
        assert ("The store is locked." in errors) == (method == "avatars.get")


# The page and the entry of the menu


def blocks(language):
    """Returns the blocks of README.md in this language."""
    parts = (FOLDER / "README.md").read_text().split("```")[1::2]
    return [part.removeprefix(language + "\n") for part in parts if part.startswith(language + "\n")]


def test_the_first_steps_of_the_page(desktop, home):
    """From the link and the line of the configuration file to a sign-in. The packages are there already."""
    (home.folder / "bin/einlass-prompter").unlink()
    install, trial, script = blocks("sh")
    apt, link = install.splitlines()
    assert apt.startswith("sudo apt install python3-gi gir1.2-gtk-3.0")
    code, _, errors = home.run("sh", "-c", link, cwd=PROJECT)
    assert code == 0, errors
    (line,) = blocks("json")
    configure(home, **json.loads(line.replace("/home/ada", str(home.folder))))
    asking = home.start("sh", "-c", trial)
    desktop.window(PAGE, focused)
    desktop.press(PAGE, "Return")
    code, output, errors = finish(asking)
    assert code == 0 and output.strip(), errors
    home.environment["PATH"] = f"{home.folder}/.local/bin:{home.environment['PATH']}"
    code, output, errors = finish(home.start("sh", "-e", "-c", script))
    account, token = output.splitlines()
    assert code == 0 and account.startswith("a_") and token, errors


def test_the_library_as_the_page_shows_it(desktop, home, tmp_path):
    (program,) = blocks("python")
    (tmp_path / "program.py").write_text(program)
    home.environment["PYTHONPATH"] = f"{FOLDER}:{PROJECT / 'clients/python'}"
    running = home.start(PYTHON, str(tmp_path / "program.py"))
    desktop.window(PAGE, focused)
    desktop.press(PAGE, "Return")
    assert finish(running) == (0, "Signed in: Ada Lovelace\n", "")


def test_the_pictures_of_the_page_are_there():
    page = (FOLDER / "README.md").read_text()
    pictures = sorted(path.name for path in (FOLDER / "images").iterdir())
    assert pictures and all(f"(images/{name})" in page for name in pictures) and page.count("(images/") == len(pictures)
    assert max(path.stat().st_size for path in (FOLDER / "images").iterdir()) < 100_000


def test_the_entry_of_the_menu_is_valid(desktop, home):
    file = FOLDER / "einlass-prompter.desktop"
    done = subprocess.run(["desktop-file-validate", str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    entry = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    signing = home.start(*shlex.split(entry["Exec"]))
    window = desktop.window("Sign In", focused)
    assert find(window, "list box", "Providers")
    # The desktop finds the entry of a window by its class, and the icon by its name.
    assert desktop.xdotool("search", "--class", entry["StartupWMClass"])
    assert has_icon(entry["Icon"])
    desktop.press("Sign In", "Escape")
    assert finish(signing)[0] == 3


def has_icon(name):
    look = f"from gi.repository import Gtk; print(Gtk.IconTheme().has_icon({name!r}))"
    script = "import gi; gi.require_version('Gtk', '3.0'); " + look
    return subprocess.run([PYTHON, "-c", script], capture_output=True, text=True).stdout.strip() == "True"
