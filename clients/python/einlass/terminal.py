"""The terminal program: `python -m einlass --help`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .client import Client, EinlassError
from .next_steps import APPLICATION, explain
from .protocol_types import (
    AccessListResult,
    Account,
    AccountsAddResult,
    AccountsListResult,
    ProvidersListResult,
    VerifyResult,
)
from .questions import ByItself, Questions
from .find import find_einlass
from .text import accounts_table, clean, masked, members, on_terminal, say, show, show_progress, table

ABOUT = """\
Sign in, and use the accounts in einlass's store.

  providers             the known providers
  accounts [PROVIDER]   the accounts in the store
  add [FILE]            add accounts: the params of accounts.add as JSON, one object, a list of them,
                        or one per line; from FILE or standard input, never from the command line
  sign-in PROVIDER      get this application a credential of one of the accounts; without an account, sign in
                        to one in the browser, or with a code (--flow deviceCode)
  verify PROVIDER       ask the provider whether a credential is valid: that of --account, or one as
                        JSON from FILE or standard input (the output of `sign-in --json --show-secrets`)
  access [PROVIDER ACTION]
                        access decisions; ACTION is grant, deny or reset (ask again)
  mcp URL               a bridge from MCP on standard input and output to a server with tokens
"""

EPILOGUE = """\
On a terminal the program asks for access to the accounts, for the account and for its confirmation.
With --yes it asks nothing: it grants access, and chooses and confirms the first offered account (the
last used one). Without a terminal and without --yes a question is an error, and its next step is an
answer in advance (--account, --confirm, access PROVIDER grant). --flow deviceCode needs no terminal for
its code. With `pip install segno` the code is there for a camera too.

