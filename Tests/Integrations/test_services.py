"""`einlassctl services`: the accounts for addresses, in the configuration file.

    python -m pytest Tests/Integrations/test_services.py
"""
import json
import os
import stat

import pytest


def test_a_service_is_added_listed_and_removed(house):
    before = json.loads(house.config.read_text())
    house.do("services", "add", "https://github.com/corp", "github/work", "--yes")
    house.do("services", "add", "imap.example.com", "google", "--username", "ada", "--scheme", "basic", "--scope", "mail", "--yes")
    content = json.loads(house.config.read_text())
    assert content["services"] == [
        {"address": "https://github.com/corp", "provider": "github", "account": "work"},
        {"address": "imap.example.com", "provider": "google", "username": "ada", "scheme": "basic", "scopes": ["mail"]}]
    assert {**before, "services": content["services"]} == content
    shown = house.do("services")
    assert [line.split()[:2] for line in shown.splitlines()[1:]] == [["https://github.com/corp", "github"], ["imap.example.com", "google"]]
    assert json.loads(house.do("services", "list", "--json")) == {"services": content["services"], "folders": []}
    # The service of the same address is replaced.
    house.do("services", "add", "imap.example.com", "gitlab", "--yes")
    assert json.loads(house.config.read_text())["services"][1] == {"address": "imap.example.com", "provider": "gitlab"}
    house.do("services", "remove", "imap.example.com")
    house.do("services", "remove", "https://github.com/corp")
    assert json.loads(house.config.read_text()) == before
    code, output, errors = house.run("einlassctl", "services", "remove", "imap.example.com")
    assert code == 1 and "There is no service imap.example.com" in errors


def test_a_foreign_host_needs_a_confirmation(house):
    before = house.config.read_bytes()
    code, output, errors = house.run("einlassctl", "services", "add", "https://git.example.com", "gitlab")
    assert code == 64 and "does not name the host" in errors and "--yes" in errors
    assert house.config.read_bytes() == before
    # A host of the provider needs none.
    house.do("services", "add", house.origin("gitlab") + "/corp", "gitlab/ada")


def test_a_path_below_a_confirmed_service_needs_no_confirmation(house):
    house.do("services", "add", "https://git.example.com", "gitlab", "--yes")
    house.do("services", "add", "https://git.example.com/corp", "gitlab/ada")
    # The control: the service belongs to another provider, so its tokens would go to a new host.
    code, output, errors = house.run("einlassctl", "services", "add", "https://git.example.com/home", "github")
    assert code == 64 and "does not name the host" in errors


def test_no_service_is_lost_when_many_commands_add_one_at_once(house):
    names = [f"host{number}.example" for number in range(12)]
    commands = [house.start("einlassctl", "services", "add", name, "gitlab", "--yes") for name in names]
    for command in commands:
        _, errors = command.communicate(timeout=60)
        assert command.returncode == 0, errors
    assert sorted(service["address"] for service in json.loads(house.config.read_text())["services"]) == sorted(names)
    assert os.listdir(house.config.parent) == ["config.json"]


@pytest.mark.parametrize("arguments, sentence", [
    (["http://example.com", "gitlab"], "plain http"), (["https://a.example?x", "gitlab"], "query"),
    (["https://a.example/../x", "gitlab"], "dot segment"), (["https://a.example", "nowhere"], "There is no provider nowhere"),
    (["https://a.example", "gitlab", "--username", "a:b"], "/username"), (["https://a.example", "gitlab", "--username", "a\nb"], "/username"),
])
def test_a_bad_service_is_refused_and_the_file_stays(house, arguments, sentence):
    before = house.config.read_bytes()
    code, output, errors = house.run("einlassctl", "services", "add", *arguments, "--yes")
    assert code == 1 and output == "" and sentence in errors
    assert house.config.read_bytes() == before
    assert os.listdir(house.config.parent) == ["config.json"]


def test_the_file_keeps_its_mode_and_its_link(house):
    target = house.folder / "dotfiles.json"
    house.config.rename(target)
    target.chmod(0o400)
    house.config.symlink_to(target)
    house.do("services", "add", "a.example", "gitlab", "--yes")
    assert house.config.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o400
    assert json.loads(target.read_text())["services"]


def test_the_file_is_made_private(house):
    house.config.unlink()
    house.config.parent.rmdir()
    house.do("services", "add", "a.example", "gitlab", "--yes")
    assert stat.S_IMODE(house.config.stat().st_mode) == 0o600 and stat.S_IMODE(house.config.parent.stat().st_mode) == 0o700


