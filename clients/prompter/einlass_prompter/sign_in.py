"""A whole sign-in as a window, by an einlass of its own."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from einlass import Call, Client, EinlassError
from einlass.next_steps import NEXT_STEPS, filled
from einlass.text import say
from einlass.tokens import find_einlass

from .choice import Choice
from .screens import KINDS
from .widgets import GLib, Gtk, name, text
from .windows import Refused, Screen, Window, Windows

PATIENCE = 10  # seconds for the server's first answer
SIGNED_IN, PROBLEM, CANCELLED = 0, 1, 3
CANCELS = ("userCanceled", "userCanceledAccountSelection", "cancelled", "accessDenied")
#: The hints that need no more than a click, with the words of their buttons.
HINTS = {"access.reset": "_Ask Again", "providers.list": "Choose a _Provider", "accounts.signIn": "_Sign In"}


class StoredAccounts:
    """The accounts of the store, by a connection of its own."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def picture(self, account: str, show: Callable[[str, str], None]) -> None:
        self._ask("avatars.get", {"account": account}, lambda found: "path" in found and show(found["path"], found["type"]))

    def all(self, provider: str, show: Callable[[List[Mapping[str, Any]]], None]) -> None:
        def page(found: Mapping[str, Any]) -> None:
            show(found["accounts"])
            if "nextCursor" in found:
                self._ask("accounts.list", {"provider": provider, "cursor": found["nextCursor"]}, page)

        self._ask("accounts.list", {"provider": provider}, page)

    def _ask(self, method: str, params: Mapping[str, Any], show: Callable[[Any], object]) -> None:
        settle(self._client.start(method, params), show, lambda _: None)


def settle(call: Call, done: Callable[[Any], object], failed: Callable[[EinlassError], object]) -> None:
    """Calls one of the functions in the main loop, once the answer is there."""
    def wait() -> None:
        try:
            GLib.idle_add(lambda result: done(result) and None, call.result())
        except EinlassError as error:
            GLib.idle_add(lambda problem: failed(problem) and None, error)

    threading.Thread(target=wait, daemon=True).start()


