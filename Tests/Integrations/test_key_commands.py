"""The recipes of clients/KEYS.md: age, a TPM (swtpm), a smart card (SoftHSM) and systemd-creds print the store's key.

    python -m pytest Tests/Integrations/test_key_commands.py

Each recipe runs as the page shows it. Afterwards the program is the only way to open the store.
"""
import base64
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from house import EINLASS, PROJECT, missing, needs
from recipes import filled

sys.path.append(str(PROJECT / "clients/python"))
from einlass import Client, EinlassError  # noqa: E402

PAGE = (PROJECT / "clients/KEYS.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
AGE, TPM, CARD, CREDS = "age", "A TPM", "A smart card or HSM", "systemd-creds"
BACK = "Take it back, or to another machine"
PATIENCE = 60  # seconds; turns a hang into a failure
PIN = "860417"
SOFTHSM = next((path for folder in ("/usr/lib", "/usr/lib64", "/usr/lib/*")
                for path in glob.glob(folder + "/softhsm/libsofthsm2.so")), None)
# A card's module on the page. SoftHSM takes its place.
MODULE = "/usr/lib/x86_64-linux-gnu/opensc-pkcs11.so"


def fences(section):
    """Returns the language and the text of each block, without the marks of a console."""
    return [(language, re.sub(r"^[$#>] ", "", text, flags=re.MULTILINE) if language == "console" else text)
            for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)]


def block(section, start):
    (text,) = [text for _, text in fences(SECTIONS[section]) if text.startswith(start)]
    return text


def here(house, text):
    """Returns the text with the places of the test."""
    for shown, place in [("/home/ada", house.folder), ("/media/ada/stick", house.stick), (MODULE, SOFTHSM)]:
        text = text.replace(shown, str(place))
    return text


def run(house, text, **more):
    return house.run("bash", "-ec", here(house, text), patience=PATIENCE, **more)


def follow(house, text, **more):
    code, output, errors = run(house, text, **more)
    assert code == 0, f"{text}\n{output}\n{errors}"
    return output


def name_program(house, text):
    member = json.loads(here(house, text))
    house.config.write_text(json.dumps({**json.loads(house.config.read_text()), **member}))


def forget_program(house):
    house.config.write_text(json.dumps(
        {name: value for name, value in json.loads(house.config.read_text()).items() if name != "keyCommand"}))


def make_key(house, section):
    """Does the section's blocks up to the first command of einlassctl. Returns the rest."""
    kinds = fences(SECTIONS[section])
    for place, (language, text) in enumerate(kinds):
        if text.startswith("einlassctl"):
            return text
        if language == "sh":
            program = house.folder / ".config/einlass/card"
            program.write_text(here(house, text))
            program.chmod(0o700)
        elif language == "json":
            name_program(house, text)
        elif "pcr_bank" not in text:
            follow(house, text, input=PIN + "\n" if text.startswith("(umask 077 && read") else "")
    raise AssertionError(f"{section} never uses the key")


def use_key(house, section):
    """Does the whole section. The program is the only way to open the store then."""
    house.sign_in("gitlab")
    house.allow("einlassctl", "gitlab")
    return follow(house, make_key(house, section))


def key_files(house):
    return list((house.folder / ".local/state/einlass/keys").glob("*"))


def slots(house):
    return house.do("store", "slots", "list").split()


def token(house):
    """Asks a new einlass for the token, without the terminal of a person."""
    return house.run("einlassctl", "token", "gitlab", patience=PATIENCE)


def problem(house):
    """Returns the error of a request that needs the key."""
    with Client([EINLASS, "--config", str(house.config)], env=house.environment) as client:
        client.request("initialize", {"client": {"name": "einlassctl"}})
        account = client.request("accounts.list")["accounts"][0]["account"]
        with pytest.raises(EinlassError) as caught:
            client.request("credentials.get", {"account": account})
    return caught.value


def assert_closed(house, reason, at_terminal=None):
    """Neither a token nor the check of doctor gets into the store, and the reason is said."""
    at_terminal = at_terminal or reason
    failure = problem(house)
    assert (failure.code, failure.data["detail"]) == (1009, "keyUnavailable")
    assert re.search(reason, failure.message), failure.message
    code, output, errors = token(house)
    assert code == 1 and output == "" and re.search(at_terminal, errors.replace("\n", " ")), errors
    found = house.run("einlassctl", "doctor", patience=PATIENCE)[1]
    assert re.search(at_terminal, found.replace("\n", " ")), found


