"""Flows with the provider on loopback, signatures, sealed rows, and simultaneous starts with one store."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

from .process import BUILD, ROOT, Session, interleaved, ratio, start
from .provider import Provider, setup

ENGINE = BUILD / "engine" / "release" / "EngineBenchmark"
PYTHON = os.environ.get("EINLASS_PYTHON", str(ROOT / ".build/venv/bin/python"))


def seconds(*argv):
    return float(subprocess.run([str(value) for value in argv], capture_output=True, text=True, check=True).stdout)


def flows(report, stores):
    with Provider() as provider:
        def bare(count=300):
            return seconds(BUILD / "bareflow", provider.port, count) / count * 1e3

        def signing_in(store, window=1, count=300):
            with Session(provider.einlass(stores, store)) as session:
                account = setup(session)
                params = {"provider": "twitter", "account": account}
                session.windowed("auth.perform", params, 64, window)
                return session.windowed("auth.perform", params, count, window) / count * 1e3
        results = interleaved(5, {"libcurl alone, same requests": bare,
                                  "einlass, store in memory": lambda: signing_in("memory"),
                                  "einlass, store in a file": lambda: signing_in("flows")})
        for name in results:
            report.add("a reverse-auth flow", name, results[name], "ms",
                       libcurl_alone=ratio(results, name, "libcurl alone, same requests"))
        share = [100 * a / b for a, b in
                 zip(results["libcurl alone, same requests"], results["einlass, store in memory"])]
        report.add("share of a flow outside our code", "einlass, store in memory", share, "%")
        parallel = interleaved(3, {window: lambda window=window: 1e3 / signing_in("memory", window, 1000)
                                   for window in (1, 8, 64)})
        for window in parallel:
            report.add("flows per second", f"{window} in parallel", parallel[window], "/s",
                       one_at_a_time=ratio(parallel, window, 1))


def signatures(report, stores):
    count = 20_000
    programs = {"einlass's engine": lambda: count / seconds(ENGINE, "signatures", count)}
    if (BUILD / "liboauth").exists():
        programs["liboauth"] = lambda: 4000 / seconds(BUILD / "liboauth", 4000)
    else:
        report.skip("signatures", "liboauth", "liboauth-dev is not installed")
    peer = ROOT / "Tests/Benchmarks/peers/oauthlib_signatures.py"
    python = PYTHON if pathlib.Path(PYTHON).exists() else sys.executable
    try:
        seconds(python, peer, 1)
        programs["oauthlib"] = lambda: 2000 / seconds(python, peer, 2000)
    except subprocess.CalledProcessError:
        report.skip("signatures", "oauthlib", "it is not in the environment of Tests/run")

    def on_the_wire():
        with Provider() as provider, Session(provider.einlass(stores, "signing")) as session:
            account = setup(session)
            session.request("auth.perform", {"provider": "twitter", "account": account})
            params = {"account": account, "method": "POST",
                      "url": f"http://127.0.0.1:{provider.port}/1.1/statuses/update.json?status=hello%20world"}
            session.windowed("credentials.sign", params, 500, 500)
            return 5000 / session.windowed("credentials.sign", params, 5000, 500)
    programs["credentials.sign, pipelined"] = on_the_wire
    results = interleaved(5, programs)
    for name in results:
        others = {other: ratio(results, name, other) for other in ("liboauth", "oauthlib") if other in results}
        report.add("signatures", name, results[name], "/s", **others)


def sealed(report, stores):
    bare = stores.path / "bare.db"
    place = stores.arguments("sealed")[1::2]
    for what, count in (("writes", 500), ("reads", 20_000)):
        results = interleaved(5, {
            "SQLite alone": lambda: count / seconds(BUILD / "baresqlite", bare, what, count),
            "einlass's store": lambda: count / seconds(ENGINE, what, count, *place)})
        for name in results:
            report.add(f"sealed {what}", name, results[name], "/s", SQLite_alone=ratio(results, name, "SQLite alone"))


def together(report, stores):
    """The time until processes that start at the same moment with one store have all answered."""
    def opening(count):
        argv = stores.einlass(3)
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            begin = time.perf_counter()
            list(pool.map(lambda _: start(argv), range(count)))
            return (time.perf_counter() - begin) * 1e3
    results = interleaved(10, {count: lambda count=count: opening(count) for count in (1, 4, 16)})
    for count in results:
        report.add("opening one store at once", f"{count} processes", results[count], "ms", one=ratio(results, count, 1))

