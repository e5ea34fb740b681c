"""Dovecot as the IMAP and SMTP server of a provider: ordinary processes in a temporary folder.

Dovecot asks the sandbox about each token. It hands sent mail to a small server in this process.
"""
import asyncio
import contextlib
import grp
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from aiosmtpd.smtp import SMTP

DOVECOT = shutil.which("dovecot", path=os.environ["PATH"] + ":/usr/sbin")
SUBMISSION = Path("/usr/lib/dovecot/submission")
MESSAGE = "From: grace@example.org\nTo: ada@example.org\nSubject: hello\n\nhello, ada\n"

CONFIGURATION = """\
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap submission
listen = 127.0.0.1
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
auth_mechanisms = xoauth2 oauthbearer
auth_failure_delay = 0
ssl = required
ssl_cert = <{folder}/tls.pem
ssl_key = <{folder}/tls.key
mail_location = maildir:{folder}/mail
first_valid_uid = 1
hostname = smtp.example.org
submission_relay_host = 127.0.0.1
submission_relay_port = {relay}
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {folder}/oauth2.conf
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/home
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = 0
  }}
  inet_listener imaps {{
    port = {imap}
  }}
}}
service submission-login {{
  chroot =
  inet_listener submission {{
    port = 0
  }}
  inet_listener submissions {{
    port = {smtp}
    ssl = yes
  }}
}}
"""
ASKING = """\
tokeninfo_url = {provider}/api/v4/user?access_token=
username_attribute = username
"""


class MailServer:
    """Its ports, the messages that were sent, and the log."""

    def __init__(self, folder, certificate):
        self.folder, self.certificate, self.sent = folder, certificate, []
        self.imap = self.smtp = None

    @property
    def log(self):
        return (self.folder / "log").read_text()

    def is_up(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.imap)):
            with socket.create_connection(("127.0.0.1", self.smtp)):
                return True
        return False


@contextlib.contextmanager
def open_mail_server(provider, certificate, key):
    """Starts the servers for the accounts of this provider. The inbox of ada has one message."""
    # Root gives it to a user without rights, who cannot enter the folders of the tests.
    folder = Path(tempfile.mkdtemp(prefix="einlass-mail.", dir="/tmp"))
    person = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    server = MailServer(folder, certificate)
    try:
        (folder / "oauth2.conf").write_text(ASKING.format(provider=provider))
        for source, name in ((certificate, "tls.pem"), (key, "tls.key")):
            shutil.copy(source, folder / name)
        for name in ("cur", "new", "tmp"):
            (folder / "mail" / name).mkdir(parents=True)
        (folder / "mail/new/1.hello").write_text(MESSAGE)
        with open_relay(server.sent) as relay, start(server, person, relay):
            yield server
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def start(server, person, relay):
    path = server.folder / "dovecot.conf"
    as_person = {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    # Another program may take a free port before dovecot does.
    for _ in range(5):
        server.imap, server.smtp = free_port(), free_port()
        path.write_text(CONFIGURATION.format(folder=server.folder, relay=relay, imap=server.imap, smtp=server.smtp,
                                             user=person.pw_name, group=grp.getgrgid(person.pw_gid).gr_name))
        if os.geteuid() == 0:
            for each in (server.folder, *server.folder.rglob("*")):
                os.chown(each, person.pw_uid, person.pw_gid)
        with subprocess.Popen([DOVECOT, "-F", "-c", path], stderr=subprocess.DEVNULL, start_new_session=True, **as_person) as process:
            try:
                deadline = time.monotonic() + 10
                while process.poll() is None and not server.is_up() and time.monotonic() < deadline:
                    time.sleep(0.02)
                if server.is_up():
                    yield
                    return
            finally:
                # dovecot itself would wait for its children.
                os.killpg(process.pid, signal.SIGKILL)
    raise AssertionError("dovecot does not start:\n" + server.log)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def open_relay(messages):
    """A mail server that appends each message to the list. Yields its port."""

    class Keeper:
        async def handle_DATA(self, server, session, envelope):
            messages.append(envelope.content.decode())
            return "250 OK"

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(lambda: SMTP(Keeper(), loop=loop), "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()
