"""The bridge `python -m einlass mcp` between clients of the package mcp and servers of fastmcp.

    python -m pytest Tests/Integrations/test_mcp_bridge.py
    EINLASS_FAULT_ROUNDS=20 python -m pytest Tests/Integrations/test_mcp_bridge.py -k twenty
"""
import asyncio
import contextlib
import itertools
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

from house import EINLASS, PROJECT, open_gate, token_of
from programs import install_library, mcp_server
from recipes import filled

sys.path.append(str(PROJECT / "Tests/Oracles"))
from servers import running, tell  # noqa: E402

LIBRARY = str(PROJECT / "clients/python")
# The module webbrowser asks for a desktop, and takes the browser of the test.
ENVIRONMENT = {"PYTHONPATH": LIBRARY, "DISPLAY": ":none", "BROWSER": "xdg-open"}
PATIENCE = 120  # seconds; turns a hang into a failure
ROUNDS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "3"))


class Bridges:
    """Bridges of a house to a server. Everything that they say is in the folder `said`."""

    def __init__(self, house, address, name="said"):
        self.house, self.address = house, address
        self.said = house.folder / name
        self.said.mkdir()
        self.count = 0

    def command(self, *options, **environment):
        """Returns what starts a bridge for stdio_client, and the path of its standard error."""
        self.count += 1
        out = self.said / f"{self.count}.out"
        command = [sys.executable, "-m", "einlass", "mcp", self.address, *options]
        return StdioServerParameters(
            command="sh", args=["-c", '"$@" | tee "$0"', str(out), *command], cwd=self.house.folder / "work",
            env={**self.house.environment, **ENVIRONMENT, **environment}), out.with_suffix(".err")

    @contextlib.asynccontextmanager
    async def __call__(self, *options, elicitation_callback=None):
        """Starts a bridge and yields the session of a client of it."""
        command, errors = self.command(*options)
        with errors.open("w") as log:
            async with (stdio_client(command, errlog=log) as (reading, writing),
                        ClientSession(reading, writing, elicitation_callback=elicitation_callback) as session):
                yield session

    def everything_said(self):
        return "".join(path.read_text() for path in self.said.iterdir())

    def on_terminal(self, *words):
        """Runs this command on a terminal, as a person whose browser allows everything. Returns its output."""
        with self.house.on_terminal(*words, **ENVIRONMENT) as terminal:
            assert terminal.end() == 0, terminal.shown
            (self.said / f"terminal-{self.count}-{time.monotonic_ns()}").write_text(terminal.shown)
            return terminal.shown


def command_in(failure):
    """Returns the command that an error names, as words."""
    return shlex.split(str(failure.value).partition("Run on a terminal: ")[2])


async def call(session, tool="owner"):
    answer = await session.call_tool(tool, {})
    assert not answer.is_error, answer
    return answer.content[0].text


def run(work, patience=PATIENCE):
    try:
        return asyncio.run(asyncio.wait_for(work, patience))
    except BaseExceptionGroup as group:
        # pytest shows ten nested groups at most, and twenty sessions nest sixty.
        cause = group
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        raise cause from None


# A service with accounts of gitlab, at the sandbox. A refresh replaces the refresh token there, and the use of a former
# one ends them all.

@pytest.fixture
def bridges(house):
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    with mcp_server(house.origin("gitlab"), house.ready["config"]["applications"]["*"]["gitlab"]) as address:
        house.do("services", "add", address, "gitlab/ada", "--yes")
        made = Bridges(house, address)
        yield made
        state = house.state()["gitlab"]
        secrets, said = [*state["tokens"], *state["refreshTokens"]], made.everything_said()
        assert secrets and '"jsonrpc"' in said
        assert not [secret for secret in secrets if secret in said]


def current(house):
    """Returns the token of the sandbox that was issued last."""
    tokens = house.state()["gitlab"]["tokens"]
    return max(tokens, key=lambda token: (tokens[token]["issuedAt"], list(tokens).index(token)))


