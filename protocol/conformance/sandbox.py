"""The sandbox provider, `einlass-sandbox`: a process for each transcript that needs providers."""
import json
import urllib.error
import urllib.request
from typing import Any, Dict, List

from program import Failure, Program

# Providers on this machine are reached without a proxy.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Sandbox:
    """A running sandbox. `ready` is its first line: config, accounts, addresses, control."""

    def __init__(self, command: str) -> None:
        self.program = Program([command])
        line = self.program.message()
        if line is None:
            raise Failure(f"the sandbox has ended: {self.program.log}")
        self.ready: Dict[str, Any] = json.loads(line)
        self._seen = 0

    def account(self, username: str) -> Dict[str, Any]:
        """Returns the parameters of `accounts.add` for a demo account."""
        for account in self.ready["accounts"]:
            if account["username"] == username:
                return account
        raise Failure(f"the sandbox has no demo account {username}")

    def patch(self, state: Dict[str, Any]) -> None:
        self._control("PATCH", "state", state)

    def new_requests(self) -> List[str]:
        """Returns the requests since the last call, such as `POST /oauth/request_token`."""
        log = self._control("GET", "log")["requests"]
        new, self._seen = log[self._seen:], len(log)
        return [f"{request['method']} {request['path']}" for request in new]

    def _control(self, method: str, path: str, body: Any = None) -> Any:
        address = f"{self.ready['control'].rstrip('/')}/{path}"
        data = None if body is None else json.dumps(body).encode()
        with _opener.open(urllib.request.Request(address, data, method=method), timeout=20) as answer:
            return json.loads(answer.read() or b"null")

    def kill(self) -> None:
        self.program.kill()


def browse(address: str) -> int:
    """Opens an address, follows redirects as a browser does, and returns the status of the last page."""
    try:
        with _opener.open(address, timeout=20) as page:
            page.read()
            return page.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError as error:
        raise Failure(f"{address} shows no page: {error}") from None