# Each fixture gives the house of one recipe.

@pytest.fixture
def home(house, tmp_path):
    house.stick = tmp_path / "stick"
    house.stick.mkdir()
    return house


def neighbours():
    """Returns two free ports in a row."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = first.getsockname()[1]
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
            except (OSError, OverflowError):
                continue
        return port


@pytest.fixture
def with_tpm(home, tmp_path):
    """A software TPM, and a function that starts another one in its place."""
    if gone := missing("swtpm", "clevis", "clevis-encrypt-tpm2", "tpm2_clear"):
        pytest.skip(f"skipped: there is no {gone[0]}")
    port = neighbours()
    running = []

    def start(name):
        stop()
        state = tmp_path / name
        state.mkdir(exist_ok=True)
        running.append(subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={state}", "--flags", "not-need-init,startup-clear",
             "--server", f"type=tcp,bindaddr=127.0.0.1,port={port}",
             "--ctrl", f"type=tcp,bindaddr=127.0.0.1,port={port + 1}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        deadline = time.monotonic() + PATIENCE
        while home.run("tpm2_getrandom", "--hex", "1", patience=PATIENCE)[0] != 0:
            assert time.monotonic() < deadline and running[-1].poll() is None
            time.sleep(0.05)

    def stop():
        while running:
            running[-1].terminate()
            running.pop().wait()

    home.environment["TPM2TOOLS_TCTI"] = f"swtpm:host=127.0.0.1,port={port}"
    home.start_tpm, home.stop_tpm = start, stop
    start("tpm")
    yield home
    stop()


@pytest.fixture
def with_card(home, tmp_path):
    """A token of SoftHSM, and a function that puts another one in its place."""
    if gone := missing("softhsm2-util", "pkcs11-tool", "openssl") or ([] if SOFTHSM else ["libsofthsm2.so"]):
        pytest.skip(f"skipped: there is no {gone[0]}")

    def insert(name):
        tokens, configuration = tmp_path / name, tmp_path / "softhsm2.conf"
        is_new = not tokens.exists()
        tokens.mkdir(exist_ok=True)
        configuration.write_text(f"directories.tokendir = {tokens}\nlog.level = ERROR\n")
        home.environment["SOFTHSM2_CONF"] = str(configuration)
        if is_new:
            code, _, errors = home.run("softhsm2-util", "--init-token", "--free", "--label", "card", "--pin", PIN,
                                       "--so-pin", "12345678")
            assert code == 0, errors

    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    home.environment["XDG_RUNTIME_DIR"] = str(runtime)
    home.insert, home.pin = insert, runtime / "einlass-pin"
    insert("tokens")
    return home


@pytest.fixture
def with_creds(home, tmp_path):
    """systemd-creds with a host key of the test's own."""
    if missing("systemd-creds"):
        pytest.skip("skipped: there is no systemd-creds")
    if os.geteuid() != 0:
        pytest.skip("skipped: only root reads the host key")
    home.host_key = tmp_path / "credential.secret"
    home.environment["SYSTEMD_CREDENTIAL_SECRET"] = str(home.host_key)
    return home


FIXTURES = {AGE: "home", TPM: "with_tpm", CARD: "with_card", CREDS: "with_creds"}


@pytest.fixture(params=[pytest.param(AGE, marks=needs("age")), TPM, CARD, CREDS])
def recipe(request):
    """The house of a recipe and the recipe's section, done."""
    house = request.getfixturevalue(FIXTURES[request.param])
    house.shown = use_key(house, request.param)
    return house


# The recipes.

def test_the_program_alone_opens_the_store_in_each_new_process(recipe):
    for file in key_files(recipe):
        file.unlink()
    assert slots(recipe) == ["command"]
    assert re.search(r"opened by: command", recipe.shown)
    answers = [token(recipe) for _ in range(2)]
    assert [code for code, _, _ in answers] == [0, 0], answers
    assert answers[0][1] == answers[1][1] != "\n"
    assert json.loads(recipe.do("accounts", "list", "--json"))["accounts"][0]["health"] == "ok"
    # The recipe leaves the key in no file.
    words = json.loads(recipe.config.read_text())["keyCommand"]
    code, key, _ = recipe.run(*words, input=b"", patience=PATIENCE)
    assert code == 0 and len(key) == 32
    kept = b"".join(path.read_bytes() for path in recipe.folder.rglob("*") if path.is_file() and not path.is_symlink())
    assert not [form for form in (key, key.hex().encode(), base64.b64encode(key)) if form in kept]
    assert b"keyCommand" in kept and PIN.encode() not in kept
    # The negative control: without the program nothing opens the store.
    forget_program(recipe)
    assert_closed(recipe, "name it as keyCommand", "None of the given secrets")


