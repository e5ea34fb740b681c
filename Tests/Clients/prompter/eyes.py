"""Reads the screen as a screen reader does: a JSON line for each command, `windows` or `clipboard`.

The Python of Debian runs it, because Atspi and Gtk come with its packages.
"""
import json
import sys

import gi

gi.require_version("Atspi", "2.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Atspi, Gdk, GLib, Gtk  # noqa: E402

STATES = ("FOCUSABLE", "FOCUSED", "SENSITIVE", "SELECTED", "CHECKED", "EDITABLE")


def see(node):
    """Returns a widget on the screen and those inside of it."""
    states = node.get_state_set()
    seen = {"role": node.get_role_name(), "name": node.get_name(),
            "states": [word.lower() for word in STATES if states.contains(getattr(Atspi.StateType, word))]}
    if node.get_text_iface():
        seen["text"] = Atspi.Text.get_text(node, 0, -1)
    children = [node.get_child_at_index(number) for number in range(node.get_child_count())]
    seen["children"] = [see(child) for child in children
                        if child and child.get_state_set().contains(Atspi.StateType.SHOWING)]
    return seen


def windows():
    desktop, found = Atspi.get_desktop(0), []
    for number in range(desktop.get_child_count()):
        try:
            program = desktop.get_child_at_index(number)
            program.clear_cache()
            found += [see(program.get_child_at_index(place)) for place in range(program.get_child_count())]
        except (GLib.Error, AttributeError):
            continue  # it has just ended, or changes: the test looks again
    return found


def clipboard():
    return Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).wait_for_text()


for line in sys.stdin:
    while GLib.MainContext.default().iteration(False):
        pass
    print(json.dumps({"windows": windows, "clipboard": clipboard}[line.strip()]()), flush=True)
