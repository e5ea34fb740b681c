"""GTK widgets of which the screens are made. Text of providers is set as plain text, never as markup."""

from __future__ import annotations

import os
import subprocess
from typing import Callable, Optional
from urllib.parse import urlsplit

import gi

for library, version in (("Gtk", "3.0"), ("Gdk", "3.0"), ("Atk", "1.0")):
    gi.require_version(library, version)
from gi.repository import Atk, Gdk, GdkPixbuf, Gio, GLib, Gtk, Pango  # noqa: E402

from einlass.text import clean  # noqa: E402

STYLE = b"""
.einlass-heading { font-size: 120%; font-weight: bold }
.einlass-code { font-family: monospace; font-size: 300%; font-weight: bold; padding: 12px }
.einlass-initials { background-color: alpha(currentColor, 0.15); border-radius: 6px; font-weight: bold }
.einlass-problem { color: mix(@error_color, @theme_fg_color, 0.4); font-weight: bold }
"""
#: The longest text of a provider or a program on the screen, in characters.
LIMIT = 300
PICTURE = 40
#: A small file may describe a huge picture. A picture with a longer side, in pixels, is not shown.
LONGEST_SIDE = 4096
_session: Optional[Gio.DBusConnection] = None  # the signals end with the last reference


def text(value: object, limit: int = LIMIT) -> str:
    """Returns a text of others for the screen: without control characters, and not longer than `limit`."""
    shown = clean(value)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def name(widget: Gtk.Widget, words: str) -> None:
    """Gives the widget its name for screen readers."""
    widget.get_accessible().set_name(words)


def label(words: str, style: Optional[str] = None, selectable: bool = False) -> Gtk.Label:
    made = Gtk.Label(label=words, xalign=0, wrap=True, wrap_mode=Pango.WrapMode.WORD_CHAR, max_width_chars=52,
                     selectable=selectable)
    if style:
        made.get_style_context().add_class(style)
    return made


def button(words: str, function: Callable[[], None], style: Optional[str] = None) -> Gtk.Button:
    """Returns a button. `words` has the mnemonic after "_"."""
    made = Gtk.Button(use_underline=True)
    set_words(made, words)
    made.connect("clicked", lambda _: function())
    if style:
        made.get_style_context().add_class(style)
    return made


def set_words(made: Gtk.Button, words: str) -> None:
    """Sets the words of a button. Long ones take several lines."""
    made.set_label(words)
    shown = made.get_child()
    shown.set_line_wrap(True)
    shown.set_max_width_chars(24)
    shown.set_justify(Gtk.Justification.CENTER)


def scrolled(widget: Gtk.Widget, height: int) -> Gtk.ScrolledWindow:
    """Returns an area of at most this height, in pixels. The widget inside of it takes the focus."""
    made = Gtk.ScrolledWindow(hscrollbar_policy=Gtk.PolicyType.NEVER, propagate_natural_height=True,
                              max_content_height=height, can_focus=False, overlay_scrolling=False)
    made.add(widget)
    return made


def copy(words: str) -> None:
    Gtk.Clipboard.get(Gdk.SELECTION_CLIPBOARD).set_text(words, -1)