Results go to standard output, everything else to standard error. Exit code 0: done; 1: a problem, with
its next step printed; 2: the command line is wrong.
"""

PATIENCE = 10  # seconds for the server's first answer


# The commands


def providers(client: Client, options: argparse.Namespace) -> Any:
    result: ProvidersListResult = client.request("providers.list")
    rows = [
        [p["id"], p["name"], ", ".join(p["flowKinds"]), "yes" if p["configured"] else "no"]
        for p in result["providers"]
    ]
    return result, table(["provider", "name", "flows", "configured"], rows)


def accounts(client: Client, options: argparse.Namespace) -> Any:
    params: Dict[str, Any] = {"provider": options.provider} if options.provider else {}
    found: List[Account] = []
    while True:
        page: AccountsListResult = client.request("accounts.list", params)
        found += page["accounts"]
        if not page.get("nextCursor"):
            break
        params["cursor"] = page["nextCursor"]
    if not found and options.provider:
        known = [p["id"] for p in client.request("providers.list")["providers"]]
        if options.provider not in known:
            raise Unusable(f"there is no provider {options.provider}, only {', '.join(known)}")
    text = accounts_table(found) if found else "No accounts. Add one: python -m einlass add --help"
    return {"accounts": found}, text


class Unusable(Exception):
    """An argument or a file cannot be used; the message gives the reason."""


def read_json(path: Optional[str]) -> List[Dict[str, Any]]:
    """Returns the JSON objects of a file or of standard input, at least one: a single object, a list, or one per
    line."""
    name = "standard input" if path in (None, "-") else str(path)
    if path is None and on_terminal():
        say("Paste the JSON, then Ctrl-D:")
    try:
        if path in (None, "-"):
            if sys.stdin is None:
                raise Unusable(f"{name} is closed")
            text = sys.stdin.read()
        else:
            with open(str(path), encoding="utf-8") as file:
                text = file.read()
        try:
            value = json.loads(text)
        except ValueError:
            value = [json.loads(line) for line in text.split("\n") if line.strip()]
    except OSError as error:
        raise Unusable(f"{name} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Unusable(f"{name} is not JSON: {error}") from None
    values = value if isinstance(value, list) else [value]
    if not values:
        raise Unusable(f"{name} is empty")
    if not all(isinstance(value, dict) for value in values):
        raise Unusable(f"{name} must hold JSON objects")
    return values


def add(client: Client, options: argparse.Namespace) -> Any:
    results, lines = [], []
    for params in read_json(options.file):
        result: AccountsAddResult = client.request("accounts.add", {**params, **({"replace": True} if options.replace else {})})
        results.append(result)
        verb = "added" if result.get("created") else "replaced"
        lines.append(f"{verb} {clean(params.get('username'))} ({clean(params.get('provider'))}) as {result['account']}")
    return results, "\n".join(lines)


def sign_in(client: Client, options: argparse.Namespace) -> Any:
    params: Dict[str, Any] = {"provider": options.provider}
    for name in ("account", "selection", "audience"):
        if getattr(options, name):
            params[name] = getattr(options, name)
    if options.permission:
        params["permissions"] = options.permission
    if options.server or options.username:
        named = {"host": options.server, "username": options.username}
        params["server"] = {name: value for name, value in named.items() if value}
        params["server"]["acceptUntrustedCertificates"] = on_terminal()
    if options.flow:
        params["flowKind"] = options.flow
    if options.server or options.username or options.flow or on_terminal() and not options.yes:
        params["signIn"] = "ifNeeded"
    if options.confirm:
        params["confirm"] = True
    if options.deadline:
        params["deadlineSeconds"] = options.deadline
    client.on("auth.progress", show_progress)
    try:
        result = client.request("auth.perform", params)
    except EinlassError as error:
        add_sign_in(client, options.provider, error)
        raise
    credential = result["credential"]
    text = f"Signed in at {clean(options.provider)}:\n" + members(shown(credential, options))
    if options.verify:
        result["verification"] = client.request("verify", {"provider": options.provider, "credential": credential})
        text += "\n" + verification_text(result["verification"])
    return result, text


def add_sign_in(client: Client, provider: str, error: EinlassError) -> None:
    """Adds the sign-in on a terminal to the next steps: einlass names no sign-in that this request cannot show."""
    steps = error.data.get("next") or []
    if error.reason != "noSystemAccount" or any(step.get("method") == "accounts.signIn" for step in steps):
        return
    known = client.request("providers.list")["providers"]
    if any({"authorizationCode", "deviceCode", "oauth1", "passwordSession"} & {*p["flowKinds"]}
           for p in known if p["id"] == provider):
        step = {"label": "Sign in on a terminal", "method": "accounts.signIn", "params": {"provider": provider}}
        error.data["next"] = [step, *steps]


def shown(value: Any, options: argparse.Namespace) -> Any:
    return value if options.show_secrets else masked(value)


def verification_text(result: VerifyResult) -> str:
    text = "The credential is valid." if result.get("valid") is True else "The credential is NOT valid."
    if who := result.get("identity"):
        text += f" It belongs to {clean(who.get('username') or who.get('name') or who.get('id'))}."
    for check in result.get("checks", []):
        text += f"\n  {clean(check['check']).ljust(12)} {'ok' if check['ok'] else 'NOT OK'}"
        text += f": {clean(check['detail'])}" if check.get("detail") else ""
    return text


def verify(client: Client, options: argparse.Namespace) -> Any:
    params: Dict[str, Any] = {"provider": options.provider}
    if options.account:
        params["account"] = options.account
    else:
        given = read_json(options.file)[0]
        params["credential"] = given.get("credential", given)
    result = client.request("verify", params)
    return result, verification_text(result)


def access(client: Client, options: argparse.Namespace) -> Any:
    if options.action == "reset":
        client.request("access.reset", {"provider": options.provider})
    elif options.action:
        state = {"grant": "granted", "deny": "denied"}[options.action]
        client.request("access.set", {"provider": options.provider, "state": state})
    result: AccessListResult = client.request("access.list")
    rows = [
        [g["application"], g["provider"], g["state"], ", ".join(g.get("permissions") or []), g.get("audience")]
        for g in result["grants"]
    ]
    return result, table(["application", "provider", "access", "permissions", "audience"], rows)


# The command line


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parses the command line. The first argument is the command, and each command has a parser of its own."""
    raw = argparse.RawDescriptionHelpFormatter
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("the server")
    group.add_argument("--einlass", metavar="COMMAND", help="the command that starts it (default: $EINLASS, the PATH, beside this program, ~/.local/bin)")
    for name, about in [
        ("--store", "the account store, or `memory`"), ("--config", "its configuration file"),
        ("--key-file", "the file with the store's key"),
    ]:
        group.add_argument(name, metavar="PATH", help=about)
    group.add_argument("--application", metavar="NAME", default=APPLICATION,
                       help="the application's name for access decisions (default: %(default)s)")
    group = common.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("--show-secrets", action="store_true", help="print tokens and secrets in full")
    group.add_argument("--log", action="store_true", help="print the server's log lines")

    commands: Dict[str, argparse.ArgumentParser] = {}

    def command(name: str, work: Any) -> argparse.ArgumentParser:
        prog = f"python -m einlass {name}"
        made = argparse.ArgumentParser(prog=prog, parents=[common], formatter_class=raw, epilog=EPILOGUE)
        made.set_defaults(work=work)
        commands[name] = made
        return made

    command("providers", providers)
    command("accounts", accounts).add_argument("provider", nargs="?")
    one = command("add", add)
    one.add_argument("file", nargs="?", help="the accounts as JSON (default, and -: standard input)")
    one.add_argument("--replace", action="store_true", help="replace the credential of an existing account")
    one = command("sign-in", sign_in)
    one.add_argument("provider")
    one.add_argument("--account", metavar="ID", help="use this account and do not ask for it")
    one.add_argument("--confirm", action="store_true", help="confirm the only account and do not ask")
    one.add_argument("--selection", choices=["always", "whenMany"],
                     help="ask for the account always (default) or only if there are several")
    one.add_argument("--permission", action="append", metavar="NAME", help="ask for this permission (may be repeated)")
    one.add_argument("--flow", metavar="KIND", help="the way to sign in: authorizationCode, deviceCode, oauth1 or "
                     "passwordSession (default: the provider's first one)")
    one.add_argument("--remember", action="store_true", help="keep the password of --server in the store")
    one.add_argument("--server", metavar="ADDRESS", help="log in at this server of your own, for a provider such as fcsdk")
    one.add_argument("--username", metavar="NAME", help="the user name there (default: asked for)")
    one.add_argument("--audience", choices=["onlyMe", "friends", "everyone"])
    one.add_argument("--deadline", type=int, metavar="SECONDS", help="the time limit (default: 300)")
    one.add_argument("--verify", action="store_true", help="ask the provider whether the new credential is valid")
    one.add_argument("--yes", action="store_true", help="ask nothing: grant access, choose and confirm the first account")
    one = command("verify", verify)
    one.add_argument("provider")
    one.add_argument("file", nargs="?", help="the credential as JSON (default, and -: standard input)")
    one.add_argument("--account", metavar="ID", help="the stored credential of this account")
    one = command("access", access)
    one.add_argument("provider", nargs="?")
    one.add_argument("action", nargs="?", choices=["grant", "deny", "reset"])

    top = argparse.ArgumentParser(
        prog="python -m einlass", usage="%(prog)s COMMAND [ARGUMENT…] [OPTION…]", formatter_class=raw,
        description=ABOUT, epilog="`python -m einlass COMMAND --help` names the options.\n\n" + EPILOGUE)
    top.add_argument("command", metavar="COMMAND", choices=list(commands), help=argparse.SUPPRESS)
    chosen = commands[top.parse_args(arguments[:1]).command]
    options = chosen.parse_intermixed_args(arguments[1:])
    if options.work is access and options.provider and not options.action:
        chosen.error("PROVIDER needs an ACTION: grant, deny or reset")
    return options


