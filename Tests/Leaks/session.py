"""An einlass process, and all of its output."""
import copy
import json
import os
import queue
import subprocess
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

from canaries import PEOPLE

PROJECT = Path(__file__).parents[2]
EINLASS = Path(os.environ.get("EINLASS_BINARY", PROJECT / ".build/release-static/release/einlass"))
PATIENCE = 60

# The only members of results and notifications that may contain a secret: credentials issued to the application's own
# registration.
CREDENTIAL = {("credential", name) for name in ("key", "secret", "token", "idToken", "refreshToken", "sessionId", "values", "cookies")}
PERMITTED = {
    "auth.perform": CREDENTIAL,
    "auth.completed": CREDENTIAL,
    "credentials.get": CREDENTIAL - {("credential", "refreshToken")},
    "users.signIn": CREDENTIAL - {("credential", "refreshToken")},
    "users.link": CREDENTIAL - {("credential", "refreshToken")},
    "users.reauthenticate": CREDENTIAL - {("credential", "refreshToken")},
    "credentials.sign": {("headers",)},
}
# The only members of the data of an error that may contain a secret.
PERMITTED_IN_ERRORS = {("pendingCredential",), ("next", "params", "pendingCredential")}


def without(value, path):
    """Removes the member at this path from the value."""
    if isinstance(value, list):
        for element in value:
            without(element, path)
    elif isinstance(value, dict) and path[0] in value:
        if len(path) == 1:
            del value[path[0]]
        else:
            without(value[path[0]], path[1:])


class Session:
    def __init__(self, *options, program=(str(EINLASS),), **spawn):
        self.process = subprocess.Popen([*program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **spawn)
        self.messages, self.methods, self.log = queue.Queue(), {}, b""
        self.seen, self.processes, self.code, self.password = [], {}, "code", "password"
        self.threads = [threading.Thread(target=reader, daemon=True) for reader in (self.read, self.read_log)]
        for thread in self.threads:
            thread.start()

    def read(self):
        for line in self.process.stdout:
            self.messages.put(line)
        self.messages.put(None)

    def read_log(self):
        while chunk := self.process.stderr.read1(65536):
            self.log += chunk

    def send(self, method, params):
        id = f"id-{len(self.methods)}"
        self.methods[id] = method
        line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return id

    def arrived(self):
        line = self.messages.get(timeout=PATIENCE)
        assert line is not None, "the output ended"
        self.look_at_processes()
        message = json.loads(line)
        self.seen.append((line, message))
        return message

    def message(self):
        message = self.arrived()
        if message.get("method") == "prompt.opened":
            prompt = message["params"]
            answer = {"prompt": prompt["prompt"], "action": "accept"}
            if prompt["kind"] == "selectAccount":
                answer["account"] = prompt["accounts"][0]["account"]
            if prompt["kind"] == "enterPassword":
                answer |= {"username": PEOPLE["handle"], "password": self.password, "remember": True}
            self.send("prompt.answer", answer)
            if prompt["kind"] == "openURL":
                self.browse(prompt["url"])
        return message

    def browse(self, url):
        """Plays the browser: the person agrees, and the redirect brings `code`. Without a redirect address in the URL
        the page itself redirects."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        if "redirect_uri" not in asked:
            return urlopen(url, timeout=PATIENCE).read()
        query = urlencode({"code": self.code, "state": asked["state"]})
        urlopen(f"{asked['redirect_uri']}?{query}", timeout=PATIENCE).read()

    def call(self, method, /, **params):
        """Returns the result, or the error's reason."""
        id = self.send(method, params)
        while (message := self.message()).get("id") != id:
            pass
        return message["result"] if "result" in message else message["error"]["data"]["reason"]

    def asked(self, method, /, **params):
        """Sends a request and returns its first prompt, which stays open."""
        self.send(method, params)
        while (message := self.arrived()).get("method") != "prompt.opened":
            assert "error" not in message, message
        return message["params"]

    def completed(self):
        """Waits for the end of the next detached flow."""
        while self.message().get("method") != "auth.completed":
            pass

    def look_at_processes(self):
        """Records the command line and, where readable, the environment of this process and its descendants."""
        parents = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                pass
        family = {self.process.pid}
        while more := {child for child, parent in parents.items() if parent in family} - family:
            family |= more
        for process in family:
            for name in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{process}/{name}", "rb") as file:
                        self.processes.setdefault((process, name), set()).add(file.read())
                except OSError:
                    pass

    def end(self):
        self.look_at_processes()
        self.process.stdin.close()
        return self.wait()

    def wait(self):
        code = self.process.wait(PATIENCE)
        for thread in self.threads:
            thread.join(PATIENCE)
        while (line := self.messages.get(timeout=PATIENCE)) is not None:
            self.seen.append((line, json.loads(line)))
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def outputs(self, permitted=PERMITTED):
        """Yields each line, as it is and without the permitted fields."""
        for line, message in self.seen:
            method = message.get("method") or self.methods.get(message.get("id"))
            rest = copy.deepcopy(message)
            for path in permitted.get(method, ()):
                for part in ("result", "params"):
                    without(rest.get(part), path)
            for path in PERMITTED_IN_ERRORS if permitted else ():
                without(rest.get("error", {}).get("data"), path)
            yield line, json.dumps(rest, ensure_ascii=False).encode()
