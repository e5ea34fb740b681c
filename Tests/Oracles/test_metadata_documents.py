"""A client ID metadata document of `einlassctl providers metadata` as the client id at fastmcp's authorization server,
which reads the document over https.

    python -m pytest Tests/Oracles/test_metadata_documents.py
"""
import asyncio
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from browser import Visitor
from front_end import bring_back
from oracle import Server
from rotation import EINLASS, PROJECT
from servers import running, tell

sys.path.append(str(PROJECT / "Tests/Control"))
from terminal import Terminal  # noqa: E402

CONTROL = Path(os.environ.get("EINLASS_CONTROL", EINLASS.parent / "einlassctl"))
PATIENCE = 60
pytestmark = pytest.mark.usefixtures("built")


# The documents.

def certify(folder):
    """Returns the paths of a certificate for localhost, which is its own authority, and of its key."""
    certificate, key = str(folder / "authority.pem"), str(folder / "authority.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    return certificate, key


class Documents:
    """A server of documents over https. `pages` has status, headers and body by path."""

    def __init__(self, folder):
        self.authority, key = certify(folder)
        self.pages = {}
        pages = self.pages

        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                status, headers, body = pages[self.path]
                self.send_response(status)
                standard = {"Content-Type": "application/json", "Content-Length": str(len(body))}
                for name, value in {**standard, **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.authority, key)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.base = f"https://localhost:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def publish(self, path, document, status=200, headers=()):
        """Publishes a document, and returns its address. The server may not keep the document for the next test."""
        self.pages[path] = status, {"Cache-Control": "no-store", **dict(headers)}, json.dumps(document).encode()
        return self.base + path


def metadata(address):
    """Returns the document that einlassctl makes for an address."""
    done = subprocess.run([CONTROL, "providers", "metadata", address], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def good(documents):
    address = documents.base + "/client.json"
    return documents.publish("/client.json", metadata(address))


def redirecting(documents):
    address = documents.base + "/moved.json"
    documents.publish("/here.json", metadata(address))
    return documents.publish("/moved.json", {}, 302, {"Location": documents.base + "/here.json"})


def long(documents):
    address = documents.base + "/long.json"
    return documents.publish("/long.json", {**metadata(address), "padding": "x" * (64 << 10)})


def foreign(documents):
    return documents.publish("/foreign.json", metadata(documents.base + "/client.json"))


def elsewhere(documents):
    address = documents.base + "/elsewhere.json"
    redirects = ["https://example.com/callback"]
    return documents.publish("/elsewhere.json", {**metadata(address), "redirect_uris": redirects})


BAD = {redirecting: "its address redirects", long: "it is longer than 64 KiB",
       foreign: "its client_id is not its address",
       elsewhere: "its redirect_uris do not contain http://127.0.0.1/callback"}


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    documents = Documents(tmp_path_factory.mktemp("documents"))
    yield documents
    documents.close()


@pytest.fixture(scope="module")
def running_server(documents):
    with running("mcp_resource.py", str(documents.authority)) as ready:
        yield ready


@pytest.fixture
def server(running_server):
    tell(running_server, "/__reset")
    return running_server


# Requests to the server.

def log(server, kind=None):
    with urllib.request.urlopen(server["base"] + "/__log") as answer:
        return [entry for entry in json.load(answer) if kind in (None, entry["kind"])]


def clients(server):
    """Returns the client ids of all requests."""
    return {entry["client"] for entry in log(server)}


def refusal(server, token=None):
    """Returns status and challenge of a request without a message."""
    request = urllib.request.Request(server["resource"], headers={"Authorization": "Bearer " + token} if token else {})
    with pytest.raises(urllib.error.HTTPError) as failure:
        urllib.request.urlopen(request, timeout=PATIENCE)
    with failure.value as answer:
        return answer.status, answer.headers.get("WWW-Authenticate")


def scopes_at(server, token):
    """Calls the tool of the server with the client of the mcp package. The tool returns the scopes of the token."""

    async def talk():
        headers = {"Authorization": "Bearer " + token}
        async with httpx2.AsyncClient(headers=headers) as http:
            async with streamable_http_client(server["resource"], http_client=http) as (reading, writing):
                async with ClientSession(reading, writing) as session:
                    await session.initialize()
                    return (await session.call_tool("scopes", {})).structured_content["result"]

    return asyncio.run(asyncio.wait_for(talk(), PATIENCE))


def page_at(server, client):
    """Returns the status of the server's page for a client id."""
    query = {"response_type": "code", "client_id": client, "redirect_uri": "http://127.0.0.1:7/callback",
             "state": "state", "code_challenge": "x" * 43, "code_challenge_method": "S256", "scope": "photos"}
    return Visitor().open(server["base"] + "/authorize?" + urllib.parse.urlencode(query)).status


# einlass.

@pytest.fixture
def store(tmp_path):
    """The paths of a store and of its key, which have a folder each."""
    paths = {"--store": tmp_path / "data/store.db", "--key-file": tmp_path / "keys/key"}
    for path in paths.values():
        path.parent.mkdir(0o700)
    return {option: str(path) for option, path in paths.items()}


@pytest.fixture
def configured(start, documents, tmp_path):
    """Returns a function that starts a front end with an address as `clientMetadata`, or without one."""

    def configured(address, is_own=False, options=(), **more):
        words = {"caFile": str(documents.authority)}
        if address and is_own:
            words["applications"] = {"oracle-test": {"clientMetadata": address}}
        elif address:
            words["clientMetadata"] = address
        path = tmp_path / "configuration.json"
        path.write_text(json.dumps(words))
        path.chmod(0o600)
        return start(None, None, options=("--config", str(path), *options), **more)

    return configured


def allow(page):
    """Allows access on the server's page."""
    assert "Signed in" in bring_back(Visitor().open(page).press("approve"))


def sign_in(front_end, server, **params):
    """Signs in by the challenge of the server and returns the result."""
    params = {"challenge": refusal(server)[1], **params}
    id = front_end.send("accounts.signIn", resource=server["resource"], **params)
    prompt = front_end.until("prompt.opened")
    assert prompt["resource"] == server["resource"] and prompt["host"] == "127.0.0.1"
    allow(prompt["url"])
    answer = front_end.answer(id)
    assert not hasattr(answer, "code"), answer
    front_end.call("access.set", provider=answer.result["provider"], state="granted")
    return answer.result


def wanted(result):
    return {"account": result["account"], "resource": result["resource"]}


@pytest.mark.parametrize("is_own", [False, True])
def test_the_address_of_the_document_is_the_client_id(server, documents, configured, is_own):
    address = good(documents)
    front_end = configured(address, is_own)
    result = sign_in(front_end, server)
    token = front_end.token(**wanted(result))
    assert scopes_at(server, token) == ["photos"]
    assert clients(server) == {address} and not log(server, "registration")
    assert refusal(server, token + "x")[0] == 401


def test_without_a_document_the_application_is_registered(server, configured):
    front_end = configured(None)
    assert scopes_at(server, front_end.token(**wanted(sign_in(front_end, server)))) == ["photos"]
    (client,) = clients(server)
    assert log(server, "registration") == [{"kind": "registration", "client": client}] and "://" not in client


def test_a_server_without_support_for_documents_gets_a_registration(documents, configured):
    with running("mcp_resource.py", str(documents.authority), "plain") as server:
        front_end = configured(good(documents))
        assert scopes_at(server, front_end.token(**wanted(sign_in(front_end, server)))) == ["photos"]
        (client,) = clients(server)
        assert log(server, "registration") and "://" not in client


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_a_bad_document_ends_the_sign_in_before_its_page(server, documents, configured, bad):
    address = bad(documents)
    front_end = configured(address)
    error = front_end.answer(front_end.send(
        "accounts.signIn", resource=server["resource"], challenge=refusal(server)[1]))
    assert (error.data["reason"], error.data["detail"]) == ("authenticatorUnconfigured", "clientMetadata")
    assert address in error.message and BAD[bad] in error.message
    assert "prompt.opened" not in front_end.notified and log(server) == []
    # The harm: the server refuses a page for this client. The control: it shows the page for a good document.
    assert page_at(server, address) == 400
    assert page_at(server, good(documents)) == 200


def test_a_corrected_document_is_used_without_a_restart(server, documents, configured):
    address = elsewhere(documents)
    front_end = configured(address)
    assert front_end.refused("accounts.signIn", resource=server["resource"]) == "authenticatorUnconfigured"
    documents.publish("/elsewhere.json", metadata(address))
    sign_in(front_end, server)
    assert clients(server) == {address}


def test_an_ended_token_is_refreshed_as_the_same_client(server, documents, configured):
    address = good(documents)
    front_end = configured(address, options=("--test",))
    result = sign_in(front_end, server)
    first = front_end.token(**wanted(result))
    assert front_end.token(**wanted(result)) == first
    front_end.call("test.advanceClock", seconds=server["lifetime"])
    second = front_end.token(**wanted(result))
    assert second != first and scopes_at(server, second) == ["photos"]
    assert [entry["client"] for entry in log(server, "refresh")] == [address]
    # A refused token is replaced, too.
    tell(server, "/__expire")
    assert refusal(server, second)[0] == 401
    front_end.call("credentials.reject", **wanted(result))
    assert scopes_at(server, front_end.token(**wanted(result))) == ["photos"]
    assert clients(server) == {address} and not log(server, "registration")


def test_a_missing_scope_leads_to_a_token_with_both_scopes(server, documents, configured):
    address = good(documents)
    front_end = configured(address)
    first = sign_in(front_end, server)
    tell(server, "/__require?scope=albums")
    status, challenge = refusal(server, front_end.token(**wanted(first)))
    assert status == 403 and "insufficient_scope" in challenge and "photos" not in challenge
    second = sign_in(front_end, server, challenge=challenge, account=first["account"])
    assert second["account"] == first["account"] and not second["created"]
    assert log(server, "page")[-1]["scopes"] == ["photos", "albums"]
    credential = front_end.call("credentials.get", **wanted(second))["credential"]
    assert sorted(credential["scopes"]) == ["albums", "photos"]
    assert sorted(scopes_at(server, credential["token"])) == ["albums", "photos"]
    assert clients(server) == {address} and not log(server, "registration")


def test_two_processes_share_the_sign_in_and_a_refresh(server, documents, configured, store):
    address, options = good(documents), ("--key-file", store["--key-file"])
    first = configured(address, options=options, store=store["--store"])
    result = sign_in(first, server)
    # A process reads the added providers at its start, so the other one starts now.
    second = configured(address, options=options, store=store["--store"])
    token = first.token(**wanted(result))
    assert second.token(**wanted(result)) == token
    fresh = second.token(**wanted(result), forceRefresh=True)
    assert fresh != token and first.token(**wanted(result)) == fresh
    assert scopes_at(server, fresh) == ["photos"]
    assert len(log(server, "refresh")) == 1
    # The other process signs in as the same client.
    assert sign_in(second, server, account=result["account"])["account"] == result["account"]
    assert clients(server) == {address} and not log(server, "registration")


def test_an_automatic_registration_and_a_document_serve_one_store(server, documents, configured, store):
    address, options = good(documents), ("--key-file", store["--key-file"])
    plain = configured(None, options=options, store=store["--store"])
    former = sign_in(plain, server)
    (automatic,) = clients(server)
    front_end = configured(address, options=options, store=store["--store"])
    # The account of the automatic registration stays usable, also for a refresh.
    assert scopes_at(server, front_end.token(**wanted(former), forceRefresh=True)) == ["photos"]
    assert clients(server) == {automatic}
    # A sign-in is by the document, and the automatic registration serves the other front end as before.
    result = sign_in(front_end, server, account=former["account"])
    assert log(server, "page")[-1]["client"] == address
    tell(server, "/__expire")
    for each in (front_end, plain):
        each.call("credentials.reject", **wanted(result))
        assert scopes_at(server, each.token(**wanted(result))) == ["photos"]
    assert [entry["client"] for entry in log(server, "refresh")] == [automatic, address, automatic]


def test_einlassctl_asks_the_resource_and_signs_in_with_the_document(server, documents, store, tmp_path):
    address = good(documents)
    config = tmp_path / "configuration.json"
    config.write_text(json.dumps({"caFile": str(documents.authority), "clientMetadata": address}))
    config.chmod(0o600)
    command = [str(CONTROL), "sign-in", server["resource"], "--no-browser", "--config", str(config),
               "--einlass", str(EINLASS), *(word for pair in store.items() for word in pair)]
    with Terminal(command, columns=2000) as terminal:
        terminal.wait_for("This resource chose the place of the sign-in: “127.0.0.1”.")
        terminal.wait_for("/authorize?")
        terminal.wait_for("\r\n")
        allow(re.search(r"http\S+/authorize\S+", terminal.shown)[0])
        assert terminal.end() == 0 and "Signed in" in terminal.shown, terminal.shown
    # The scope is in the challenge alone: the description of the resource has one more.
    assert [entry["scopes"] for entry in log(server, "page")] == [["photos"]]
    assert clients(server) == {address} and not log(server, "registration")
