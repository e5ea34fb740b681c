"""Finds the program einlass."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig

_MISSING = ("There is no einlass on the PATH. Install einlass-*.whl of a release as its INSTALL.md says, "
            "or name einlass in the variable EINLASS.")


def find_einlass() -> str:
    """Returns the path of einlass: from $EINLASS, else the one installed together with this client, else from the PATH,
    else beside the running program, else in ~/.local/bin. Raises FileNotFoundError."""
    named = os.environ.get("EINLASS")
    if named:
        if not shutil.which(named):
            raise FileNotFoundError(f"The variable EINLASS names {named}, which is no program. Correct or remove it.")
        return named
    folders = [os.path.dirname(os.path.abspath(sys.argv[0])), os.path.expanduser("~/.local/bin")]
    found = _installed() or shutil.which("einlass") or shutil.which("einlass", path=os.pathsep.join(folders))
    if not found:
        raise FileNotFoundError(_MISSING)
    return found


def _installed() -> str | None:
    """Returns the einlass of the wheel that has this file: in the folder for scripts of the environment or of the user."""
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for places in (sysconfig.get_paths(), sysconfig.get_paths(f"{os.name}_user")):
        if here in (os.path.realpath(places[kind]) for kind in ("platlib", "purelib")):
            return shutil.which("einlass", path=places["scripts"])
    return None
