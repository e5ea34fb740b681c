"""An MCP server of fastmcp that takes one token, for the bridges.

    python mcp_server.py TOKEN

Prints its address as a line.
"""
import logging
import socket
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    server = FastMCP("photos", auth=StaticTokenVerifier(tokens={sys.argv[1]: {"client_id": "benchmark", "scopes": []}}))

    @server.tool
    def owner() -> str:
        return "ada"

    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        uvicorn.Server(uvicorn.Config(server.http_app(), log_level="critical")).run(sockets=[listener])
