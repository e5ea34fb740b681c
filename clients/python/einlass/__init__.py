"""A client of einlass, the headless sign-in server. Start with `Client`."""

from .client import Answer, Call, Client, EinlassError, ServerGone

__all__ = ["Answer", "Call", "Client", "EinlassError", "ServerGone"]
