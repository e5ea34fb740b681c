"""A fake server that misbehaves on request: each method is one way in which a line can arrive."""

import json
import os
import signal
import sys

held = []  # ids of requests to be answered later
ADA = {"account": "a_1", "provider": "twitter", "username": "ada", "displayName": "Ada \x1b[31mL.", "health": "ok"}
BOB = {"account": "a_2", "provider": "twitter", "username": "bob", "health": "ok"}
CREDENTIAL = {"type": "oauth1", "id": "7", "screenName": "ada", "key": "7-AbCdEfGhIjKl",
              "secret": "s3cr3t-of-the-token"}


def send(*messages, raw=None):
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\n" for m in messages)
    os.write(1, lines) if raw is None else os.write(1, raw)


def note(method, **params):
    return {"method": method, "params": params}


SHOWS = {
    "grantAccess": {"title": "May “editor” use your “Twitter” accounts?", "buttons": [
        {"action": "accept", "label": "Allow"}, {"action": "decline", "label": "Don't allow"},
        {"action": "cancel", "label": "Not now"}]},
    "enterPassword": {"title": "Log in.", "fields": [{"name": "password", "label": "Password", "type": "secret"}],
                      "buttons": [{"action": "accept", "label": "Continue"}, {"action": "cancel", "label": "Cancel"}]},
    "selectAccount": {"title": "Which account?", "choices": [
        {"label": a["username"], "answer": {"action": "accept", "account": a["account"]}} for a in (ADA, BOB)],
        "buttons": [{"action": "cancel", "label": "Cancel"}]},
}


def prompt(name, kind="selectAccount"):
    return note("prompt.opened", prompt=name, kind=kind, application="editor", show=SHOWS.get(kind),
                provider="twitter", providerName="Twitter", accounts=[ADA, BOB], permissions=["email"])


