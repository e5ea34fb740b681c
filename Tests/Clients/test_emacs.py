"""einlass.el in a real Emacs.

    python -m pytest Tests/Clients/test_emacs.py
"""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from house import PROJECT, needs
from mail_server import open_mail_server

pytestmark = needs("emacs")
FOLDER = PROJECT / "clients/emacs"
TESTS = Path(__file__).with_name("emacs")
EMACS = ["emacs", "-Q", "--batch", "-l", f"{FOLDER}/einlass.el"]
PATIENCE = 60


@pytest.fixture
def emacs(house):
    """Returns a function that evaluates Lisp in Emacs, and returns the value of the last form from JSON."""
    house.environment["DISPLAY"] = ":0"  # without it browse-url does not use xdg-open

    def evaluate(*forms, load=()):
        files = [word for file in load for word in ("-l", str(file))]
        code, output, errors = house.run(*EMACS, *files, "--eval", form(*forms), patience=PATIENCE)
        assert code == 0, errors + output
        return json.loads(output.splitlines()[-1])
    return evaluate


def form(*forms):
    return f"(princ (concat \"\\n\" (json-serialize (progn {' '.join(forms)}) :null-object nil :false-object :json-false) \"\\n\"))"


def blocks():
    """The examples of the README in Lisp."""
    return re.findall(r"^```elisp\n(.*?)^```$", (FOLDER / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def test_signs_in_by_page(emacs, house):
    result = emacs(
        "(defvar id (plist-get (einlass-request 'accounts.signIn '(:provider \"github\" :flowKind \"authorizationCode\")) :account))",
        "(while (get-buffer \"*einlass*\") (accept-process-output nil 0.01))",
        "(einlass--account id)")
    assert result["username"] == "ada"


def signed_certificate(folder):
    """Returns the paths of a certificate for 127.0.0.1, of its key, and of the authority. Emacs takes no self-signed one."""
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for name, more in (("authority", []), ("server", ["-CA", "authority.pem", "-CAkey", "authority.key", "-addext",
                                                      "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"])):
        subprocess.run([*new, *more, "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + name],
                       cwd=folder, check=True, capture_output=True)
    return [str(folder / name) for name in ("server.pem", "server.key", "authority.pem")]


@pytest.fixture
def mail(house, tmp_path):
    """A mail server for the accounts of gitlab, whose tokens end after two seconds, and the account of ada."""
    house.change({"gitlab": {"behaviour": {"takesQuery": True, "accessSeconds": 2}}})
    certificate, key, authority = signed_certificate(tmp_path)
    with open_mail_server(house.origin("gitlab"), certificate, key) as server:
        server.trusted = f"(progn (require 'gnutls) (setq gnutls-trustfiles (list \"{authority}\")))"
        house.sign_in("gitlab")
        house.allow("emacs", "gitlab")
        house.do("services", "add", "127.0.0.1", "gitlab/ada", "--yes")
        house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
        yield server



def refreshed(house):
    return house.count("gitlab", "POST", "/oauth/token")


@needs("dovecot")
def test_smtpmail_sends_with_a_refreshed_token(emacs, house, mail):
    before = refreshed(house)
    emacs(
        "(require 'smtpmail)", mail.trusted, "(einlass-auth-source-enable)",
        f'(setq smtpmail-smtp-server "127.0.0.1" smtpmail-smtp-service {mail.smtp} smtpmail-stream-type \'tls',
        '      smtpmail-smtp-user "ada" send-mail-function #\'smtpmail-send-it user-mail-address "ada@example.org")',
        "(with-temp-buffer",
        '  (insert "From: ada@example.org\nTo: grace@example.org\nSubject: hi\n" mail-header-separator "\nhello, smtpmail\n")',
        "  (smtpmail-send-it))", "t")
    assert any("hello, smtpmail" in message for message in mail.sent), mail.log
    assert "method=XOAUTH2" in mail.log
    assert refreshed(house) == before + 1


@needs("dovecot")
def test_gnus_reads_with_a_refreshed_token(emacs, house, mail):
    before = refreshed(house)
    (fix,) = [block for block in blocks() if "nnimap-command" in block]
    message = emacs(
        "(require 'nnimap)", "(nnheader-init-server-buffer)", mail.trusted, "(einlass-auth-source-enable)", "(when (< emacs-major-version 29)", fix, ")",
        f'(nnimap-open-server "mail" \'((nnimap-address "127.0.0.1") (nnimap-server-port {mail.imap})',
        '   (nnimap-stream tls) (nnimap-user "ada") (nnimap-authenticator xoauth2)))',
        '(with-temp-buffer (nnimap-request-article 1 "INBOX" "mail" (current-buffer)) (list :text (buffer-string)))')
    assert "hello, ada" in message["text"]
    assert refreshed(house) == before + 1
