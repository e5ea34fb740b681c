"""The command line."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Optional, Sequence

ABOUT = """\
Without a command, einlass starts this program: {"prompter": ["/absolute/path/of/einlass-prompter"]} in
~/.config/einlass/config.json. It then asks for programs that cannot ask, such as git.

`einlass-prompter sign-in [PROVIDER]` shows a whole sign-in and prints the account's id.
Exit code 0: signed in; 1: a problem; 2: the command line is wrong; 3: cancelled.
"""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    try:
        from . import widgets
    except (ImportError, ValueError) as error:
        print(f"einlass-prompter needs python3-gi and gir1.2-gtk-3.0: {error}", file=sys.stderr)
        return 1
    if not widgets.prepare():
        return without_display(options)
    if options.command == "sign-in":
        from . import sign_in

        return sign_in.run(options)
    from . import standard_io

    return standard_io.run()


def without_display(options: argparse.Namespace) -> int:
    """Lets einlassctl ask at the terminal, for example over SSH."""
    beside = str(Path(sys.argv[0]).resolve().parent)
    control = shutil.which("einlassctl") or shutil.which("einlassctl", path=beside)
    if control and not options.command:
        os.execv(control, [control, "prompter"])
    print("einlass-prompter has no display. At a terminal, use einlassctl.", file=sys.stderr)
    return 1


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="einlass-prompter", description=ABOUT,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    sign_in = commands.add_parser("sign-in", help="show a sign-in")
    sign_in.add_argument("provider", nargs="?", metavar="PROVIDER", help="its id; without it the person chooses")
    sign_in.add_argument("--application", metavar="NAME", default="einlass-prompter",
                         help="the application that may then use the account (default: %(default)s)")
    sign_in.add_argument("--title", help="its name for people")
    sign_in.add_argument("--account", metavar="ID", help="only this account may sign in")
    sign_in.add_argument("--flow", metavar="KIND", help="a kind of flow, such as deviceCode")
    sign_in.add_argument("--server", metavar="ADDRESS", help="the person's own server, for a login with a password")
    options = parser.parse_args(arguments)
    if options.command is None and sys.stdin.isatty():
        parser.error("einlass starts this program. A person starts: einlass-prompter sign-in [PROVIDER]")
    return options
