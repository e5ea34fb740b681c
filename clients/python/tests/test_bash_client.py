"""clients/bash/sign-in: the same prompts, answered from bash."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SIGN_IN = Path(__file__).parents[2] / "bash/sign-in"
FAKE = str(Path(__file__).with_name("fake_server.py"))

pytestmark = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")


def sign_in(provider, typed):
    environment = {**os.environ, "EINLASS": sys.executable}
    done = subprocess.run([SIGN_IN, provider, FAKE, "--flow"], input=typed, env=environment,
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_the_account_that_was_chosen_signs_in():
    code, output, _ = sign_in("twitter", "y\n2\n")
    assert code == 0 and json.loads(output)["account"] == "a_2"


@pytest.mark.parametrize("typed", ["n\n", ""])
def test_without_access_no_credential_is_printed(typed):
    code, output, errors = sign_in("twitter", typed)
    assert (code, output) == (1, "") and "accessNotGranted, 1002" in errors


def test_a_problem_is_printed():
    code, output, errors = sign_in("banned", "")
    assert (code, output) == (1, "") and errors == "The account is suspended. (accountBanned, 1004)\n"


@pytest.mark.parametrize("arguments, binary, code, stdout, stderr", [
    (["--help"], "einlass", 0, "usage: sign-in PROVIDER", ""),
    ([], "einlass", 2, "", "usage: sign-in PROVIDER"),
    (["--store", "memory"], "einlass", 2, "", "usage: sign-in PROVIDER"),
    (["twitter"], "/nonexistent/einlass", 1, "", "sign-in: /nonexistent/einlass is missing."),
    (["twitter"], "true", 1, "", "sign-in: true ended before it answered."),
])
def test_a_wrong_start_is_explained(arguments, binary, code, stdout, stderr):
    done = subprocess.run([SIGN_IN, *arguments], env={**os.environ, "EINLASS": binary},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert done.stdout.startswith(stdout) and done.stderr.startswith(stderr)
    assert bool(done.stdout) == bool(stdout) and bool(done.stderr) == bool(stderr)
