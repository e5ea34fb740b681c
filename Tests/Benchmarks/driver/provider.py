"""The provider on loopback, and an einlass session with an account of it."""

import json
import subprocess

from .process import BUILD, EINLASS

ACCOUNT = {
    "provider": "twitter", "username": "ada", "subject": "1001",
    "credential": {"type": "oauth1", "key": "1001-system", "secret": "systemsecret", "clientId": "system",
                   "clientSecret": "systemclientsecret"}}


class Provider:
    def __init__(self, mode="answer"):
        self.process = subprocess.Popen([str(BUILD / "provider"), mode], stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()

    def einlass(self, stores, store="memory"):
        """Returns the command line of einlass, with this provider in place of the real one."""
        path = stores.path / f"config-{self.port}.json"
        path.write_text(json.dumps({
            "origins": {"https://api.twitter.com": f"http://127.0.0.1:{self.port}"},
            "applications": {"*": {"twitter": {"clientId": "application", "clientSecret": "secret"}}}}))
        path.chmod(0o600)
        place = ["--store", "memory"] if store == "memory" else stores.arguments(store)
        return [EINLASS, "--config", str(path), *place]


def setup(session):
    """Initializes the session, adds an account and grants access. Returns the account's id."""
    session.request("initialize", {"protocolVersion": 1, "client": {"name": "benchmarks"}})
    account = session.request("accounts.add", {**ACCOUNT, "replace": True})["account"]
    session.request("access.set", {"provider": "twitter", "state": "granted"})
    return account
