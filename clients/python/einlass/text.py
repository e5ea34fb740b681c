"""Text for the terminal."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from typing import Any, Iterable, List, Mapping, Optional, Sequence

STAGES = {
    "access": "checking access",
    "selecting": "choosing the account",
    "awaitingPerson": "",  # the question is on the screen already
    "awaitingPort": "waiting for the port of the redirect address, which a sign-in of another program uses",
    "awaitingSignIn": "waiting for the same sign-in of another program",
    "discovering": "looking up the provider",
    "requesting": "waiting for the provider",
    "exchanging": "exchanging tokens",
    "verifying": "checking the credential",
    "saving": "saving",
}

SECRETS = {"key", "secret", "token", "idToken", "refreshToken", "sessionId", "clientSecret", "cookies"}


def on_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()  # None: standard input is closed


def show(text: str) -> None:
    """Writes a result to standard output. Raises OSError, for example if the disk is full."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "It is closed")
    try:
        print(text, flush=True)
    except OSError:
        # Python writes the rest at its end, and would fail with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def say(text: str) -> None:
    if sys.stderr is None:
        return
    sys.stderr.write(text + "\n")  # one write, because several threads print
    sys.stderr.flush()


def clean(value: object) -> str:
    """Returns the text with U+FFFD in place of each character that could steer a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(value))


def masked(value: Any, secret: bool = False) -> Any:
    """Returns the value with each secret cut to its first four characters; a short secret is removed."""
    if isinstance(value, Mapping):
        return {k: masked(v, secret or k in SECRETS) for k, v in value.items()}
    if isinstance(value, list):
        return [masked(v, secret) for v in value]
    if secret and isinstance(value, str):
        return f"{value[:4] if len(value) >= 12 else ''}… ({len(value)} characters)"
    return value


def show_progress(params: Mapping[str, Any]) -> None:
    stage = str(params.get("stage"))
    if text := STAGES.get(stage, clean(stage)):
        say(f"  … {text}")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return columns([head, *(["-" if cell in (None, "") else cell for cell in row] for row in rows)])


def columns(rows: Iterable[Sequence[object]]) -> str:
    lines = [[clean(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)


def accounts_table(accounts: Sequence[Mapping[str, Any]]) -> str:
    rows = [[a.get(name) for name in ("provider", "username", "displayName", "health", "account")] for a in accounts]
    return table(["provider", "username", "name", "health", "account"], rows)


def members(value: Mapping[str, Any], indent: str = "  ") -> str:
    width = max((len(k) for k in value), default=0)
    return "\n".join(f"{indent}{k.ljust(width)}  {clean(plain(v))}" for k, v in value.items())


def plain(value: Any) -> str:
    """Returns a value as plain text."""
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def qr_code(text: str) -> Optional[str]:
    """Returns lines with a QR code; None without the package segno (`pip install segno`), and if the terminal is
    too narrow or cannot show it."""
    try:
        import segno

        code = segno.make(text, error="l", micro=False)
        "\u2580\u2584\u2588".encode(sys.stderr.encoding)
        if not sys.stderr.isatty() or code.symbol_size(border=2)[0] > os.get_terminal_size(sys.stderr.fileno()).columns:
            return None
    except (ImportError, UnicodeError, ValueError):
        return None
    drawing = io.StringIO()
    code.terminal(drawing, border=2, compact=True)
    # White on black in every theme, because not every camera reads an inverted code.
    return "\n".join(f"\x1b[97;40m{line}\x1b[0m" for line in drawing.getvalue().splitlines())
