"""The states in which a program gets no token, each with words of the sentence that it shows then."""
import contextlib
import sqlite3

TROUBLES = {
    "no account": "There is no GitLab account",
    "no access": "einlassctl access set {application} gitlab granted",
    "revoked": "einlassctl sign-in --account",
    "locked store": "try again",
    "provider down": "No answer came in time",
}


@contextlib.contextmanager
def trouble(name, house, application):
    """Brings a house with the account gitlab/ada into this state, and yields the words."""
    with contextlib.ExitStack() as stack:
        if name == "no account":
            house.do("accounts", "remove", "gitlab/ada", "--yes")
        elif name == "no access":
            house.do("access", "reset", application, "gitlab")
        elif name == "revoked":
            house.change({"gitlab": {"families": None}})
            house.do("reject", "gitlab/ada", "--for", application)
        elif name == "locked store":
            holder = sqlite3.connect(house.folder / ".local/share/einlass/store.db", isolation_level=None)
            stack.callback(holder.close)
            holder.execute("PRAGMA locking_mode=EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
        elif name == "provider down":
            house.do("reject", "gitlab/ada", "--for", application)
            house.change({"faults": {"down": {"path": "/oauth/token", "delayMilliseconds": 60_000}}})
        yield TROUBLES[name].format(application=application)
