"""The sandbox's page in a real browser, and the catalogue's flows without an authorization code. The flows with one
are in Tests/ConformanceTests/CatalogueTests.swift.

    python -m pytest Tests/Oracles/test_catalogue.py
"""
import json
import re
import subprocess
import time
import urllib.request

import pytest

import browser
from browser import Chromium, Visitor
from rotation import SANDBOX
from session import Session

pytestmark = pytest.mark.usefixtures("built")

@pytest.fixture(scope="module")
def ready():
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def front_end(config):
    session = Session("--config", str(config))
    session.call("initialize", client={"name": "catalogue"}, capabilities={"prompts": ["openURL"]})
    yield session
    session.close()


@pytest.mark.skipif(browser.WHY_NOT is not None, reason=str(browser.WHY_NOT))
@pytest.mark.parametrize("button, shown", [("#allow", "Signed in"), ("#deny", "Not signed in")])
def test_the_sandbox_s_page_works_in_a_real_browser(ready, front_end, button, shown):
    with Chromium() as chromium:
        id = front_end.send("accounts.signIn", provider="sequencing")
        chromium.open(front_end.until("prompt.opened")["url"])
        assert "Demo wants to use your account" in chromium.text()
        chromium.press(button)
        answer = front_end.answer(id)
        assert shown in chromium.text()
        assert getattr(answer, "code", 0) == (1012 if button == "#deny" else 0)


@pytest.fixture
def start(config):
    started = []

    def start(*kinds, **applications):
        started.append(Session("--test", "--config", str(config)))
        started[-1].call("initialize", client={"name": "catalogue"}, capabilities={"prompts": list(kinds)},
                         applications=applications)
        return started[-1]

    yield start
    for session in started:
        session.close()


def credential(session, provider, answer):
    assert not hasattr(answer, "code"), (provider, answer)
    session.call("access.set", provider=provider, state="granted")
    return session.call("credentials.get", account=answer.result["account"])["credential"]["type"]


def test_an_oauth1_sign_in_ends_with_the_callback(start):
    session = start("openURL")
    id = session.send("accounts.signIn", provider="flickr")
    visitor = Visitor().open(session.until("prompt.opened")["url"]).press("allow")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(visitor.location, timeout=60) as page:
        assert "Signed in" in page.read().decode()
    assert credential(session, "flickr", session.answer(id)) == "oauth1"


def test_a_pin_is_read_off_the_page(start):
    session = start("openURL", "enterVerifier")
    id = session.send("accounts.signIn", provider="twitter")
    prompts = {prompt["kind"]: prompt for prompt in (session.until("prompt.opened"), session.until("prompt.opened"))}
    assert prompts["enterVerifier"]["expects"] == "pin"
    page = Visitor().open(prompts["openURL"]["url"]).press("allow").page
    answer = session.send("prompt.answer", prompt=prompts["enterVerifier"]["prompt"], action="accept",
                          text=re.search(r"\b[0-9]{7}\b", page)[0])
    session.answer(answer)
    assert credential(session, "twitter", session.answer(id)) == "oauth1"


def enter_code(ready, start, provider, consent):
    """Returns the session and the answer of the sign-in."""
    behaviour = {"consent": consent}
    state = json.dumps({provider: behaviour if provider == "facebook" else {"behaviour": behaviour}}).encode()
    urllib.request.urlopen(urllib.request.Request(ready["control"].rstrip("/") + "/state", state, method="PATCH")).close()
    session = start("deviceCode")
    id = session.send("accounts.signIn", provider=provider, flowKind="deviceCode", deadlineSeconds=3600)
    assert session.until("prompt.opened")["userCode"]
    message = None
    while getattr(message, "id", None) != id:
        if session.lines.empty():
            session.send("test.advanceClock", seconds=6)
            time.sleep(0.5)
        message = session.message()
    return session, message


@pytest.mark.parametrize("provider", ["facebook", "github", "gitlab", "google", "microsoft", "twitch", "vimeo"])
def test_a_code_is_entered_on_another_device(ready, start, provider):
    session, message = enter_code(ready, start, provider, "allow")
    assert credential(session, provider, message) == "oauth2"


@pytest.mark.parametrize("provider", ["facebook", "github", "microsoft"])
def test_a_denial_on_another_device_ends_the_sign_in(ready, start, provider):
    assert enter_code(ready, start, provider, "deny")[1].code == 1012
