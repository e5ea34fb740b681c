"""Many applications and processes with one store: notifications, stored credentials, ten thousand grants."""

import sqlite3
import time

from .engine import ENGINE, seconds
from .process import Session, interleaved, ratio
from .provider import Provider, setup


def changes(report, stores):
    """The time from the answer to a change until another process is notified."""
    argv = stores.einlass(3)
    with Session(argv) as told, Session(argv) as other:
        told.request("initialize", {"client": {"name": "told"}})

        def once():
            other.request("access.set", {"provider": "twitter", "application": f"app-{time.monotonic_ns()}",
                                         "state": "granted"})
            answered = time.perf_counter()
            while told.line().get("method") != "access.changed":
                pass
            return (time.perf_counter() - answered) * 1e6
        report.add("a change reaches another process", "after its answer", [once() for _ in range(200)], "µs")


def grants(report, stores):
    """The cost of a stored credential, in comparison with a sealed read and with ten thousand grants.

    With a window of 64 the requests are already waiting, so this measures the answers alone. One at a time, it
    includes the wake-ups of two processes, and a sealed read has none.
    """
    with Provider() as provider:
        argv = {count: provider.einlass(stores, f"grants-{count}") for count in (1, 10_000)}
        for count, command in argv.items():
            with Session(command) as session:
                account = setup(session)
                session.request("credentials.get", {"account": account})
            with sqlite3.connect(stores.path / f"grants-{count}.db") as database:
                database.executemany(
                    "INSERT INTO access_grant (application, provider, state, permissions, changed_at)"
                    " VALUES (?, 'twitter', 'granted', '', 0)", [(f"application-{n}",) for n in range(count - 1)])
            database.close()
        place = stores.arguments("sealed")[1::2]
        count = 1_000

        def asking(grants, method, params=None, window=64):
            with Session(argv[grants]) as session:
                session.request("initialize", {"client": {"name": "benchmarks"}})
                account = session.request("accounts.list")["accounts"][0]["account"]
                params = params or {"account": account}
                session.windowed(method, params, 200, 1)
                return session.windowed(method, params, count, window) / count * 1e6
        results = interleaved(5, {
            "sealed read": lambda: seconds(ENGINE, "reads", count, *place) / count * 1e6,
            "credentials.get": lambda: asking(1, "credentials.get"),
            "credentials.get, one at a time": lambda: asking(1, "credentials.get", window=1),
            "credentials.get, 10 000 grants": lambda: asking(10_000, "credentials.get"),
            "access.list, a page of 100": lambda: asking(1, "access.list", {"limit": 100}),
            "access.list, a page of 100 of 10 000": lambda: asking(10_000, "access.list", {"limit": 100})})
        for name in results:
            report.add("stored", name, results[name], "µs", sealed_read=ratio(results, name, "sealed read"))
