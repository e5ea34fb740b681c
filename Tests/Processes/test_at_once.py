"""Many processes share one store and act at once: they add issuers, register at a server and sign people in.

    python -m pytest Tests/Processes/test_at_once.py
"""
import contextlib
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from front_end import bring_back, visit
from place import ADDRESS, about_files, rows
from session import Session
from servers import log

pytestmark = pytest.mark.usefixtures("built")
PROCESSES = 6


class Issuers(BaseHTTPRequestHandler):
    """One issuer for each path, with metadata. A registration is answered when two have arrived."""

    def do_GET(self):
        if not self.path.endswith("/.well-known/openid-configuration"):
            return self.send_error(404)
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
    """Returns a function that starts processes with one store."""
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
    """Sends all requests before it reads an answer, and returns the answers."""
    ids = [session.send(method, **more) for session, more in zip(sessions, params)]
    return [session.answer(id) for session, id in zip(sessions, ids)]


def kept(tmp_path):
    """Returns the issuers by id, from the file beside the store or from the table."""
    if ADDRESS:
        [(contents,)] = rows(tmp_path / "store.db", "SELECT convert_from(contents, 'UTF8') FROM provider_overlay")
        return {entry["id"]: entry["flows"][0]["issuer"] for entry in json.loads(contents)["providers"]}
    (file,) = tmp_path.glob("*providers*.json")
    return {entry["id"]: entry["flows"][0]["issuer"] for entry in json.loads(file.read_text())["providers"]}


def test_similar_issuers_get_an_id_each(issuers, processes, tmp_path):
    sessions = processes(PROCESSES)
    names = [issuers + "/" + "".join(part) for part in itertools.product("a", "-_~", "b", "-_", "c")]
    answers = at_once(sessions, "providers.add", [{"issuer": name} for name in names])
    assert all(answer.result["created"] for answer in answers), answers
    ids = {answer.result["provider"]: name for answer, name in zip(answers, names)}
    assert len(ids) == PROCESSES and kept(tmp_path) == ids
    # Each issuer keeps its id when another process adds it again, and a later process has them all.
    again = at_once(sessions[1:], "providers.add", [{"issuer": name} for name in names])
    assert [answer.result for answer in again] == [
        {"provider": answer.result["provider"], "created": False} for answer in answers[:-1]]
    (late,) = processes(1)
    assert {entry["id"] for entry in late.call("providers.list", limit=1000)["providers"]} >= set(ids)


def test_an_issuer_added_by_all_processes_is_stored_once(issuers, processes, tmp_path):
    answers = at_once(processes(PROCESSES), "providers.add", [{"issuer": issuers + "/one"}] * PROCESSES)
    assert sorted(answer.result["created"] for answer in answers) == [False] * (PROCESSES - 1) + [True]
    assert list(kept(tmp_path).values()) == [issuers + "/one"]
    assert set(kept(tmp_path)) == {answer.result["provider"] for answer in answers}


def test_the_last_provider_with_a_chosen_id_is_kept(issuers, processes, tmp_path):
    """The control of the first test: a chosen id is replaced by the next provider with it."""
    names = [f"{issuers}/{number}" for number in range(PROCESSES)]
    answers = at_once(processes(PROCESSES), "providers.add", [{"issuer": name, "id": "mine"} for name in names])
    assert sorted(answer.result["created"] for answer in answers) == [False] * (PROCESSES - 1) + [True]
    assert list(kept(tmp_path)) == ["mine"] and kept(tmp_path)["mine"] in names


def test_a_provider_removed_by_another_process_is_added_again(issuers, processes):
    (first,) = processes(1)
    added = first.call("providers.add", issuer=issuers + "/one")["provider"]
    (second,) = processes(1)
    second.call("providers.remove", provider=added)
    assert first.call("providers.add", issuer=issuers + "/one") == {"provider": added, "created": True}


@about_files("the added providers are rows")
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
    # All have the same redirect address, so their pages are shown one after the other.
    with ThreadPoolExecutor(len(sessions)) as pool:
        ends = [pool.submit(finish, session, id, dot) for session, id in zip(sessions, ids)]
        clients, accounts = zip(*[end.result() for end in ends])
    assert len(clients) == len(accounts) == 3 and len(set(clients)) == len(set(accounts)) == 1
    assert registrations(dot) == before + 1


def test_without_the_lock_each_registers(issuing, processes):
    """The negative control: the server holds the first request until a second one arrives."""
    (first,) = processes(1)
    first.call("providers.add", issuer=issuing.base + "/registers", id="oracle")
    sessions = processes(2, "--test")
    for session in sessions:
        session.write({"jsonrpc": "2.0", "method": "test.withoutLeases"})  # not in the document
    for session in sessions:
        session.send("accounts.signIn", provider="oracle")
    assert issuing.both.wait(60)
