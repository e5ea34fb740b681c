"""The output fits the terminal and cannot steer it, and each command restores the terminal's mode."""
import json
import os
import re
import signal
import unicodedata
from pathlib import Path

import pytest

from control import CONTROL, CONTROLS, fake, run
from terminal import Terminal


def test_names_cannot_steer_the_terminal_or_a_json_reader():
    for arguments in (["accounts"], ["accounts", "--json"], ["access", "reset", "x", "y"]):
        _, output, errors = run(*arguments, *fake("evil"))
        assert output + errors and not CONTROLS.search(output + errors), repr(output + errors)
    assert "\x1b" in json.loads(run("accounts", "--json", *fake("evil"))[1])["accounts"][3]["username"]


def width(text):
    """Returns the width in columns, by Python's Unicode tables."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("command", ["audit", "accounts", "access", "providers", "store"])
def test_tables_break_no_word_and_cut_no_time(two, columns, command):
    run("access", "set", "a vendor's application of many words, which is shown in full", "twitter", "granted",
        "--permission", "publish", "--permission", "photographs", *two)
    run("accounts", "rename", "ada", "阿达 洛芙莱斯 伯爵夫人 👩 Łuße, the Enchantress of Numbers", *two)
    with Terminal([CONTROL, command, *two], columns=columns, NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    whole = set(re.findall(r"[^\s:]+", run(command, *two)[1]))
    shown = set(re.findall(r"[^\s:]+", terminal.shown))
    assert shown <= whole and (shown == whole or columns < 200), whole - shown
    assert "…" not in terminal.shown
    assert all(width(line) <= columns for line in terminal.shown.splitlines() if not re.search(r"(^|\s)/", line))


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("what, question", [("passphrase", "Passphrase"), ("list", "Which account?")])
def test_leaving_a_question_restores_the_terminal(how, what, question):
    command = ["store", "check"] if what == "passphrase" else ["accounts", "remove"]
    with Terminal([CONTROL, *command, *fake(what)]) as terminal:
        terminal.wait_for(question)
        if how == "Ctrl-C":
            terminal.type("\x03")
        else:
            os.kill(terminal.process, getattr(signal, how))
        assert terminal.end() == 1


def child_of(process):
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                return int(entry.name)
        except OSError:
            pass  # the process has ended meanwhile
    raise AssertionError("there is no child")


def test_a_question_ends_when_einlass_ends():
    with Terminal([CONTROL, "store", "check", *fake("passphrase")]) as terminal:
        terminal.wait_for("Passphrase")
        os.kill(child_of(terminal.process), signal.SIGKILL)
        assert terminal.end() == 70


def test_an_expired_question_ends():
    with Terminal([CONTROL, "store", "check", *fake("expires")]) as terminal:
        assert terminal.end() == 1 and "(flowExpired, 1014)" in terminal.shown


def test_a_long_operation_shows_progress_and_ends_with_ctrl_c(tmp_path):
    output = tmp_path / "output"
    with Terminal([CONTROL, "store", "check", *fake("progress")], output=output) as terminal:
        terminal.wait_for("… 50 %")
        assert terminal.end() == 0
    assert output.read_text() == "Sound: 4 accounts and 8 sealed values read.\n"
    with Terminal([CONTROL, "store", "check", *fake("slow")]) as terminal:
        terminal.wait_for("… 1 %")
        os.kill(terminal.process, signal.SIGINT)
        assert terminal.end() == 1 and "Cancelled." in terminal.shown


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_tables_fit_the_terminal_and_respect_no_color(two, columns):
    run("accounts", "rename", "ada", "Augusta Ada King, Countess of Lovelace, the Enchantress of Numbers", *two)
    with Terminal([CONTROL, "accounts", *two], columns=columns) as terminal:
        assert terminal.end() == 0
        shown = terminal.shown
    with Terminal([CONTROL, "accounts", *two], columns=columns, NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        plain = terminal.shown
    assert "\x1b[1m" in shown or columns < 80
    assert "\x1b[32mok\x1b[0m" in shown
    assert "\x1b" not in plain and plain == re.sub("\x1b\\[\\d+m", "", shown)
    assert all(len(line) <= max(columns, 28) for line in plain.splitlines())


def test_a_command_in_the_background_ends(two, tmp_path):
    """A background process that sets the terminal's mode is stopped by SIGTTOU."""
    output, command = tmp_path / "listed", " ".join(["accounts", "list", *two])
    script = f"set -m; {CONTROL} {command} >{output} 2>&1 & wait $!; echo ended $?"
    with Terminal(["/bin/bash", "-c", script]) as terminal:
        terminal.wait_for("ended 0")
        terminal.end()
    assert "ada" in output.read_text()
