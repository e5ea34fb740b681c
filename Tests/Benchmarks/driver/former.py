"""An earlier build of einlass and the current one, measured in turn. Each has created its own store of three
accounts."""

import os
import pathlib
import re
import shutil
import tempfile

from .process import EINLASS, LIST, Session, Stores, interleaved, percentile, ratio, start
from .provider import Provider, setup


def compare(report, stores, former):
    builds = {"before": str(former), "now": EINLASS}
    with Provider() as provider:
        argv = {name: [program, *provider.einlass(stores, f"compared-{name}")[1:]] for name, program in builds.items()}
        account = {}
        for name, command in argv.items():
            # Before `initialize`, because afterwards the session would get notifications between the answers.
            with Session(command) as session:
                session.pipelined(b"".join(Stores.adding(number) for number in (1, 2)), 2)
            with Session(command) as session:
                account[name] = setup(session)
                # This asks the provider once; later calls return the stored credential.
                session.request("credentials.get", {"account": account[name]})
        for name, program in builds.items():
            report.add("as before: stripped size", name, pathlib.Path(program).stat().st_size / 1e6, "MB",
                       before=os.path.getsize(program) / os.path.getsize(builds["before"]))
        instructions(report, builds, argv)
        for what, unit, rounds, measure in (
                ("start, 3 accounts", "ms", 100, lambda name: start(argv[name])[0] * 1e3),
                ("round trip p50", "µs", 15, lambda name: round_trip(argv[name])),
                ("pipelined accounts.list", "µs", 15, lambda name: pipelined(argv[name])),
                ("credentials.get", "µs", 15, lambda name: credentials(argv[name], account[name], 64)),
                ("credentials.get, one at a time", "µs", 15, lambda name: credentials(argv[name], account[name], 1)),
                ("memory, idle", "MB", 5, lambda name: memory(argv[name]))):
            results = interleaved(rounds, {name: lambda name=name: measure(name) for name in builds})
            for name in builds:
                report.add(f"as before: {what}", name, results[name], unit, before=ratio(results, name, "before"))


def instructions(report, builds, argv):
    """Instructions from the start to the end of the input, which no other program on the machine changes."""
    if not shutil.which("valgrind"):
        report.skip("as before: instructions of a start", "einlass", "valgrind is not installed")
        return
    rows = {"start, no store": (0, {name: [program, "--store", "memory"] for name, program in builds.items()}),
            "start, 3 accounts": (0, argv), "round trip": (1000, argv)}
    for what, (further, commands) in rows.items():
        results = interleaved(3, {
            name: lambda name=name: (count(commands[name], further) - (further and count(commands[name]))) / (further or 1)
            for name in builds})
        for name in builds:
            report.add(f"as before: instructions of a {what}", name, [result / 1e3 for result in results[name]],
                       "thousand", before=ratio(results, name, "before"))


def count(command, further=0):
    """Instructions of a session with `initialize` and `accounts.list`, and further ones one after the other."""
    with tempfile.NamedTemporaryFile() as file:
        with Session(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={file.name}", *command]) as session:
            session.request("initialize", {"client": {"name": "benchmarks"}})
            session.request("accounts.list")
            session.round_trips(further)
            session.process.stdin.close()
            session.process.wait()
        return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(file.name).read_text(), re.M)[1])


def round_trip(argv):
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        with Session(argv, min(cpus)) as session:
            session.round_trips(500)
            return percentile(session.round_trips(5000), 0.5) * 1e6
    finally:
        os.sched_setaffinity(0, cpus)


def pipelined(argv, count=100_000):
    with Session(argv) as session:
        session.pipelined(LIST * 2000, 2000)
        return session.pipelined(LIST * count, count) / count * 1e6


def credentials(argv, account, window, count=1_000):
    with Session(argv) as session:
        session.request("initialize", {"client": {"name": "benchmarks"}})
        session.windowed("credentials.get", {"account": account}, 200, 1)
        return session.windowed("credentials.get", {"account": account}, count, window) / count * 1e6


def memory(argv):
    with Session(argv) as session:
        session.request("accounts.list")
        return session.status("VmRSS") / 1024
