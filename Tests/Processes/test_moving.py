"""The added providers and the registrations that move with accounts to another machine.

    python -m pytest Tests/Processes/test_moving.py
"""
import json
import subprocess

import pytest

from test_passphrases import WORDS, account, answered, machine, other, result  # noqa: F401
from place import about_files
from rotation import SANDBOX
from session import Session

pytestmark = pytest.mark.usefixtures("built")


def descriptor(id, host, **more):
    return {"id": id, "name": id.title(), "setup": {"documentation": f"https://{host}/docs"}, "accounts": "many",
            "registration": ["clientId"], "flows": [
                {"kind": "authorizationCode", "authorize": {"method": "GET", "url": f"https://{host}/authorize"}, "redirect": {},
                 "token": {"method": "POST", "url": f"https://{host}/token"}, "clientAuthentication": "none"}], **more}


def added(session, provider, username="cora"):
    credential = {"type": "oauth2", "token": f"t0ken-of-{username}", "clientId": "mine"}
    return session.call("accounts.add", provider=provider, username=username, credential=credential)["account"]


def export(machine, session):
    path = machine.folder / "moving"
    result(answered(session, WORDS, method="accounts.export", path=str(path), replace=True)[0])
    return path


def packed(machine):
    """Returns an export with one account, its added provider and its registration."""
    session = machine.start()
    session.call("providers.add", descriptor=descriptor("work", "work.example"))
    session.call("providers.configure", provider="work", clientId="mine")
    added(session, "work")
    return export(machine, session)


def arrive(session, path, **params):
    return result(answered(session, WORDS, method="accounts.import", path=str(path), **params)[0])


def known(session):
    """Returns the ids of the providers; the value is whether each has a registration."""
    listed, cursor = [], {}
    while True:
        page = session.call("providers.list", **cursor)
        listed += page["providers"]
        if "nextCursor" not in page:
            return {entry["id"]: entry["configured"] for entry in listed}
        cursor = {"cursor": page["nextCursor"]}


def counts(report):
    return tuple(report[name] for name in ("added", "replaced", "alreadyThere", "refused"))


def test_a_discovered_provider_moves_without_another_discovery(machine, other):
    session = machine.start()
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        issuer = json.loads(sandbox.stdout.readline())["addresses"]["openid"]
        session.call("providers.add", issuer=issuer, id="work")
        sandbox.terminate()
    session.call("providers.add", descriptor=descriptor("unused", "unused.example"))
    session.call("providers.configure", provider="work", clientId="mine", clientSecret="s3cret-of-mine")
    added(session, "work")
    path = export(machine, session)
    arrived = other.start()
    before = known(arrived)
    report = arrive(arrived, path)
    assert counts(report) == (1, 0, 0, 0) and report["providers"] == report["registrations"] == ["work"]
    # A provider without accounts is not exported.
    assert {id: is_set for id, is_set in known(arrived).items() if id not in before} == {"work": True}
    arrived.call("access.set", provider="work", state="granted")
    account = report["accounts"][0]["account"]
    assert arrived.call("credentials.get", account=account)["credential"]["token"] == "t0ken-of-cora"
    # The next process has it too. A second import changes nothing.
    again = other.start()
    assert known(again)["work"]
    report = arrive(again, path)
    assert counts(report) == (0, 0, 1, 0) and report["providers"] == report["registrations"] == []
    assert arrive(again, path, replace=True)["registrations"] == ["work"]


def test_a_provider_with_the_same_id_stays_and_gets_no_token(machine, other):
    path = packed(machine)
    arrived = other.start()
    arrived.call("providers.add", descriptor=descriptor("work", "elsewhere.example"))
    report = arrive(arrived, path, replace=True)
    assert counts(report) == (1, 0, 0, 0) and report["providers"] == []
    # The registration is not imported either, because it belongs to another server.
    assert report["registrations"] == [] and not known(arrived)["work"]
    arrived.call("providers.configure", provider="work", clientId="mine")
    assert known(arrived)["work"]
    arrived.call("access.set", provider="work", state="granted")
    account = report["accounts"][0]["account"]
    assert arrived.refused("credentials.get", account=account) == "bindingMismatch"
    # The control: at the provider of the file the token is returned.
    arrived.call("providers.remove", provider="work")
    assert arrive(arrived, path, replace=True)["providers"] == ["work"]
    assert arrived.call("credentials.get", account=account)["credential"]["token"] == "t0ken-of-cora"


