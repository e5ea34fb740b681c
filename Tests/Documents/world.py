"""The machine that an example runs on: a sandbox that plays the providers, a home folder, and einlass.

An example names providers and folders as they are elsewhere. Here the addresses of the providers are those of the
sandbox, and the home folder is a temporary one: `Names` turns one into the other, both ways.
"""
import json
import os
import queue
import re
import subprocess
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode, urlsplit

PROJECT = Path(__file__).parents[2]
EINLASS = os.environ.get("EINLASS_BINARY", str(PROJECT / ".build/release-static/release/einlass"))
CONTROL = os.environ.get("EINLASS_CONTROL", str(PROJECT / ".build/release-static/release/einlassctl"))
SANDBOX = os.environ.get("EINLASS_SANDBOX", str(PROJECT / ".build/debug/einlass-sandbox"))
PATIENCE = 20  # seconds; only turns a hang into a failure
HOME, RESOURCE = "/home/ada", "https://photos.example.com"
ISSUER = "https://login.example.com"
KINDS = ["grantAccess", "selectAccount", "confirmAccount", "replaceAccount", "openURL", "deviceCode", "enterPassphrase"]
# The accounts that are there before an example begins, and how an example names them.
ACCOUNTS = {"a_ada…": ("twitter", "ada"), "a_grace…": ("twitter", "grace"), "a_facebook…": ("facebook", "ada@example.org"),
            "a_github…": ("github", "ada")}
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Sandbox:
    def __init__(self):
        self.process = subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready = json.loads(self.process.stdout.readline())
        self.patch({"twitter": {"consent": "allow"}, "facebook": {"consent": "allow"}})

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def patch(self, patch):
        request = urllib.request.Request(self.ready["control"] + "/state", json.dumps(patch).encode(), method="PATCH")
        with direct.open(request, timeout=PATIENCE):
            pass

    def state(self):
        with direct.open(self.ready["control"] + "/state", timeout=PATIENCE) as answer:
            return json.load(answer)

    def consent(self, decision):
        """The decision of the person on each page that comes."""
        everybody = {name: {"behaviour": {"consent": decision}} for name in self.ready["addresses"]
                     if name not in ("flickr", "fcsdk")}
        self.patch({**everybody, **{name: {"consent": decision} for name in ("twitter", "facebook", "flickr")}})

    def accounts(self):
        names = ACCOUNTS.values()
        return [account for account in self.ready["accounts"] if (account["provider"], account["username"]) in names]


class Resource:
    """A protected resource, which names a sandbox's issuer. A request to `/mcp/SCOPE` needs a token with this scope."""

    def __init__(self, sandbox):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, body = resource.answer(self.path, self.headers.get("Authorization", ""))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        resource, self.sandbox = self, sandbox
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, authorization):
        """Returns status, headers and body."""
        issuer = self.sandbox.ready["addresses"]["openid"]
        if not path.startswith("/mcp/"):
            return 200, {}, json.dumps({"resource": self.address + "/mcp", "authorization_servers": [issuer]}).encode()
        scope, token = path.removeprefix("/mcp/"), authorization.removeprefix("Bearer ")
        held = self.sandbox.state()["openid"].get("tokens", {}).get(token)
        words = [f'resource_metadata="{self.address}/.well-known/oauth-protected-resource/mcp"', f'scope="{scope}"']
        if held is None or held.get("revoked"):
            words[:0] = ['error="invalid_token"'] if token else []
        elif scope in held["scopes"]:
            return 200, {}, b""
        else:
            words.insert(0, 'error="insufficient_scope"')
        return 403 if "insufficient" in words[0] else 401, {"WWW-Authenticate": "Bearer " + ", ".join(words)}, b""

    def ask(self, scope, token=None):
        """Returns status and challenge of the answer to a request."""
        headers = {"Authorization": "Bearer " + token} if token else {}
        try:
            with direct.open(urllib.request.Request(f"{self.address}/mcp/{scope}", headers=headers), timeout=PATIENCE) as answer:
                return answer.status, None
        except urllib.error.HTTPError as answer:
            answer.close()
            return answer.code, answer.headers["WWW-Authenticate"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Names:
    """Addresses and paths as an example has them, and as they are here."""

    def __init__(self, names):
        self.names = names

    def here(self, text):
        for shown, actual in self.names.items():
            text = text.replace(shown, actual)
        return text

    def shown(self, text):
        for shown, actual in self.names.items():
            text = re.sub(re.escape(actual) + r"(?!\d)", lambda _: shown, text)
        return text

    def shown_message(self, line):
        """A message as the example has it. The `host` of a prompt is that of its address."""
        message = json.loads(self.shown(line))
        params = message.get("params", {}) if isinstance(message, dict) else {}
        address = params.get("url") or params.get("verificationUri")
        if "host" in params and address:
            params["host"] = urlsplit(address).hostname
        return message


class Server:
    """A spawned einlass."""

    def __init__(self, options, environment, errors):
        self.errors = errors
        with open(errors, "a") as file:
            self.process = subprocess.Popen([EINLASS, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
                                            text=True, env=environment)
        self.lines, self.calls, self.early = queue.Queue(), 0, []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self):
        """The next line, or `None` at the end."""
        if self.early:
            return self.early.pop(0)
        try:
            return self.lines.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"no line came within {PATIENCE} s; standard error: {self.logged()}") from None

    def call(self, method, **params):
        """A request of the runner's own."""
        self.calls += 1
        id, others = f"runner-{self.calls}", []
        self.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
        while (line := self.line()) is not None:
            message = json.loads(line)
            if isinstance(message, dict) and message.get("id") == id:
                self.early = others + self.early
                assert "result" in message, message
                return message["result"]
            others.append(line)
        raise AssertionError(f"the output ended: {self.logged()}")

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def logged(self):
        return Path(self.errors).read_text()


