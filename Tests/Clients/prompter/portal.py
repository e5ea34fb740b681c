"""The part of the desktop portal that has the color scheme: `portal.py SCHEME`, and a new one on each line of input."""
import sys
import threading

from gi.repository import Gio, GLib

INTERFACE = """<node><interface name="org.freedesktop.portal.Settings">
<method name="Read"><arg direction="in" type="s"/><arg direction="in" type="s"/><arg direction="out" type="v"/></method>
<signal name="SettingChanged"><arg type="s"/><arg type="s"/><arg type="v"/></signal></interface></node>"""
NAMESPACE, KEY, PATH = "org.freedesktop.appearance", "color-scheme", "/org/freedesktop/portal/desktop"
scheme = int(sys.argv[1])
description = Gio.DBusNodeInfo.new_for_xml(INTERFACE).interfaces[0]


def answer(connection, sender, path, interface, method, parameters, invocation):
    # As the portal of GNOME: the answer of `Read` is a variant in a variant.
    assert parameters.unpack() == (NAMESPACE, KEY)
    invocation.return_value(GLib.Variant("(v)", (GLib.Variant("v", GLib.Variant("u", scheme)),)))


def follow(bus):
    global scheme
    for line in sys.stdin:
        scheme = int(line)
        change = GLib.Variant("(ssv)", (NAMESPACE, KEY, GLib.Variant("u", scheme)))
        bus.emit_signal(None, PATH, description.name, "SettingChanged", change)


def ready(bus, name):
    print("ready", flush=True)
    threading.Thread(target=follow, args=(bus,), daemon=True).start()


Gio.bus_own_name(Gio.BusType.SESSION, "org.freedesktop.portal.Desktop", Gio.BusNameOwnerFlags.NONE,
                 lambda bus, name: bus.register_object(PATH, description, answer), ready, None)
GLib.MainLoop().run()
