"""The sandbox's page in a real browser. That each provider signs in: Tests/ConformanceTests/CatalogueTests.swift.

    python -m pytest Tests/Oracles/test_catalogue.py
"""
import json
import subprocess

import pytest

import browser
from browser import Chromium
from test_protocol import SANDBOX, Session

pytestmark = pytest.mark.usefixtures("built")

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