def change_tokens(house, **change):
    house.change({"gitlab": {"tokens": {token: change for token in house.state()["gitlab"]["tokens"]}}})


def token_requests(house):
    return house.count("gitlab", "POST", "/oauth/token")


def test_a_client_reaches_the_server(bridges):
    async def talk():
        async with bridges() as session:
            await session.initialize()
            assert [tool.name for tool in (await session.list_tools()).tools] == ["owner", "place"]
            assert await call(session) == "ada"

    run(talk())


def test_a_client_of_the_stateless_protocol_reaches_the_server(bridges):
    async def talk():
        command, errors = bridges.command()
        with errors.open("w") as log:
            async with Client(stdio_client(command, errlog=log)) as client:
                assert client.protocol_version == "2026-07-28"
                assert await call(client) == "ada"
                await client.list_tools()
                # The server refuses the call without the header that repeats the argument.
                answer = await client.call_tool("place", {"name": "Zürich"})
                assert not answer.is_error and answer.content[0].text == "Zürich"

    run(talk())


def test_an_expired_and_a_revoked_token_are_replaced(bridges, house):
    house.change({"gitlab": {"behaviour": {"accessSeconds": 2}}})
    house.do("reject", bridges.address, "--for", "mcp")

    async def talk():
        async with bridges() as session:
            await session.initialize()
            first = token_requests(house)
            house.change({"gitlab": {"behaviour": {"accessSeconds": 7200}}})
            await asyncio.sleep(3)
            assert await call(session) == "ada"  # the store knows that the former token has expired
            assert token_requests(house) == first + 1
            change_tokens(house, revoked=True)
            assert await call(session) == "ada"  # only the server knows that this one is revoked
            assert token_requests(house) == first + 2

    run(talk())


def test_a_lost_sign_in_is_an_error_with_the_command_that_mends_it(bridges, house):
    async def talk():
        async with bridges() as session:
            await session.initialize()
            revoke_all()
            with pytest.raises(MCPError) as failure:
                await call(session)
            assert failure.value.error.data == {"reason": "reloginNeeded"}
            house.change({"gitlab": {"behaviour": {"consent": "allow"}}})
            await asyncio.to_thread(bridges.on_terminal, *command_in(failure))
            assert await call(session) == "ada"

    def revoke_all():
        change_tokens(house, revoked=True)
        names = house.state()["gitlab"]["refreshTokens"]
        house.change({"gitlab": {"refreshTokens": {name: {"revoked": True} for name in names}}})

    run(talk())


def test_missing_access_is_an_error_with_the_command_that_grants_it(bridges, house):
    house.do("access", "reset", "mcp", "gitlab")

    async def talk():
        async with bridges() as session:
            with pytest.raises(MCPError, match="einlassctl access set mcp gitlab granted") as failure:
                await session.initialize()
            assert failure.value.error.data == {"reason": "accessNotGranted"}
            house.allow("mcp", "gitlab")
            await session.initialize()
            assert await call(session) == "ada"

    run(talk())


def test_a_missing_scope_at_a_service_is_an_error_with_the_command_that_widens(house):
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    wanted = ["api"]

    def answer(request, body):
        scopes = house.state()["gitlab"]["tokens"][token_of(request.headers["Authorization"])[1]]["scopes"]
        if not set(wanted) <= set(scopes):
            challenge = f'Bearer realm="mcp", error="insufficient_scope", scope="{" ".join(wanted)}"'
            return 403, {"WWW-Authenticate": challenge}, b""
        pong = {"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": {}}
        return 200, {"Content-Type": "application/json"}, json.dumps(pong).encode()

    async def talk(address):
        bridges = Bridges(house, address)
        async with bridges() as session:
            with pytest.raises(MCPError, match="--scope=api") as failure:
                await session.send_ping()
            assert failure.value.error.data == {"reason": "reloginNeeded"}
            await asyncio.to_thread(bridges.on_terminal, *command_in(failure))
            assert house.state()["gitlab"]["tokens"][current(house)]["scopes"] == ["read_user", "api"]
            await session.send_ping()
            wanted[:] = ["$(touch x)", "-y"]  # the server chooses this text
            with pytest.raises(MCPError) as failure:
                await session.send_ping()
            assert command_in(failure)[-4:-1] == ["--scope=$(touch", "--scope=x)", "--scope=-y"]

    with open_gate(house.origin("gitlab") + "/api/v4/user", answer) as gate:
        house.do("services", "add", gate.address, "gitlab/ada", "--yes")
        run(talk(gate.address))


