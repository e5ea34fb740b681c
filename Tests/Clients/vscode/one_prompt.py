"""An einlass with one provider. Its sign-in opens the prompt of a file, writes the answer to it, and fails.

one_prompt.py FILE    FILE has {"prompt": MEMBERS} and gets {"answer": PARAMS}

The signal USR1 closes the prompt. The process id is in a file beside FILE, with the suffix .pid.
"""
import json
import os
import signal
import sys
from pathlib import Path

file = Path(sys.argv[1])
task = json.loads(file.read_text())
PROVIDER = {
    "id": "github", "name": "GitHub", "flowKinds": ["authorizationCode"], "configured": True, "hosts": [],
    "oneAccount": False, "retired": False, "setup": {"needs": []}}
CANCELLED = {"code": 1011, "message": "Cancelled.", "data": {"reason": "userCanceled", "retryable": False}}
LISTS = {"providers.list": {"providers": [PROVIDER]}, "access.list": {"grants": []},
         "accounts.list": {"revision": 1, "accounts": []}}


def send(**message):
    # The signal may come during a call of `print`, which refuses a second one.
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def close(outcome):
    send(method="prompt.closed", params={"prompt": "p_1", "outcome": outcome})
    send(id=signing_in, error=CANCELLED)


signing_in = None
signal.signal(signal.SIGUSR1, lambda *_: close("satisfied"))
file.with_suffix(".pid").write_text(str(os.getpid()))
for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if method == "accounts.signIn":
        signing_in = request["id"]
        send(method="prompt.opened", params={
            "prompt": "p_1", "flows": ["f_1"], "requests": [signing_in], "application": "vscode",
            "applicationTitle": "Visual Studio Code", "provider": "github", "providerName": PROVIDER["name"],
            "expiresAt": 1763712345, **task["prompt"]})
    elif method == "prompt.answer":
        file.write_text(json.dumps({"answer": params}))
        send(id=request["id"], result={})
        close("accepted")
    else:
        send(id=request["id"], result=LISTS.get(method, {}))