def server_command(options: argparse.Namespace) -> List[str]:
    command = shlex.split(options.einlass) if options.einlass else [find_einlass()]
    for name in ("store", "config", "key_file"):
        if value := getattr(options, name):
            command += ["--" + name.replace("_", "-"), value]
    return command


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    questions = Questions(getattr(options, "remember", False))
    asker: Any = ByItself() if getattr(options, "yes", False) else questions if on_terminal() else None
    prompts: Dict[str, Any] = {} if asker is None else asker.prompts()
    if getattr(options, "flow", None) == "deviceCode":
        prompts.setdefault("deviceCode", questions.ask)  # it only shows something
    try:
        command = server_command(options)
    except FileNotFoundError as error:
        say(f"problem: {clean(error)}")
        return 1
    try:
        client = Client(command, prompts=prompts, on_log=say if options.log else None)
    except OSError as error:
        say(f"problem: {command[0]} cannot be started: {error.strerror}\n"
            "   next: Build it (swift build), then name it with --einlass or $EINLASS.")
        return 1
    try:
        with client:
            client.on("prompt.closed", lambda params: questions.keyboard.close(str(params.get("prompt"))))
            client.initialize(options.application, timeout=PATIENCE)
            result, text = options.work(client, options)
    except EinlassError as error:
        for line in error.data.get("log") or []:
            say(f"    log: {clean(line)}")
        say(explain(error, options, cancelled=asker is not None and asker.cancelled))
        return 1
    except Unusable as error:
        say(f"problem: {clean(error)}")
        return 1
    except TimeoutError:
        say(f"problem: {clean(command[0])} did not answer within {PATIENCE} s.\n"
            "   next: Name einlass itself with --einlass or $EINLASS.")
        return 1
    except KeyboardInterrupt:
        say("\nCancelled.")
        return 1
    finally:
        questions.keyboard.restore()
    try:
        show(json.dumps(shown(result, options), ensure_ascii=False, indent=2) if options.json else text)
    except OSError as error:
        say(f"problem: Standard output cannot be written: {error.strerror}")
        return 1
    verdict = result if options.work is verify else result.get("verification") if isinstance(result, dict) else None
    return 0 if verdict is None or verdict.get("valid") is True else 1