def test_a_missing_einlass_is_an_error(bridges, house):
    async def talk():
        command, errors = bridges.command(EINLASS="/nowhere/einlass")
        with errors.open("w") as log:
            async with (stdio_client(command, errlog=log) as (reading, writing),
                        ClientSession(reading, writing) as session):
                with pytest.raises(MCPError, match="EINLASS names /nowhere/einlass, which is no program"):
                    await session.initialize()

    run(talk())


def processes_of_einlass(process=None):
    """Returns the processes of einlass that this process has started, itself or by others."""
    found = []
    for path in Path(f"/proc/{process or os.getpid()}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended
            for child in path.read_text().split():
                found += processes_of_einlass(child)
                if os.readlink(f"/proc/{child}/exe") == os.path.realpath(EINLASS):
                    found.append(int(child))
    return found


def test_a_lost_einlass_is_started_again_and_an_idle_one_is_closed(bridges):
    async def talk():
        async with bridges() as session:
            await session.initialize()
            (einlass,) = processes_of_einlass()
            os.kill(einlass, signal.SIGKILL)
            assert await call(session) == "ada"
            (einlass,) = processes_of_einlass()
            while processes_of_einlass():
                await asyncio.sleep(0.1)
            assert await call(session) == "ada"

    run(talk())


def test_a_token_that_two_programs_were_refused_with_is_replaced_once(bridges, house):
    code = f"""
from einlass.tokens import TokenSource
address = {bridges.address!r}
with TokenSource("mcp") as first, TokenSource("mcp") as second:
    refused = first.token(address)
    assert second.token(address) == refused
    replaced = first.replaced(address, refused)
    assert replaced != refused and second.replaced(address, refused) == replaced
    # The control: credentials.reject alone names no token, so it costs the new one.
    second.reject(refused)
    assert second.token(address) != replaced
"""
    before = token_requests(house)
    assert house.run(sys.executable, "-c", code, env=ENVIRONMENT, patience=PATIENCE) == (0, "", "")
    assert token_requests(house) == before + 2
    (bridges.said / "none").write_text('"jsonrpc"')


def test_an_unreachable_server_is_an_error_for_the_request_alone(house):
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    house.do("services", "add", address, "gitlab/ada", "--yes")

    async def talk():
        async with Bridges(house, address)() as session:
            for _ in range(2):
                with pytest.raises(MCPError, match="127.0.0.1 cannot be reached") as failure:
                    await session.initialize()
                assert failure.value.error.data == {"reason": "networkFailure"}

    run(talk())


def test_twenty_bridges_share_one_token_request_for_a_revoked_token(bridges, house):
    def requests():
        return [entry["number"] for entry in house.log("gitlab", "POST", "/oauth/token")]

    async def talk():
        async with contextlib.AsyncExitStack() as stack:
            sessions = [await stack.enter_async_context(bridges()) for _ in range(20)]
            await asyncio.gather(*(session.initialize() for session in sessions))
            for number in range(ROUNDS):
                # By their numbers, because the log keeps only the newest requests.
                last = max(requests(), default=0)
                change_tokens(house, revoked=True)
                assert await asyncio.gather(*map(call, sessions)) == ["ada"] * 20
                assert sum(request > last for request in requests()) == 1, number

    def is_signed_out():
        return any(family.get("revoked") for family in house.state()["gitlab"]["families"].values())

    run(talk(), PATIENCE * 3 + ROUNDS * 30)
    assert not is_signed_out()
    assert json.loads(house.do("accounts", "list", "--json"))["accounts"][0]["health"] == "ok"
    # The control: the use of a former refresh token signs out.
    former = next(name for name, token in house.state()["gitlab"]["refreshTokens"].items() if token.get("used"))
    registration = house.ready["config"]["applications"]["*"]["gitlab"]
    form = {"grant_type": "refresh_token", "refresh_token": former, "client_id": registration["clientId"],
            "client_secret": registration["clientSecret"]}
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(house.origin("gitlab") + "/oauth/token", urllib.parse.urlencode(form).encode())
    assert is_signed_out()


def test_a_line_that_is_no_message_is_an_error_and_the_end_of_input_ends_the_bridge(bridges, house):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    first, last = (json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
                   for number, method, params in ((1, "initialize", hello), (2, "ping", {})))
    command = [sys.executable, "-m", "einlass", "mcp", bridges.address]
    with house.start("env", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), *command) as process:
        process.stdin.write("nonsense\n" + first)
        process.stdin.flush()
        begin = process.stdout.readline() + process.stdout.readline()
        end, errors = process.communicate(last, PATIENCE)
    (bridges.said / "lines").write_text(begin + end + errors)
    wrong, right, late = map(json.loads, (begin + end).splitlines())
    assert (process.returncode, wrong["id"], wrong["error"]["code"]) == (0, None, -32700)
    assert [(answer["id"], "result" in answer) for answer in (right, late)] == [(1, True), (2, True)]


