"""An MCP server that takes the assertions of an issuer: the authorization server of mcp, the checks of fastmcp.

    pip install -r requirements.txt
    python assertion_server.py PORT ISSUER        (0 = any)

GET /mcp is the protected resource: it answers the subject and the scopes of the token. POST /__behaviour with
{"accessSeconds": N} sets the lifetime of tokens. GET /__log answers method, path and status of each request.
"""
import json
import secrets
import signal
import socket
import sys
import threading
import time

import uvicorn
from fastmcp.server.auth.identity_assertion import IdentityAssertion, IdentityAssertionError, IdentityAssertionValidator
from mcp.server.auth.provider import OAuthAuthorizationServerProvider, TokenError
from mcp.server.auth.routes import create_auth_routes, create_protected_resource_routes
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

CLIENT, SECRET = "mcp-editor", "mcp-editor-secret"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LOG, SETTINGS = [], {"accessSeconds": 3600}


class Provider(OAuthAuthorizationServerProvider):
    """Issues tokens for the subjects of valid assertions."""

    def __init__(self, validator, resource):
        self.validator, self.resource, self.tokens = validator, resource, {}

    async def get_client(self, client_id):
        if client_id == CLIENT:
            return OAuthClientInformationFull(
                client_id=CLIENT, client_secret=SECRET, redirect_uris=["http://127.0.0.1/callback"], grant_types=[GRANT],
                token_endpoint_auth_method="client_secret_post")

    async def exchange_identity_assertion(self, client, params):
        try:
            claims = await self.validator.validate(
                params.assertion, client_id=client.client_id, resource_url=self.resource)
        except IdentityAssertionError as fault:
            raise TokenError("invalid_grant", str(fault)) from fault
        token = secrets.token_urlsafe(24)
        self.tokens[token] = (claims["sub"], claims.get("scope", ""), time.time() + SETTINGS["accessSeconds"])
        return OAuthToken(access_token=token, token_type="Bearer", expires_in=SETTINGS["accessSeconds"],
                          scope=claims.get("scope", ""))


def application(base, issuer):
    resource, own = base + "/mcp", AnyHttpUrl(base)
    provider = Provider(IdentityAssertionValidator(
        IdentityAssertion(trusted_issuers=[issuer], algorithm="ES256"), str(own)), resource)

    async def answer(request):
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        subject, scope, end = provider.tokens.get(token, (None, None, 0))
        if end <= time.time():
            described = f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"'
            return JSONResponse({"error": "invalid_token"}, 401, {"WWW-Authenticate": described})
        return JSONResponse({"subject": subject, "scope": scope})

    async def behave(request):
        SETTINGS.update(await request.json())
        return JSONResponse({})

    async def log(request):
        return JSONResponse(LOG)

    return Starlette(routes=[
        *create_auth_routes(provider, own, identity_assertion_enabled=True),
        *create_protected_resource_routes(AnyHttpUrl(resource), [own]),
        Route("/mcp", answer), Route("/__behaviour", behave, methods=["POST"]), Route("/__log", log)])


def logged(app):
    async def run(scope, receive, send):
        async def note(message):
            if message["type"] == "http.response.start" and not scope["path"].startswith("/__"):
                LOG.append({"method": scope["method"], "path": scope["path"], "status": message["status"]})
            await send(message)
        await app(scope, receive, note if scope["type"] == "http" else send)
    return run


if __name__ == "__main__":
    place = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    base = "http://127.0.0.1:%d" % place.getsockname()[1]
    # uvicorn takes over the signals of the main thread only.
    server = uvicorn.Server(uvicorn.Config(logged(application(base, sys.argv[2])), log_level="error", lifespan="off"))
    threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"base": base, "log": base + "/__log", "issuer": base + "/", "resource": base + "/mcp",
                      "client": CLIENT, "secret": SECRET}), flush=True)
    while True:
        signal.pause()
