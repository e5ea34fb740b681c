"""Verified id_tokens per second, and the cost of a sign-in by browser and of a refresh."""

import http.client
import json
import subprocess
import time
import urllib.parse

from .engine import ENGINE, PYTHON, seconds
from .process import BUILD, ROOT, Session, interleaved, ratio
from .provider import Provider

PEER = ROOT / "Tests/Benchmarks/peers/pyjwt_tokens.py"


def verified(report, stores):
    """einlass and PyJWT parse the token, verify its signature and compare its claims; libcrypto alone verifies the
    signature."""
    for name in ("RS256", "ES256"):
        made = json.loads(subprocess.run([PYTHON, PEER, "make", name], capture_output=True, text=True, check=True).stdout)
        count = 10_000
        results = interleaved(7, {
            "libcrypto alone": lambda made=made: count / seconds(
                BUILD / "baretoken", count, made["pem"], made["message"], made["signature"]),
            "einlass's engine": lambda made=made: count / seconds(
                ENGINE, "tokens", count, *(made[word] for word in ("token", "keys", "issuer", "client", "now"))),
            "PyJWT": lambda made=made: 2000 / seconds(PYTHON, PEER, "verify", 2000, made["token"], made["keys"])})
        for who in results:
            report.add(f"id_tokens, {name}", who, results[who], "/s",
                       libcrypto_alone=ratio(results, who, "libcrypto alone"), PyJWT=ratio(results, who, "PyJWT"))


def answer(address, path):
    """Requests a page as a browser would, without its images. Returns status and body."""
    connection = http.client.HTTPConnection(address)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def sign_in(session, number):
    """Signs in with a browser that agrees at once and follows the redirect."""
    session.send("accounts.signIn", {"provider": "bench", "flowKind": "authorizationCode"}, number)
    while (message := session.line()).get("method") != "prompt.opened":
        assert "id" not in message, message
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(message["params"]["url"]).query))
    back = urllib.parse.urlsplit(query["redirect_uri"])
    status, _ = answer(back.netloc, f"{back.path}?code=0123456789abcdef&state={query['state']}")
    assert status == 200
    while (message := session.line()).get("id") != number:
        pass
    return message["result"]["account"]


def browser(report, stores):
    with Provider() as provider:
        base = f"http://127.0.0.1:{provider.port}"
        path = stores.path / "bench-providers.json"
        path.write_text(json.dumps({"providers": [{
            "id": "bench", "name": "Bench", "accounts": "many", "registration": ["clientId"],
            "setup": {"documentation": "https://example.org"},
            "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://bench.example/authorize"},
                       "token": {"method": "POST", "url": "https://bench.example/token"}, "refresh": {},
                       "clientAuthentication": "none"}]}]}))
        configuration = stores.path / "bench-config.json"
        configuration.write_text(json.dumps({
            "origins": {"https://bench.example": base},
            "applications": {"*": {"bench": {"clientId": "application"}}}}))
        for file in (path, configuration):
            file.chmod(0o600)
        argv = [*stores.einlass(0)[:1], "--config", str(configuration), "--providers", str(path), "--store", "memory"]

        def tokens():
            return int(answer(f"127.0.0.1:{provider.port}", "/count")[1])
        with Session(argv) as session:
            session.request("initialize", {"client": {"name": "benchmarks"}, "capabilities": {"prompts": ["openURL"]}})
            account = sign_in(session, 2)
            session.request("access.set", {"provider": "bench", "state": "granted"})
            refresh = {"account": account, "forceRefresh": True}
            session.windowed("credentials.get", refresh, 50, 1)
            counts = [tokens()]
            sign_in(session, 3)
            counts.append(tokens())
            session.request("credentials.get", refresh)
            counts.append(tokens())
            report.add("requests for a token", "a code flow", counts[1] - counts[0], "")
            report.add("requests for a token", "a refresh", counts[2] - counts[1], "")

            def timed(measure, count):
                return lambda: measure(count) / count * 1e3

            def flows(count):
                begin = time.perf_counter()
                for number in range(count):
                    sign_in(session, 10 + number)
                return time.perf_counter() - begin
            results = interleaved(5, {
                "libcurl alone, the request for a token": timed(
                    lambda count: seconds(BUILD / "bareflow", provider.port, count, "token"), 300),
                "a refresh": timed(lambda count: session.windowed("credentials.get", refresh, count, 1), 300),
                "a code flow": timed(flows, 100)})
        for name in results:
            report.add("a token over loopback", name, results[name], "ms",
                       libcurl_alone=ratio(results, name, "libcurl alone, the request for a token"))
