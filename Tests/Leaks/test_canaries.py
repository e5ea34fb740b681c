"""In a session with every method, secrets leave the process only in the fields for them.

    python -m pytest Tests/Leaks
"""
import base64
import hashlib
import json
import os
import signal
import sys
import urllib.parse
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jwt.algorithms import ECAlgorithm

from canaries import ENCODINGS, LEARNED, OWN, PEOPLE, found, fresh
from provider import Provider
from session import PROJECT, Session

METHODS = {method["name"] for method in json.loads((PROJECT / "protocol/openrpc.json").read_text())["methods"]
           if method["x-direction"] == "clientToServer"}
# Methods without a parameter or result that could be a secret.
NOT_SWEPT = {"shutdown", "exit", "$/cancelRequest", "test.advanceClock"}
ADDRESS = PEOPLE["address"] + "@example.org"


def private_key(canaries):
    """Returns a readable PEM key with a canary before its first line."""
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return canaries["privateKey"] + "\n" + key.decode()


def canary(key):
    """Returns the first bytes of the private number, which fit on one line of a PEM."""
    return key.private_numbers().private_value.to_bytes(32, "big")[:12]


def proof_key(path, passphrase):
    """Returns the only proof key in a file of accounts."""
    first, second, check, sealed = path.read_bytes().split(b"\n", 3)
    salt, nonce = (bytes.fromhex(word.decode()) for word in second.split()[4:])
    root = hashlib.scrypt(passphrase.encode(), salt=salt, n=1 << 17, r=8, p=1, maxmem=1 << 28, dklen=32)
    key = HKDF(hashes.SHA256(), 32, None, b"einlass accounts 1 contents").derive(root)
    contents = AESGCM(key).decrypt(nonce, sealed, b"\n".join([first, second, check, b""]))
    (text,) = {credential["proofKey"] for account in json.loads(contents)["accounts"]
               for credential in account["credentials"] if "proofKey" in credential}
    return serialization.load_der_private_key(base64.urlsafe_b64decode(text + "=="), None)


@pytest.fixture
def world(tmp_path):
    os.chmod(tmp_path, 0o700)
    canaries = fresh()
    provider = Provider(canaries)
    config = tmp_path / "config.json"
    config.touch(0o600)
    config.write_text(json.dumps({
        "applications": {"*": {"facebook": {"clientId": "APP", "clientSecret": canaries["facebookSecret"],
                                            "privateKey": private_key(canaries)}}},
        "origins": dict.fromkeys(
            ("https://api.twitter.com", "https://graph.facebook.com", "https://sequencing.com"), provider.base)}))
    yield canaries, provider, tmp_path
    provider.close()


@pytest.fixture
def spawn(world):
    """Returns a function that starts an einlass with canaries as store key and passphrase."""
    canaries, _, folder = world
    (folder / "keys").mkdir(0o700)
    (folder / "keys/store.key").touch(0o600)
    (folder / "keys/store.key").write_text(canaries["storeKey"].ljust(32, "."))
    passphrase = os.memfd_create("passphrase")
    os.write(passphrase, canaries["passphrase"].encode() + b"\n")
    os.lseek(passphrase, 0, os.SEEK_SET)
    yield lambda **more: Session(*options(folder), "--passphrase-fd", str(passphrase), pass_fds=[passphrase], **more)
    os.close(passphrase)


def options(folder):
    return ["--store", f"{folder}/data/store.db", "--key-file", f"{folder}/keys/store.key", "--config",
            f"{folder}/config.json", "--trace", f"{folder}/trace.jsonl", "--log-level", "debug"]


