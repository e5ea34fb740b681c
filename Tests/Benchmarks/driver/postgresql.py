"""A store in PostgreSQL: a stored token against SQLite, the statements of a refresh, machines with one database, many
accounts, and the libraries of a process without it."""

import collections
import os
import pathlib
import re
import statistics
import threading
import time

from .cable import Cable
from .fleet import Fleet, children, clusters, idle_seconds, processor_seconds, refreshes
from .process import Session, interleaved, ratio

# Settings of an operator who wants to lose nothing: each COMMIT waits for the disk.
SETTINGS = {"fsync": "on", "max_connections": 300, "shared_buffers": "128MB"}
COUNTS = (1_000, 10_000, 100_000)
MACHINES, ROUND_SECONDS = 50, 5


def measure(report, stores):
    libraries(report, stores)
    if clusters.WHY_NOT:
        report.skip("a store in PostgreSQL", "einlass", clusters.WHY_NOT)
        return
    template = clusters.folder("template-")
    try:
        with clusters.Cluster(clusters.make_template(template), **SETTINGS) as cluster:
            stored(report, stores, cluster)
            round_trips(report, stores, cluster)
            many(report, stores, cluster)
            machines(report, stores, cluster)
    finally:
        clusters.shutil.rmtree(template)


def libraries(report, stores):
    """The libraries of a process with a store in a file, after it has read and written."""
    with Session(stores.einlass(3)) as session:
        session.request("accounts.list")
        session.request("access.set", {"provider": "twitter", "application": "libraries", "state": "granted"})
        maps = pathlib.Path(f"/proc/{session.process.pid}/maps").read_text()
        loaded = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
        # Without this one the list would not be one of libraries.
        assert any("libcrypto" in path for path in loaded), loaded
        report.add("libraries of PostgreSQL in a process", "store in a file", sum("libpq" in path for path in loaded), "")


def stored(report, stores, cluster):
    """`credentials.get` of a stored token by a process that has called `initialize`, of both kinds of stores in turn."""
    for count in (1, 1_000):
        with Fleet(stores) as file, Fleet(stores, cluster.address(f"stored_{count}")) as database:
            sessions, accounts = {}, {}
            for name, fleet in (("SQLite", file), ("PostgreSQL", database)):
                with fleet.start(listens=False) as session:
                    accounts[name] = fleet.add(session, range(count))[0]
                sessions[name] = fleet.start()
            time.sleep(2)

            def asking(name, window, number=300):
                params = {"account": accounts[name]}
                sessions[name].windowed("credentials.get", params, 20, 1)
                return sessions[name].windowed("credentials.get", params, number, window) / number * 1e6
            for window, how in ((64, "pipelined"), (1, "one at a time")):
                results = interleaved(7, {name: lambda name=name: asking(name, window) for name in sessions})
                for name in results:
                    report.add(f"a stored token of {count} accounts, {how}", name, results[name], "µs",
                               SQLite=ratio(results, name, "SQLite"))
            Fleet.end(sessions.values())


# The statements that a refresh needs: two reads, the lease, and a write. BEGIN comes with the row of `meta`, the
# notification with COMMIT, and the end of the begun renewal with that of the lease.
NEEDED = ["meta", "account", "access", "meta", "credentials", "lease", "begun renewal", "meta, locked", "account",
          "generations", "change", "revision", "credential", "COMMIT", "end of the lease"]


def name_of(statement):
    """Returns a short name of a statement: its verb, and its first table or its last word."""
    verb = "BEGIN, SELECT" if statement.startswith("BEGIN") else statement.split(" ")[0]
    table = re.search(r'(?:INTO|UPDATE|FROM) (?:"\w+"\.)?(\w+)', statement)
    if "count(*)" in statement:
        return "SELECT, count of accounts and grants"
    if statement.startswith("SELECT id, provider, username"):
        return "SELECT account" + (", a page" if "position > $1" in statement else "")
    if "pg_notify" in statement:
        return "SELECT pg_notify, COMMIT"
    ending = ", locked" if statement.endswith("FOR UPDATE") else ""
    return f"{verb} {table[1]}{ending}" if table else verb


