"""The tokens of einlass in the requests of httpx and of httpx2, whose flows are the same."""

from __future__ import annotations

from typing import Any, AsyncGenerator, Generator, Optional

import anyio.to_thread

from .tokens import Token, TokenSource


class AuthFlow:
    """Adds a token to a request, and tries once more with a new one after a 401. The library itself removes the header
    from a redirect to another origin."""

    def __init__(self, application: str, source: Optional[TokenSource] = None) -> None:
        self.source = source or TokenSource(application)

    def sync_auth_flow(self, request: Any) -> Generator[Any, Any, None]:
        token = self._authorize(request)
        response = yield request
        if self._is_refused(response, token):
            self._renew(request, token)
            yield request

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        # einlass is asked in a thread, because the event loop must not wait for it.
        token = await anyio.to_thread.run_sync(self._authorize, request)
        response = yield request
        if self._is_refused(response, token):
            await anyio.to_thread.run_sync(self._renew, request, token)
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
