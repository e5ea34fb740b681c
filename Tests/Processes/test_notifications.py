"""Decisions and providers of one process, as another process hears of them."""
import json
import subprocess

import pytest

from place import ADDRESS, about_files, place
from rotation import EINLASS

PATIENCE_SECONDS = 30
DESCRIPTOR = {
    "id": "forge", "name": "Forge", "setup": {"documentation": "https://forge.example.org/docs"}, "accounts": "many",
    "registration": ["clientId"],
    "identity": {"request": {"method": "GET", "url": "https://forge.example.org/me", "bearer": "{token}"},
                 "id": "/id", "required": ["id"]},
    "flows": [{"kind": "systemToken"}],
    "errors": {"shapes": [], "rules": []}}


class Process:
    def __init__(self, folder, application, *, initializes=True, prompts=("grantAccess",)):
        self.messages, self.count = [], 0
        self.process = subprocess.Popen(
            ["timeout", str(PATIENCE_SECONDS), EINLASS, "--store", place(f"{folder}/store.db"), "--key-file",
             f"{folder}/keys/key"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if initializes:
            self.call("initialize", client={"name": application, "title": application.title()},
                      capabilities={"prompts": list(prompts)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def send(self, method, **params):
        self.count += 1
        request = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.count

    def wait(self, wanted):
        """Returns the first message for which `wanted` holds, also one that has come before, and forgets it."""
        while True:
            for message in self.messages:
                if wanted(message):
                    self.messages.remove(message)
                    return message
            line = self.process.stdout.readline()
            assert line, "the process ended"
            self.messages.append(json.loads(line))

    def answer(self, number):
        return self.wait(lambda message: message.get("id") == number)

    def call(self, method, **params):
        answer = self.answer(self.send(method, **params))
        assert "result" in answer, answer
        return answer["result"]

    def told(self, method):
        return self.wait(lambda message: message.get("method") == method)["params"]


def add(process, name):
    return process.call("accounts.add", provider="twitter", username=name, credential={
        "type": "oauth1", "key": "k", "secret": "s", "clientId": "c", "clientSecret": "z"})["account"]


@pytest.mark.parametrize("state", ["granted", "denied"])
def test_a_decision_elsewhere_answers_the_question(tmp_path, state):
    with Process(tmp_path, "editor") as editor, Process(tmp_path, "settings") as settings:
        account = add(settings, "ada")
        request = editor.send("auth.perform", provider="twitter", account=account, credential="none")
        prompt = editor.told("prompt.opened")
        assert prompt["kind"] == "grantAccess"
        # The control: a decision about another application leaves the question open.
        settings.call("access.set", provider="twitter", state=state, application="other")
        editor.told("access.changed")
        assert [open["prompt"] for open in editor.call("prompt.list")["prompts"]] == [prompt["prompt"]]
        settings.call("access.set", provider="twitter", state=state, application="editor")
        assert editor.told("prompt.closed") == {"prompt": prompt["prompt"], "outcome": "satisfied"}
        answer = editor.answer(request)
        if state == "granted":
            assert answer["result"]["account"] == account
        else:
            assert answer["error"]["data"]["reason"] == "accessNotGranted"


def test_the_title_of_the_question_stays_in_the_list(tmp_path):
    with Process(tmp_path, "editor") as editor, Process(tmp_path, "settings") as settings:
        account = add(settings, "ada")
        request = editor.send("auth.perform", provider="twitter", account=account, credential="none")
        editor.call("prompt.answer", prompt=editor.told("prompt.opened")["prompt"], action="accept")
        editor.answer(request)
        assert [grant["applicationTitle"] for grant in settings.call("access.list")["grants"]] == ["Editor"]
        settings.call("access.set", provider="twitter", state="denied", application="editor")
        assert [(grant["state"], grant["applicationTitle"]) for grant in settings.call("access.list")["grants"]] == [
            ("denied", "Editor")]


def providers(process):
    return {provider["id"]: provider["name"] for provider in process.call("providers.list")["providers"]
            if provider.get("added")}


def test_a_running_process_knows_the_providers_of_another(tmp_path):
    with Process(tmp_path, "editor") as editor, Process(tmp_path, "tool", initializes=False) as tool, \
            Process(tmp_path, "settings") as settings:
        assert providers(editor) == providers(tool) == {}
        for descriptor, change in [(DESCRIPTOR, "added"), ({**DESCRIPTOR, "name": "The Forge"}, "updated")]:
            settings.call("providers.add", descriptor=descriptor)
            for process in editor, settings:
                assert process.told("providers.changed") == {"changes": [{"provider": "forge", "change": change}]}
            if ADDRESS:
                tool.call("accounts.list")  # The added providers come with the next rows of the database.
            assert providers(editor) == providers(tool) == {"forge": descriptor["name"]}
        settings.call("providers.configure", provider="forge", clientId="c")
        for process in editor, settings:
            assert process.told("providers.changed") == {"changes": [{"provider": "forge", "change": "configured"}]}
        settings.call("providers.remove", provider="forge")
        for process in editor, settings:
            changes = [process.told("providers.changed")["changes"][0]["change"] for _ in range(2)]
            assert sorted(changes) == ["configured", "removed"]
        if ADDRESS:
            tool.call("accounts.list")
        assert providers(editor) == providers(tool) == {}
        # A process that has not called `initialize` is told nothing.
        assert not [message for message in tool.messages if "method" in message]


@about_files("the added providers are rows")
def test_a_damaged_file_of_providers_leaves_the_known_ones(tmp_path):
    with Process(tmp_path, "editor", initializes=False) as editor:
        # Without changes the process looks at the file before each use of the catalogue.
        editor.call("initialize", client={"name": "editor"}, capabilities={"changes": False})
        editor.call("providers.add", descriptor=DESCRIPTOR)
        file, = (path for path in tmp_path.iterdir() if b"forge.example.org" in path.read_bytes())
        whole = file.read_bytes()
        file.write_bytes(whole[:-5])
        assert providers(editor) == {"forge": "Forge"}
        file.write_bytes(whole.replace(b'"Forge"', b'"The Forge"'))
        assert providers(editor) == {"forge": "The Forge"}
        assert not [message for message in editor.messages if "method" in message]


@about_files("the added providers are rows")
def test_a_descriptor_that_cannot_be_read_is_not_announced(tmp_path):
    with Process(tmp_path, "editor") as editor, Process(tmp_path, "settings") as settings:
        editor.call("providers.add", descriptor=DESCRIPTOR)
        editor.told("providers.changed")
        file = tmp_path / "store.providers.json"
        for number, change in enumerate([{"flows": [{"kind": "unknown"}]}, {}]):
            other = {**DESCRIPTOR, "id": f"forge-{number}", **change}
            # In one step, because the ring of the last change may still come.
            new = tmp_path / "new"
            new.touch(0o600)
            new.write_text(json.dumps({"providers": [DESCRIPTOR, other]}))
            new.rename(file)
            # The watch rings at a change by any einlass.
            add(settings, f"ada-{number}")
            editor.told("accounts.changed")
        # The control: the second one can be read.
        assert editor.told("providers.changed") == {"changes": [{"provider": "forge-1", "change": "added"}]}
        assert providers(editor) == {"forge": "Forge", "forge-1": "Forge"}
