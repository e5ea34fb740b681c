"""Every provider of the catalogue signs in against the sandbox that plays it, from its descriptor alone.

    python -m pytest Tests/Oracles/test_catalogue.py
"""
import json
import subprocess
import urllib.request

import pytest

import browser
from browser import Chromium, Visitor
from test_protocol import EINLASS, SANDBOX, Session

pytestmark = pytest.mark.skipif(not (EINLASS.exists() and SANDBOX.exists()), reason="the programs are not built")

# What its people are called there; the sandbox's first one is at the browser.
NAMES = {"flickr": "Bees"}


@pytest.fixture(scope="module")
def ready():
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def front_end(ready, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(ready["config"]))
    config.chmod(0o600)
    session = Session("--config", str(config))
    session.call("initialize", client={"name": "catalogue"}, capabilities={"prompts": ["openURL"]})
    yield session
    session.close()


def test_each_provider_signs_in_at_the_sandbox(ready, front_end):
    kinds = {"authorizationCode", "oauth1"}
    names = [provider["id"] for provider in front_end.call("providers.list")["providers"]
             if kinds & set(provider["flowKinds"])]
    assert names
    for name in names:
        id = front_end.send("accounts.signIn", provider=name)
        prompt = front_end.until("prompt.opened")
        # Nobody of the real one is asked.
        assert prompt["url"].startswith("http://127.0.0.1:"), prompt["url"]
        visitor = Visitor().open(prompt["url"]).press("allow")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(visitor.location, timeout=60) as page:
            assert "Signed in" in page.read().decode(), name
        answer = front_end.answer(id)
        assert not hasattr(answer, "code"), (name, answer)
        front_end.call("access.set", provider=name, state="granted")
        credential = front_end.call("credentials.get", account=answer.result["account"])["credential"]
        assert credential["type"] in ("oauth1", "oauth2"), name


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