def issuer_names(shown, actual):
    """The names of an issuer and of its provider, whose id is the host, and here the port too."""
    return {shown: actual, urlsplit(shown).netloc: urlsplit(actual).netloc.replace(":", "-")}


class World:
    """A sandbox and a home folder, with or without the accounts."""

    def __init__(self, folder, accounts=True):
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        self.folder, self.known, self.servers = folder, {}, []
        self.sandbox = Sandbox()
        issuer = self.sandbox.ready["addresses"]["openid"]
        self.resource = Resource(self.sandbox)
        self.config = self.sandbox.ready["config"]
        self.names = Names({HOME: str(self.home), **issuer_names(ISSUER, issuer), RESOURCE: self.resource.address,
                            **self.config["origins"]})
        self.environment = {**{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
                            "HOME": str(self.home)}
        if accounts:
            self.add_accounts()

    def close(self):
        for server in self.servers:
            server.kill()
        self.sandbox.close()
        self.resource.close()

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def configuration(self):
        return self.file("config.json", json.dumps(self.config))

    def server(self, *options):
        server = Server(["--config", self.configuration(), *options], self.environment, self.folder / "errors")
        self.servers.append(server)
        return server

    def add_accounts(self):
        """The accounts of `ACCOUNTS`, and access to them for the application `editor`."""
        server = self.server()
        server.call("initialize", client={"name": "editor"}, capabilities={"prompts": ["openURL"]})
        for account in self.sandbox.accounts():
            server.call("accounts.add", **account)
        self.sign_in(server, provider="github")
        for provider in {provider for provider, _ in ACCOUNTS.values()}:
            server.call("access.set", provider=provider, state="granted")
        stored = {(account["provider"], account["username"]): account["account"]
                  for account in server.call("accounts.list")["accounts"]}
        self.known = {name: stored[key] for name, key in ACCOUNTS.items()}
        assert server.end() == 0

    def sign_in(self, server, **params):
        """A sign-in that the person allows."""
        self.sandbox.consent("allow")
        server.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "accounts.signIn", "params": params}))
        while (message := json.loads(server.line())).get("id") != 1:
            if message["method"] == "prompt.opened":
                visit(message["params"]["url"])
        assert "result" in message, message
        self.sandbox.consent("page")


def visit(address, form=None):
    """A browser that goes wherever it is sent. A page of an error is a page too."""
    try:
        with direct.open(address, urlencode(form).encode() if form else None, timeout=PATIENCE) as page:
            return page.status
    except urllib.error.HTTPError as page:
        page.close()
        return page.code


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def redirect(address):
    """The place that a page sends its visitor to."""
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay).open(address, timeout=PATIENCE).close()
    except urllib.error.HTTPError as page:
        page.close()
        return page.headers["Location"]
    raise AssertionError(f"{address} sends nobody anywhere")
