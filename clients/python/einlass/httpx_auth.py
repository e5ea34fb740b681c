"""Tokens of einlass for the library httpx: httpx.get(url, auth=EinlassAuth("my-script"))."""

from __future__ import annotations

from typing import Any, Generator

import httpx

from .tokens import TokenSource


class EinlassAuth(httpx.Auth):
    """Adds a token to a request, and tries once more with a new one after a 401. httpx itself removes the header from a
    redirect to another origin."""

    def __init__(self, application: str, source: TokenSource | None = None) -> None:
        self.source = source or TokenSource(application)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, Any]:
        url = str(request.url)
        token = self.source.token(url)
        request.headers["Authorization"] = token.header
        response = yield request
        # After a redirect to another origin the answer is not about this token.
        if response.status_code == 401 and response.request.headers.get("Authorization") == token.header:
            self.source.reject(token)
            request.headers["Authorization"] = self.source.token(url).header
            yield request
