"""A client of MCP with the headers of `einlassctl credential headers`, at a server that checks each token.

    python -m pytest Tests/Integrations/test_mcp.py
"""
import time

import pytest

from programs import Headers, ask, mcp_server


@pytest.fixture
def server(house):
    """The address of an MCP server for gitlab's accounts, which is a service."""
    house.sign_in("gitlab")
    house.allow("mcp", "gitlab")
    with mcp_server(house.origin("gitlab"), house.ready["config"]["applications"]["*"]["gitlab"]) as address:
        house.do("services", "add", address, "gitlab/ada", "--yes")
        yield address


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
