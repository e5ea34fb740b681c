"""The recipes of clients/RECIPES.md that no other test runs, and a check that each recipe is run.

    python -m pytest Tests/Integrations/test_recipes.py
"""
import json
import re
import shlex
from pathlib import Path

import pytest

from recipes import PAGE, SECTIONS, blocks, commands, recipe

TESTS = "".join(path.read_text() for path in Path(__file__).parent.glob("*.py"))


@pytest.mark.parametrize("program", [program for program in SECTIONS if blocks(program)])
def test_a_recipe_is_run_or_the_page_says_that_it_is_not(program):
    is_run = re.search(rf'\b(recipe|commands)\(\s*"{re.escape(program)}"', TESTS)
    assert is_run or "was not tested" in SECTIONS[program]


def test_the_table_leads_to_every_recipe():
    table = re.findall(r"\]\(#([^)]*)\)", "".join(re.findall(r"^\| \[.*", PAGE, re.MULTILINE)))
    anchors = [re.sub(r"[^\w -]", "", program.lower()).replace(" ", "-") for program in SECTIONS]
    assert [anchor for anchor in anchors if anchor != "mail"] == table


def test_google_signs_in_with_the_scopes_of_mail(house):
    sign_in = next(line for line in commands("Mail") if "sign-in" in line)
    house.sign_in(*shlex.split(sign_in)[2:])
    token = house.do("token", "google", "--scope", "https://mail.google.com/")
    assert house.do("token", "google", "--scope", "mail") == token
    # Another name is a scope that the token lacks.
    assert house.run("einlassctl", "token", "google", "--scope", "mails")[0] == 1


def test_outlook_signs_in_with_the_scopes_of_mail(house):
    scope = "https://outlook.office.com/IMAP.AccessAsUser.All"
    house.change({"microsoft": {"behaviour": {"consent": "allow"}}})
    with house.on_terminal("einlassctl", "sign-in", "microsoft", "--no-guide", "--scope", scope) as terminal:
        assert terminal.end() == 1, terminal.shown
    assert house.count("microsoft", "GET", "/v1.0/me") == 1
    sign_in = next(line for line in commands("Mail") if "outlook" in line)
    with house.on_terminal(*shlex.split(sign_in)) as terminal:
        assert terminal.end() == 0, terminal.shown
    shown = json.loads(house.do("token", "outlook/ada@example.org", "--scope", scope, "--json"))
    assert shown["token"] in house.state()["microsoft"]["tokens"]


@pytest.fixture
def id_token(house):
    house.sign_in("google")
    house.allow("terraform", "google")
    return house.do("token", "google", "--id-token").strip()


def install(house, script):
    path = house.folder / "bin/script"
    path.write_text(script)
    path.chmod(0o700)


def test_the_script_for_google_cloud(house, id_token):
    install(house, recipe("Google Cloud", ("example/ada", "google")))
    code, output, errors = house.run("script")
    assert code == 0, errors
    assert json.loads(output) == {"version": 1, "success": True, "token_type": "urn:ietf:params:oauth:token-type:id_token",
                                  "id_token": id_token}
    house.do("access", "reset", "einlassctl", "google")
    code, output, errors = house.run("script")
    assert code == 1 and output == "" and "einlassctl access set einlassctl google granted" in errors


def test_the_script_for_terraform(house, id_token):
    install(house, recipe("Terraform"))
    host = house.origin("google").removeprefix("http://")
    house.do("services", "add", "https://" + host, "google", "--yes")
    code, output, errors = house.run("script", "get", host)
    assert code == 0, errors
    assert json.loads(output) == {"token": house.do("token", "google", "--for", "terraform").strip()}
    assert house.run("script", "store", host, input="{}")[0] == 1
    assert house.run("script", "get", "app.example.com")[0] == 1


def test_bazel_runs_the_helper_by_this_name(house):
    (line,) = recipe("Bazel").splitlines()
    assert (house.folder / "bin" / line.partition("=")[2]).exists()