def round_trips(report, stores, cluster):
    """The requests to the database until a refresh is answered, and the time that a delay of each adds."""
    socket = str(cluster.sockets / f".s.PGSQL.{cluster.port}")
    with Cable(socket) as cable, Fleet(stores, cluster.address("wire", **cable.parameters)) as fleet:
        with fleet.start() as session:
            account, = fleet.add(session, range(1))
            lists = []

            def refresh():
                time.sleep(1)
                with cable.lock:
                    cable.requests.clear()
                begin = time.perf_counter()
                session.request("credentials.get", {"account": account, "forceRefresh": True})
                seconds = time.perf_counter() - begin
                with cable.lock:
                    # The audit trail is forwarded by a thread that no request waits for.
                    lists.append([name for name in (name_of(text) for _, text in cable.requests) if name != "INSERT audit"])
                return seconds
            refresh()
            delay, times = 0.02, {0: [], 0.02: []}
            for _ in range(5):
                for cable.seconds in times:
                    times[cable.seconds].append(refresh())
    usual = sorted(lists, key=len)[len(lists) // 2]
    print("\n".join(f"|   {number} | {name} | | |" for number, name in enumerate(usual, 1)))
    what = "a refresh, one machine"
    report.add(what, "requests to the database until its answer", [len(names) for names in lists], "",
               needed_statements=len(usual) / len(NEEDED))
    report.add(what, "of these, COMMIT alone", [names.count("COMMIT") for names in lists], "")
    trips = [(slow - fast) / (2 * delay) for slow, fast in zip(times[delay], times[0])]
    report.add(what, "round trips, by their delay", trips, "")
    report.add(what, "round trips beyond the needed statements", [count - len(NEEDED) for count in trips], "")
    report.add(what, "until its answer", [seconds * 1e3 for seconds in times[0]], "ms")


def many(report, stores, cluster):
    """The cost of one account among many: a stored token after each change by another machine, and a refresh."""
    fleets = {}
    for count in COUNTS:
        fleet = fleets[count] = Fleet(stores, cluster.address(f"many_{count}"))
        with fleet.start(listens=False) as session:
            fleet.account, = fleet.add(session, range(1))
        fill(cluster, f"einlass_many_{count}", count)
        fleet.session, fleet.other = fleet.start(), fleet.start(listens=False)
    time.sleep(2)

    def after_change(count, number=10):
        fleet, seconds = fleets[count], 0
        for _ in range(number):
            fleet.other.request("access.set", {"provider": "bench", "application": f"app-{time.monotonic_ns()}",
                                               "state": "granted"})
            while fleet.session.line().get("method") != "access.changed":
                pass
            begin = time.perf_counter()
            fleet.session.request("credentials.get", {"account": fleet.account})
            seconds += time.perf_counter() - begin
        return seconds / number * 1e3

    def refresh(count, number=5):
        params = {"account": fleets[count].account, "forceRefresh": True}
        return fleets[count].session.windowed("credentials.get", params, number, 1) / number * 1e3
    for what, subject in (("a stored token after a change", after_change), ("a refresh", refresh)):
        results = interleaved(5, {count: lambda count=count: subject(count) for count in COUNTS})
        for count in COUNTS:
            report.add(f"{what}, in PostgreSQL", f"{count} accounts", results[count], "ms",
                       that_of_1000=ratio(results, count, 1_000))
        medians = [statistics.median(results[count]) for count in COUNTS]
        report.add(f"{what}, in PostgreSQL", "dearest count of accounts", max(medians), "ms",
                   cheapest=max(medians) / min(medians))
    for fleet in fleets.values():
        fleet.end((fleet.session, fleet.other))
        fleet.__exit__()


def fill(cluster, schema, count):
    """Copies the only account; only its own credential decrypts."""
    names = cluster.sql(
        "SELECT string_agg(column_name, ', ' ORDER BY ordinal_position) FROM information_schema.columns WHERE "
        f"table_schema = '{schema}' AND table_name = 'credential' AND column_name <> 'account'")[0][0]
    # The credential is read once, because a scan for each account would meet the rows that were just inserted.
    cluster.sql(
        "INSERT INTO account (id, provider, username, subject, health, added_at, last_used_at) "
        "SELECT 'a_' || n, 'bench', 'copy' || n, '100' || n, 'ok', n, n "
        f"FROM generate_series(1, {count - 1}) AS n",
        f"WITH one AS MATERIALIZED (SELECT {names} FROM credential) "
        f"INSERT INTO credential (account, {names}) SELECT id, {names} FROM account, one WHERE username LIKE 'copy%'",
        "ANALYZE account, credential", schema=schema)


class Sampler(threading.Thread):
    """Counts the reasons for which the server's processes of einlass wait, four times a second."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.found, self.is_over = cluster, collections.Counter(), threading.Event()

    def run(self):
        while not self.is_over.wait(0.25):
            rows = self.cluster.sql(
                "SELECT CASE state WHEN 'active' THEN coalesce(wait_event_type || ' ' || wait_event, 'running') "
                "ELSE state END, count(*) FROM pg_stat_activity WHERE usename = 'einlass' AND state <> 'idle' GROUP BY 1")
            self.found.update({reason: int(count) for reason, count in rows})


def machines(report, stores, cluster):
    """Refreshes a second of 1 000 accounts by several machines, and where the time goes."""
    with Fleet(stores, cluster.address("fleet")) as fleet:
        with fleet.start(listens=False) as session:
            accounts = fleet.add(session, range(1_000))
        for count, listens in ((1, True), (10, True), (MACHINES, True), (MACHINES, False)):
            who = f"{count} machine{'' if count == 1 else 's'}{'' if listens else ', told of no changes'}"
            sessions = [fleet.start(listens=listens) for _ in range(count)]
            if not listens:
                # Connects, as `initialize` does.
                for session in sessions:
                    session.request("accounts.list", {"limit": 1})
            time.sleep(3)
            pids = {"einlass": [session.process.pid for session in sessions], "provider": [fleet.provider.process.pid]}
            sampler, rates = Sampler(cluster), []
            refreshes(sessions, accounts, 1)
            sampler.start()
            pids["PostgreSQL"] = children(cluster.process.pid)
            before = {name: processor_seconds(of) for name, of in pids.items()}
            idle, begin = idle_seconds(), time.perf_counter()
            own, done, number, refusals = time.process_time(), transactions(cluster), 0, 0
            for _ in range(3):
                renewed, refused, passed = refreshes(sessions, accounts, ROUND_SECONDS)
                number, refusals = number + renewed, refusals + refused
                rates.append(renewed / passed)
            seconds, idle, own = time.perf_counter() - begin, idle_seconds() - idle, time.process_time() - own
            used = {name: processor_seconds(of) - before[name] for name, of in pids.items()}
            done = transactions(cluster) - done
            sampler.is_over.set()
            sampler.join()
            report.add("refreshes of 1 000 accounts", who, rates, "/s")
            report.add("refused because of a held lease", who, 100 * refusals / (number + refusals), "%")
            time.sleep(3)
            held = cluster.sql("SELECT count(*) FROM lease WHERE until > clock_timestamp()", schema="einlass_fleet")
            report.add("leases held by nobody, after three seconds", who, int(held[0][0]), "")
            for name, cost in {**used, "the benchmark": own}.items():
                report.add(f"processor time of a refresh, {who}", name, cost / number * 1e3, "ms")
            report.add("processors idle meanwhile", who, 100 * idle / seconds / os.cpu_count(), "%")
            report.add("transactions for a refresh", who, done / number, "")
            total = sum(sampler.found.values())
            for reason, number in sampler.found.most_common(5):
                report.add(f"the server's processes, {who}", reason, 100 * number / total, "%")
            fleet.end(sessions)
        report.add("a refresh token used twice", "by these machines", fleet.asked("/reused"), "")


def transactions(cluster):
    return int(cluster.sql("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'einlass'")[0][0])
