#!/usr/bin/python3
"""A stand-in for einlass whose accounts have pictures: the variable PICTURES names a folder of files ada.png and so on.

Providers of the sandbox have no pictures, because einlass fetches pictures from public servers alone. The variable
REFUSED names a method of which each request fails.
"""
import json
import os
import sys
from pathlib import Path

people = sorted(Path(os.environ["PICTURES"]).iterdir())
accounts = [{"account": f"a_{file.stem}", "provider": "github", "username": file.stem, "health": "ok",
             "avatar": "https://example.org/" + file.name} for file in people]
extra = {"account": "a_zoe", "provider": "github", "username": "zoe", "health": "ok"}


def send(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)


for line in sys.stdin:
    request = json.loads(line)
    identifier, params = request.get("id"), request.get("params", {})
    if request["method"] == os.environ.get("REFUSED"):
        error = {"code": 1009, "message": "The store is locked.", "data": {"reason": "accountStoreFailure", "retryable": True}}
        send(id=identifier, error=error)
    elif request["method"] == "accounts.signIn":
        signing = identifier
        send(method="prompt.opened", params={
            "prompt": "p_1", "flows": ["f_1"], "requests": [identifier], "kind": "selectAccount",
            "application": "editor", "provider": "github", "providerName": "GitHub", "expiresAt": 4000000000,
            "accounts": accounts, "more": True, "show": {
                "title": "Choose an Account", "text": ["There are more accounts than these."],
                "choices": [{"label": one["username"], "answer": {"action": "accept", "account": one["account"]}}
                            for one in accounts],
                "fields": [{"name": "account", "label": "Id of another account", "type": "text"}],
                "buttons": [{"action": "accept", "label": "Another account"}, {"action": "cancel", "label": "Cancel"}]}})
    elif request["method"] == "accounts.list":
        rest = {"accounts": [*accounts, extra]} if "cursor" in params else {"accounts": accounts, "nextCursor": "next"}
        send(id=identifier, result=rest)
    elif request["method"] == "avatars.get":
        file = next(file for file in people if params["account"] == f"a_{file.stem}")
        send(id=identifier, result={"path": str(file), "type": "image/png", "fetchedAt": 1})
    elif request["method"] == "prompt.answer" and signing:
        send(id=identifier, result={})
        send(method="prompt.closed", params={"prompt": "p_1", "outcome": "accepted"})
        send(id=signing, result={"flow": "f_1", "account": params["account"], "created": False})
        signing = None
    elif request["method"] == "prompt.answer":
        data = {"reason": "unknownPrompt", "retryable": False}
        send(id=identifier, error={"code": 1023, "message": "There is no such prompt.", "data": data})
    elif identifier is not None:
        send(id=identifier, result={})
