"""A bridge for clients of MCP, whose own sign-in fails them: `python -m einlass mcp URL`.

The client speaks MCP on standard input and output. The server gets each message by Streamable HTTP, with a token of
einlass. The client never sees a token. On a terminal the program signs the person in, and ends.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .browser import open_page
from .client import Client, EinlassError
from .text import clean, on_terminal, say
from .tokens import Token, TokenSource, find_einlass, next_step, without_query, working_folder

PATIENCE = 10  # seconds for the server's first answer
#: Problems that a sign-in solves, by `reason` and by `detail`.
SIGN_IN_HELPS = {"noSystemAccount", "reloginNeeded", "notIssuedToThisClient", "notServed", "accessDenied",
                 "flowExpired", "stateMismatch", "userCanceled"}

EPILOGUE = """\
Give this command to your client of MCP. It signs nobody in by itself: the client gets an error with the command for a
terminal. On a terminal the program signs in, in the browser, and ends.
"""


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m einlass mcp", epilog=EPILOGUE,
        description="Connects a client of MCP to a server that wants tokens.")
    parser.add_argument("url", metavar="URL", help="the address of the server, for Streamable HTTP")
    parser.add_argument("--sign-in", action="store_true",
                        help="open a page for the sign-in also without a terminal; on a terminal: sign in again")
    parser.add_argument("--scope", action="append", default=[], metavar="SCOPE",
                        help="sign in for this scope too (may be repeated)")
    parser.add_argument("--account", metavar="NAME", help="user name or id of the account (default: the usual one)")
    parser.add_argument("--application", metavar="NAME", default="mcp",
                        help="the application's name for access decisions (default: %(default)s)")
    return parser.parse_args(arguments)


class Accounts(TokenSource):
    """The tokens for the server, and the sign-in for it."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options.application)
        self.options = options
        self._counting = threading.Lock()  # guards the next two
        self._requests = 0  # that run at present
        self._sign_in_awaited = False

    def token(
        self, address: str, account: Optional[str] = None, timeout: float = 9, needs_service: bool = False,
        is_login: bool = False
    ) -> Token:
        """Returns a valid token. The message of an EinlassError has the next step."""
        with self._named():
            return self._token(self._place(), timeout, needs_service)

    def reject(self, token: Token, timeout: float = 9) -> None:
        with self._named():
            super().reject(token, timeout)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EinlassError(0, "noEinlass", {}, str(error)) from None
        except EinlassError as error:
            if sign_in_helps(error):
                self._sign_in_awaited = True
            raise self.with_next_step(error) from None

    def _request(self, method: str, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        with self._counting:
            # einlass reads the providers, which a sign-in elsewhere may add, at its start.
            if self._sign_in_awaited and not self._requests:
                self._sign_in_awaited = False
                self.close()
            self._requests += 1
        try:
            return super()._request(method, params, timeout)
        finally:
            with self._counting:
                self._requests -= 1

    def warm_up(self) -> None:
        """Starts einlass, so that the first request need not wait for it. A problem is shown at that request."""
        with contextlib.suppress(OSError, EinlassError):
            self._request("accounts.list", {"limit": 1}, PATIENCE)

    def _place(self) -> Dict[str, Any]:
        account = {"account": self.options.account} if self.options.account else {}
        return {"address": without_query(self.options.url), **working_folder(), **account}

    def with_next_step(self, error: EinlassError, scopes: Sequence[str] = ()) -> EinlassError:
        """Returns the error with the provider's own words and the command that mends it in its message."""
        if sign_in_helps(error):
            step = f"Run on a terminal: {self.command(scopes)}"
        elif error.reason == "serverGone":
            step = "Run on a terminal: einlassctl doctor"
        elif error.reason == "providerFailure" and "provider" not in error.data:  # the server names no provider itself
            add = shlex.join(["einlassctl", "services", "add", without_query(self.options.url), "PROVIDER"])
            step = f"If you know the provider of its tokens, run on a terminal: {add}"
        else:
            step = next_step(error, self.application, self.options.url)
        words = error.data.get("serverError") or {}
        said = f"They say: {', '.join(f'{name} {value}' for name, value in words.items())}. " if words else ""
        return EinlassError(error.code, error.reason, error.data, f"{error.message} {said}{step}".rstrip())

    def command(self, scopes: Sequence[str]) -> str:
        """Returns this program's command that signs in, to copy."""
        is_script = os.path.basename(sys.argv[0]) == "einlass-mcp"
        words = [sys.argv[0]] if is_script else [sys.executable, "-m", "einlass", "mcp"]
        more = [f"--scope={scope}" for scope in dict.fromkeys([*self.options.scope, *scopes])]
        for name, usual in (("account", None), ("application", "mcp")):
            if (value := getattr(self.options, name)) != usual:
                more.append(f"--{name}={value}")
        return shlex.join([*words, "--sign-in", *more, self.options.url])

    def sign_in(self, scopes: Sequence[str], show: Optional[Show] = None) -> None:
        """Signs the person in, or in again: for the present scopes, else the usual ones, and for these. The page opens in
        the browser of this machine, unless there is a function that shows it."""
        prompts = {kind: lambda prompt: show(*page(prompt)) for kind in PAGES} if show else PAGES
        wanted = [*self.options.scope, *scopes]
        with self._named(), Client([find_einlass()], prompts=prompts) as einlass:
            einlass.initialize(self.application, timeout=PATIENCE)
            params = self._sign_in(einlass, wanted)
            einlass.request("accounts.signIn", params)
            # einlass asks for scopes in place of the usual ones, which are known only after a sign-in.
            if wanted and "scopes" not in params:
                params = self._sign_in(einlass, wanted, again=False)
                if "scopes" in params:
                    einlass.request("accounts.signIn", params)
        self.close()

    def _sign_in(self, einlass: Client, scopes: List[str], again: bool = True) -> Dict[str, Any]:
        """Returns the params of accounts.signIn: those of the next step, if einlass names one. They have `scopes` if the present
        ones are known; with `again: False`, only if one of `scopes` is missing."""
        unknown = {"resource": self.options.url, "probe": True}
        try:
            found = einlass.request("services.resolve", self._place())
        except EinlassError as error:
            if error.data.get("detail") != "notServed":
                raise
            return unknown
        params: Dict[str, Any] = {name: found[name] for name in ("account", "resource") if name in found}
        problem = found.get("error", {}).get("data")
        if problem and problem["reason"] == "noSystemAccount" and "service" not in found:
            # A sign-in that was given up may have added the provider of the server, whose tokens are for it alone.
            return unknown
        present: List[str] = []
        if problem is None:
            try:
                wanted = {**params, "scopes": [*found.get("scopes", []), *scopes]}
                present = einlass.request("credentials.get", wanted)["credential"].get("scopes", [])
            except EinlassError as error:
                problem = error.data
        steps = (problem or {}).get("next") or []
        sign_in = next((step for step in steps if step.get("method") == "accounts.signIn"), None)
        if sign_in:
            params = sign_in["params"]
            present = params.get("scopes", [])
        else:
            params = {**params, **({} if "resource" in params else {"provider": found["provider"]})}
            # einlass itself asks for the present scopes of a resource again, and for those of its challenge.
            present = present if again and (scopes or "resource" not in params) else []
        if present:
            params = {**params, "scopes": list(dict.fromkeys([*present, *scopes]))}
        return {**params, "probe": True} if "resource" in params else params


def sign_in_helps(error: EinlassError) -> bool:
    return error.reason in SIGN_IN_HELPS or error.data.get("detail") in SIGN_IN_HELPS


# The page


#: Takes the address of a page and the sentences about it, and returns whether the person agrees.
Show = Callable[[str, str], bool]


def open_url(prompt: Mapping[str, Any]) -> bool:
    address, words = page(prompt)
    say(words)
    is_opened = open_page(address)
    say(f"{'Your browser opens this page; if it does not, open' if is_opened else 'Open'} it yourself:\n  {address}")
    return True


def device_code(prompt: Mapping[str, Any]) -> bool:
    address, words = page(prompt)
    say(f"{words}\nOpen this page:\n  {address}")
    return True


PAGES = {"openURL": open_url, "deviceCode": device_code}


def page(prompt: Mapping[str, Any]) -> Tuple[str, str]:
    """Returns the address of a prompt's page and the sentences about it."""
    where, host = clean(prompt.get("resource") or prompt.get("providerName")), clean(prompt.get("host"))
    words = [f"{where} wants you to sign in at {host}."]
    if prompt.get("grantsAccess"):
        permissions = ", ".join(map(clean, prompt.get("permissions") or []))
        name = clean(prompt.get("applicationTitle") or prompt.get("application"))
        words.append(f"After the sign-in, {name} may use the account{', with ' + permissions if permissions else ''}.")
    if "userCode" in prompt:
        words.append(f"Enter this code on the page: {clean(prompt['userCode'])}")
    return clean(prompt.get("url") or prompt.get("verificationUri")), "\n".join(words)


# The program


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = parse(arguments)
    accounts = Accounts(options)
    if on_terminal():
        return sign_in_by_hand(accounts)
    threading.Thread(target=accounts.warm_up, daemon=True).start()
    try:
        from .mcp_transport import serve
    except ImportError as error:
        say(f"problem: The package {error.name} is missing or of another version. "
            "Install the bridge: pip install 'einlass[mcp]'")
        return 1
    return serve(accounts)


def sign_in_by_hand(accounts: Accounts) -> int:
    """Signs in on a terminal, unless there is a good token. Returns the exit code."""
    options = accounts.options
    try:
        if options.sign_in or options.scope or not is_signed_in(accounts):
            accounts.sign_in([])
        say(f"Signed in for {clean(options.url)}. The clients of MCP can use it now.")
        return 0
    except EinlassError as error:
        say(f"problem: {clean(error.message)}")
    except KeyboardInterrupt:
        say("\nCancelled.")
    finally:
        accounts.close()
    return 1


def is_signed_in(accounts: Accounts) -> bool:
    """Returns False if a sign-in helps. Raises EinlassError for another problem."""
    try:
        accounts.token(accounts.options.url)
    except EinlassError as error:
        if sign_in_helps(error):
            return False
        raise
    return True
