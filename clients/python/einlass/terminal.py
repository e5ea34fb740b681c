"""The terminal program: `python -m einlass --help`."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from .client import Answer, Client, EinlassError
from .next_steps import NEXT_STEPS

ABOUT = """\
Sign in with the accounts in einlass's store.

  providers             who can be signed in to
  accounts [PROVIDER]   the accounts in the store
  add [FILE]            add accounts: the params of accounts.add as JSON, one object, a list of them,
                        or one per line; from FILE, or from standard input, so that no secret ever
                        stands on a command line
  sign-in PROVIDER      get this application a credential of one of the accounts
  verify PROVIDER       ask the provider whether a credential is good: that of --account, or one as
                        JSON from FILE or standard input (what `sign-in --json --show-secrets` prints)
  access [PROVIDER ACTION]
                        who may use what; ACTION is grant, deny or reset (ask again)
"""

EPILOGUE = """\
On a terminal you are asked: whether this application may use the accounts, which account, whether it
is the right one. With --yes nobody is asked: access is granted, the first account offered (the one used
last) is taken and confirmed. Without a terminal and without --yes a question is an error that says
how to answer it in advance (--account, --confirm, access PROVIDER grant).

Results go to standard output, everything else to standard error. Exit code 0: done; 1: a problem, with
its next step printed; 2: the command line is wrong.
"""

STAGES = {
    "access": "checking access",
    "selecting": "choosing the account",
    "awaitingPerson": "",  # the question itself says so
    "discovering": "looking up the provider",
    "requesting": "talking to the provider",
    "exchanging": "exchanging tokens",
    "verifying": "checking the credential",
    "saving": "saving",
}

SECRETS = {"key", "secret", "token", "idToken", "refreshToken", "sessionId", "clientSecret", "cookies"}


# What is shown


def say(text: str) -> None:
    sys.stderr.write(text + "\n")  # one write: several threads talk
    sys.stderr.flush()


def clean(value: object) -> str:
    """Text from elsewhere, without anything that could steer a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(value))


def masked(value: Any, secret: bool = False) -> Any:
    """The same value with every secret cut down to its first four characters, short ones to none."""
    if isinstance(value, Mapping):
        return {k: masked(v, secret or k in SECRETS) for k, v in value.items()}
    if isinstance(value, list):
        return [masked(v, secret) for v in value]
    if secret and isinstance(value, str):
        return f"{value[:4] if len(value) >= 12 else ''}… ({len(value)} characters)"
    return value


