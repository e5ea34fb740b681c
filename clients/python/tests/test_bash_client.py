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
    code, output, _ = sign_in("twitter", "1\n2\n")
    assert code == 0 and json.loads(output)["account"] == "a_2"


@pytest.mark.parametrize("typed", ["2\n", ""])
def test_without_access_no_credential_is_printed(typed):
    code, output, errors = sign_in("twitter", typed)
    assert (code, output) == (1, "") and "accessNotGranted, 1002" in errors


def test_a_problem_is_printed():
    code, output, errors = sign_in("banned", "")
    assert (code, output) == (1, "") and errors == (
        "The account is suspended. (accountBanned, 1004)\nnext: Ask the provider (https://chirp.example/help).\n")


def answering(folder, **answer):
    """Signs in at a server that answers every request with this. Returns the arguments and the environment."""
    server = folder / "server.py"
    server.write_text(f"""#!{sys.executable}
import json, sys
for line in sys.stdin:
    print(json.dumps({{"jsonrpc": "2.0", "id": json.loads(line)["id"], **{answer!r}}}), flush=True)
""")
    server.chmod(0o700)
    return [SIGN_IN, "github"], {**os.environ, "EINLASS": server}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_an_output_that_takes_nothing_is_a_problem(tmp_path):
    arguments, environment = answering(tmp_path, result={"account": "a_1", "credential": {"secret": "s_1"}})
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "w") as full, os.fdopen(writer, "w") as closed:
        for output in (full, closed):
            done = subprocess.run(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
            assert done.returncode == 1, done.stderr
            assert done.stderr.endswith("sign-in: the credential cannot be written.\n") and "null" not in done.stderr


@pytest.mark.parametrize("step, options, shown", [
    ({}, [], "next: Do it."),
    ({"method": "access.reset", "params": {"provider": "github"}}, [], "next: Do it: einlassctl access reset bash github"),
    ({"method": "providers.configure", "params": {"provider": "github"}}, ["--store", "memory"],
     "next: Do it: einlassctl providers configure github --store memory"),
    ({"method": "access.set", "params": {"provider": "github"}}, [], "next: Do it: einlassctl access set bash github granted"),
    ({"method": "accounts.signIn", "params": {"provider": "github"}}, [], "next: Do it: einlassctl sign-in github"),
    ({"method": "accounts.add", "params": {"provider": "github"}}, [], "next: Do it: einlassctl accounts add"),
    ({"method": "accounts.add", "params": {"replace": True}}, [], "next: Do it: einlassctl accounts add --replace"),
    ({"method": "providers.list", "params": {}}, [], "next: Do it: einlassctl providers list"),
    ({"method": "access.later", "params": {}}, [], "next: Do it."),
    ({"command": "chmod go-rwx '/a b'"}, [], "next: Do it: chmod go-rwx '/a b'"),
    ({"command": "chmod go-rwx '/a b'"}, ["--store", "memory"], "next: Do it: chmod go-rwx '/a b'"),
    ({"command": "einlassctl store unlock --for 8h"}, [], "next: Do it: einlassctl store unlock --for 8h"),
    ({"command": "einlassctl store unlock --for 8h"}, ["--store", "memory"],
     "next: Do it: einlassctl store unlock --for 8h --store memory"),
])
def test_the_next_step_names_a_command(tmp_path, step, options, shown):
    check_next(tmp_path, {"next": [{"label": "Do it", **step}]}, options, shown)


def test_a_server_of_ones_own_is_named_to_einlassctl_which_asks_for_it(tmp_path):
    check_next(tmp_path, {"path": "/server/host", "next": [{"label": "Do it"}]}, [], "next: Do it: einlassctl sign-in github")


def check_next(tmp_path, members, options, shown):
    data = {"reason": "accessNotGranted", "provider": "github", **members}
    arguments, environment = answering(tmp_path, error={"code": 1002, "message": "Not granted.", "data": data})
    done = subprocess.run([*arguments, *options], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == ["Not granted. (accessNotGranted, 1002)", shown]


@pytest.mark.parametrize("arguments, binary, code, stdout, stderr", [
    (["--help"], "einlass", 0, "usage: sign-in PROVIDER", ""),
    ([], "einlass", 2, "", "usage: sign-in PROVIDER"),
    (["--store", "memory"], "einlass", 2, "", "usage: sign-in PROVIDER"),
    (["twitter"], "/nonexistent/einlass", 1, "", "sign-in: /nonexistent/einlass is missing."),
    (["twitter"], "true", 1, "", "sign-in: true ended before it answered."),
    (["twitter"], "/bin/cat", 1, "", "sign-in: /bin/cat does not answer like einlass. Name einlass in the variable"),
    (["twitter", "deviceCode", "30"], "sleep", 1, "", "sign-in: sleep does not answer like einlass."),
    (["twitter", "deviceCode", "hello"], "echo", 1, "", "sign-in: echo does not answer like einlass."),
])
def test_a_wrong_start_is_explained(arguments, binary, code, stdout, stderr):
    done = subprocess.run([SIGN_IN, *arguments], env={**os.environ, "EINLASS": binary},
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert done.stdout.startswith(stdout) and done.stderr.startswith(stderr)
    assert bool(done.stdout) == bool(stdout) and bool(done.stderr) == bool(stderr)


def test_no_message_is_a_here_string():
    """Bash before 5.1 writes a here-string into a file, and a message may have a password or a token."""
    assert "<<<" not in SIGN_IN.read_text()


def test_a_prompt_without_words_is_cancelled():
    script = f"source {SIGN_IN}; answer() {{ echo \"$@\"; }}; line='{{\"params\": {{\"prompt\": \"p_1\"}}}}'; draw"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cancel\n", "")


def test_a_field_of_an_unknown_type_is_hidden():
    script = f"source {SIGN_IN}; members={{}}; ask() {{ echo \"$@\"; reply=12; }}; enter pin digits false PIN"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "PIN -s\n"), done.stderr


KIT = Path(__file__).parents[3] / "protocol/conformance"
sys.path.append(str(KIT))
from pseudo import shown as in_pseudo  # noqa: E402

PROMPTS = {entry["prompt"]["kind"]: entry["prompt"] for entry in json.loads((KIT / "prompts.json").read_text())}


@pytest.mark.parametrize("language", [lambda show: show, in_pseudo], ids=["english", "pseudo"])
@pytest.mark.parametrize("kind, typed, answer", [
    ("grantAccess", "1\n", {"action": "accept"}), ("grantAccess", "2\n", {"action": "decline"}),
    ("grantAccess", "9\n", {"action": "cancel"}), ("grantAccess", "", {"action": "cancel"}),
    ("selectAccount", "2\n", {"action": "accept", "account": "a_grace"}),
    ("selectAccount", "3\na_alan\n", {"action": "accept", "account": "a_alan"}),
    ("confirmAccount", "1\n", {"action": "accept"}), ("replaceAccount", "2\n", {"action": "accept"}),
    ("openURL", "com.x:/cb?code=1\n", {"action": "accept", "redirectURL": "com.x:/cb?code=1"}),
    ("deviceCode", "", {"action": "accept"}), ("enterVerifier", "12\n", {"action": "accept", "text": "12"}),
    ("enterPassphrase", "a \\\" b\na \\\" b\n", {"action": "accept", "passphrase": "a \\\" b"}),
    ("enterPassphrase", "one\ntwo\n", {"action": "cancel"}),
    ("enterPassword", "bob\ntrue\ny\n",
     {"action": "accept", "username": "bob", "password": "true", "remember": True}),
    ("enterPassword", "bob\n\n", {"action": "cancel"}), ("trustCertificate", "1\n", {"action": "accept"}),
    ("trustCertificate", "", {"action": "cancel"}),
])
def test_each_kind_of_prompt_is_drawn_and_answered(tmp_path, kind, typed, answer, language):
    show = language(PROMPTS[kind]["show"])
    show = {**show, "text": ["clear\x1b[2J", *show.get("text", [])]}
    server = tmp_path / "server.py"
    server.write_text(f"""
import json, sys
def send(**message): print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "auth.perform":
        assert message["params"] == {{"provider": "github", "signIn": "ifNeeded", "flowKind": "deviceCode"}}
        send(method="prompt.opened", params={{"prompt": "p_1", "kind": {kind!r}, "show": {show!r}}})
    elif message["method"] == "prompt.answer":
        send(id=2, result=message["params"])
    else:
        send(id=message["id"], result={{}})
""")
    environment = {**os.environ, "EINLASS": sys.executable, "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    done = subprocess.run([SIGN_IN, "github", "deviceCode", server], env=environment, capture_output=True, text=True,
                          timeout=60, input=typed)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"prompt": "p_1", **answer}
    assert "clear?[2J" in done.stderr and "\x1b" not in done.stderr
    for text in [show["title"], *show["text"][1:], show.get("warning"), show.get("code"), show.get("page", {}).get("url")]:
        assert (text or "") in done.stderr
