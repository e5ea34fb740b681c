"""Shows the prompts of einlass in GTK 3 windows.

    prepare()                             # icon, style, dark or light
    einlass = Connection()
    einlass.client.initialize("my-editor", title="My Editor")
    when_done(einlass.client.start("auth.perform", {"provider": "github"}), show, show_problem)
    Gtk.main()
"""

from .connection import Connection, when_done
from .widgets import prepare
from .windows import Windows

__all__ = ["Connection", "Windows", "prepare", "when_done"]
