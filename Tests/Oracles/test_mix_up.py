"""Mix-up attacks (RFC 9700 section 4.4) and many sign-ins at once: each code goes to its own provider and process.

    python -m pytest Tests/Oracles/test_mix_up.py
"""
import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler

import pytest

from browser import Stay
from front_end import provider
from oracle import Server

pytestmark = pytest.mark.usefixtures("built")


class Issuer:
    """A provider without pages. `leads_to`: the page of another provider that it redirects to, with a client id of
    that provider."""

    def __init__(self, names_itself, leads_to=None):
        self.codes, self.received = set(), []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_GET(self):
                asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                if leads_to:
                    answer = leads_to + "?" + urllib.parse.urlencode({**asked, "client_id": "honest"})
                else:
                    code = f"code-{len(issuer.codes)}"
                    issuer.codes.add(code)
                    words = {"code": code, "state": asked["state"]}
                    if names_itself:
                        words["iss"] = issuer.base
                    answer = asked["redirect_uri"] + "?" + urllib.parse.urlencode(words)
                self.send_response(302)
                self.send_header("Location", answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_POST(self):
                form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                issuer.received.append(form["code"][0])
                body = json.dumps({"access_token": "AT", "token_type": "Bearer"}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def descriptor(self):
        return provider({"kind": "authorizationCode", "authorize": {"method": "GET", "url": self.base + "/authorize"},
                         "redirect": {}, "token": {"method": "POST", "url": self.base + "/token"}, "issuer": self.base,
                         "clientAuthentication": "none"}, None)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def followed(url):
    """Follows all redirects between providers, and returns the status of einlass's page."""
    opener = urllib.request.build_opener(Stay, urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(url, timeout=60) as page:
                return page.status
        except urllib.error.HTTPError as answer:
            with answer:
                if answer.status != 302:
                    return answer.status
                url = answer.headers["Location"]


@pytest.mark.parametrize("names_itself", [True, False])
def test_an_attacker_never_gets_an_honest_provider_s_code(start, names_itself):
    honest = Issuer(names_itself)
    attacker = Issuer(False, leads_to=honest.base + "/authorize")
    try:
        words = attacker.descriptor()
        words.pop("identity")
        front_end = start(words, {"clientId": "at-attacker"})
        for _ in range(100 if names_itself else 1):
            id, prompt = front_end.begin()
            status = followed(prompt["url"])
            if not names_itself:
                # The control: without `iss` the code cannot be told from one of the attacker.
                assert status == 200 and front_end.end(id)
                continue
            refused = front_end.answer(id)
            assert status == 200 and refused.data["reason"] == "verificationFailed"
            assert f"names the issuer {honest.base} instead of {attacker.base}" in refused.message
        assert len(honest.codes) == (100 if names_itself else 1)
        assert attacker.received == ([] if names_itself else ["code-0"])
    finally:
        honest.close()
        attacker.close()


def answered(front_end, ids):
    """Yields the accounts of these sign-ins, in any order."""
    while ids:
        answer = front_end.message()
        if not isinstance(answer, dict):
            ids.remove(answer.id)
            yield answer.result["account"]


def test_twenty_sign_ins_in_five_processes_each_get_their_own_code(start):
    issuer = Issuer(True)
    try:
        words = issuer.descriptor()
        words.pop("identity")
        front_ends = [start(words, {"clientId": "native"}) for _ in range(5)]
        waiting = [(front_end, *front_end.begin(page={"loginHint": f"person-{number}-{index}"}))
                   for index, front_end in enumerate(front_ends) for number in range(4)]
        pages = [threading.Thread(target=followed, args=(prompt["url"],)) for _, _, prompt in waiting]
        for page in pages:
            page.start()
        accounts = [account for front_end in front_ends
                    for account in answered(front_end, {id for other, id, _ in waiting if other is front_end})]
        for page in pages:
            page.join()
        assert len(set(accounts)) == 20
        assert sorted(issuer.received) == sorted(issuer.codes) and len(issuer.codes) == 20
    finally:
        issuer.close()