def live(session, canaries, provider, folder):
    """Uses every secret: requests that succeed, requests that fail, and a provider that reflects the request."""
    session.call("initialize", client={"name": "leaks"}, capabilities={"prompts": ["grantAccess", "selectAccount",
                                                                                   "confirmAccount", "openURL",
                                                                                   "deviceCode", "enterPassword"]},
                 applications={"twitter": {"clientId": "APP", "clientSecret": canaries["twitterSecret"],
                                           "privateKey": private_key(canaries)},
                               "github": {"clientId": "APP", "privateKey": canaries["privateKey"]}})
    assert session.call("accounts.signIn", provider="github") == "authenticatorUnconfigured"
    twitter = session.call("accounts.add", provider="twitter", username=PEOPLE["handle"], credential={
        "type": "oauth1", "key": canaries["systemKey"], "secret": canaries["systemSecret"], "clientId": "SYS",
        "clientSecret": canaries["systemConsumerSecret"]})["account"]
    facebook = session.call("accounts.add", provider="facebook", username=ADDRESS, credential={
        "type": "oauth2", "token": canaries["systemToken"], "refreshToken": canaries["refreshToken"],
        "clientId": "SYS"})["account"]
    reasons = []
    session.code = canaries["authorizationCode"]
    session.call("providers.configure", provider="sequencing", clientId="a\n",
                 clientSecret=canaries["sequencingSecret"])
    assert session.call("providers.configure", provider="sequencing", clientId="APP",
                        clientSecret=canaries["sequencingSecret"])["configured"]
    account = session.call("accounts.signIn", provider="sequencing", page={"loginHint": PEOPLE["hint"]})["account"]
    assert isinstance(session.call("auth.perform", provider="sequencing"), dict)
    assert isinstance(session.call("credentials.get", account=account), dict)
    session.call("providers.add", descriptor=provider.descriptor())
    session.call("providers.configure", provider="device", clientId="APP")
    session.call("providers.add", descriptor=provider.three_legged())
    session.call("providers.configure", provider="legs", clientId="APP", clientSecret=canaries["systemConsumerSecret"])
    for name in ("device", "legs"):
        for provider.reflects in (True, False):
            entered = session.call("accounts.signIn", provider=name)
            assert isinstance(entered, dict) or provider.reflects and entered == "providerFailure", entered
        session.call("access.set", provider=name, state="granted")
        credential = session.call("credentials.get", account=entered["account"])["credential"]
        if credential["type"] == "oauth2":  # the proof is returned, and its key is not
            signed = session.call("credentials.sign", account=entered["account"], method="GET", url=provider.base + "/a")
            assert [field["name"] for field in signed["headers"]] == ["Authorization", "DPoP"] and credential["idToken"]
    for provider.reflects in (True, False):
        session.password = canaries["refusedPassword" if provider.reflects else "password"]
        entered = session.call("accounts.signIn", provider="fcsdk", server={"host": provider.base, "useCookies": True})
        assert entered == "wrongCredentials" if provider.reflects else isinstance(entered, dict), entered
    session.call("access.set", provider="fcsdk", state="granted")
    assert "cookies" in session.call("credentials.get", account=entered["account"])["credential"]
    # The remembered password renews the session.
    assert session.call("credentials.reject", account=entered["account"]) == {}
    assert "cookies" in session.call("credentials.get", account=entered["account"])["credential"]
    for provider.reflects in (False, True, False):
        for name, account in (("twitter", twitter), ("facebook", facebook)):
            result = session.call("auth.perform", provider=name, account=account)
            reasons.append(result if isinstance(result, str) else "ok")
            session.call("verify", provider=name, account=account)
            session.call("auth.perform", provider=name, account=account, detached=True)
            session.completed()
        session.call("verify", provider="twitter", credential={
            "type": "oauth1", "key": canaries["systemKey"], "secret": canaries["systemSecret"]})
        session.call("verify", provider="facebook", credential={"type": "oauth2", "token": canaries["systemToken"]})
    session.call("credentials.sign", account=twitter, method="GET", url=provider.base + "/1.1/a.json")
    session.call("credentials.sign", account=facebook, method="GET", url=provider.base + "/me")
    session.call("accounts.checkServer", account=twitter)
    session.call("avatars.get", account=twitter)
    for account in (twitter, facebook):
        for method in ("credentials.get", "credentials.reject", "accounts.renew", "credentials.get", "accounts.explain",
                       "accounts.setPreferred"):
            session.call(method, account=account, provider="twitter" if account == twitter else "facebook")
    session.call("services.resolve", address=provider.base)
    session.call("auth.cancel", flow="f_nobody")
    session.call("settings.get", provider="fcsdk")
    secret = canaries["userPassword"]
    assert "user" in session.call("users.create", email=ADDRESS, password=secret)
    assert "user" in session.call("users.signInWithPassword", email=ADDRESS, password=secret)
    assert "user" in session.call("users.reauthenticate", password=secret)
    assert "user" in session.call("users.update", password=secret + "!")
    assert session.call("users.signInWithPassword", email=ADDRESS, password=secret) == "wrongPassword"
    assert "user" in session.call("users.link", account=twitter)
    assert "user" in session.call("users.create", email="eve@example.org", password=secret)
    assert session.call("users.link", account=twitter) == "credentialAlreadyInUse"
    canaries["pendingCredential"] = session.seen[-1][1]["error"]["data"]["pendingCredential"][2:22]
    for method, params in (("users.link", {"password": secret}), ("users.link", {"account": twitter}),
                           ("users.signIn", {"provider": "facebook", "credential": {
                               "type": "oauth2", "token": canaries["systemToken"]}}),
                           ("users.signIn", {"pendingCredential": secret}), ("users.unlink", {"provider": "twitter"}),
                           ("users.current", {}), ("users.list", {}), ("users.signOut", {}), ("users.delete", {}),
                           ("users.providersForEmail", {"email": ADDRESS})):
        session.call(method, **params)
    session.call("providers.add", issuer="http://op.example")
    session.call("providers.remove", provider="nobody")
    session.call("accounts.signIn", provider="twitter", customParameters={"state": canaries["refreshToken"]})
    session.call("accounts.update", account=twitter, displayName=PEOPLE["name"])
    for method in ("access.set", "access.reset", "access.set"):
        session.call(method, provider="twitter", state="granted")
    for method in ("accounts.list", "providers.list", "access.list", "auth.list", "prompt.list", "rpc.discover",
                   "audit.list", "store.status", "store.check", "network.status"):
        assert isinstance(session.call(method), dict)
    copy = str(folder / "copy.db")
    assert isinstance(session.call("store.addKeySlot", kind="passphrase"), dict)
    session.call("store.unlock", seconds=60)  # refused by the kernel of some machines
    for method, params in (("store.lock", {}), ("store.rotateKey", {}),
                           ("store.backup", {"path": copy}), ("accounts.export", {"path": str(folder / "moving")}),
                           ("accounts.import", {"path": str(folder / "moving")}),
                           ("store.removeKeySlot", {"kind": "passphrase"})):
        assert isinstance(session.call(method, **params), dict)
    canaries["proofKey"] = canary(proof_key(folder / "moving", canaries["passphrase"]))
    assert set(LEARNED) <= canaries.keys()
    assert session.call("store.backup", path=copy) == "accountStoreFailure"
    # Invalid requests, with secrets in the wrong places.
    session.call("accounts.add", provider="twitter", username="x", credential={
        "type": canaries["systemKey"], "key": canaries["systemKey"], "secret": 7})
    session.call("verify", provider="nobody", credential={"type": "oauth2", "token": canaries["systemToken"]})
    for provider.reflects, account in ((True, twitter), (False, facebook)):
        for method in ("accounts.signOut", "credentials.get", "credentials.reject", "accounts.renew", "accounts.remove"):
            session.call(method, account=account)
    assert session.call("audit.list")["entries"]
    session.call("audit.prune", before=1)
    assert isinstance(session.call("store.move", to=str(folder / "moved.db")), dict)
    return reasons


