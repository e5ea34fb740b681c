"""A prompter for tests: writes each prompt to a file and acts as its second argument says.

    prompter.py FILE accept|cancel|end|garbage|wait
"""
import json
import sys
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "Oracles"))
from browser import Visitor  # noqa: E402


def send(prompt, action, number=1):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": "prompt.answer", "params": {"prompt": prompt, "action": action}}),
          flush=True)


def answer(params, way):
    if way == "cancel":
        send(params["prompt"], "cancel")
    elif way == "end":
        sys.exit(3)
    elif way == "wait" or params["kind"] == "enterVerifier":
        pass
    elif params["kind"] == "openURL":
        # The browser answers: the prompt closes as satisfied.
        urllib.request.urlopen(Visitor().open(params["url"]).press("allow").location).close()
    else:
        send(params["prompt"], "accept")


def main(path, way):
    if way == "garbage":
        print("garbage", flush=True)
        send("p_another", "perhaps", 2)
        send("p_another", "accept", 3)
    for line in sys.stdin:
        message = json.loads(line)
        with open(path, "a") as file:
            file.write(json.dumps(message) + "\n")
        if message.get("method") == "prompt.opened":
            answer(message["params"], way)


main(*sys.argv[1:])