def test_a_store_begins_with_the_program(home):
    if missing("age"):
        pytest.skip("skipped: there is no age")
    make_key(home, AGE)
    home.sign_in("gitlab")
    assert slots(home) == ["command"] and not key_files(home)


def test_a_program_that_prints_another_key_each_time_leaves_the_key_file(home):
    home.sign_in("gitlab")
    home.allow("einlassctl", "gitlab")
    name_program(home, '{"keyCommand": ["/usr/bin/head", "-c", "32", "/dev/urandom"]}')
    code, output, errors = run(home, next(text for _, text in fences(SECTIONS[AGE]) if text.startswith("einlassctl")))
    assert code == 1 and "printed another key the second time" in errors
    assert slots(home) == ["keyfile"] and token(home)[0] == 0


# The failures of each program.

def identity(house):
    return house.stick / "age.txt"


@needs("age")
@pytest.mark.parametrize("fault", ["removed", "other"])
def test_age_without_the_identity_does_not_open_the_store(home, fault):
    use_key(home, AGE)
    saved = identity(home).read_bytes()
    identity(home).unlink()
    if fault == "other":
        follow(home, "age-keygen -o /media/ada/stick/age.txt")
    assert_closed(home, "/usr/bin/age .* ended with exit code 1")
    identity(home).write_bytes(saved)
    assert token(home)[0] == 0


@needs("age")
def test_a_key_of_another_store_does_not_open_this_one(home):
    use_key(home, AGE)
    follow(home, "rm ~/.config/einlass/key.age")
    make_key_again = next(text for _, text in fences(SECTIONS[AGE]) if "age-keygen -y" in text)
    follow(home, make_key_again.partition("\n")[2])
    assert_closed(home, "The key printed by /usr/bin/age does not open the account store")


def test_another_tpm_does_not_open_the_store(with_tpm):
    use_key(with_tpm, TPM)
    with_tpm.start_tpm("other")
    assert_closed(with_tpm, "/bin/sh .* ended with exit code 1")
    with_tpm.start_tpm("tpm")
    assert token(with_tpm)[0] == 0


@pytest.mark.parametrize("fault", ["cleared", "gone"])
def test_a_tpm_that_is_cleared_or_gone_does_not_open_the_store(with_tpm, fault):
    use_key(with_tpm, TPM)
    assert token(with_tpm)[0] == 0
    if fault == "gone":
        with_tpm.stop_tpm()
    else:
        follow(with_tpm, "tpm2_clear")
    assert_closed(with_tpm, "/bin/sh .* ended with exit code 1")


@pytest.mark.parametrize("is_changed", [False, True], ids=["control", "changed"])
def test_a_key_bound_to_a_register_of_the_tpm_needs_its_value(with_tpm, is_changed):
    make_key(with_tpm, TPM)
    follow(with_tpm, block(TPM, "head -c 32 /dev/urandom | clevis encrypt tpm2 '{\"pcr"))
    with_tpm.sign_in("gitlab")
    with_tpm.allow("einlassctl", "gitlab")
    assert slots(with_tpm) == ["command"]
    if is_changed:
        follow(with_tpm, "tpm2_pcrextend 7:sha256=" + "01" * 32)
        assert_closed(with_tpm, "/bin/sh .* ended with exit code 1")
    else:
        assert token(with_tpm)[0] == 0


def test_another_card_does_not_open_the_store(with_card):
    use_key(with_card, CARD)
    with_card.insert("other")
    follow(with_card, "~/.config/einlass/card --keypairgen --key-type rsa:2048 --id 01 --label einlass")
    assert_closed(with_card, "config/einlass/card .*ended with exit code 1")
    with_card.insert("tokens")
    with_card.pin.write_text(PIN)
    assert token(with_card)[0] == 0


