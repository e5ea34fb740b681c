"""Libraries for JSON-RPC with the headers of the Language Server Protocol reach einlass as they are.

    python -m pytest Tests/Integrations/test_rpc_libraries.py
"""
import asyncio
import json
import os
import shutil
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest
from pygls.client import JsonRPCClient
from pygls.protocol import JsonRPCProtocol, default_converter
from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

from house import EINLASS

FOLDER = Path(__file__).parent / "rpc"
FRONT_END = {"client": {"name": "library"}, "capabilities": {"prompts": ["openURL"]}}
SIGN_IN = {"provider": "github", "flowKind": "authorizationCode"}
PROGRAMS = {
    "vim.lsp.rpc": ["nvim", "--headless", "-u", "NONE", "-c", f"luafile {FOLDER}/client.lua"],
    "jsonrpc.el": ["emacs", "-Q", "--batch", "-l", f"{FOLDER}/client.el"],
    "vscode-jsonrpc": ["node", f"{FOLDER}/client.js"],
}


@pytest.fixture
def command(ready, tmp_path):
    """The command line of an einlass; the person agrees at the sandbox."""
    config = tmp_path / "config.json"
    config.touch(0o600)
    config.write_text(json.dumps(ready["config"]))
    state = json.dumps({"github": {"behaviour": {"consent": "allow"}}}).encode()
    urllib.request.urlopen(urllib.request.Request(ready["control"].rstrip("/") + "/state", state, method="PATCH")).read()
    return [EINLASS, "--config", str(config), "--store", "memory"]


def browse(url):
    threading.Thread(target=lambda: urllib.request.urlopen(url).read()).start()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_initializes_lists_accounts_and_signs_in(name, command, tmp_path):
    if not shutil.which(PROGRAMS[name][0]):
        pytest.skip(f"{PROGRAMS[name][0]} is not installed")
    results = tmp_path / "results.json"
    ended = subprocess.run(PROGRAMS[name], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                           env={**os.environ, "COMMAND": json.dumps(command), "RESULTS": str(results)})
    assert ended.returncode == 0, ended.stderr
    started, listed, signed_in = json.loads(results.read_text())
    assert started["server"]["name"] == "einlass" and listed["accounts"] == [] and signed_in["created"] is True


def test_python_lsp_jsonrpc_initializes_lists_accounts_and_signs_in(command):
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        endpoint = Endpoint({"prompt.opened": lambda params: browse(params["url"])},
                            JsonRpcStreamWriter(process.stdin).write)
        reader = threading.Thread(target=JsonRpcStreamReader(process.stdout).listen, args=(endpoint.consume,))
        reader.start()
        assert endpoint.request("initialize", FRONT_END).result(30)["server"]["name"] == "einlass"
        assert endpoint.request("accounts.list", {}).result(30)["accounts"] == []
        assert endpoint.request("accounts.signIn", SIGN_IN).result(30)["created"] is True
        process.stdin.close()
        assert process.wait(30) == 0
        reader.join(30)


def test_pygls_initializes_lists_accounts_and_signs_in(command):
    async def session():
        client = JsonRPCClient(protocol_cls=JsonRPCProtocol, converter_factory=default_converter)
        client.feature("prompt.opened")(lambda params: browse(params.url))
        await client.start_io(*command)

        def call(method, params):
            return asyncio.wait_for(client.protocol.send_request_async(method, params), 30)

        assert (await call("initialize", FRONT_END)).server.name == "einlass"
        assert (await call("accounts.list", {})).accounts == []
        assert (await call("accounts.signIn", SIGN_IN)).created is True
        client.protocol.notify("exit")
        await asyncio.wait_for(client.stop(), 30)

    asyncio.run(session())
