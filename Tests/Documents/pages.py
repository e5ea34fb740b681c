"""The fenced blocks of the pages, in the order in which they stand."""
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
LIBRARY = "Sources/EinlassAuthenticators"
PAGES = ["README.md", "clients/README.md", "clients/EINLASSCTL.md", "clients/RECIPES.md", "protocol/START.md",
         "protocol/GUIDE.md", "protocol/README.md", "protocol/PROVIDERS.md", f"{LIBRARY}/README.md",
         f"{LIBRARY}/Documentation.docc/EinlassAuthenticators.md"]
KINDS = ["console", "jsonl", "json", "python", "swift"]


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    kind: str
    text: str

    @property
    def name(self):
        return f"{self.page}:{self.line}"


def blocks(page, text):
    """Every fenced block of a page. A fence that stays open is a fault of the page."""
    found, opened, lines = [], None, []
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.match(r" *(`{3,}|~{3,})(.*)", line)
        if opened is None and fence:
            opened, lines = (number, fence[1], fence[2].strip()), []
        elif opened and line.strip() == opened[1]:
            body = textwrap.dedent("\n".join(lines))
            found.append(Block(page, opened[0], opened[2] or kind_of(body), body))
            opened = None
        elif opened:
            lines.append(line)
    assert opened is None, f"{page}:{opened[0]}: this block has no end"
    return found


def kind_of(text):
    """The kind of a block whose fence names none: only lines of a conversation and commands can be told apart."""
    if re.match(r"-> |<- |\(", text.lstrip()):
        return "jsonl"
    return "console" if text.startswith("$ ") or re.fullmatch(r"[\w/.-]+", text) else ""


def all_blocks():
    """The blocks of all pages. Tests/Integrations runs those of the recipes, from the first one on."""
    return [block for page in PAGES
            for block in blocks(page, (PROJECT / page).read_text().partition("\n## git\n")[0])]
