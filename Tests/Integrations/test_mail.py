"""Mail programs with `einlassctl token HOST` as their password command, at Dovecot: other mechanisms and screens than in test_troubles.py.

    python -m pytest Tests/Integrations/test_mail.py
"""
import shlex
from types import SimpleNamespace

import pytest

import programs
from house import needs
from mail_server import MESSAGE, SUBMISSION, open_mail_server
from recipes import commands

pytestmark = [needs("dovecot"), pytest.mark.skipif(not SUBMISSION.exists(), reason="skipped: there is no dovecot-submissiond")]


@pytest.fixture
def server(house, certificate):
    """A mail server for accounts of gitlab, its hosts as services, and the account of ada."""
    house.change({"gitlab": {"behaviour": {"takesQuery": True}}})
    with open_mail_server(house.origin("gitlab"), *certificate) as server:
        house.sign_in("gitlab")
        house.allow("einlassctl", "gitlab")
        for line in commands("Mail"):
            if "services add" in line:
                house.do(*shlex.split(line)[1:], "--yes")
        yield server


@needs("msmtp")
def test_msmtp_speaks_xoauth2(house, server):
    ended = programs.msmtp(house, SimpleNamespace(mail=server), "xoauth2")
    assert (ended.code, ended.has_worked) == (0, True), ended.shown
    assert "method=XOAUTH2" in server.log and "method=OAUTHBEARER" not in server.log


@needs("neomutt")
def test_neomutt_reads_a_message(house, server):
    programs.write_neomuttrc(house, server)
    target = house.folder / "read"
    with house.on_terminal("neomutt", "-n", "-e", f"push '<pipe-message>cat > {target}<enter><quit>'") as terminal:
        assert terminal.end() == 0, terminal.shown
    assert target.read_text() == MESSAGE
