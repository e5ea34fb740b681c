"""A whole sign-in as a window."""

from __future__ import annotations

import argparse
from typing import Any, Callable, List, Mapping, Optional

from einlass import Call, Client, EinlassError
from einlass.next_steps import in_words, steps_of
from einlass.text import say
from einlass.wire import hello

from .choice import Choice
from .connection import Connection, when_done
from .widgets import GLib, Gtk, name, open_page, text
from .windows import Screen, Window

PATIENCE = 10  # seconds for the first answer of einlass
NAME_IT = "Install einlass, or name it in the variable EINLASS."
SIGNED_IN, PROBLEM, CANCELLED = 0, 1, 3
CANCELS = ("userCanceled", "userCanceledAccountSelection", "cancelled", "accessDenied")
#: The longest message of a problem, in characters.
MESSAGE = 1000
#: The parts of a registration for which there are fields; `redirect` is told to the person.
PARTS = {"clientId", "clientSecret", "redirect"}


class SignIn:
    """The window from the first message to the last one. `code` is the exit code."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.code = options, CANCELLED
        self.is_server_named = bool(options.server)  # on the command line
        self.call: Optional[Call] = None
        self.last: Mapping[str, Any] = {}  # the settings of the last sign-in at a server of the person's own
        self.window = Window(self.cancel)
        self.client: Optional[Client] = None

    def start(self) -> None:
        """Starts einlass. The window says so if it is missing, or is another program."""
        try:
            self.einlass = Connection(window=self.window, opens_pages=True)
        except OSError as error:
            return self.say_problem(text(error, MESSAGE), "" if "EINLASS" in str(error) else NAME_IT)
        self.client = self.einlass.client
        # Between two prompts, the window says that it waits.
        self.einlass.windows.emptied = self.progress
        self.wait("Starting einlass …")
        title = {"title": self.options.title} if self.options.title else {}
        first = self.client.start("initialize", hello(self.options.application, self.client.prompts, title))
        waits = [True]  # empty after the answer or the end of the patience

        def begin(_: object) -> None:
            if waits and waits.pop():
                self.sign_in() if self.options.provider else self.choose()

        def failed(error: EinlassError) -> None:
            if waits and waits.pop():
                gone = error.reason == "serverGone"
                self.say_problem("einlass ended before it answered.", NAME_IT) if gone else self.failed(error)

        def late() -> None:
            if waits and waits.pop():
                self.say_problem(f"einlass did not answer within {PATIENCE} seconds.", NAME_IT)

        GLib.timeout_add_seconds(PATIENCE, late)
        return when_done(first, begin, failed)

    def sign_in(self) -> None:
        """Signs in. A server of the person's own is asked for; that of the last sign-in is in the field."""
        self.code = CANCELLED
        self.progress()
        if self.options.server or self.options.account:
            return self.begin()
        return when_done(self.client.start("settings.get", {"provider": self.options.provider}),
                         lambda found: self.ask_server(found["server"]) if "server" in found else self.begin(),
                         self.failed)

    def begin(self) -> None:
        self.progress()
        params = {"provider": self.options.provider}
        for option, parameter in (("flow", "flowKind"), ("account", "account")):
            if getattr(self.options, option):
                params[parameter] = getattr(self.options, option)
        if self.options.server:
            server = self.last if self.last.get("host") == self.options.server else {"host": self.options.server}
            params["server"] = {**server, "acceptUntrustedCertificates": True}
        self.call = self.client.start("accounts.signIn", params)
        when_done(self.call, self.done, self.failed)

    def done(self, result: Mapping[str, Any]) -> None:
        print(result["account"], flush=True)
        self.end(SIGNED_IN)

    def failed(self, error: EinlassError, again: Optional[Callable[[], None]] = None) -> None:
        """Shows the message and the next step, with a button for its request, and one that calls `again`, or signs in."""
        self.call = None
        message = text(error.message, MESSAGE)
        if error.reason in CANCELS:
            say(f"problem: {message}")
            return self.end(CANCELLED)
        steps = steps_of(error)
        is_about_server = error.data.get("path") == "/server/host"
        if is_about_server and not self.is_server_named:
            # The message about a text that is no address says all.
            sentences = [message] if error.reason == "invalidParams" else [message, *map(in_words, steps)]
            return self.ask_server(self.last, text(" ".join(sentences), MESSAGE) if self.options.server else "")
        if error.reason == "serverGone":
            return self.say_problem("einlass ended before the end of the sign-in.", "Start the sign-in again.")
        step = "Correct --server, or leave it out." if is_about_server else text(" ".join(map(in_words, steps)), MESSAGE)
        words = error.data.get("serverError")
        said = isinstance(words, Mapping) and "text" in words and f"The provider says: {text(words['text'])}"
        screen = self.problem(message, f"({error.reason}, {error.code})", said or "", step)
        self.add_step(screen, steps)
        if error.data.get("retryable"):
            screen.first = screen.action("_Try Again", again or self.sign_in, "suggested-action")
        return self.show(screen)

    def problem(self, message: str, code: str, said: str, step: str) -> Screen:
        """Returns the screen of a problem, and says the problem on standard error. Texts may be empty."""
        say(f"problem: {message} {code}".rstrip() + (f"\n   next: {step}" if step else ""))
        self.code = PROBLEM
        screen = self.screen("Sign-In Failed", message)
        for words in filter(None, (said, step)):
            screen.say(words, selectable=True)
        screen.cancel_words = "_Close"
        return screen

    def say_problem(self, message: str, step: str) -> None:
        self.call = None
        self.show(self.problem(message, "", "", step))

    def add_step(self, screen: Screen, steps: List[Mapping[str, Any]]) -> None:
        """Adds a button for the first step that this program can do; it signs in afterwards."""
        buttons = {
            "access.reset": ("_Ask Again", lambda params: when_done(
                self.client.start("access.reset", params), lambda _: self.sign_in(), self.failed)),
            "accounts.signIn": ("_Sign In", self.sign_in_again),
            "providers.list": ("Choose a _Provider", lambda _: self.choose()),
            "providers.configure": ("_Register", lambda _: self.register()),
        }
        if step := next((step for step in steps if step.get("method") in buttons), None):
            words, function = buttons[step["method"]]
            screen.first = screen.action(words, lambda: function(dict(step.get("params") or {})), "suggested-action")

    def sign_in_again(self, params: Mapping[str, Any]) -> None:
        self.options.provider = params.get("provider", self.options.provider)
        self.options.account = params.get("account")
        self.sign_in()

    # Questions of this program

    def choose(self) -> None:
        """Asks for the provider."""
        def done() -> None:
            if provider := choice.value():
                self.options.provider = provider
                self.options.server, self.is_server_named = None, False  # it is for the former provider
                self.sign_in()

        def add(providers: List[Mapping[str, Any]]) -> None:
            for provider in providers:
                if provider["retired"]:
                    continue
                detail = "" if provider["configured"] else "has no registration yet"
                choice.put(provider["id"], text(provider["name"]), detail)
            choice.focus().grab_focus()

        screen = self.screen("Sign In", "Where do you want to sign in?")
        choice = Choice("Providers", done)
        screen.add(choice)
        screen.action("_Sign In", done, "suggested-action")
        self.show(screen)
        self.einlass.all("providers.list", "providers", {}, add, lambda error: self.failed(error, self.choose))

    def ask_server(self, last: Mapping[str, Any], problem: str = "") -> None:
        """Asks for the person's own server. `last` has the settings of the last sign-in, or nothing."""
        def done() -> None:
            if field.get_text().strip():
                self.options.server = field.get_text().strip()
                self.begin()

        self.last = {name: last[name] for name in ("host", "port", "secure", "useCookies") if name in last}
        screen = self.screen("Sign In", "Which server is yours?")
        screen.problem(problem)
        screen.say("Enter its address, such as https://pbx.example.com.", "dim-label")
        field = screen.field("_Server", done=done)
        field.set_text(text(self.options.server or self.last.get("host", "")))
        screen.action("C_ontinue", done, "suggested-action")
        self.show(screen)

    def register(self) -> None:
        """Asks for the registration of the application at the provider, and stores it."""
        def find(providers: List[Mapping[str, Any]]) -> None:
            for provider in providers:
                if self.options.provider in (provider["id"], *provider.get("aliases", [])):
                    self.ask_registration(provider)

        self.einlass.all("providers.list", "providers", {}, find, lambda error: self.failed(error, self.register))

    def ask_registration(self, provider: Mapping[str, Any]) -> None:
        def done() -> None:
            if not identifier.get_text().strip():
                return
            params = {"provider": provider["id"], "clientId": identifier.get_text().strip()}
            if secret.get_text().strip():
                params["clientSecret"] = secret.get_text().strip()
            secret.set_text("")
            when_done(self.client.start("providers.configure", params), lambda _: self.sign_in(), self.failed)

        setup = provider["setup"]
        screen = self.screen("Registration", f"Register an application at {text(provider['name'])}.")
        for number, step in enumerate(setup.get("steps", []), 1):
            screen.say(f"{number}. {text(step, MESSAGE)}")
        if "redirect" in setup:
            screen.say(f"Redirect address: {text(setup['redirect'])}", selectable=True)
        for member in ("costs", "approval", "ends", "notes"):
            if member in setup:
                screen.say(text(setup[member], MESSAGE))
        if set(setup["needs"]) - PARTS:
            screen.say(f"It needs a key: einlassctl providers configure {text(provider['id'])}", selectable=True)
        identifier = screen.field("Client _id", done=lambda: secret.grab_focus())
        secret = screen.field("Client _secret, if it has one", secret=True, done=done)
        screen.action("Open the I_nstructions", lambda: open_page(setup["documentation"], screen.problem))
        if "form" in setup:
            screen.action("Open the _Form", lambda: open_page(setup["form"], screen.problem))
        screen.action("S_ave", done, "suggested-action")
        self.show(screen)

    # The window

    def screen(self, title: str, heading: str) -> Screen:
        made = Screen({}, lambda *_: None, self.window)
        made.title = title
        made.say(heading, "einlass-heading")
        return made

    def show(self, screen: Screen) -> None:
        for shown in list(self.window.screens):
            self.window.remove_screen(shown)
        self.window.show_screen(screen)

    def progress(self) -> None:
        self.wait(f"Signing in at {text(self.options.provider)} …")

    def wait(self, words: str) -> None:
        screen = self.screen("Sign In", words)
        spinner = Gtk.Spinner(active=True)
        name(spinner, "Waiting")
        screen.add(spinner)
        self.show(screen)

    def cancel(self) -> None:
        if self.call:
            self.call.cancel()
        self.end(self.code)

    def end(self, code: int) -> None:
        self.code = code
        self.window.hide()
        Gtk.main_quit()


def run(options: argparse.Namespace) -> int:
    """Shows the sign-in. Returns the exit code: 0 signed in, 1 a problem, 3 cancelled."""
    sign_in = SignIn(options)
    try:
        sign_in.start()
        Gtk.main()
    finally:
        if sign_in.client:
            sign_in.client.close()
    return sign_in.code
