"""The program of `"prompter"` in the configuration file. einlass speaks by its standard input and output."""

from __future__ import annotations

import itertools
import json
import os
import threading
from typing import Any, Dict, Mapping

from .widgets import GLib, Gtk
from .windows import Refused, Windows


def run() -> int:
    """Shows prompts until standard input ends. SIGTERM ends it too."""
    # No library and no started program may write between the lines for einlass.
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    numbers, waiting = itertools.count(1), {}  # type: itertools.count[int], Dict[object, Refused]

    def answer(params: Mapping[str, Any], refused: Refused) -> None:
        number = next(numbers)
        waiting[number] = refused
        line = {"jsonrpc": "2.0", "id": number, "method": "prompt.answer", "params": params}
        try:
            output.write(json.dumps(line).encode() + b"\n")
        except OSError:
            Gtk.main_quit()  # einlass has ended

    windows = Windows(answer)

    def receive(line: bytes) -> None:
        try:
            message = json.loads(line)
            params = message.get("params") or {}
            if message.get("method") == "prompt.opened":
                windows.opened(params)
            elif message.get("method") == "prompt.closed":
                windows.closed(str(params["prompt"]))
            elif "method" not in message and (refused := waiting.pop(message.get("id"), None)) and "error" in message:
                error = message["error"]
                refused(str(error.get("data", {}).get("reason")), str(error.get("message")))
        except (ValueError, AttributeError, KeyError, TypeError):
            return  # of a later version

    def read() -> None:
        with os.fdopen(0, "rb", closefd=False) as lines:  # binary, so that only LF ends a line
            for line in lines:
                GLib.idle_add(receive, line)
        GLib.idle_add(Gtk.main_quit)

    threading.Thread(target=read, daemon=True).start()
    Gtk.main()
    return 0
