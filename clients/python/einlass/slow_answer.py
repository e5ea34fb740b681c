"""The note of einlassctl about a helper that gave up: pip and uv ask several times, and would wait as long each time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

USUAL_SECONDS, SHORT_SECONDS, MEMORY_SECONDS = 5.0, 1.2, 20.0


def _path() -> Path:
    folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(folder) / "einlass/slow-answer.json"


def limit() -> float:
    """Returns the time limit for an answer, in seconds: a short one shortly after a late answer."""
    try:
        left = json.loads(_path().read_text())["until"] / 1000 - time.monotonic()
    except (OSError, ValueError, KeyError, TypeError):
        return USUAL_SECONDS
    return SHORT_SECONDS if 0 < left <= MEMORY_SECONDS else USUAL_SECONDS


def note(line: str) -> None:
    """Remembers that no answer came in time."""
    path = _path()
    content = {"until": int((time.monotonic() + MEMORY_SECONDS) * 1000), "line": line}
    try:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(content, file)
        new.replace(path)
    except OSError:
        pass  # the next program only waits longer
