"""Tokens of einlass for the library httpx: httpx.get(url, auth=EinlassAuth("my-script"))."""

from __future__ import annotations

from typing import AsyncGenerator, Generator

import anyio.to_thread
import httpx

from .tokens import Token, TokenSource


class EinlassAuth(httpx.Auth):
    """Adds a token to a request, and tries once more with a new one after a 401. httpx itself removes the header from a
    redirect to another origin."""

    def __init__(self, application: str, source: TokenSource | None = None) -> None:
        self.source = source or TokenSource(application)

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        token = self._authorize(request)
        response = yield request
        if self._is_refused(response, token):
            self._renew(request, token)
            yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        # einlass is asked in a thread, because the event loop must not wait for it.
        token = await anyio.to_thread.run_sync(self._authorize, request)
        response = yield request
        if self._is_refused(response, token):
            await anyio.to_thread.run_sync(self._renew, request, token)
            yield request

    def _authorize(self, request: httpx.Request) -> Token:
        token = self.source.token(str(request.url))
        request.headers["Authorization"] = token.header
        return token

    def _renew(self, request: httpx.Request, token: Token) -> None:
        self.source.reject(token)
        self._authorize(request)

    @staticmethod
    def _is_refused(response: httpx.Response, token: Token) -> bool:
        # After a redirect to another origin the answer is not about this token.
        return response.status_code == 401 and response.request.headers.get("Authorization") == token.header
