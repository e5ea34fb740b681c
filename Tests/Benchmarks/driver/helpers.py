"""Programs that take a token from the command line: a stored one against gh, and an expired one for fifty at once."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

from .process import EINLASS, ROOT, interleaved, ratio

CONTROL = os.environ.get("EINLASS_CONTROL", str(ROOT / ".build/release-static/release/einlassctl"))
ROUNDS = 40
HELPERS = 50
GIT = b"protocol=https\nhost=github.com\n\n"


def home(stores, configuration):
    """Returns the environment of a new home folder with this configuration file."""
    folder = stores.path / f"home-{time.monotonic_ns()}"
    for name in ("", ".config", ".config/einlass", "gh", "bin"):
        (folder / name).mkdir(mode=0o700)
    for name, content in ((".config/einlass/config.json", json.dumps(configuration)),
                          ("gh/hosts.yml", "github.com:\n    oauth_token: gho_0\n    user: ada\n    git_protocol: https\n")):
        (folder / name).write_text(content)
        (folder / name).chmod(0o600)
    (folder / "bin/git-credential-einlass").symlink_to(EINLASS)
    return {"HOME": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}", "GH_CONFIG_DIR": str(folder / "gh"),
            "EINLASS": EINLASS}


def add(environment, provider, credential, *options):
    account = {"provider": provider, "username": "ada", "credential": {"type": "oauth2", "clientId": "application", **credential}}
    subprocess.run([CONTROL, "accounts", "add", "-", *options], input=json.dumps(account).encode(), env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    for application in ("einlassctl", "git"):
        subprocess.run([CONTROL, "access", "set", application, provider, "granted", *options], env=environment, check=True,
                       stdout=subprocess.DEVNULL)


def stored(report, stores):
    environment = home(stores, {"applications": {"*": {"github": {"clientId": "application", "clientSecret": "s"}}}})
    add(environment, "github", {"token": "gho_0"})
    account = json.loads(subprocess.run([CONTROL, "accounts", "list", "--json"], env=environment, check=True,
                                        capture_output=True).stdout)["accounts"][0]["account"]

    def run(*command, text=b""):
        def timed():
            begin = time.perf_counter()
            done = subprocess.run(command, input=text, env=environment, capture_output=True)
            seconds = time.perf_counter() - begin
            if b"gho_0" not in done.stdout:
                raise RuntimeError(f"{command[0]} gave no token: {done.stderr.decode()}")
            return seconds * 1e3
        return timed
    subjects = {
        "einlassctl token": run(CONTROL, "token", "github"),
        "git-credential-einlass get": run("git-credential-einlass", "get", text=GIT),
        "einlass call credentials.get": run(EINLASS, "call", "--application", "einlassctl", "credentials.get",
                                            json.dumps({"account": account}))}
    if shutil.which("gh"):
        subjects |= {"gh auth token": run("gh", "auth", "token"),
                     "gh auth git-credential get": run("gh", "auth", "git-credential", "get", text=GIT)}
    else:
        report.skip("a stored token", "gh", "gh is not installed")
    results = interleaved(ROUNDS, subjects)
    peers = {"einlassctl token": "gh auth token", "git-credential-einlass get": "gh auth git-credential get",
             "einlass call credentials.get": "gh auth token"}
    for name in results:
        ratios = {"gh": ratio(results, name, peers[name])} if peers.get(name) in results else {}
        report.add("a stored token", name, results[name], "ms", **ratios)


class TokenEndpoint(http.server.BaseHTTPRequestHandler):
    answers = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"access_token": f"t{len(self.answers) + 1}", "token_type": "Bearer", "expires_in": 3600,
                           "refresh_token": f"r{len(self.answers) + 1}"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.answers.append(time.perf_counter())

    def log_message(self, *_):
        pass


def expired(report, stores):
    """Fifty programs at once meet an expired token. The last one ends this long after the answer with the new token."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), TokenEndpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    environment = home(stores, {"origins": {"https://bench.example": base}, "applications": {"*": {"bench": {"clientId": "application"}}}})
    path = pathlib.Path(environment["HOME"]) / "providers.json"
    path.write_text(json.dumps({"providers": [{
        "id": "bench", "name": "Bench", "accounts": "many", "registration": ["clientId"],
        "setup": {"documentation": "https://example.org"},
        "flows": [{"kind": "authorizationCode", "authorize": {"method": "GET", "url": "https://bench.example/authorize"},
                   "token": {"method": "POST", "url": "https://bench.example/token"}, "refresh": {},
                   "clientAuthentication": "none"}]}]}))
    path.chmod(0o600)
    options = ["--providers", str(path)]
    add(environment, "bench", {"token": "t0", "refreshToken": "r0", "expiresAt": 1}, *options)
    waits, requests = [], []
    for _ in range(5):
        before = len(TokenEndpoint.answers)
        running = [subprocess.Popen([CONTROL, "token", "bench", *options], env=environment, stdout=subprocess.PIPE)
                   for _ in range(HELPERS)]
        tokens = {program.communicate()[0] for program in running}
        end = time.perf_counter()
        answers = TokenEndpoint.answers[before:]
        if tokens != {f"t{len(TokenEndpoint.answers)}\n".encode()}:
            raise RuntimeError(f"the programs got {len(tokens)} tokens")
        waits.append((end - answers[-1]) * 1e3)
        requests.append(len(answers))
        subprocess.run([CONTROL, "reject", "bench", *options], env=environment, check=True)
    server.shutdown()
    report.add("an expired token for fifty programs", "requests for a token", requests, "")
    report.add("an expired token for fifty programs", "the last token after the provider's answer", waits, "ms")


def measure(report, stores):
    stored(report, stores)
    expired(report, stores)
