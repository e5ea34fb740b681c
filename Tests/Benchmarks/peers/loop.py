"""A JSON-RPC loop in Python: reads a line with `json`, answers accounts.list, writes it with `json`."""

import json
import sqlite3  # noqa: F401  A server with a store needs this import, so it is part of the start's cost.
import sys

ACCOUNTS = [
    {"account": f"a_0123456789abcdefghijk{n}", "provider": "twitter", "username": f"person{n}",
     "displayName": f"Person {n}", "subject": f"100{n}", "health": "ok", "signedIn": True,
     "preferred": False, "addedAt": 1763712345}
    for n in (1, 2, 3)
]

for line in sys.stdin.buffer:
    request = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"revision": 6, "accounts": ACCOUNTS}}
    sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
    sys.stdout.flush()
