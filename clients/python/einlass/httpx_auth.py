"""Tokens of einlass for the library httpx: httpx.get(url, auth=EinlassAuth("my-script"))."""

from __future__ import annotations

import httpx

from .auth_flow import AuthFlow


class EinlassAuth(AuthFlow, httpx.Auth):
    """Adds a token to a request, and tries once more with a new one after a 401. httpx itself removes the header from a
    redirect to another origin."""
