"""Holds a client or a server against the protocol. `python3 protocol/conformance --help` has the options."""
import argparse
import fnmatch
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, List, Optional, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import client  # noqa: E402
import client_cases  # noqa: E402
import coverage  # noqa: E402
import program  # noqa: E402
import replay  # noqa: E402
import server  # noqa: E402
import server_cases  # noqa: E402
import transcripts  # noqa: E402
from messages import printable  # noqa: E402
from program import Failure  # noqa: E402

#: A case to run: its name, its sentence, and a function that returns a note, raises Failure or raises Unsupported.
Work = Tuple[str, str, Callable[[], Optional[str]]]


class Skipped(Exception):
    """The case cannot run here."""


def client_work(options: argparse.Namespace) -> List[Work]:
    def work(case: client.Case) -> Work:
        return case.name, case.about, lambda: client.run(case, options.command, options.timeout)
    return [work(case) for case in client_cases.all_cases()]


def server_work(options: argparse.Namespace) -> List[Work]:
    sandbox = options.sandbox or os.environ.get("EINLASS_SANDBOX")

    def play(transcript: transcripts.Transcript, way: server.Way) -> Optional[str]:
        if not sandbox and server.needs_sandbox(transcript):
            raise Skipped("needs the sandbox: --sandbox or EINLASS_SANDBOX")
        server.Player(transcript, options.command, sandbox, way).run()

    def work(transcript: transcripts.Transcript, way: server.Way, suffix: str) -> Work:
        return transcript.name + suffix, f"{transcript.header['about']} ({way.name})", lambda: play(transcript, way)

    found: List[Work] = []
    for transcript in transcripts.load():
        if options.thorough:
            found += [work(transcript, way, f" ({way.name})") for way in server.ways(transcript)]
        else:
            found.append(work(transcript, server.one_way(transcript), ""))
    for case in server_cases.CASES:
        found.append((case.name, case.about, lambda case=case: case.run(options.command)))
    return found


def run(works: Sequence[Work], jobs: int, verbose: bool) -> int:
    """Runs the cases and prints the verdicts. Returns the exit code: 1 for a failure."""
    def verdict(work: Work) -> Tuple[str, str, str, float]:
        name, _, function = work
        start = time.monotonic()
        try:
            kind, reason = "passed", function() or ""
        except Failure as failure:
            kind, reason = "FAILED", str(failure)
        except client.Unsupported as unsupported:
            kind, reason = "unsupported", str(unsupported)
        except Skipped as skipped:
            kind, reason = "skipped", str(skipped)
        return kind, name, reason, time.monotonic() - start

    counts = dict.fromkeys(("passed", "FAILED", "unsupported", "skipped"), 0)
    with ThreadPoolExecutor(jobs) as pool:
        for kind, name, reason, seconds in pool.map(verdict, works):
            counts[kind] += 1
            reason = printable(reason)
            if kind == "FAILED" or verbose:
                print(f"{kind:<11} {name} ({seconds:.2f} s){': ' if reason else ''}{reason}")
            elif kind != "passed":
                print(f"{kind:<11} {name}: {reason}")
    print(", ".join(f"{count} {kind.lower()}" for kind, count in counts.items() if count or kind == "passed"))
    return 1 if counts["FAILED"] or not works else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 protocol/conformance", description=__doc__.split(".")[0] + ".",
        epilog="Exit code 0: everything passed; 1: a case failed; 2: the command line is wrong.")
    parts = parser.add_subparsers(dest="part", required=True)
    for name, text in (("client", "plays the server against your client"),
                       ("server", "plays the client against a server")):
        part = parts.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        part.add_argument("--only", action="append", metavar="NAME", help="only these cases; * stands for any text")
        part.add_argument("--list", action="store_true", help="print the names of the cases and their sentences")
        part.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1), help="cases at the same time")
        part.add_argument("--timeout", type=float, default=20, help="seconds for a message, or for a whole client case")
        part.add_argument("--verbose", action="store_true", help="print the passed cases too")
        if name == "server":
            part.add_argument("--sandbox", metavar="PROGRAM", help="einlass-sandbox; default: EINLASS_SANDBOX")
            part.add_argument("--thorough", action="store_true", help="each transcript in each way of writing bytes")
        part.add_argument("command", nargs=argparse.REMAINDER, help="the program and its arguments")
    parts.add_parser("coverage", help="prints the parts of the document without a case",
                     description="Prints the methods, prompts, notifications, reasons and limits without a case.")
    part = parts.add_parser("replay", help="replays a file of einlass --trace",
                            description="Replays a file of einlass --trace and compares the answers.")
    replay.add_arguments(part)
    return parser


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    if options.part == "replay":
        return replay.main(options)
    if options.part == "coverage":
        return coverage.main()
    program.PATIENCE = options.timeout
    works = client_work(options) if options.part == "client" else server_work(options)
    if options.only:
        unknown = [name for name in options.only if not any(fnmatch.fnmatchcase(work[0], name) for work in works)]
        if unknown:
            parser.error(f"there is no case {' '.join(unknown)}; --list prints the names")
        works = [work for work in works if any(fnmatch.fnmatchcase(work[0], name) for name in options.only)]
    if options.list:
        print("".join(f"{name}\t{about}\n" for name, about, _ in works), end="")
        return 0
    if not options.command:
        parser.error("the command is missing")
    return run(works, options.jobs, options.verbose)


if __name__ == "__main__":
    sys.exit(main())
