"""The tokens of einlass in the requests of httpx and of httpx2, whose flows are the same."""

from __future__ import annotations

import contextlib
from typing import Any, AsyncGenerator, Generator, Optional

import anyio.to_thread

from .tokens import Token, TokenSource


class Body:
    """The body of a request, before it is sent. A file is sent again from its present position."""

    def __init__(self, request: Any) -> None:
        source: Any = getattr(request.stream, "_stream", None)
        self._source = source
        self._files = [getattr(field, "file", b"") for field in getattr(request.stream, "fields", ())]  # of a form
        self._position: Any = None
        if all(hasattr(source, name) for name in ("tell", "__iter__")):  # not a file that is awaited
            with contextlib.suppress(OSError):
                self._position = source.tell()

    def rewind(self) -> bool:
        """Returns False for a body that can be read only once."""
        if self._position is not None:
            try:
                self._source.seek(self._position)
            except (AttributeError, OSError):
                return False
            return True
        if self._files:  # the library itself rewinds them
            return all(isinstance(file, (str, bytes)) or getattr(file, "seekable", bool)() for file in self._files)
        return isinstance(self._source, bytes)


class AuthFlow:
    """Adds a token to a request, and tries once more with a new one after a 401, unless the body can be read only once.
    The library itself removes the header from a redirect to another origin."""

    def __init__(self, application: str, source: Optional[TokenSource] = None) -> None:
        self.source = source or TokenSource(application)

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        token, body = self._authorize(request), Body(request)
        response = yield request
        if self._is_refused(response, token):
            self._renew(request, token)
            if body.rewind():
                yield request

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        # einlass is asked in a thread, because the event loop must not wait for it.
        token = await anyio.to_thread.run_sync(self._authorize, request)
        body = Body(request)
        response = yield request
        if self._is_refused(response, token):
            await anyio.to_thread.run_sync(self._renew, request, token)
            if body.rewind():
                yield request

    def _authorize(self, request: Any) -> Token:
        token = self.source.token(str(request.url))
        request.headers["Authorization"] = token.header
        return token

    def _renew(self, request: Any, token: Token) -> None:
        request.headers["Authorization"] = self.source.replaced(str(request.url), token).header

    @staticmethod
    def _is_refused(response: Any, token: Token) -> bool:
        # After a redirect to another origin the answer is not about this token.
        return bool(response.status_code == 401 and response.request.headers.get("Authorization") == token.header)
