"""Sign-ins by device code at django-oauth-toolkit with its own pages, and the polling of a counting server of this
file.

    python -m pytest Tests/Oracles/test_device.py
"""
import json
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from front_end import provider, userinfo, visit

pytestmark = pytest.mark.usefixtures("built")


@pytest.fixture
def device(dot, start):
    flow = {"kind": "deviceCode", "scopes": ["openid"], "refresh": {}, "clientAuthentication": "none",
            "deviceAuthorization": {"method": "POST", "url": dot["issuer"] + "/device-authorization/"},
            "token": {"method": "POST", "url": dot["issuer"] + "/token/"}}
    return start(provider(flow, userinfo(dot["issuer"] + "/userinfo/")), {"clientId": "device"}, kinds=["deviceCode"])


def enter(dot, prompt, button):
    """The person enters the code and presses a button."""
    page = visit(dot, prompt["verificationUri"]).press("", user_code=prompt["userCode"])
    return page.press(button)


def test_a_person_allows_on_another_device(dot, device):
    id, prompt = device.begin()
    assert prompt["kind"] == "deviceCode" and prompt["verificationUri"] == dot["base"] + "/o/device/"
    device.call("prompt.answer", prompt=prompt["prompt"], action="accept")
    enter(dot, prompt, "accept")
    account = device.end(id)
    assert device.call("accounts.list")["accounts"][0]["username"] == "alice"
    assert device.token(account) != device.token(account, forceRefresh=True)


def test_a_person_denies_on_another_device(dot, device):
    id, prompt = device.begin()
    enter(dot, prompt, "deny")
    answer = device.answer(id)
    assert (answer.code, answer.data["reason"]) == (1012, "accessDenied")
    assert device.call("accounts.list")["accounts"] == []


def test_a_code_that_nobody_enters_expires(dot, device):
    id, prompt = device.begin()
    urllib.request.urlopen(urllib.request.Request(dot["base"] + "/__expire", b"", method="POST")).close()
    answer = device.answer(id)
    assert (answer.code, answer.data["reason"]) == (1014, "flowExpired")


def test_a_person_cancels_here(device):
    id, prompt = device.begin()
    device.call("prompt.answer", prompt=prompt["prompt"], action="cancel")
    assert device.answer(id).data["reason"] == "userCanceled"


class Counting(BaseHTTPRequestHandler):
    """Answers each poll with the next word of the server's list, and records its time."""

    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        server = self.server
        if self.path == "/device":
            status, body = 200, {"device_code": "device-code-of-the-test", "user_code": "ABCD-EFGH", "expires_in": 600, "interval": 1,
                                 "verification_uri": "http://127.0.0.1:%d/" % server.server_address[1]}
        else:
            assert form["device_code"] == ["device-code-of-the-test"]
            server.asked.append(time.monotonic())
            word = server.words[len(server.asked) - 1]
            status, body = (200, {"access_token": "t", "token_type": "Bearer"}) if word == "yes" \
                else (int(word), {}) if word.isdigit() else (400, {"error": word})
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def counting():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def begin(start, server, words):
    server.words = words
    base = "http://127.0.0.1:%d" % server.server_address[1]
    flow = {"kind": "deviceCode", "deviceAuthorization": {"method": "POST", "url": base + "/device"},
            "token": {"method": "POST", "url": base + "/token"}, "clientAuthentication": "none"}
    front_end = start({name: value for name, value in provider(flow, None).items() if value}, {"clientId": "c"},
                      kinds=["deviceCode"])
    return front_end, front_end.begin()[0]


def test_slow_down_lengthens_the_polling_interval(start, counting):
    """`slow_down` adds five seconds to the interval from then on (RFC 8628 section 3.5)."""
    front_end, id = begin(start, counting, ["authorization_pending", "slow_down", "authorization_pending", "yes"])
    front_end.end(id)
    gaps = [after - before for before, after in zip(counting.asked, counting.asked[1:])]
    assert len(gaps) == 3
    assert gaps[0] >= 1 and gaps[1] >= 6 and gaps[2] >= 6


def test_a_failing_server_is_asked_again(start, counting):
    front_end, id = begin(start, counting, ["503", "yes"])
    front_end.end(id)
    assert len(counting.asked) == 2
