"""The prompts as questions on the terminal."""

from __future__ import annotations

import datetime
import functools
from typing import Any, Callable, Dict, List, Mapping, Optional

from .browser import open_page
from .client import Answer, PromptFunction
from .keyboard import Closed, Keyboard
from .protocol_types import (
    ConfirmAccountPrompt,
    DeviceCodePrompt,
    EnterPassphrasePrompt,
    EnterPasswordPrompt,
    EnterVerifierPrompt,
    GrantAccessPrompt,
    OpenURLPrompt,
    ReplaceAccountPrompt,
    SelectAccountPrompt,
    TrustCertificatePrompt,
)
from .text import accounts_table, clean, members, qr_code, say


def title(prompt: Mapping[str, Any]) -> str:
    return clean(prompt.get("applicationTitle") or prompt.get("application"))


def show_origin(prompt: Mapping[str, Any]) -> None:
    """Shows the resource that the sign-in is for, and the access that the application gets by it."""
    say("")
    if prompt.get("resource"):
        say(f"{title(prompt)} asks for a token for {clean(prompt['resource'])}, which has chosen this page.")
    if prompt.get("grantsAccess"):
        say(f"After the sign-in, {title(prompt)} may use the account.")
        wanted = {k: v for k, v in prompt.items() if v and k in ("permissions", "audience")}
        if wanted:
            say(members(wanted))


def yes_or_no(reply: str) -> Optional[bool]:
    return {"y": True, "n": False}.get(reply[0].lower())


