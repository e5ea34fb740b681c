"""The next step for a person after a problem."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any, List, Mapping, Sequence

from .client import EinlassError
from .text import clean

APPLICATION = "einlass-terminal"
#: By reason: the `nextStep` sentences of protocol/errors.json.
NEXT_STEPS = {
    "invalidJSON": "This is a fault of the program that spawned einlass: report it there.",
    "invalidUTF8": "This is a fault of the program that spawned einlass: report it there.",
    "lineTooLong": "This is a fault of the program that spawned einlass: report it there.",
    "tooDeep": "This is a fault of the program that spawned einlass: report it there.",
    "invalidHeader": "This is a fault of the program that spawned einlass: report it there.",
    "invalidRequest": "This is a fault of the program that spawned einlass: report it there.",
    "invalidId": "This is a fault of the program that spawned einlass: report it there.",
    "duplicateKey": "This is a fault of the program that spawned einlass: report it there.",
    "duplicateId": "This is a fault of the program that spawned einlass: report it there.",
    "emptyBatch": "This is a fault of the program that spawned einlass: report it there.",
    "batchTooLarge": "This is a fault of the program that spawned einlass: report it there.",
    "notBatchable": "This is a fault of the program that spawned einlass: report it there.",
    "alreadyInitialized": "This is a fault of the program that spawned einlass: report it there.",
    "shuttingDown": "Start einlass again.",
    "unknownMethod": "Update einlass, or the program that spawned it.",
    "invalidParams": "Correct the parameter that `path` names; `expected` describes the valid values.",
    "positionalParams": "This is a fault of the program that spawned einlass: report it there.",
    "unsupportedVersion": "Update einlass, or the program that spawned it.",
    "invalidCursor": "Start the list again without a cursor.",
    "internal": "Run einlass again with --log-level debug and report its log.",
    "cancelled": "Start it again if you did not intend that. If standard input ended too early, start einlass with --finish.",
    "overloaded": "Wait until some are answered, then try again.",
    "noSystemAccount": "Sign in at the provider (einlassctl sign-in PROVIDER), or add an account with its credential (einlassctl accounts add).",
    "accessNotGranted": "Allow it (einlassctl access set APPLICATION PROVIDER granted); or reset an earlier denial (einlassctl access reset APPLICATION PROVIDER), sign in again and allow it.",
    "userCanceledAccountSelection": "Sign in again and choose an account.",
    "accountBanned": "Ask the provider about the account, or sign in with another one.",
    "reloginNeeded": "Sign in to the account again (einlassctl sign-in --account ACCOUNT); if the provider has no sign-in, add it again with its new credential (einlassctl accounts add --replace).",
    "notIssuedToThisClient": "Sign in to the account from this application, or with its client id (einlassctl sign-in --account ACCOUNT). The credentials of other applications are kept.",
    "authenticatorUnconfigured": "Register an application at the provider and store its client id and secret (einlassctl providers configure PROVIDER), or pass them in the configuration file or in `initialize`.",
    "networkFailure": "Check the network connection and the clock, then try again.",
    "providerFailure": "See the provider's error; try again later.",
    "accountStoreFailure": "Correct the problem in the message, then try again.",
    "interactionRequired": "Answer in advance as in `hint` or `prompts`, or use a front end that can show the prompt.",
    "userCanceled": "Start again and answer the prompt.",
    "accessDenied": "Sign in again and allow it on the provider's page.",
    "stateMismatch": "Sign in again, and use only the page of the new sign-in.",
    "flowExpired": "Start again; give a longer deadline if the time was too short.",
    "flowNotSupported": "Use another flow, or another provider (einlassctl providers list).",
    "wrongCredentials": "Enter name and password again.",
    "throttled": "Wait for the time in the message, then try again; if a service has refused the token, a sign-in helps at once (einlassctl sign-in --account ACCOUNT).",
    "tokenNotSaved": "Repair the store, then sign in to the account again (einlassctl sign-in --account ACCOUNT).",
    "verificationFailed": "Check the clock; if it is right, replace the assertion that the message names, else do not trust this sign-in and report it.",
    "unknownProvider": "List the providers (einlassctl providers list) and use one of their ids, or add the provider (einlassctl providers add).",
    "unknownAccount": "List the accounts (einlassctl accounts list) and use one of their ids.",
    "unknownFlow": "There is nothing to do, because the flow has ended.",
    "unknownPrompt": "There is nothing to do, because the prompt has closed.",
    "promptAlreadyAnswered": "There is nothing to do, because the first answer counts.",
    "invalidChoice": "Choose one of those that were offered.",
    "reservedParameter": "Leave it out of the custom parameters.",
    "bindingMismatch": "Use the configuration of the account's sign-in, or store the registration again (einlassctl providers configure PROVIDER), or add the account again (einlassctl accounts add --replace).",
    "unsafeURL": "Use an https address. If no provider serves it, choose an account for it (einlassctl services add ADDRESS PROVIDER). If a server of the own network is not public, name it in internalHosts of the configuration file.",
    "accountExists": 'Use the stored account, or add it with "replace": true (einlassctl accounts add --replace).',
    "invalidCredential": "Sign the person in at the provider (einlassctl sign-in PROVIDER), or get a new credential.",
    "emailAlreadyInUse": "Sign in as that user, or use another address.",
    "invalidEmail": "Enter an address such as ada@example.com.",
    "wrongPassword": "Enter the password again.",
    "tooManyRequests": "Wait for the time in the message, then try again.",
    "userNotFound": "Choose one of the list (einlassctl users list).",
    "accountExistsWithDifferentCredential": "Sign in as that user with one of `providers`, then link `pendingCredential` with `users.link` (einlassctl users link USER PROVIDER).",
    "requiresRecentLogin": "Sign the person in again with `users.reauthenticate`, or let the person do it (einlassctl users delete USER).",
    "providerAlreadyLinked": "Unlink that identity first (einlassctl users unlink USER PROVIDER).",
    "noSuchProvider": "Choose a provider of the user's identities (einlassctl users show USER).",
    "userMismatch": "Sign in as the current user, or sign that user out first.",
    "credentialAlreadyInUse": "Sign in as that user: `users.signIn` takes `pendingCredential`. To free the identity: (einlassctl users unlink USER PROVIDER).",
    "weakPassword": "Choose a longer password.",
    "missingEmail": "Pass an e-mail address such as ada@example.com.",
    "nullUser": "Sign a user in with `users.signIn`; the users of all applications: (einlassctl users list).",
    "serverGone": "See the log lines above, because einlass ended before it answered.",
}
#: The next step by the detail `keyUnavailable`.
OPENING_THE_STORE = "Provide the key or passphrase of this store, as the message says. Its key slots: (einlassctl store slots)."


def explain(error: EinlassError, options: argparse.Namespace, cancelled: bool = False) -> str:
    """Returns the problem, the provider's own words and the next step. `cancelled`: the person has just cancelled."""
    lines = [f"problem: {clean(error.message)} ({error.reason}, {error.code})"]
    words = error.data.get("serverError")
    if isinstance(words, Mapping) and words:
        lines.append("   they: " + ", ".join(f"{k} {clean(v)}" for k, v in words.items()))
    if error.reason == "accessNotGranted" and cancelled:
        return "\n".join([*lines, "   next: No decision was stored. Try again and allow it."])
    advice = {
        "checkClock": "Check this machine's clock.",
        "unlockOnWeb": "Unlock the account on the provider's web page.",
        "changeSettings": "Check the registration's client id and secret, and the application's settings at the provider.",
    }.get(str(error.data.get("advice")))
    step = NEXT_STEPS.get(error.reason, "See the message.")
    if error.data.get("detail") == "keyUnavailable":
        step = OPENING_THE_STORE
    step = filled(step, error.data, options)
    if error.data.get("path") == "/server":
        step = "Name a server of your own with --server. Other providers have none."
    lines.append("   next: " + " ".join(filter(None, [advice, step])))
    for needed in error.data.get("prompts") or []:
        lines.append("         " + answer_in_advance(needed, str(error.data.get("provider") or "PROVIDER"), options))
    hint = error.data.get("hint")
    if isinstance(hint, Mapping) and (command := command_of(hint, error.reason)):
        line = command_line(command, options)
        if not any(said.endswith(line) for said in lines):
            lines.append("         " + line)
    return "\n".join(lines)


