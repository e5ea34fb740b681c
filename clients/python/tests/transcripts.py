"""The server's side of protocol/transcripts. Run as a program, this file plays the server of one transcript.

Both sides put the same fixed text in place of a transcript's matcher, so that the test knows the expected message.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "protocol/transcripts"


def load(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line][1:]


def spoken(value):
    """Returns the value with fixed text in place of matchers."""
    if isinstance(value, dict):
        return {name: spoken(member) for name, member in value.items()}
    if isinstance(value, list):
        return [spoken(element) for element in value]
    if isinstance(value, str):
        return value.replace("$capture:", "the-").replace("$ref:", "the-").replace("$string", "text").replace("$any", "any")
    return value


def outs(step):
    return [spoken(message) for message in step.get("unordered", [step["out"]] if "out" in step else [])]


def fits(steps):
    """Whether `Client` can have this conversation: whole messages, no batches, and each prompt answered once, with
    success and in the order of opening."""
    waiting, requests = [], set()
    for step in steps:
        if {"bytes", "eof", "exit"} & set(step) or not isinstance(step.get("in", {}), dict):
            return False
        if not all(isinstance(m, dict) and m.get("id", 0) is not None and m.get("params") != "any" for m in outs(step)):
            return False
        for message in outs(step):
            if message.get("method") == "prompt.opened":
                waiting.append(message["params"]["prompt"])
        message = step.get("in", {})
        requests.add(message.get("id"))
        if message.get("method") == "$/cancelRequest" and message["params"].get("id") not in requests:
            return False
        if message.get("method") == "prompt.answer":
            if [spoken(step["in"]["params"].get("prompt"))] != waiting:
                return False
            waiting = []
            answer = step["in"]["id"]
            good = [m for s in steps for m in outs(s) if m.get("id") == answer and "result" in m]
            if not good:
                return False
    return not waiting and any("in" in step for step in steps)


def play(steps):
    ids = {}
    for step in steps:
        if "in" in step:
            message, expected = json.loads(sys.stdin.buffer.readline() or b"null"), spoken(step["in"])
            if message is None or message["method"] != expected["method"]:
                sys.exit(f"expected {expected}, got {message}")
            if "id" in expected:
                ids[expected["id"]] = message["id"]
            params = expected.get("params") or {}
            if expected["method"] == "$/cancelRequest":
                params = {"id": ids[params["id"]]}
            if message["params"] != params:
                sys.exit(f"expected {params}, got {message['params']}")
        for message in outs(step):
            if "id" in message:
                message["id"] = ids[message["id"]]
            sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")
        sys.stdout.buffer.flush()
    if rest := sys.stdin.buffer.read():
        sys.exit(f"not expected: {rest!r}")


if __name__ == "__main__":
    play(load(Path(sys.argv[1])))
