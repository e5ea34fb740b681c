"""Many processes with one store that do the same at once: add issuers, register at a server, sign people in there.

    python -m pytest Tests/Oracles/test_at_once.py
"""
import contextlib
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from front_end import bring_back, visit
from test_protocol import Session
from test_sign_in import log

pytestmark = pytest.mark.usefixtures("built")
PROCESSES = 6


class Issuers(BaseHTTPRequestHandler):
    """As many issuers as there are paths, each of which describes itself; one client is registered when two ask."""

    def do_GET(self):
        issuer = self.server.base + self.path.removesuffix("/.well-known/openid-configuration")
        self.answer({"issuer": issuer, "authorization_endpoint": issuer + "/authorize",
                     "token_endpoint": issuer + "/token", "registration_endpoint": issuer + "/register",
                     "token_endpoint_auth_methods_supported": ["none"]})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.asked += 1
            if self.server.asked == 2:
                self.server.both.set()
        self.server.both.wait(60)
        self.answer({"client_id": "client"})

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def issuing():
    with ThreadingHTTPServer(("127.0.0.1", 0), Issuers) as server:
        server.base = "http://127.0.0.1:%d" % server.server_address[1]
        server.lock, server.asked, server.both = threading.Lock(), 0, threading.Event()
        threading.Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


@pytest.fixture
def issuers(issuing):
    return issuing.base


@pytest.fixture
def processes(tmp_path):
    """Starts some, on one store."""
    with contextlib.ExitStack() as stack:
        def start(count, *options):
            started = []
            for _ in range(count):
                session = Session(*options, store=str(tmp_path / "store.db"))
                stack.callback(session.close)
                session.call("initialize", client={"name": "at-once", "title": "At once"},
                             capabilities={"prompts": ["openURL"]})
                started.append(session)
            return started
        yield start


def at_once(sessions, method, params):
    """Each one's answer; all are asked before any answer is read."""
    ids = [session.send(method, **more) for session, more in zip(sessions, params)]
    return [session.answer(id) for session, id in zip(sessions, ids)]


def kept(tmp_path):
    """Issuer by id, as the file beside the store has them."""
    (file,) = tmp_path.glob("*providers*.json")
    return {entry["id"]: entry["flows"][0]["issuer"] for entry in json.loads(file.read_text())["providers"]}


def test_issuers_whose_names_look_alike_get_an_id_each(issuers, processes, tmp_path):
    sessions = processes(PROCESSES)
    names = [issuers + "/" + "".join(part) for part in itertools.product("a", "-_~", "b", "-_", "c")]
    answers = at_once(sessions, "providers.add", [{"issuer": name} for name in names])
    assert all(answer.result["created"] for answer in answers), answers
    ids = {answer.result["provider"]: name for answer, name in zip(answers, names)}
    assert len(ids) == PROCESSES and kept(tmp_path) == ids
    # Each has its own when it is added again, by whichever process, and those that start later have them all.
    again = at_once(sessions[1:], "providers.add", [{"issuer": name} for name in names])
    assert [answer.result for answer in again] == [
        {"provider": answer.result["provider"], "created": False} for answer in answers[:-1]]
    (late,) = processes(1)
    assert {entry["id"] for entry in late.call("providers.list", limit=1000)["providers"]} >= set(ids)


def test_one_issuer_that_all_add_is_there_once(issuers, processes, tmp_path):
    answers = at_once(processes(PROCESSES), "providers.add", [{"issuer": issuers + "/one"}] * PROCESSES)
    assert sorted(answer.result["created"] for answer in answers) == [False] * (PROCESSES - 1) + [True]
    assert list(kept(tmp_path).values()) == [issuers + "/one"]
    assert set(kept(tmp_path)) == {answer.result["provider"] for answer in answers}


def test_an_id_that_is_chosen_is_the_last_one_s_and_everybody_is_told(issuers, processes, tmp_path):
    """The control of the first test: what nobody may change gives way to nobody."""
    names = [f"{issuers}/{number}" for number in range(PROCESSES)]
    answers = at_once(processes(PROCESSES), "providers.add", [{"issuer": name, "id": "mine"} for name in names])
    assert sorted(answer.result["created"] for answer in answers) == [False] * (PROCESSES - 1) + [True]
    assert list(kept(tmp_path)) == ["mine"] and kept(tmp_path)["mine"] in names


def test_what_another_process_has_removed_is_added_again(issuers, processes):
    (first,) = processes(1)
    added = first.call("providers.add", issuer=issuers + "/one")["provider"]
    (second,) = processes(1)
    second.call("providers.remove", provider=added)
    assert first.call("providers.add", issuer=issuers + "/one") == {"provider": added, "created": True}


def test_a_damaged_file_of_providers_is_left_as_it_is(issuers, processes, tmp_path):
    (session,) = processes(1)
    session.call("providers.add", issuer=issuers + "/one")
    (file,) = tmp_path.glob("*providers*.json")
    file.write_text("{")
    answer = session.answer(session.send("providers.add", issuer=issuers + "/two"))
    assert (answer.data["reason"], answer.data["detail"]) == ("accountStoreFailure", "corrupt")
    assert file.read_text() == "{"


def registrations(dot):
    return log(dot).count(("POST", "/o/register/"))


def finish(session, id, dot):
    prompt = session.until("prompt.opened")
    assert "Signed in" in bring_back(visit(dot, prompt["url"]).press("Authorize"))
    return prompt["url"].partition("client_id=")[2].partition("&")[0], session.answer(id).result["account"]


def test_processes_that_register_at_once_share_one_registration_and_its_address(dot, processes):
    (first,) = processes(1)
    first.call("providers.add", issuer=dot["issuer"], id="oracle")
    sessions = processes(3)
    before = registrations(dot)
    ids = [session.send("accounts.signIn", provider="oracle") for session in sessions]
    # All have the same address to come back to: one person after the other is shown a page.
    with ThreadPoolExecutor(len(sessions)) as pool:
        ends = [pool.submit(finish, session, id, dot) for session, id in zip(sessions, ids)]
        clients, accounts = zip(*[end.result() for end in ends])
    assert len(clients) == len(accounts) == 3 and len(set(clients)) == len(set(accounts)) == 1
    assert registrations(dot) == before + 1


def test_without_the_lock_each_registers(issuing, processes):
    """The negative control: the first request is held until a second one has come."""
    (first,) = processes(1)
    first.call("providers.add", issuer=issuing.base + "/registers", id="oracle")
    sessions = processes(2, "--test")
    for session in sessions:
        session.write({"jsonrpc": "2.0", "method": "test.withoutLeases"})  # a notification: it is in no document
    for session in sessions:
        session.send("accounts.signIn", provider="oracle")
    assert issuing.both.wait(60)
