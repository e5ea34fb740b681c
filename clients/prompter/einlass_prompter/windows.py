"""A window for each flow, with a screen for each of its open prompts."""

from __future__ import annotations

import logging
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol, Set

from einlass import EinlassError

from .form import Form
from .widgets import Atk, Gdk, GLib, Gtk, button, label, name, set_words

log = logging.getLogger("einlass")

Prompt = Mapping[str, Any]
#: Gets the reason and the message of a refused answer.
Refused = Callable[[str, str], None]
#: Sends `prompt.answer` with these parameters.
Answer = Callable[[Mapping[str, Any], Refused], None]


class Accounts(Protocol):
    """The store, for a program with a connection of its own. Functions are called back in the main loop."""

    def picture(self, account: str, show: Callable[[str, str], None]) -> None:
        """Calls `show` with the path and the type of the picture, if there is one."""

    def all(self, method: str, member: str, params: Mapping[str, Any], show: Callable[[List[Any]], object],
            failed: Callable[[EinlassError], object]) -> None:
        """Calls `show` with each page of a list, and `failed` if a page is missing."""


class Screen(Gtk.Box):
    """The part of a window for one prompt."""

    def __init__(self, prompt: Prompt, send: Answer, window: Window) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=12)
        self.prompt, self.window, self.title, self.cancel_words = prompt, window, "Sign-In", "_Cancel"
        self.question = ""  # the name of the window for screen readers and the desktop, in place of `title`
        self.letters: Set[str] = set()  # its mnemonics
        self.actions: List[Gtk.Button] = []
        self.first: Optional[Gtk.Widget] = None  # has the focus first
        self._send = send
        self._problem = label("", "einlass-problem")
        self._problem.set_no_show_all(True)
        self.add(self._problem)

    def say(self, words: str, style: Optional[str] = None, selectable: bool = False) -> Gtk.Label:
        made = label(words, style, selectable)
        self.add(made)
        return made

    def action(self, words: str, function: Callable[[], None], style: Optional[str] = None) -> Gtk.Button:
        """Adds a button to the row at the end of the window."""
        self.actions.append(button(words, function, style))
        return self.actions[-1]

    def mnemonic(self, words: str) -> str:
        """Returns the words with "_" before the first letter that is no mnemonic of the window yet."""
        taken = self.letters.union(*(screen.letters for screen in self.window.screens))
        for place, one in enumerate(words):
            if one.isascii() and one.isalpha() and one.lower() not in taken:
                self.letters.add(one.lower())
                return words[:place].replace("_", "__") + "_" + words[place:].replace("_", "__")
        return words.replace("_", "__")

    def field(self, words: str, secret: bool = False, done: Optional[Callable[[], None]] = None) -> Gtk.Entry:
        """Adds a field under its label. `words` has the mnemonic after "_". Enter calls `done`."""
        above = Gtk.Label.new_with_mnemonic(words)
        above.set_xalign(0)
        entry = Gtk.Entry(visibility=not secret)
        if secret:
            entry.set_input_purpose(Gtk.InputPurpose.PASSWORD)
        above.set_mnemonic_widget(entry)
        name(entry, above.get_text())
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4)
        box.add(above)
        box.add(entry)
        self.add(box)
        if done:
            entry.connect("activate", lambda _: done())
        self.first = self.first or entry
        return entry

    def problem(self, words: str) -> None:
        """Shows the problem at the start of the screen. Without words it goes away."""
        self._problem.set_text(words)
        self._problem.set_visible(bool(words))
        self._problem.get_accessible().set_role(Atk.Role.ALERT)

    def answer(self, members: Mapping[str, Any]) -> None:
        """Sends the answer. The screen stays, without effect, until einlass closes the prompt."""
        self.first = self.window.get_focus()
        self._sensitive(False)
        self._send({**members, "prompt": self.prompt["prompt"]}, self._refused)

    def _refused(self, reason: str, message: str) -> None:
        if reason in ("unknownPrompt", "promptAlreadyAnswered"):
            return  # its `prompt.closed` has come, or comes
        self._sensitive(True)
        self.problem(message)
        if self.first:
            self.first.grab_focus()

    def _sensitive(self, whether: bool) -> None:
        for widget in (self, *self.actions):
            widget.set_sensitive(whether)


