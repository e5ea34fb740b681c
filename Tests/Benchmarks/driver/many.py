"""An account, a page, a selection and a change, among ten accounts and among 100 000."""

import json
import sqlite3
import time

from .process import EINLASS, Session, Stores, interleaved, ratio

COUNTS = (10, 1000, 100_000)
APPLICATION = {"client": {"name": "benchmarks"}}


def filled(stores, count):
    """Returns the command line of einlass with this many accounts of one provider, and the only account with a
    credential that decrypts."""
    argv = [EINLASS, *stores.arguments(f"many-{count}")]
    with Session(argv) as session:
        session.pipelined(Stores.adding(0), 1)
        account = session.request("accounts.list")["accounts"][0]["account"]
    with sqlite3.connect(stores.path / f"many-{count}.db") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(credential)") if row[1] != "account"]
        names = ", ".join(columns)
        database.executemany(
            "INSERT INTO account (id, provider, username, subject, health, added_at, last_used_at) "
            "VALUES ('a_' || ?1, 'twitter', 'person' || ?1, '100' || ?1, 'ok', ?1, ?1)",
            ((number,) for number in range(1, count)))
        database.execute(
            f"INSERT INTO credential (account, {names}) SELECT account.id, {names} FROM account, "
            "(SELECT * FROM credential) AS one WHERE account.id <> one.account")
    return argv, account


def accounts(report, stores):
    made = {count: filled(stores, count) for count in COUNTS}
    memory = {count: 0 for count in COUNTS}

    def cost(count, method, params, rounds=300):
        argv, account = made[count]
        with Session(argv) as session:
            session.request("initialize", APPLICATION)
            if "account" in params:
                params = {**params, "account": account}
            session.windowed(method, params, 20, 1)
            seconds = session.windowed(method, params, rounds, 1)
            memory[count] = max(memory[count], session.status("VmHWM") / 1024)
            return seconds / rounds * 1e6

    for method, params in (
            ("accounts.list", {"limit": 1}), ("accounts.list", {"limit": 1, "provider": "twitter"}),
            ("accounts.explain", {"provider": "twitter"}), ("accounts.setPreferred", {"provider": "twitter", "account": 0}),
            ("access.set", {"provider": "twitter", "state": "granted"})):
        results = interleaved(5, {count: lambda count=count: cost(count, method, params) for count in COUNTS})
        of = " of a provider" if method == "accounts.list" and "provider" in params else ""
        for count in COUNTS:
            report.add(f"{method}{of}, one at a time", f"{count} accounts", results[count], "µs",
                       that_of_1000=ratio(results, count, 1000))
    for count in COUNTS:
        report.add("memory, most of these requests", f"{count} accounts", memory[count], "MB")


def adding(report, stores):
    """The cost of adding an account with a notification to the front end, after few accounts and after many."""
    def measure(count):
        with Session([EINLASS, *stores.arguments(f"adding-{count}-{time.monotonic_ns()}")]) as session:
            session.request("initialize", APPLICATION)
            started = time.perf_counter()
            for number in range(count):
                session.request("accounts.add", json.loads(Stores.adding(number))["params"])
            return (time.perf_counter() - started) / count * 1e6
    results = interleaved(3, {count: lambda count=count: measure(count) for count in (1000, 4000)})
    for count in results:
        report.add("accounts.add, its front end told", f"each of {count} accounts", results[count], "µs",
                   that_of_1000=ratio(results, count, 1000))


def measure(report, stores):
    accounts(report, stores)
    adding(report, stores)
