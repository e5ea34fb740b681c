"""Mail programs with `einlassctl token HOST` as their password command, at Dovecot.

    python -m pytest Tests/Integrations/test_mail.py
"""
import shlex
import shutil
from unittest.mock import ANY

import pytest

from house import needs
from mail_server import MESSAGE, SUBMISSION, open_mail_server
from recipes import commands, recipe
from troubles import TROUBLES, trouble

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


def write(house, name, text):
    path = house.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)


# Each function runs one program. It returns the exit code, standard error and whether the message has arrived.

def msmtp(house, server, mechanism="oauthbearer"):
    write(house, ".msmtprc", recipe(
        "msmtp", ("host smtp.example.org\nport 465", f"host 127.0.0.1\nport {server.smtp}\ntls_trust_file {server.certificate}"),
        ("auth oauthbearer", "auth " + mechanism)))
    return sent(server, house.run("msmtp", "ada@example.org", input=MESSAGE))


def neomutt(house, server):
    write_neomuttrc(house, server)
    return sent(server, house.run("neomutt", "-n", "-s", "hello", "ada@example.org", input="hello, ada\n"))


def sent(server, ended):
    code, _, errors = ended
    is_sent = any("hello, ada" in message for message in server.sent)
    server.sent.clear()
    return code, errors, is_sent


def mbsync(house, server):
    write(house, ".mbsyncrc", recipe(
        "isync", ("Host imap.example.org", f"Host 127.0.0.1\nPort {server.imap}\nCertificateFile {server.certificate}")))
    return received(house, lambda: house.run("mbsync", "-a"))


def offlineimap(house, server):
    write(house, ".offlineimaprc", recipe(
        "offlineimap", ("remotehost = imap.example.org", f"remotehost = 127.0.0.1\nremoteport = {server.imap}"),
        ("/etc/ssl/certs/ca-certificates.crt", server.certificate)))
    return received(house, lambda: house.run("offlineimap", "-o", "-1", "-u", "basic"))


def received(house, run):
    folder = house.folder / "Mail"
    folder.mkdir()
    code, _, errors = run()
    is_there = any("hello, ada" in path.read_text() for path in folder.rglob("*/new/*"))
    # The next run is a first one again.
    for name in ("Mail", ".offlineimap", ".mbsync"):
        shutil.rmtree(house.folder / name, ignore_errors=True)
    return code, errors, is_there


def write_neomuttrc(house, server):
    write(house, ".config/neomutt/neomuttrc", recipe(
        "neomutt", ("ada@imap.example.org/", f"ada@127.0.0.1:{server.imap}/"), ("ada@smtp.example.org/", f"ada@127.0.0.1:{server.smtp}/"))
        + f"set certificate_file = {server.certificate}\nset copy = no\nset sleep_time = 0\nset wait_key = no\n")


def program(run):
    return pytest.param(run, marks=needs(run.__name__), id=run.__name__)


ALL = [program(run) for run in (msmtp, neomutt, mbsync, offlineimap)]
# mbsync 1.4 waits for ever when a server refuses its token.
ENDING = [program(run) for run in (msmtp, neomutt, offlineimap)]


def refreshes(house):
    return house.count("gitlab", "POST", "/oauth/token")


def questions(house):
    """Returns how often the server has asked about a token."""
    return house.count("gitlab", "GET", "/api/v4/user")


@pytest.mark.parametrize("run", ALL)
def test_a_message_arrives_and_an_old_token_is_refreshed(house, server, run):
    before = refreshes(house)
    assert run(house, server) == (0, ANY, True)
    assert refreshes(house) == before
    house.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    house.do("token", "gitlab", "--refresh")
    house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
    assert run(house, server) == (0, ANY, True)
    assert refreshes(house) == before + 2


@needs("msmtp")
def test_msmtp_speaks_xoauth2(house, server):
    assert msmtp(house, server, "xoauth2") == (0, ANY, True)
    assert "method=XOAUTH2" in server.log and "method=OAUTHBEARER" not in server.log


@pytest.mark.parametrize("run", ENDING)
def test_a_refused_token_is_replaced_after_a_reject(house, server, run):
    house.change({"gitlab": {"tokens": {house.do("token", "gitlab").strip(): None}}})
    before = questions(house)
    code, errors, has_arrived = run(house, server)
    assert code != 0 and not has_arrived and questions(house) > before
    house.do("reject", "imap.example.org")
    assert run(house, server) == (0, ANY, True)


@pytest.mark.parametrize("state", TROUBLES)
@pytest.mark.parametrize("run", [program(msmtp), program(offlineimap)])
def test_a_program_without_a_token_shows_the_sentence(house, server, run, state):
    check_trouble(house, server, run, state)


@pytest.mark.parametrize("run", [program(neomutt), program(mbsync)])
def test_another_program_shows_the_sentence_too(house, server, run):
    check_trouble(house, server, run, "no access")


def check_trouble(house, server, run, state):
    with trouble(state, house, "einlassctl") as sentence:
        before = questions(house)
        # House.run allows ten seconds.
        code, errors, has_arrived = run(house, server)
    assert code != 0 and not has_arrived and sentence in errors and questions(house) == before


@needs("neomutt")
def test_neomutt_reads_a_message(house, server):
    write_neomuttrc(house, server)
    target = house.folder / "read"
    with house.on_terminal("neomutt", "-n", "-e", f"push '<pipe-message>cat > {target}<enter><quit>'") as terminal:
        assert terminal.end() == 0, terminal.shown
    assert target.read_text() == MESSAGE


@needs("aerc")
def test_aerc_lists_a_message(house, server):
    write(house, ".config/aerc/accounts.conf", recipe("aerc", ("ada@imap.example.org", f"ada@127.0.0.1:{server.imap}")))
    with house.on_terminal("aerc", SSL_CERT_FILE=server.certificate) as terminal:
        terminal.wait_for("hello")
