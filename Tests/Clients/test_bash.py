"""The bash client: the cases for clients, its page, and sign-ins at the sandbox.

    python -m pytest Tests/Clients/test_bash.py
"""
import json
import re
import subprocess
import sys

import pytest

from conftest import PROJECT
from house import SANDBOX, needs

sys.path.append(str(PROJECT / "Tests/Documents"))
from pages import blocks  # noqa: E402

PROGRAM = PROJECT / "clients/bash/sign-in"
PAGE = "clients/bash/README.md"
TEXT = (PROJECT / PAGE).read_text()
CODE, SANDBOX_CODE, SCRIPT = (block.text for block in blocks(PAGE, TEXT))
PATIENCE = 60
pytestmark = needs("jq")


def bash(house, *arguments, typed="", **variables):
    return house.run(str(PROGRAM), *arguments, input=typed, patience=PATIENCE, env=variables)


def test_bash_opens_the_page(house):
    code, output, errors = bash(house, "github", DISPLAY=":none")
    assert code == 0 and '"Ada Lovelace"' in output, errors
    assert "Sign in at “127.0.0.1” in your browser.\n" in errors and "“bash” may use your “GitHub” account" in errors
    assert house.count("github", "POST", "/login/oauth/access_token") == 1
    code, output, errors = bash(house, "github", typed="1\n")  # the account is there, and bash has access to it
    assert code == 0 and "Sign in" not in errors, errors


def test_bash_opens_no_browser_without_a_desktop(house):
    for variables in ({}, {"DISPLAY": ":none", "SSH_CONNECTION": "1"}):
        with house.start("env", *(f"{name}={value}" for name, value in variables.items()), PROGRAM, "github") as process:
            while not process.stderr.readline().startswith("http://"):
                pass
            page = house.count("github", "GET", "/login/oauth/authorize")
            process.terminate()
        assert page == 0


@pytest.mark.parametrize("typed, value", [("y", True), ("Y", True), ("Yes", True), ("n", False), ("", False)])
def test_bash_takes_yes_in_capitals_too(typed, value):
    script = f'source "{PROGRAM}"; members=$accept; enter remember flag false Remember; echo "$members"'
    done = subprocess.run(["bash", "-c", script], input=typed + "\n", capture_output=True, text=True)
    assert json.loads(done.stdout) == {"action": "accept", "remember": value}, done.stderr


def test_bash_passes_every_case(hold):
    """By an adapter in bash that reads sign-in for its functions. It starts jq for each message, hence the time."""
    hold("--timeout", 300, "bash", PROJECT / "Tests/Clients/bash/adapter")


# The page


def commands(block):
    """Returns the commands of a block with their outputs."""
    return re.findall(r"^\$ (.*?)(?:    # .*)?\n((?:(?!\$ ).*\n?)*)", block + "\n", re.MULTILINE)


def check(expected, shown):
    """Checks that the lines fit. `…` stands for any text; on a line of its own, for any lines."""
    patterns = ["(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
                for line in expected.strip().split("\n")]
    assert re.fullmatch("".join(patterns), shown), shown


def run(house, script, enter):
    """Runs a script in the clone, and enters the code that it shows. Returns standard error, then standard output."""
    with house.start("bash", "-c", f"cd '{PROJECT}'\n{script}") as process:
        shown = ""
        while not (found := re.search(r"([A-Z]{4}-[A-Z]{4})\s.*?(http://\S+/device)\s", shown, re.DOTALL)):
            line = (process.stdout if "my-script" in script else process.stderr).readline()
            assert line, shown
            shown += line
        enter(found[2], found[1])
        shown += process.stderr.read() + process.stdout.read()
    assert process.returncode == 0, shown
    return shown


def test_the_first_lines_of_the_page_show_a_code(house, enter_code):
    ((command, expected),) = commands(CODE)
    shown = run(house, command, enter_code)
    check(expected, shown)
    assert '"name": "Ada Lovelace"' in shown
    # The next time, and for a script, as the page says.
    assert bash(house, "github", typed="1\n")[0] == 0
    assert house.do("token", "github", "--for", "bash").strip() in house.state()["github"]["tokens"]


def test_the_sandbox_of_the_page_needs_nothing_else(house, enter_code):
    """In a home folder without a configuration, at a sandbox of its own."""
    house.config.unlink()
    (house.folder / "bin/einlass-sandbox").symlink_to(SANDBOX)
    (start, _), (sign_in, expected), (remove, also), (end, _) = commands(SANDBOX_CODE)
    start = start.replace(">sandbox.json", ">~/sandbox.json")
    end = end.replace(" sandbox.json", " ~/sandbox.json")
    check(expected + also, run(house, "\n".join([start, sign_in, remove, end]), enter_code))
    assert not house.config.exists() and json.loads(house.do("accounts", "list", "--json"))["accounts"] == []


def test_the_script_of_the_page_signs_in(house, enter_code):
    shown = run(house, SCRIPT, enter_code)
    assert re.fullmatch(r"Enter \S+ at \S+/device\nSigned in: a_\S+\n", shown), shown
    assert len(SCRIPT.strip().split("\n")) <= 10


def test_the_links_of_the_page_lead_to_files():
    links = re.findall(r"\]\(([^)#]+)", TEXT)
    assert len(links) >= 2 and all((PROJECT / "clients/bash" / link).exists() for link in links)
