#!/usr/bin/env python3
"""A fake einlass for rare situations. The word after --store names the situation."""
import json
import sys

WHAT = sys.argv[sys.argv.index("--store") + 1] if "--store" in sys.argv else ""
EVIL = "\x1b[31m\u202eada\u009b2J\n$(touch pwned)"
ACCOUNTS = [{"account": f"a_{n}", "provider": "twitter", "username": name, "displayName": EVIL, "health": "ok"}
            for n, name in enumerate(["ada", "$(touch pwned)", "bob", EVIL], 1)]


FIELD = {"name": "text", "label": "The address" + EVIL, "type": "text"}
SHOWS = {
    "enterPassphrase": {"title": "Enter it" + EVIL, "fields": [
        {"name": "passphrase", "label": "Passphrase", "type": "secret"}], "buttons": []},
    "deviceCode": {"title": "Enter this code" + EVIL, "code": "ABCD-EFGH" + EVIL,
                   "page": {"url": "https://example.org/device", "host": "example.org"}, "buttons": []},
    "openURL": {"title": "Sign in" + EVIL, "page": {"url": "https://example.org/a?b" + EVIL, "host": "example.org"},
                "buttons": []},
    "enterVerifier": {"title": "Paste it" + EVIL, "fields": [FIELD], "buttons": []},
    "again": {"title": "Paste it", "warning": "That does not fit." + EVIL, "fields": [FIELD], "buttons": []},
}


def ask(prompt, kind, show=None):
    send({"method": "prompt.opened", "params": {"prompt": prompt, "kind": kind, "show": SHOWS[show or kind]}})


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def messages():
    for line in sys.stdin:
        message = json.loads(line)
        yield message["method"], message.get("params", {}), message.get("id")


def fail(id, code, reason, **data):
    message = f"It failed{EVIL}."
    send({"id": id, "error": {"code": code, "message": message, "data": {"reason": reason, "retryable": False, **data}}})


def check(id, rest):
    """Answers store.check, after progress or a prompt."""
    if WHAT == "progress":
        for done in (10, 50, 100):
            send({"method": "store.progress", "params": {"request": id, "method": "store.check", "done": done, "total": 100}})
    elif WHAT in ("passphrase", "expires"):
        ask("p_1", "enterPassphrase")
        if WHAT == "expires":
            send({"method": "prompt.closed", "params": {"prompt": "p_1", "outcome": "expired"}})
            return fail(id, 1014, "flowExpired")
        _, answer, answer_id = next(rest)
        send({"id": answer_id, "result": {}})
        send({"method": "prompt.closed", "params": {"prompt": "p_1", "outcome": "accepted"}})
        if answer["action"] != "accept":
            return fail(id, 1011, "userCanceled")
        if answer["passphrase"] != "öpen sesame":
            return fail(id, 1009, "accountStoreFailure", detail="keyUnavailable")
    elif WHAT == "slow":
        send({"method": "store.progress", "params": {"request": id, "method": "store.check", "done": 1, "total": 100}})
        method, params, _ = next(rest)
        assert (method, params) == ("$/cancelRequest", {"id": id})
        return fail(id, -32800, "cancelled", by="client")
    send({"id": id, "result": {"sound": True, "accounts": 4, "sealedValues": 8, "countFindings": 0, "findings": []}})


def sign_in(id, rest):
    """Answers accounts.signIn, after an `openURL` prompt with an `enterVerifier` prompt beside it, or after a device
    code."""
    if WHAT == "device":
        ask("p_1", "deviceCode")
    else:
        ask("p_2", "enterVerifier")
        ask("p_1", "openURL")
    _, answer, answer_id = next(rest)
    assert answer == {"prompt": "p_1", "action": "accept"}, answer
    if WHAT == "browser":
        # This notification comes before the answer to `prompt.answer`, so that the inner prompt reads the end of the
        # outer one.
        send({"method": "prompt.closed", "params": {"prompt": "p_2", "outcome": "satisfied"}})
    send({"id": answer_id, "result": {}})
    send({"method": "prompt.closed", "params": {"prompt": "p_1", "outcome": "accepted"}})
    if WHAT == "paste":
        _, answer, answer_id = next(rest)
        assert answer == {"prompt": "p_2", "action": "accept", "text": "http://127.0.0.1:1/nothing"}, answer
        send({"id": answer_id, "result": {}})
        send({"method": "prompt.closed", "params": {"prompt": "p_2", "outcome": "accepted"}})
        ask("p_3", "enterVerifier", "again")
        _, answer, answer_id = next(rest)
        assert answer == {"prompt": "p_3", "action": "accept", "text": "http://127.0.0.1:1/?code=c"}, answer
        send({"id": answer_id, "result": {}})
    send({"id": id, "result": {"flow": "f_1", "account": "a_1"}})


def main():
    if WHAT == "ends":
        return 3
    rest = messages()
    for method, params, id in rest:
        if method == "initialize":
            send({"id": id, "result": {"server": {"name": "einlass", "version": "0.0.9"}, "capabilities": params["capabilities"],
                                       "store": {"protection": "keyfile", "revision": 1}}})
        elif method == "accounts.list" and WHAT == "dies":
            return 3
        elif method == "accounts.list":
            start = int(params.get("cursor", 0))
            more = {"nextCursor": str(start + 2)} if start + 2 < len(ACCOUNTS) else {}
            send({"id": id, "result": {"revision": 1, "accounts": ACCOUNTS[start:start + 2], **more}})
        elif method == "store.check":
            check(id, rest)
        elif method == "accounts.signIn":
            sign_in(id, rest)
        elif method == "providers.list":
            send({"id": id, "result": {"providers": [{"id": "twitter", "name": "Twitter"}]}})
        elif method == "network.status" and WHAT in ("online", "offline", "sound"):
            send({"id": id, "result": {"online": WHAT == "online"} if WHAT != "sound" else {}})
        elif method == "store.status":
            send({"id": id, "result": {"exists": True, "path": "/s/a.db", "slots": ["keyfile"], "readOnly": WHAT == "readonly"}})
        else:
            fail(id, -32601, "unknownMethod")
    return 0


sys.exit(main())
