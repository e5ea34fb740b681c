"""The problems whose next step is a command of the client itself, with messages of einlass."""
import json
from pathlib import Path

PROTOCOL = Path(__file__).parents[2] / "protocol"
METHODS = [method["name"] for method in json.loads((PROTOCOL / "openrpc.json").read_text())["methods"]]
ERRORS = json.loads((PROTOCOL / "errors.json").read_text())["errors"]
#: The methods that messages name. Clients leave these sentences out, because their next step names a command.
NAMED = ["access.set", "accounts.list", "accounts.signIn", "providers.configure", "providers.list"]

#: By reason: messages, each with the method of its hint.
HINTS = {
    "noSystemAccount": [("There is no GitHub account here. Sign in to one and try again.", "accounts.signIn")],
    "accessNotGranted": [
        ("The application editor has no access to GitHub accounts, and this request cannot ask for it. "
         "Grant it with access.set first.", "access.set"),
        ("Access to GitHub accounts is not granted to this application. Grant it, or reset the denial to be asked "
         "again.", "access.reset")],
    "reloginNeeded": [("The GitHub account must be signed in to again.", "accounts.signIn")],
    "notIssuedToThisClient": [
        ("No credential of the GitHub account was issued to this application yet. Sign in from this application; the "
         "credentials of other applications are kept.", "accounts.signIn")],
    "authenticatorUnconfigured": [
        ("The registration at GitHub lacks clientId. Register an application there, as providers.list describes, and "
         "add it with providers.configure.", "providers.configure")],
    "interactionRequired": [
        ("The person must answer prompts that cannot be shown for this request: grantAccess, selectAccount. Answer in "
         "advance with access.set, the parameter account.", "accounts.list")],
    "flowNotSupported": [("GitHub does not offer oauth1. Choose an ability that providers.list names.", "providers.list")],
    "unknownProvider": [("There is no provider github.", "providers.list")],
    "unknownAccount": [
        ("There is no account with this id. Choose an account from accounts.list.", "accounts.list")],
    "invalidCredential": [("The credential is not valid.", "accounts.signIn")],
}
CASES = [(reason, *case) for reason, cases in HINTS.items() for case in cases]
# The hints of the others are about users, for whom no client here has a command. A throttled request is first to wait.
assert {error["reason"] for error in ERRORS if "hint" in error.get("data", []) and (
    error["code"] < 17000 or error["reason"] == "invalidCredential")} <= HINTS.keys() | {"throttled"}


def problem(reason, message, method):
    """Returns an error response of einlass."""
    code = next(error["code"] for error in ERRORS if error["reason"] == reason)
    params = {"provider": "github", "application": "editor"}
    return {"code": code, "message": message,
            "data": {"reason": reason, "retryable": False, "provider": "github",
                     "hint": {"method": method, "params": params}}}


def methods_in(text):
    """Returns the methods of the protocol that a text names."""
    return [method for method in METHODS if method in text and ("." in method or f"`{method}`" in text)]
