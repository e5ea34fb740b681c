"""Plays the server against a client under test. `README.md` has the contract between the kit and the client."""
import contextlib
import functools
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from fake import GREASE
from messages import difference, quoted, read, shortened
from program import Failure
from schema import inlined
from standins import Standins
from transcripts import Transcript, document, outs

#: A new process has the files of all threads until it starts its program. The program of a case must not be open for
#: writing there, because it could not be started (ETXTBSY).
STARTING = threading.Lock()

CUTS = ("whole", "bytes", "stall", "pieces", "characters")
#: Members with the client's own ids.
OWN_IDS = {"requests", "request"}


class Unsupported(Exception):
    """The client says that it cannot do this."""


class Case(NamedTuple):
    """One conversation. `steps` are the client's, `server` those of the fake server, `lines` the expected output."""

    name: str
    about: str
    initialize: Dict[str, Any]
    steps: List[Dict[str, Any]]
    server: List[Dict[str, Any]]
    lines: List[Dict[str, Any]]
    cut: str = "whole"
    grease: bool = False
    hello_id: Any = "initialize"
    exit_code: int = 0


class Ended(NamedTuple):
    """The end of a client under test. Without a `code`, it did not end in time."""

    output: bytes
    errors: str
    code: Optional[int]
    #: The faults that the server saw; `None` if it did not end.
    faults: Optional[List[str]]
    #: The last `state` of the server, and the last messages `to` and `from` the client.
    log: Dict[str, str]


def hello(*prompts: str) -> Dict[str, Any]:
    return {"client": {"name": "conformance", "title": "Conformance"}, "capabilities": {"prompts": sorted(prompts)}}


def fits(transcript: Transcript) -> bool:
    """Whether a client can have this conversation: whole messages, each prompt answered once and with success."""
    opened, requests, answered = set(), {}, set()
    for index, step in enumerate(transcript.steps):
        message = step.get("in", {})
        if {"bytes", "eof", "exit"} & set(step) or not isinstance(message, dict) or "method" not in message and message:
            return False
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize" and (index > 0 and any("in" in before for before in transcript.steps[:index])
                                       or "client" not in params):
            return False
        if method in ("shutdown", "exit") or method and not isinstance(params, dict):
            return False
        if method == "prompt.answer":
            if params.get("prompt") not in opened:
                return False
            opened.discard(params["prompt"])
        if method == "$/cancelRequest" and params.get("id") not in requests:
            return False
        if method and "id" not in message and method != "$/cancelRequest" or message.get("id", 0) is None:
            return False
        requests[message.get("id")] = method
        for out in outs(step):
            if not isinstance(out, dict) or out.get("id", 0) is None or out.get("params") == "$any":
                return False
            if requests.get(out.get("id")) in ("prompt.answer", "initialize") and "error" in out:
                return False
            if out.get("method") == "prompt.opened":
                opened.add("$ref:" + str(out["params"]["prompt"]).replace("$capture:", ""))
            answered.add(out.get("id"))
    requests.pop(None, None)
    return bool(requests) and set(requests) <= answered and len(requests) == len(
        [step for step in transcript.steps if "id" in step.get("in", {})])


