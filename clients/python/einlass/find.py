"""Finds the program einlass."""

from __future__ import annotations

import os
import shutil
import sys


def find_einlass() -> str:
    """Returns the path of einlass: from $EINLASS, else from the PATH, else beside the running program, else in
    ~/.local/bin. Raises FileNotFoundError."""
    named = os.environ.get("EINLASS")
    if named:
        if not shutil.which(named):
            raise FileNotFoundError(f"The variable EINLASS names {named}, which is no program. Correct or remove it.")
        return named
    folders = [os.path.dirname(os.path.abspath(sys.argv[0])), os.path.expanduser("~/.local/bin")]
    found = shutil.which("einlass") or shutil.which("einlass", path=os.pathsep.join(folders))
    if not found:
        raise FileNotFoundError("There is no einlass on the PATH. Install it, or name it in the variable EINLASS.")
    return found
