"""A list to choose from, with a search field when it is long."""

from __future__ import annotations

from typing import Any, Callable

from .widgets import Gtk, Pango, Picture, label, name, scrolled

#: A longer list has a search field.
LONG = 8


class Choice(Gtk.Box):
    """Rows with a picture, a name and a detail. Enter in a row calls `done`."""

    def __init__(self, words: str, done: Callable[[], None]) -> None:
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=6)
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
        self.add(scrolled(self.list, 320))

    def put(self, value: Any, words: str, detail: str = "") -> Picture:
        """Adds a row for a value. Returns its picture."""
        row = Gtk.ListBoxRow()
        row.value, row.words = value, f"{words} {detail}".casefold()
        picture = Picture(words)
        name(row, ", ".join(filter(None, [words, detail])))
        lines = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, valign=Gtk.Align.CENTER)
        for line, style in ((words, None), (detail, "dim-label")):
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

    def value(self) -> Any:
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
