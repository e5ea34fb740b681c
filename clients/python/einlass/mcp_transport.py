"""The messages of the bridge: MCP on standard input and output to Streamable HTTP and back."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import ssl
import sys
from typing import Any, Dict, List, Optional

from .mcp_parts import stdio_server, streamable_http_client  # first, because it loads only parts of mcp

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import httpx2
from mcp.shared import inbound
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types.jsonrpc import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .auth_flow import AuthFlow
from .client import EinlassError
from .mcp_bridge import Accounts, Show, sign_in_helps
from .text import clean, say

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CONNECTING, READING = 30, 300  # seconds, as in the package mcp: a server may keep a stream open
GRACE = 5  # seconds for the answers after the end of the input
REST = 5  # seconds without a request after which einlass is closed
# RFC 9110 section 11.2, and RFC 6749 section 3.3.
PARAMETER = re.compile(r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
VALUE = re.compile(r"[\x21-\x7e]+")  # of a header


class Auth(AuthFlow, httpx2.Auth):
    """The tokens of einlass for httpx2."""


class Http(httpx2.AsyncClient):
    """Sends requests with tokens. A problem becomes an answer with an error of JSON-RPC, which has the next step."""

    def __init__(self, accounts: Accounts) -> None:
        # Plain http stays on this machine. It needs no authorities, whose loading takes a tenth of the start.
        verify = accounts.options.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        super().__init__(auth=Auth(accounts.application, accounts), verify=verify,
                         timeout=httpx2.Timeout(CONNECTING, read=READING))
        self.accounts = accounts
        self.signs_in = accounts.options.sign_in
        self.show: Optional[Show] = None
        self.sign_ins = 0
        self.signing_in = anyio.Lock()
        self.active = 0
        self.used = anyio.Event()
        self.used.set()  # einlass runs already

    async def rest(self) -> None:
        """Closes einlass after a while without requests, because most bridges of a client wait most of the time."""
        while True:
            await self.used.wait()
            while self.active or self.used.is_set():
                self.used = anyio.Event()
                await anyio.sleep(REST)
            await anyio.to_thread.run_sync(self.accounts.close)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        before = self.sign_ins
        try:
            try:
                return await self._send(request, options)
            except EinlassError as problem:
                # The stream for notifications is no reason for a page. A message without an answer holds up the next ones,
                # so the client's answer to a question would not be read.
                if (not self.signs_in or request.method != "POST" or not sign_in_helps(problem)
                        or self.show and not is_asking(request)):
                    raise
                await self._sign_in(problem, before)
                return await self._send(request, options)
        except EinlassError as problem:
            return refusal(request, problem)

    async def _send(self, request: httpx2.Request, options: Dict[str, Any]) -> httpx2.Response:
        self.active += 1
        self.used.set()
        try:
            response = await super().send(request, **options)
            if response.headers.get("content-type", "").startswith("application/json"):
                await response.aread()
        except httpx2.TransportError as error:
            # Only the name, because the text may have the header with the token.
            message = f"{request.url.host} cannot be reached ({type(error).__name__})."
            raise self.accounts.with_next_step(EinlassError(0, "networkFailure", {}, message)) from None
        finally:
            self.active -= 1
        if problem := self._problem(response):
            await response.aclose()
            raise problem
        return response

    def _problem(self, response: httpx2.Response) -> Optional[EinlassError]:
        """Returns the problem of a refusal that another token solves."""
        host = response.request.url.host
        if response.status_code == 401:
            problem = EinlassError(0, "reloginNeeded", {}, f"{host} refuses each token of this account.")
            return self.accounts.with_next_step(problem)
        scopes = missing_scopes(response) if response.status_code == 403 else None
        if scopes is None:
            return None
        named = f"the scope {' '.join(scopes)}" if scopes else "a scope that it does not name"
        problem = EinlassError(0, "reloginNeeded", {"detail": " ".join(scopes)}, f"{host} wants {named} for this.")
        return self.accounts.with_next_step(problem, scopes or ["SCOPE"])

    async def _sign_in(self, problem: EinlassError, before: int) -> None:
        """Signs in once for all requests that wait for it. No page opens after a sign-in that has failed."""
        async with self.signing_in:
            if self.sign_ins != before:
                return
            if not self.signs_in:
                raise problem
            scopes = str(problem.data.get("detail") or "").split() if problem.code == 0 else []
            try:
                await anyio.to_thread.run_sync(self.accounts.sign_in, scopes, self.show, abandon_on_cancel=True)
            except EinlassError:
                self.signs_in = False
                raise
            self.sign_ins += 1


def missing_scopes(response: httpx2.Response) -> Optional[List[str]]:
    """Returns the scopes of a challenge `insufficient_scope` (RFC 6750 section 3.1); None without one."""
    header = ", ".join(response.headers.get_list("www-authenticate"))
    words = {name.lower(): quoted or plain for name, quoted, plain in PARAMETER.findall(header)}
    return SCOPE.findall(words.get("scope", "")) if words.get("error") == "insufficient_scope" else None


def refusal(request: httpx2.Request, problem: EinlassError) -> httpx2.Response:
    """Returns an answer with the problem. The transport gives it the id of its request."""
    data = {name: problem.data[name] for name in ("serverError",) if name in problem.data}
    error = {"code": problem.code or -32000, "message": clean(problem.message), "data": {"reason": problem.reason, **data}}
    status = 502 if problem.reason == "networkFailure" else 401
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)


def is_asking(request: httpx2.Request) -> bool:
    """Whether the message is a request of JSON-RPC."""
    message = an_object(json.loads(request.content))
    return "id" in message and "method" in message


def headed(value: Any) -> Optional[str]:
    """Returns a text that can be the value of a header; None for anything else."""
    return value if isinstance(value, str) and VALUE.fullmatch(value) else None


def an_object(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


class Headers:
    """The headers that repeat parts of a message for Streamable HTTP. A client on standard input sends none. A part
    that has not the shape of MCP gives none."""

    def __init__(self) -> None:
        self.version: Optional[str] = None  # of `initialize`
        self.asked: Dict[Any, str] = {}  # methods of the unanswered requests
        self.parameters: Dict[str, Any] = {}  # by tool

    def of(self, message: Any) -> Dict[str, str]:
        """Returns the headers of a message from the client."""
        method, params = headed(getattr(message, "method", None)), an_object(getattr(message, "params", None))
        if isinstance(message, JSONRPCRequest):
            self.asked[message.id] = message.method
        version = headed(an_object(params.get("_meta")).get(VERSION_KEY))
        if method is None or method == "initialize" or version not in MODERN_PROTOCOL_VERSIONS:
            known = version or self.version
            return {inbound.MCP_PROTOCOL_VERSION_HEADER: known} if known and method != "initialize" else {}
        headers = {inbound.MCP_PROTOCOL_VERSION_HEADER: version, inbound.MCP_METHOD_HEADER: method}
        name = params.get(inbound.NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[inbound.MCP_NAME_HEADER] = inbound.encode_header_value(name)
            if method == "tools/call" and name in self.parameters:
                headers.update(inbound.mcp_param_headers(self.parameters[name], an_object(params.get("arguments"))))
        return headers

    def learn(self, message: Any) -> None:
        """Notes the version and the tools of an answer from the server."""
        method = self.asked.get(getattr(message, "id", None)) if not hasattr(message, "method") else None
        if not isinstance(message, JSONRPCResponse):
            return
        if method == "initialize":
            self.version = headed(message.result.get("protocolVersion"))
        tools = message.result.get("tools") if method == "tools/list" else None
        for tool in map(an_object, tools if isinstance(tools, list) else []):
            name, schema = tool.get("name"), tool.get("inputSchema")
            if isinstance(name, str) and inbound.find_invalid_x_mcp_header(schema) is None:
                self.parameters[name] = inbound.x_mcp_header_map(schema)


class Elicitation:
    """Has the client show the page of a sign-in, if it declares that it can: elicitation in URL mode, MCP 2025-11-25."""

    def __init__(self, to_client: Any, http: Http) -> None:
        self.to_client, self.http = to_client, http
        self.token = anyio.lowlevel.current_token()
        self.is_declared = False
        self.asked: Dict[str, anyio.Event] = {}
        self.accepted: Dict[str, bool] = {}

    async def takes(self, message: Any) -> bool:
        """Whether this message of the client answers a question of the bridge."""
        method = getattr(message, "method", None)
        if method == "initialize":
            capabilities = an_object(an_object(getattr(message, "params", None)).get("capabilities"))
            self.is_declared = isinstance(an_object(capabilities.get("elicitation")).get("url"), dict)
        # The client takes no question before.
        elif method == "notifications/initialized" and self.is_declared and not self.http.signs_in:
            self.http.signs_in, self.http.show = True, self.show
        identifier = str(getattr(message, "id", None))
        if method or identifier not in self.asked:
            return False
        self.accepted[identifier] = an_object(getattr(message, "result", None)).get("action") == "accept"
        self.asked.pop(identifier).set()
        return True

    def show(self, address: str, words: str) -> bool:
        """Asks the client, from another thread."""
        return bool(anyio.from_thread.run(self._ask, address, words, token=self.token))

    async def _ask(self, address: str, words: str) -> bool:
        identifier = f"einlass-{secrets.token_hex(16)}"
        event = self.asked[identifier] = anyio.Event()
        params = {"mode": "url", "elicitationId": identifier, "url": address, "message": words}
        await self.to_client.send(SessionMessage(
            JSONRPCRequest(jsonrpc="2.0", id=identifier, method="elicitation/create", params=params)))
        await event.wait()
        return self.accepted.pop(identifier)


async def bridge(accounts: Accounts) -> None:
    """Passes the messages on until the client's end of input."""
    headers = Headers()

    async def down() -> None:
        async for message in from_server:
            if isinstance(message, Exception):
                say(f"problem: {clean(message)}")
                continue
            headers.learn(message.message)
            await to_client.send(message)
            # Not before it is sent, because the end of the input ends this task when no request is unanswered.
            if not hasattr(message.message, "method"):
                headers.asked.pop(getattr(message.message, "id", None), None)

    async with stdio_server() as (from_client, to_client), to_client:
        try:
            url = accounts.options.url
            async with (Http(accounts) as http,
                        streamable_http_client(url, http_client=http) as (from_server, to_server),
                        anyio.create_task_group() as tasks):
                tasks.start_soon(down)
                tasks.start_soon(http.rest)
                elicitation = Elicitation(to_client, http)
                async for message in from_client:
                    if isinstance(message, Exception):
                        error = ErrorData(code=PARSE_ERROR, message="This line is no message of JSON-RPC.")
                        await to_client.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
                        continue
                    if await elicitation.takes(message.message):
                        continue
                    metadata = ClientMessageMetadata(headers=headers.of(message.message))
                    await to_server.send(SessionMessage(message.message, metadata))
                with anyio.move_on_after(GRACE):
                    while headers.asked:
                        await anyio.sleep(0.02)
                tasks.cancel_scope.cancel()
        except Exception as failure:
            cause: Any = failure
            while getattr(cause, "exceptions", None):  # of an exception group
                cause = cause.exceptions[0]
            say(f"problem: The bridge has failed ({type(cause).__name__}).")
            accounts.close()
            os._exit(1)  # because a thread waits for the client's next line


def serve(accounts: Accounts) -> int:
    """Runs the bridge. Returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input could not be interrupted
    anyio.run(bridge, accounts)
    accounts.close()
    sys.stderr.flush()
    os._exit(0)  # because a sign-in may still wait for the person in a thread
