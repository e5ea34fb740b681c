"""Gets tokens for addresses from einlass, for libraries that send requests.

    with TokenSource("my-script") as tokens:
        print(tokens.token("https://api.github.com/user").text)
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple
from urllib.parse import urlsplit

from .client import Client, EinlassError, ServerGone
from .find import find_einlass as find_einlass


def without_query(url: str) -> str:
    """Returns the address without query and fragment, because services.resolve refuses them."""
    parts = urlsplit(url)
    return parts._replace(query="", fragment="").geturl()


#: The user name of a service that takes any.
ANY_USERNAME = "*"
LATE = "No answer came in time. Check the network connection, then try again."


def next_step(error: EinlassError, application: str, address: str) -> str:
    """Returns the command of einlassctl that mends the error, else the first next step; "" without one."""
    provider, account = error.data.get("provider") or "PROVIDER", error.data.get("account")
    if error.data.get("detail") == "notServed":
        command = ["services", "add", without_query(address), provider]
    else:
        command = {
            "accessNotGranted": ["access", "set", application, provider, "granted"],
            "noSystemAccount": ["sign-in", provider],
            "reloginNeeded": ["sign-in", "--account", account] if account else ["sign-in", provider],
            "authenticatorUnconfigured": ["providers", "configure", provider],
        }.get(error.reason, [])
    if command:
        return f"Run: {shlex.join(['einlassctl', *command])}"
    from .next_steps import in_words, steps_of  # only here, because a token must be quick

    return next(map(in_words, steps_of(error)), "")


def working_folder() -> Dict[str, str]:
    """The parameter of services.resolve by which the preference of a folder counts."""
    try:
        return {"folder": os.getcwd()}
    except FileNotFoundError:
        return {}


@contextlib.contextmanager
def alone(name: str, seconds: float) -> Iterator[None]:
    """Keeps the other processes out that use the same name. After that time it goes on beside them."""
    try:
        import fcntl

        folder = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "einlass")
        file = os.open(os.path.join(folder, name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (ImportError, OSError):
        yield  # without the lock a new token may be rejected too, which costs one more request
        return
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.01)
        yield
    finally:
        os.close(file)


@dataclass(frozen=True)
class Token:
    """An access token and the account that it is from."""

    text: str
    account: str
    #: The user name that the service wants beside the token, if any.
    username: Optional[str]
    #: Unix seconds; None if unknown.
    expires_at: Optional[int]
    resource: Optional[str]
    #: The address that it was asked for.
    address: Optional[str] = None

    @property
    def header(self) -> str:
        """The value of an Authorization header. RFC 6750 section 2.1."""
        return f"Bearer {self.text}"

    def __repr__(self) -> str:
        return f"Token(account={self.account!r})"


class TokenSource:
    """A running einlass that is asked for tokens. It never asks the person, and may be used by several threads."""

    def __init__(self, application: str, command: Optional[Sequence[str]] = None) -> None:
        """`application` is the name that needs access: einlassctl access set NAME PROVIDER granted."""
        self.application = application
        self._command = command
        self._client: Optional[Client] = None
        self._lock = threading.Lock()
        self._late: Tuple[float, str] = (0, "")  # the end of the last start without an answer, and its message

    def token(
        self, address: str, account: Optional[str] = None, timeout: float = 9, needs_service: bool = False,
        is_login: bool = False
    ) -> Token:
        """Returns a valid token for an address, refreshed if needed. `account` is a user name or an id; with `is_login`
        it is the user name of a log-in, which names no account if the service takes it or any. Raises EinlassError with
        the reason, for example `accessNotGranted` or `unsafeURL` for an address without a provider, or with
        `needs_service` for one without a service of the configuration."""
        params = {"address": without_query(address), **working_folder(), **({"account": account} if account else {})}
        try:
            return self._token(params, timeout, needs_service, is_login)
        except EinlassError as error:
            message = f"{error.message} {next_step(error, self.application, address)}".rstrip()
            raise EinlassError(error.code, error.reason, error.data, message) from None

    def _token(self, params: Dict[str, Any], timeout: float, needs_service: bool, is_login: bool = False) -> Token:
        found = self._request("services.resolve", params, timeout)
        if is_login and "account" in params and found.get("username") in (ANY_USERNAME, params["account"]):
            found = self._request("services.resolve", {name: params[name] for name in params if name != "account"}, timeout)
        if needs_service and "service" not in found:
            raise EinlassError(1028, "unsafeURL", {"detail": "notServed"}, "No service of the configuration is for this address.")
        if "error" in found:
            error = found["error"]
            raise EinlassError(error["code"], error["data"]["reason"], error["data"], error["message"])
        wanted = {"account": found["account"], "address": params["address"],
                  **{name: found[name] for name in ("scopes", "resource") if name in found}}
        credential = self._request("credentials.get", wanted, timeout)["credential"]
        if credential["type"] != "oauth2" or credential["tokenType"].lower() != "bearer":
            raise EinlassError(0, "noBearerToken", {}, "The account has no token that another program can send.")
        username = found.get("username")
        return Token(credential["token"], found["account"], None if username == ANY_USERNAME else username,
                     credential.get("expiresAt"), found.get("resource"), params["address"])

    def reject(self, token: Token, timeout: float = 9) -> None:
        """Reports that a service refused the token (401), so that the next one is new. It may cost the new token of
        another program: see `replaced`. A token that cannot be renewed stays for other services, if its provider takes it."""
        named = {"resource": token.resource, "address": token.address}
        params = {"account": token.account, **{name: value for name, value in named.items() if value}}
        self._request("credentials.reject", params, timeout)

    def replaced(self, address: str, refused: Token, timeout: float = 9) -> Token:
        """Returns a token in place of one that the service refused (401). `credentials.reject` names no token, so of
        the programs that were refused with the same one only the first may reject it: the others take the new one."""
        with alone("rejecting-" + refused.account, timeout):
            token = self.token(address, timeout=timeout)
            if token.text == refused.text:
                self.reject(token, timeout)
                token = self.token(address, timeout=timeout)
        return token

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client:
            client.close()

    def __enter__(self) -> TokenSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _request(self, method: str, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        """Sends a request. An einlass that has ended is started anew once."""
        client = self._started(timeout)
        try:
            return self._answer(client, method, params, timeout)
        except ServerGone:
            with self._lock:
                if self._client is client:
                    self._client = None
        client.close()
        return self._answer(self._started(timeout), method, params, timeout)

    @staticmethod
    def _answer(client: Client, method: str, params: Dict[str, Any], timeout: float) -> Dict[str, Any]:
        try:
            result: Dict[str, Any] = client.request(method, params, timeout)
        except TimeoutError:
            raise EinlassError(0, "timeout", {}, LATE) from None
        return result

    def _started(self, timeout: float) -> Client:
        """Returns the running einlass. Starts it if there is none. A start that fails meanwhile is not repeated, because
        the requests that wait for it would then wait one after the other."""
        asked = time.monotonic()
        with self._lock:
            if self._client is None and asked < self._late[0]:
                raise EinlassError(0, "timeout", {}, self._late[1])
            if self._client is None:
                command = list(self._command or [find_einlass()])
                client = Client(command)
                try:
                    client.initialize(self.application, capabilities={"prompts": [], "changes": False}, timeout=timeout)
                except BaseException as error:
                    client.close()
                    if isinstance(error, TimeoutError):
                        message = f"{command[0]} did not answer within {timeout:g} s. The variable EINLASS names einlass itself."
                        self._late = time.monotonic(), message
                        raise EinlassError(0, "timeout", {}, message) from None
                    raise
                self._client = client
            return self._client
