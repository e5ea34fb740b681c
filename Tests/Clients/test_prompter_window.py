"""The windows of `clients/prompter`, read by the accessibility tree and answered by the keyboard alone."""
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
sys.path += [str(Path(__file__).with_name("prompter")), str(PROJECT / "Tests/Integrations")]
from desktop import (  # noqa: E402, F401
    PATIENCE, PYTHON, check_names, desktop, find, focused, names, needs_gtk, nodes, until, words)
from house import missing  # noqa: E402

PROMPTER = str(PROJECT / "clients/prompter/einlass-prompter")
pytestmark = needs_gtk


class Einlass:
    """The side of einlass in the conversation with a prompter."""

    def __init__(self, environment):
        self.process = subprocess.Popen([PROMPTER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.answers, self.last = queue.SimpleQueue(), 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def open(self, **members):
        self.last += 1
        prompt = {"prompt": f"p_{self.last}", "flows": [f"f_{self.last}"], "requests": [1], "application": "editor",
                  "applicationTitle": "Editor", "provider": "github", "providerName": "GitHub",
                  "expiresAt": int(time.time()) + 300, **members}
        self.write({"method": "prompt.opened", "params": prompt})
        return prompt["prompt"]

    def close(self, prompt, outcome="satisfied"):
        self.write({"method": "prompt.closed", "params": {"prompt": prompt, "outcome": outcome}})

    def answer(self):
        """Returns the parameters of the next answer, and accepts it as einlass does."""
        message = self.answers.get(timeout=PATIENCE)
        assert message["jsonrpc"] == "2.0" and message["method"] == "prompt.answer"
        self.write({"id": message["id"], "result": {}})
        self.close(message["params"]["prompt"], "accepted")
        return message["params"]

    def refuse(self, reason, message):
        got = self.answers.get(timeout=PATIENCE)
        data = {"reason": reason, "retryable": False}
        self.write({"id": got["id"], "error": {"code": 1025, "message": message, "data": data}})

    def end(self):
        """Closes the input of the prompter. Returns its exit code and its standard error."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        assert self.answers.empty()
        errors = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, errors


@pytest.fixture
def browser(tmp_path):
    """A folder for the PATH, and a function that waits for the pages that were opened."""
    seen = tmp_path / "opened"
    folder = tmp_path / "browser"
    folder.mkdir()
    (folder / "xdg-open").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{seen}\necho out of place\n')
    (folder / "xdg-open").chmod(0o700)

    def wait(count):
        def pages():
            found = seen.read_text().split("\n")[:-1] if seen.exists() else []
            return found if len(found) >= count else None
        return until(pages, "no page")
    return folder, wait


@pytest.fixture
def einlass(desktop, browser):
    einlass = Einlass({**desktop.environment, "PATH": f"{browser[0]}:{desktop.environment['PATH']}"})
    yield einlass
    if not einlass.process.stdin.closed:
        code, errors = einlass.end()
        assert (code, errors) == (0, "")


def show(desktop, einlass, title, **members):
    """Opens a prompt. Returns its id and its window, once a widget has the focus."""
    prompt = einlass.open(**members)
    return prompt, desktop.window(title, focused)


ADA = {"account": "a_ada", "provider": "github", "username": "ada", "displayName": "Ada Lovelace", "health": "ok"}
GRACE = {"account": "a_grace", "provider": "github", "username": "grace", "health": "reloginNeeded"}
SERVER = {"server": "https://pbx.example.com:8443", "host": "pbx.example.com"}
KEY = "sha256//X3pGTSOuJeEVw989IJ/cEtXUEmy52zs1TZQrU06KUKg="
ACCESS = {"kind": "grantAccess", "permissions": ["email", "user_friends"], "added": ["user_friends"],
          "audience": "friends", "includes": ["refreshToken"]}
CERTIFICATE = {"kind": "trustCertificate", **SERVER, "port": 8443, "publicKey": KEY, "fault": "selfSigned",
               "certificateEndsAt": 1893456000}
PASSWORD = {"kind": "enterPassword", **SERVER, "grantsAccess": True}
SELECT, REPLACE = ({"kind": kind, "accounts": [ADA, GRACE]} for kind in ("selectAccount", "replaceAccount"))
ACCEPT, DECLINE, CANCEL = ({"action": action} for action in ("accept", "decline", "cancel"))


@pytest.mark.parametrize("title, prompt, hands, answer, shown", [
    ("Access to GitHub", ACCESS, ["alt+a"], ACCEPT, [
        "Editor wants to use your GitHub accounts.", "• email\n• user_friends (new)",
        "Readers of its posts: your friends.", "It gets lasting access, because refresh tokens are included."]),
    ("Access to GitHub", ACCESS, ["alt+d"], DECLINE, ["Don’t Allow"]),
    # A window that opens while a person types takes no Enter for a yes.
    ("Access to GitHub", ACCESS, ["Return"], CANCEL, ["Not Now"]),
    ("Access to GitHub", ACCESS, ["Tab", "Tab", "Return"], ACCEPT, ["Allow"]),
    ("Access to GitHub", ACCESS, ["Escape"], CANCEL, []),
    ("Choose an Account", SELECT, ["Return"], {**ACCEPT, "account": "a_ada"},
     ["Ada Lovelace, ada", "grace, has to sign in again"]),
    ("Choose an Account", SELECT, ["Down", "alt+o"], {**ACCEPT, "account": "a_grace"}, []),
    ("Choose an Account", SELECT, ["alt+c"], CANCEL, []),
    ("Choose an Account", {"kind": "selectAccount", "accounts": [
        {"account": f"a_{host}", "provider": "fcsdk", "username": "ada", "subject": f"ada@{host}:443", "health": "ok"}
        for host in ("desk", "pbx")]}, ["Return"], {**ACCEPT, "account": "a_desk"}, ["ada@desk:443", "ada@pbx:443"]),
    ("Continue at GitHub", {"kind": "confirmAccount", "accounts": [ADA]}, ["Return"], ACCEPT,
     ["Continue as Ada Lovelace at GitHub?", "Ada Lovelace, ada"]),
    ("Signed In at GitHub", REPLACE, ["Down", "alt+t"], {**ACCEPT, "account": "a_grace"}, []),
    ("Signed In at GitHub", REPLACE, ["alt+n"], ACCEPT, ["A New Account"]),
    ("Sign In at GitHub", {"kind": "enterVerifier", "expects": "pin", "again": True}, ["123 456", "Return"],
     {**ACCEPT, "text": "123 456"}, ["Number from the page", "This does not fit."]),
    ("Passphrase", {"kind": "enterPassphrase", "purpose": "keySlot", "again": True},
     ["Return", "correct horse", "Return"], {**ACCEPT, "passphrase": "correct horse"},
     ["The passphrase opens the account store.", "This passphrase does not fit."]),
    ("Log In at GitHub", {**PASSWORD, "mayRemember": True, "secure": False, "again": True},
     ["ada", "Return", "difference", "Tab", "space", "alt+l"],
     {**ACCEPT, "username": "ada", "password": "difference", "remember": True},
     ["Log in at https://pbx.example.com:8443.", "After the sign-in, Editor may use this account.",
      "Others on the way can read the password, because the server is reached by plain http.",
      "The server refused that user name or password.", "Remember the password"]),
    ("Log In at GitHub", {**PASSWORD, "username": "ada"}, ["difference", "Return"],
     {**ACCEPT, "password": "difference"}, ["User name: ada"]),
    ("Certificate of a Server", CERTIFICATE, ["Return"], CANCEL, ["Its public key: " + KEY]),
    ("Certificate of a Server", {**CERTIFICATE, "fault": None, "formerPublicKey": "sha256//former="}, ["alt+t"], ACCEPT,
     ["The certificate of pbx.example.com, port 8443, is trusted, but it has another key than before.",
      "The server has another key than before.", "Accepted before: sha256//former="]),
])
def test_each_prompt_is_answered_by_the_keyboard(desktop, einlass, title, prompt, hands, answer, shown):
    prompt, window = show(desktop, einlass, title, **prompt, startedBy=["git-credential-einlass", "git"])
    check_names(window)
    assert window["role"] == "dialog"
    assert {"For Editor, started by git-credential-einlass, git.", *shown} <= set(names(window))
    assert any(name.startswith("Closes in 4:") for name in names(window))
    for hand in hands:
        keys = hand in ("Return", "Escape", "Tab", "Down", "space") or hand.startswith("alt+")
        desktop.press(title, hand) if keys else desktop.type(title, hand)
    assert einlass.answer() == {"prompt": prompt, **answer}
    desktop.gone(title)


def test_a_new_passphrase_is_typed_twice(desktop, einlass):
    prompt, _ = show(desktop, einlass, "Passphrase", kind="enterPassphrase", purpose="export",
                     path="/home/ada/accounts", new=True)
    for hand in ("first", "second"):
        desktop.type("Passphrase", hand)
        desktop.press("Passphrase", "Tab")
    desktop.press("Passphrase", "alt+o")
    window = desktop.window("Passphrase", lambda window: "The two passphrases differ." in names(window))
    fields = [node for node in nodes(window) if node["role"] == "password text"]
    assert [field["name"] for field in fields] == ["Passphrase", "Passphrase, once more"]
    assert "/home/ada/accounts" in names(window)
    assert "first" not in json.dumps(window) and "second" not in json.dumps(window)
    desktop.press("Passphrase", "alt+m", "ctrl+a")
    desktop.type("Passphrase", "first")
    desktop.press("Passphrase", "Return")
    assert einlass.answer() == {"prompt": prompt, "action": "accept", "passphrase": "first"}


PAGE = {"kind": "openURL", "url": "https://github.com/login?a=b&c=$(d)", "host": "github.com"}


def test_a_page_is_opened_again_and_copied(desktop, einlass, browser):
    title = "Sign In at GitHub"
    prompt, window = show(desktop, einlass, title, **PAGE, grantsAccess=True, permissions=["repo"])
    check_names(window)
    assert {"Sign in at github.com in your browser.", "• repo",
            "After the sign-in, Editor may use this account."} <= set(names(window))
    # Enter opens it once more, and neither click answers the prompt.
    desktop.press(title, "Return")
    desktop.window(title, lambda window: find(window, "push button", "Open Again"))
    desktop.press(title, "alt+o", "alt+a")
    assert browser[1](2) == [PAGE["url"]] * 2
    desktop.clipboard(PAGE["url"])
    assert einlass.answers.empty()
    einlass.close(prompt)
    desktop.gone(title)


def test_an_address_that_is_no_page_is_not_opened(desktop, einlass, browser):
    title = "Sign In at GitHub"
    show(desktop, einlass, title, **{**PAGE, "url": "file:///etc/passwd"})
    desktop.press(title, "Return")
    desktop.window(title, lambda window: "This address is no web page." in names(window))
    show(desktop, einlass, "Sign In at Other", **PAGE, providerName="Other")
    desktop.press("Sign In at Other", "Return")
    assert browser[1](1) == [PAGE["url"]]
    desktop.press(title, "Escape")
    assert einlass.answer()["action"] == "cancel"


CODE = {"kind": "deviceCode", "verificationUri": "https://github.com/login/device", "host": "github.com",
        "userCode": "WDJB-MJHT"}


def test_a_code_is_copied_and_its_page_opened(desktop, einlass, browser):
    title = "Sign In at GitHub"
    prompt, window = show(desktop, einlass, title, **CODE)
    check_names(window)
    assert {"Enter this code at github.com, on any device.", CODE["verificationUri"],
            "Enter only a code that you see in your own Editor."} <= set(names(window))
    code = find(window, "label", "Code W D J B - M J H T")
    assert code["text"] == "WDJB-MJHT"
    desktop.press(title, "Return", "alt+o")
    desktop.clipboard("WDJB-MJHT")
    assert browser[1](1) == [CODE["verificationUri"]]
    einlass.close(prompt)
    desktop.gone(title)


@pytest.mark.skipif(bool(missing("zbarimg")), reason="skipped: there is no zbarimg")
def test_the_qr_code_has_the_address_with_the_code(desktop, einlass, tmp_path):
    complete = CODE["verificationUri"] + "?user_code=WDJB-MJHT"
    _, window = show(desktop, einlass, "Sign In at GitHub", **CODE, verificationUriComplete=complete)
    assert find(window, "icon", "QR code of " + complete)

    def read():
        desktop.picture("Sign In at GitHub", tmp_path / "shown.png")
        scan = ["zbarimg", "-q", "--raw", str(tmp_path / "shown.png")]
        return subprocess.run(scan, capture_output=True, text=True).stdout.strip()
    assert until(read, "no QR code") == complete


def test_without_segno_a_code_has_no_qr_code(desktop, tmp_path):
    (tmp_path / "segno.py").write_text("raise ImportError\n")
    einlass = Einlass({**desktop.environment, "PYTHONPATH": str(tmp_path)})
    prompt, window = show(desktop, einlass, "Sign In at GitHub", **CODE)
    assert find(window, "label", "Code W D J B") and not find(window, "icon")
    einlass.close(prompt)
    assert einlass.end() == (0, "")


def test_the_address_of_the_last_page_is_pasted_below_the_page(desktop, einlass):
    title = "Sign In at GitHub"
    page, _ = show(desktop, einlass, title, **PAGE, flows=["f_1"])
    verifier = einlass.open(kind="enterVerifier", expects="redirectURL", flows=["f_1"])
    window = desktop.window(title, lambda window: find(window, "text", "If the last page does not load"))
    check_names(window)
    # One window, with the origin once.
    assert len(desktop.look("windows")) == 1 and words(window).count("For Editor") == 1
    desktop.press(title, "alt+l")
    desktop.type(title, "http://127.0.0.1:8912/?code=a")
    desktop.press(title, "alt+s")
    assert einlass.answer() == {"prompt": verifier, "action": "accept", "text": "http://127.0.0.1:8912/?code=a"}
    desktop.window(title, lambda window: not find(window, "text"))
    einlass.close(page)
    desktop.gone(title)


def test_escape_cancels_all_prompts_of_a_window(desktop, einlass):
    page, _ = show(desktop, einlass, "Sign In at GitHub", **PAGE, flows=["f_1"])
    verifier = einlass.open(kind="enterVerifier", expects="redirectURL", flows=["f_1"])
    desktop.window("Sign In at GitHub", lambda window: find(window, "text"))
    desktop.press("Sign In at GitHub", "Escape")
    answers = [einlass.answer(), einlass.answer()]
    assert answers == [{"prompt": prompt, "action": "cancel"} for prompt in (page, verifier)]


@pytest.mark.parametrize("outcome", ["accepted", "declined", "cancelled", "expired", "satisfied"])
def test_a_prompt_that_closes_by_itself_takes_its_window_along(desktop, einlass, outcome):
    prompt, _ = show(desktop, einlass, "Access to GitHub", **ACCESS)
    einlass.close(prompt, outcome)
    desktop.gone("Access to GitHub")
    # The program goes on, and nothing was answered.
    show(desktop, einlass, "Access to GitLab", **{**ACCESS, "providerName": "GitLab"})
    assert einlass.answers.empty()


def test_many_prompts_are_answered_in_any_order(desktop, einlass):
    prompts = {f"Access to P{number}": einlass.open(**{**ACCESS, "providerName": f"P{number}"}) for number in range(12)}
    until(lambda: set(prompts) <= set(desktop.windows()), "not all windows")
    order = list(prompts)
    for title in order[1::2] + order[::2]:
        desktop.press(title, "alt+a")
        assert einlass.answer() == {"prompt": prompts[title], "action": "accept"}
        desktop.gone(title)
    assert desktop.windows() == {}


EVIL = '<b>bold</b> & <a href="file:///etc/passwd">_link</a>\x1b[31m\u202egro\n\u2028'


def test_text_of_others_is_plain(desktop, einlass):
    _, window = show(desktop, einlass, "Access to <b>GitHub</b>", **{
        **ACCESS, "applicationTitle": EVIL, "providerName": "<b>GitHub</b>", "permissions": [EVIL],
        "startedBy": [EVIL]})
    plain = '<b>bold</b> & <a href="file:///etc/passwd">_link</a>\ufffd[31m\ufffdgro\ufffd\ufffd'
    assert f"{plain} wants to use your <b>GitHub</b> accounts." in names(window) and f"• {plain}" in names(window)
    assert not find(window, "link") and not {"\x1b", "\u202e", "\u2028"} & set(words(window))
    # "_l" of the provider's text is no mnemonic.
    desktop.press("Access to <b>GitHub</b>", "alt+l", "Escape")
    assert einlass.answer()["action"] == "cancel"


LONG = "w" * 5000
MANY = [{**ADA, "account": f"a_{number}", "displayName": LONG, "username": LONG} for number in range(100)]


@pytest.mark.parametrize("prompt", [
    {"kind": "grantAccess", "permissions": [LONG] * 100, "added": []},
    {"kind": "selectAccount", "accounts": MANY, "more": True},
    {**PAGE, "host": LONG, "grantsAccess": True, "permissions": [LONG] * 6}, {**CODE, "host": LONG, "userCode": LONG},
    {**PASSWORD, "server": LONG, "username": LONG},
    {**CERTIFICATE, "host": LONG, "publicKey": LONG, "formerPublicKey": LONG},
    {"kind": "enterPassphrase", "purpose": "export", "path": LONG, "new": True}], ids=lambda prompt: prompt["kind"])
def test_long_texts_stay_within_the_screen(desktop, einlass, tmp_path, prompt):
    einlass.open(**prompt, applicationTitle=LONG, providerName=LONG, startedBy=[LONG] * 4)
    title = next(iter(until(desktop.windows, "no window")))
    desktop.picture(title, tmp_path / "long.png")
    size = ["identify", "-format", "%w %h", str(tmp_path / "long.png")]
    width, height = map(int, subprocess.run(size, capture_output=True, text=True).stdout.split())
    assert 400 < width <= 1280 and 200 < height <= 1024


def test_a_refused_answer_is_shown_and_given_again(desktop, einlass):
    """`more`: the provider has more accounts than the list."""
    accounts = [{**GRACE, "account": f"a_{number}", "username": f"user {number}", "health": "ok"}
                for number in range(100)]
    prompt, _ = show(desktop, einlass, "Choose an Account", kind="selectAccount", accounts=accounts, more=True)
    # A letter in the list begins a search.
    desktop.type("Choose an Account", "a_another")
    desktop.window("Choose an Account", lambda window: focused(window) == "Search")
    desktop.press("Choose an Account", "Return")
    einlass.refuse("invalidChoice", "There is no such account.")
    desktop.window("Choose an Account", lambda window: "There is no such account." in names(window))
    desktop.press("Choose an Account", "ctrl+a")
    desktop.type("Choose an Account", "user 42")
    desktop.window("Choose an Account", lambda window: [
        node["name"] for node in nodes(window) if node["role"] == "list item"] == ["user 42"])
    desktop.press("Choose an Account", "Return")
    assert einlass.answer() == {"prompt": prompt, "action": "accept", "account": "a_42"}


def test_a_late_answer_closes_with_its_prompt(desktop, einlass):
    prompt, _ = show(desktop, einlass, "Access to GitHub", **ACCESS)
    desktop.press("Access to GitHub", "alt+a")
    einlass.refuse("unknownPrompt", "There is no such prompt.")
    einlass.close(prompt, "expired")
    desktop.gone("Access to GitHub")


def test_a_later_einlass_is_tolerated(desktop, einlass):
    einlass.process.stdin.write(b"garbage\n[]\n{}\n")
    einlass.write({"method": "auth.later", "params": {"a": 1}})
    einlass.write({"id": 99, "result": {}})
    einlass.close("p_another")
    unknown = einlass.open(kind="later")
    assert einlass.answer() == {"prompt": unknown, "action": "cancel"}
    incomplete = einlass.open(kind="openURL")
    assert einlass.answer() == {"prompt": incomplete, "action": "cancel"}
    show(desktop, einlass, "Access to GitHub", **ACCESS, later={"a": "\u2028" * 20000})
    assert len(desktop.look("windows")) == 1
    code, errors = einlass.end()
    assert code == 0 and errors.count("\n") == 2 and "kind later cannot be shown" in errors
    assert desktop.windows() == {}


@pytest.fixture
def portal(desktop):
    """Returns a function that sets the color scheme of the desktop: 0 none, 1 dark, 2 light."""
    process = desktop.start(PYTHON, str(Path(__file__).with_name("prompter") / "portal.py"), "1")
    assert process.stdout.readline() == "ready\n"

    def set(scheme):
        process.stdin.write(f"{scheme}\n")
        process.stdin.flush()
    yield set
    process.terminate()
    process.wait(PATIENCE)


def brightness(desktop, title, path):
    desktop.picture(title, path)
    mean = ["convert", str(path), "-colorspace", "Gray", "-format", "%[fx:mean]", "info:"]
    return float(subprocess.run(mean, capture_output=True, text=True, check=True).stdout)


def test_it_follows_the_color_scheme_of_the_desktop(desktop, portal, einlass, tmp_path):
    show(desktop, einlass, "Access to GitHub", **ACCESS)
    path = tmp_path / "shown.png"
    until(lambda: brightness(desktop, "Access to GitHub", path) < 0.4, "it is not dark")
    portal(2)
    until(lambda: brightness(desktop, "Access to GitHub", path) > 0.6, "it is not light")
    portal(1)
    until(lambda: brightness(desktop, "Access to GitHub", path) < 0.4, "it is not dark again")


def test_without_a_color_scheme_it_is_light(desktop, einlass, tmp_path):
    show(desktop, einlass, "Access to GitHub", **ACCESS)
    assert brightness(desktop, "Access to GitHub", tmp_path / "shown.png") > 0.6


LATE = """
import sys, threading, gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk

class Late(Gtk.Box):
    places = False

    def do_size_allocate(self, place):
        self.set_allocation(place)
        if self.places:
            Gtk.Box.do_size_allocate(self, place)

def place():
    late.places = True
    late.queue_resize()

window, late = Gtk.Window(title="Late"), Late()
window.add(late)
late.add(Gtk.Label(label="Placed"))
window.show_all()
threading.Thread(target=lambda: sys.stdin.readline() and GLib.idle_add(place), daemon=True).start()
Gtk.main()
"""


def test_the_eyes_of_these_tests_wait_for_widgets_without_a_place(desktop):
    """GTK shows a widget after its next layout, which is late on a busy machine."""
    program = desktop.start(PYTHON, "-c", LATE)
    try:
        without = until(lambda: desktop.windows().get("Late"), "no window")
        assert names(without) == ["Late"] and not without["whole"]
        threading.Timer(1, lambda: print(file=program.stdin, flush=True)).start()
        assert names(desktop.window("Late")) == ["Late", "Placed"]
    finally:
        program.kill()
    desktop.gone("Late")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_by_a_signal(desktop, einlass, number):
    show(desktop, einlass, "Access to GitHub", **ACCESS)
    einlass.process.send_signal(number)
    assert einlass.process.wait(PATIENCE) == -number
    desktop.gone("Access to GitHub")
    assert einlass.end() == (-number, "")
