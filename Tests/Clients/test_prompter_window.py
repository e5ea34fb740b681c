"""The windows of `clients/prompter`, read by the accessibility tree and answered by the keyboard alone."""
import json
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
CONFORMANCE = PROJECT / "protocol/conformance"
sys.path += [str(Path(__file__).with_name("prompter")), str(PROJECT / "Tests/Integrations"), str(CONFORMANCE)]
from desktop import (  # noqa: E402, F401
    PATIENCE, PYTHON, check_names, desktop, find, focused, names, needs_gtk, nodes, until, words)
from house import missing  # noqa: E402
from pseudo import shown as in_pseudo  # noqa: E402

PROMPTER = str(PROJECT / "clients/prompter/einlass-prompter")
pytestmark = needs_gtk


class Einlass:
    """The side of einlass in the conversation with a prompter."""

    def __init__(self, environment, program=PROMPTER):
        self.process = subprocess.Popen([program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
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


def show(desktop, einlass, prompt, language=lambda show: show):
    """Opens a prompt. Returns its id and its window, once a widget has the focus."""
    form = language(prompt["show"])
    identifier = einlass.open(**{**prompt, "show": form})
    return identifier, desktop.window(form["title"], focused)


def changed(prompt, **members):
    """Returns the prompt with other members of `show`; None removes one."""
    form = {**prompt["show"], **members}
    return {**prompt, "show": {name: member for name, member in form.items() if member is not None}}


KINDS = {entry["prompt"]["kind"]: entry["prompt"] for entry in json.loads((CONFORMANCE / "prompts.json").read_text())}
#: A kind that no einlass has.
RIDDLE = {"kind": "solveRiddle", "show": {
    "title": "“The sphinx” asks a riddle.", "text": ["What walks on four legs?"], "warning": "Think.",
    "choices": [{"label": "A cat", "detail": "on four", "answer": {"action": "accept", "solution": 7}}],
    "fields": [{"name": "hint", "label": "Hint", "type": "text"}, {"name": "loud", "label": "Say it", "type": "flag"}],
    "buttons": [{"action": "accept", "label": "Answer"}, {"action": "flee", "label": "Run away", "default": True}]}}
PROMPTS = {**KINDS, "solveRiddle": RIDDLE}
ACCESS, CODE = KINDS["grantAccess"], KINDS["deviceCode"]
PAGE = changed({**KINDS["openURL"], "url": "https://github.com/login?a=b&c=$(d)"}, fields=None,
               page={"url": "https://github.com/login?a=b&c=$(d)", "host": "github.com"})
VERIFIER = changed(KINDS["enterVerifier"], title="Does the last page not load?", warning=None,
                   text=[*PAGE["show"]["text"], "The sign-in goes on by itself."])
ACCEPT, DECLINE, CANCEL = ({"action": action} for action in ("accept", "decline", "cancel"))
LANGUAGES = pytest.mark.parametrize("language", [lambda show: show, in_pseudo], ids=["english", "pseudo"])
KEYS = "Return", "Escape", "Down"


def act(desktop, form, hands):
    """Presses keys, goes to a part of the form by Tab, or types a text. A button or a flag that is reached is pressed."""
    for hand in hands:
        if isinstance(hand, tuple):
            part = form[hand[0]][hand[1]]
            desktop.reach(form["title"], part["label"])
            if hand[0] == "buttons" or part.get("type") == "flag":
                desktop.press(form["title"], "space")
        elif hand in KEYS:
            desktop.press(form["title"], hand)
        else:
            desktop.type(form["title"], hand)


@LANGUAGES
@pytest.mark.parametrize("kind, hands, answer", [
    ("grantAccess", [("buttons", 0)], ACCEPT), ("grantAccess", [("buttons", 1)], DECLINE),
    # A window that opens while a person types takes no Enter for a yes.
    ("grantAccess", ["Return"], CANCEL), ("grantAccess", ["Escape"], CANCEL),
    ("selectAccount", ["Return"], {**ACCEPT, "account": "a_ada"}),
    ("selectAccount", ["Down", "Return"], {**ACCEPT, "account": "a_grace"}),
    # The empty field waits, and without a default Enter sends nothing.
    ("selectAccount", [("buttons", 0), "a_zoe", "Return", ("buttons", 0)], {**ACCEPT, "account": "a_zoe"}),
    ("confirmAccount", ["Return"], ACCEPT), ("confirmAccount", [("buttons", 1)], CANCEL),
    ("replaceAccount", ["Return"], ACCEPT),
    ("replaceAccount", [("choices", 0), "Return"], {**ACCEPT, "account": "a_ada"}),
    ("openURL", [("fields", 0), "editor:/callback?code=a", "Return"], {**ACCEPT, "redirectURL": "editor:/callback?code=a"}),
    ("enterVerifier", ["Return", " 123 456 ", "Return"], {**ACCEPT, "text": "123 456"}),
    ("enterPassphrase", [" a horse", "Return", " a horse", "Return"], {**ACCEPT, "passphrase": " a horse"}),
    ("enterPassword", ["ada", "Return", "difference", "Return"],
     {**ACCEPT, "username": "ada", "password": "difference", "remember": False}),
    ("enterPassword", ["ada", "Return", "difference", ("fields", 2), ("buttons", 0)],
     {**ACCEPT, "username": "ada", "password": "difference", "remember": True}),
    ("trustCertificate", ["Return"], CANCEL), ("trustCertificate", [("buttons", 0)], ACCEPT),
    ("solveRiddle", ["Return"], {"action": "flee"}), ("solveRiddle", ["Escape"], CANCEL),
    ("solveRiddle", [("choices", 0), "Return"], {**ACCEPT, "solution": 7}),
    ("solveRiddle", [("fields", 0), "a leg", ("fields", 1), ("buttons", 0)], {**ACCEPT, "hint": "a leg", "loud": True}),
])
def test_each_prompt_is_answered_by_the_keyboard(desktop, einlass, kind, hands, answer, language):
    form = language(PROMPTS[kind]["show"])
    prompt, window = show(desktop, einlass, {**PROMPTS[kind], "startedBy": ["git-credential-einlass", "git"]}, language)
    check_names(window)
    assert window["role"] == "dialog"
    shown = ["Started by git-credential-einlass, git.", form["title"], "\n".join(form["text"])]
    shown += [", ".join(filter(None, [one["label"], one.get("detail")])) for one in form.get("choices", [])]
    shown += [one["label"] for one in [*form.get("fields", []), *form["buttons"]]
              if one.get("action") != "accept" or "page" not in form or "fields" in form]
    assert set(shown) <= set(names(window))
    assert "warning" not in form or find(window, "alert", form["warning"])
    assert any(name.startswith("Closes in 4:") for name in names(window))
    act(desktop, form, hands)
    assert einlass.answer() == {"prompt": prompt, **answer}
    desktop.gone(form["title"])


@pytest.mark.parametrize("language, action", [(lambda show: show, "accept"), (in_pseudo, "cancel")], ids=["english", "pseudo"])
def test_a_window_that_reads_a_word_fails_in_the_pseudo_language(desktop, tmp_path, language, action):
    """The control: this one looks for the default by its label."""
    for folder in ("prompter", "python"):
        shutil.copytree(PROJECT / "clients" / folder, tmp_path / folder)
    file = tmp_path / "prompter/einlass_prompter/form.py"
    part = 'button.get("default") is True'
    assert part in file.read_text()
    file.write_text(file.read_text().replace(part, 'button["label"] == "Continue"'))
    einlass = Einlass(desktop.environment, str(tmp_path / "prompter/einlass-prompter"))
    prompt, window = show(desktop, einlass, KINDS["confirmAccount"], language)
    desktop.press(window["name"], "Return")
    assert einlass.answer() == {"prompt": prompt, "action": action}
    assert einlass.end() == (0, "")


@pytest.mark.parametrize("kind, key, action", [
    ("grantAccess", "alt+a", "accept"), ("grantAccess", "alt+d", "decline"), ("grantAccess", "alt+n", "cancel"),
    ("confirmAccount", "alt+c", "cancel"), ("confirmAccount", "alt+o", "accept")])
def test_each_button_has_a_letter_of_its_own(desktop, einlass, kind, key, action):
    prompt, window = show(desktop, einlass, KINDS[kind])
    desktop.press(window["name"], key)
    assert einlass.answer() == {"prompt": prompt, "action": action}


def test_a_new_passphrase_is_typed_twice(desktop, einlass):
    prompt, window = show(desktop, einlass, KINDS["enterPassphrase"])
    title = window["name"]
    for hand in ("first", "second"):
        desktop.type(title, hand)
        desktop.press(title, "Return")
    window = desktop.window(title, lambda window: "The two entries differ." in names(window))
    fields = [node for node in nodes(window) if node["role"] == "password text"]
    assert [field["name"] for field in fields] == ["Passphrase", "Once more"]
    assert "first" not in json.dumps(window) and "second" not in json.dumps(window)
    desktop.press(title, "ctrl+a")
    desktop.type(title, "first")
    desktop.press(title, "Return")
    assert einlass.answer() == {"prompt": prompt, "action": "accept", "passphrase": "first"}


def test_a_field_of_an_unknown_type_is_hidden(desktop, einlass):
    prompt, window = show(desktop, einlass, changed(RIDDLE, choices=None, fields=[
        {"name": "pin", "label": "PIN", "type": "digits"}]))
    assert find(window, "password text", "PIN")
    desktop.type(window["name"], "12")
    act(desktop, RIDDLE["show"], [("buttons", 0)])
    assert einlass.answer() == {"prompt": prompt, "action": "accept", "pin": "12"}


def test_a_page_is_opened_again_and_copied(desktop, einlass, browser):
    prompt, window = show(desktop, einlass, PAGE)
    title = window["name"]
    check_names(window)
    # The window stays until the prompt closes, so it has no button that accepts.
    assert find(window, "push button", "Open github.com") and not find(window, "push button", "Continue")
    # Enter opens it once more, and neither click answers the prompt.
    desktop.press(title, "Return")
    desktop.window(title, lambda window: find(window, "push button", "Open Again"))
    desktop.press(title, "Return")
    desktop.reach(title, "Copy Address")
    desktop.press(title, "space")
    assert browser[1](2) == [PAGE["url"]] * 2
    desktop.clipboard(PAGE["url"])
    assert einlass.answers.empty()
    einlass.close(prompt)
    desktop.gone(title)


def test_an_address_that_is_no_page_is_not_opened(desktop, einlass, browser):
    _, window = show(desktop, einlass, changed(PAGE, page={"url": "file:///etc/passwd", "host": "etc"}))
    title = window["name"]
    desktop.press(title, "Return")
    window = desktop.window(title, lambda window: "This address is no web page." in names(window))
    assert find(window, "push button", "Open etc")
    _, other = show(desktop, einlass, changed(PAGE, title="Sign in at another one."))
    desktop.press(other["name"], "Return")
    assert browser[1](1) == [PAGE["url"]]
    desktop.press(title, "Escape")
    assert einlass.answer()["action"] == "cancel"


def test_a_code_is_copied_and_its_page_opened(desktop, einlass, browser):
    prompt, window = show(desktop, einlass, CODE)
    title = window["name"]
    check_names(window)
    assert {title, CODE["verificationUri"]} <= set(names(window))
    code = find(window, "label", "Code W D J B - M J H T")
    assert code["text"] == "WDJB-MJHT"
    desktop.press(title, "Return")
    desktop.reach(title, "Open github.example")
    desktop.press(title, "space")
    desktop.clipboard("WDJB-MJHT")
    assert browser[1](1) == [CODE["verificationUriComplete"]]
    einlass.close(prompt)
    desktop.gone(title)


@pytest.mark.skipif(bool(missing("zbarimg")), reason="skipped: there is no zbarimg")
def test_the_qr_code_has_the_address_with_the_code(desktop, einlass, tmp_path):
    complete = CODE["verificationUriComplete"]
    _, window = show(desktop, einlass, CODE)
    assert find(window, "icon", "QR code of " + complete)

    def read():
        desktop.picture(window["name"], tmp_path / "shown.png")
        scan = ["zbarimg", "-q", "--raw", str(tmp_path / "shown.png")]
        return subprocess.run(scan, capture_output=True, text=True).stdout.strip()
    assert until(read, "no QR code") == complete


def test_without_segno_a_code_has_no_qr_code(desktop, tmp_path):
    (tmp_path / "segno.py").write_text("raise ImportError\n")
    einlass = Einlass({**desktop.environment, "PYTHONPATH": str(tmp_path)})
    prompt, window = show(desktop, einlass, CODE)
    assert find(window, "label", "Code W D J B") and not find(window, "icon")
    einlass.close(prompt)
    assert einlass.end() == (0, "")


def both(desktop, einlass):
    """Opens a page and the question for its last address. Returns their ids and the window that they share."""
    started = {"flows": ["f_1"], "startedBy": ["git"]}
    page, window = show(desktop, einlass, {**PAGE, **started})
    verifier = einlass.open(**VERIFIER, **started)
    return page, verifier, desktop.window(window["name"], lambda window: find(window, "text", "Code"))


def test_the_address_of_the_last_page_is_pasted_below_the_page(desktop, einlass):
    page, verifier, window = both(desktop, einlass)
    title = window["name"]
    check_names(window)
    # One window, with the origin once, and a button to cancel.
    assert len(desktop.look("windows")) == 1
    assert names(window).count("Started by git.") == names(window).count("Cancel") == 1
    assert words(window).count(PAGE["show"]["text"][0]) == 1 and VERIFIER["show"]["text"][-1] in names(window)
    desktop.reach(title, "Code")
    desktop.type(title, "http://127.0.0.1:8912/?code=a")
    desktop.reach(title, "Continue")
    desktop.press(title, "space")
    assert einlass.answer() == {"prompt": verifier, "action": "accept", "text": "http://127.0.0.1:8912/?code=a"}
    desktop.window(title, lambda window: not find(window, "text"))
    einlass.close(page)
    desktop.gone(title)


def test_escape_cancels_all_prompts_of_a_window(desktop, einlass):
    page, verifier, window = both(desktop, einlass)
    desktop.press(window["name"], "Escape")
    answers = [einlass.answer(), einlass.answer()]
    assert answers == [{"prompt": prompt, "action": "cancel"} for prompt in (page, verifier)]


@pytest.mark.parametrize("outcome", ["accepted", "declined", "cancelled", "expired", "satisfied"])
def test_a_prompt_that_closes_by_itself_takes_its_window_along(desktop, einlass, outcome):
    prompt, window = show(desktop, einlass, ACCESS)
    einlass.close(prompt, outcome)
    desktop.gone(window["name"])
    # The program goes on, and nothing was answered.
    show(desktop, einlass, changed(ACCESS, title="Another question?"))
    assert einlass.answers.empty()


def test_many_prompts_are_answered_in_any_order(desktop, einlass):
    prompts = {f"Access to P{number}": einlass.open(**changed(ACCESS, title=f"Access to P{number}")) for number in range(12)}
    until(lambda: set(prompts) <= set(desktop.windows()), "not all windows")
    order = list(prompts)
    for title in order[1::2] + order[::2]:
        desktop.press(title, "alt+a")
        assert einlass.answer() == {"prompt": prompts[title], "action": "accept"}
        desktop.gone(title)
    assert desktop.windows() == {}


EVIL = '<b>bold</b> & <a href="file:///etc/passwd">_link</a>\x1b[31m\u202egro\n\u2028'


def test_text_of_others_is_plain(desktop, einlass):
    button = {"action": "accept", "label": EVIL}
    form = {"title": EVIL, "text": [EVIL], "warning": EVIL, "code": EVIL, "page": {"url": EVIL, "host": EVIL},
            "choices": [{"label": EVIL, "detail": EVIL, "answer": {}}], "buttons": [button, {**button, "action": "later"}],
            "fields": [{"name": "a", "label": EVIL, "type": "text"}, {"name": "b", "label": EVIL, "type": "flag"}]}
    plain = '<b>bold</b> & <a href="file:///etc/passwd">_link</a>\ufffd[31m\ufffdgro\ufffd\ufffd'
    einlass.open(kind="later", show=form, startedBy=[EVIL])
    window = desktop.window(plain, focused)
    for role in ("dialog", "label", "alert", "list box", "text", "check box", "push button"):
        assert plain in [node["name"] for node in nodes(window) if node["role"] == role]
    assert find(window, "list item", f"{plain}, {plain}") and find(window, "push button", f"Open {plain}")
    assert "Started by " + plain[:59] + "…." in names(window)
    assert not find(window, "link") and not {"\x1b", "\u202e", "\u2028"} & set(words(window))
    desktop.press(plain, "Escape")
    assert einlass.answer()["action"] == "cancel"


LONG = "w" * 5000
WHOLE = "/home/" + "ada/" * 500
BUTTONS = [{"action": action, "label": "W" * 64} for action in ("accept", "decline", "cancel", "later")]


@pytest.mark.parametrize("form", [
    {"text": [LONG] * 10, "warning": LONG}, {"text": ["short"] * 100}, {"text": [LONG]},
    {"choices": [{"label": LONG, "detail": LONG, "answer": {}}] * 100,
     "fields": [{"name": "account", "label": LONG, "type": "text"}]},
    {"page": {"url": LONG, "host": LONG}}, {"page": {"url": LONG, "host": LONG}, "code": LONG},
    {"fields": [{"name": name, "label": "W" * 64, "type": name} for name in ("text", "secret", "flag")]}], ids="".join)
def test_long_texts_stay_within_the_screen(desktop, einlass, tmp_path, form):
    einlass.open(kind="later", startedBy=[LONG] * 4, show={"title": LONG, "buttons": BUTTONS, **form})
    title = next(iter(until(desktop.windows, "no window")))
    desktop.picture(title, tmp_path / "long.png")
    size = ["identify", "-format", "%w %h", str(tmp_path / "long.png")]
    width, height = map(int, subprocess.run(size, capture_output=True, text=True).stdout.split())
    assert 400 < width <= 1280 and 200 < height <= 1024


def test_a_text_is_readable_to_its_end(desktop, einlass):
    _, window = show(desktop, einlass, changed(ACCESS, text=[WHOLE, "It gets lasting access."]))
    shown = find(window, "label", WHOLE)
    assert shown["text"] == f"{WHOLE}\nIt gets lasting access." and "focusable" in shown["states"]
    assert find(window, "scroll bar")


def test_a_refused_answer_is_shown_and_given_again(desktop, einlass):
    choices = [{"label": f"user {number}", "answer": {"action": "accept", "account": f"a_{number}"}} for number in range(100)]
    prompt, window = show(desktop, einlass, changed(KINDS["selectAccount"], choices=choices))
    title = window["name"]
    desktop.press(title, "Return")
    einlass.refuse("invalidChoice", "There is no such account.")
    desktop.window(title, lambda window: "There is no such account." in names(window) and focused(window) == "user 0")
    # A letter in the list begins a search.
    desktop.type(title, "user 42")
    desktop.window(title, lambda window: focused(window) == "Search" and [
        node["name"] for node in nodes(window) if node["role"] == "list item"] == ["user 42"])
    desktop.press(title, "Return")
    assert einlass.answer() == {"prompt": prompt, "action": "accept", "account": "a_42"}


def test_a_late_answer_closes_with_its_prompt(desktop, einlass):
    prompt, window = show(desktop, einlass, ACCESS)
    desktop.press(window["name"], "alt+a")
    einlass.refuse("unknownPrompt", "There is no such prompt.")
    einlass.close(prompt, "expired")
    desktop.gone(window["name"])


def test_another_einlass_is_tolerated(desktop, einlass):
    einlass.process.stdin.write(b"garbage\n[]\n{}\n")
    einlass.write({"method": "auth.later", "params": {"a": 1}})
    einlass.write({"id": 99, "result": {}})
    einlass.close("p_another")
    for form in ({"show": {"title": "?"}}, {}):
        incomplete = einlass.open(kind="later", **form)
        assert einlass.answer() == {"prompt": incomplete, "action": "cancel"}
    show(desktop, einlass, {**ACCESS, "later": {"a": "\u2028" * 20000}})
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
    show(desktop, einlass, ACCESS)
    path = tmp_path / "shown.png"
    until(lambda: brightness(desktop, ACCESS["show"]["title"], path) < 0.4, "it is not dark")
    portal(2)
    until(lambda: brightness(desktop, ACCESS["show"]["title"], path) > 0.6, "it is not light")
    portal(1)
    until(lambda: brightness(desktop, ACCESS["show"]["title"], path) < 0.4, "it is not dark again")


def test_without_a_color_scheme_it_is_light(desktop, einlass, tmp_path):
    show(desktop, einlass, ACCESS)
    assert brightness(desktop, ACCESS["show"]["title"], tmp_path / "shown.png") > 0.6


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
    show(desktop, einlass, ACCESS)
    einlass.process.send_signal(number)
    assert einlass.process.wait(PATIENCE) == -number
    desktop.gone(ACCESS["show"]["title"])
    assert einlass.end() == (-number, "")
