"""No client reads inside the message of an error."""
import re
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2] / "clients"
#: By folder: the pattern of the files, and the ways to look into a text.
READERS = {
    "emacs/*.el": r"(string-match|split-string|string-prefix|string-suffix|replace-regexp)[^\n]*:message\b",
    "neovim/lua/einlass/*.lua": r"\.message:(find|match|gsub|gmatch|sub)\b|split\([^\n]*\.message\b",
    "prompter/einlass_prompter/*.py": r"\.message\.(split|replace|find|startswith|endswith|partition)|re\.\w+\([^\n]*\.message\b",
    "python/einlass/*.py": r"\.message\.(split|replace|find|startswith|endswith|partition)|re\.\w+\([^\n]*\.message\b",
    "vscode/src/*.ts": r"\.message\.(split|replace|match|includes|startsWith|endsWith|slice)",
    "typescript/src/*.ts": r"\.message\.(split|replace|match|includes|startsWith|endsWith|slice)",
}
#: Lines of former clients that read a sentence.
CONTROLS = {
    "emacs/*.el": '(split-string (replace-regexp-in-string "x" "" (plist-get problem :message)))',
    "neovim/lua/einlass/*.lua": 'problem.message:gsub("^The ", "")',
    "prompter/einlass_prompter/*.py": 're.sub("^The ", "", error.message)',
    "python/einlass/*.py": 'error.message.replace(". ", "")',
    "vscode/src/*.ts": "error.message.split(/x/)",
    "typescript/src/*.ts": "error.message.includes('x')",
}


@pytest.mark.parametrize("files", READERS)
def test_no_client_reads_inside_a_message(files):
    found = [(path.name, line) for path in CLIENTS.glob(files) for line in path.read_text().split("\n")
             if re.search(READERS[files], line)]
    assert list(CLIENTS.glob(files)) and found == []
    assert re.search(READERS[files], CONTROLS[files])
