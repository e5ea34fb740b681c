"""The adapter of the Python client for protocol/conformance: it does one task of the kit.

python3 protocol/conformance client python3 clients/python/tests/adapter.py
"""

import json
import logging
import queue
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from einlass import Client, EinlassError  # noqa: E402
from einlass.client import ServerGone  # noqa: E402
from einlass.tokens import find_einlass  # noqa: E402

logging.getLogger("einlass").setLevel(logging.ERROR)  # late answers to prompts are part of the cases


def print_line(line):
    print(json.dumps(line), flush=True)


def exit_code(code):
    return 128 - code if code is not None and code < 0 else code


def outcome(wait):
    try:
        return {"result": wait()}
    except ServerGone as gone:
        return {"ended": exit_code(gone.data["exitCode"])}
    except EinlassError as error:
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}


def hear(client, method, notifications):
    """Waits for a notification. Once einlass has ended, one that has come before that is there within a second."""
    while True:
        code = client.process.poll()
        try:
            return {"method": method, "params": notifications.get(timeout=1)}
        except queue.Empty:
            if code is not None:
                return {"ended": exit_code(code)}


def main():
    task = json.loads(sys.stdin.readline())
    steps, hello = task["steps"], dict(task["initialize"])
    answers, heard, calls = defaultdict(queue.Queue), defaultdict(queue.Queue), {}
    kinds = hello["capabilities"]["prompts"]

    def ask(prompt):
        return answers[prompt["prompt"]].get()

    def closed(params):
        answers[params["prompt"]].put(None)  # the dialog goes away

    with Client([find_einlass()], prompts=dict.fromkeys(kinds, ask), together=True) as client:
        client.on("prompt.closed", closed)
        for method in {step["hear"] for step in steps if "hear" in step}:
            client.on(method, lambda params, method=method: heard[method].put(params))
        introduced = outcome(lambda: client.initialize(hello["client"]["name"], **hello))
        if "result" not in introduced:
            print_line(introduced)
            return
        for step in steps:
            if "request" in step:
                calls[step["request"]] = client.start(step["method"], step["params"])
            elif "await" in step:
                print_line(outcome(calls[step["await"]].result))
            elif "hear" in step:
                print_line(hear(client, step["hear"], heard[step["hear"]]))
            elif "answer" in step:
                members = dict(step["with"])
                action = members.pop("action")
                answers[step["answer"]].put({"accept": members or True, "decline": False, "cancel": None}[action])
            elif "cancel" in step:
                calls[step["cancel"]].cancel()


if __name__ == "__main__":
    main()
