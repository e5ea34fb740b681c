"""Runs tests in a child process of an ordinary user, because root can read everything anyway."""
import json
import os
import shutil
import signal
import tempfile
import traceback

from session import EINLASS

NOBODY, OTHER = 65534, 65533
IS_ROOT = os.geteuid() == 0


def as_user(user, body):
    """Returns the result of `body` (JSON) from a child process of this user; without root, of the current user."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(ours)
            signal.alarm(120)  # ends a hang
            os.environ["HOME"] = "/nonexistent"
            if IS_ROOT and user:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            os.write(theirs, json.dumps(body()).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(theirs)
    with os.fdopen(ours, "rb") as answer:
        content = answer.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child failed; see its traceback"
    return json.loads(content)


def owned_by(user):
    """Returns the arguments for `Popen` to start a program as this user; none without root."""
    return {"user": user, "group": user, "extra_groups": []} if IS_ROOT else {}


class Place:
    """A folder with a copy of einlass, readable for an ordinary user even if the project's folder is private."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="einlass-", dir="/tmp")
        os.chmod(self.path, 0o755)
        self.einlass = shutil.copy(EINLASS, f"{self.path}/einlass")
        os.chmod(self.einlass, 0o755)
        self.home = f"{self.path}/home"
        os.mkdir(self.home, 0o700)
        if IS_ROOT:
            os.chown(self.home, NOBODY, NOBODY)

    def remove(self):
        shutil.rmtree(self.path)
