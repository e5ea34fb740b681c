"""A provider with strict refresh token rotation, with Python's standard library, and einlass processes with a shared
account.

Each refresh token works once. A reused one revokes its whole family (RFC 9700 section 4.14.2), unless the provider
grants a grace period. A test may delay an answer or reset its connection, and look at the requests meanwhile.
"""
import json
import os
import queue
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

from oracle import Server
from place import ADDRESS, place, rows

PROJECT = Path(__file__).parents[2]
EINLASS = Path(os.environ.get("EINLASS_BINARY", PROJECT / ".build/release-static/release/einlass"))
SANDBOX = Path(os.environ.get("EINLASS_SANDBOX", PROJECT / ".build/debug/einlass-sandbox"))
CLIENT = "rotation-client"
FOLDER = "/tmp"  # of the stores
PATIENCE = 60


class Provider:
    """Families of tokens.

    - `scripted`: an answer (status, body) in place of the right one.
    - `gate`: called with the number of a token request, before the refresh token is rotated (`"before"`; the
      result `"drop"` prevents the rotation) and before the answer is sent (`"after"`; the result `"reset"` resets
      the connection instead).
    - `grace`: the number of seconds for which a rotated refresh token still works.
    - `seconds`: an offset of the provider's clock.
    """

    def __init__(self, grace=0, flow="systemToken"):
        self.lock = threading.Lock()
        self.grace, self.flow, self.seconds = grace, flow, 0
        # The ports of the processes that sent the requests, in the same order.
        self.families, self.requests, self.ports = {}, [], []
        self.scripted, self.gate = None, lambda number, when: None
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = PATIENCE
            disable_nagle_algorithm = True  # sends head and body at once

            def log_message(self, *arguments):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                answer = provider.token(form, self.client_address[1])
                self.answer(*answer) if answer else self.reset()

            def do_GET(self):
                self.answer(200, {"id": "7", "name": "Ada"})

            def reset(self):
                self.close_connection = True
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                os.close(self.connection.detach())

            def answer(self, status, body):
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    pass  # the client was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def family(self):
        """Creates a family with an expired access token, and returns its name and the credential for `accounts.add`."""
        name = secrets.token_hex(8)
        with self.lock:
            family = self.families[name] = {"turned": {}, "revoked": False}
            self.issue(name)
            return name, {"type": "oauth2", "token": family["access"], "refreshToken": family["refresh"],
                          "expiresAt": 1, "clientId": CLIENT}

    def issue(self, name):
        family = self.families[name]
        family["access"], family["refresh"] = "at-" + secrets.token_hex(16), f"{name}.{secrets.token_hex(16)}"

    def token(self, form, port):
        with self.lock:
            number = len(self.requests)
            self.requests.append(form["refresh_token"])
            self.ports.append(port)
        if self.gate(number, "before") == "drop":
            return 503, {}
        if self.scripted:
            return self.scripted
        name = form["refresh_token"].partition(".")[0]
        with self.lock:
            family = self.families[name]
            is_current = form["refresh_token"] == family["refresh"]
            now = time.monotonic() + self.seconds
            turned = family["turned"].setdefault(form["refresh_token"], now)
            if not is_current and now - turned >= self.grace:
                family["revoked"] = True
            if family["revoked"]:
                return 400, {"error": "invalid_grant"}
            self.issue(name)
            answer = {"access_token": family["access"], "refresh_token": family["refresh"], "expires_in": 3600}
        return None if self.gate(number, "after") == "reset" else (200, answer)

    def words(self):
        """Returns the descriptor's flow with the refresh."""
        token = {"method": "POST", "url": self.base + "/token"}
        if self.flow == "systemToken":
            return {"kind": "systemToken", "renew": token | {
                "form": {"grant_type": "refresh_token", "refresh_token": "{refreshToken}", "client_id": "{clientId}"}}}
        return {"kind": self.flow, "authorize": {"method": "GET", "url": self.base + "/authorize"}, "token": token,
                "refresh": {}, "clientAuthentication": "none"}

    def descriptor(self):
        return {"providers": [{
            "id": "rotating", "name": "Rotating", "accounts": "many", "registration": ["clientId"],
            "setup": {"documentation": "https://example.com/rotation"},
            "identity": {"request": {"method": "GET", "url": self.base + "/me", "bearer": "{token}"},
                         "id": "/id", "name": "/name", "required": ["id"]},
            "flows": [self.words()],
            "errors": {"shapes": [{"code": "/error", "text": "/error_description"}, {"code": "/error"}], "rules": [
                {"step": "renew", "codes": ["invalid_grant"], "outcome": "relogin"},
                {"step": "renew", "codes": ["invalid_client", "unauthorized_client"], "outcome": "refused"}]}}]}


