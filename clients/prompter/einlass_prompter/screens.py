"""The screen of each kind of prompt."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping

from .choice import Choice, add_accounts
from .widgets import Gtk, button, copy, label, name, open_page, qr_code, scrolled, text

if TYPE_CHECKING:
    from .windows import Prompt, Screen, Windows

#: More permissions are scrolled.
MANY = 6
FAULTS = {
    "selfSigned": "is not certified by anyone but itself", "unknownAuthority": "comes from an unknown authority",
    "expired": "has expired", "notYetValid": "is not valid yet", "otherHost": "belongs to another host",
}
AUDIENCES = {"onlyMe": "only you", "friends": "your friends", "everyone": "everyone"}


def application(prompt: Prompt) -> str:
    return text(prompt.get("applicationTitle") or prompt.get("application"), 80)


def provider(prompt: Prompt) -> str:
    return text(prompt.get("providerName") or prompt.get("provider"), 80)


def introduce(screen: Screen, title: str, heading: str) -> None:
    """Shows the question and its origin, so that nobody answers for a program that they did not start."""
    prompt = screen.prompt
    screen.title = title
    screen.say(heading, "einlass-heading")
    resource = f" and the resource {text(prompt['resource'])}" if "resource" in prompt else ""
    started = ", ".join(text(program, 60) for program in prompt.get("startedBy") or [])
    started = f", started by {started}" if started else ""
    screen.say(f"For {application(prompt)}{resource}{started}.", "dim-label")
    if prompt.get("grantsAccess"):
        screen.say(f"After the sign-in, {application(prompt)} may use this account.")
    rights(screen, prompt)


def rights(screen: Screen, prompt: Prompt) -> None:
    permissions: List[str] = prompt.get("permissions") or []
    added = prompt.get("added") or []
    if permissions:
        screen.say("It asks for these permissions:")
        new = [] if added == permissions else added
        marked = [f"• {text(one, 100)}" + (" (new)" if one in new else "") for one in permissions]
        area = label("\n".join(marked))
        if len(marked) > MANY:
            area = scrolled(area, 160)
            name(area, "Permissions")
        screen.add(area)
    if "audience" in prompt:
        audience = prompt["audience"]
        screen.say(f"Readers of its posts: {AUDIENCES.get(audience, text(audience))}.")
    if "refreshToken" in (prompt.get("includes") or []):
        screen.say("It gets lasting access, because refresh tokens are included.")


def grant_access(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    introduce(screen, f"Access to {provider(prompt)}",
              f"{application(prompt)} wants to use your {provider(prompt)} accounts.")
    screen.say("“Don’t Allow” is remembered.", "dim-label")
    screen.cancel_words = "Not _Now"
    screen.action("_Don’t Allow", lambda: screen.answer("decline"))
    screen.action("_Allow", lambda: screen.answer("accept"), "suggested-action")
    # A window that opens while a person types must not take Enter for a yes.
    screen.first = screen.window.cancel_button


def choice_of_accounts(screen: Screen, prompt: Prompt, windows: Windows, done: Callable[[], None]) -> Choice:
    choice = Choice("Accounts", done)
    add_accounts(choice, prompt["accounts"], windows.accounts)
    screen.add(choice)
    screen.first = choice.focus()
    if prompt.get("more"):
        if windows.accounts:
            windows.accounts.all("accounts.list", "accounts", {"provider": prompt["provider"]},
                                 lambda found: add_accounts(choice, found, None),
                                 lambda error: screen.problem(f"Some accounts are missing. {text(error.message)}"))
        else:
            screen.say("These are the last used ones. The id of another account can be entered in the search field.")
    return choice


def select_account(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    def done() -> None:
        typed = choice.search.get_text().strip()
        if account := choice.value() or (typed if typed.startswith("a_") else None):
            screen.answer("accept", account=account)

    introduce(screen, "Choose an Account", f"Which {provider(prompt)} account is it?")
    choice = choice_of_accounts(screen, prompt, windows, done)
    screen.action("Ch_oose", done, "suggested-action")


def confirm_account(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    account = prompt["accounts"][0]
    who = text(account.get("displayName") or account["username"])
    introduce(screen, f"Continue at {provider(prompt)}", f"Continue as {who} at {provider(prompt)}?")
    choice_of_accounts(screen, prompt, windows, lambda: screen.answer("accept"))
    screen.first = screen.action("C_ontinue", lambda: screen.answer("accept"), "suggested-action")


def replace_account(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    def done() -> None:
        if account := choice.value():
            screen.answer("accept", account=account)

    question = f"Is the new sign-in at {provider(prompt)} one of these accounts?"
    introduce(screen, f"Signed In at {provider(prompt)}", question)
    choice = choice_of_accounts(screen, prompt, windows, done)
    screen.action("A _New Account", lambda: screen.answer("accept"))
    screen.action("_This Account", done, "suggested-action")


def open_url(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    host = text(prompt["host"])
    url = prompt["url"]
    introduce(screen, f"Sign In at {provider(prompt)}", f"Sign in at {host} in your browser.")
    state = screen.say("This window closes after the sign-in.", "dim-label")
    screen.action("Copy _Address", lambda: copy(url))

    def open_it() -> None:
        screen.problem("")
        state.set_text("The page opens in your browser. This window closes after the sign-in.")
        open_button.set_label("_Open Again")
        open_page(url, failed)

    def failed(problem: str) -> None:
        screen.problem(problem)
        state.set_text("This window closes after the sign-in.")
        open_button.set_label("_Open the Page")

    open_button = screen.first = screen.action("_Open the Page", open_it, "suggested-action")
    if windows.opens_pages:
        open_it()


def device_code(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    address, code = prompt["verificationUri"], text(prompt["userCode"], 60)
    best = prompt.get("verificationUriComplete") or address
    introduce(screen, f"Sign In at {provider(prompt)}", f"Enter this code at {text(prompt['host'])}, on any device.")
    row = Gtk.Box(spacing=12)
    column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6, valign=Gtk.Align.CENTER)
    shown = label(code, "einlass-code", selectable=True)
    shown.set_max_width_chars(16)
    name(shown, "Code " + " ".join(code))
    column.add(shown)
    column.add(label(text(address), selectable=True))
    row.pack_start(column, True, True, 0)
    if picture := qr_code(best):
        row.add(picture)
    screen.add(row)
    screen.say(f"Enter only a code that you see in your own {application(prompt)}.", "dim-label")

    def open_it() -> None:
        screen.problem("")
        open_page(best, screen.problem)

    screen.first = screen.action("Co_py Code", lambda: copy(prompt["userCode"]))
    screen.action("_Open the Page", open_it, "suggested-action")


def enter_verifier(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    def done() -> None:
        if entry.get_text().strip():
            screen.answer("accept", text=entry.get_text().strip())

    pin = prompt["expects"] == "pin"
    if not any(other.prompt for other in screen.window.screens):  # else it stands below `openURL`
        introduce(screen, f"Sign In at {provider(prompt)}", f"Finish the sign-in at {provider(prompt)}.")
    if prompt.get("again"):
        screen.problem("This does not fit.")
    words = "_Number from the page" if pin else "If the _last page does not load in the browser, paste its address here"
    entry = screen.field(words, done=done)
    box = entry.get_parent()
    box.remove(entry)
    row = Gtk.Box(spacing=6)
    row.pack_start(entry, True, True, 0)
    row.add(button("_Send", done))
    box.add(row)


def enter_passphrase(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    def done() -> None:
        if again and again.get_text() != entry.get_text():
            screen.problem("The two passphrases differ.")
        elif entry.get_text():
            passphrase = entry.get_text()
            forget(entry, again)
            screen.answer("accept", passphrase=passphrase)

    does = {"keySlot": "opens the account store", "export": "protects the new file of accounts",
            "import": "opens the file of accounts"}.get(prompt["purpose"], "is needed")
    introduce(screen, "Passphrase", f"The passphrase {does}.")
    if "path" in prompt:
        screen.say(text(prompt["path"]), selectable=True)
    if prompt.get("again"):
        screen.problem("This passphrase does not fit.")
    entry = screen.field("_Passphrase", secret=True, done=done)
    again = screen.field("Passphrase, once _more", secret=True, done=done) if prompt.get("new") else None
    screen.action("C_ontinue", done, "suggested-action")


def enter_password(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    def done() -> None:
        password = secret.get_text()
        if not password or user and not user.get_text():
            return
        members: Dict[str, Any] = {"password": password}
        if user:
            members["username"] = user.get_text()
        if remember and remember.get_active():
            members["remember"] = True
        forget(secret)
        screen.answer("accept", **members)

    server = text(prompt["server"])
    introduce(screen, f"Log In at {provider(prompt)}", f"Log in at {server}.")
    if prompt.get("secure") is False:
        screen.say("Others on the way can read the password, because the server is reached by plain http.",
                   "einlass-problem")
    if prompt.get("again"):
        screen.problem("The server refused that user name or password.")
    user = None if "username" in prompt else screen.field("_User name", done=lambda: secret.grab_focus())
    if "username" in prompt:
        screen.say(f"User name: {text(prompt['username'])}")
    secret = screen.field("_Password", secret=True, done=done)
    remember = None
    if prompt.get("mayRemember"):
        remember = Gtk.CheckButton.new_with_mnemonic("_Remember the password")
        screen.add(remember)
    screen.action("_Log In", done, "suggested-action")


def forget(*entries: Any) -> None:
    for entry in entries:
        if entry:
            entry.set_text("")


def trust_certificate(screen: Screen, prompt: Prompt, windows: Windows) -> None:
    host = text(prompt["host"])
    changed = prompt.get("formerPublicKey")
    fault = FAULTS.get(str(prompt.get("fault")), "is not trusted" if prompt.get("fault") else
                       "is trusted, but it has another key than before")
    introduce(screen, "Certificate of a Server", f"The certificate of {host}, port {int(prompt['port'])}, {fault}.")
    if changed:
        screen.say("The server has another key than before.", "einlass-problem")
    keys = [("Accepted before", changed)] if changed else []
    for words, key in [*keys, ("Its public key", prompt["publicKey"])]:
        screen.say(f"{words}:")
        name(screen.say(text(key), selectable=True), f"{words}: {text(key)}")
    ends = datetime.datetime.fromtimestamp(prompt["certificateEndsAt"], datetime.timezone.utc)
    screen.say(f"Valid until {ends:%Y-%m-%d}. Compare the key with that of your server before you accept it.")
    screen.action("_Trust", lambda: screen.answer("accept"))
    screen.first = screen.window.cancel_button  # the default is no


KINDS: Mapping[str, Callable[[Any, Any, Any], None]] = {
    "grantAccess": grant_access, "selectAccount": select_account, "confirmAccount": confirm_account,
    "replaceAccount": replace_account, "openURL": open_url, "deviceCode": device_code, "enterVerifier": enter_verifier,
    "enterPassphrase": enter_passphrase, "enterPassword": enter_password, "trustCertificate": trust_certificate,
}
