"""The next steps of a problem for a person, with the commands of this program."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, List, Mapping, Sequence

from .client import EinlassError
from .text import clean

APPLICATION = "einlass-terminal"
#: The steps of problems that this program finds itself, by reason.
OWN_STEPS = {"serverGone": "See the log lines above, because einlass ended before it answered"}


def explain(error: EinlassError, options: argparse.Namespace, cancelled: bool = False) -> str:
    """Returns the problem, the provider's own words and the next steps. `cancelled`: the person has just cancelled."""
    lines = [f"problem: {clean(error.message)} ({error.reason}, {error.code})"]
    words = error.data.get("serverError")
    if isinstance(words, Mapping) and words:
        lines.append("   they: " + ", ".join(f"{k} {clean(v)}" for k, v in words.items()))
    if error.reason == "accessNotGranted" and cancelled:
        return "\n".join([*lines, "   next: No decision was stored. Try again and allow it."])
    command = ""
    if error.data.get("path") == "/server/host":  # sign-in has an option for it
        command = command_line(["sign-in", options.provider, "--server", "ADDRESS"], options)
    return "\n".join([*lines, *(f"   next: {in_words(step, command_of(step, options) or command)}" for step in steps_of(error))])


def steps_of(error: EinlassError) -> List[Mapping[str, Any]]:
    """Returns the next steps, those of einlass or of this program."""
    own = OWN_STEPS.get(error.reason)
    return [{"label": own}] if own else [step for step in error.data.get("next") or [] if isinstance(step, Mapping)]


def in_words(step: Mapping[str, Any], command: str = "") -> str:
    """Returns a step as one line: its label, its page and a command to copy."""
    page = f" ({clean(step['page'])})" if step.get("page") else ""
    command = command or clean(step.get("command") or "")
    return f"{clean(step.get('label'))}{page}" + (f": {command}" if command else ".")


def command_of(step: Mapping[str, Any], options: argparse.Namespace) -> str:
    """Returns this program's command for the method of a step, or einlassctl's of the step itself, with the options in
    use; "" if there is none."""
    params = step.get("params")
    params = params if isinstance(params, Mapping) else {}
    provider = [str(params["provider"])] if params.get("provider") else []
    account = ["--account", str(params["account"])] if params.get("account") else []
    words = {
        "access.reset": ["access", *(provider or ["PROVIDER"]), "reset"],
        "access.set": ["access", *(provider or ["PROVIDER"]), "grant"],
        "accounts.add": ["add", "FILE", *(["--replace"] if params.get("replace") else [])],
        "accounts.list": ["accounts", *provider],
        "accounts.signIn": ["sign-in", *(provider or ["PROVIDER"]), *account],
        "auth.perform": ["sign-in", *(provider or ["PROVIDER"]), *account, *(["--confirm"] if params.get("confirm") else [])],
        "providers.list": ["providers"],
    }.get(str(step.get("method")), [])
    if words:
        return command_line(words, options)
    own = str(step.get("command") or "")
    if step.get("method") == "providers.configure":
        own = shlex.join(["einlassctl", "providers", "configure", *(provider or ["PROVIDER"])])
    named = shlex.join(options_of(options, "einlass", "store", "config", "key_file"))
    return clean(f"{own} {named}".rstrip()) if own.startswith("einlassctl ") else ""


def command_line(words: Sequence[str], options: argparse.Namespace) -> str:
    """Returns a command to copy, with the server, the files and the application in use."""
    words = [*words, *options_of(options, "einlass", "store", "config", "key_file", "application")]
    return clean("python -m einlass " + shlex.join(words))


def options_of(options: argparse.Namespace, *names: str) -> List[str]:
    """Returns the options of these names that are in use, as words of a command line."""
    used = [(name, getattr(options, name)) for name in names]
    return [word for name, value in used if value and value != APPLICATION
            for word in ("--" + name.replace("_", "-"), value)]