STRANGE = {
    "client": [{"method": "m", "params": {"_meta": meta}} for meta in (
        "text", *({"io.modelcontextprotocol/protocolVersion": version} for version in (5, ["5"], "5\r\nX: y", "ä")))]
    + [{"method": "ä", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}],
    "server": [{"method": "tools/list", "params": {"tools": tools}} for tools in (None, ["t"], [{}], [{"name": ["t"]}])]
    + [{"method": "initialize", "params": {"protocolVersion": version}} for version in ({"a": 1}, "5\r\nX: y", "ä")]}


@pytest.mark.parametrize("side", STRANGE)
def test_a_message_that_has_not_the_shape_of_mcp_passes_as_it_is(house, side):
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    sent = [{"jsonrpc": "2.0", "id": number, **message} for number, message in enumerate(STRANGE[side])]

    def answer(request, body):
        message = json.loads(body)
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": message["params"]}
        return 200, {"Content-Type": "application/json"}, json.dumps(reply).encode()

    with open_gate(house.origin("gitlab") + "/api/v4/user", answer) as gate:
        house.do("services", "add", gate.address, "gitlab/ada", "--yes")
        command = [sys.executable, "-m", "einlass", "mcp", gate.address]
        with house.start("env", *(f"{name}={value}" for name, value in ENVIRONMENT.items()), *command) as process:
            answers = []
            for message in sent:
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                answers.append(json.loads(process.stdout.readline()))
            assert process.communicate(timeout=PATIENCE) == ("", "")
    assert answers == [{"jsonrpc": "2.0", "id": message["id"], "result": message["params"]} for message in sent]


# A protected resource, which names its authorization server itself (RFC 9728).

@pytest.fixture
def resource(house, certificate):
    """Bridges to a server with an authorization server of its own, and a browser that allows everything there."""
    (house.folder / "bin/xdg-open").write_text(
        f'#!/bin/sh\n{sys.executable} {Path(__file__).with_name("deciding_browser.py")} "$1" && exit\n')
    with running("mcp_resource.py", certificate[0], "plain") as server:
        made = Bridges(house, server["resource"])
        made.server = server
        yield made


def pages(resource):
    with urllib.request.urlopen(resource.server["base"] + "/__log") as answer:
        return [entry["scopes"] for entry in json.load(answer) if entry["kind"] == "page"]


