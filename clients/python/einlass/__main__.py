import sys

if sys.argv[1:2] == ["mcp"]:
    from .mcp_bridge import main  # alone, because a client of MCP starts it for each server

    sys.exit(main(sys.argv[2:]))

from .terminal import main as terminal

sys.exit(terminal())
