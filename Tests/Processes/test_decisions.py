"""Decisions about access while a question is open, and access by sign-in: neither opens more than the person was told.

    python -m pytest Tests/Processes/test_decisions.py
"""
import json
import subprocess
import urllib.request

import pytest

from place import place
from rotation import EINLASS
from test_notifications import Process, add

FACEBOOK = {"type": "oauth2", "token": "t", "clientId": "1"}


def add_facebook(process, name):
    return process.call("accounts.add", provider="facebook", username=name, credential=FACEBOOK)["account"]


def asked(process, **params):
    """Returns the id of an auth.perform and its open question."""
    number = process.send("auth.perform", provider="facebook", credential="none", **params)
    prompt = process.told("prompt.opened")
    assert prompt["kind"] == "grantAccess"
    return number, prompt


def accept(process, prompt):
    process.call("prompt.answer", prompt=prompt["prompt"], action="accept")


def grant(process):
    return next((grant for grant in process.call("access.list")["grants"] if grant["application"] == "editor"), None)


def test_a_denial_by_another_process_wins_over_an_open_question(tmp_path):
    with Process(tmp_path, "settings") as settings, Process(tmp_path, "editor", initializes=False) as editor:
        # Without changes the editor's process does not hear of the denial.
        editor.call("initialize", client={"name": "editor"}, capabilities={"prompts": ["grantAccess"], "changes": False})
        add_facebook(settings, "ada")
        number, prompt = asked(editor)
        settings.call("access.set", provider="facebook", application="editor", state="denied")
        accept(editor, prompt)
        assert editor.answer(number)["error"]["data"]["reason"] == "accessNotGranted"
        assert grant(settings)["state"] == "denied"


def test_a_reset_by_another_process_ends_the_former_rights(tmp_path):
    with Process(tmp_path, "settings") as settings, Process(tmp_path, "editor") as editor:
        account = add_facebook(settings, "ada")
        settings.call("access.set", provider="facebook", application="editor", state="granted", includes=["refreshToken"])
        number, prompt = asked(editor, account=account, permissions=["user_events"])
        settings.call("access.reset", provider="facebook", application="editor")
        accept(editor, prompt)
        # The question was about a grant that is gone, so it comes again.
        accept(editor, editor.told("prompt.opened"))
        assert "result" in editor.answer(number)
        assert "includes" not in grant(settings)


def test_a_refusal_stands_when_another_process_has_granted_meanwhile(tmp_path):
    with Process(tmp_path, "settings") as settings, Process(tmp_path, "editor", initializes=False) as editor:
        editor.call("initialize", client={"name": "editor"}, capabilities={"prompts": ["grantAccess"], "changes": False})
        add_facebook(settings, "ada")
        number, prompt = asked(editor)
        settings.call("access.set", provider="facebook", application="editor", state="granted")
        editor.call("prompt.answer", prompt=prompt["prompt"], action="decline")
        assert editor.answer(number)["error"]["data"]["reason"] == "accessNotGranted"
        assert grant(settings)["state"] == "granted"


def test_a_question_about_another_account_gives_no_right_that_it_does_not_show(tmp_path):
    with Process(tmp_path, "settings") as settings, Process(tmp_path, "editor") as editor:
        first, second = add(settings, "ada"), add(settings, "grace")
        settings.call("access.set", provider="twitter", application="editor", state="granted", accounts=[first],
                      includes=["refreshToken"])
        number = editor.send("auth.perform", provider="twitter", account=second, credential="none")
        prompt = editor.told("prompt.opened")
        assert "includes" not in prompt
        accept(editor, prompt)
        assert editor.answer(number)["result"]["account"] == second
        assert "includes" not in grant(settings) and "accounts" not in grant(settings)
        # The control: the right of an account with access is kept by a question about the same account.
        settings.call("access.set", provider="twitter", application="editor", state="granted", accounts=[first],
                      includes=["refreshToken"])
        editor.call("auth.perform", provider="twitter", account=first, credential="none")
        assert grant(settings)["includes"] == ["refreshToken"]


def test_an_answer_to_the_question_is_in_the_audit_trail(tmp_path):
    with Process(tmp_path, "editor") as editor:
        add_facebook(editor, "ada")
        number, prompt = asked(editor)
        accept(editor, prompt)
        editor.answer(number)
        entry = editor.call("audit.list")["entries"][0]
        assert (entry["method"], entry["subject"], entry["state"]) == ("auth.perform", "editor", "granted")


@pytest.fixture
def person(ready):
    """Returns a function that lets this user consent at the sandbox from now on."""
    def consents(provider, user):
        change = {provider: {"behaviour": {"consent": "allow", "user": user}}}
        urllib.request.urlopen(urllib.request.Request(
            ready["control"].rstrip("/") + "/state", json.dumps(change).encode(), method="PATCH")).close()
    return consents


class SignIns(Process):
    """An application that signs in at the sandbox."""

    def __init__(self, folder, config, application, **more):
        self.messages, self.count = [], 0
        self.process = subprocess.Popen(
            [EINLASS, "--store", place(f"{folder}/store.db"), "--key-file", f"{folder}/keys/key", "--config", str(config)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.call("initialize", client={"name": application}, capabilities={"prompts": ["openURL"]}, **more)

    def sign_in(self, meanwhile=lambda: None, **params):
        """Returns the account, and whether the prompt said that the sign-in grants access."""
        number = self.send("accounts.signIn", **params)
        prompt = self.told("prompt.opened")
        meanwhile()
        urllib.request.urlopen(prompt["url"]).close()
        return self.answer(number)["result"]["account"], prompt.get("grantsAccess", False)


def test_a_sign_in_again_grants_nothing_where_the_provider_names_no_person(tmp_path, config, person):
    with SignIns(tmp_path, config, "editor") as editor, SignIns(tmp_path, config, "other") as other:
        person("sequencing", "3001")
        account, grants_access = editor.sign_in(provider="sequencing")
        assert grants_access
        assert editor.call("credentials.get", account=account)["credential"]["token"]
        person("sequencing", "3002")
        again, grants_access = other.sign_in(provider="sequencing", account=account)
        assert again == account and not grants_access
        refused = other.answer(other.send("credentials.get", account=account))
        assert refused["error"]["data"]["reason"] == "accessNotGranted"


def test_a_sign_in_grants_only_as_its_prompt_said(tmp_path, config, person):
    person("github", "3001")
    with SignIns(tmp_path, config, "editor") as editor, SignIns(tmp_path, config, "settings") as settings:
        settings.call("access.set", provider="github", application="editor", state="denied")
        reset = lambda: settings.call("access.reset", provider="github", application="editor")  # noqa: E731
        account, grants_access = editor.sign_in(reset, provider="github")
        assert not grants_access and grant(settings) is None
        # The control: without a denial the prompt says so, and the sign-in grants the account.
        _, grants_access = editor.sign_in(provider="github")
        assert grants_access and grant(settings)["accounts"] == [account]
