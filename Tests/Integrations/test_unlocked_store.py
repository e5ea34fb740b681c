"""Programs without a person at a store that only a passphrase opens: they stop, name the step, and work after it.

    python -m pytest Tests/Integrations/test_unlocked_store.py
"""
import os
import sys

import pytest

from house import PROJECT
from test_git_scopes import clone

sys.path.append(str(PROJECT / "Tests/Control"))
import kernel_keyring  # noqa: E402
from control import passphrase_of  # noqa: E402

REFUSED = kernel_keyring.refused()
pytestmark = pytest.mark.skipif(REFUSED is not None, reason=str(REFUSED))
STEP = "einlassctl store unlock --for 8h"


def with_passphrase(house, *command):
    words = passphrase_of("correct horse battery")
    try:
        return house.do(*command, "--passphrase-fd", str(words), pass_fds=[words])
    finally:
        os.close(words)


@pytest.fixture
def shut(house):
    """The house, with a clone of the private repository and then a passphrase in place of the key file."""
    house.sign_in("gitlab", "--scope", "git")
    house.sign_in("google")
    code, _, errors = clone(house, "gitlab")
    assert code == 0, errors
    with_passphrase(house, "store", "slots", "add", "passphrase")
    house.do("store", "slots", "remove", "keyfile", "--yes")
    yield house
    kernel_keyring.forget(house.folder / ".local/share/einlass/store.db")


def test_git_fetches_while_the_store_is_unlocked(shut):
    folder = shut.folder / "work/gitlab"
    code, _, errors = shut.run("git", "fetch", "-q", cwd=folder)
    assert code != 0 and STEP in errors, errors
    with_passphrase(shut, "store", "unlock", "--for", "1m")
    code, _, errors = shut.run("git", "fetch", "-q", cwd=folder)
    assert code == 0, errors
    # A process of its own refreshes an old token, and stores the new one.
    shut.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    shut.do("accounts", "renew", "gitlab/ada")
    shut.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
    count = shut.count("gitlab", "POST", "/oauth/token")
    code, _, errors = shut.run("git", "fetch", "-q", cwd=folder)
    assert code == 0 and shut.count("gitlab", "POST", "/oauth/token") == count + 1, errors
    shut.do("store", "lock")
    code, _, errors = shut.run("git", "fetch", "-q", cwd=folder)
    assert code != 0 and STEP in errors, errors


@pytest.mark.parametrize("application, provider, command, input, answer", [
    ("docker", "gitlab", ["docker-credential-einlass", "get"], "ADDRESS\n", '"Secret":'),
    ("kubectl", "google", ["kubernetes-credential-einlass", "google"], "", '"ExecCredential"'),
    ("einlassctl", "gitlab", ["einlassctl", "token", "gitlab"], "", "TOKEN"),
    ("mcp", "gitlab", ["headers-credential-einlass", "ADDRESS/api/v4/mcp"], "", "Bearer TOKEN")], ids=["docker", "kubectl", "token", "mcp"])
def test_each_helper_works_while_the_store_is_unlocked(shut, application, provider, command, input, answer):
    def here(text):
        return text.replace("ADDRESS", shut.origin("gitlab")).replace("TOKEN", next(iter(shut.state()["gitlab"]["tokens"])))
    shut.allow(application, provider)
    code, output, errors = shut.run(*map(here, command), input=here(input))
    assert code != 0 and STEP in errors, (output, errors)
    with_passphrase(shut, "store", "unlock", "--for", "1m")
    code, output, errors = shut.run(*map(here, command), input=here(input))
    assert code == 0 and here(answer) in output, (output, errors)
