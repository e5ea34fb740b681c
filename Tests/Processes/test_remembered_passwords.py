"""Many processes share one session with a remembered password: exactly one of them sends it.

    python -m pytest Tests/Processes/test_remembered_passwords.py
"""
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from oracle import Server
from rotation import PATIENCE
from test_password_session import LOGIN, attempt, credential, failure, words, WRONG_CREDENTIALS

pytestmark = pytest.mark.usefixtures("built")

PROCESSES = 16
PASSWORD = "correct horse battery"
DESCRIPTOR = words({"login": LOGIN, "session": {"id": "/id"}},
                   [{"step": "login", "status": 401, "outcome": "wrongCredentials"}])


class LoginServer:
    """A login with one right password. `gate` is called with the number of a login before it is answered."""

    def __init__(self):
        self.password, self.logins, self.lock, self.gate = PASSWORD, [], threading.Lock(), lambda number: None
        own = self

        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE

            def log_message(self, *arguments):
                pass

            def do_POST(self):
                sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["password"]
                with own.lock:
                    number = len(own.logins)
                    own.logins.append(sent)
                own.gate(number)
                body = json.dumps({"id": secrets.token_hex(8)}).encode()
                self.send_response(200 if sent == own.password else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server():
    server = LoginServer()
    yield server
    server.close()


@pytest.fixture
def processes(start, tmp_path):
    """Returns a function that starts processes on one store."""
    def many(count, *options):
        place = ("--key-file", str(tmp_path / "keys/key"), *options)
        return [start(DESCRIPTOR, None, kinds=("enterPassword",), store=str(tmp_path / "store/store.db"), options=place)
                for _ in range(count)]

    return many


def rejected(server, processes):
    """Signs in with a remembered password, rejects the session and returns the account."""
    answer, prompts = attempt(
        processes[0], {"action": "accept", "password": PASSWORD, "remember": True}, host=server.base, username="alice")
    assert prompts[0]["mayRemember"] is True
    account = answer.result["account"]
    processes[0].call("access.set", provider="oracle", state="granted")
    assert "password" not in credential(processes[0], account)
    processes[0].call("credentials.reject", account=account)
    assert server.logins == [PASSWORD]
    return account


def got(processes, account):
    """Returns the answers of all processes to `credentials.get` at once."""
    numbers = [process.send("credentials.get", account=account) for process in processes]
    return [process.answer(number) for process, number in zip(processes, numbers)]


def test_sixteen_processes_log_in_once_and_share_the_session(server, processes):
    many = processes(PROCESSES)
    account = rejected(server, many)
    assert len({answer.result["credential"]["sessionId"] for answer in got(many, account)}) == 1
    assert server.logins == [PASSWORD] * 2


def test_sixteen_processes_send_a_wrong_password_once(server, processes):
    many = processes(PROCESSES)
    account = rejected(server, many)
    server.password = "changed at the server"
    for _ in range(2):
        assert {answer.data["reason"] for answer in got(many, account)} == {"reloginNeeded"}
        assert server.logins == [PASSWORD] * 2
    assert many[0].health(account) == "reloginNeeded"


def test_without_the_leases_a_wrong_password_is_sent_more_than_once(server, processes, tmp_path):
    """The negative control: the server holds the first login until a second one arrives."""
    # The switch needs a provider whose addresses are on this machine.
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"origins": {"https://server.invalid": server.base}}))
    config.chmod(0o600)
    many = processes(PROCESSES, "--test", "--config", str(config))
    account = rejected(server, many)
    for process in many:
        process.write({"jsonrpc": "2.0", "method": "test.withoutLeases"})
    server.password = "changed at the server"
    second = threading.Event()
    server.gate = lambda number: second.set() if number > 1 else second.wait(PATIENCE)
    assert {answer.data["reason"] for answer in got(many, account)} == {"reloginNeeded"}
    assert len(server.logins) > 2


def test_a_password_that_one_process_has_learned_to_be_wrong_is_not_sent_by_another(server, processes):
    first, second = processes(2)
    place = {"host": server.base, "username": "alice"}
    answer, _ = attempt(first, "wrong", {"action": "cancel"}, **place)
    assert answer.data["reason"] == "userCanceled"
    answer, prompts = attempt(second, "wrong", "wrong", "wrong", **place)
    assert failure(answer) == WRONG_CREDENTIALS
    assert [prompt.get("again", False) for prompt in prompts] == [False, True, True]
    assert server.logins == ["wrong"]
    # Another person and another password are sent at once.
    attempt(second, "wrong", {"action": "cancel"}, host=server.base, username="carol")
    assert attempt(second, PASSWORD, **place)[0].result["created"] is True
    assert server.logins == ["wrong", "wrong", PASSWORD]


def test_two_processes_with_the_same_wrong_password_at_once_send_it_once(server, processes):
    many = processes(2)
    opened = [process.begin(host=server.base, username="alice") for process in many]
    for process, (_, prompt) in zip(many, opened):
        process.send("prompt.answer", prompt=prompt["prompt"], action="accept", password="wrong")
    for process in many:
        again = process.until("prompt.opened")
        assert again["again"] is True
        process.send("prompt.answer", prompt=again["prompt"], action="cancel")
    assert server.logins == ["wrong"]


def test_the_last_settings_serve_the_next_sign_in_of_the_application(server, processes):
    first, second = processes(2)
    assert first.call("settings.get", provider="oracle") == {"provider": "oracle"}
    attempt(first, "wrong", {"action": "cancel"}, host=server.base, username="alice", useCookies=True)
    settings = {"host": server.base, "useCookies": True, "acceptUntrustedCertificates": False, "username": "alice"}
    assert second.call("settings.get", provider="oracle") == {"provider": "oracle", "server": settings}
    answer, prompts = attempt(second, PASSWORD)
    assert answer.result["created"] is True
    assert (prompts[0]["server"], prompts[0]["username"]) == (server.base, "alice")
    assert first.refused("settings.get", provider="nobody") == "unknownProvider"