def open_page(url: str, failed: Callable[[str], object]) -> None:
    """Opens the address in the person's own browser. `failed` gets a problem, at once or later in the main loop."""
    if urlsplit(url).scheme not in ("https", "http"):
        failed("This address is no web page.")
        return
    try:
        # Standard output belongs to einlass. The browser goes on after the end of this program.
        opener = subprocess.Popen(["xdg-open", url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  start_new_session=True)
    except OSError:
        failed("There is no xdg-open. Copy the address into a browser, or install xdg-utils.")
        return

    def ended(_: int, status: int) -> None:
        opener.returncode = os.waitstatus_to_exitcode(status)
        if opener.returncode:
            failed("No browser has opened the page. Copy the address into a browser.")

    GLib.child_watch_add(GLib.PRIORITY_DEFAULT, opener.pid, ended)


def qr_code(content: str) -> Optional[Gtk.Image]:
    """Returns a picture of the text; None without the package python3-segno, and for a text that is too long."""
    try:
        import segno

        rows = [bytes(row) for row in segno.make(content, micro=False, boost_error=False).matrix]
    except (ImportError, ValueError):
        return None
    quiet = [bytes(len(rows) + 8)] * 4
    rows = [*quiet, *(bytes(4) + row + bytes(4) for row in rows), *quiet]
    pixels = b"".join(b"\0\0\0" if dark else b"\xff\xff\xff" for row in rows for dark in row)
    side = len(rows)
    # Rows of a pixbuf begin at any byte: `rowstride` is three bytes for each pixel.
    picture = GdkPixbuf.Pixbuf.new_from_bytes(
        GLib.Bytes.new(pixels), GdkPixbuf.Colorspace.RGB, False, 8, side, side, side * 3)
    factor = max(4, 180 // side)
    made = Gtk.Image.new_from_pixbuf(picture.scale_simple(side * factor, side * factor, GdkPixbuf.InterpType.NEAREST))
    name(made, "QR code of " + text(content))
    return made


def initials(words: str) -> str:
    return "".join(word[0] for word in words.split()[:2] if word[0].isalnum()).upper() or "?"


class Picture(Gtk.Stack):
    """The picture of an account, or its initials until there is one. Its row has the name."""

    def __init__(self, words: str) -> None:
        super().__init__(valign=Gtk.Align.CENTER)
        sign = Gtk.Label(label=initials(words), width_request=PICTURE, height_request=PICTURE)
        sign.get_style_context().add_class("einlass-initials")
        self.add(sign)

    def show_file(self, path: str, mime_type: str) -> None:
        """Shows a file of `avatars.get`. A file that cannot be shown leaves the initials."""
        try:
            loader = GdkPixbuf.PixbufLoader.new_with_mime_type(mime_type)
            loader.connect("size-prepared", self._fit)
            self._fits = True
            with open(path, "rb") as file:
                while self._fits and (part := file.read(4096)):
                    loader.write(part)
            loader.close()
        except (OSError, GLib.Error):
            return
        if self._fits and loader.get_pixbuf():
            image = Gtk.Image.new_from_pixbuf(loader.get_pixbuf())
            name(image, "Picture")
            image.show()
            self.add(image)
            self.set_visible_child(image)

    def _fit(self, loader: GdkPixbuf.PixbufLoader, width: int, height: int) -> None:
        longest = max(width, height)
        self._fits = longest <= LONGEST_SIDE
        loader.set_size(max(1, width * PICTURE // longest), max(1, height * PICTURE // longest))


def prepare() -> bool:
    """Sets icon, style and the system's preference for dark or light. Returns whether there is a display."""
    GLib.set_prgname("einlass-prompter")
    GLib.set_application_name("Sign-in")
    if not Gtk.init_check(None)[0]:
        return False
    Gtk.Window.set_default_icon_name("dialog-password")
    # A text that can be copied is not selected by itself.
    Gtk.Settings.get_default().set_property("gtk-label-select-on-focus", False)
    style = Gtk.CssProvider()
    style.load_from_data(STYLE)
    Gtk.StyleContext.add_provider_for_screen(
        Gdk.Screen.get_default(), style, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
    follow_color_scheme()
    return True


def follow_color_scheme() -> None:
    """Follows the desktop's color scheme, which GTK 3 does not read by itself. Without the portal nothing changes."""
    global _session
    try:
        bus = _session = Gio.bus_get_sync(Gio.BusType.SESSION)
    except GLib.Error:
        return
    portal, path = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
    settings = "org.freedesktop.portal.Settings"

    def use(scheme: object) -> None:
        Gtk.Settings.get_default().set_property("gtk-application-prefer-dark-theme", scheme == 1)

    def changed(*arguments: object) -> None:
        _, key, value = arguments[5].unpack()
        if key == "color-scheme":
            use(value)

    def answered(bus: Gio.DBusConnection, result: Gio.AsyncResult) -> None:
        try:
            use(bus.call_finish(result).unpack()[0])
        except GLib.Error:
            pass

    bus.signal_subscribe(portal, settings, "SettingChanged", path, "org.freedesktop.appearance",
                         Gio.DBusSignalFlags.NONE, changed)
    question = GLib.Variant("(ss)", ("org.freedesktop.appearance", "color-scheme"))
    bus.call(portal, path, settings, "Read", question, None, Gio.DBusCallFlags.NONE, -1, None, answered)
