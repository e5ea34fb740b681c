"""Questions on the terminal."""

from __future__ import annotations

import datetime
import getpass
import os
import sys
from typing import Callable, Optional

from .client import Answer
from .protocol_types import (
    ConfirmAccountPrompt,
    EnterPasswordPrompt,
    GrantAccessPrompt,
    SelectAccountPrompt,
    TrustCertificatePrompt,
)
from .text import accounts_table, clean, members, say


def ask_line(question: str) -> Optional[str]:
    """Returns one line from the person, or None at the end of input."""
    print(question, end="", file=sys.stderr, flush=True)
    line = os.read(sys.stdin.fileno(), 4096)  # not input(): a thread blocked in it would keep Python from exiting
    return line.decode("utf-8", "replace").strip() if line else None


class Questions:
    """The prompts as questions on the terminal. An empty answer cancels, whatever the question."""

    def __init__(self) -> None:
        self.cancelled = False

    def choose(self, question: str, answer: Callable[[str], Optional[Answer]]) -> Answer:
        """Asks until `answer` accepts the reply; returns None when the person cancels."""
        while reply := ask_line(f"{question}; nothing cancels: "):
            if (found := answer(reply)) is not None:
                return found
        self.cancelled = True
        return None

    def grant_access(self, prompt: GrantAccessPrompt) -> Answer:
        who = clean(prompt.get("applicationTitle") or prompt.get("application"))
        say(f"\n{who} wants to use your {clean(prompt.get('providerName'))} accounts.")
        wanted = {k: v for k, v in prompt.items() if v and k in ("permissions", "audience", "added", "includes")}
        if wanted.get("added") == wanted.get("permissions"):
            wanted.pop("added", None)  # everything is new, so the list would repeat the permissions
        if wanted:
            say(members(wanted))
        return self.choose("Allow it? [y]es, [n]o and remember", lambda reply: {"y": True, "n": False}.get(reply[0].lower()))

    def select_account(self, prompt: SelectAccountPrompt) -> Answer:
        accounts = prompt["accounts"]
        say("\n" + accounts_table(accounts, numbered=True))
        more = ", or an account's id" if prompt.get("more") else ""
        ids = {str(n): account["account"] for n, account in enumerate(accounts, 1)}

        def chosen(reply: str) -> Answer:
            found = reply if reply.startswith("a_") else ids.get(reply)
            return {"account": found} if found else None

        return self.choose(f"Which account? 1-{len(accounts)}{more}", chosen)

    def confirm_account(self, prompt: ConfirmAccountPrompt) -> Answer:
        who = f"{clean(prompt['accounts'][0]['username'])} at {clean(prompt.get('providerName'))}"
        return self.choose(f"\nUse {who}? [y]es, [n]o", lambda reply: {"y": True, "n": False}.get(reply[0].lower()))


    def enter_password(self, prompt: EnterPasswordPrompt) -> Answer:
        server = clean(prompt["server"])
        if prompt.get("again"):
            say("The server refused that user name or password.")
        if prompt.get("secure") is False:
            say(f"The password goes to {server} by plain http: others on the way can read it.")
        username = prompt.get("username") or ask_line(f"\nUser name at {server}; nothing cancels: ")
        password = username and getpass.getpass(f"Password of {clean(username)} at {server}: ", sys.stderr)
        if password:
            return {"username": username, "password": password}
        self.cancelled = True
        return None

    def trust_certificate(self, prompt: TrustCertificatePrompt) -> Answer:
        host = clean(prompt["host"])
        fault = FAULTS.get(str(prompt.get("fault")), "is not trusted" if prompt.get("fault") else
                           "is trusted, but it has another key than before")
        say(f"\nThe certificate of {host}, port {prompt['port']}, {fault}.")
        if prompt.get("formerPublicKey"):
            say(f"  accepted before: {clean(prompt['formerPublicKey'])}")
        say(f"  its public key:  {clean(prompt['publicKey'])}")
        ends = datetime.datetime.fromtimestamp(prompt["certificateEndsAt"], datetime.timezone.utc)
        say(f"  valid until:     {ends:%Y-%m-%d}")
        say("Compare the key with that of your server before you accept it.")
        accepts = self.choose(f"Trust {host}? [y]es, [n]o", lambda reply: {"y": True, "n": False}.get(reply[0].lower()))
        return accepts or None


FAULTS = {
    "selfSigned": "is not certified by anyone but itself", "unknownAuthority": "comes from an unknown authority",
    "expired": "has expired", "notYetValid": "is not valid yet", "otherHost": "belongs to another host",
}


class ByItself:
    """The prompts answered without a person, for --yes."""

    cancelled = False

    def grant_access(self, prompt: GrantAccessPrompt) -> Answer:
        say(f"  --yes: access to {clean(prompt.get('provider'))} granted")
        return True

    def select_account(self, prompt: SelectAccountPrompt) -> Answer:
        account = prompt["accounts"][0]
        say(f"  --yes: {clean(account['username'])} chosen among {len(prompt['accounts'])}")
        return {"account": account["account"]}

    def confirm_account(self, prompt: ConfirmAccountPrompt) -> Answer:
        say(f"  --yes: {clean(prompt['accounts'][0]['username'])} confirmed")
        return True
