"""Runs the benchmarks; `Tests/Benchmarks/run` calls this after the builds."""

import argparse
import pathlib
import sys

from . import bridges, engine, former, helpers, many, postgresql, resources, sharing, targets, tokens, users, wire
from .process import Stores
from .report import Report

MEASURES = {
    "start": wire.start_to_answer, "roundtrip": wire.round_trip, "pipelined": wire.pipelined, "accounts": wire.accounts,
    "memory": resources.memory, "wakeups": resources.wakeups, "end": resources.end, "flows": engine.flows,
    "signatures": engine.signatures, "sealed": engine.sealed, "together": engine.together, "size": targets.size,
    "changes": sharing.changes, "grants": sharing.grants,
    "many": many.measure, "users": users.measure, "helpers": helpers.measure,
    "bridges": bridges.measure, "postgresql": postgresql.measure,
    "tokens": tokens.verified, "browser": tokens.browser, "former": former.compare,
}


def main():
    parser = argparse.ArgumentParser(prog="Tests/Benchmarks/run", description=(
        "Measures einlass and its peers in turn, in one run, and prints medians, spreads and ratios."))
    parser.add_argument("--only", action="append", choices=MEASURES, help="only this; may be given several times")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--idle-seconds", type=int, default=60, metavar="N", help="how long to count wake-ups (60)")
    parser.add_argument("--former", type=pathlib.Path, metavar="FILE", help="an earlier build of einlass, for `former`")
    options = parser.parse_args()
    report = Report()
    stores = Stores()
    print("\n| what | who | median (least–most) | ratio |\n|---|---|---:|---|", flush=True)
    failed = False
    try:
        for name, measure in MEASURES.items():
            if options.only and name not in options.only or name == "former" and not options.former:
                continue
            more = {"wakeups": [options.idle_seconds], "former": [options.former]}.get(name, [])
            try:
                measure(report, stores, *more)
            except Exception as error:  # A failed part does not lose the figures of the others.
                report.skip(name, "all the rest", f"{type(error).__name__}: {error}")
                failed = True
    finally:
        stores.folder.cleanup()
        is_reached = targets.judge(report)
        if options.json:
            report.write(options.json)
    return 1 if failed else 0 if is_reached else 2


sys.exit(main())