def handle(message):
    method, params, i = message["method"], message.get("params", {}), message.get("id")
    if method in ("echo", "initialize"):
        send({"id": i, "result": params})
    elif method == "raw":  # the text as given, with U+2028 unescaped
        line = json.dumps({"jsonrpc": "2.0", "id": i, "result": params["text"]}, ensure_ascii=False)
        send(raw=line.encode() + b"\n")
    elif method == "deep":
        send(raw=b"[" * 200_000 + b"\n")
        send({"id": i, "result": {}})
    elif method == "bytewise":
        for byte in json.dumps({"jsonrpc": "2.0", "id": i, "result": "ä\u2028" * 9}, ensure_ascii=False).encode():
            send(raw=bytes([byte]))
        send(raw=b"\n")
    elif method == "burst":
        notes = [note("tick", number=n) for n in range(params["count"])]
        lines = b"".join(json.dumps({"jsonrpc": "2.0", **m}).encode() + b"\n" for m in notes)
        while lines:
            lines = lines[os.write(1, lines) :]
        send({"id": i, "result": {}})
    elif method == "pair":  # answers two requests at once, the later first, with noise between
        held.append(i)
        if len(held) == 2:
            noise = b"\n[]\n7\nnot JSON\n" + b'{"jsonrpc":"2.0","id":999,"result":{}}\n'
            first, second = held
            send({"id": second, "result": "second"})
            send(raw=noise)
            send(note("never.heardOf", x=1), {"id": first, "result": "first", "grease": True})
    elif method == "fail":
        data = {"reason": "accountBanned", "retryable": False, "provider": "twitter"}
        send({"id": i, "error": {"code": 1004, "message": "The account is suspended.", "data": data}})
    elif method == "hang":
        held.append(i)
        send(note("hanging"))
    elif method == "$/cancelRequest":
        send(note("cancelling", id=params["id"]))
        if params["id"] in held:
            send({"id": params["id"], "error": {"code": -32800, "message": "Cancelled.",
                                                "data": {"reason": "cancelled", "retryable": False}}})
    elif method == "die":
        sys.stderr.write("last words\n")
        sys.stderr.flush()
        os._exit(3)
    elif method == "mute":  # closes its output, stops reading, keeps running
        os.close(1)
        signal.pause()
    elif method == "flood":
        for _ in range(4096):
            sys.stderr.write("x" * 511 + "\n")
        sys.stderr.flush()
        send({"id": i, "result": {}})
    elif method == "ask":
        held.append(i)
        send(prompt("p_1", params["kind"]))
    elif method == "askAndClose":  # the prompt closes by itself after the next request
        held.append(i)
        send(prompt("p_1"))
    elif method == "close":
        send(note("prompt.closed", prompt="p_1", outcome="satisfied"), {"id": held.pop(), "result": "satisfied"},
             {"id": i, "result": {}})
    elif method == "askTwo":
        held.append(i)
        send(prompt("p_1", "openURL"), prompt("p_2"))
    elif method == "askTwoAndCloseOne":
        held.append(i)
        send(prompt("p_1"), prompt("p_2"), note("prompt.closed", prompt="p_2", outcome="satisfied"))
    elif method == "services.resolve" and "as-" in params["address"]:  # https://as-USERNAME.example.com
        username = params["address"].split("as-")[1].split(".")[0].replace("any", "*")
        error = {"code": 1003, "message": "No account.", "data": {"reason": "noSystemAccount"}}
        found = {"error": error} if params.get("account") else {"account": "a_1"}
        send({"id": i, "result": {"provider": "twitter", "service": "https://x", "username": username, **found}})
    elif method == "services.resolve" and params.get("account") in ("nobody", "banned"):
        reason = {"nobody": "noSystemAccount", "banned": "accountBanned"}[params["account"]]
        send({"id": i, "error": {"code": 1001, "message": "No.", "data": {"reason": reason}}})
    elif method == "services.resolve":
        send({"id": i, "result": {"account": "a_1", "provider": "twitter"}})
    elif method == "credentials.get":
        credential = {"type": "oauth2", "tokenType": "bearer", "token": "token of " + params["account"]}
        send({"id": i, "result": {"credential": credential}})
    elif method == "credentials.reject":
        send({"id": i, "result": {}})
    elif method == "providers.list":
        send({"id": i, "result": {"providers": [{"id": "twitter"}, {"id": "facebook"}]}})
    elif method == "accounts.list" and params.get("provider") == "nope":
        send({"id": i, "result": {"revision": 1, "accounts": []}})
    elif method == "accounts.list":
        page = {"accounts": [BOB]} if params.get("cursor") else {"accounts": [ADA], "nextCursor": "2"}
        send({"id": i, "result": {"revision": 1, **page}})
    elif method == "accounts.add":
        send({"id": i, "result": {"account": "a_1", "created": not params.get("replace"), "revision": 2}})
    elif method == "auth.perform" and params["provider"] == "banned":
        data = {"reason": "accountBanned", "retryable": False, "provider": "banned",
                "next": [{"label": "Ask the provider", "page": "https://chirp.example/help"}],
                "serverError": {"status": 403, "code": "64", "text": "Your account is suspended."}}
        send({"id": i, "error": {"code": 1004, "message": "The account is suspended.", "data": data}})
    elif method == "auth.perform" and params["provider"] == "password":
        held.append(i)
        opened = prompt("p_1", "enterPassword")
        opened["params"].update(server="https://pbx.example.com", host="pbx.example.com", username="ada")
        send(opened)
    elif method == "auth.perform":
        held.append(i)
        send(note("auth.progress", flow="f_1", stage="access"), prompt("p_1", "grantAccess"))
    elif method == "prompt.answer" and params["prompt"] == "p_1" and "--flow" in sys.argv and isinstance(held[0], int):
        send({"id": i, "result": {}}, note("prompt.closed", prompt="p_1", outcome="accepted"))
        if params["action"] == "accept":
            send(note("auth.progress", flow="f_1", stage="selecting"), prompt("p_2"))
        else:
            data = {"reason": "accessNotGranted", "retryable": False, "provider": "twitter",
                    "next": [{"label": "Forget it", "method": "access.reset", "params": {"provider": "twitter"}}]}
            send({"id": held.pop(), "error": {"code": 1002, "message": "Access was denied.", "data": data}})
    elif method == "prompt.answer" and params["prompt"] == "p_2" and params["action"] == "cancel" and held:
        data = {"reason": "userCanceledAccountSelection", "retryable": False}
        send({"id": i, "result": {}}, {"id": held.pop(), "error": {"code": 1003, "message": "Not chosen.", "data": data}})
    elif method == "prompt.answer" and params["prompt"] == "p_2" and "--flow" in sys.argv:
        result = {"flow": "f_1", "account": params.get("account"), "credential": CREDENTIAL}
        send({"id": i, "result": {}}, {"id": held.pop(), "result": result})
    elif method == "verify":
        valid = params["credential"].get("secret") == CREDENTIAL["secret"]
        said = {} if params["credential"].get("secret") == "unsaid" else {"valid": valid}
        send({"id": i, "result": {**said, "checks": [{"check": "active", "ok": valid}]}})
    elif method == "prompt.answer":
        if params.get("account") == "a_unknown":
            data = {"reason": "invalidChoice", "retryable": False}
            send({"id": i, "error": {"code": 1025, "message": "Not offered.", "data": data}})
        else:
            send({"id": i, "result": {}}, note("prompt.closed", prompt=params["prompt"], outcome="accepted"),
                 *[{"id": each, "result": params} for each in held])
            held.clear()


if "--stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin.buffer:
    handle(json.loads(line))
if "--stubborn" in sys.argv:
    while True:
        signal.pause()
