"""Helpers of the einlassctl tests: runs without a terminal, accounts, passphrases and providers.

    python -m pytest Tests/Control
"""
import json
import os
import re
import subprocess
from pathlib import Path

from terminal import PATIENCE

PROJECT = Path(__file__).parents[2]
RELEASE = PROJECT / ".build/release-static/release"
EINLASS = os.environ.get("EINLASS_BINARY", str(RELEASE / "einlass"))
CONTROL = os.environ.get("EINLASS_CONTROL", str(RELEASE / "einlassctl"))
FAKE = str(Path(__file__).with_name("fake_einlass.py"))
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def fake(what):
    return ["--einlass", FAKE, "--store", what]


def account(name):
    return {"provider": "twitter", "username": name, "credential":
            {"type": "oauth1", "key": "k-of-" + name, "secret": "s3cret", "clientId": "c", "clientSecret": "cs"}}


def run(*arguments, input="", **more):
    """Runs einlassctl without a terminal. Returns exit code, standard output and standard error."""
    done = subprocess.run([CONTROL, *arguments], input=input, capture_output=True, text=True, timeout=PATIENCE,
                          start_new_session=True, **more)
    return done.returncode, done.stdout, done.stderr


def add(store, *names):
    code, output, errors = run("accounts", "add", "-", *store, input=json.dumps([account(name) for name in names]))
    assert code == 0, errors
    return output


def repeated(store):
    """Returns the store's options as a next step repeats them."""
    return " ".join(store[2:] + store[:2])


def usernames(store):
    code, output, errors = run("accounts", "list", "--json", *store)
    assert code == 0, errors
    return [account["username"] for account in json.loads(output)["accounts"]]


def passphrase_of(words):
    """Returns a descriptor with the passphrase as its content."""
    descriptor = os.memfd_create("passphrase")
    os.write(descriptor, words.encode() + b"\n")
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def with_passphrase(*arguments, words="correct horse", option="--passphrase-fd", also=(), **more):
    descriptor = passphrase_of(words)
    try:
        return run(*arguments, option, str(descriptor), pass_fds=[descriptor, *also], **more)
    finally:
        os.close(descriptor)


def signing(*algorithms):
    """Returns a file of providers with one whose clients authenticate by a signed assertion."""
    return {"providers": [{"id": "signs", "name": "Signs", "accounts": "many", "registration": ["clientId", "privateKey"],
                           "setup": {"documentation": "https://signs.example"},
                           "flows": [{"kind": "authorizationCode",
                                      "authorize": {"method": "GET", "url": "https://signs.example/authorize"},
                                      "token": {"method": "POST", "url": "https://signs.example/token"},
                                      "clientAuthentication": "private_key_jwt",
                                      "assertion": {"algorithms": list(algorithms)}}]}]}
