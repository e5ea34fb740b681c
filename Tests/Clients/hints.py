"""Problems whose next step is a command of the client itself, with messages of einlass."""
import json
from pathlib import Path

PROTOCOL = Path(__file__).parents[2] / "protocol"
METHODS = [method["name"] for method in json.loads((PROTOCOL / "openrpc.json").read_text())["methods"]]
ERRORS = json.loads((PROTOCOL / "errors.json").read_text())["errors"]

#: By reason: messages, each with the method of its next step.
CASES = [
    ("noSystemAccount", "There is no GitHub account here.", "accounts.signIn"),
    ("accessNotGranted",
     "The application editor has no access to GitHub accounts, and this request cannot ask for it.", "access.set"),
    ("accessNotGranted", "Access to GitHub accounts is not granted to this application.", "access.reset"),
    ("reloginNeeded", "The GitHub account must be signed in to again.", "accounts.signIn"),
    ("notIssuedToThisClient",
     "No credential of the GitHub account was issued to this application yet. The credentials of other applications are "
     "kept.", "accounts.signIn"),
    ("authenticatorUnconfigured", "The registration at GitHub lacks clientId.", "providers.configure"),
    ("interactionRequired",
     "The person must answer prompts that cannot be shown for this request: grantAccess, selectAccount.", "accounts.list"),
    ("flowNotSupported", "GitHub does not offer oauth1.", "providers.list"),
    ("unknownProvider", "There is no provider github.", "providers.list"),
    ("unknownAccount", "There is no account with this id.", "accounts.list"),
    ("invalidCredential", "The credential is not valid.", "accounts.signIn"),
]

#: The sentence of a client that finds no einlass. It names no address and no index, because neither has einlass.
MISSING = ("There is no einlass on the PATH. Install einlass-*.whl of a release as its INSTALL.md says, "
           "or name einlass in the variable EINLASS.")


def problem(reason, message, method):
    """Returns an error response of einlass."""
    code = next(error["code"] for error in ERRORS if error["reason"] == reason)
    params = {"provider": "github", "application": "editor"}
    return {"code": code, "message": message,
            "data": {"reason": reason, "retryable": False, "provider": "github",
                     "next": [{"label": "Look at it"}, {"label": "Do it", "method": method, "params": params}]}}


def methods_in(text):
    """Returns the methods of the protocol that a text names."""
    return [method for method in METHODS if method in text and ("." in method or f"`{method}`" in text)]