def test_a_wrong_pin_is_tried_once(with_card, tmp_path):
    use_key(with_card, CARD)
    # Counts the starts of pkcs11-tool, and passes each on.
    starts, program = tmp_path / "starts", with_card.folder / "bin/pkcs11-tool"
    program.write_text(f'#!/bin/sh\ntr "\\0" " " </proc/$$/cmdline >>{starts}\necho >>{starts}\n'
                       f'exec {shutil.which("pkcs11-tool")} "$@"\n')
    program.chmod(0o700)
    with_card.pin.write_text(PIN)
    assert token(with_card)[0] == 0
    starts.write_text("")
    with_card.pin.write_text("654321")
    assert_closed(with_card, "ended with exit code 1")
    (words,) = starts.read_text().splitlines()
    assert "--pin env:PIN" in words and "654321" not in words
    assert not with_card.pin.exists()
    with_card.pin.write_text(PIN)
    assert token(with_card)[0] == 0


@pytest.mark.parametrize("fault", ["removed", "other"])
def test_systemd_creds_without_the_host_key_does_not_open_the_store(with_creds, fault):
    use_key(with_creds, CREDS)
    saved = with_creds.host_key.rename(with_creds.stick / "host-key")
    if fault == "other":
        follow(with_creds, "systemd-creds setup")
    assert_closed(with_creds, "/usr/bin/systemd-creds .* ended with exit code 1")
    saved.replace(with_creds.host_key)
    assert token(with_creds)[0] == 0


# Back, and to another machine.

@needs("age")
def test_the_key_goes_back_to_a_file(home):
    use_key(home, AGE)
    follow(home, block(BACK, "einlassctl store slots add keyfile"))
    forget_program(home)
    identity(home).unlink()
    assert slots(home) == ["keyfile"] and token(home)[0] == 0
    # The negative control: this file opens the store.
    for file in key_files(home):
        file.unlink()
    assert token(home)[0] == 1


def typed(house, text, *questions):
    """Runs the line on a terminal, and types the passphrase after each question."""
    with house.on_terminal("bash", "-ec", here(house, text)) as terminal:
        for question in questions:
            terminal.wait_for(question)
            terminal.type("correct horse battery\n")
        assert terminal.end() == 0, terminal.shown


@needs("age")
def test_the_store_moves_to_another_machine_by_the_passphrase(home, tmp_path):
    use_key(home, AGE)
    typed(home, block(BACK, "einlassctl store slots add passphrase"), "Passphrase: ", "Once more: ")
    assert sorted(slots(home)) == ["command", "passphrase"]
    follow(home, block(BACK, "einlassctl store backup"))
    # The new machine has a home folder and an identity of its own.
    identity(home).unlink()
    other = home.folder / "other"
    (other / ".config").mkdir(mode=0o700, parents=True)
    (other / ".config/einlass").mkdir(mode=0o700)
    configuration = json.loads(home.config.read_text())
    home.folder, home.config = other, other / ".config/einlass/config.json"
    home.environment["HOME"] = str(other)
    (other / "work").mkdir()
    home.config.write_text(json.dumps(configuration))
    home.config.chmod(0o600)
    make_key(home, AGE)
    text = block(BACK, "mkdir")
    before, _, add = text.rpartition("einlassctl")
    follow(home, before)
    code, _, errors = token(home)
    assert code == 1 and "passphrase" in errors
    typed(home, "einlassctl" + add, "assphrase")
    assert sorted(slots(home)) == ["command", "passphrase"]
    assert token(home)[0] == 0
    home.do("store", "slots", "remove", "passphrase", "--yes")
    assert slots(home) == ["command"] and token(home)[0] == 0


# The page.

def test_every_block_of_the_page_is_run():
    texts = [text for name, section in SECTIONS.items() for _, text in fences(section)]
    begin = PAGE.partition("\n## ")[0]
    assert [text for _, text in fences(begin)] == [
        text for _, text in fences(SECTIONS[AGE]) if not text.startswith("(umask")]
    back = [text for _, text in fences(SECTIONS[BACK])]
    run_here = re.findall(r'\bblock\(BACK, "([^"]+)"', Path(__file__).read_text())
    assert back and not [text for text in back if not text.startswith(tuple(run_here))]
    recipes = [text for name in FIXTURES for _, text in fences(SECTIONS[name])]
    assert sorted(recipes + back) == sorted(texts)
    for name in FIXTURES:
        after = [text for language, text in fences(SECTIONS[name]) if language != "json"]
        used = next(place for place, text in enumerate(after) if text.startswith("einlassctl"))
        assert [text for text in after[used + 1:] if "pcr_bank" not in text] == []