def test_a_broken_file_is_not_replaced(house):
    for text in ("{", "[]", '{"services": 7}', '{"other": 1}'):
        house.config.write_text(text)
        code, output, errors = house.run("einlassctl", "services", "add", "a.example", "gitlab", "--yes")
        assert code == 1 and output == "" and errors
        assert house.config.read_text() == text


def test_another_store_needs_another_file(house):
    code, output, errors = house.run("einlassctl", "services", "--store", str(house.folder / "s/a.db"))
    assert code == 64 and "--config" in errors


def test_the_usual_file_belongs_to_the_usual_store(house):
    house.do("services", "add", "a.example", "gitlab", "--yes")
    question = ["services.resolve", '{"address": "a.example"}']
    code, output, errors = house.run("einlass", "call", *question)
    assert code == 0 and json.loads(output)["result"]["service"] == "a.example"
    code, output, errors = house.run("einlass", "--store", "memory", "call", *question)
    assert code == 1 and json.loads(output)["error"]["data"]["detail"] == "notServed"
    code, output, errors = house.run("einlass", "--store", "memory", "--config", str(house.config), "call", *question)
    assert code == 0
    house.config.write_text("{")
    code, output, errors = house.run("einlass", "call", *question)
    assert code == 78 and json.loads(output)["error"]["data"]["detail"] == "configuration"


def test_a_call_names_its_application_and_explains_its_error(house):
    code, output, errors = house.run("einlass", "call", "--application", "backup", "access.set", '{"provider": "gitlab", "state": "granted"}')
    assert code == 0 and errors == ""
    code, output, errors = house.run("einlass", "call", "--application=backup", "access.list")
    assert json.loads(output)["result"]["grants"][0]["application"] == "backup"
    code, output, errors = house.run("einlass", "call", "--application", "backup", "services.resolve", '{"address": "b.example"}')
    assert code == 1 and json.loads(output)["id"] == 1 and "notServed" in output
    assert errors.count("\n") == 1 and errors.startswith("einlass: No provider is known to serve b.example")
    code, output, errors = house.run("einlass", "call", "--application", "a\nb", "access.list")
    assert code == 1 and json.loads(output)["error"]["data"]["path"] == "/client/name"
    for arguments in (["--application"], ["--application", ""], ["--application="], ["--application", "x"]):
        assert house.run("einlass", "call", *arguments)[0] == 64


def test_a_folder_has_its_own_account(house):
    for user in ("ada", "grace"):
        house.sign_in("gitlab", user=user)
    for application in ("einlassctl", "git"):
        house.allow(application, "gitlab")
    tokens = {user: house.do("token", "gitlab/" + user).strip() for user in ("ada", "grace")}
    work = house.folder / "work"
    (work / "far/below").mkdir(parents=True)
    (house.folder / "workshop").mkdir()
    (house.folder / "link").symlink_to(work)
    # Several accounts and no preference: the person would have to choose.
    code, _, errors = house.run("einlassctl", "token", "gitlab")
    assert code == 1 and "accounts prefer" in errors
    house.do("accounts", "prefer", "gitlab/ada", "--in", str(house.folder / "link"))
    house.do("accounts", "prefer", "gitlab/grace", "--in", str(work / "far"))
    assert json.loads(house.config.read_text())["folders"] == [
        {"folder": str(work), "provider": "gitlab", "account": "ada"},
        {"folder": str(work / "far"), "provider": "gitlab", "account": "grace"}]
    assert "FOLDER" in house.do("services")
    host = house.origin("gitlab").removeprefix("http://")
    for folder, user in ((work, "ada"), (work / "far/below", "grace"), (house.folder / "link", "ada")):
        assert house.do("token", "gitlab", cwd=folder).strip() == tokens[user]
        code, output, errors = house.run("git-credential-einlass", "get", input=f"protocol=http\nhost={host}\n\n", cwd=folder)
        assert code == 0 and "password=" + tokens[user] in output, errors
    assert house.run("einlassctl", "token", "gitlab", cwd=house.folder / "workshop")[0] == 1
    # A named account wins over the folder.
    assert house.do("token", "gitlab/grace", cwd=work).strip() == tokens["grace"]
    house.do("accounts", "prefer", "gitlab/ada", "--in", str(work), "--none")
    assert house.run("einlassctl", "token", "gitlab", cwd=work)[0] == 1
    code, _, errors = house.run("einlassctl", "accounts", "prefer", "gitlab/ada", "--in", str(work / "nothing"))
    assert code == 1 and "There is no folder" in errors
