"""A connection to an einlass of its own, whose prompts are windows."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from einlass import Call, Client, EinlassError
from einlass.text import clean
from einlass.tokens import find_einlass

from .widgets import GLib
from .windows import Refused, Window, Windows

log = logging.getLogger("einlass_prompter")
Failed = Callable[[EinlassError], object]


def log_failure(error: EinlassError) -> None:
    log.warning("a request has failed: %s", clean(error))


def when_done(call: Call, done: Callable[[Any], object], failed: Failed = log_failure) -> None:
    """Calls one of the functions in the main loop of GTK, once the answer is there: with the result or the error."""
    def wait() -> None:
        try:
            GLib.idle_add(lambda result: done(result) and None, call.result())
        except EinlassError as error:
            GLib.idle_add(lambda problem: failed(problem) and None, error)

    threading.Thread(target=wait, daemon=True).start()


class Connection:
    """Starts einlass. `client` sends requests; prompts open and close in windows by themselves.

    Raises FileNotFoundError if there is no einlass. The parameters are those of `Windows`.
    """

    def __init__(self, *, window: Optional[Window] = None, opens_pages: bool = False) -> None:
        # The windows answer by themselves, so the answer of `_hold` comes after the end of its prompt and is refused.
        logging.getLogger("einlass").setLevel(logging.ERROR)
        self._ended: Dict[str, threading.Event] = {}
        self.client = Client([find_einlass()], prompts={"any": self._hold})
        self.windows = Windows(self._answer, accounts=self, window=window, opens_pages=opens_pages)
        self.client.on("prompt.opened", self._opened)
        self.client.on("prompt.closed", self._closed)

    def _opened(self, prompt: Mapping[str, Any]) -> None:
        self._ended[str(prompt["prompt"])] = threading.Event()
        GLib.idle_add(self.windows.opened, prompt)

    def _closed(self, params: Mapping[str, Any]) -> None:
        if ended := self._ended.pop(str(params["prompt"]), None):
            ended.set()
        GLib.idle_add(self.windows.closed, str(params["prompt"]))

    def _hold(self, prompt: Mapping[str, Any]) -> None:
        """Keeps the client from its own answer: it asks one by one, but prompts of one sign-in are open together."""
        if ended := self._ended.get(str(prompt["prompt"])):
            ended.wait()

    def _answer(self, params: Mapping[str, Any], refused: Refused) -> None:
        when_done(self.client.start("prompt.answer", params), lambda _: None,
                  lambda error: refused(error.reason, error.message))

    def picture(self, account: str, show: Callable[[str, str], None]) -> None:
        """Calls `show` with the path and the type of the account's picture, if there is one."""
        when_done(self.client.start("avatars.get", {"account": account}),
                  lambda found: "path" in found and show(found["path"], found["type"]))

    def all(self, method: str, member: str, params: Mapping[str, Any], show: Callable[[List[Any]], object],
            failed: Failed) -> None:
        """Calls `show` with each page of a list, and `failed` if a page is missing."""
        def page(found: Mapping[str, Any]) -> None:
            show(found[member])
            if "nextCursor" in found:
                self.all(method, member, {**params, "cursor": found["nextCursor"]}, show, failed)

        when_done(self.client.start(method, params), page, failed)
