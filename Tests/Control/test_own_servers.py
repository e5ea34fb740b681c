"""`einlassctl sign-in` at a server of the person's own that is another Mastodon or Gitea.

    python -m pytest Tests/Control/test_own_servers.py
"""
import json
import os
import re
import subprocess
import sys

import pytest

from control import CONTROL, EINLASS, PROJECT
from terminal import Terminal

sys.path.append(str(PROJECT / "Tests/Oracles"))
from browser import Visitor  # noqa: E402
from own_servers import Gitea, Mastodon  # noqa: E402


@pytest.fixture
def start(tmp_path):
    """Returns a function that runs einlassctl, on a terminal or without one."""
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "DISPLAY": "", "WAYLAND_DISPLAY": "",
            "NO_COLOR": "1"}

    def start(*arguments, on_terminal=False):
        command = [CONTROL, *arguments, "--einlass", EINLASS]
        if on_terminal:
            return Terminal(command, **home)
        return subprocess.run(command, input="", text=True, capture_output=True, env=os.environ | home,
                              start_new_session=True)

    return start


@pytest.mark.parametrize("software, provider", [(Mastodon, "mastodon"), (Gitea, "gitea")])
def test_a_person_signs_in_at_a_server_of_her_own(start, software, provider):
    server = software()
    place = "127.0.0.1-" + server.base.rpartition(":")[2]
    try:
        if software is Gitea:
            # Its person registers the application, for this server alone.
            refused = start("sign-in", provider, "--server", server.base)
            assert refused.returncode != 0 and f"einlassctl providers configure {place}" in refused.stderr, refused.stderr
            configured = start("providers", "configure", place, "--client-id", "cid")
            assert configured.returncode == 0, configured.stderr
        with start("sign-in", provider, "--server", server.base, on_terminal=True) as terminal:
            terminal.wait_for("The address in the browser:")
            terminal.type(Visitor().open(re.search(r"http://\S+", terminal.shown)[0]).location + "\r")
            assert terminal.end() == 0 and f"Signed in: {place}/ada." in terminal.shown, terminal.shown
        listed = json.loads(start("accounts", "list", "--json").stdout)["accounts"]
        assert [account["provider"] for account in listed] == [place]
    finally:
        server.close()


def test_a_server_of_another_provider_is_named_with_the_command(start):
    refused = start("sign-in", "gitlab", "--server", "https://github.com")
    assert refused.returncode != 0 and "GitHub has the server github.com already" in refused.stderr, refused.stderr
    assert "einlassctl sign-in github" in refused.stderr
