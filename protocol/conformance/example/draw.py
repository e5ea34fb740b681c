#!/usr/bin/env python3
"""A client that draws each prompt from `show` alone, on a terminal. It knows no kind of prompt and no word of one.

It waits for one line at a time, so it does not declare `enterVerifier`: einlass may close that prompt by itself, as soon
as the browser comes back.

    EINLASS=einlass python3 protocol/conformance/example/draw.py auth.perform '{"provider": "github", "signIn": "ifNeeded"}'
"""
import getpass
import json
import os
import subprocess
import sys

#: The kinds that einlass may open; more of them may follow the parameters on the command line.
KINDS = ["grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode",
         "enterPassphrase", "enterPassword", "trustCertificate", *sys.argv[3:]]


def say(text):
    print("".join(letter if letter.isprintable() else "?" for letter in text), file=sys.stderr, flush=True)


def ask(label, secret=False):
    say(label + ":")
    return getpass.getpass("") if secret and sys.stdin.isatty() else input()


def entered(field):
    """Returns the value of a field; None for a text that is left empty."""
    if field["type"] == "flag":
        return ask(field["label"] + " [y/N]").lower() == "y"
    while value := ask(field["label"], field["type"] != "text"):
        if not field.get("twice") or ask(field["label"], True) == value:
            return value
    return None


def picked(rows, default):
    """Returns the answer of a numbered row, or the default for an empty line. Asks again after anything else."""
    for number, (label, _) in enumerate(rows, 1):
        say(f"{number}) {label}")
    while reply := input():
        if reply.isdecimal() and 1 <= int(reply) <= len(rows):
            return rows[int(reply) - 1][1]
        say(f"1-{len(rows)}?")
    return default


def draw(show):
    """Shows a prompt and returns the parameters of its answer."""
    for text in [show["title"], *show.get("text", []), show.get("warning"), show.get("code")]:
        if text:
            say(text)
    fields, choices = show.get("fields", []), show.get("choices", [])
    if page := show.get("page"):
        say(page["url"])
        if not fields:
            return {"action": "accept"}  # the sign-in goes on without the prompt
    answer = {"action": "accept"}
    if choices or not fields:
        rows = [(" – ".join([choice["label"], *filter(None, [choice.get("detail")])]), choice["answer"])
                for choice in choices]
        rows += [(button["label"], {"action": button["action"]}) for button in show["buttons"]]
        default = next((button["action"] for button in show["buttons"] if button.get("default")), "cancel")
        answer = picked(rows, {"action": default})
    if answer == {"action": "accept"}:
        values = {field["name"]: entered(field) for field in fields}
        if None in values.values() and not choices:
            return {"action": "cancel"}
        answer.update((name, value) for name, value in values.items() if value is not None)
    return answer


def main(method, params):
    server = subprocess.Popen([os.environ.get("EINLASS", "einlass")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    last = 0

    def send(method, params):
        nonlocal last
        last += 1
        message = {"jsonrpc": "2.0", "id": last, "method": method, "params": params}
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()

    send("initialize", {"client": {"name": "draw"}, "capabilities": {"prompts": KINDS}})
    send(method, params)
    for line in server.stdout:
        message = json.loads(line)
        if message.get("method") == "prompt.opened":
            send("prompt.answer", {**draw(message["params"]["show"]), "prompt": message["params"]["prompt"]})
        elif message.get("id") == 2:
            print(json.dumps(message.get("result", message.get("error"))))
            break
    server.stdin.close()
    server.stdout.read()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