class Window(Gtk.Window):
    """A dialog with screens. Escape, its Cancel button and its close button call `cancelled`."""

    def __init__(self, cancelled: Callable[[], None]) -> None:
        super().__init__(default_width=480, resizable=False, type_hint=Gdk.WindowTypeHint.DIALOG,
                         window_position=Gtk.WindowPosition.CENTER)
        self.get_accessible().set_role(Atk.Role.DIALOG)
        self.screens: List[Screen] = []
        self._title = label("", "title")
        # The question is below the bar, so the bar has not that title of the window.
        self.set_titlebar(Gtk.HeaderBar(show_close_button=True, decoration_layout=":close", custom_title=self._title))
        self._body = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=18)
        self._row = Gtk.Box(spacing=6)
        self._left = label("", "dim-label")
        self.cancel_button = button("_Cancel", cancelled)
        self._row.pack_start(self._left, True, True, 0)
        self._row.add(self.cancel_button)
        content = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=18, margin=18)
        content.pack_start(self._body, True, True, 0)
        content.pack_end(self._row, False, False, 0)
        self.add(content)

        def close(*_: object) -> bool:
            cancelled()
            return True

        self.connect("delete-event", close)
        self.connect("key-press-event", lambda _, key: key.keyval == Gdk.KEY_Escape and close())
        timer = GLib.timeout_add_seconds(1, self._tick)
        self.connect("destroy", lambda _: GLib.source_remove(timer))

    def show_screen(self, screen: Screen) -> None:
        row = self._row
        if self.screens:  # the buttons of a second prompt belong to its part of the window
            row = Gtk.Box(spacing=6, halign=Gtk.Align.END)
            screen.add(row)
        self.screens.append(screen)
        self._body.add(screen)
        for action in screen.actions:
            row.add(action)
        self._name()
        self.show_all()
        if len(self.screens) == 1 or not self.get_focus():  # a question that comes again, after a wrong text
            (screen.first or (screen.actions or [self.cancel_button])[-1]).grab_focus()
        self.present()

    def remove_screen(self, screen: Screen) -> None:
        self.screens.remove(screen)
        for widget in (screen, *screen.actions):
            widget.destroy()
        self._name()

    def _name(self) -> None:
        """Takes title and words from the first screen, and counts the time to the first end."""
        if self.screens:
            self.set_title(self.screens[0].question or self.screens[0].title)
            self._title.set_text(self.screens[0].title)
            set_words(self.cancel_button, self.screens[0].cancel_words)
        self._tick()

    def _tick(self) -> bool:
        ends = [screen.prompt["expiresAt"] for screen in self.screens if "expiresAt" in screen.prompt]
        seconds = max(0, int(min(ends) - time.time())) if ends else 0
        self._left.set_text(f"Closes in {seconds // 60}:{seconds % 60:02}" if ends and seconds <= 3600 else "")
        return True


class Windows:
    """Shows prompts. Every method is called in the main loop of GTK.

    answer: sends `prompt.answer`.
    accounts: has pictures and more accounts, for a program with a connection of its own.
    window: shows all prompts; without it each flow has a window of its own.
    opens_pages: the person has just started the sign-in, so that its page opens at once.
    """

    def __init__(self, answer: Answer, *, accounts: Optional[Accounts] = None, window: Optional[Window] = None,
                 opens_pages: bool = False) -> None:
        self.accounts, self.opens_pages = accounts, opens_pages
        self.emptied: Callable[[], None] = lambda: None  # called when `window` has no prompt any more
        self._answer, self._window = answer, window
        self._screens: Dict[str, Screen] = {}

    def opened(self, prompt: Prompt) -> None:
        """Shows the prompt of a `prompt.opened`. A prompt that cannot be shown is cancelled."""
        window = self._window or self._window_of(prompt)
        screen = Screen(prompt, self._answer, window)
        try:
            Form(screen, prompt, self)
        except (KeyError, TypeError, ValueError, AttributeError):  # of another version, without its members
            log.warning("a prompt of the kind %s cannot be shown", str(prompt.get("kind"))[:40])
            screen.answer({"action": "cancel"})
            if not window.screens and window is not self._window:
                window.destroy()
            return
        for shown in [one for one in window.screens if not one.prompt]:
            window.remove_screen(shown)  # it said that the window waits
        self._screens[str(prompt["prompt"])] = screen
        window.show_screen(screen)

    def closed(self, identifier: str) -> None:
        """Removes the prompt of a `prompt.closed`, and its window with its last prompt."""
        screen = self._screens.pop(identifier, None)
        if not screen:
            return
        window = screen.window
        window.remove_screen(screen)
        if not window.screens:
            self.emptied() if window is self._window else window.destroy()

    def _cancel(self, window: Window) -> None:
        for screen in window.screens:
            screen.answer({"action": "cancel"})
        window.hide()

    def _window_of(self, prompt: Prompt) -> Window:
        """Returns the window of the prompt's flow: `openURL` and `enterVerifier` are visible together."""
        for screen in self._screens.values():
            if set(screen.prompt.get("flows") or []) & set(prompt.get("flows") or []) and screen.window.get_visible():
                return screen.window
        window = Window(lambda: self._cancel(window))
        return window
