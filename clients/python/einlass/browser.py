"""Opens a page in the person's own browser."""

from __future__ import annotations

import os
import subprocess
import sys


def open_page(address: str) -> bool:
    """Opens the address in the browser of this machine's desktop: that of the module webbrowser. Returns False without
    a desktop, in an SSH session, and for anything else than https and http."""
    is_near = sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if not is_near or "SSH_CONNECTION" in os.environ or not address.startswith(("https://", "http://")):
        return False
    # In a process of its own, isolated (-I), because a browser writes to its standard output, and no module of the
    # working folder may take the place of webbrowser.
    subprocess.Popen([sys.executable, "-I", "-m", "webbrowser", address], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    return True
