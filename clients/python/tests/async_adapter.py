"""The adapter of the asyncio client for protocol/conformance.

python3 protocol/conformance client python3 clients/python/tests/async_adapter.py
"""

import asyncio
import json
import logging
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from einlass import EinlassError, ServerGone  # noqa: E402
from einlass.aio import AsyncClient  # noqa: E402

logging.getLogger("einlass").setLevel(logging.ERROR)  # late answers to prompts are part of the cases


def print_line(line):
    print(json.dumps(line), flush=True)


async def outcome(call):
    try:
        return {"result": await call}
    except ServerGone as gone:
        code = gone.data["exitCode"]
        return {"ended": 128 - code if code is not None and code < 0 else code}
    except EinlassError as error:
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}


async def main():
    task = json.loads(sys.stdin.readline())
    steps, hello = task["steps"], dict(task["initialize"])
    answers, calls = defaultdict(asyncio.Queue), {}

    async def ask(prompt):
        return await answers[prompt["prompt"]].get()

    async with AsyncClient(prompts=dict.fromkeys(hello["capabilities"]["prompts"], ask)) as client:
        heard = {step["hear"]: client.notifications(step["hear"]) for step in steps if "hear" in step}
        introduced = await outcome(client.initialize(hello["client"]["name"], **hello))
        if "result" not in introduced:
            print_line(introduced)
            return
        for step in steps:
            if "request" in step:
                calls[step["request"]] = client.start(step["method"], step["params"])
            elif "await" in step:
                print_line(await outcome(calls[step["await"]]))
            elif "hear" in step:
                print_line({"method": step["hear"], "params": await heard[step["hear"]].__anext__()})
            elif "answer" in step:
                members = dict(step["with"])
                action = members.pop("action")
                await answers[step["answer"]].put({"accept": members or True, "decline": False, "cancel": None}[action])
            elif "cancel" in step:
                calls[step["cancel"]].cancel()


if __name__ == "__main__":
    asyncio.run(main())
