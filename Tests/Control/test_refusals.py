"""Each failure is reported once, with a next step if there is one, and as JSON with --json."""
import json
import re
import shutil
import subprocess

import pytest

from control import CONTROL, EINLASS, run, with_passphrase
from terminal import PATIENCE


def test_a_next_step_repeats_the_options_of_the_store(store):
    code, output, errors = run("access", "set", "x", "nope", "granted", *store)
    assert (code, output) == (1, "")
    assert "(unknownProvider, 1020)" in errors
    assert f"next: Choose one of the providers: einlassctl providers list {' '.join(store[2:])} {' '.join(store[:2])}\n" in errors
    code, output, errors = run("access", "set", "x", "nope", "granted", "--json", *store)
    assert code == 1 and json.loads(output)["error"]["data"]["reason"] == "unknownProvider" and errors


def test_own_errors_have_the_json_form_of_einlass(two):
    for arguments, exit_code, reason in [
            (["accounts", "remove", "nobody", "--yes"], 1, "unusable"), (["accounts", "--provider", "nope"], 1, "unusable"),
            (["accounts", "remove", "ada"], 64, "usage")]:
        code, output, errors = run(*arguments, "--json", *two)
        error = json.loads(output)["error"]
        assert (code, error["data"]) == (exit_code, {"reason": reason}) and error["message"] in errors


@pytest.mark.parametrize("arguments, step", [
    (["accounts", "explain", "nobodyapp", "tencent-weibo"], "Sign in there: einlassctl sign-in tencent-weibo"),
    (["sign-in", "slack", "--flow", "deviceCode"], "Leave out --flow."),
    pytest.param(["store", "slots", "add", "secretservice"], "Or add a passphrase slot: einlassctl store slots add passphrase",
                 marks=pytest.mark.skipif(bool(shutil.which("secret-tool")), reason="there is a secret-tool")),
])
def test_the_next_step_fits_the_command(two, tmp_path, arguments, step):
    config = tmp_path / "config.json"
    config.write_text('{"applications": {"*": {"slack": {"clientId": "c"}}}}')
    config.chmod(0o600)
    code, output, errors = run(*arguments, *two, "--config", str(config))
    assert f"next: {step}" in output + errors, output + errors


def test_an_unneeded_broken_configuration_is_noted_once(two, tmp_path):
    typo = ["--config", str(tmp_path / "typo.json")]
    code, _, errors = run("accounts", "list", *two, *typo)
    assert code == 0 and re.fullmatch(r"   note: The configuration \S+ can't be used: it does not exist\. Correct that file\.\n", errors), errors
    for arguments in (["doctor"], ["sign-in", "github"]):
        code, output, errors = run(*arguments, *two, *typo)
        assert code == 1 and (output + errors).count("does not exist") == 1, output + errors
    # Without `initialize` the problem is logged.
    alone = subprocess.run([EINLASS, *two[2:], *typo, "call", "accounts.list"], capture_output=True, text=True, timeout=PATIENCE)
    assert alone.returncode == 78 and alone.stderr.count("does not exist") == 1, alone.stderr


@pytest.mark.parametrize("program", ["cat", "yes", "true"])
def test_a_program_other_than_einlass_is_reported_at_once(program):
    code, output, errors = run("accounts", "--einlass", shutil.which(program))
    assert (code, output) == (70, "") and errors.startswith("problem: ")
    assert "did not answer like einlass. Name einlass with --einlass" in errors or program == "true"


def test_a_silent_program_is_not_called_foreign(tmp_path):
    program = tmp_path / "silent"
    program.write_text("#!/bin/sh\nexec sleep 20\n")
    program.chmod(0o700)
    code, output, errors = run("accounts", "--einlass", str(program))
    assert (code, output) == (70, "") and "gave no answer. If it is einlass, look at the disk or the database" in errors


@pytest.mark.parametrize("arguments", [
    ["accounts", "import", "/nope"], ["accounts", "add", "/nope"], ["providers", "add", "/nope"],
    ["accounts", "rename", "ada", "\u202e"], ["accounts", "export", "/nope/x"],
])
def test_a_fault_of_a_named_file_has_no_step_about_the_store(two, arguments):
    code, _, errors = with_passphrase(*arguments, *two)
    assert code == 1 and "doctor" not in errors and "Restore" not in errors


def test_a_removed_working_directory_requires_absolute_paths(two, tmp_path):
    folder = tmp_path / "gone"
    for command in ("store", "backup"), ("accounts", "import"):
        folder.mkdir()
        line = f"cd {folder} && rmdir {folder} && exec {' '.join([CONTROL, *command, 'copy.db', *two])}"
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        assert done.returncode == 1 and "problem: The current folder no longer exists." in done.stderr, done.stderr