def test_the_commands_of_the_errors_sign_in_and_widen(resource):
    async def talk():
        async with resource() as session:
            with pytest.raises(MCPError) as failure:
                await session.initialize()
            assert pages(resource) == []
            await asyncio.to_thread(resource.on_terminal, *command_in(failure))
            assert pages(resource) == [["photos"]]
            await session.initialize()
            assert json.loads(await call(session, "scopes")) == ["photos"]
            tell(resource.server, "/__require?scope=albums")
            with pytest.raises(MCPError, match="--scope=albums") as failure:
                await call(session, "scopes")
            assert len(pages(resource)) == 1
            shown = await asyncio.to_thread(resource.on_terminal, *command_in(failure))
            assert "127.0.0.1 wants you to sign in" not in shown and resource.address + " wants you" in shown
            assert pages(resource)[1:] == [["photos", "albums"]]
            assert sorted(json.loads(await call(session, "scopes"))) == ["albums", "photos"]

    run(talk())


def test_with_the_option_the_bridge_signs_in_and_widens_by_itself(resource):
    async def talk():
        async with resource("--sign-in") as session:
            await session.initialize()
            assert pages(resource) == [["photos"]]
            tell(resource.server, "/__require?scope=albums")
            answers = await asyncio.gather(*(call(session, "scopes") for _ in range(3)))
            assert {tuple(sorted(json.loads(answer))) for answer in answers} == {("albums", "photos")}
            assert pages(resource)[1:] == [["photos", "albums"]]

    run(talk())


def test_a_client_that_shows_pages_is_asked_to(resource, house):
    shown = []

    async def show(_, params):
        shown.append((params.mode, params.message))
        if len(shown) == 1:
            browser = await asyncio.create_subprocess_exec(str(house.folder / "bin/xdg-open"), params.url)
            assert await browser.wait() == 0
        return ElicitResult(action="accept" if len(shown) == 1 else "decline")

    async def talk():
        async with resource(elicitation_callback=show) as session:
            # The first error comes before a client takes questions.
            with pytest.raises(MCPError) as failure:
                await session.initialize()
            await asyncio.to_thread(resource.on_terminal, *command_in(failure))
            await session.initialize()
            tell(resource.server, "/__require?scope=albums")
            assert sorted(json.loads(await call(session, "scopes"))) == ["albums", "photos"]
            assert pages(resource) == [["photos"], ["photos", "albums"]]
            tell(resource.server, "/__require?scope=videos")
            for words in ("was cancelled", "--scope=videos"):  # no second question after a refusal
                with pytest.raises(MCPError, match=words):
                    await call(session, "scopes")

    run(talk())
    assert [mode for mode, _ in shown] == ["url", "url"]
    assert all(resource.address + " wants you to sign in" in words for _, words in shown)


def test_after_a_refused_page_the_bridge_opens_no_other(resource, house):
    tries, reasons, browser = house.folder / "tries", [], (house.folder / "bin/xdg-open").read_text()
    (house.folder / "bin/xdg-open").write_text(
        f'#!/bin/sh\necho >>{tries}\n'
        f'exec {sys.executable} {Path(__file__).with_name("deciding_browser.py")} "$1" deny\n')

    async def talk():
        async with resource("--sign-in") as session:
            for _ in range(2):
                with pytest.raises(MCPError) as failure:
                    await session.initialize()
                reasons.append(failure.value.error.data["reason"])
            assert (reasons, tries.read_text()) == (["accessDenied", "noSystemAccount"], "\n")
            (house.folder / "bin/xdg-open").write_text(browser)
            await asyncio.to_thread(resource.on_terminal, *command_in(failure))
            await session.initialize()
            assert json.loads(await call(session, "scopes")) == ["photos"]
        (account,) = json.loads(house.do("accounts", "list", "--json"))["accounts"]
        assert account["resources"] == [resource.address]

    run(talk())


@pytest.mark.parametrize("scopes, asked", [
    (["photos"], [["photos"]]), (["albums"], [["photos"], ["photos", "albums"]])])
