"""A sign-in of a known user and look-ups, among ten identities and among 100 000."""

import sqlite3

from .process import EINLASS, Session, Stores, interleaved, ratio

COUNTS = (10, 10_000, 100_000)
APPLICATION = {"client": {"name": "benchmarks"}}


def filled(stores, count):
    """Returns the command line of einlass with this many users of one identity each, and an account that proves its
    person."""
    argv = [EINLASS, *stores.arguments(f"users-{count}")]
    with Session(argv) as session:
        session.pipelined(Stores.adding(0), 1)
        account = session.request("accounts.list")["accounts"][0]["account"]
    with sqlite3.connect(stores.path / f"users-{count}.db") as database:
        # As after a sign-in of einlass.
        database.execute("UPDATE account SET reported = 1")
        numbers = [(number,) for number in range(1, count)]
        database.executemany(
            "INSERT INTO user (id, directory, application, email, email_key, email_verified, created_at) "
            "VALUES ('u_' || ?1, 'benchmarks', 'benchmarks', 'p' || ?1 || '@x', 'p' || ?1 || '@x', 0, ?1)", numbers)
        database.executemany(
            "INSERT INTO user_identity (directory, provider, subject, user, position, email, email_key) "
            "VALUES ('benchmarks', 'twitter', 'p' || ?1, 'u_' || ?1, 0, 'p' || ?1 || '@x', 'p' || ?1 || '@x')", numbers)
    with Session(argv) as session:
        session.request("initialize", APPLICATION)
        session.request("access.set", {"provider": "twitter", "state": "granted"})
        session.request("users.signIn", {"account": account})
    return argv, account


def measure(report, stores):
    made = {count: filled(stores, count) for count in COUNTS}

    def cost(count, method, params, rounds=300):
        argv, account = made[count]
        with Session(argv) as session:
            session.request("initialize", APPLICATION)
            params = params or {"account": account}
            session.windowed(method, params, 20, 1)
            return session.windowed(method, params, rounds, 1) / rounds * 1e6

    for method, params in (("users.signIn", None), ("users.providersForEmail", {"email": "p7@x"}), ("users.current", {"a": 0})):
        results = interleaved(5, {count: lambda count=count: cost(count, method, params) for count in COUNTS})
        for count in COUNTS:
            report.add(f"{method}, one at a time", f"{count} identities", results[count], "µs",
                       that_of_10=ratio(results, count, 10))