def show_progress(params: Mapping[str, Any]) -> None:
    stage = str(params.get("stage"))
    if text := STAGES.get(stage, clean(stage)):
        say(f"  … {text}")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [list(head)] + [["-" if cell in (None, "") else clean(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)


def accounts_table(accounts: Sequence[Mapping[str, Any]], numbered: bool = False) -> str:
    head = ["provider", "username", "name", "health", "account"]
    rows: List[List[object]] = [
        [a.get("provider"), a.get("username"), a.get("displayName"), a.get("health"), a.get("account")]
        for a in accounts
    ]
    if numbered:
        return table(["", *head], [[f"{n})", *row] for n, row in enumerate(rows, 1)])
    return table(head, rows)


def members(value: Mapping[str, Any], indent: str = "  ") -> str:
    width = max((len(k) for k in value), default=0)
    return "\n".join(f"{indent}{k.ljust(width)}  {clean(plain(v))}" for k, v in value.items())


def plain(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def explain(error: EinlassError) -> str:
    """The problem, the provider's own words and what to do next."""
    lines = [f"problem: {clean(error.message)} ({error.reason}, {error.code})"]
    words = error.data.get("serverError")
    if isinstance(words, Mapping) and words:
        lines.append("   they: " + ", ".join(f"{k} {clean(v)}" for k, v in words.items()))
    advice = {
        "checkClock": "Check this machine's clock.",
        "unlockOnWeb": "Unlock the account on the provider's web page.",
        "changeSettings": "Change the account's settings at the provider.",
    }.get(str(error.data.get("advice")))
    step = " ".join(filter(None, [advice, NEXT_STEPS.get(error.reason, "Look at the message.")]))
    lines.append("   next: " + step)
    for needed in error.data.get("prompts") or []:
        how = needed.get("parameter") or needed.get("method") or "a front end that can ask"
        lines.append(f"         {clean(needed.get('kind'))} is answered in advance by {clean(how)}")
    hint = error.data.get("hint")
    if isinstance(hint, Mapping):
        params = json.dumps(hint.get("params") or {}, ensure_ascii=False)
        lines.append(f"         einlass call {clean(hint.get('method'))} {shlex.quote(clean(params))}")
    return "\n".join(lines)


# What is asked


def ask_line(question: str) -> Optional[str]:
    """One line from the person, or None at the end of input."""
    print(question, end="", file=sys.stderr, flush=True)
    line = os.read(sys.stdin.fileno(), 4096)  # not input(): a thread that reads must not keep Python from ending
    return line.decode("utf-8", "replace").strip() if line else None


class Questions:
    """The prompts as questions on the terminal."""

    def grant_access(self, prompt: Mapping[str, Any]) -> Answer:
        who = clean(prompt.get("applicationTitle") or prompt.get("application"))
        say(f"\n{who} wants to use your {clean(prompt.get('providerName'))} accounts.")
        wanted = {k: prompt[k] for k in ("permissions", "audience", "added", "includes") if prompt.get(k)}
        if wanted.get("added") == wanted.get("permissions"):
            wanted.pop("added", None)  # all of it is new: nothing to point out
        if wanted:
            say(members(wanted))
        while (reply := ask_line("Allow it? [y]es, [n]o and remember, [c]ancel: ")) is not None:
            if reply[:1].lower() in ("y", "n", "c"):
                return {"y": True, "n": False, "c": None}[reply[0].lower()]
        return None

    def select_account(self, prompt: Mapping[str, Any]) -> Answer:
        accounts = prompt["accounts"]
        say("\n" + accounts_table(accounts, numbered=True))
        more = ", or an account's id" if prompt.get("more") else ""
        while reply := ask_line(f"Which account? 1-{len(accounts)}{more}; nothing cancels: "):
            if reply.isdecimal() and 1 <= int(reply) <= len(accounts):
                return {"account": accounts[int(reply) - 1]["account"]}
            if reply.startswith("a_"):
                return {"account": reply}
        return None

    def confirm_account(self, prompt: Mapping[str, Any]) -> Answer:
        account = prompt["accounts"][0]
        reply = ask_line(f"\nUse {clean(account['username'])} at {clean(prompt.get('providerName'))}? [y/n]: ")
        return True if reply and reply[0].lower() == "y" else None


class ByItself:
    """The prompts answered without a person, for --yes."""

    def grant_access(self, prompt: Mapping[str, Any]) -> Answer:
        say(f"  --yes: access to {clean(prompt.get('provider'))} granted")
        return True

    def select_account(self, prompt: Mapping[str, Any]) -> Answer:
        account = prompt["accounts"][0]
        say(f"  --yes: {clean(account['username'])} chosen among {len(prompt['accounts'])}")
        return {"account": account["account"]}

    def confirm_account(self, prompt: Mapping[str, Any]) -> Answer:
        say(f"  --yes: {clean(prompt['accounts'][0]['username'])} confirmed")
        return True


# The commands


def providers(client: Client, options: argparse.Namespace) -> Any:
    result = client.request("providers.list")
    rows = [
        [p["id"], p["name"], ", ".join(p["flowKinds"]), "yes" if p["configured"] else "no"]
        for p in result["providers"]
    ]
    return result, table(["provider", "name", "flows", "configured"], rows)


def accounts(client: Client, options: argparse.Namespace) -> Any:
    params: Dict[str, Any] = {"provider": options.provider} if options.provider else {}
    found: List[Mapping[str, Any]] = []
    while True:
        page = client.request("accounts.list", params)
        found += page["accounts"]
        if not page.get("nextCursor"):
            break
        params["cursor"] = page["nextCursor"]
    text = accounts_table(found) if found else "No accounts. Add one: python -m einlass add --help"
    return {"accounts": found}, text


def read_json(path: Optional[str]) -> List[Dict[str, Any]]:
    """One object, a list of objects, or one object per line."""
    if path is None and sys.stdin.isatty():
        say("Paste the JSON, then Ctrl-D:")
    if path in (None, "-"):
        text = sys.stdin.read()
    else:
        with open(str(path), encoding="utf-8") as file:
            text = file.read()
    try:
        try:
            value = json.loads(text)
        except ValueError:
            value = [json.loads(line) for line in text.split("\n") if line.strip()]
    except ValueError as error:
        raise SystemExit(f"python -m einlass: {path or 'standard input'} is not JSON: {error}") from None
    return value if isinstance(value, list) else [value]


def add(client: Client, options: argparse.Namespace) -> Any:
    results, lines = [], []
    for params in read_json(options.file):
        result = client.request("accounts.add", {**params, **({"replace": True} if options.replace else {})})
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
    if options.confirm:
        params["confirm"] = True
    if options.deadline:
        params["deadlineSeconds"] = options.deadline
    client.on("auth.progress", show_progress)
    result = client.request("auth.perform", params)
    credential = result["credential"]
    text = f"Signed in at {clean(options.provider)}:\n" + members(shown(credential, options))
    if options.verify:
        result["verification"] = client.request("verify", {"provider": options.provider, "credential": credential})
        text += "\n" + verification_text(result["verification"])
    return result, text


def shown(value: Any, options: argparse.Namespace) -> Any:
    return value if options.show_secrets else masked(value)


def verification_text(result: Mapping[str, Any]) -> str:
    text = "The credential is good." if result["valid"] else "The credential is NOT good."
    who = result.get("identity") or {}
    if who:
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
    if options.provider and not options.action:
        raise SystemExit("python -m einlass: access PROVIDER needs an action: grant, deny or reset")
    if options.action == "reset":
        client.request("access.reset", {"provider": options.provider})
    elif options.action:
        state = {"grant": "granted", "deny": "denied"}[options.action]
        client.request("access.set", {"provider": options.provider, "state": state})
    result = client.request("access.list")
    rows = [
        [g["application"], g["provider"], g["state"], ", ".join(g.get("permissions") or []), g.get("audience")]
        for g in result["grants"]
    ]
    return result, table(["application", "provider", "access", "permissions", "audience"], rows)


# The command line


def parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    common = argparse.ArgumentParser(add_help=False)
    group = common.add_argument_group("the server")
    group.add_argument("--einlass", metavar="COMMAND", help="how to start it (default: $EINLASS_BINARY or einlass)")
    for name, about in [
        ("--store", "the account store, or `memory`"), ("--config", "its configuration file"),
        ("--key-file", "the file that holds the store's key"),
    ]:
        group.add_argument(name, metavar="PATH", help=about)
    group.add_argument("--application", metavar="NAME", default="einlass-terminal",
                       help="the name that access is granted to (default: %(default)s)")
    group = common.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("--show-secrets", action="store_true", help="print tokens and secrets in full")
    group.add_argument("--log", action="store_true", help="print the server's log lines")

    top = argparse.ArgumentParser(prog="python -m einlass", formatter_class=raw, description=ABOUT, epilog=EPILOGUE)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS)

    def command(name: str, work: Any) -> argparse.ArgumentParser:
        made = commands.add_parser(name, parents=[common], formatter_class=raw, epilog=EPILOGUE)
        made.set_defaults(work=work)
        return made

    command("providers", providers)
    command("accounts", accounts).add_argument("provider", nargs="?")
    one = command("add", add)
    one.add_argument("file", nargs="?", help="JSON; standard input when left out or -")
    one.add_argument("--replace", action="store_true", help="an account that is there already gets the new credential")
    one = command("sign-in", sign_in)
    one.add_argument("provider")
    one.add_argument("--account", metavar="ID", help="use this account and do not ask which")
    one.add_argument("--confirm", action="store_true", help="the only account is the right one: do not ask")
    one.add_argument("--selection", choices=["always", "whenMany"],
                     help="ask for the account always (default) or only among many")
    one.add_argument("--permission", action="append", metavar="NAME", help="ask for this permission (may be repeated)")
    one.add_argument("--audience", choices=["onlyMe", "friends", "everyone"])
    one.add_argument("--deadline", type=int, metavar="SECONDS", help="give up after so long (default: 300)")
    one.add_argument("--verify", action="store_true", help="ask the provider whether the new credential is good")
    one.add_argument("--yes", action="store_true", help="ask nobody: grant, take the first, confirm")
    one = command("verify", verify)
    one.add_argument("provider")
    one.add_argument("file", nargs="?", help="the credential as JSON; standard input when left out or -")
    one.add_argument("--account", metavar="ID", help="the credential that the store holds for this account")
    one = command("access", access)
    one.add_argument("provider", nargs="?")
    one.add_argument("action", nargs="?", choices=["grant", "deny", "reset"])
    return top


def server_command(options: argparse.Namespace) -> List[str]:
    command = shlex.split(options.einlass) if options.einlass else [os.environ.get("EINLASS_BINARY", "einlass")]
    for name in ("store", "config", "key_file"):
        if value := getattr(options, name):
            command += ["--" + name.replace("_", "-"), value]
    return command


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = parser().parse_args(arguments)
    asker: Any = ByItself() if getattr(options, "yes", False) else Questions() if sys.stdin.isatty() else None
    prompts = {} if asker is None else {
        "grantAccess": asker.grant_access,
        "selectAccount": asker.select_account,
        "confirmAccount": asker.confirm_account,
    }
    command = server_command(options)
    try:
        client = Client(command, prompts=prompts, on_log=say if options.log else None)
    except OSError as error:
        say(f"problem: {command[0]} cannot be started: {error.strerror}\n"
            "   next: Build it (swift build), then name it with --einlass or $EINLASS_BINARY.")
        return 1
    try:
        with client:
            client.initialize(options.application)
            result, text = options.work(client, options)
    except EinlassError as error:
        for line in error.data.get("log") or []:
            say(f"    log: {clean(line)}")
        say(explain(error))
        return 1
    except KeyboardInterrupt:
        say("\nCancelled.")
        return 1
    print(json.dumps(shown(result, options), ensure_ascii=False, indent=2) if options.json else text)
    verdict = result.get("verification", result) if isinstance(result, dict) else {}
    return 0 if verdict.get("valid", True) else 1