def test_a_first_sign_in_with_a_scope_asks_for_the_usual_ones_too(resource, scopes, asked):
    command = [sys.executable, "-m", "einlass", "mcp", "--sign-in", *(f"--scope={scope}" for scope in scopes)]
    resource.on_terminal(*command, resource.address)
    assert pages(resource) == asked
    # Once more without the option: no scope is lost.
    resource.on_terminal(*command[:5], resource.address)
    assert pages(resource)[len(asked):] == asked[-1:]


def test_a_first_sign_in_at_a_service_with_a_scope_asks_for_the_usual_ones_too(house):
    house.change({"gitlab": {"behaviour": {"consent": "allow"}}})
    with open_gate(house.origin("gitlab") + "/api/v4/user", None) as gate:
        house.do("services", "add", gate.address, "gitlab", "--yes")
        command = [sys.executable, "-m", "einlass", "mcp", "--sign-in", gate.address]
        bridges = Bridges(house, gate.address)
        for more in (["--scope=api"], []):
            bridges.on_terminal(*command, *more)
            assert house.state()["gitlab"]["tokens"][current(house)]["scopes"] == ["read_user", "api"]


def test_the_words_of_the_provider_are_shown(resource, house):
    # The page of an error has no question. It leads back at once.
    with (house.folder / "bin/xdg-open").open("a") as browser:
        browser.write('exec curl -sSL -o /dev/null "$1"\n')
    words = {"code": "invalid_scope", "text": "Client was not registered with scope nosuch"}
    shown = "They say: code invalid_scope, text Client was not registered with scope nosuch."

    async def talk():
        async with resource("--sign-in", "--scope", "nosuch") as session:
            with pytest.raises(MCPError, match=re.escape(shown)) as failure:
                await session.initialize()
            assert failure.value.error.data == {"reason": "providerFailure", "serverError": words}

    run(talk())
    command = [sys.executable, "-m", "einlass", "mcp", "--scope=nosuch", resource.address]
    with house.on_terminal(*command, **ENVIRONMENT) as terminal:
        assert terminal.end() == 1 and shown in terminal.shown


def test_in_an_ssh_session_the_person_opens_the_page(resource, house):
    command = [sys.executable, "-m", "einlass", "mcp", resource.address]
    with house.on_terminal(*command, **ENVIRONMENT, SSH_CONNECTION="1") as terminal:
        terminal.wait_for("Open it yourself:")
        terminal.type("\x03")
        assert terminal.end() == 1
    assert pages(resource) == []


def test_a_server_that_names_no_provider_becomes_a_service(house):
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    with open_gate(house.origin("gitlab") + "/api/v4/user", None) as gate:
        address = gate.address + "/mcp"
        with house.on_terminal(sys.executable, "-m", "einlass", "mcp", address, **ENVIRONMENT) as terminal:
            assert terminal.end() == 1
        command = terminal.shown.partition("run on a terminal: ")[2].split()
        assert command == ["einlassctl", "services", "add", address, "PROVIDER"], terminal.shown
        house.do(*command[1:-1], "gitlab", "--yes")
        Bridges(house, address).on_terminal(sys.executable, "-m", "einlass", "mcp", address)


def test_the_command_of_an_error_has_the_options_of_the_bridge():
    options = ["--scope=photos", "--account=ada", "--application=editor"]
    code = f"""
from einlass.mcp_bridge import Accounts, parse
print(Accounts(parse({[*options, "https://photos.example.com/mcp"]!r})).command(["albums", "photos"]))
"""
    assert python(code) == (0, shlex.join([
        sys.executable, "-m", "einlass", "mcp", "--sign-in", "--scope=photos", "--scope=albums", *options[1:],
        "https://photos.example.com/mcp"]) + "\n")


# The import of parts.