class Questions:
    """The prompts as questions on the terminal. An empty answer cancels, whatever the question."""

    def __init__(self, remember: bool = False) -> None:
        """`remember`: passwords for a server of one's own are kept in the store."""
        self.cancelled = False
        self.keyboard = Keyboard()
        self._remember = remember

    def prompts(self) -> Dict[str, PromptFunction]:
        """Returns a function for each kind of prompt."""
        functions: Dict[str, Callable[[Any], Answer]] = {
            "grantAccess": self.grant_access, "selectAccount": self.select_account,
            "confirmAccount": self.confirm_account, "replaceAccount": self.replace_account,
            "openURL": self.open_url, "deviceCode": self.device_code, "enterVerifier": self.enter_verifier,
            "enterPassphrase": self.enter_passphrase, "enterPassword": self.enter_password,
            "trustCertificate": self.trust_certificate,
        }
        return {kind: functools.partial(self._ask, function) for kind, function in functions.items()}

    def _ask(self, function: Callable[[Any], Answer], prompt: Dict[str, Any]) -> Answer:
        self.keyboard.prompt = str(prompt["prompt"])
        try:
            return function(prompt)
        except Closed:
            return None  # nobody waits for it

    def line(self, question: str, hidden: bool = False) -> Optional[str]:
        """Returns one line; None, which cancels, if it is empty."""
        reply = self.keyboard.line(question, hidden)
        self.cancelled = not reply
        return reply or None

    def choose(self, question: str, answer: Callable[[str], Optional[Answer]]) -> Answer:
        """Asks until `answer` accepts the reply; returns None when the person cancels."""
        while reply := (self.line(f"{question}; nothing cancels: ") or "").strip():
            if (found := answer(reply)) is not None:
                return found
        self.cancelled = True
        return None

    def grant_access(self, prompt: GrantAccessPrompt) -> Answer:
        say(f"\n{title(prompt)} wants to use your {clean(prompt.get('providerName'))} accounts.")
        wanted = {k: v for k, v in prompt.items() if v and k in ("permissions", "audience", "added", "includes")}
        if wanted.get("added") == wanted.get("permissions"):
            wanted.pop("added", None)  # everything is new, so the list would repeat the permissions
        if wanted:
            say(members(wanted))
        return self.choose("Allow it? [y]es, [n]o and remember", yes_or_no)

    def select_account(self, prompt: SelectAccountPrompt) -> Answer:
        return self._pick("Which account?", prompt["accounts"], bool(prompt.get("more")))

    def replace_account(self, prompt: ReplaceAccountPrompt) -> Answer:
        say(f"\n{clean(prompt.get('providerName'))} does not name the account of this sign-in. Is it one of these?")
        return self._pick("[n]ew account, or which?", prompt["accounts"], bool(prompt.get("more")), new="n")

    def _pick(self, question: str, accounts: List[Any], more: bool, new: str = "") -> Answer:
        say("\n" + accounts_table(accounts, numbered=True))
        ids = {str(n): account["account"] for n, account in enumerate(accounts, 1)}

        def chosen(reply: str) -> Answer:
            if new and reply.lower() == new:
                return True
            found = reply if reply.startswith("a_") else ids.get(reply)
            return {"account": found} if found else None

        return self.choose(f"{question} 1-{len(accounts)}{', or an account id' if more else ''}", chosen)

    def confirm_account(self, prompt: ConfirmAccountPrompt) -> Answer:
        who = f"{clean(prompt['accounts'][0]['username'])} at {clean(prompt.get('providerName'))}"
        return self.choose(f"\nUse {who}? [y]es, [n]o", yes_or_no)

    def open_url(self, prompt: OpenURLPrompt) -> Answer:
        show_origin(prompt)
        how = "Your browser opens it; if not, open it" if open_page(prompt["url"]) else "Open it in a browser"
        say(f"Sign in at {clean(prompt['host'])} on this page. {how}:\n\n  {clean(prompt['url'])}\n")
        if not prompt.get("returningTo"):
            return True  # the browser comes back to einlass
        say(f"The browser ends on {clean(prompt['returningTo'])}, which may not load.")
        address = self.line("Paste the whole address of that page; nothing cancels: ")
        return {"redirectURL": unwrapped(address)} if address else None

    def device_code(self, prompt: DeviceCodePrompt) -> Answer:
        show_origin(prompt)
        page = prompt["verificationUri"]
        say(f"Open this page on any device:\n\n  {clean(page)}\n\nand enter this code, which {title(prompt)} on this "
            f"machine asks for:\n\n  {clean(prompt['userCode'])}\n")
        if code := qr_code(prompt.get("verificationUriComplete") or page):
            say(code + "\n")
        say("The sign-in continues after that; Ctrl-C cancels it.")
        return True  # the sign-in goes on without the prompt

    def enter_verifier(self, prompt: EnterVerifierPrompt) -> Answer:
        if prompt.get("again"):
            say("That does not fit.")
        if prompt["expects"] == "pin":
            number = self.line("The number that the page shows; nothing cancels: ")
            return {"text": number.strip()} if number else None
        say("If the browser runs on another machine, it ends on a page that does not load.")
        address = self.line("Paste its address here, or just wait; nothing cancels: ")
        return {"text": unwrapped(address)} if address else None

    def enter_passphrase(self, prompt: EnterPassphrasePrompt) -> Answer:
        if prompt.get("again"):
            say("That passphrase does not fit.")
        use = {"keySlot": "opens the store", "export": "protects", "import": "opens"}.get(prompt["purpose"], "opens")
        say(f"\nA passphrase {use} {clean(prompt['path'])}.")
        while passphrase := self.line("Passphrase; nothing cancels: ", hidden=True):
            if not prompt.get("new") or self.line("Once more: ", hidden=True) == passphrase:
                return {"passphrase": passphrase}
            say("The two passphrases differ.")
        return None

    def enter_password(self, prompt: EnterPasswordPrompt) -> Answer:
        server = clean(prompt["server"])
        if prompt.get("again"):
            say("The server refused that user name or password.")
        else:
            show_origin(prompt)
        if prompt.get("secure") is False:
            say(f"The password goes to {server} by plain http: others on the way can read it.")
        username = prompt.get("username") or self.line(f"User name at {server}; nothing cancels: ")
        password = username and self.line(f"Password of {clean(username)} at {server}: ", hidden=True)
        if not password:
            return None
        remember = {"remember": True} if self._remember and prompt.get("mayRemember") else {}
        return {"username": username, "password": password, **remember}

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
        accepts = self.choose(f"Trust {host}? [y]es, [n]o", yes_or_no)
        return accepts or None


FAULTS = {
    "selfSigned": "is not certified by anyone but itself", "unknownAuthority": "comes from an unknown authority",
    "expired": "has expired", "notYetValid": "is not valid yet", "otherHost": "belongs to another host",
}


def unwrapped(address: str) -> str:
    """Returns an address without the blanks, quotes and brackets that programs put around it."""
    return address.strip(" \t\"'<>`\u201c\u201d")


class ByItself:
    """The prompts answered without a person, for --yes."""

    cancelled = False

    def prompts(self) -> Dict[str, Callable[[Any], Answer]]:
        return {"grantAccess": self.grant_access, "selectAccount": self.select_account,
                "confirmAccount": self.confirm_account}

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