def case_of(transcript: Transcript) -> Case:
    """Returns the case of a transcript: the same conversation, with values in place of the placeholders."""
    standins, methods, names = Standins(), {}, {}
    steps: List[Dict[str, Any]] = []
    server: List[Dict[str, Any]] = []
    lines: List[Dict[str, Any]] = []
    introduction, hello_id, kinds = hello(), "initialize", {}
    for step in transcript.steps:
        if "account" in step:
            standins.capture(step["account"], f"a_{step['account']}")
        if "in" in step:
            message = standins.request(step["in"])
            server.append({"in": message})
            method, params = message["method"], message.get("params") or {}
            methods[message.get("id")] = method
            if method == "initialize":
                introduction, hello_id = params, message["id"]
            elif method == "prompt.answer":
                answer = {name: value for name, value in params.items() if name != "prompt"}
                steps.append({"answer": params["prompt"], "kind": kinds.get(params["prompt"]), "with": answer})
            elif method == "$/cancelRequest":
                steps.append({"cancel": names[params["id"]]})
            else:
                names[message["id"]] = f"request-{len(names) + 1}"
                steps.append({"request": names[message["id"]], "method": method, "params": params})
        messages = []
        for out in outs(step):
            if "method" in out:
                out = standins.notification(out)
                if out["method"] == "prompt.opened":
                    kinds[out["params"]["prompt"]] = out["params"]["kind"]
                steps.append({"hear": out["method"]})
                lines.append({"method": out["method"], "params": out["params"]})
            else:
                out = standins.answer(out, methods[out["id"]])
                if out["id"] in names:
                    steps.append({"await": names[out["id"]]})
                    lines.append({name: value for name, value in out.items() if name != "id"})
            messages.append(out)
        if messages:
            server.append({"unordered": messages})
    introduction = {**introduction, "capabilities": {**introduction.get("capabilities", {})}}
    introduction["capabilities"].setdefault("prompts", sorted(set(kinds.values())))
    number = zlib.crc32(transcript.name.encode())
    return Case(transcript.name, transcript.header["about"], introduction, steps, server, lines,
                CUTS[number % len(CUTS)], number // len(CUTS) % 2 == 1, hello_id)


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Makes a folder and removes it. The server of a client that was killed may still write its report there."""
    folder = tempfile.mkdtemp(prefix="conformance-")
    try:
        yield folder
    finally:
        for _ in range(100):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break


def run(case: Case, command: Sequence[str], patience: float) -> Optional[str]:
    """Runs a client for one case. Returns a note about steps that the client does not show, or `None`. Raises Failure
    for a deviation, and Unsupported if the client says so."""
    with scratch_folder() as folder:
        server = {"steps": case.server, "cut": case.cut, "grease": case.grease, "helloId": case.hello_id,
                  "initialize": case.initialize, "schema": introduction(), "seed": zlib.crc32(case.name.encode())}
        Path(folder, "case.json").write_text(json.dumps(server), encoding="utf-8")
        einlass = Path(folder, "einlass")
        parts = [sys.executable, "-S", "-E", str(Path(__file__).with_name("fake.py")), folder]
        with STARTING:
            einlass.write_text(f'#!/bin/sh\nexec {" ".join(map(shlex.quote, parts))} "$@"\n', encoding="utf-8")
        einlass.chmod(0o755)
        task = {"case": case.name, "initialize": case.initialize, "steps": case.steps}
        ended = started(command, {**os.environ, "EINLASS": str(einlass)}, task, patience, Path(folder))
    return judge(case, ended, patience)


@functools.lru_cache(maxsize=None)
def introduction() -> Any:
    """Returns the schema of the parameters of `initialize`, without references."""
    params = next(method["params"] for method in document()["methods"] if method["name"] == "initialize")
    schema = {"type": "object", "required": [param["name"] for param in params if param["required"]],
              "properties": {param["name"]: param["schema"] for param in params}}
    return inlined(schema, document()["components"]["schemas"])


def started(command: Sequence[str], environment: Dict[str, str], task: Dict[str, Any], patience: float,
            folder: Path) -> Ended:
    """Runs the client, and kills it after its time."""
    try:
        with STARTING:
            process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment, start_new_session=True)
        with process:
            code, found = None, None
            try:
                output, errors = process.communicate(json.dumps(task).encode() + b"\n", patience)
                code = process.returncode
            except subprocess.TimeoutExpired:
                found = report(folder)  # before the end of the client, which the server sees too
                os.killpg(process.pid, 9)
                output, errors = process.communicate()
    except OSError as error:
        raise Failure(f"{command[0]} does not start: {error.strerror}") from None
    return Ended(output, errors.decode("utf-8", "replace")[-500:].strip(), code, *(found or report(folder)))


def report(folder: Path) -> Tuple[Optional[List[str]], Dict[str, str]]:
    """Returns the faults that the server saw, and the last entry of each kind of its log."""
    try:
        log = dict(json.loads(line) for line in (folder / "log.jsonl").read_bytes().split(b"\n")[:-1])
    except FileNotFoundError:
        log = {}
    try:
        return json.loads((folder / "faults.json").read_bytes())["faults"], log
    except (FileNotFoundError, ValueError):
        return None, log


def judge(case: Case, ended: Ended, patience: float) -> Optional[str]:
    problems = [f"the server saw: {fault}" for fault in ended.faults or []]
    lines: List[Any] = []
    for raw in filter(bytes.strip, ended.output.split(b"\n")):
        try:
            lines.append(read(raw))
        except ValueError as error:
            problems.append(f"line {len(lines) + 1} of the client's output {error}: {quoted(raw)}")
            break
    else:
        for line in lines:
            if isinstance(line, dict) and "unsupported" in line and "hear" not in line and ended.code is not None:
                raise Unsupported(str(line["unsupported"]))
        if ended.code is not None and (found := line_difference(case.lines, lines, bool(ended.faults))):
            problems.append(found)
    if ended.code is None:
        problems = [f"no end within {patience:g} s", *problems, *hang(case, ended, len(lines))]
    elif ended.faults is None:
        problems.insert(0, "the client killed einlass" if ended.log
                        else "the client did not start the program that EINLASS names")
    if ended.code:
        end = f"the exit code is {ended.code}" if ended.code > 0 else f"the signal {-ended.code} ended the client"
        problems.append(f"{end}{': ' if ended.errors else ', and standard error is empty'}{ended.errors}")
    if problems:
        raise Failure("\n  ".join(problem[:2000] for problem in problems))
    return "without notifications" if any("hear" in line for line in lines) else None


def line_difference(wanted: List[Any], lines: List[Any], has_fault: bool) -> Optional[str]:
    """Returns the first difference between the lines of a client and the expected ones. After a fault the server has
    ended, so the difference of that end is none."""
    for number, expected in enumerate(map(plain, wanted), 1):
        if number > len(lines):
            return None if has_fault else f"line {number}: expected {shortened(expected)}, got no line"
        actual = plain(lines[number - 1])
        if isinstance(actual, dict) and "unsupported" in actual and "method" in expected:
            continue
        if has_fault and isinstance(actual, dict) and "ended" in actual:
            return None
        if not isinstance(actual, dict) or actual.keys() != expected.keys():
            return f"line {number}: expected {shortened(expected)}, got {shortened(actual)}"
        if found := difference(expected, actual):
            return f"line {number}: {found}"
    return f"not expected: {shortened(lines[len(wanted)])}" if len(lines) > len(wanted) else None


def hang(case: Case, ended: Ended, count: int) -> List[str]:
    """Returns the facts about a client that did not end."""
    if "state" not in ended.log:
        facts = ["the client has not started the program that EINLASS names"]
    else:
        state = ended.log["state"] if ended.faults is None else "has ended"
        facts = [f"the server {state}", f"its last line: {ended.log.get('to', 'none')}",
                 f"the client's last line: {ended.log.get('from', 'none')}"]
    following = f", next is {shortened(case.lines[count])}" if count < len(case.lines) else ""
    facts.append(f"the adapter has printed {count} of {len(case.lines)} lines{following}")
    return facts + ([f"standard error: {ended.errors}"] if ended.errors else [])


def plain(value: Any) -> Any:
    """Returns the value without the unknown member, which a client may keep or lose, and without the client's ids."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name != GREASE and name not in OWN_IDS}
    return [plain(element) for element in value] if isinstance(value, list) else value