def python(code, executable=sys.executable):
    done = subprocess.run([executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": LIBRARY})
    return done.returncode, done.stdout + done.stderr


def test_the_models_of_messages_and_pydantic_are_not_loaded():
    code = "import sys, einlass.mcp_transport; print({'mcp_types._types', 'pydantic_core'} & {*sys.modules})"
    assert python(code) == (0, "set()\n")


MEMBERS = ['"method": "m"', '"id": 1', '"id": "1"', '"id": null', '"id": 1.0', '"id": true', '"params": {"a": [1.10]}',
           '"params": null', '"params": []', '"result": {}', '"result": {"a": NaN, "b": "\\u00e4\\ud83d\\ude00"}',
           '"result": 1', '"error": {"code": 1, "message": "ä", "data": null}', '"error": {"code": 1}',
           '"error": {"code": 1, "message": 1}', '"more": 1']


def test_messages_are_read_and_written_as_by_pydantic():
    texts = [f'{{"jsonrpc": {version}, {", ".join(some)}}}' for version in ('"2.0"', "2.0") for count in (1, 2, 3)
             for some in itertools.combinations(MEMBERS, count)]
    texts += ["", "{", "[]", "1", "{}", '{"method": "m"}', '{"jsonrpc": "2.0", "method": "\\ud800"}',
              '{"jsonrpc": "2.0", "method": "m", "params": {"a": ' + "[" * 2000 + "]" * 2000 + "}}"]
    code = f"""
from mcp_types.jsonrpc import jsonrpc_message_adapter
for text in {texts!r}:
    try:
        read = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        print(None)
    else:
        print(type(read).__name__, read.model_dump(by_alias=True, mode="json", exclude_unset=True),
              read.model_dump_json(by_alias=True, exclude_unset=True))
"""
    own, whole = (python(f"import {module}{code}") for module in ("einlass.mcp_parts", "mcp"))
    assert own == whole and own[0] == 0
    assert all(own[1].count(kind) > 5 for kind in ("None\n", "Request", "Response", "Notification", "Error"))


@pytest.mark.parametrize("change", [
    'importlib.util.find_spec = lambda name, *more: None if name == "mcp.client" else find(name, *more)',
    'import einlass.mcp_messages; del einlass.mcp_messages.FITS["int"]'], ids=["other parts", "other messages"])
def test_another_version_of_the_package_is_loaded_whole(change):
    code = f"""
import importlib.util, sys
find = importlib.util.find_spec
{change}
import einlass.mcp_transport
whole = {{"mcp_types._types", "pydantic_core"}}
print(whole <= sys.modules.keys(), callable(einlass.mcp_transport.streamable_http_client))
"""
    assert python(code) == (0, "True True\n")


def test_without_the_package_the_extra_is_named(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    code = "import sys; from einlass.mcp_bridge import main; sys.exit(main(['https://photos.example.com/mcp']))"
    done = subprocess.run([tmp_path / "venv/bin/python", "-c", code], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, env={"PYTHONPATH": LIBRARY})
    assert (done.returncode, done.stdout) == (1, "") and "pip install 'einlass[mcp]'" in done.stderr


def test_at_a_version_of_the_package_with_other_names_the_extra_is_named(tmp_path):
    texts = {"server/stdio": "stdio_server = None", "client/streamable_http": "streamable_http_client = None"}
    for name in ("__init__", "server/__init__", "client/__init__", "shared/__init__", *texts):
        module = tmp_path / f"mcp/{name}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(texts.get(name, ""))
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from einlass.mcp_bridge import main
sys.exit(main(["https://photos.example.com/mcp"]))
"""
    code, output = python(code)
    assert code == 1 and output == ("problem: The package mcp.shared is missing or of another version. "
                                    "Install the bridge: pip install 'einlass[mcp]'\n")


# The page.

def test_the_configuration_of_the_page_reaches_a_server(bridges, house, tmp_path):
    page = (PROJECT / "clients/python/MCP.md").read_text()
    (text,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (server,) = json.loads(filled(text, [("https://photos.example.com/mcp", bridges.address)]))["mcpServers"].values()
    library = install_library(tmp_path)
    environment = {**house.environment, "PYTHONPATH": library, "PATH": f"{library}/bin:{house.environment['PATH']}"}

    async def talk():
        async with Client(StdioServerParameters(**server, env=environment, cwd=house.folder / "work")) as client:
            assert await call(client) == "ada"
        async with bridges() as session:
            await session.initialize()

    run(talk())
