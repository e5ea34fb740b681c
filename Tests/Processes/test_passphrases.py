"""Passphrases from a front end: for the store's key, and for the file that moves accounts to another machine.

    python -m pytest Tests/Processes/test_passphrases.py
"""
import json
import os
import shutil
import tempfile
from pathlib import Path

import jsonrpcclient
import pytest

from session import Session

pytestmark = pytest.mark.usefixtures("built")

WORDS = "correct horse"


def account(username, provider="twitter"):
    if provider == "facebook":
        credential = {"type": "oauth2", "token": f"t0ken-of-{username}", "clientId": "APP", "refreshToken": "r3fresh"}
    else:
        credential = {"type": "oauth1", "key": f"k3y-of-{username}", "secret": "s3cret", "clientId": "c", "clientSecret": "cs"}
    return {"provider": provider, "username": username, "credential": credential}


class Machine:
    """A folder for a store and its key, and the processes that use it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="einlass-", dir="/tmp"))
        self.sessions = []

    def start(self, *options, passphrase=None, prompts=("enterPassphrase",), applications={}):
        descriptors = []
        # The default place of keys, because with `--key-file` einlass never asks for a passphrase.
        environment = {"XDG_STATE_HOME": str(self.folder / "state")}
        if passphrase is not None:
            descriptors.append(os.memfd_create("passphrase"))
            os.write(descriptors[0], passphrase.encode() + b"\n")
            os.lseek(descriptors[0], 0, os.SEEK_SET)
            options += ("--passphrase-fd", str(descriptors[0]))
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            session = Session(*options, store=str(self.folder / "store.db"), descriptors=descriptors)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
            for descriptor in descriptors:
                os.close(descriptor)
        session.call("initialize", client={"name": "mover"}, capabilities={"prompts": list(prompts)}, applications=applications)
        self.sessions.append(session)
        return session

    def close(self):
        for session in self.sessions:
            session.close()
        shutil.rmtree(self.folder)


@pytest.fixture
def machine():
    machine = Machine()
    yield machine
    machine.close()


@pytest.fixture
def other():
    machine = Machine()
    yield machine
    machine.close()


def answered(session, *passphrases, method, **params):
    """Sends a request, answers its prompts with these passphrases, and returns the answer and the prompts."""
    request, prompts = session.send(method, **params), []
    for passphrase in passphrases:
        prompts.append(session.until("prompt.opened"))
        choice = {"action": "cancel"} if passphrase is None else {"action": "accept", "passphrase": passphrase}
        session.send("prompt.answer", prompt=prompts[-1]["prompt"], **choice)
    return session.answer(request), prompts


def result(answer):
    assert isinstance(answer, jsonrpcclient.Ok), answer
    return answer.result


def sealed(machine):
    """Creates a store with a passphrase as its only key slot."""
    session = machine.start(passphrase=WORDS)
    session.call("accounts.add", **account("ada"))
    assert session.call("store.status")["slots"] == ["passphrase"]
    return session


def test_a_request_that_needs_the_key_asks_for_the_passphrase_once(machine):
    sealed(machine)
    session = machine.start()
    # A request that does not need the key opens no prompt.
    assert len(session.call("accounts.list")["accounts"]) == 1
    answer, prompts = answered(session, "wrong", WORDS, method="accounts.add", **account("bob"))
    assert result(answer)["created"]
    assert [prompt.get("again", False) for prompt in prompts] == [False, True]
    assert all(prompt["kind"] == "enterPassphrase" and prompt["purpose"] == "keySlot" for prompt in prompts)
    assert prompts[0]["path"] == str(machine.folder / "store.db") and "provider" not in prompts[0]
    assert session.call("store.check")["sealedValues"] == 6
    assert session.call("accounts.add", **account("eve"))["created"]


def test_a_failing_key_program_runs_once_for_a_request_and_keeps_the_order_of_answers(machine):
    program, runs = machine.folder / "program", machine.folder / "runs"
    program.write_text(f"#!/bin/sh\necho run >>{runs}\nexit 1\n")
    program.chmod(0o700)
    (machine.folder / "config.json").write_text(json.dumps({"keyCommand": [str(program)]}))
    (machine.folder / "config.json").chmod(0o600)
    session = machine.start("--config", str(machine.folder / "config.json"))
    sent = [session.send("accounts.add", **account("ada")), session.send("accounts.list")]
    assert [session.message().id for _ in sent] == sent
    assert runs.read_text().split() == ["run"]


def test_no_passphrase_is_asked_for_without_a_registration(machine):
    id = sealed(machine).call("accounts.list")["accounts"][0]["account"]
    session = machine.start(prompts=("enterPassphrase", "openURL", "grantAccess", "selectAccount"))
    session.call("access.set", provider="twitter", state="granted")
    for method, params in [
            ("auth.perform", {"provider": "twitter"}), ("accounts.signIn", {"provider": "github"}),
            ("credentials.get", {"account": id}), ("credentials.reject", {"account": id}),
            ("credentials.sign", {"account": id, "method": "GET", "url": "https://api.twitter.com/"}),
            ("accounts.renew", {"account": id}), ("verify", {"provider": "twitter", "account": id})]:
        assert session.refused(method, **params) == "authenticatorUnconfigured", method
    assert not [note for note in session.notifications if note["method"] == "prompt.opened"]
    # The control: with a registration the key is needed, and a prompt opens.
    registered = machine.start(applications={"twitter": {"clientId": "c2", "clientSecret": "s"}})
    registered.send("verify", provider="twitter", account=id)
    assert registered.until("prompt.opened")["kind"] == "enterPassphrase"


def test_other_requests_go_on_while_the_person_types(machine):
    sealed(machine)
    session = machine.start()
    adding = session.send("accounts.add", **account("bob"))
    prompt = session.until("prompt.opened")
    assert len(session.call("accounts.list")["accounts"]) == 1
    assert [entry["prompt"] for entry in session.call("prompt.list")["prompts"]] == [prompt["prompt"]]
    second = session.send("store.check")
    session.call("auth.list")
    session.send("prompt.answer", prompt=prompt["prompt"], action="accept", passphrase=WORDS)
    # The second request shares the prompt, or runs when the key is open.
    answers = {}
    while len(answers) < 2:
        message = session.message()
        if not isinstance(message, dict):
            answers[message.id] = message
        answers = {id: answer for id, answer in answers.items() if id in (adding, second)}
    assert result(answers[adding])["created"] and result(answers[second])["sound"]
    again = session.send("prompt.answer", prompt=prompt["prompt"], action="accept", passphrase=WORDS)
    assert result(session.answer(again)) == {}
    assert session.refused("prompt.answer", prompt=prompt["prompt"], action="accept",
                           passphrase="other") == "promptAlreadyAnswered"


def test_without_a_passphrase_nothing_is_done_and_the_next_step_is_named(machine):
    sealed(machine)
    asking = machine.start()
    answer, _ = answered(asking, None, method="accounts.add", **account("bob"))
    assert (answer.code, answer.data["reason"]) == (1011, "userCanceled")
    answer, prompts = answered(asking, "a", "b", "c", method="accounts.add", **account("bob"))
    assert (answer.code, answer.data["detail"]) == (1009, "keyUnavailable") and "passphrase" in answer.message
    silent = machine.start(prompts=())
    answer = silent.answer(silent.send("accounts.add", **account("bob")))
    assert (answer.code, answer.data["detail"]) == (1009, "keyUnavailable") and "--passphrase-fd" in answer.data["next"][1]["label"]
    assert answer.data["next"][0]["command"] == "einlassctl store unlock --for 8h"
    brought = machine.start(passphrase="wrong")
    answer = brought.answer(brought.send("accounts.add", **account("bob")))
    assert (answer.code, answer.data["detail"]) == (1009, "keyUnavailable")
    assert len(silent.call("accounts.list")["accounts"]) == 1


def test_a_passphrase_is_chosen_and_opens_the_store_from_then_on(machine):
    session = machine.start()
    session.call("accounts.add", **account("ada"))
    answer, (prompt,) = answered(session, WORDS, method="store.addKeySlot", kind="passphrase")
    assert result(answer)["slots"] == ["keyfile", "passphrase"] and prompt["new"]
    assert session.call("store.removeKeySlot", kind="keyfile")["slots"] == ["passphrase"]
    answer, _ = answered(machine.start(), WORDS, method="store.check")
    assert result(answer)["sound"]


def test_a_cancelled_request_leaves_its_prompt(machine):
    sealed(machine)
    session = machine.start()
    request = session.send("accounts.add", **account("bob"))
    prompt = session.until("prompt.opened")
    session.write({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request}})
    assert session.until("prompt.closed") == {"prompt": prompt["prompt"], "outcome": "cancelled"}
    assert session.answer(request).code == -32800


# Moving


def test_many_files_at_once_take_the_memory_of_one(machine):
    session = machine.start(passphrase=WORDS)
    session.call("accounts.add", **account("ada"))
    requests = {session.send("accounts.export", path=str(machine.folder / f"{count}")) for count in range(4)}
    while requests:
        message = session.message()
        if not isinstance(message, dict) and message.id in requests:
            assert result(message)["accounts"] == 1
            requests.remove(message.id)
    status = Path(f"/proc/{session.process.pid}/status").read_text()
    highest = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")))
    # scrypt takes 128 MiB for one key, so the limit is below twice that.
    assert 128 * 1024 < highest < 256 * 1024, highest


def test_a_request_that_waits_for_other_exports_can_be_cancelled(machine):
    session = machine.start(passphrase=WORDS)
    session.call("accounts.add", **account("ada"))
    paths = [machine.folder / f"{count}" for count in range(8)]
    requests = [session.send("accounts.export", path=str(path)) for path in paths]
    for request in requests[1:]:
        session.write({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request}})
    answers = {}
    while len(answers) < 8:
        message = session.message()
        if not isinstance(message, dict):
            answers[message.id] = message
    assert result(answers[requests[0]])["accounts"] == 1
    assert {answers[request].code for request in requests[1:]} == {-32800}
    assert [path.exists() for path in paths] == [True] + [False] * 7


def test_accounts_move_to_another_machine(machine, other):
    session = machine.start()
    for username, provider in (("ada", "twitter"), ("bob", "twitter"), ("ada", "facebook")):
        session.call("accounts.add", displayName="Ada L.", **account(username, provider))
    session.call("accounts.signOut", account=session.call("accounts.list")["accounts"][1]["account"], revoke=False)
    path = machine.folder / "moving"
    answer, (prompt,) = answered(session, WORDS, method="accounts.export", path=str(path))
    assert result(answer) == {"path": str(path), "accounts": 3, "users": 0, "bytes": path.stat().st_size}
    assert (prompt["purpose"], prompt["path"], prompt["new"]) == ("export", str(path), True)
    assert path.stat().st_mode & 0o7777 == 0o600
    # Long enough not to occur by chance or in hexadecimal digits.
    for secret in (b"k3y-of-", b"t0ken", b"Ada L.", b"twitter", b"r3fresh", WORDS.encode()):
        assert secret not in path.read_bytes()
    # An existing account stays unchanged.
    arrived = other.start()
    arrived.call("accounts.add", **account("ada"))
    before = arrived.call("accounts.list")["accounts"]
    answer, (prompt,) = answered(arrived, WORDS, method="accounts.import", path=str(path))
    report = result(answer)
    assert (prompt["purpose"], "new" in prompt) == ("import", False)
    assert {name: report[name] for name in ("added", "replaced", "alreadyThere", "refused")} == {
        "added": 2, "replaced": 0, "alreadyThere": 1, "refused": 0}
    assert report["accounts"][0] == {"provider": "twitter", "username": "ada", "result": "alreadyThere",
                                     "account": before[0]["account"]}
    listed = arrived.call("accounts.list")["accounts"]
    assert listed[0] == before[0]
    assert [(entry["username"], entry["provider"], entry["signedIn"], entry.get("displayName")) for entry in listed[1:]] == [
        ("bob", "twitter", False, "Ada L."), ("ada", "facebook", True, "Ada L.")]
    # The imported credential is complete and usable.
    arrived.call("access.set", provider="facebook", state="granted")
    assert arrived.call("store.check") == {"sound": True, "accounts": 3, "sealedValues": 5, "countFindings": 0, "findings": []}
    report = result(answered(arrived, WORDS, method="accounts.import", path=str(path), replace=True)[0])
    assert (report["added"], report["replaced"]) == (0, 3)
    assert [entry["account"] for entry in arrived.call("accounts.list")["accounts"]] == [entry["account"] for entry in listed]
    assert {"accounts.import"} <= {entry["method"] for entry in arrived.call("audit.list")["entries"]}


def test_an_imported_token_is_sent_only_to_its_former_origin(machine, other):
    """The account was added under another origin of its provider."""
    config = machine.folder / "config.json"
    config.write_text(json.dumps({"applications": {"*": {"facebook": {"clientId": "APP", "clientSecret": "x"}}}, "origins": {
        "https://graph.facebook.com": "http://127.0.0.1:1", "https://api.twitter.com": "http://127.0.0.1:1"}}))
    config.chmod(0o600)
    session = machine.start("--config", str(config))
    added = session.call("accounts.add", **account("ada", "facebook"))["account"]
    session.call("access.set", provider="facebook", state="granted")
    # The control: the first machine returns the token.
    assert session.call("credentials.get", account=added)["credential"]["token"] == "t0ken-of-ada"
    path = machine.folder / "moving"
    result(answered(session, WORDS, method="accounts.export", path=str(path))[0])
    live = other.folder / "config.json"
    live.write_text(json.dumps({"applications": {"*": {"facebook": {"clientId": "APP", "clientSecret": "x"}}}}))
    live.chmod(0o600)
    arrived = other.start("--config", str(live))
    report = result(answered(arrived, WORDS, method="accounts.import", path=str(path))[0])
    arrived.call("access.set", provider="facebook", state="granted")
    assert arrived.refused("credentials.get", account=report["accounts"][0]["account"]) == "bindingMismatch"


@pytest.mark.parametrize("words, is_short", [("correct hors", False), ("correct hor", True), ("é" * 12, False), ("é" * 11, True),
                                             ("e\u0301" * 11, True)])
def test_a_short_passphrase_of_a_file_needs_consent(machine, words, is_short):
    session = machine.start()
    session.call("accounts.add", **account("ada"))
    path = machine.folder / "moving"
    answer, _ = answered(session, words, method="accounts.export", path=str(path))
    assert path.exists() is not is_short
    if is_short:
        assert (answer.code, answer.data["path"], answer.data["next"][0]["label"]) == (
            -32602, "/weak", "Choose a longer passphrase, or allow a weak one")
        assert words not in str(answer)
        result(answered(session, words, method="accounts.export", path=str(path), weak=True)[0])
        assert path.exists()
    # A passphrase from a descriptor is no other.
    brought = machine.start(passphrase=words)
    other = machine.folder / "other"
    assert (brought.refused("accounts.export", path=str(other)) == "invalidParams") if is_short else (
        brought.call("accounts.export", path=str(other))["accounts"] == 1)


def test_a_passphrase_may_come_by_a_descriptor(machine, other):
    session = machine.start(passphrase=WORDS, prompts=())
    session.call("accounts.add", **account("ada"))
    path = machine.folder / "moving"
    assert session.call("accounts.export", path=str(path))["accounts"] == 1
    assert session.refused("accounts.export", path=str(path)) == "accountStoreFailure"
    assert session.call("accounts.export", path=str(path), replace=True)["accounts"] == 1
    assert other.start(passphrase=WORDS, prompts=()).call("accounts.import", path=str(path))["added"] == 1
    nobody = other.start(prompts=())
    answer = nobody.answer(nobody.send("accounts.export", path=str(other.folder / "x")))
    assert (answer.code, answer.data["prompts"][0]["option"]) == (1010, "--file-passphrase-fd")
    assert not (other.folder / "x").exists()


@pytest.fixture
def file(machine):
    session = machine.start()
    session.call("accounts.add", **account("ada"))
    path = machine.folder / "moving"
    result(answered(session, WORDS, method="accounts.export", path=str(path))[0])
    return path


def test_a_file_that_was_cut_or_changed_changes_nothing(file, other):
    """Changes each line and the sealed part; the control is the unchanged file. AccountsFileTests changes every byte."""
    whole = file.read_bytes()
    head = len(b"\n".join(whole.split(b"\n", 3)[:3])) + 1
    session = other.start()
    details = set()

    def importing(bytes_):
        file.write_bytes(bytes_)
        request = session.send("accounts.import", path=str(file))
        while True:
            message = session.message()
            if not isinstance(message, dict):
                if message.id == request:
                    return message
                continue
            if message["method"] == "prompt.opened":
                again = message["params"].get("again")
                more = {"action": "cancel"} if again else {"action": "accept", "passphrase": WORDS}
                session.send("prompt.answer", prompt=message["params"]["prompt"], **more)

    places = [3, 20, 40, head - 70, head - 2, head, len(whole) - 1]
    for place in places:
        damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:]
        answer = importing(damaged)
        assert isinstance(answer, jsonrpcclient.Error), place
        details.add(answer.data.get("detail", answer.data["reason"]))
    for place in [0, head - 1, head, len(whole) - 1]:
        answer = importing(whole[:place])
        assert isinstance(answer, jsonrpcclient.Error), place
    assert isinstance(importing(whole + b"x"), jsonrpcclient.Error)
    assert session.call("accounts.list")["accounts"] == []
    assert details >= {"corrupt", "userCanceled"}
    assert result(importing(whole))["added"] == 1


def test_the_fault_of_a_file_is_reported(file, other):
    whole = file.read_bytes()
    session = other.start()

    def refused(bytes_, *passphrases):
        file.write_bytes(bytes_)
        answer, _ = answered(session, *passphrases, method="accounts.import", path=str(file))
        assert isinstance(answer, jsonrpcclient.Error), answer
        return answer.data["detail"], [step["label"] for step in answer.data["next"]]

    detail, steps = refused(whole.replace(b"accounts 1\n", b"accounts 2\n", 1))
    assert detail == "tooNew" and "Update einlass" in steps[0]
    assert refused(whole.replace(b"scrypt 131072", b"scrypt 1073741824", 1))[0] == "corrupt"
    assert refused(b"")[0] == "corrupt"
    assert refused(b"\0" * 100)[0] == "corrupt"
    assert refused(whole, "a", "b", "c")[0] == "decryptFailed"
    assert refused(whole[:-1], WORDS)[0] == "corrupt"
    assert session.call("accounts.list")["accounts"] == []


def test_an_unsafe_path_is_refused_before_any_prompt(machine):
    session = machine.start()
    session.call("accounts.add", **account("ada"))
    (machine.folder / "shared").mkdir()
    (machine.folder / "shared").chmod(0o777)
    (machine.folder / "taken").write_text("")
    (machine.folder / "taken").chmod(0o600)
    (machine.folder / "link").symlink_to(machine.folder / "elsewhere")
    for path in ("shared/x", "taken", "link", "missing/x"):
        assert session.refused("accounts.export", path=str(machine.folder / path)) == "accountStoreFailure", path
    assert session.refused("accounts.export", path="x") == "invalidParams"
    assert session.refused("accounts.import", path=str(machine.folder / "missing")) == "accountStoreFailure"
    assert not (machine.folder / "elsewhere").exists()
    # The control: a folder that others may only read is accepted.
    (machine.folder / "open").mkdir()
    (machine.folder / "open").chmod(0o755)
    assert isinstance(answered(session, WORDS, method="accounts.export", path=str(machine.folder / "open/x"))[0],
                      jsonrpcclient.Ok)


def test_a_file_is_read_up_to_its_limit_and_no_further(file, other):
    whole, limit = file.read_bytes(), 16 << 20
    session = other.start(passphrase=WORDS)
    for size, words in ((limit, "was truncated or changed"), (limit + 1, "longer than")):
        file.write_bytes(whole + bytes(size - len(whole)))
        answer = session.answer(session.send("accounts.import", path=str(file)))
        assert words in answer.message and answer.data["detail"] == "corrupt"
