"""Plays the server against a client under test. `README.md` has the contract between the kit and the client."""
import json
import os
import shlex
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from fake import GREASE
from messages import same, text
from program import Failure
from standins import Standins
from transcripts import Transcript, outs

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


def run(case: Case, command: Sequence[str], patience: float) -> Optional[str]:
    """Runs a client for one case. Returns a note about steps that the client does not show, or `None`. Raises Failure
    for a deviation, and Unsupported if the client says so."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        server = {"steps": case.server, "cut": case.cut, "grease": case.grease, "helloId": case.hello_id,
                  "initialize": case.initialize, "prompts": case.initialize["capabilities"].get("prompts", []),
                  "seed": zlib.crc32(case.name.encode())}
        Path(folder, "case.json").write_text(json.dumps(server), encoding="utf-8")
        einlass = Path(folder, "einlass")
        parts = [sys.executable, "-S", "-E", str(Path(__file__).with_name("fake.py")), f"{folder}/case.json",
                 f"{folder}/faults.json"]
        einlass.write_text(f'#!/bin/sh\nexec {" ".join(map(shlex.quote, parts))} "$@"\n', encoding="utf-8")
        einlass.chmod(0o755)
        task = {"case": case.name, "initialize": case.initialize, "steps": case.steps}
        output, code = started(command, {**os.environ, "EINLASS": str(einlass)}, task, patience)
        try:
            faults = json.loads(Path(folder, "faults.json").read_bytes())["faults"]
        except FileNotFoundError:
            faults = ["the client did not start the program that EINLASS names, or killed it"]
    return judge(case, output, code, faults)


def started(command: Sequence[str], environment: Dict[str, str], task: Dict[str, Any], patience: float):
    """Runs the client. Returns the lines of its output and its exit code."""
    try:
        with subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment, start_new_session=True) as process:
            try:
                output, errors = process.communicate(json.dumps(task).encode() + b"\n", patience)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                output, errors = process.communicate()
                raise Failure(f"no end within {patience:g} s; its output so far: {output[-500:]!r}\n  "
                              + errors.decode("utf-8", "replace")[-500:].strip()) from None
    except OSError as error:
        raise Failure(f"{command[0]} does not start: {error.strerror}") from None
    try:
        lines = [json.loads(line) for line in output.split(b"\n") if line.strip()]
    except ValueError as error:
        raise Failure(f"the client's output is not JSON Lines: {error}") from None
    if process.returncode:
        lines.append({"errors": errors.decode("utf-8", "replace")[-500:].strip()})
    return lines, process.returncode


def judge(case: Case, output: List[Any], code: int, faults: List[str]) -> Optional[str]:
    for line in output:
        if isinstance(line, dict) and "unsupported" in line and "hear" not in line:
            raise Unsupported(str(line["unsupported"]))
    problems = [f"the server saw: {fault}" for fault in faults]
    for index, expected in enumerate(case.lines):
        actual = output[index] if index < len(output) else None
        if isinstance(actual, dict) and "unsupported" in actual and "method" in expected:
            continue
        if not same(plain(expected), plain(actual)):
            problems.append(f"line {index + 1}: expected {text(plain(expected))}, got {text(plain(actual))}")
            break
    if code:
        problems.append(f"the exit code is {code}: {output[-1]['errors'] if output else ''}")
    elif len(output) > len(case.lines):
        problems.append(f"not expected: {text(output[len(case.lines)])}")
    if problems:
        raise Failure("\n  ".join(problem[:2000] for problem in problems))
    return "without notifications" if any("hear" in line for line in output) else None


def plain(value: Any) -> Any:
    """Returns the value without the unknown member, which a client may keep or lose, and without the client's ids."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name != GREASE and name not in OWN_IDS}
    return [plain(element) for element in value] if isinstance(value, list) else value
