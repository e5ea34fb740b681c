"""The targets, and the comparison with the figures."""

import pathlib

from .process import EINLASS

# The `what` and `who` of a row; None for its own figure, or the name of a ratio; at most (-) or at least (+); the
# limit.
TARGETS = [
    ("start to first answer", "einlass, 3 accounts", "floor", "-", 6),
    ("start to first answer", "einlass, 3 accounts", "python", "-", 0.25),
    ("round trip p50, one core", "einlass", "floor", "-", 3),
    ("round trip p99, one core", "einlass", "floor", "-", 5),
    ("round trip p50, any core", "einlass", "floor", "-", 3),
    ("round trip p99, any core", "einlass", "floor", "-", 5),
    ("pipelined accounts.list", "einlass", None, "+", 300_000),
    ("pipelined accounts.list", "einlass", "node", "+", 2),
    ("accounts.list, cost of an account", "10000 accounts", "that_of_10", "-", 2),
    ("accounts.list, one at a time", "100000 accounts", "that_of_1000", "-", 1.5),
    ("accounts.explain, one at a time", "100000 accounts", "that_of_1000", "-", 1.5),
    ("memory, most of these requests", "100000 accounts", None, "-", 20),
    ("accounts.add, its front end told", "each of 4000 accounts", "that_of_1000", "-", 1.5),
    ("users.signIn, one at a time", "10000 identities", "that_of_10", "-", 1.5),
    ("users.signIn, one at a time", "100000 identities", "that_of_10", "-", 1.5),
    ("users.providersForEmail, one at a time", "10000 identities", "that_of_10", "-", 1.5),
    ("users.providersForEmail, one at a time", "100000 identities", "that_of_10", "-", 1.5),
    ("users.current, one at a time", "100000 identities", "that_of_10", "-", 1.5),
    ("memory", "idle", None, "-", 12),
    ("memory", "after a million requests", None, "-", 20),
    ("memory", "client that never reads, highest", None, "-", 32),
    ("stripped size", "einlass", None, "-", 12.1),
    ("wake-ups a minute", "idle", None, "-", 0),
    ("end of input to exit", "idle", None, "-", 20),
    ("end of input to exit", "in a flow", None, "-", 1500),
    ("signatures", "einlass's engine", "oauthlib", "+", 20),
    ("signatures", "einlass's engine", "liboauth", "+", 2),
    ("stored", "credentials.get", "sealed_read", "-", 2),
    ("id_tokens, RS256", "einlass's engine", "libcrypto_alone", "+", 0.75),
    ("id_tokens, ES256", "einlass's engine", "libcrypto_alone", "+", 0.85),
    ("id_tokens, RS256", "einlass's engine", "PyJWT", "+", 2),
    ("id_tokens, ES256", "einlass's engine", "PyJWT", "+", 2),
    ("requests for a token", "a code flow", None, "-", 1),
    ("requests for a token", "a refresh", None, "-", 1),
    ("a stored token", "einlassctl token", "gh", "-", 0.2),
    ("a stored token", "git-credential-einlass get", "gh", "-", 0.2),
    ("an expired token for fifty programs", "requests for a token", None, "-", 1),
    ("an expired token for fifty programs", "the last token after the provider's answer", None, "-", 1000),
    ("a bridge for MCP: start to first answer", "einlass", "mcp_stdio", "-", 1.5),
    ("a bridge for MCP: memory at rest", "einlass", "mcp_stdio", "-", 1.5),
    ("a bridge for MCP: memory in use", "einlass", "mcp_stdio", "-", 1.5),
    ("libraries of PostgreSQL in a process", "store in a file", None, "-", 0),
    ("a stored token of 1 accounts, pipelined", "PostgreSQL", "SQLite", "-", 1.2),
    ("a stored token of 1 accounts, one at a time", "PostgreSQL", "SQLite", "-", 1.2),
    ("a stored token of 1000 accounts, pipelined", "PostgreSQL", "SQLite", "-", 1.2),
    ("a stored token of 1000 accounts, one at a time", "PostgreSQL", "SQLite", "-", 1.2),
    ("a refresh, one machine", "round trips beyond the needed statements", None, "-", 2),
    ("a stored token after a change, in PostgreSQL", "dearest count of accounts", "cheapest", "-", 1.3),
    ("a refresh, in PostgreSQL", "dearest count of accounts", "cheapest", "-", 1.3),
    ("leases held by nobody, after three seconds", "50 machines", None, "-", 0),
    ("a refresh token used twice", "by these machines", None, "-", 0),
    ("as before: instructions of a start, no store", "now", "before", "-", 1.02),
    ("as before: instructions of a start, 3 accounts", "now", "before", "-", 1.02),
    ("as before: instructions of a round trip", "now", "before", "-", 1.02),
    ("as before: start, 3 accounts", "now", "before", "-", 1.05),
    ("as before: round trip p50", "now", "before", "-", 1.05),
    ("as before: pipelined accounts.list", "now", "before", "-", 1.05),
    ("as before: credentials.get", "now", "before", "-", 1.05),
    ("as before: credentials.get, one at a time", "now", "before", "-", 1.05),
    ("as before: memory, idle", "now", "before", "-", 1.05),
    ("as before: stripped size", "now", "before", "-", 1.05),
]


def size(report, stores):
    report.add("stripped size", "einlass", pathlib.Path(EINLASS).stat().st_size / 1e6, "MB")


def judge(report):
    """Prints the verdict on each measured target. Returns false if one was missed."""
    rows = {(row["what"], row["who"]): row for row in report.rows if "skipped" not in row}
    verdicts = []
    for what, who, base, sense, limit in TARGETS:
        row = rows.get((what, str(who)))
        figure = row and (row["ratios"].get(base) if base else row["value"])
        if figure is None:
            if row:
                report.skip(f"{what}, {who}", f"against {base}", "that was not measured")
            continue
        unit = f" × {base.replace('_', ' ')}" if base else f" {row['unit']}".rstrip()
        verdicts.append({
            "what": f"{what}, {who}", "figure": figure, "limit": limit, "unit": unit.strip(),
            "reached": figure <= limit if sense == "-" else figure >= limit})
        words = {"-": "at most", "+": "at least"}[sense]
        if len(verdicts) == 1:
            print("\n| to reach | | measured | |\n|---|---|---:|---|")
        print(f"| {what}, {who} | {words} {report.short(limit)}{unit} | {report.short(figure)}{unit} | "
              f"{'reached' if verdicts[-1]['reached'] else 'MISSED'} |", flush=True)
    report.targets = verdicts
    return all(verdict["reached"] for verdict in verdicts)