class Process:
    """An einlass process with the shared store."""

    def __init__(self, folder, *options, store=None, before=(), is_introduced=True, **spawning):
        """`before` is a command that runs einlass in its place."""
        self.process = subprocess.Popen(
            [*before, EINLASS, "--store", store or place(folder / "data/store.db"), "--key-file", str(folder / "keys/key"),
             "--providers", str(folder / "providers.json"), "--config", str(folder / "config.json"), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **spawning)
        self.number, self.answers, self.notifications, self.is_killed = 0, {}, [], False
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        if is_introduced:
            self.introduce()

    def introduce(self):
        self.call("initialize", client={"name": "sharing"}, applications={"rotating": {"clientId": CLIENT}})

    def read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, method, /, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self.number

    def answer(self, number):
        """Returns the answer to a request; `None` if the process was killed."""
        deadline = time.monotonic() + PATIENCE
        while number not in self.answers:
            message = self.lines.get(timeout=max(0.1, deadline - time.monotonic()))
            if message is None:
                self.lines.put(None)  # for the next call
                return None
            self.take(message)
        return self.answers.pop(number)

    def take(self, message):
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            self.notifications.append(message)

    def wait_for(self, method, about=""):
        """Waits for a notification of this method, with this text in its parameters."""
        deadline = time.monotonic() + PATIENCE
        while not any(entry["method"] == method and about in json.dumps(entry["params"]) for entry in self.notifications):
            self.take(self.lines.get(timeout=max(0.1, deadline - time.monotonic())))

    def wait_for_revision(self, revision):
        """Waits until the process knows a change of the database by another one, which it is told of a moment later."""
        deadline = time.monotonic() + PATIENCE
        while self.call("accounts.list")["result"]["revision"] < revision:
            assert time.monotonic() < deadline, "the change stays unknown"
            time.sleep(0.01)

    def call(self, method, /, **params):
        return self.answer(self.send(method, **params))

    def kill(self):
        self.is_killed = True
        self.process.kill()

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            assert self.is_killed
        code = self.process.wait(PATIENCE)
        assert self.is_killed or code == 0


class World:
    """A provider, a store and some processes."""

    def __init__(self, count, *options, grace=0, flow="systemToken"):
        self.folder = Path(tempfile.mkdtemp(prefix="einlass-", dir=FOLDER))
        self.provider = Provider(grace, flow)
        self.options, self.is_in_database = options, bool(ADDRESS)
        (self.folder / "providers.json").write_text(json.dumps(self.provider.descriptor()))
        base = self.provider.base
        (self.folder / "config.json").write_text(json.dumps({"origins": {
            "https://api.twitter.com": base, "https://graph.facebook.com": base}}))
        for name in ("providers.json", "config.json"):
            (self.folder / name).chmod(0o600)
        self.processes = [self.spawn() for _ in range(count)]
        if count:
            self.allow()

    def allow(self):
        answer = self.processes[0].call("access.set", provider="rotating", state="granted")
        assert "result" in answer, answer

    def spawn(self, **spawning):
        return Process(self.folder, *self.options, **spawning)

    def add(self, username="ada"):
        """Adds the account with a new family and an expired token. Returns its id and the family's name."""
        family, credential = self.provider.family()
        answer = self.processes[0].call("accounts.add", provider="rotating", username=username,
                                        credential=credential, replace=True)
        if self.is_in_database:
            for process in self.processes:
                process.wait_for_revision(answer["result"]["revision"])
        return answer["result"]["account"], family

    def get(self, account, processes=None, **params):
        """Returns the answers of the processes to simultaneous requests."""
        processes = processes or self.processes
        numbers = [process.send("credentials.get", account=account, **params) for process in processes]
        return [process.answer(number) for process, number in zip(processes, numbers)]

    def accounts(self):
        return self.processes[0].call("accounts.list")["result"]["accounts"]

    def kept(self, account, family):
        """Whether the stored token is the provider's current one."""
        before = len(self.provider.requests)
        token = self.processes[0].call("credentials.get", account=account)["result"]["credential"]["token"]
        return len(self.provider.requests) == before and token == self.provider.families[family]["access"]

    def kill_holder(self, account, number):
        """Kills the process with the account's lease, which has sent this token request, and returns it; `None` if the
        kernel does not say which one that is."""
        pids = {process.process.pid: process for process in self.processes}
        asking = sender(self.provider.ports[number], pids) if self.is_in_database else holder(self.folder, account)
        killed = pids.get(asking)
        if killed:
            killed.kill()
            self.end_lease(account)
        return killed

    def end_lease(self, account):
        """Ends the lease of a killed process, which a database keeps for 45 seconds and a file does not."""
        if self.is_in_database:
            self.rows(f"UPDATE lease SET until = '-infinity' WHERE name = '{account}'")

    def begun(self):
        """Returns the accounts of the begun renewals that are recorded."""
        if self.is_in_database:
            return [account for account, in self.rows("SELECT account FROM begun_renewal")]
        return [name.partition(".")[0] for name in os.listdir(self.folder / "data/renewals")]

    def rows(self, statement):
        """Runs a statement in the store's database and returns its rows, as text."""
        return rows(self.folder / "data/store.db", statement)

    def close(self):
        for process in self.processes:
            process.close()
        self.provider.close()
        shutil.rmtree(self.folder)


def sender(port, pids):
    """Returns which of the processes has the connection from this port; `None` if that cannot be seen."""
    with open("/proc/net/tcp") as table:
        sockets = {f"socket:[{line.split()[9]}]" for line in table if line.split()[1].endswith(f":{port:04X}")}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                if os.readlink(link) in sockets:
                    return pid
            except OSError:
                pass  # closed meanwhile
    return None


def holder(folder, account):
    """Returns the id of the process with the account's lock, from /proc/locks; `None` if that list is missing."""
    # If /proc/locks is longer than one read, an entry may be missing while others change, so this looks again.
    for _ in range(500):
        try:
            inode = os.stat(folder / f"data/locks/{account}.lock").st_ino
            with open("/proc/locks") as locks:
                for line in locks:
                    parts = line.split()
                    if parts[1] == "FLOCK" and parts[5].endswith(f":{inode}"):
                        return int(parts[4])
        except OSError:
            return None
        time.sleep(0.01)
    return None
