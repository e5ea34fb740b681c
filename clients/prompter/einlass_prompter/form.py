"""A prompt as a screen: one rule draws `show` of each kind. Only the parts that a window adds have words of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .choice import Choice
from .widgets import Atk, Gtk, copy, label, name, open_page, qr_code, scrolled, set_words, text

if TYPE_CHECKING:
    from .windows import Prompt, Screen, Windows

#: The characters of a line of text, and the lines after which a text is scrolled. A line has room for a public key.
LINE, LINES = 72, 24
#: The longest warning, in characters.
WARNING = 1000


class Form:
    """Fills a screen with `show` of its prompt, and answers by it. Raises an error if a member is missing."""

    def __init__(self, screen: Screen, prompt: Prompt, windows: Windows) -> None:
        self.screen, self.prompt, self.show, self.windows = screen, prompt, prompt["show"], windows
        self.fields: List[Tuple[str, Gtk.Widget, Optional[Gtk.Entry]]] = []
        self.default: Optional[Gtk.Button] = None
        self.above = [other.prompt for other in screen.window.screens if other.prompt]
        fields, page, code = self.show.get("fields", []), self.show.get("page"), self.show.get("code")
        # The field for the id of an account that the list lacks. A program with a connection gets the whole list.
        rest = [field for field in fields if field["name"] == "account" and self.show.get("choices") and windows.accounts]
        accepts = bool(fields or not page) and not rest  # a page keeps its window until the sign-in has ended
        self._introduce([] if rest else self.show.get("text", []))
        if code:
            self._draw_code(code, page)
        choice = self._draw_choices() if self.show.get("choices") else None
        if choice and rest:
            self._add_all_accounts(choice)
        for field in fields:
            if field not in rest:
                self._draw_field(field)
        self._draw_buttons(accepts)
        if choice:
            self._button("Choose", lambda: self._choose(choice), not self.default)
        opens = page and self._draw_page(page, code)
        copies = code and self._button("Copy Code", lambda: copy(code))
        entry = screen.first  # that of the first field
        # A window that opens while a person types must not take Enter for a yes.
        screen.first = copies or opens or (not choice and entry) or self.default or (
            choice.focus() if choice else screen.window.cancel_button)
        screen.actions.sort(key=lambda action: action.get_style_context().has_class("suggested-action"))

    def _introduce(self, lines: Sequence[str]) -> None:
        """Shows the question and its origin, so that nobody answers for a program that they did not start."""
        self.screen.question = text(self.show["title"])
        self.screen.say(self.screen.question, None if self.above else "einlass-heading")
        started = ", ".join(text(program, 60) for program in self.prompt.get("startedBy") or [])
        if started and not self.above:
            self.screen.say(f"Started by {started}.", "dim-label")
        if "warning" in self.show:
            warning = self.screen.say(text(self.show["warning"], WARNING), "einlass-problem")
            warning.get_accessible().set_role(Atk.Role.ALERT)
        shown = {line for prompt in self.above for line in prompt["show"].get("text", [])}
        lines = [text(line, len(line)) for line in lines if line not in shown]
        if lines:
            area = label("\n".join(lines), selectable=True)
            area.set_max_width_chars(LINE)
            self.screen.add(scrolled(area, 400) if sum(1 + len(line) // LINE for line in lines) > LINES else area)

    def _draw_code(self, code: str, page: Optional[Mapping[str, str]]) -> None:
        row = Gtk.Box(spacing=12)
        column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6, valign=Gtk.Align.CENTER)
        shown = label(text(code), "einlass-code", selectable=True)
        shown.set_max_width_chars(16)
        name(shown, "Code " + " ".join(text(code)))
        column.add(shown)
        row.pack_start(column, True, True, 0)
        if page:
            column.add(label(text(page["url"]), selectable=True))
            if picture := qr_code(self._address(page)):
                row.add(picture)
        self.screen.add(row)

    def _address(self, page: Mapping[str, str]) -> str:
        return self.prompt.get("verificationUriComplete") or page["url"]

    def _draw_page(self, page: Mapping[str, str], code: Optional[str]) -> Gtk.Button:
        """Adds the buttons of the page. Returns the one that opens it."""
        def open_it() -> None:
            self.screen.problem("")
            set_words(button, again)
            open_page(self._address(page), failed)

        def failed(problem: str) -> None:
            self.screen.problem(problem)
            set_words(button, words)

        if not self.fields:
            self.screen.say("This window closes after the sign-in.", "dim-label")
        button = self._button(f"Open {text(page['host'])}", open_it, not self.default)
        words, again = button.get_label(), self.screen.mnemonic("Open Again")
        if not code:
            self._button("Copy Address", lambda: copy(page["url"]))
        if self.windows.opens_pages and not code:
            open_it()
        return button

    def _draw_choices(self) -> Choice:
        choice = Choice(self.screen.question, lambda: self._choose(choice))
        pictured = {one["account"] for one in self.prompt.get("accounts") or [] if one.get("avatar")}
        for one in self.show["choices"]:
            picture = choice.put(one["answer"], text(one["label"]), text(one.get("detail", "")))
            if self.windows.accounts and one["answer"].get("account") in pictured:
                self.windows.accounts.picture(one["answer"]["account"], picture.show_file)
        self.screen.add(choice)
        return choice

    def _choose(self, choice: Choice) -> None:
        if answer := choice.value():
            self.screen.answer(answer)

    def _add_all_accounts(self, choice: Choice) -> None:
        def add(accounts: List[Mapping[str, Any]]) -> None:
            for account in accounts:
                if account["account"] not in known:
                    username, steps = text(name_of(account)), account.get("next") or []
                    detail = [username] if "displayName" in account else []
                    detail += [text(step["label"]) for step in steps[:1]]
                    choice.put({"action": "accept", "account": account["account"]},
                               text(account.get("displayName", username)), ", ".join(detail))

        known = {one["answer"].get("account") for one in self.show["choices"]}
        self.windows.accounts.all(
            "accounts.list", "accounts", {"provider": self.prompt["provider"]}, add,
            lambda error: self.screen.problem(f"Some accounts are missing. {text(error.message)}"))

    def _draw_field(self, field: Mapping[str, Any]) -> None:
        words, again = self.screen.mnemonic(text(field["label"])), None
        if field["type"] == "flag":
            widget = Gtk.CheckButton.new_with_mnemonic(words)
            self.screen.add(widget)
        else:
            secret = field["type"] != "text"
            widget = self.screen.field(words, secret)
            if field.get("twice"):
                again = self.screen.field(self.screen.mnemonic("Once more"), secret)
        self.fields.append((field["name"], widget, again))

    def _draw_buttons(self, accepts: bool) -> None:
        """Adds the buttons but for the yes if a page takes its place. That which cancels is the window's."""
        self.screen.cancel_words = ""
        for button in reversed(self.show["buttons"]):
            action, words, widget = str(button["action"]), text(button["label"]), self.screen.window.cancel_button
            default = button.get("default") is True
            if action == "cancel":
                self.screen.cancel_words = self.screen.mnemonic(words)
            elif accepts or action != "accept":
                widget = self._button(words, lambda action=action: self._press(action), default)
            else:
                continue
            self.default = widget if default else self.default
        self.screen.cancel_words = self.screen.cancel_words or self.screen.mnemonic("Cancel")
        entries = [entry for _, *both in self.fields for entry in both if isinstance(entry, Gtk.Entry)]
        for entry, following in zip(entries, [*entries[1:], None]):
            entry.connect("activate", lambda _, following=following: following.grab_focus() if following
                          else self.default and self.default.clicked())

    def _button(self, words: str, function: Any, is_suggested: bool = False) -> Gtk.Button:
        style = "suggested-action" if is_suggested and not self.above else None
        return self.screen.action(self.screen.mnemonic(words), function, style)

    def _press(self, action: str) -> None:
        """Answers by a button. A yes has the fields, and waits for an empty one."""
        members: Dict[str, Any] = {"action": action}
        for field, widget, again in self.fields if action == "accept" else []:
            if isinstance(widget, Gtk.CheckButton):
                members[field] = widget.get_active()
                continue
            value = widget.get_text().strip() if widget.get_visibility() else widget.get_text()
            if not value:
                return widget.grab_focus()
            if again and again.get_text() != value:
                self.screen.problem("The two entries differ.")
                return again.grab_focus()
            members[field] = value
        for _, *both in self.fields:
            for entry in both:
                if isinstance(entry, Gtk.Entry) and not entry.get_visibility():
                    entry.set_text("")
        return self.screen.answer(members)


def name_of(account: Mapping[str, Any]) -> str:
    """Returns the user name; at a server of the person's own `username@host:port`."""
    username, subject = account["username"], account.get("subject") or ""
    return subject if subject.startswith(f"{username}@") else username
