"""Starts, round trips and pipelined requests: einlass, the floor and loops in other languages, in turn."""

import json
import os
import shutil

from .process import (EINLASS, FLOOR, LIST, LOOP_JS, LOOP_PY, Session, interleaved, percentile, ratio, start)

CREDENTIAL = b"protocol=https\nhost=example.org\n\n"


def is_there(program, report, what):
    """Whether the program is installed; reports a skipped row if not."""
    if shutil.which(program):
        return True
    report.skip(what, program, "it is not installed")
    return False


def start_to_answer(report, stores):
    programs = {
        "floor": ([FLOOR], LIST), "einlass, no store": (stores.einlass(0), LIST),
        "einlass, 3 accounts": (stores.einlass(3), LIST), "einlass, 1000 accounts": (stores.einlass(1000), LIST),
        "python": (LOOP_PY, LIST),
    }
    if is_there("node", report, "start to first answer"):
        programs["node"] = (LOOP_JS, LIST)
    if is_there("git", report, "start to first answer"):
        socket = ["git", "credential-cache", "--socket", str(stores.path / "git" / "socket")]
        start([*socket, "--timeout", "600", "store"], b"username=ada\npassword=secret\n" + CREDENTIAL, eof_first=True)
        programs["git credential-cache get"] = ([*socket, "get"], CREDENTIAL)
    results = interleaved(
        30, {name: lambda argv=argv, request=request: start(argv, request, eof_first=argv[0] == "git")[0] * 1e3
             for name, (argv, request) in programs.items()})
    for name in programs:
        report.add("start to first answer", name, results[name], "ms", floor=ratio(results, name, "floor"),
                   python=ratio(results, name, "python"))
    if shutil.which("git"):
        start([*socket, "exit"], b"", eof_first=True)
    language_server(report, stores)


def language_server(report, stores):
    if not is_there("sourcekit-lsp", report, "start to first answer"):
        return
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                       "params": {"processId": None, "rootUri": None, "capabilities": {}}}).encode()
    request = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    results = interleaved(5, {
        "sourcekit-lsp": lambda: start(["sourcekit-lsp"], request, any_bytes=True)[0] * 1e3,
        "einlass": lambda: start(stores.einlass(3))[0] * 1e3})
    report.add("start to first answer", "sourcekit-lsp", results["sourcekit-lsp"], "ms",
               einlass=ratio(results, "sourcekit-lsp", "einlass"))


def servers(report, stores, what):
    servers = {"floor": [FLOOR], "einlass": stores.einlass(3), "python": LOOP_PY}
    if is_there("node", report, what):
        servers["node"] = LOOP_JS
    return servers


def round_trip(report, stores):
    cpus = os.sched_getaffinity(0)
    for place, cpu in (("one core", min(cpus)), ("any core", None)):
        def measure(argv):
            if cpu is not None:
                os.sched_setaffinity(0, {cpu})
            try:
                with Session(argv, cpu) as session:
                    session.round_trips(500)
                    times = session.round_trips(5000)
            finally:
                os.sched_setaffinity(0, cpus)
            return percentile(times, 0.5) * 1e6, percentile(times, 0.99) * 1e6
        results = interleaved(5, {name: lambda argv=argv: measure(argv)
                                  for name, argv in servers(report, stores, f"round trip, {place}").items()})
        for index, part in enumerate(("p50", "p99")):
            times = {name: [pair[index] for pair in pairs] for name, pairs in results.items()}
            for name in times:
                report.add(f"round trip {part}, {place}", name, times[name], "µs", floor=ratio(times, name, "floor"))


def pipelined(report, stores):
    counts = {"floor": 400_000, "einlass": 200_000, "python": 30_000, "node": 100_000}
    cpu_times = {name: [] for name in counts}

    def measure(name, argv):
        count = counts[name]
        with Session(argv) as session:
            session.pipelined(LIST * 2000, 2000)
            before = session.cpu_seconds()
            seconds = session.pipelined(LIST * count, count)
            cpu_times[name].append((session.cpu_seconds() - before) / count * 1e6)
        return count / seconds

    results = interleaved(
        7, {name: lambda name=name, argv=argv: measure(name, argv)
            for name, argv in servers(report, stores, "pipelined accounts.list").items()})
    for name in results:
        others = {other: ratio(results, name, other) for other in ("node", "python") if other in results}
        report.add("pipelined accounts.list", name, results[name], "/s", **others)
    for name in results:
        report.add("processor time per pipelined request", name, cpu_times[name], "µs")


def accounts(report, stores):
    """The cost of one account in a list. Consecutive requests differ, so that no page is answered twice in a row."""
    def measure(count):
        with Session(stores.einlass(count)) as session:
            questions, cursor = [], None
            while cursor != "":
                params = {"limit": 1000, **({"cursor": cursor} if cursor else {})}
                cursor = session.request("accounts.list", params).get("nextCursor", "")
                questions.append(params)
            if len(questions) == 1:
                questions.append({"limit": 999})
            lines = [json.dumps({"jsonrpc": "2.0", "id": 1, "method": "accounts.list", "params": params}) + "\n"
                     for params in questions]
            listed = count * (2 if len(questions) == 2 and count <= 100 else 1)
            rounds = max(1, 50_000 // listed)
            return session.pipelined("".join(lines).encode() * rounds, len(lines) * rounds) / rounds / listed * 1e6
    results = interleaved(5, {count: lambda count=count: measure(count) for count in (10, 1000, 10_000)})
    for count in results:
        report.add("accounts.list, cost of an account", f"{count} accounts", results[count], "µs",
                   that_of_10=ratio(results, count, 10))
    for count in results:
        seconds = interleaved(5, {count: lambda count=count: start(stores.einlass(count))[0] * 1e3})[count]
        report.add("start to first page", f"{count} accounts", seconds, "ms")
