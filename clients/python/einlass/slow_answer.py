"""The note of einlassctl about a late failure: pip and uv ask several times, and would wait as long each time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Optional

#: The time limit for an answer, and that shortly after a late failure.
USUAL_SECONDS, SHORT_SECONDS = 5.0, 1.2
SLOW_SECONDS, MEMORY_SECONDS = 1.5, 20.0


def _path() -> Path:
    folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(folder) / "einlass/slow-answer.json"


def former() -> Optional[str]:
    """Returns the line of a late failure shortly before, or None."""
    try:
        noted = json.loads(_path().read_text())
        left = noted["until"] / 1000 - time.monotonic()
        return str(noted["line"]) if 0 < left <= MEMORY_SECONDS else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note(line: str) -> None:
    """Remembers the line of a failure that took more than SLOW_SECONDS."""
    path = _path()
    content = {"until": int((time.monotonic() + MEMORY_SECONDS) * 1000), "line": line}
    try:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(content, file)
        new.replace(path)
    except OSError:
        pass  # the next program only waits longer
