"""The Python client: the cases for clients, the page of the client, and sign-ins at the sandbox.

    python -m pytest Tests/Clients/test_python.py
"""
import re
import subprocess
import sys

import pytest

from conftest import PROJECT
from house import SANDBOX

sys.path.append(str(PROJECT / "Tests/Documents"))
from pages import blocks  # noqa: E402

CLIENT = PROJECT / "clients/python"
PAGE = "clients/python/README.md"
BLOCKS = blocks(PAGE, (PROJECT / PAGE).read_text())
MODULE = {"PYTHONPATH": str(CLIENT), "PYTHONDONTWRITEBYTECODE": "1"}
PATIENCE = 60


@pytest.fixture
def house(house):
    """The house, whose browser is that of the module webbrowser too, and which knows the sandbox."""
    house.environment |= {"BROWSER": "xdg-open", "EINLASS_SANDBOX": SANDBOX}
    return house


@pytest.mark.parametrize("adapter", ["adapter.py", "async_adapter.py"])
def test_the_client_passes_every_case(hold, adapter):
    hold("--timeout", 60, sys.executable, CLIENT / "tests" / adapter)


# The terminal program


def on_terminal(house, *arguments, **variables):
    return house.on_terminal("env", sys.executable, "-m", "einlass", *arguments, **MODULE, **variables)


def code_on(terminal):
    """Returns the page and the code that the terminal shows."""
    terminal.wait_for("Ctrl-C cancels it")
    return re.search(r"(http://\S+/device)\s[^█]*?\b([A-Z]{4}-[A-Z]{4})\s", terminal.shown).groups()


def test_sign_in_opens_the_page_when_there_is_no_account(house):
    with on_terminal(house, "sign-in", "github", DISPLAY=":none") as terminal:
        terminal.wait_for("After the sign-in, “einlass-terminal” may use your “GitHub” account.")
        terminal.wait_for("Your browser opens it")
        terminal.wait_for("Signed in at github:")
        terminal.wait_for("Ada Lovelace")
        assert terminal.end() == 0
    with on_terminal(house, "sign-in", "github", "--selection", "whenMany") as terminal:
        assert terminal.end() == 0
    assert "Your browser" not in terminal.shown  # the account is there, and the sign-in gave access to it


def test_the_question_for_the_address_goes_away_when_the_browser_is_back(house):
    house.change({"github": {"behaviour": {"consent": "page"}}})
    with on_terminal(house, "sign-in", "github", DISPLAY="", WAYLAND_DISPLAY="") as terminal:
        terminal.wait_for("Open it in a browser")
        terminal.wait_for("The address in the browser; nothing cancels: ")
        page = re.search(r"http://\S+/authorize\?\S+", terminal.shown)[0]
        house.change({"github": {"behaviour": {"consent": "allow"}}})
        assert house.run("curl", "-sSL", "-o", "/dev/null", page)[0] == 0
        terminal.wait_for("\r\x1b[K")
        terminal.wait_for("Signed in at github:")
        assert terminal.end() == 0


def test_the_address_of_the_last_page_is_pasted(house):
    with on_terminal(house, "sign-in", "github", SSH_CONNECTION="1", DISPLAY=":none") as terminal:
        terminal.wait_for("The address in the browser; nothing cancels: ")
        page = re.search(r"http://\S+/authorize\?\S+", terminal.shown)[0]
        code, last, _ = house.run("curl", "-sS", "-o", "/dev/null", "-w", "%{redirect_url}", page)
        terminal.type("http://127.0.0.1/wrong\n")
        terminal.wait_for("That does not fit.")
        terminal.wait_for("The address in the browser; nothing cancels: ")
        terminal.type(f"'{last}'\n")
        terminal.wait_for("Signed in at github:")
        assert terminal.end() == 0
    assert "Open it in a browser" in terminal.shown and "Your browser" not in terminal.shown


def test_nothing_and_ctrl_c_cancel_a_sign_in(house):
    for key, shown in (("\n", "userCanceled"), ("\x03", "Cancelled.")):
        with on_terminal(house, "sign-in", "github", SSH_CONNECTION="1") as terminal:
            terminal.wait_for("The address in the browser; nothing cancels: ")
            terminal.type(key)
            terminal.wait_for(shown)
            assert terminal.end() == 1


