"""A backend of keyring, found by its entry point: pip, uv, twine and poetry get their tokens from einlass."""

from __future__ import annotations

import sys
import time
from typing import Optional
from urllib.parse import urlsplit

from keyring import backend, credentials, errors

from . import slow_answer
from .client import EinlassError
from .tokens import Token, TokenSource


class EinlassKeyring(backend.KeyringBackend):
    """Returns tokens for addresses that einlass knows, and nothing for others, so that the next backend is asked. It
    stores no password, because einlass keeps its tokens itself."""

    priority = 6  # type: ignore[assignment]

    def get_credential(self, service: str, username: Optional[str]) -> Optional[credentials.Credential]:
        token = self._token(service, username)
        return credentials.SimpleCredential(username or token.username or "oauth2", token.text) if token else None

    def get_password(self, service: str, username: str) -> Optional[str]:
        token = self._token(service, username)
        return token.text if token else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise errors.PasswordSetError("einlass keeps its tokens itself. Sign in with einlassctl sign-in.")

    def delete_password(self, service: str, username: str) -> None:
        raise errors.PasswordDeleteError("einlass keeps its tokens itself. Sign out with einlassctl accounts sign-out.")

    @staticmethod
    def _token(service: str, username: Optional[str]) -> Optional[Token]:
        # A service of keyring may be any text. Only addresses and host names are for einlass.
        if not (urlsplit(service).scheme in ("https", "http") or "." in service or ":" in service):
            return None
        account = None if username in (None, "", "oauth2", "__token__") else username
        former, begin = slow_answer.former(), time.monotonic()
        try:
            with TokenSource("keyring") as source:
                limit = slow_answer.SHORT_SECONDS if former else slow_answer.USUAL_SECONDS
                # pip asks for a host alone whatever its protocol is, so the person must have named it so.
                return source.token(service, account, limit, needs_service="://" not in service, is_login=True)
        except EinlassError as problem:
            message = former if former and problem.reason == "timeout" else problem.message
            if not former and time.monotonic() - begin > slow_answer.SLOW_SECONDS:
                slow_answer.note(message)
            if problem.data.get("detail") != "notServed":
                # pip and twine say only that there is no password.
                print(f"einlass: {message}", file=sys.stderr)
            return None
        except OSError:
            return None
