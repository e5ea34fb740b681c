"""The recipes of clients/RECIPES.md: a test runs the block that a reader copies."""
import re

from house import PROJECT

PAGE = (PROJECT / "clients/RECIPES.md").read_text()
# Tests/Documents runs the blocks before the first recipe.
RECIPES = PAGE[PAGE.index("\n## git\n"):]
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", RECIPES, re.MULTILINE | re.DOTALL))


def blocks(program):
    return re.findall(r"^```\w*\n(.*?)^```$", SECTIONS[program], re.MULTILINE | re.DOTALL)


def recipe(program, *replaced):
    """Returns the only block of a program, with an address of the test in place of each address of the page."""
    (text,) = blocks(program)
    return filled(text, replaced)


def commands(program, *replaced):
    """Returns the command lines of a program."""
    return re.findall(r"^\$ (.*)$", filled("".join(blocks(program)), replaced), re.MULTILINE)


def filled(text, replaced):
    for shown, here in replaced:
        assert shown in text, f"{shown} does not stand in {text}"
        text = text.replace(shown, here)
    return text
