"""A server with a client for browsers and another one for devices, as Google has: each request proves the client of its
token.

    python -m pytest Tests/Oracles/test_flow_registrations.py
"""
import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from front_end import provider

pytestmark = pytest.mark.usefixtures("built")

CLIENTS = {"desktop": "desktop-secret", "devices": "devices-secret"}


class TwoClients(BaseHTTPRequestHandler):
    """Refuses a code, a device code and a token of another client, and records each client with its request."""

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        assert query["client_id"] == ["desktop"], query
        self.send_response(302)
        self.send_header("Location", f"{query['redirect_uri'][0]}?code=desktop&state={query['state'][0]}")
        self.end_headers()

    def do_POST(self):
        form = {name: value for name, [value] in
                parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()}
        client = form["client_id"]
        grant = form.get("grant_type", self.path[1:])
        owner = form.get("refresh_token") or form.get("token") or form.get("code") or "devices"
        self.server.asked.append((grant.rpartition(":")[2], client))
        if not owner.startswith(client) or self.path != "/device" and form["client_secret"] != CLIENTS[client]:
            status, body = 401, {"error": "invalid_client"}
        elif self.path == "/device":
            status, body = 200, {"device_code": "d", "user_code": "WDJB", "verification_uri": "http://127.0.0.1:9/",
                                 "expires_in": 600, "interval": 1}
        else:
            number = len(self.server.asked)
            status, body = 200, {"access_token": f"{client}-{number}", "token_type": "Bearer", "expires_in": 3600,
                                 "refresh_token": f"{client}-refresh-{number}"}
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), TwoClients)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def descriptor(server):
    base = "http://127.0.0.1:%d" % server.server_address[1]
    tokens = {"token": {"method": "POST", "url": base + "/token"}, "refresh": {}, "revocation": {"method": "POST", "url": base + "/revoke"},
              "clientAuthentication": "client_secret_post"}
    flows = [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": base + "/authorize"}, **tokens},
             {"kind": "deviceCode", "deviceAuthorization": {"method": "POST", "url": base + "/device"}, **tokens}]
    whole = provider(flows[0], None, flows=flows, registration=["clientId", "clientSecret"])
    return {name: value for name, value in whole.items() if value}


def client(name):
    return {"clientId": name, "clientSecret": CLIENTS[name]}


def sign_in(front_end, flow):
    id, prompt = front_end.begin(flowKind=flow)
    if prompt["kind"] == "openURL":
        urllib.request.urlopen(prompt["url"]).close()
    else:
        front_end.call("prompt.answer", prompt=prompt["prompt"], action="accept")
    return front_end.end(id)


@pytest.mark.parametrize("by", ["configure", "file"])
def test_each_flow_and_each_token_has_its_own_client(server, start, tmp_path, by):
    config = tmp_path / "config.json"
    flows = {"flows": {"deviceCode": client("devices")}}
    config.write_text(json.dumps({"applications": {"*": {"oracle": {**client("desktop"), **flows}}}} if by == "file" else {}))
    config.chmod(0o600)
    front_end = start(descriptor(server), None, kinds=["openURL", "deviceCode"], options=["--config", str(config)])
    if by == "configure":
        front_end.call("providers.configure", provider="oracle", **client("desktop"))
        front_end.call("providers.configure", provider="oracle", flowKind="deviceCode", **client("devices"))
    [listed] = [entry for entry in front_end.call("providers.list")["providers"] if entry["id"] == "oracle"]
    assert listed["registeredFlows"] == ["deviceCode"]
    for flow, name in ("authorizationCode", "desktop"), ("deviceCode", "devices"):
        server.asked.clear()
        account = sign_in(front_end, flow)
        assert front_end.token(account).startswith(name)
        before = front_end.token(account, forceRefresh=True)
        assert before.startswith(name) and front_end.call("accounts.renew", account=account) is not None
        revoked = front_end.call("accounts.remove", account=account)
        assert revoked["notRevoked"] == [] and {asked for _, asked in server.asked} == {name}, server.asked
        assert {"refresh_token", "revoke"} <= {grant for grant, _ in server.asked}, server.asked


def test_the_general_client_alone_is_refused_for_a_device(server, start):
    """The control."""
    front_end = start(descriptor(server), client("desktop"), kinds=["openURL", "deviceCode"])
    answer = front_end.answer(front_end.send("accounts.signIn", provider="oracle", flowKind="deviceCode"))
    assert answer.data["serverError"]["code"] == "invalid_client", answer
