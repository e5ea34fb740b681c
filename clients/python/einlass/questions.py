"""The prompts as questions on the terminal: one rule draws `show` of each kind."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional

from .browser import open_page
from .client import Answer, PromptFunction
from .keyboard import Closed, Keyboard
from .text import clean, columns, qr_code, say


class Questions:
    """The prompts as questions on the terminal. An empty answer cancels, whatever the question."""

    def __init__(self, remember: bool = False) -> None:
        """`remember`: the flag of that name is set and not asked."""
        self.cancelled = False
        self.keyboard = Keyboard()
        self._remember = remember

    def prompts(self) -> Dict[str, PromptFunction]:
        """Returns the function for any kind of prompt."""
        return {"any": self.ask}

    def ask(self, prompt: Mapping[str, Any]) -> Answer:
        self.keyboard.prompt = str(prompt["prompt"])
        show = prompt["show"]
        say("\n" + "\n".join(clean(line) for line in [show["title"], *show.get("text", [])]))
        if show.get("warning"):
            say(f"! {clean(show['warning'])}")
        if show.get("page"):
            self._show_page(show["page"]["url"], prompt)
            if not show.get("fields"):
                return True  # the sign-in goes on without the prompt
        try:
            return self._answer(show)
        except Closed:
            return None  # nobody waits for it

    def _show_page(self, url: str, prompt: Mapping[str, Any]) -> None:
        if code := prompt["show"].get("code"):
            say(f"\n  {clean(url)}\n\n  {clean(code)}\n")
            if drawing := qr_code(prompt.get("verificationUriComplete") or url):
                say(drawing + "\n")
            say("The sign-in continues after that; Ctrl-C cancels it.")
        else:
            how = "Your browser opens it; if not, open it" if open_page(url) else "Open it in a browser"
            say(f"{how}:\n\n  {clean(url)}" + ("\n" if prompt["show"].get("fields") else ""))

    def _answer(self, show: Mapping[str, Any]) -> Answer:
        fields, choices = show.get("fields", []), show.get("choices", [])
        answer: Optional[Dict[str, Any]] = {"action": "accept"}
        if choices or not fields:
            answer = self._pick(choices, show["buttons"])
        if answer == {"action": "accept"}:
            for field in fields:
                value = self._enter(field)
                if value is not None:
                    answer[field["name"]] = value
                elif not choices:
                    answer = None
                    break
        self.cancelled = answer is None or answer["action"] == "cancel"
        if answer is None or self.cancelled:
            return None
        return answer["action"] == "accept" and (answer if len(answer) > 1 else True)

    def _pick(self, choices: List[Any], buttons: List[Any]) -> Optional[Dict[str, Any]]:
        """Asks for the number of a choice or a button until there is such a one; None cancels."""
        rows = [*choices, *buttons]
        answers = [choice["answer"] for choice in choices] + [{"action": button["action"]} for button in buttons]
        say(columns([[f"{number})", row["label"], row.get("detail", "")] for number, row in enumerate(rows, 1)]))
        while reply := (self.keyboard.line(f"Which? 1-{len(rows)}; nothing cancels: ") or "").strip():
            if reply.isdecimal() and 1 <= int(reply) <= len(rows):
                return {**answers[int(reply) - 1]}
        return None

    def _enter(self, field: Mapping[str, Any]) -> Any:
        """Returns the value of a field; None for a text that is left empty."""
        label, hidden = clean(field["label"]), field["type"] != "text"
        if field["type"] == "flag":
            is_set = self._remember and field["name"] == "remember"
            return is_set or (self.keyboard.line(f"{label}? [y/N] ") or "").lower() == "y"
        while value := self.keyboard.line(f"{label}; nothing cancels: ", hidden):
            if not field.get("twice") or self.keyboard.line("Once more: ", hidden) == value:
                return value
            say("The two differ.")
        return None


class ByItself:
    """The prompts answered without a person, for --yes."""

    cancelled = False

    def prompts(self) -> Dict[str, Callable[[Any], Answer]]:
        return {"grantAccess": self.grant_access, "selectAccount": self.select_account,
                "confirmAccount": self.confirm_account}

    def grant_access(self, prompt: Mapping[str, Any]) -> Answer:
        say(f"  --yes: access to {clean(prompt.get('provider'))} granted")
        return True

    def select_account(self, prompt: Mapping[str, Any]) -> Answer:
        account = prompt["accounts"][0]
        say(f"  --yes: {clean(account['username'])} chosen among {len(prompt['accounts'])}")
        return {"account": account["account"]}

    def confirm_account(self, prompt: Mapping[str, Any]) -> Answer:
        say(f"  --yes: {clean(prompt['accounts'][0]['username'])} confirmed")
        return True
