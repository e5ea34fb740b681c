"""What root could do anyhow proves nothing: such tests run in a child that is an ordinary user."""
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
    """What `body` answers (JSON) in a child of this user; as who we are already when that is not root."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(ours)
            signal.alarm(120)  # a hang ends there
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
    """What `Popen` takes to start a program as this user; nothing when we are not root."""
    return {"user": user, "group": user, "extra_groups": []} if IS_ROOT else {}


class Place:
    """A folder that an ordinary user can reach, however private the project's own is, with a copy of einlass in it."""

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