def test_sign_in_shows_a_code(house, enter_code):
    with on_terminal(house, "sign-in", "github", "--flow", "deviceCode") as terminal:
        page, code = code_on(terminal)
        enter_code(page, code)
        terminal.wait_for("Signed in at github:")
        assert terminal.end() == 0


def test_a_code_needs_no_terminal(house, enter_code):
    command = ["env", *(f"{name}={value}" for name, value in MODULE.items()), sys.executable, "-m", "einlass",
               "sign-in", "github", "--flow", "deviceCode", "--json"]
    with house.start(*command) as process:
        shown = ""
        while not (found := re.search(r"(http://\S+/device)\s.*\b([A-Z]{4}-[A-Z]{4})\s", shown, re.DOTALL)):
            line = process.stderr.readline()
            assert line, shown
            shown += line
        enter_code(*found.groups())
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and '"name": "Ada Lovelace"' in output, errors
    assert "\x1b" not in shown + errors  # no drawing for a camera without a terminal


def modules_of(drawing, width):
    """Returns the modules of a QR code, dark ones as 1, from lines with half blocks: a block is light."""
    rows = []
    for line in drawing:
        assert len(line) == width, line
        rows += [[0 if cell in "█▀" else 1 for cell in line], [0 if cell in "█▄" else 1 for cell in line]]
    return rows[:width]


@pytest.mark.parametrize("columns, fits", [(80, True), (20, False)])
def test_a_camera_reads_the_code_of_the_address(house, columns, fits):
    """The drawing on the screen has the modules that another run of the encoder makes of this address."""
    segno = pytest.importorskip("segno")
    address = "https://github.com/login/device?user_code=WDJB-MJHT"
    program = f"from einlass.text import qr_code; print(qr_code({address!r}))"
    from terminal import Terminal
    with Terminal([sys.executable, "-c", program], columns=columns, **house.environment, **MODULE) as terminal:
        assert terminal.end() == 0
    drawn = re.findall(r"\x1b\[97;40m(.*?)\x1b\[0m", terminal.shown)
    if not fits:
        assert not drawn and "None" in terminal.shown
        return
    border = 2
    modules = modules_of(drawn, len(drawn[0]))
    inner = [row[border:-border] for row in modules[border:-border]]
    assert inner == [list(row) for row in segno.make(address, error="l", micro=False).matrix]


@pytest.fixture
def passphrase(house):
    """A store that only a passphrase opens."""
    house.sign_in("gitlab")
    with house.on_terminal("einlassctl", "store", "slots", "add", "passphrase") as terminal:
        for question in ("assphrase", "nce more"):
            terminal.wait_for(question)
            terminal.type("correct horse battery\n")
        assert terminal.end() == 0, terminal.shown
    for path in (house.folder / ".local/state/einlass/keys").iterdir():
        path.unlink()
    return "correct horse battery"


def test_a_passphrase_is_asked_again_and_not_shown(house, passphrase):
    with on_terminal(house, "sign-in", "github", DISPLAY=":none") as terminal:
        for typed in ("a wrong one", passphrase):
            terminal.wait_for("Passphrase; nothing cancels: ")
            terminal.type(typed + "\n")
        terminal.wait_for("Signed in at github:")
        assert terminal.end() == 0
    assert "does not fit" in terminal.shown and passphrase not in terminal.shown and "a wrong one" not in terminal.shown


def test_ctrl_c_at_a_passphrase_leaves_the_terminal_as_it_was(house, passphrase):
    with on_terminal(house, "sign-in", "github") as terminal:
        terminal.wait_for("Passphrase; nothing cancels: ")
        terminal.type("\x03")
        assert terminal.end() == 1  # which compares the modes of the terminal


