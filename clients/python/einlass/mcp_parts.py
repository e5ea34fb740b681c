"""Two transports of the package mcp, without the rest of it: `stdio_server` and `streamable_http_client`.

`import mcp` also builds the server frameworks and some 300 models of messages, and imports pydantic for them. A bridge
passes the messages on and needs none of them, and it is started for each server of a client. Without them the import
takes a sixth of the time and two fifths of the memory.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import sys
import types
from typing import Any

from . import mcp_messages

#: Their `__init__` does not run.
PACKAGES = ("mcp", "mcp.server", "mcp.client", "mcp_types")
#: They are not loaded: the traces of another layer, and the handles of Windows.
ABSENT = ("opentelemetry", "opentelemetry.trace", "mcp.shared._otel",
          *(() if sys.platform == "win32" else ("mcp.os.win32.utilities",)))


class Part(types.ModuleType):
    """A module that has not run. Modules in it can be imported. Another name stands for a class that the transports
    only mention."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def load() -> Any:
    """Returns both transports."""
    stdio = importlib.import_module("mcp.server.stdio")
    http = importlib.import_module("mcp.client.streamable_http")
    return stdio.stdio_server, http.streamable_http_client


def load_parts() -> Any:
    """Returns both transports, loaded without the packages around them."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(name)
        package = importlib.util.module_from_spec(spec)
        package.__class__ = Part
        sys.modules[name] = package
    sys.modules.update((name, Part(name)) for name in ABSENT if name not in sys.modules)
    sys.modules.setdefault("pydantic", mcp_messages)
    messages = vars(importlib.import_module("mcp_types.jsonrpc"))
    vars(sys.modules["mcp_types"]).update((name, messages[name]) for name in messages["__all__"])
    return load()


os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")  # the search for them reads each installed package
gc.disable()  # an import leaves hardly any garbage, and the search for it takes a tenth of the time
try:
    stdio_server, streamable_http_client = load() if "mcp" in sys.modules else load_parts()
except Exception:  # another version of mcp, with other parts
    for name in [name for name in sys.modules if name.partition(".")[0] in ("mcp", "mcp_types", "opentelemetry")]:
        del sys.modules[name]
    if sys.modules.get("pydantic") is mcp_messages:
        del sys.modules["pydantic"]
    stdio_server, streamable_http_client = load()
finally:
    gc.freeze()
    gc.enable()
