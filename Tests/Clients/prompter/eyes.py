"""Reads the screen as a screen reader does: a JSON line for each command, `windows` or `clipboard`.

The Python of Debian runs it, because Atspi and Gtk come with its packages.
"""
import json
import sys

import gi

gi.require_version("Atspi", "2.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Atspi, Gdk, GLib, Gtk  # noqa: E402

#: In milliseconds. Without it a widget that needs 0.8 s for an answer, on a busy machine, hides its window.
PATIENCE = 30_000
STATES = ("FOCUSABLE", "FOCUSED", "SENSITIVE", "SELECTED", "CHECKED", "EDITABLE")


def waits(node, states):
    """Tells whether a widget will be on the screen after the next layout: it has the size 1 × 1 until then.

    A row out of view is not on the screen either, but has a size. The bar of an area without a need for it has none.
    """
    if states.contains(Atspi.StateType.SHOWING) or not states.contains(Atspi.StateType.VISIBLE):
        return False
    place = node.get_extents(Atspi.CoordType.WINDOW)
    return (place.width, place.height) == (1, 1) and node.get_role() != Atspi.Role.SCROLL_BAR


def see(node):
    """Returns a widget on the screen and those inside of it. `whole`: no widget waits for its place on the screen."""
    states = node.get_state_set()
    seen = {"role": node.get_role_name(), "name": node.get_name(),
            "states": [word.lower() for word in STATES if states.contains(getattr(Atspi.StateType, word))]}
    if node.get_text_iface():
        seen["text"] = Atspi.Text.get_text(node, 0, -1)
    children = [node.get_child_at_index(number) for number in range(node.get_child_count())]
    children = [(child, child.get_state_set()) for child in children if child]
    seen["children"] = [see(child) for child, states in children if states.contains(Atspi.StateType.SHOWING)]
    # A row has one of its two pictures on the screen.
    seen["whole"] = node.get_role() == Atspi.Role.LIST_ITEM or (
        all(child["whole"] for child in seen["children"]) and not any(waits(*child) for child in children))
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


Atspi.set_timeout(PATIENCE, PATIENCE)
for line in sys.stdin:
    while GLib.MainContext.default().iteration(False):
        pass
    print(json.dumps({"windows": windows, "clipboard": clipboard}[line.strip()]()), flush=True)
