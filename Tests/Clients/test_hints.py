"""The sentences of einlass that name a method, which clients with commands of their own leave out."""
import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
import hints  # noqa: E402

PROJECT = Path(__file__).parents[2]
#: By source file: the beginning of its list.
LISTS = {
    "emacs/einlass.el": "(defconst einlass--methods", "neovim/lua/einlass/report.lua": "local METHODS =",
    "prompter/einlass_prompter/sign_in.py": "\nMETHODS =", "vscode/src/text.ts": "const METHODS =",
}


@pytest.mark.parametrize("file", LISTS)
def test_each_client_leaves_out_the_same_methods(file):
    _, found, rest = (PROJECT / "clients" / file).read_text().partition(LISTS[file])
    assert found and re.findall(r'"([a-z]+\.[A-Za-z]+)"', rest.split("\n\n")[0]) == hints.NAMED


def test_these_are_the_methods_in_the_sentences_of_einlass():
    code = re.sub("//.*", "", (PROJECT / "Sources/Einlass/ProblemSentences.swift").read_text())
    # The method of a hint stands between quotation marks, and so does an answer in advance.
    assert {method for method in hints.METHODS if re.search(rf'\b{re.escape(method)}\b(?!")', code)} <= set(hints.NAMED)
    assert {method for _, message, _ in hints.CASES for method in hints.methods_in(message)} <= set(hints.NAMED)
    assert all(method in code for method in hints.NAMED)
