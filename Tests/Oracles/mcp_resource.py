"""A protected MCP server with an authorization server that takes client ID metadata documents: fastmcp.

    pip install -r requirements.txt -r ../Integrations/requirements.txt
    python mcp_resource.py PORT AUTHORITY [plain]        (0 = any)

fastmcp's proxy of OAuth shows its own page, registers clients, reads metadata documents and issues the tokens. The
provider behind the proxy is in this file: it grants what it is asked for. With `plain` the proxy takes no documents.

fastmcp reads no document from a private address, and none of a private authority. Here it reads documents from
loopback addresses too, because `is_ip_allowed` is replaced, and trusts the file AUTHORITY (PEM).

`POST /__expire` ends all tokens of the provider. `POST /__require?scope=…` changes the scope that a request needs.
GET /__log has the registrations, pages and token requests so far, with their client and scopes. `POST /__reset` empties
the log and requires the first scope again. SIGTERM ends the program.
"""
import ipaddress
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading

AUTHORITY, IS_PLAIN = sys.argv[2], sys.argv[3:] == ["plain"]
os.environ["SSL_CERT_FILE"] = AUTHORITY

import uvicorn  # noqa: E402
from fastmcp import FastMCP  # noqa: E402
from fastmcp.server.auth import AccessToken, TokenVerifier, ssrf  # noqa: E402
from fastmcp.server.auth.oauth_proxy import OAuthProxy  # noqa: E402
from fastmcp.server.dependencies import get_access_token  # noqa: E402
from key_value.aio.stores.memory import MemoryStore  # noqa: E402
from starlette.responses import JSONResponse, RedirectResponse, Response  # noqa: E402

LIFETIME = 600
LOG, CODES, TOKENS, REFRESH_TOKENS = [], {}, {}, {}
REQUIRED = ["photos"]
PUBLIC = ssrf.is_ip_allowed
ssrf.is_ip_allowed = lambda text: ipaddress.ip_address(text).is_loopback or PUBLIC(text)


class Verifier(TokenVerifier):
    """Asks the provider behind the proxy."""

    async def verify_token(self, token):
        if token not in TOKENS:
            return None
        return AccessToken(token=token, client_id="proxy", scopes=TOKENS[token], claims={"scopes": TOKENS[token]})


class Proxy(OAuthProxy):
    """fastmcp's proxy, with a log."""

    async def register_client(self, client_info):
        LOG.append({"kind": "registration", "client": client_info.client_id})
        await super().register_client(client_info)

    async def authorize(self, client, params):
        LOG.append({"kind": "page", "client": client.client_id, "scopes": params.scopes, "resource": params.resource})
        return await super().authorize(client, params)

    async def exchange_authorization_code(self, client, authorization_code):
        LOG.append({"kind": "code", "client": client.client_id, "scopes": authorization_code.scopes})
        return await super().exchange_authorization_code(client, authorization_code)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        LOG.append({"kind": "refresh", "client": client.client_id, "scopes": scopes})
        return await super().exchange_refresh_token(client, refresh_token, scopes)


def make(base):
    proxy = Proxy(
        upstream_authorization_endpoint=base + "/provider/authorize", upstream_token_endpoint=base + "/provider/token",
        upstream_client_id="proxy", upstream_client_secret=secrets.token_urlsafe(), base_url=base,
        token_verifier=Verifier(required_scopes=REQUIRED), valid_scopes=["photos", "albums"],
        client_storage=MemoryStore(), enable_cimd=not IS_PLAIN)
    photos = FastMCP("photos", auth=proxy)

    @photos.tool
    def scopes() -> list[str]:
        return get_access_token().claims["scopes"]

    @photos.custom_route("/provider/authorize", methods=["GET"])
    async def authorize(request):
        code = secrets.token_urlsafe()
        CODES[code] = request.query_params.get("scope", "").split()
        query = f"?code={code}&state={request.query_params['state']}"
        return RedirectResponse(request.query_params["redirect_uri"] + query)

    @photos.custom_route("/provider/token", methods=["POST"])
    async def token(request):
        form = await request.form()
        held = CODES.pop(form["code"], None) if "code" in form else REFRESH_TOKENS.pop(form["refresh_token"], None)
        if held is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        TOKENS[access] = REFRESH_TOKENS[refresh] = held
        return JSONResponse({"access_token": access, "refresh_token": refresh, "token_type": "Bearer",
                             "expires_in": LIFETIME, "scope": " ".join(held)})

    @photos.custom_route("/__expire", methods=["POST"])
    async def expire(request):
        TOKENS.clear()
        return Response()

    @photos.custom_route("/__require", methods=["POST"])
    async def require(request):
        REQUIRED[:] = request.query_params["scope"].split()
        return Response()

    @photos.custom_route("/__reset", methods=["POST"])
    async def reset(request):
        LOG.clear()
        REQUIRED[:] = ["photos"]
        return Response()

    @photos.custom_route("/__log", methods=["GET"])
    async def log(request):
        return JSONResponse(LOG)

    return photos.http_app()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(make(base), log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        print(json.dumps({"base": base, "resource": base + "/mcp", "lifetime": LIFETIME}), flush=True)
        signal.sigwait({signal.SIGTERM})
        server.should_exit = True
        thread.join()
