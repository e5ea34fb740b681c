"""protocol/conformance: einlass, the clients and broken ones are held against the cases, and traces are replayed.

    python -m pytest Tests/Processes/test_conformance.py
"""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rotation import EINLASS, SANDBOX

pytestmark = pytest.mark.usefixtures("built")

ROOT = Path(__file__).parents[2]
KIT = ROOT / "protocol/conformance"
PERL = KIT / "example/client.pl"
#: Without the packages of this environment: the kit needs the standard library alone.
PYTHON = [sys.executable, "-S", "-E"]


def kit(*arguments, folder=KIT, seconds=900):
    environment = {**os.environ, "EINLASS_SANDBOX": str(SANDBOX)}
    done = subprocess.run([*PYTHON, folder, *map(str, arguments)], capture_output=True, text=True, timeout=seconds,
                          env=environment, stdin=subprocess.DEVNULL)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def failed(output):
    return set(re.findall(r"^FAILED +(\S+)", output, re.M))


def only(*names):
    return [part for name in names for part in ("--only", name)]


def test_einlass_follows_every_transcript_and_keeps_every_limit():
    thorough = ["--thorough"] if int(os.environ.get("EINLASS_FAULT_ROUNDS", "50")) >= 100 else []
    code, output = kit("server", *thorough, "--jobs", 2, "--timeout", 60, EINLASS)
    assert code == 0 and re.fullmatch(r"\d+ passed\n", output), output
    assert int(output.split()[0]) > 330


def test_without_a_sandbox_the_transcripts_of_providers_are_left_out():
    done = subprocess.run([*PYTHON, KIT, "server", *only("wire/batch", "accounts.signIn/browser"), str(EINLASS)],
                          capture_output=True, text=True, timeout=60,
                          env={name: value for name, value in os.environ.items() if name != "EINLASS_SANDBOX"})
    assert done.returncode == 0 and "skipped     accounts.signIn/browser: needs the sandbox" in done.stdout
    assert "1 passed, 1 skipped" in done.stdout


#: A server that relays einlass and spoils its output.
RELAY = """#!{python}
import os, re, subprocess, sys
server = subprocess.Popen([{einlass!r}, *sys.argv[1:]], stdout=subprocess.PIPE)
while line := os.read(server.stdout.fileno(), 65536):
    line = {spoil}
    while line:
        line = line[os.write(1, line):]
sys.exit(server.wait())
"""
FAULTS = [
    ("line", set()),  # the control: a relay that spoils nothing
    ("line.replace(b'\"retryable\":true', b'\"retryable\":false')", {"limits/runningFlows"}),
    ("b'' if b'notBatchable' in line else line", {"wire/batch"}),
    ("re.sub(rb'\"id\":(\\d+)', rb'\"id\":\"\\1\"', line)",
     {"wire/batch", "limits/runningFlows", "limits/nesting", "users.current/none"}),
    ("b'[]\\n' if b'tooDeep' in line else line", {"limits/nesting"}),
]


@pytest.mark.parametrize("spoil, broken", FAULTS, ids=["nothing", "retryable", "lost", "ids", "foreign"])
def test_a_broken_server_fails_the_right_cases(tmp_path, spoil, broken):
    relay = tmp_path / "relay"
    relay.write_text(RELAY.format(python=sys.executable, einlass=str(EINLASS), spoil=spoil))
    relay.chmod(0o755)
    cases = only("wire/batch", "limits/runningFlows", "limits/nesting", "users.current/none")
    code, output = kit("server", "--timeout", 5, "--jobs", 4, *cases, relay)
    assert (failed(output), code) == (broken, 1 if broken else 0), output


@pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")
def test_a_small_client_in_perl_passes_every_case():
    code, output = kit("client", "--jobs", 2, "--timeout", 60, "perl", PERL)
    assert code == 0 and re.fullmatch(r"\d+ passed\n", output), output
    assert int(output.split()[0]) > 300


#: Changes of the client in Perl, and the cases that must notice. The others of the group pass.
DEFECTS = [
    ("package Einlass", "package Einlass", set()),  # the control: nothing is changed
    ("return {ended => $self->close};", "return {ended => 0};",
     {"end/within-an-answer", "end/exit-code", "end/killed", "end/at-once"}),
    ("close $self->{to};", "close $self->{to}; close $self->{from};", {"end/output-after-input"}),
    ("&& !$self->{kinds}{$params->{kind}}", "&& 0", {"compatibility/prompt"}),
    ("action => 'cancel'", "action => 'decline'", {"compatibility/prompt"}),
    ("return 0 unless $count;", "return 0 unless $count; $self->{buffer} =~ s/\\xe2\\x80\\xa8/\\n/g;",
     {"wire/characters", "wire/any-order", "compatibility/prompt"}),
    ("$self->{answers}{$message->{id}}", "$self->{answers}{++$self->{order}}",
     {"wire/any-order", "prompts/decline", "compatibility/prompt"}),
    ("params => {id => $id}", "params => {id => \"$id\"}", {"cancel/cancelled", "cancel/too-late"}),
    ("{%$members, prompt => $prompt}", "{prompt => $prompt}", {"compatibility/prompt", "prompts/decline"}),
]


@pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")
@pytest.mark.parametrize("old, new, broken", DEFECTS)
def test_a_broken_client_fails_the_right_cases(tmp_path, old, new, broken):
    client = changed_client(tmp_path, old, new)
    cases = only("wire/any-order", "wire/characters", "end/*", "compatibility/prompt", "cancel/*", "prompts/decline")
    code, output = kit("client", "--timeout", 4, "--jobs", 4, *cases, "perl", client)
    assert (failed(output), code) == (broken, 1 if broken else 0), output


def changed_client(tmp_path, old, new):
    text = PERL.read_text()
    assert old in text
    client = tmp_path / "client.pl"
    client.write_text(text.replace(old, new))
    return client


PRINT = "print $json->encode($einlass->wait($ids{$step->{await}}))"
BUFFER = "return 0 unless $count;"
#: Changes of the client in Perl, a case, and the texts of its failure.
FAILURES = [
    ("processId => $$", "processId => \"$$\"", "wire/bytes",
     ["initialize: /processId: expected the type integer, got \""]),
    ("processId => $$, %$params", "%$params, processId => 0", "wire/bytes", ["/processId: minimum is 1, got 0"]),
    ("processId => $$, %$params", "%$params, client => {name => \"a\\n\"}", "wire/bytes",
     ["/client/name: the text has a character that is not allowed"]),
    ("processId => $$, %$params", "%$params, client => {name => 'me'}", "wire/bytes",
     ["initialize: /client/name: expected \"conformance\", got \"me\""]),
    ("for my $index (0 ..", "for my $index (reverse 0 ..", "notifications/two",
     ["line 2: /params/revision: expected 8, got 9"]),
    ("$einlass->wait_for_prompt($step->{answer});", "", "prompts/answer-when-open",
     ["the server saw: the prompt \"p_page\" is answered, and is not open"]),
    ("prompt => $prompt});", "prompt => $prompt}) for 1, 2;", "prompts/decline",
     ["the prompt \"p_access\" is answered twice"]),
    ("&& !$self->{kinds}{$params->{kind}}", "&& 0", "compatibility/prompt",
     ["no end within 4 s", "the server waits for {\"id\":\"c\",\"method\":\"prompt.answer\"",
      "its last line: {\"jsonrpc\":\"2.0\",\"method\":\"prompt.opened\"",
      "the client's last line: {\"id\":2,", "printed 0 of 1 lines, next is {\"result\":"]),
    (BUFFER, BUFFER + " $self->{buffer} =~ s/Ada/Eve/;", "wire/bytes",
     ['line 1: /result/accounts/0/displayName: expected "Ada ä ✓ 😀 \\u2028 \\u2029 \\u0085 Λ", got "Eve']),
    (BUFFER, BUFFER + " $self->{buffer} =~ s/(?:ä){9}/ö/;", "wire/longest-line",
     ["/result/accounts/0/displayName: from character 0 expected \"ä", "got \"öä"]),
    (BUFFER, BUFFER + " $self->{buffer} =~ s/\"accounts\":\\[\\]/\"accounts\":{}/;", "end/output-after-input",
     ["line 1: /result/accounts: expected [], got {}"]),
    ('. "\\n";\n        while', '. "\\xe4\\n";\n        while', "wire/bytes",
     ["the server saw: the client sent a line that is not UTF-8 at byte "]),
    ('. "\\n";\n        while', '. "]\\n";\n        while', "wire/bytes",
     ["the server saw: the client sent a line that is not JSON at character "]),
    (PRINT, PRINT.replace("print", "").replace("))", ")), print '{'"), "wire/bytes",
     ["line 1 of the client's output is not JSON at character 1: {"]),
    (PRINT, PRINT.replace("print ", "1; "), "wire/bytes", ['line 1: expected {"result":', ", got no line\n"]),
    ("$einlass->close;", "$einlass->close; exit 3;", "wire/bytes",
     ["): the exit code is 3, and standard error is empty\n"]),
    ("$einlass->close;", "$einlass->close; die 'because';", "wire/bytes", ["): the exit code is 255: because at "]),
    ("my $program = find();", "my $program = 'true';", "wire/bytes", ["did not start the program that EINLASS names"]),
]


@pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")
@pytest.mark.parametrize("old, new, case, texts", FAILURES)
def test_a_failure_says_what_is_wrong(tmp_path, old, new, case, texts):
    seconds = 4 if "no end" in texts[0] else 60
    code, output = kit("client", "--timeout", seconds, *only(case), "perl", changed_client(tmp_path, old, new))
    assert code == 1 and failed(output) == {case}, output
    assert all(text in output for text in texts), output
    assert '"ended":70' not in output and not re.search("[\x85\u2028\u2029]|b'", output), output


@pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")
def test_a_client_may_send_shutdown_and_leave_the_input_open(tmp_path):
    client = changed_client(tmp_path, "close $self->{to};", "$self->request('shutdown', {});")
    code, output = kit("client", "--timeout", 10, *only("wire/bytes", "end/output-after-input"), "perl", client)
    assert (code, output) == (0, "2 passed\n")


def test_each_name_of_only_is_a_case():
    done = subprocess.run([*PYTHON, KIT, "client", *only("wire/bytes", "wire/nope", "end/*"), "false"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "there is no case wire/nope;" in done.stderr and not done.stdout


@pytest.mark.parametrize("adapter", [["perl", PERL], [sys.executable, ROOT / "clients/python/tests/adapter.py"]],
                         ids=["perl", "python"])
def test_an_adapter_that_hears_sees_the_end(tmp_path, adapter):
    if not shutil.which(adapter[0]):
        pytest.skip("perl is not installed")
    server = tmp_path / "einlass"
    server.write_text("#!/bin/sh\nread -r line\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'\nexit 3\n")
    server.chmod(0o755)
    task = {"case": "c", "initialize": {"client": {"name": "c"}, "capabilities": {"prompts": []}},
            "steps": [{"hear": "accounts.changed"}]}
    done = subprocess.run(adapter, input=json.dumps(task) + "\n", capture_output=True, text=True, timeout=60,
                          env={**os.environ, "EINLASS": str(server)})
    assert (json.loads(done.stdout), done.returncode) == ({"ended": 3}, 0), done.stderr


#: An adapter of the program of the guide, for cases with one request after the other.
GUIDE_ADAPTER = """
import sys
task = json.loads(sys.stdin.readline())
einlass = Einlass("conformance", "Conformance", {kind: None for kind in task["initialize"]["capabilities"]["prompts"]})
for step in task["steps"]:
    if "request" in step:
        try:
            print(json.dumps({"result": einlass.request(step["method"], **step["params"])}))
        except BrokenPipeError:
            code = einlass.process.wait()
            print(json.dumps({"ended": code if code >= 0 else 128 - code}))
einlass.close()
"""
#: Changes of the program of the guide, and the cases that must notice.
GUIDE_DEFECTS = [
    ("", "", set()),  # the control: nothing is changed
    ("finally:", "except MemoryError:", {"end/killed", "end/within-an-answer"}),
    ('self.questions.get(prompt["kind"])', 'self.questions[prompt["kind"]]', {"compatibility/prompt"}),
    ('os.environ.get("EINLASS")', '"true"', {"wire/characters", "compatibility/members", "compatibility/prompt",
                                               "end/killed", "end/within-an-answer"}),
]


@pytest.mark.parametrize("old, new, broken", GUIDE_DEFECTS)
def test_the_program_of_the_guide_is_a_sound_client(tmp_path, old, new, broken):
    program = re.search(r"```python\n(.*?)\n\n\ndef allow", (ROOT / "protocol/GUIDE.md").read_text(), re.S)[1]
    assert old in program
    client = tmp_path / "client.py"
    client.write_text((program.replace(old, new) if old else program) + GUIDE_ADAPTER)
    cases = only("wire/characters", "compatibility/members", "compatibility/prompt", "end/killed",
                 "end/within-an-answer")
    code, output = kit("client", "--timeout", 8, *cases, sys.executable, client)
    assert (failed(output), code) == (broken, 1 if broken else 0), output


def test_a_client_that_cannot_do_a_case_says_so(tmp_path):
    client = tmp_path / "client.sh"
    client.write_text("read -r task; echo '{\"unsupported\": \"nothing works\"}'\n")
    code, output = kit("client", *only("wire/bytes"), "sh", client)
    assert (code, output) == (0, "unsupported wire/bytes: nothing works\n0 passed, 1 unsupported\n")


def test_every_part_of_the_document_has_a_case(tmp_path):
    code, output = kit("coverage")
    assert code == 0, output
    # The control: without its transcript, a method and a prompt are missed.
    shutil.copytree(ROOT / "protocol", tmp_path / "protocol")
    for name in ("exit", "accounts.signIn/pasted-address-does-not-fit.jsonl", "accounts.signIn/expired-proof.jsonl"):
        path = tmp_path / "protocol/transcripts" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    code, output = kit("coverage", folder=tmp_path / "protocol/conformance")
    missing = set(re.findall(r"^MISSING (.*)$", output, re.M))
    assert code == 1 and missing == {"method: exit", "prompt of a server: enterVerifier",
                                     "reason of a server: verificationFailed"}, output


@pytest.mark.parametrize("name", re.findall(r"Tests/[\w/.]+", (KIT / "coverage.py").read_text()))
def test_an_exception_names_a_test(name):
    assert (ROOT / name).exists()


# Record and replay


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """The trace of a session with a person, secrets that come again, a wrong password and an open sign-in."""
    messages = [
        ("initialize", {"client": {"name": "replay"}, "processId": os.getpid(),
                        "capabilities": {"prompts": ["openURL"]},
                        "applications": {"github": {"clientId": "id", "clientSecret": "s3cret"}}}),
        ("accounts.add", {"provider": "twitter", "username": "ada", "subject": "1", "credential": {
            "type": "oauth1", "key": "1-key", "secret": "s3cret", "clientId": "id", "clientSecret": "other"}}),
        ("access.set", {"provider": "twitter", "state": "granted"}),
        ("accounts.list", {}),
        ("accounts.list", {"misspelled": "s3cret"}),
        ("users.create", {"email": "ada@example.org", "password": "difference"}),
        ("users.signInWithPassword", {"email": "ada@example.org", "password": "wrong"}),
        ("accounts.signIn", {"provider": "github"}),
        ("prompt.list", {}),
    ]
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    server = subprocess.Popen([EINLASS, "--store", "memory", "--trace", path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    for number, (method, params) in enumerate(messages):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        awaited = b'"prompt.opened"' if method == "accounts.signIn" else b'"id":%d,' % number
        while awaited not in server.stdout.readline():
            pass
    server.communicate()
    assert server.returncode == 0 and "s3cret" not in path.read_text()
    assert "example.org" not in path.read_text()
    return path


def test_a_trace_is_replayed(trace):
    code, output = kit("replay", trace, "--", EINLASS, "--store", "memory")
    assert code == 0 and output.endswith(": 0 differences\n"), output


@pytest.mark.parametrize("line", ["null", "[1]", "{}", '{"t": "1", "dir": "in", "msg": {}}', '{"t": 1, "dir": "in", "msg": []}',
                                  '{"t": 1, "dir": "in", "msg": {"params": 3}}', '{"t": 1, "dir": "up", "msg": {}}', "{"])
def test_a_line_that_is_no_entry_is_named(trace, tmp_path, line):
    other = tmp_path / "other.jsonl"
    first = trace.read_text().splitlines()[0]
    other.write_text(f"{first}\n{line}\n")
    code, output = kit("replay", other, "--", EINLASS, "--store", "memory")
    assert code == 1 and output.startswith("FAILED line 2 is no entry of a trace: "), output


def test_a_line_without_an_end_is_left_out(trace, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(trace.read_text() + '{"t": 1, "dir": "in", "m')
    code, output = kit("replay", other, "--", EINLASS, "--store", "memory")
    assert code == 0, output


def test_other_answers_than_those_of_the_trace_are_shown(trace, tmp_path):
    edits = {'"wrongPassword"': ('"userNotFound"', "/error/data/reason"),
             '"provider":"twitter"': ('"provider":"facebook"', "/provider"),
             '"change":"added"': ('"change":"removed"', "/change")}
    # The answers alone: a changed request would be another conversation.
    lines = trace.read_text().splitlines()
    for old, (new, _) in edits.items():
        assert any(old in line for line in lines)
        lines = [line.replace(old, new) if '"dir":"out"' in line else line for line in lines]
    edited = tmp_path / "edited.jsonl"
    edited.write_text("\n".join(lines) + "\n")
    code, output = kit("replay", "--timeout", 30, edited, "--", EINLASS, "--store", "memory")
    assert code == 1 and output.count("DIFFERENT line") >= 3, output
    for _, shown in edits.values():
        assert f"{shown}: expected" in output, output


def test_the_same_hidden_value_has_the_same_number(trace):
    hidden = {}
    for line in trace.read_text().splitlines():
        params = json.loads(line)["msg"].get("params", {})
        for name in ("password", "misspelled"):
            hidden.setdefault(name, []).extend([params[name]] if name in params else [])
        if "applications" in params:
            hidden["client"] = params["applications"]["github"]["clientSecret"]
        if "credential" in params:
            hidden["credential"] = params["credential"]
    right, wrong = hidden["password"]
    assert right != wrong
    assert hidden["misspelled"] == [hidden["client"]] and re.fullmatch(r"\[hidden \d+\]", hidden["client"])
    credential = hidden["credential"]
    assert credential["type"] == "oauth1" and credential["secret"] == hidden["client"] != credential["clientSecret"]