def test_accounts_of_a_provider_that_cannot_be_added_are_refused_with_the_reason(machine, other):
    file = machine.folder / "providers.json"
    file.write_text(json.dumps({"providers": [descriptor("model", "model.example")]}))
    file.chmod(0o600)
    session = machine.start("--providers", str(file))
    like = {"id": "mine", "name": "Mine", "like": "model", "origins": {"https://model.example": "https://mine.example"}}
    session.call("providers.add", descriptor=like)
    session.call("providers.configure", provider="mine", clientId="mine")
    added(session, "mine")
    added(session, "model")
    session.call("accounts.add", **account("ada"))
    path = export(machine, session)
    arrived = other.start()
    report = arrive(arrived, path)
    assert counts(report) == (1, 0, 0, 2) and report["providers"] == report["registrations"] == []
    refused = {entry["provider"]: entry["error"]["data"]["reason"] for entry in report["accounts"] if "error" in entry}
    assert refused == {"mine": "invalidParams", "model": "unknownProvider"}
    # With its model provider it can be imported.
    report = arrive(other.start("--providers", str(file)), path)
    assert counts(report) == (2, 0, 1, 0) and report["providers"] == report["registrations"] == ["mine"]
    # Without that file einlass has all other providers, and can remove this one.
    without = other.start()
    without.call("access.set", provider="twitter", state="granted")
    [left] = greeting(other)["leftOut"]
    assert left["provider"] == "mine" and "/providers/0" in left["message"]
    assert "mine" not in known(without) and without.refused("providers.remove", provider="none") == "unknownProvider"
    without.call("providers.remove", provider="mine")
    assert "mine" not in known(other.start("--providers", str(file)))


def test_an_added_provider_stays_while_another_is_like_it(machine):
    session = machine.start()
    session.call("providers.add", descriptor=descriptor("first", "first.example"))
    like = {"id": "second", "name": "Second", "like": "first", "origins": {"https://first.example": "https://second.example"}}
    session.call("providers.add", descriptor=like)
    session.call("providers.add", descriptor=descriptor("third", "third.example"))
    # A provider like another added one is known after a restart, even if its model was replaced.
    session.call("providers.add", descriptor=descriptor("first", "first.example"))
    again = machine.start()
    assert {"first", "second", "third"} <= set(known(again)) and "leftOut" not in greeting(machine)
    assert again.refused("providers.remove", provider="first") == "invalidParams"
    for id in ["second", "first"]:
        again.call("providers.remove", provider=id)
    assert known(machine.start()).keys() & {"first", "second", "third"} == {"third"}
    assert "leftOut" not in greeting(machine)


@about_files("the failed removal is of a damaged file")
def test_removing_a_provider_removes_its_stored_registration(machine):
    session = machine.start()
    first = machine.folder / "first.json"
    first.write_text(json.dumps({"providers": [descriptor("first", "first.example")]}))
    first.chmod(0o600)
    session.call("providers.add", descriptor=descriptor("work", "work.example"))
    modelled = machine.start("--providers", str(first))
    like = {"id": "like", "name": "Like", "like": "first", "origins": {"https://first.example": "https://like.example"}}
    modelled.call("providers.add", descriptor=like)
    account = added(session, "work")
    session.call("providers.configure", provider="work", clientId="mine", clientSecret="s3cret-of-mine")
    modelled.call("providers.configure", provider="like", clientId="mine")
    # A failed removal changes neither the store nor the file of providers.
    store, providers = machine.folder / "store.db", machine.folder / "store.providers.json"
    for other_session in machine.sessions:
        other_session.close()
    machine.sessions.clear()
    whole, before = store.read_bytes(), providers.read_bytes()
    store.write_bytes(b"no database" * 1000)
    assert machine.start().refused("providers.remove", provider="work") == "accountStoreFailure"
    assert providers.read_bytes() == before
    store.write_bytes(whole)
    session = machine.start()
    assert known(session)["work"] and "like" not in known(session)
    # `like` is left out, because its model provider is not given here.
    for id in ["work", "like"]:
        session.call("providers.remove", provider=id)
        session.call("providers.add", descriptor=descriptor(id, "elsewhere.example"))
        assert session.refused("accounts.signIn", provider=id) == "authenticatorUnconfigured"
        # The control: after a replacement the registration stays, but does not match the other server.
        session.call("providers.configure", provider=id, clientId="another")
        session.call("providers.add", descriptor=descriptor(id, "third.example"))
        assert session.refused("accounts.signIn", provider=id) == "bindingMismatch"
    assert account in [entry["account"] for entry in session.call("accounts.list")["accounts"]]


