"""A pytest plugin: a test signs in at simulated providers, without a person, a browser and the network.

    def test_my_program(einlass):
        with einlass.client("my-program") as client:
            client.request("auth.perform", {"provider": "github", "signIn": "ifNeeded"})

The fixture `einlass` has a store of its own, einlass-sandbox as every provider, and a person who allows everything.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
import webbrowser
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import pytest

from .client import Answer, Client, EinlassError, PromptFunction
from .find import find_einlass

PATIENCE = 30  # seconds


class PageError(Exception):
    """A page of the sandbox shows an error, so that nobody can sign in there."""


class Person:
    """The person at the browser and at the prompts."""

    def __init__(self) -> None:
        #: The beginning of the name at the providers: Ada, Grace, Alan or Emmy.
        self.name = "Ada"
        #: The button on the page of a provider: allow or deny.
        self.presses = "allow"
        #: By kind of prompt: an answer, or a function that returns one, in place of the usual one.
        self.says: Dict[str, Any] = {}
        #: The prompts so far, without the question for an address that the browser brings back by itself.
        self.asked: List[Dict[str, Any]] = []
        #: The last failure of an answer, for example a PageError. `Einlass.client` raises it.
        self.problem: Optional[Exception] = None
        self._ended_on: Optional[Tuple[str, str]] = None  # address and text of the last page, until they are entered
        self._page = threading.Condition()  # guards it

    def prompts(self, *kinds: str) -> Dict[str, PromptFunction]:
        """Returns a function for each of these kinds of prompt; by default for all."""
        return dict.fromkeys(kinds or ("any",), self.answer)

    def answer(self, prompt: Dict[str, Any]) -> Answer:
        """Answers a prompt as this person does."""
        kind = str(prompt["kind"])
        if prompt.get("expects") != "redirectURL":
            self.asked.append(prompt)
        said = self.says.get(kind, getattr(self, "_" + kind, True))
        try:
            answer: Answer = said(prompt) if callable(said) else said
        except Exception as problem:
            self.problem = problem
            raise
        return answer

    def open(self, address: str, code: Optional[str] = None) -> bool:
        """Opens the page of a provider, enters the code if there is one, and presses the button. Raises PageError."""
        self._visit(address, code)
        return True

    def _visit(self, address: str, code: Optional[str]) -> str:
        """Returns the address of the last page."""
        page = text = ""
        with self._page:
            self._ended_on = None
        try:
            page, text = self._press(address, code)
        finally:
            with self._page:
                self._ended_on = (page, text)
                self._page.notify_all()
        return page

    def _press(self, address: str, code: Optional[str]) -> Tuple[str, str]:
        page, text = visit(address)
        if form := Form.of(text):
            people = [value for value, name in form.people if name.startswith(self.name)]
            if not people:
                raise LookupError(f"{self.name} is not among {', '.join(name for _, name in form.people)}")
            entries = {"user": people[0], "decision": self.presses, **({"user_code": code} if code else {})}
            page, text = visit(page, entries)
        return page, text

    def _openURL(self, prompt: Mapping[str, Any]) -> Answer:
        page = self._visit(prompt["url"], None)
        return {"redirectURL": page} if prompt.get("returningTo") else True

    def _deviceCode(self, prompt: Mapping[str, Any]) -> Answer:
        return self.open(prompt["verificationUri"], prompt["userCode"])

    def _enterVerifier(self, prompt: Mapping[str, Any]) -> Answer:
        with self._page:  # the page may be open still, because both prompts open at once
            if not self._page.wait_for(lambda: self._ended_on, 0 if prompt.get("again") else PATIENCE):
                return None
            (page, text), self._ended_on = self._ended_on or ("", ""), None
        if prompt["expects"] != "pin":
            return {"text": page}
        number = re.search(r"\b\d{6,}\b", text)
        return {"text": number[0]} if number else None

    def _selectAccount(self, prompt: Mapping[str, Any]) -> Answer:
        own = [one for one in prompt["accounts"] if str(one.get("displayName")).startswith(self.name)]
        return {"account": (own or prompt["accounts"])[0]["account"]}

    def _enterPassphrase(self, prompt: Mapping[str, Any]) -> Answer:
        return {"passphrase": "correct horse battery staple"}

    def _enterPassword(self, prompt: Mapping[str, Any]) -> Answer:
        return {"username": prompt.get("username") or self.name.lower(), "password": "demo-password"}


class Form(HTMLParser):
    """The people of a page of the sandbox."""

    def __init__(self) -> None:
        super().__init__()
        self.people: List[Tuple[str, str]] = []
        self._value: Optional[str] = None

    @classmethod
    def of(cls, text: str) -> Optional[Form]:
        """Returns the form of a page, if it has one."""
        form = cls()
        form.feed(text)
        return form if form.people else None

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self._value = dict(attrs).get("value") if tag == "option" else None

    def handle_data(self, data: str) -> None:
        if self._value is not None:
            self.people.append((self._value, data))
            self._value = None


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects on this machine. Another one is the address on which the browser ends, without the network."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urllib.parse.urlsplit(newurl).hostname not in ("127.0.0.1", "localhost"):
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_browser = urllib.request.build_opener(urllib.request.ProxyHandler({}), Redirects)


def visit(address: str, form: Optional[Mapping[str, str]] = None) -> Tuple[str, str]:
    """Returns the address and the text of the page on which a browser ends. Raises PageError for a page of this server
    that shows an error."""
    try:
        with _browser.open(address, urllib.parse.urlencode(form).encode() if form else None, PATIENCE) as page:
            return page.geturl(), page.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as page:  # a page too, or a redirect to the address scheme of an application
        with page:
            text, ended = page.read().decode("utf-8", "replace"), page.headers.get("Location")
        if not ended and urllib.parse.urlsplit(page.url).netloc == urllib.parse.urlsplit(address).netloc:
            words = html.unescape(" ".join(re.sub(r"(?s)<head.*?</head>|<[^>]*>", " ", text).split()))
            raise PageError(f"{page.url.partition('?')[0]} shows an error ({page.code}): {words[:300]}") from None
        return ended or page.url, text
    except ConnectionError:  # the test has ended einlass before its last page was there
        return address, ""


class PersonsClient(Client):
    """A client for a person. A request raises the failure of the person in place of the error that follows from it."""

    person: Person

    def request(self, method: str, *arguments: Any, **named: Any) -> Any:
        if method == "prompt.answer":  # of the client itself, after an answer
            return super().request(method, *arguments, **named)
        self.person.problem = None  # of an earlier request
        try:
            return super().request(method, *arguments, **named)
        except EinlassError as error:
            problem, self.person.problem = self.person.problem, None
            if problem:
                raise problem from error
            raise


class Einlass:
    """einlass with a store of its own. `$EINLASS` is this einlass, for every client without a command."""

    def __init__(self, ready: Mapping[str, Any]) -> None:
        #: The first line of einlass-sandbox: `config`, `accounts`, `control` and `addresses`.
        self.ready = ready
        #: The origins of the simulated providers, for requests with a token.
        self.addresses: Mapping[str, str] = ready["addresses"]
        self.person = Person()
        self._clients: List[Client] = []

    def client(self, application: str = "test", *kinds: str, **params: Any) -> Client:
        """Returns a client that has introduced itself as this application, and whose prompts the person answers."""
        client = PersonsClient(prompts=self.person.prompts(*kinds))
        client.person = self.person
        self._clients.append(client)
        client.initialize(application, **params)
        return client

    def sign_in(self, provider: str, application: str = "test", **params: Any) -> str:
        """Signs the person in, and so gives the application access. Returns the id of the account."""
        with self.client(application) as client:
            result = client.request("accounts.signIn", {"provider": provider, **params})
        return str(result["account"])

    def change(self, state: Mapping[str, Any]) -> None:
        """Changes the state of the sandbox by a merge patch: `einlass-sandbox --help`. Raises ValueError for a patch
        that it refuses."""
        self._control("PATCH", "/state", state)

    def requests(self) -> List[Dict[str, Any]]:
        """Returns the requests to the providers so far."""
        return list(self._control("GET", "/log")["requests"])

    def _control(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.ready["control"].rstrip("/") + path, data, method=method)
        try:
            with _browser.open(request, timeout=PATIENCE) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            with refusal:
                raise ValueError(f"The sandbox refuses {method} {path}: {refusal.read().decode()}") from None

    def close(self) -> None:
        for client in self._clients:
            client.close()


def find_sandbox() -> str:
    """Returns the path of einlass-sandbox: from $EINLASS_SANDBOX, else from the PATH, else beside einlass."""
    beside = os.path.dirname(os.path.realpath(find_einlass()))
    named = os.environ.get("EINLASS_SANDBOX") or "einlass-sandbox"
    found = shutil.which(named) or shutil.which(named, path=beside)
    if not found:
        raise FileNotFoundError(f"There is no {named}. Put it on the PATH, or name it in the variable EINLASS_SANDBOX.")
    return found


@pytest.fixture(scope="session")
def einlass_sandbox() -> Iterator[Dict[str, Any]]:
    """The first line of a running einlass-sandbox."""
    program = find_sandbox()
    with subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            try:
                ready = json.loads(process.stdout.readline())
            except ValueError:
                ready = None
            if not isinstance(ready, dict) or "control" not in ready:
                raise RuntimeError(f"{program} is no einlass-sandbox. Correct the variable EINLASS_SANDBOX, or remove it.")
            yield ready
        finally:
            process.terminate()


@pytest.fixture
def einlass(einlass_sandbox: Dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Einlass]:
    """einlass with a store of its own, the sandbox in its initial state, and a person who allows everything."""
    program = shutil.which(find_einlass())
    folders = {f"XDG_{name}_HOME": tmp_path / "einlass" / name for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    config = folders["XDG_CONFIG_HOME"] / "einlass/config.json"
    (tmp_path / "einlass").mkdir(mode=0o700)
    for folder in (*folders.values(), config.parent):
        folder.mkdir(mode=0o700)
    config.touch(0o600)
    config.write_text(json.dumps(einlass_sandbox["config"]))
    script = tmp_path / "einlass/einlass"
    variables = [shlex.quote(f"{name}={folder}") for name, folder in folders.items()]
    script.write_text(f"#!/bin/sh\nexec env {' '.join(variables)} {shlex.quote(str(program))} \"$@\"\n")
    script.chmod(0o700)
    monkeypatch.setenv("EINLASS", str(script))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):  # no real browser
        monkeypatch.delenv(name, raising=False)
    made = Einlass(einlass_sandbox)
    made._control("POST", "/reset")
    monkeypatch.setattr(webbrowser, "open", lambda address, *_, **__: made.person.open(address))
    try:
        yield made
    finally:
        made.close()
