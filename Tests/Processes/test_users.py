"""Random operations of several processes on one directory of users, against a plain model.

    python -m pytest Tests/Processes/test_users.py
    EINLASS_FAULT_ROUNDS=200 python -m pytest Tests/Processes/test_users.py   (4 000 runs)
"""
import collections
import copy
import json
import os
import random
import subprocess
import time
import urllib.request

import pytest

from place import ADDRESS, place
from rotation import EINLASS, SANDBOX

RUNS = int(os.environ.get("EINLASS_FAULT_ROUNDS", "15")) * 20
STEPS = 10
# The duration of a change, about.
CHANGE_SECONDS = 0.02 if ADDRESS else 0.004
PROVIDERS = ("google", "microsoft", "dropbox")
VERIFYING = ("google", "dropbox")
# An id_token of these is a credential from outside, and so a proof of the person.
PROVING = ("google",)
PEOPLE = {"ada": "a@example.org", "grace": "b@example.org", "alan": "a@example.org"}


class Process:
    """An einlass process of an application of its own."""

    def __init__(self, application, *options):
        self.application, self.count = application, 0
        self.process = subprocess.Popen([EINLASS, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.call("initialize", client={"name": application}, capabilities={"prompts": ["openURL"], "changes": False})

    def send(self, method, **params):
        self.count += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        return self.count

    def answer(self, number):
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("method") == "prompt.opened":
                urllib.request.urlopen(message["params"]["url"]).read()
            if message.get("id") == number:
                return message["result"] if "result" in message else message["error"]["data"]["reason"]

    def call(self, method, **params):
        return self.answer(self.send(method, **params))

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()


class Model:
    """The rules of the page "Users", as plain as possible. A user is a dictionary; `users` is in order of making."""

    def __init__(self):
        self.users, self.current, self.made = [], {}, 0
        # The applications whose current user has proven to be there.
        self.proven = set()

    def holder(self, place):
        return next((user for user in self.users if place in user["identities"]), None)

    def owner(self, email):
        return next((user for user in self.users if user["email"] == email), None)

    def user(self, application):
        return next((user for user in self.users if user["name"] == self.current.get(application)), None)

    def signIn(self, application, provider, person, proves):
        place, email, verified = (provider, person), PEOPLE[person], provider in VERIFYING
        user = self.holder(place)
        if user is None:
            user = self.owner(email)
            if user is not None and not (verified and user["verified"] and user["maker"] == application):
                return "accountExistsWithDifferentCredential"
            if user is None:
                self.made += 1
                user = {"name": self.made, "maker": application, "email": email, "verified": verified, "identities": []}
                self.users.append(user)
            user["identities"] = [other for other in user["identities"] if other[0] != provider] + [place]
        if verified and user["email"] == email:
            user["verified"] = True
        if proves:
            self.proven.add(application)
        elif self.current.get(application) != user["name"]:
            self.proven.discard(application)
        self.current[application] = user["name"]

    def changing(self, application):
        user = self.user(application)
        if user is None:
            return None, "nullUser"
        return (user, None) if user["maker"] == application else (None, "accessNotGranted")

    def link(self, application, provider, person):
        place, email, verified = (provider, person), PEOPLE[person], provider in VERIFYING
        user, fault = self.changing(application)
        if fault:
            return fault
        if any(other[0] == provider for other in user["identities"]):
            return "providerAlreadyLinked"
        if self.holder(place):
            return "credentialAlreadyInUse"
        if self.owner(email) not in (None, user):
            return "emailAlreadyInUse"
        user["identities"].append(place)
        if user["email"] is None:
            user["email"] = email
        if verified and user["email"] == email:
            user["verified"] = True

    def reauthenticate(self, application, provider, person):
        user = self.user(application)
        if user is None:
            return "nullUser"
        if (provider, person) not in user["identities"]:
            return "userMismatch"
        self.proven.add(application)

    def unlink(self, application, provider, even_the_last):
        user, fault = self.changing(application)
        if fault:
            return fault
        if all(other[0] != provider for other in user["identities"]):
            return "noSuchProvider"
        if len(user["identities"]) == 1:
            if not even_the_last:
                return "invalidChoice"
            if application not in self.proven:
                return "requiresRecentLogin"
            user["email"], user["verified"] = None, False
        user["identities"] = [other for other in user["identities"] if other[0] != provider]

    def delete(self, application):
        user, fault = self.changing(application)
        if fault:
            return fault
        if application not in self.proven:
            return "requiresRecentLogin"
        self.users.remove(user)
        self.current = {other: name for other, name in self.current.items() if name != user["name"]}
        self.proven &= self.current.keys()

    def signOut(self, application):
        self.current.pop(application, None)
        self.proven.discard(application)

    def shown(self):
        return ([(sorted(user["identities"]), user["email"], user["verified"], user["maker"]) for user in self.users],
                {application: self.users.index(self.user(application)) for application in self.current})


class Directory:
    """Processes of different applications on one store with one shared directory."""

    def __init__(self, folder):
        self.sandbox = subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.sandbox.stdout.readline())
        self.control = ready["control"].rstrip("/") + "/state"
        self.config = ready["config"]
        folder.chmod(0o700)
        config = folder / "config.json"
        config.touch(0o600)
        config.write_text(json.dumps(ready["config"] | {"users": {"directory": "shared", "recentSignInSeconds": 86400}}))
        options = ("--config", str(config), "--store", place(folder / "store.db"), "--key-file", str(folder / "keys/key"))
        self.start = lambda number: Process(f"kiosk-{number}", *options)
        self.processes = [self.start(number) for number in range(3)]
        self.accounts = {(provider, person): self.sign_in(provider, person) for provider in PROVIDERS for person in PEOPLE}
        for process in self.processes:
            for provider in PROVIDERS:
                process.call("access.set", provider=provider, state="granted")
        self.people = {(listed["provider"], listed["subject"]): person for person, account in self.accounts.items()
                       for listed in self.processes[0].call("accounts.list")["accounts"] if listed["account"] == account}
        self.credentials = {place: self.credential(place[0], account) for place, account in self.accounts.items() if place[0] in PROVING}

    def patch(self, state):
        urllib.request.urlopen(urllib.request.Request(self.control, json.dumps(state).encode(), method="PATCH")).read()

    def sign_in(self, provider, person):
        number = {"ada": "3001", "grace": "3002", "alan": "3003"}[person]
        self.patch({provider: {"behaviour": {"consent": "allow", "user": person}, "users": {
            number: {"username": person, "email": PEOPLE[person], "emailVerified": True}}}})
        result = self.processes[0].call("accounts.signIn", provider=provider)
        assert isinstance(result, dict), result
        return result["account"]

    def credential(self, provider, account):
        credential = self.processes[0].call("auth.perform", provider=provider, account=account, confirm=True)["credential"]
        return {name: credential[name] for name in ("type", "token", "idToken")}

    def shown(self):
        """What `Model.shown` says, as the processes say it."""
        users = self.processes[0].call("users.list")["users"]
        ids = [user["user"] for user in users]
        current = {process.application: process.call("users.current").get("user") for process in self.processes}
        return ([(sorted(self.people[identity["provider"], identity["subject"]] for identity in user["identities"]),
                  user.get("email"), user["emailVerified"], user["application"]) for user in users],
                {application: ids.index(user["user"]) for application, user in current.items() if user})

    def request(self, step):
        """Returns the method and the parameters of a step of the model."""
        method, arguments = step
        if method == "reauthenticate" or method == "signIn" and arguments[2]:
            return f"users.{method}", {"provider": arguments[0], "credential": self.credentials[arguments[:2]]}
        if method in ("signIn", "link"):
            return f"users.{method}", {"account": self.accounts[arguments[:2]]}
        if method == "unlink":
            return "users.unlink", {"provider": arguments[0], "evenTheLast": arguments[1]}
        return f"users.{method}", {}

    def clear(self):
        for user in self.processes[0].call("users.list")["users"]:
            assert self.processes[0].call("users.delete", user=user["user"]) == {}

    def close(self):
        for process in self.processes:
            process.close()
        self.sandbox.terminate()
        self.sandbox.wait(60)
        self.sandbox.stdout.close()


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = Directory(tmp_path_factory.mktemp("users"))
    yield directory
    directory.close()


def test_an_id_token_is_as_old_as_the_sign_in(directory, tmp_path):
    tmp_path.chmod(0o700)
    config = tmp_path / "config.json"
    config.touch(0o600)
    config.write_text(json.dumps(directory.config | {"users": {"recentSignInSeconds": 2}}))
    credential = directory.credential("google", directory.sign_in("google", "ada"))
    process = Process("kiosk-0", "--config", str(config), "--store", "memory")
    sign_in = {"provider": "google", "credential": credential}
    assert isinstance(process.call("users.signIn", **sign_in), dict)
    assert process.call("users.delete") == {}
    time.sleep(4)
    assert isinstance(process.call("users.signIn", **sign_in), dict)
    for method, params in (("users.reauthenticate", sign_in), ("users.delete", {})):
        assert process.call(method, **params) == "requiresRecentLogin"
    process.close()


def test_a_sign_in_a_link_and_a_new_proof_hand_out_the_credential(directory, tmp_path):
    tmp_path.chmod(0o700)
    config = tmp_path / "config.json"
    config.touch(0o600)
    config.write_text(json.dumps(directory.config))
    credential = directory.credential("google", directory.sign_in("google", "ada"))
    process = Process("kiosk-0", "--config", str(config), "--store", "memory")
    process.call("users.create", email="grace@example.org", password="difference")
    tokens = set()
    for method in ("users.link", "users.reauthenticate", "users.signIn"):
        answer = process.call(method, provider="google", includeCredential=True)
        tokens.add(answer["credential"]["token"])
        assert answer["credential"]["type"] == "oauth2" and "idToken" in answer["credential"], method
        # The control: nothing is handed out unasked.
        if method != "users.link":
            assert "credential" not in process.call(method, provider="google")
        # A credential from outside has no account.
        assert process.call(method, provider="google", credential=credential, includeCredential=True) == "invalidParams"
    assert len(tokens) == 3
    handed = [entry["method"] for entry in process.call("audit.list")["entries"]]
    assert {"users.link", "users.reauthenticate", "users.signIn"} <= set(handed)
    process.close()


def random_step(chance, user):
    """Mostly one of the steps that change something for an application with this user. Fresh users and identities
    would otherwise be rare, and most steps would end in `nullUser`."""
    others = ["link", "link", "reauthenticate", "unlink", "unlink", "signOut", "delete"]
    method = chance.choice(["signIn"] * (2 if user else 20) + others)
    if method in ("signIn", "link", "reauthenticate"):
        provider = chance.choice(PROVING if method == "reauthenticate" else PROVIDERS)
        person = chance.choice(list(PEOPLE))
        if user and method == "reauthenticate" and chance.random() < 0.5:
            provider, person = next((place for place in user["identities"] if place[0] == provider), (provider, person))
        return method, (provider, person, *((provider in PROVING and chance.random() < 0.7,) if method == "signIn" else ()))
    if method == "unlink":
        linked = [place[0] for place in user["identities"]] if user and chance.random() < 0.8 else []
        return method, (chance.choice(linked or PROVIDERS), chance.random() < 0.5)
    return method, ()


def apply(model, application, step):
    """The reason of the problem; `None` for a success."""
    return getattr(model, step[0])(application, *step[1])


def reason(answer):
    return answer if isinstance(answer, str) else None


def check_rules(shown, lost):
    """No identity is on two users, and only so many users are without a way back as were left so on purpose."""
    places = [place for identities, *_ in shown[0] for place in identities]
    assert len(places) == len(set(places))
    assert sum(not identities for identities, *_ in shown[0]) <= lost


def test_random_operations_of_several_processes_agree_with_the_model(directory):
    outcomes = collections.Counter()
    for seed in range(RUNS):
        chance, model, lost = random.Random(seed), Model(), 0
        for _ in range(STEPS):
            process = chance.choice(directory.processes)
            user = model.user(process.application)
            step = random_step(chance, user)
            expected = apply(model, process.application, step)
            outcomes[step[0], expected] += 1
            if step[0] == "unlink" and expected is None and not user["identities"]:
                outcomes["the last", None] += 1
                lost += 1
            method, params = directory.request(step)
            assert reason(process.call(method, **params)) == expected, (seed, step)
        shown = directory.shown()
        check_rules(shown, lost)
        assert shown == model.shown(), seed
        directory.clear()
    # Each outcome was met, most of them often.
    for step, met in OUTCOMES.items():
        for outcome in met:
            assert outcomes[step, outcome] >= RUNS / 100, (step, outcome, outcomes)


OUTCOMES = {
    "signIn": (None, "accountExistsWithDifferentCredential"),
    "link": (None, "nullUser", "accessNotGranted", "providerAlreadyLinked", "credentialAlreadyInUse", "emailAlreadyInUse"),
    "reauthenticate": (None, "nullUser", "userMismatch"),
    "unlink": (None, "nullUser", "accessNotGranted", "noSuchProvider", "invalidChoice", "requiresRecentLogin"),
    "the last": (None,),
    "delete": (None, "nullUser", "accessNotGranted", "requiresRecentLogin"),
    "signOut": (None,),
}


def test_two_operations_at_once_have_the_outcome_of_one_order(directory):
    contests, won = 0, 0
    for seed in range(RUNS // 5):
        chance, model = random.Random(f"at once {seed}"), Model()
        for process in directory.processes:
            provider = chance.choice(PROVIDERS)
            step = ("signIn", (provider, chance.choice(list(PEOPLE)), provider in PROVING))
            apply(model, process.application, step)
            method, params = directory.request(step)
            process.call(method, **params)
        # Steps of which the order matters, as far as a few attempts find some.
        for _ in range(50):
            pair = chance.sample(directory.processes, 2)
            if seed % 2:
                steps = [("link", (chance.choice(PROVIDERS), chance.choice(list(PEOPLE))))] * 2
            else:
                steps = [random_step(chance, model.user(process.application)) for process in pair]
            orders = both_orders(model, pair, steps)
            if orders[0] != orders[1]:
                contests += 1
                break
        sent = []
        for process, step in zip(pair, steps):
            method, params = directory.request(step)
            sent.append(process.send(method, **params))
        answers = [reason(process.answer(number)) for process, number in zip(pair, sent)]
        assert (answers, directory.shown()) in orders, (seed, steps, answers)
        won += sorted(answers, key=str) == [None, "credentialAlreadyInUse"]
        directory.clear()
    assert contests >= RUNS // 10 and won >= RUNS // 100, (contests, won)


def both_orders(model, pair, steps):
    """The answers and the state after both steps, for either order of them."""
    orders = []
    for order in ((0, 1), (1, 0)):
        other, outcomes = copy.deepcopy(model), [None, None]
        for index in order:
            outcomes[index] = apply(other, pair[index].application, steps[index])
        orders.append((outcomes, other.shown()))
    return orders


@pytest.mark.parametrize("step", [("link", ("microsoft", "grace")), ("unlink", ("dropbox", False)), ("delete", ())],
                         ids=lambda step: step[0])
def test_a_killed_process_leaves_a_change_whole_or_undone(directory, step):
    """At random times of a change, of which some come before and some after it."""
    ends, chance = set(), random.Random(step[0])
    for count in range(RUNS // 20 + 20):
        model, process = Model(), directory.start(0)
        for earlier in (("signIn", ("google", "ada", True)), ("link", ("dropbox", "alan"))):
            assert apply(model, process.application, earlier) is None
            method, params = directory.request(earlier)
            assert isinstance(process.call(method, **params), dict)
        before, after = model, copy.deepcopy(model)
        assert apply(after, process.application, step) is None
        method, params = directory.request(step)
        process.send(method, **params)
        time.sleep(chance.random() * CHANGE_SECONDS * (count % 5))
        process.process.kill()
        process.process.wait(60)
        process.process.stdout.close()
        process.process.stdin.close()
        state = directory.shown()
        assert state in (before.shown(), after.shown())
        ends.add("undone" if state == before.shown() else "whole")
        directory.clear()
    assert ends == {"undone", "whole"}


def test_the_model_finds_a_difference(directory):
    """The negative control: a model with another rule does not agree."""
    model = Model()
    process = directory.processes[0]
    for person in ("ada", "alan"):
        step = ("signIn", ("microsoft", person, False))
        method, params = directory.request(step)
        process.call(method, **params)
    apply(model, process.application, ("signIn", ("microsoft", "ada", False)))
    assert directory.shown() == model.shown()
    model.users[0]["verified"] = True
    assert directory.shown() != model.shown()
    directory.clear()