def greeting(machine):
    """Returns the result of `initialize` from a new process."""
    session = Session("--key-file", str(machine.folder / "any.key"), store=str(machine.folder / "store.db"))
    machine.sessions.append(session)
    return session.call("initialize", client={"name": "mover"})


def test_a_registration_is_imported_even_if_all_accounts_exist(machine, other):
    session = machine.start()
    session.call("accounts.add", **account("ada"))
    session.call("providers.configure", provider="github", clientId="mine")
    path = export(machine, session)
    arrived = other.start()
    arrived.call("accounts.add", **account("ada"))
    report = arrive(arrived, path)
    assert counts(report) == (0, 0, 1, 0) and report["registrations"] == ["github"] and known(arrived)["github"]
    # An existing registration stays, unless `replace` is given.
    arrived.call("providers.configure", provider="github", clientId="another")
    assert arrive(arrived, path)["registrations"] == []


@about_files("there is no folder of the store")
@pytest.mark.parametrize("folder", ["data", "data.json"])
def test_a_folder_writable_by_others_is_reported_as_the_stores_problem(machine, folder):
    (machine.folder / folder).mkdir(mode=0o700)
    (machine.folder / folder).chmod(0o770)
    session = Session("--key-file", str(machine.folder / "any.key"), store=str(machine.folder / folder / "store.db"))
    machine.sessions.append(session)
    greeting = session.call("initialize", client={"name": "mover"})
    assert greeting["store"]["problem"]["detail"] == "permissions" and "configuration" not in greeting


def test_a_full_file_of_providers_blames_no_parameter(machine):
    session = machine.start()
    one, two = (descriptor(id, f"{id}.example") for id in ("one", "two"))
    for long in (one, two):
        long["flows"][0]["scopes"] = ["x" * 600_000]
    session.call("providers.add", descriptor=one)
    answer = session.answer(session.send("providers.add", descriptor=two))
    assert "longer than 1 MiB" in answer.message and "path" not in answer.data


@about_files("the added providers are rows")
@pytest.mark.parametrize("fails", [False, True])
def test_an_import_keeps_a_provider_added_meanwhile(machine, other, fails):
    session = machine.start()
    session.call("providers.add", descriptor=descriptor("work", "work.example"))
    added(session, "work")
    path = export(machine, session)
    keys = other.folder / "state"
    other.start().call("accounts.add", **account("ada"))
    arrived = other.start()
    other.start().call("providers.add", descriptor=descriptor("work", "elsewhere.example"))
    file = other.folder / "store.providers.json"
    before = json.loads(file.read_text())
    assert "elsewhere.example" in str(before)
    if fails:
        # Without its key nothing can be sealed, and the import undoes its added providers.
        [key] = keys.rglob("*.key")
        key.rename(key.with_name("elsewhere"))
        answer, _ = answered(arrived, WORDS, method="accounts.import", path=str(path))
        assert answer.code == 1009
    else:
        report = arrive(arrived, path)
        assert counts(report) == (1, 0, 0, 0) and report["providers"] == []
        arrived.call("providers.configure", provider="work", clientId="mine")
        arrived.call("access.set", provider="work", state="granted")
        assert arrived.refused("credentials.get", account=report["accounts"][0]["account"]) == "bindingMismatch"
    assert json.loads(file.read_text()) == before


def test_a_failed_import_changes_nothing(machine, other):
    path = packed(machine)
    other.start().call("accounts.add", **account("ada"))
    keys = list((other.folder / "state").rglob("*.key"))
    assert len(keys) == 1
    hidden = keys[0].rename(keys[0].with_name("elsewhere"))
    arrived = other.start()
    before = known(arrived)
    answer, _ = answered(arrived, WORDS, method="accounts.import", path=str(path))
    assert (answer.code, answer.data["detail"]) == (1009, "keyUnavailable")
    assert known(arrived) == before and known(other.start()) == before
    assert len(arrived.call("accounts.list")["accounts"]) == 1
    # The control: with the key the import succeeds.
    hidden.rename(keys[0])
    assert arrive(other.start(), path)["providers"] == ["work"]