def leaks(session, folder, canaries, **permitted):
    """Returns the places of all canaries found in the process's output."""
    system = {name: secret for name, secret in canaries.items() if name not in OWN}
    places = []
    for line, rest in session.outputs(**permitted):
        places += [f"output: {what}" for what in found(system, line)]
        places += [f"output: {what}" for what in found(canaries, rest)]
    places += [f"log: {what}" for what in found(canaries, session.log)]
    for (process, name), contents in session.processes.items():
        places += [f"{name}: {what}" for content in contents for what in found(canaries, content)]
    for path in Path(folder).rglob("*"):
        if path.is_file() and path.name not in ("config.json", "store.key"):
            places += [f"{path.name}: {what}" for what in found(canaries, path.read_bytes())]
    return sorted(set(places))


def test_secrets_leave_only_in_the_permitted_fields(world, spawn):
    canaries, provider, folder = world
    session = spawn()
    reasons = live(session, canaries, provider, folder)
    assert reasons == ["ok", "ok", "providerFailure", "providerFailure", "ok", "ok"]
    assert session.end() == 0
    assert leaks(session, folder, canaries) == []
    # Trace, log and copy exist, and every method for front ends was called.
    assert b"accounts.add" in (folder / "trace.jsonl").read_bytes() and session.log
    assert b"twitter" in (folder / "copy.db").read_bytes()
    missing = METHODS - set(session.methods.values()) - NOT_SWEPT
    assert not missing, f"{missing} need a call in live, or a place in NOT_SWEPT"
    assert (session.process.pid, "cmdline") in session.processes
    # The control: the permitted secrets were returned, and the search finds them.
    output = {place.split()[1] for place in leaks(session, folder, canaries, permitted={})}
    assert output == set(OWN)