class SignIn:
    """The window from the first message to the last one. `code` is the exit code."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.code, self.call = options, CANCELLED, None  # type: argparse.Namespace, int, Optional[Call]
        self.window = Window(self.cancel)
        self.closed: Dict[str, threading.Event] = {}
        # The windows answer by themselves, so the answer of `hold` comes after the end of its prompt and is refused.
        logging.getLogger("einlass").setLevel(logging.ERROR)
        self.client = Client([find_einlass()], prompts=dict.fromkeys(KINDS, self.hold))
        self.windows = Windows(self.answer, accounts=StoredAccounts(self.client), window=self.window, opens_pages=True)
        self.client.on("prompt.opened", self.opened)
        self.client.on("prompt.closed", self.forget)

    # Prompts

    def opened(self, prompt: Mapping[str, Any]) -> None:
        self.closed[str(prompt["prompt"])] = threading.Event()
        GLib.idle_add(self.open, prompt)

    def open(self, prompt: Mapping[str, Any]) -> None:
        self.show(None)
        self.windows.opened(prompt)

    def forget(self, params: Mapping[str, Any]) -> None:
        self.closed[str(params["prompt"])].set()
        GLib.idle_add(self.close, str(params["prompt"]))

    def close(self, identifier: str) -> None:
        self.windows.closed(identifier)
        if not self.window.screens:
            self.progress()

    def hold(self, prompt: Mapping[str, Any]) -> None:
        """Keeps the client from its own answer: prompts of one sign-in are open together, and it asks one by one."""
        self.closed[str(prompt["prompt"])].wait()

    def answer(self, params: Mapping[str, Any], refused: Refused) -> None:
        settle(self.client.start("prompt.answer", params), lambda _: None,
               lambda error: refused(error.reason, error.message))

    # The sign-in

    def start(self) -> None:
        self.client.initialize(self.options.application, timeout=PATIENCE,
                               **({"title": self.options.title} if self.options.title else {}))
        self.sign_in() if self.options.provider else self.choose()

    def sign_in(self) -> None:
        self.progress()
        params = {"provider": self.options.provider}
        for option, parameter in (("flow", "flowKind"), ("account", "account"), ("server", "server")):
            if getattr(self.options, option):
                params[parameter] = getattr(self.options, option)
        if self.options.server:
            params["acceptUntrustedCertificates"] = True
        self.call = self.client.start("accounts.signIn", params)
        settle(self.call, self.done, self.failed)

    def done(self, result: Mapping[str, Any]) -> None:
        print(result["account"], flush=True)
        self.end(SIGNED_IN)

    def failed(self, error: EinlassError) -> None:
        if error.reason in CANCELS:
            say(f"problem: {text(error.message)}")
            return self.end(CANCELLED)
        step = text(filled(NEXT_STEPS.get(error.reason, "See the message."), error.data, self.options), 1000)
        say(f"problem: {text(error.message, 1000)} ({error.reason}, {error.code})\n   next: {step}")
        self.code = PROBLEM
        screen = self.screen("Sign-In Failed", text(error.message, 1000))
        words = error.data.get("serverError")
        if isinstance(words, Mapping) and "text" in words:
            screen.say(f"The provider says: {text(words['text'])}", selectable=True)
        screen.say(step, selectable=True)
        screen.cancel_words = "_Close"
        hint = error.data.get("hint")
        if isinstance(hint, Mapping) and hint.get("method") in HINTS:
            screen.action(HINTS[hint["method"]], lambda: self.follow(hint), "suggested-action")
        if error.data.get("retryable"):
            screen.action("_Try Again", self.sign_in, "suggested-action")
        return self.show(screen)

    def follow(self, hint: Mapping[str, Any]) -> None:
        """Sends the request of a hint, then signs in."""
        params = dict(hint.get("params") or {})
        if hint["method"] == "providers.list":
            return self.choose()
        if hint["method"] == "accounts.signIn":
            self.options.provider = params.get("provider", self.options.provider)
            self.options.account = params.get("account")
            return self.sign_in()
        return settle(self.client.start(hint["method"], params), lambda _: self.sign_in(), self.failed)

    def choose(self) -> None:
        """Asks for the provider."""
        def done() -> None:
            if provider := choice.value():
                self.options.provider = provider
                self.sign_in()

        def add(found: Mapping[str, Any]) -> None:
            for provider in found["providers"]:
                if provider["configured"]:
                    choice.put(provider["id"], text(provider["name"]))
            if "nextCursor" in found:
                return settle(self.client.start("providers.list", {"cursor": found["nextCursor"]}), add, self.failed)
            if not choice.list.get_children():
                screen.problem("No provider is configured. Run: einlassctl providers configure PROVIDER")
            return choice.focus().grab_focus()

        screen = self.screen("Sign In", "Where do you want to sign in?")
        choice = Choice("Providers", done)
        screen.add(choice)
        screen.action("_Sign In", done, "suggested-action")
        self.show(screen)
        settle(self.client.start("providers.list"), add, self.failed)

    # The window

    def screen(self, title: str, heading: str) -> Screen:
        made = Screen({}, lambda *_: None, self.window)
        made.title = title
        made.say(heading, "einlass-heading")
        return made

    def show(self, screen: Optional[Screen]) -> None:
        """Shows a screen in place of those that are no prompts."""
        for shown in [one for one in self.window.screens if not one.prompt]:
            self.window.remove_screen(shown)
        if screen:
            self.window.show_screen(screen)

    def progress(self) -> None:
        screen = self.screen("Sign In", f"Signing in at {text(self.options.provider)} …")
        spinner = Gtk.Spinner(active=True)
        name(spinner, "Waiting")
        screen.add(spinner)
        self.show(screen)

    def cancel(self) -> None:
        self.windows.cancel(self.window)
        if self.call and self.code != PROBLEM:
            self.call.cancel()
        self.end(self.code)

    def end(self, code: int) -> None:
        self.code = code
        self.window.hide()
        Gtk.main_quit()


def run(options: argparse.Namespace) -> int:
    """Shows the sign-in. Returns the exit code: 0 signed in, 1 a problem, 3 cancelled."""
    try:
        sign_in = SignIn(options)
    except OSError as error:
        say(f"problem: {error}")
        return PROBLEM
    try:
        sign_in.start()
        Gtk.main()
    except TimeoutError:
        say("problem: einlass did not answer.\n   next: Name einlass itself in the variable EINLASS.")
        return PROBLEM
    except EinlassError as error:
        say(f"problem: {text(error.message, 1000)} ({error.reason}, {error.code})")
        return PROBLEM
    finally:
        sign_in.client.close()
    return sign_in.code