def filled(step: str, data: Mapping[str, Any], options: argparse.Namespace) -> str:
    """Returns a step with the names of this problem, and its commands with the files in use."""
    names = {"PROVIDER": data.get("provider"), "ACCOUNT": data.get("account"), "APPLICATION": options.application}
    files = ["--" + name.replace("_", "-") + " " + shlex.quote(value)
             for name in ("store", "config", "key_file") if (value := getattr(options, name))]
    step = re.sub("|".join(names), lambda found: shlex.quote(str(names[found[0]] or found[0])), step)
    return clean(re.sub(r"\((einlassctl [^)]*)\)", lambda found: "(" + " ".join([found[1], *files]) + ")", step))


def answer_in_advance(needed: Mapping[str, Any], provider: str, options: argparse.Namespace) -> str:
    """Returns how to answer a prompt in advance."""
    how = {
        "grantAccess": command_line(["access", provider, "grant"], options),
        "selectAccount": "--account ID",
        "confirmAccount": "--confirm",
    }.get(str(needed.get("kind")), "a front end that can show it")
    return f"{clean(needed.get('kind'))} is answered in advance by {how}"


def command_of(hint: Mapping[str, Any], reason: str) -> List[str]:
    """Returns this program's command for the method of a hint, as words."""
    params = hint.get("params")
    provider = params.get("provider") if isinstance(params, Mapping) else None
    named = [str(provider)] if provider else []
    return {
        "access.reset": ["access", *(named or ["PROVIDER"]), "reset"],
        "access.set": ["access", *(named or ["PROVIDER"]), "grant"],
        "accounts.add": ["add", "FILE", *([] if reason == "noSystemAccount" else ["--replace"])],
        "accounts.list": ["accounts", *named],
        "providers.list": ["providers"],
    }.get(str(hint.get("method")), [])


def command_line(words: Sequence[str], options: argparse.Namespace) -> str:
    """Returns a command to copy, with the server, the files and the application in use."""
    for name in ("einlass", "store", "config", "key_file", "application"):
        value = getattr(options, name)
        if value and value != APPLICATION:
            words = [*words, "--" + name.replace("_", "-"), value]
    return clean("python -m einlass " + " ".join(map(shlex.quote, words)))
