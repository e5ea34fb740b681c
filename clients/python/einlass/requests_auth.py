"""Tokens of einlass for the library requests: requests.get(url, auth=EinlassAuth("my-script"))."""

from __future__ import annotations

from typing import Any

from requests.auth import AuthBase
from requests.exceptions import UnrewindableBodyError
from requests.utils import rewind_body

from .tokens import Token, TokenSource


class EinlassAuth(AuthBase):
    """Adds a token to a request, and tries once more with a new one after a 401, unless the body can be read only once.
    requests itself removes the header from a redirect to another host."""

    def __init__(self, application: str, source: TokenSource | None = None) -> None:
        self.source = source or TokenSource(application)

    def __call__(self, request: Any) -> Any:
        token = self.source.token(request.url)
        request.headers["Authorization"] = token.header
        request.register_hook("response", lambda response, **more: self._again(response, token, request.url, **more))
        return request

    def _again(self, response: Any, token: Token, url: str, **more: Any) -> Any:
        if response.status_code != 401 or response.request.headers.get("Authorization") != token.header:
            return response
        fresh = self.source.replaced(url, token)
        request = response.request.copy()
        if not isinstance(request.body, (str, bytes, type(None))):
            try:
                rewind_body(request)
            except UnrewindableBodyError:
                return response  # the next request has the new token
        response.content  # so that the connection can be used again
        response.close()
        request.headers["Authorization"] = fresh.header
        again = response.connection.send(request, **more)
        again.history.append(response)
        again.request = request
        return again