def test_a_trace_has_no_names_and_addresses_of_people(world, spawn):
    canaries, provider, folder = world
    session = spawn()
    live(session, canaries, provider, folder)
    assert session.end() == 0
    assert found(PEOPLE, (folder / "trace.jsonl").read_bytes()) == []
    # The control: the session showed each of them, and a trace has placeholders.
    output = b"".join(line for line, _ in session.seen)
    assert {place.split()[0] for place in found(PEOPLE, output)} == set(PEOPLE)
    assert b'"username":"[hidden ' in (folder / "trace.jsonl").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGILL])
def test_a_crash_prints_no_secret(world, spawn, number):
    canaries, provider, folder = world
    session = spawn(env={**os.environ, "SWIFT_BACKTRACE": "enable=yes"})
    live(session, canaries, provider, folder)
    session.process.send_signal(number)
    assert session.wait() == -number
    assert leaks(session, folder, canaries) == []


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_search_finds_a_planted_secret(world, encoding):
    canaries, _, folder = world
    text = canaries["systemKey"]
    planted = {"base64": base64.b64encode(b"xy" + text.encode() + b"z"),
               "base64url": base64.urlsafe_b64encode(b"x" + text.encode() + b"yz"),
               "percent": urllib.parse.quote(text, safe="").encode()}.get(encoding)
    if encoding == "percent":
        planted = ENCODINGS["percent"](text.encode())[1]
    (folder / "planted").write_bytes(b"\0" + (planted or ENCODINGS[encoding](text.encode())[0]) + b"\0")
    assert f"systemKey {encoding}" in found(canaries, (folder / "planted").read_bytes())
    assert found(fresh(), (folder / "planted").read_bytes()) == []


def test_a_proof_key_is_found_in_every_format():
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    shown = [key.private_bytes(encoding, form, serialization.NoEncryption())
             for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
             for form in (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL)]
    for content in [*shown, ECAlgorithm.to_jwk(key).encode()]:
        assert found({"proofKey": canary(key)}, content) and not found({"proofKey": canary(other)}, content)


LEAKY = """
import json, os, subprocess, sys
folder, secret = sys.argv[1:]
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"note": request["params"]["secret"]}}), flush=True)
    print(request["params"]["secret"], file=sys.stderr, flush=True)
    with open(folder + "/leak", "w") as file:
        file.write(request["params"]["secret"])
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env={**os.environ, "SECRET": request["params"]["secret"]})
    child.stdin.write(b"\\n")
    child.stdin.flush()
    child.stdout.readline()  # until exec is over, it has no environment yet
    print(json.dumps({"jsonrpc": "2.0", "method": "auth.completed", "params": {}}), flush=True)
child.kill()
"""


def test_a_program_that_leaks_is_found_in_every_place(world):
    canaries, _, folder = world
    session = Session(str(folder), canaries["systemKey"], program=(sys.executable, "-c", LEAKY))
    session.call("accounts.list", secret=canaries["systemKey"])
    session.completed()
    session.end()
    places = {place.partition(":")[0] for place in leaks(session, folder, canaries)}
    assert places == {"output", "log", "cmdline", "environ", "leak"}
