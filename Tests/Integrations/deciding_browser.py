"""A browser that allows or denies each sign-in at the server of Tests/Oracles/mcp_resource.py.

    python deciding_browser.py URL [deny]
"""
import sys
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Oracles"))
from browser import Visitor  # noqa: E402

if __name__ == "__main__":
    visitor = Visitor().open(sys.argv[1]).press(*sys.argv[2:] or ["approve"])
    urllib.request.urlopen(visitor.location, timeout=60).close()
