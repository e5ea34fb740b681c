"""The states in which a program gets no token, each with words of the sentence of einlassctl."""
import contextlib
import json
import sqlite3

# The providers of the accounts, with the paths of their token endpoints.
PROVIDERS = {"gitlab": "/oauth/token", "google": "/token"}
TITLES = {"gitlab": "GitLab", "google": "Google"}
# The words that say what is wrong, and the words that name the next step.
TROUBLES = {
    "no account": ("There is no {title} account here", "einlassctl sign-in {provider}"),
    "no access": ("has no access to {title} accounts", "einlassctl access set {application} {provider} granted"),
    "revoked account": ("The {title} account must be signed in to again", "einlassctl sign-in --account a_"),
    "locked store": ("Another program keeps the account store", "Wait a moment, then try again"),
    "provider broken": ("with status 503", "Try again later"),
    "provider down": ("No answer came in time", "then try again"),
}
FAULTS = {"provider broken": {"answer": "status", "status": 503}, "provider down": {"delayMilliseconds": 60_000}}


@contextlib.contextmanager
def trouble(name, house, applications):
    """Brings a house with accounts at these providers into this state."""
    with contextlib.ExitStack() as stack:
        if name == "no account":
            for account in json.loads(house.do("accounts", "list", "--json"))["accounts"]:
                house.do("accounts", "remove", account["account"], "--yes")
        elif name == "no access":
            for application in applications:
                for provider in PROVIDERS:
                    house.do("access", "reset", application, provider)
        elif name == "revoked account":
            house.change({provider: {"families": None} for provider in PROVIDERS})
            reject(house)
        elif name == "locked store":
            holder = sqlite3.connect(house.folder / ".local/share/einlass/store.db", isolation_level=None)
            stack.callback(holder.close)
            holder.execute("PRAGMA locking_mode=EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
        elif name in FAULTS:
            reject(house)
            house.change({"faults": {provider: {"path": path, **FAULTS[name]} for provider, path in PROVIDERS.items()}})
        yield


def reject(house):
    for provider in PROVIDERS:
        house.do("reject", provider)