# The page


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The folder of the programs of an environment with what the page installs."""
    folder = tmp_path_factory.mktemp("installed")
    # A copy, because the build writes beside its sources.
    subprocess.run(["cp", "-r", str(CLIENT), str(folder / "python")], check=True)
    (folder / "clients").symlink_to(folder)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    lines = [line[2:] for block in BLOCKS for line in block.text.split("\n") if line.startswith("$ pip install ")]
    assert len(lines) >= 2
    for line in lines:
        environment = {"PATH": f"{folder}/venv/bin:/usr/bin:/bin", "HOME": str(folder), "PIP_NO_INPUT": "1"}
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return folder / "venv/bin"


@pytest.fixture
def home(house, installed):
    """The house, with the installed client on its PATH."""
    house.environment["PATH"] = f"{installed}:{house.environment['PATH']}"
    house.environment["PYTHONUNBUFFERED"] = "1"
    return house


def matches(expected, shown):
    """Whether the lines fit. `…` stands for any text; on a line of its own, for any lines."""
    patterns = ["(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
                for line in expected]
    return re.fullmatch("".join(patterns), shown)


def run_console(home, enter_code, text):
    commands = re.findall(r"^\$ (.*)\n?((?:(?!\$ ).*\n?)*)", text, re.MULTILINE)
    assert commands
    for command, output in commands:
        if command.startswith("pip install "):
            continue
        words = command.split("  # ")[0].split()
        with home.on_terminal(*words, DISPLAY=":none") as terminal:
            if "deviceCode" in words:
                enter_code(*code_on(terminal))
            assert terminal.end() == 0, terminal.shown
        shown = re.sub(r"\x1b\[[0-9;]*[mK]|\r", "", terminal.shown).rstrip("\n") + "\n"
        expected = [line.rstrip() for line in output.rstrip("\n").split("\n")]
        assert not output or matches(expected, re.sub(r" +$", "", shown, flags=re.MULTILINE)), f"$ {command}\n{shown}"


def run_python(home, enter_code, text):
    if "def test_" in text:
        (home.folder / "work/test_page.py").write_text(text)
        code, output, errors = home.run("python", "-m", "pytest", "-p", "no:cacheprovider", patience=PATIENCE)
        assert code == 0 and f"{text.count('def test_')} passed" in output, output + errors
        return
    if "https://gitlab.com" in text:
        home.sign_in("gitlab")
        home.allow("my-script", "gitlab")
        text = text.replace("https://gitlab.com", home.origin("gitlab"))
    process = home.start("env", "DISPLAY=:none", "python", "-c", text)
    with process:
        shown = process.stdout.readline()
        if code := re.search(r"Enter (\S+) at (\S+)\.", shown):
            enter_code(code[2], code[1])
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0 and not errors, errors
    return shown + output


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_an_example_of_the_page_is_true(home, request, block):
    if "deviceCode" in block.text:
        enter_code = request.getfixturevalue("enter_code")
    else:
        enter_code = None
    shown = {"console": run_console, "python": run_python}[block.kind](home, enter_code, block.text)
    if block.kind == "python" and "print(" in block.text:
        assert "Ada Lovelace" in shown or "ada" in shown


@pytest.mark.parametrize("block", [block for block in BLOCKS if "AsyncClient" in block.text], ids=lambda block: block.name)
def test_the_example_with_asyncio_asks_a_person_with_two_accounts(home, block):
    for user in ("ada", "grace"):
        home.sign_in("github", user=user)
    for user, name in (("ada", "Ada Lovelace"), ("grace", "Grace Hopper")):
        code, output, errors = home.run("python", "-c", block.text, input=user + "\n", patience=PATIENCE)
        assert code == 0 and re.fullmatch(rf"Which of \w+, \w+\? Signed in: {name}\n", output), output + errors


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "python"], ids=lambda block: block.name)
def test_an_example_is_short(block):
    assert len([line for line in block.text.split("\n") if line.strip()]) <= 15


def test_a_wrong_output_does_not_match():
    assert matches(["a…c", "…", "z"], "abc\n1\n2\nz\n") and matches(["…", "z"], "z\n")
    assert not matches(["a…c", "z"], "abc\n1\nz\n") and not matches(["a"], "a\nb\n")


def test_the_links_and_the_picture_of_the_page_are_there():
    text = (PROJECT / PAGE).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)|src=\"([^\"]+)\"", text)]
    assert len(links) >= 4
    for link in links:
        target = "".join(link)
        assert target.startswith("https://") or (CLIENT / target).exists(), target
