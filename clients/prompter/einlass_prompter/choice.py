"""A list to choose from, with a search field when it is long."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from .widgets import Gtk, Pango, Picture, label, name, scrolled, text

#: A longer list has a search field.
LONG = 8


class Choice(Gtk.Box):
    """Rows with a picture, a name and a detail. Enter in a row calls `done`."""

    def __init__(self, words: str, done: Callable[[], None]) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=6)
        self._pictures: Dict[str, Picture] = {}
        self.search = Gtk.SearchEntry(no_show_all=True)
        name(self.search, "Search")
        self.list = Gtk.ListBox(activate_on_single_click=False, selection_mode=Gtk.SelectionMode.BROWSE)
        name(self.list, words)
        self.list.set_filter_func(self._matches)
        self.search.connect("search-changed", lambda _: self._filter())
        # A letter typed in the list begins a search.
        self.list.connect("key-press-event", lambda _, key: self.search.get_visible() and self.search.handle_event(key)
                          and self.search.grab_focus_without_selecting() is None)
        self.search.connect("activate", lambda _: done())
        self.list.connect("row-activated", lambda *_: done())
        self.add(self.search)
        area = scrolled(self.list, 320)
        area.set_can_focus(False)  # its rows have the focus
        self.add(area)

    def put(self, value: str, words: str, detail: str = "", mark: str = "") -> Picture:
        """Adds a row for a value, unless there is one. Returns its picture."""
        if value in self._pictures:
            return self._pictures[value]
        row = Gtk.ListBoxRow()
        row.value, row.words = value, f"{words} {detail}".casefold()
        picture = self._pictures[value] = Picture(words)
        name(row, ", ".join(filter(None, [words, detail, mark])))
        lines = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, valign=Gtk.Align.CENTER)
        for line, style in ((words, None), (detail, "dim-label"), (mark, "einlass-problem")):
            if line:
                shown = label(line, style)
                shown.set_property("wrap", False)
                shown.set_ellipsize(Pango.EllipsizeMode.END)  # one line each, because a list may be long
                lines.add(shown)
        box = Gtk.Box(spacing=12, margin=6)
        box.add(picture)
        box.add(lines)
        row.add(box)
        row.show_all()
        self.list.add(row)
        if not self.list.get_selected_row():
            self.list.select_row(row)
        self.search.set_visible(len(self.list.get_children()) > LONG)
        return picture

    def value(self) -> Optional[str]:
        """Returns the value of the chosen row, or None if the search has hidden all."""
        row = self.list.get_selected_row()
        return row.value if row and self._matches(row) else None

    def focus(self) -> Gtk.Widget:
        return self.list.get_selected_row() or self.list

    def _matches(self, row: Gtk.ListBoxRow) -> bool:
        return self.search.get_text().casefold().strip() in row.words

    def _filter(self) -> None:
        self.list.invalidate_filter()
        for row in self.list.get_children():
            if self._matches(row):
                self.list.select_row(row)
                return


def name_of(account: Mapping[str, Any]) -> str:
    """Returns the user name; at a server of the person's own `username@host:port`."""
    username, subject = account["username"], account.get("subject") or ""
    return subject if subject.startswith(f"{username}@") else username


def add_accounts(choice: Choice, accounts: Sequence[Mapping[str, Any]], source: Any) -> None:
    """Adds rows for accounts. `source` has their pictures, or is None."""
    for account in accounts:
        username = text(name_of(account))
        mark = "" if account.get("health", "ok") == "ok" else "has to sign in again"
        shown = text(account.get("displayName") or username)
        picture = choice.put(account["account"], shown, username if username != shown else "", mark)
        if source and account.get("avatar"):
            source.picture(account["account"], picture.show_file)
