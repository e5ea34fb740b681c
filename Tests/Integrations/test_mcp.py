"""A client of MCP with the headers of `einlassctl credential headers`, at a server that checks each token.

    python -m pytest Tests/Integrations/test_mcp.py
"""
import asyncio
import contextlib
import json
import shlex
import socket
import threading
import time

import httpx2
import pytest
import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.dependencies import get_access_token
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from recipes import commands
from troubles import TROUBLES, trouble


@pytest.fixture
def server(house):
    """The address of an MCP server for gitlab's accounts, which is a service."""
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    with open_server(house) as address:
        house.do("services", "add", address, "gitlab/ada", "--yes")
        yield address


@contextlib.contextmanager
def open_server(house):
    """Starts a server of fastmcp with one tool, which asks the sandbox about each token."""
    registration = house.ready["config"]["applications"]["*"]["gitlab"]
    verifier = IntrospectionTokenVerifier(
        introspection_url=house.origin("gitlab") + "/oauth/introspect", client_id=registration["clientId"],
        client_secret=registration["clientSecret"])
    photos = FastMCP("photos", auth=verifier)

    @photos.tool
    def owner() -> str:
        return get_access_token().claims["username"]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(photos.http_app(), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


class Headers(httpx2.Auth):
    """The headers of the helper. It runs for the first request and again after a 401, as in Claude Code."""

    def __init__(self, house, address):
        (line,) = commands("MCP clients", ("https://photos.example.com/mcp", address))
        self.house, self.command, self.headers = house, shlex.split(line), None
        self.runs, self.refused = 0, 0

    def run(self):
        self.runs += 1
        # House.run allows ten seconds.
        code, output, errors = self.house.run(*self.command)
        if code != 0:
            raise NoHeaders(output + errors)
        self.headers = json.loads(output)

    def auth_flow(self, request):
        if self.headers is None:
            self.run()
        request.headers.update(self.headers)
        response = yield request
        if response.status_code == 401:
            self.refused += 1
            self.run()
            request.headers.update(self.headers)
            yield request

    @property
    def token(self):
        return self.headers["Authorization"].removeprefix("Bearer ")


class NoHeaders(Exception):
    pass


def ask(address, headers, between=None):
    """Calls the tool of the server with a client of the mcp package, and again after `between`."""

    async def talk():
        async with httpx2.AsyncClient(auth=headers) as http, streamable_http_client(address, http_client=http) as (reading, writing):
            async with ClientSession(reading, writing) as session:
                await session.initialize()
                answer = await session.call_tool("owner", {})
                if between:
                    between()
                    answer = await session.call_tool("owner", {})
                return answer.content[0].text

    return asyncio.run(asyncio.wait_for(talk(), 30))


def test_a_tool_knows_the_owner_of_the_token(house, server):
    headers = Headers(house, server)
    assert ask(server, headers) == "ada"
    assert (headers.runs, headers.refused) == (1, 0)


def test_a_token_that_ends_is_replaced_after_the_401(house, server):
    house.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    house.do("reject", server, "--for", "mcp")
    headers = Headers(house, server)

    def end():
        house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
        ends = house.state()["gitlab"]["tokens"][headers.token]["expiresAt"]
        time.sleep(max(0, ends - time.time()))

    assert ask(server, headers, end) == "ada"
    # On a slow machine the token ends before, too.
    assert headers.refused >= 1 and headers.runs == headers.refused + 1


def test_a_revoked_token_is_replaced_after_a_reject(house, server):
    headers = Headers(house, server)

    def revoke():
        house.change({"gitlab": {"tokens": {headers.token: None}}})

    with pytest.raises(Exception) as caught:
        ask(server, headers, revoke)
    assert "Server returned an error response" in repr(caught.value)
    assert headers.refused >= 1 and headers.runs == headers.refused + 1
    house.do("reject", server, "--for", "mcp")
    assert ask(server, Headers(house, server)) == "ada"


@pytest.mark.parametrize("state", TROUBLES)
def test_without_a_token_the_helper_shows_the_sentence(house, server, state):
    with trouble(state, house, "mcp") as sentence, pytest.raises(Exception) as caught:
        ask(server, Headers(house, server))
    assert "NoHeaders('einlassctl: " in repr(caught.value) and sentence in repr(caught.value)
