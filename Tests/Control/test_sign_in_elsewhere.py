"""A person signs in on a machine without a browser, by a page or a code on another one (clients/EINLASSCTL.md).

    python -m pytest Tests/Control/test_sign_in_elsewhere.py
"""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from control import CONTROL, EINLASS, PROJECT, RELEASE
from terminal import Terminal

sys.path.append(str(PROJECT / "Tests/Oracles"))
from browser import Visitor  # noqa: E402
from servers import running  # noqa: E402

SANDBOX = os.environ.get("EINLASS_SANDBOX", str(RELEASE / "einlass-sandbox"))


@pytest.fixture(scope="module")
def ready():
    with subprocess.Popen([SANDBOX], stdout=subprocess.PIPE, text=True) as sandbox:
        yield json.loads(sandbox.stdout.readline())
        sandbox.terminate()


@pytest.fixture
def sign_in(ready, tmp_path):
    """Returns a function that starts a sign-in without a desktop, with a home folder of this test."""
    config = tmp_path / "einlass.json"
    config.write_text(json.dumps({**ready["config"], "applications": {"einlassctl": ready["config"]["applications"]["*"]}}))
    config.chmod(0o600)
    (tmp_path / "home").mkdir(mode=0o700)

    home = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "DISPLAY": "", "WAYLAND_DISPLAY": "",
            "NO_COLOR": "1"}

    def start(*arguments, on=Terminal):
        return on([CONTROL, "sign-in", *arguments, "--no-guide", "--config", str(config), "--einlass", EINLASS], **home)

    return start


def page(terminal):
    return re.search(r"https?://\S+", terminal.shown)[0]


def test_the_redirect_of_a_browser_elsewhere_is_pasted(sign_in):
    with sign_in("gitlab") as terminal:
        terminal.wait_for("The address in the browser:")
        ended = Visitor().open(page(terminal)).press("allow").location
        terminal.type(ended.replace("state=", "state=x") + "\r")
        terminal.wait_for("That does not fit. The whole address begins with “http://”.")
        terminal.type(f' "<{ended}>" \r')
        assert terminal.end() == 0 and "Signed in: gitlab/ada." in terminal.shown


class RedirectListener(BaseHTTPRequestHandler):
    """The listener of a sign-in of another process."""

    def version_string(self):
        return "einlass"

    def log_message(self, *arguments):
        pass


def take_port_of_gitlab(port, tmp_path):
    config = tmp_path / "einlass.json"
    words = json.loads(config.read_text())
    words["applications"]["einlassctl"]["gitlab"]["redirect"] = f"http://127.0.0.1:{port}/callback"
    config.write_text(json.dumps(words))


def test_einlassctl_says_that_it_waits_for_the_port_of_another_sign_in(sign_in, tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), RedirectListener) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        take_port_of_gitlab(other.server_address[1], tmp_path)
        with sign_in("gitlab") as terminal:
            terminal.wait_for("A sign-in of another program uses the port of the redirect address.")
            assert "http" not in terminal.shown
            other.shutdown()
            other.server_close()
            terminal.wait_for("The address in the browser:")
            terminal.type("\x03")
            assert terminal.end() != 0


def test_einlassctl_names_a_port_that_another_program_has(sign_in, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        take_port_of_gitlab(port, tmp_path)
        # Without --flow the sign-in goes on by a device code, which needs no port.
        with sign_in("gitlab", "--flow", "authorizationCode") as terminal:
            assert terminal.end() == 1 and f"use port {port}" in " ".join(terminal.shown.split())


def test_a_denial_elsewhere_gets_a_next_step(sign_in):
    with sign_in("gitlab") as terminal:
        terminal.wait_for("The address in the browser:")
        terminal.type(Visitor().open(page(terminal)).press("deny").location + "\r")
        assert terminal.end() == 1 and "(accessDenied, 1012)" in terminal.shown and "next: Sign in again, and allow it" in terminal.shown
    with sign_in("gitlab") as terminal:
        terminal.wait_for("The address in the browser:")
        terminal.type("\x03")
        assert terminal.end() == 1 and "Cancelled." in terminal.shown and "problem" not in terminal.shown
    with sign_in("flickr", "--flow", "deviceCode") as terminal:
        assert terminal.end() == 1 and "(flowNotSupported, 1015)" in terminal.shown


def test_a_pin_of_a_page_elsewhere_is_typed(sign_in):
    with sign_in("twitter") as terminal:
        terminal.wait_for("Code:")
        shown = Visitor().open(page(terminal)).press("allow").page
        terminal.type("1234567\r")
        terminal.wait_for("That does not fit")
        terminal.type(re.search(r"\b[0-9]{7}\b", shown)[0] + "\r")
        assert terminal.end() == 0 and "Signed in: twitter/ada." in terminal.shown


def test_the_person_chooses_the_account_if_the_provider_names_none(sign_in):
    def signed_in(choose=None):
        with sign_in("sequencing") as terminal:
            terminal.wait_for("The address in the browser:")
            terminal.type(Visitor().open(page(terminal)).press("allow").location + "\r")
            if choose:
                terminal.wait_for("Is this a new account, or one of these?")
                terminal.wait_for("Sequencing.com")
                terminal.type(choose + "\r")
            assert terminal.end() == 0, terminal.shown
            return terminal.shown
    assert "Signed in: sequencing/Sequencing.com." in signed_in()
    shown = signed_in(choose="1")
    assert "You signed in at “Sequencing.com” for “einlassctl”." in shown
    assert "> 1  A new account" in shown and "Signed in: sequencing/Sequencing.com 2." in shown
    assert re.search(r"Signed in again: sequencing/Sequencing\.com( 2)?\.", signed_in(choose="2"))


def test_three_wrong_entries_are_named_in_the_error(sign_in):
    with sign_in("twitter") as terminal:
        for entry in ("1234567", "x", "7654321"):
            terminal.wait_for("Code:")
            terminal.type(entry + "\r")
        assert terminal.end() == 1 and "does not accept the entered PIN. (providerFailure, 1008)" in terminal.shown
        assert "next: Sign in again, and enter the code that the page shows then." in terminal.shown
        assert "registration" not in terminal.shown
    with sign_in("gitlab") as terminal:
        for _ in range(3):
            terminal.wait_for("The address in the browser:")
            terminal.type("x\r")
        assert terminal.end() == 1 and "The entered text is not the final address of the browser." in terminal.shown


def test_a_redirect_without_a_listener_is_pasted(sign_in):
    with sign_in("apple") as terminal:
        terminal.wait_for("The address in the browser:")
        assert "On another machine" not in terminal.shown and "Waiting for the browser" not in terminal.shown
        ended = Visitor().open(re.search(r"(http\S+/\S+\?\S+)", terminal.shown)[1]).press("allow").location
        assert f"The browser ends at “{ended.split('?')[0]}”" in terminal.shown.replace("\r\n", "")
        terminal.type(ended + "\r")
        assert terminal.end() == 0, terminal.shown


def test_a_sign_in_as_another_person_gets_a_next_step(sign_in):
    def as_(user, *arguments):
        with sign_in(*arguments) as terminal:
            terminal.wait_for("Code:")
            shown = Visitor().open(page(terminal)).press("allow", user=user).page
            terminal.type(re.search(r"\b[0-9]{7}\b", shown)[0] + "\r")
            return terminal.end(), terminal.shown
    assert as_("1001", "twitter")[0] == 0
    code, shown = as_("1002", "--account", "twitter/ada")
    assert code == 1 and "next: Sign in to the account again: einlassctl sign-in --account twitter/ada " in shown.replace("\r\n", ""), shown


@pytest.mark.parametrize("provider, code", [("github", r"\b[A-Z]{4}-[A-Z]{4}\b"), ("facebook", r"  http\S+\s+(\S+)")])
def test_a_code_is_entered_elsewhere(sign_in, provider, code):
    with sign_in(provider, "--flow", "deviceCode") as terminal:
        terminal.wait_for("The sign-in continues after that")
        code = re.search(code, terminal.shown)
        Visitor().open(page(terminal)).press("allow", user_code=code[code.re.groups])
        assert terminal.end() == 0 and f"Signed in: {provider}/" in terminal.shown


def test_a_code_asked_for_by_name_needs_no_terminal(sign_in):
    """`ssh HOST einlassctl sign-in …` has no terminal."""
    def piped(argv, **environment):
        return subprocess.Popen(argv, env=os.environ | environment, text=True, start_new_session=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with sign_in("github", "--flow", "deviceCode", on=piped) as process:
        told = [process.stderr.readline() for _ in range(6)]
        Visitor().open(told[3].strip()).press("allow", user_code=told[4].strip())
        assert process.communicate(timeout=60)[0] == "Signed in: github/ada.\n" and process.returncode == 0
    # Without `--flow deviceCode`, or with `--no-input`, the command does not wait.
    for arguments in (["github"], ["github", "--flow", "deviceCode", "--no-input"]):
        with sign_in(*arguments, on=piped) as process:
            told = process.communicate(timeout=60)[1]
            assert "1010" in told and process.returncode == 1
            assert ("sign-in github --flow deviceCode" in told) == ("--no-input" not in arguments)


def test_a_sign_in_for_a_resource_names_application_resource_and_issuer(sign_in, ready):
    issuer = ready["addresses"]["openid"]
    with running("resource_server.py", issuer) as resource:
        for new in (True, False):
            with sign_in(resource["resource"]) as terminal:
                terminal.wait_for("The address in the browser:")
                assert f"“einlassctl” asks for a token for “{resource['resource']}”." in terminal.shown
                assert "chose the place of the sign-in: “127.0.0.1”" in terminal.shown
                url = re.search(r"(http\S+/\S+\?\S+)", terminal.shown)[1]
                terminal.type(Visitor().open(url).press("allow").location + "\r")
                assert terminal.end() == 0, terminal.shown
            signed_in, issued = re.search(r"(Signed in(?: again)?: .*)\s+(Its tokens .*)", terminal.shown).groups()
            assert re.fullmatch(rf"Signed in{'' if new else ' again'}: \S+/\S+, only for {resource['resource']}\.\s*", signed_in)
            assert ("a provider that was added for this sign-in" in issued) == new
            # The request was pushed, so its resource is not in the address of the page.
            with urllib.request.urlopen(ready["control"] + "/state") as answer:
                families = json.load(answer)["openid"]["families"].values()
            assert {family["resource"] for family in families} == {resource["resource"]}
    # The control: a sign-in at a provider shows nothing of this.
    with sign_in("gitlab") as terminal:
        terminal.wait_for("The address in the browser:")
        terminal.type(Visitor().open(page(terminal)).press("allow").location + "\r")
        assert terminal.end() == 0 and "token for" not in terminal.shown and "Its tokens" not in terminal.shown


def test_a_login_at_a_server_of_one_s_own_asks_for_name_and_password(ready, sign_in):
    server = ready["addresses"]["fcsdk"]
    with sign_in("fcsdk") as terminal:
        assert terminal.end() == 1 and "The server is not named. FCSDK server means a server of your own" in terminal.shown
        assert "next: Name a server of your own with --server." in terminal.shown
    with sign_in("fcsdk", "--server", server) as terminal:
        terminal.wait_for("User name:")
        terminal.type("ada\r")
        terminal.wait_for("Password:")
        terminal.type("wrong\r")
        terminal.wait_for("The server refused that user name or password.")
        terminal.type("ada\r")
        terminal.wait_for("Password:")
        terminal.type("demo-password\r")
        assert terminal.end() == 0 and "Signed in: fcsdk/ada@127.0.0.1:" in terminal.shown
    assert "wrong" not in terminal.shown and "demo-password" not in terminal.shown
    # The next sign-in takes the server and the name from the last one.
    with sign_in("fcsdk") as terminal:
        terminal.wait_for("Password:")
        terminal.type("demo-password\r")
        assert terminal.end() == 0 and "Signed in again: fcsdk/ada@127.0.0.1:" in terminal.shown


@pytest.mark.parametrize("types", [False, True])
def test_a_remembered_password_renews_the_session(ready, sign_in, types):
    def script(command, **environment):
        return subprocess.run([*command, "--password-fd", "0"], input="demo-password\n", capture_output=True, text=True,
                              timeout=60, env={"PATH": os.environ["PATH"], **environment})

    def renewal(command, **environment):
        options = command[command.index("--config"):]
        for words in (["access", "set", "einlassctl", "fcsdk", "granted"], ["accounts", "renew", "fcsdk/ada"]):
            done = subprocess.run([CONTROL, *words, *options], capture_output=True, text=True, timeout=60,
                                  env={"PATH": os.environ["PATH"], **environment})
        return done

    place = ("fcsdk", "--server", ready["addresses"]["fcsdk"], "--username", "ada")
    # The control: without the option nothing renews the session.
    assert sign_in(*place, on=script).returncode == 0
    assert sign_in(on=renewal).returncode == 1
    if types:
        with sign_in(*place, "--remember") as terminal:
            terminal.wait_for("Password:")
            terminal.type("demo-password\r")
            assert terminal.end() == 0
    else:
        assert sign_in(*place, "--remember", on=script).returncode == 0
    renewed = sign_in(on=renewal)
    assert renewed.returncode == 0, renewed.stderr


def test_a_script_gives_the_password_by_a_descriptor(ready, sign_in):
    server = ready["addresses"]["fcsdk"]

    def login(password, *arguments):
        def ended(command, **environment):
            return subprocess.run(command, input=password, capture_output=True, text=True, timeout=60,
                                  env={"PATH": os.environ["PATH"], **environment})

        return sign_in("fcsdk", "--server", server, "--password-fd", "0", *arguments, on=ended)

    refused = login("wrong\n", "--username", "ada")
    assert refused.returncode == 1 and "The server refused that user name or password." in refused.stderr
    assert "wrong" not in refused.stdout + refused.stderr
    # The server takes a password of 1024 bytes for a wrong one; one byte more never reaches it.
    assert "The server refused" in login("x" * 1024, "--username", "ada").stderr
    assert "A password has 1 to 1024 bytes." in login("x" * 1025, "--username", "ada").stderr
    assert "The first line of descriptor 0 is empty. Write the password there." in login("\n", "--username", "ada").stderr
    nameless = login("demo-password\n")
    assert nameless.returncode == 64 and "--password-fd needs --username." in nameless.stderr
    signed_in = login("demo-password\n", "--username", "ada")
    assert signed_in.returncode == 0, signed_in.stderr
    assert "Signed in: fcsdk/ada@127.0.0.1:" in signed_in.stdout and "demo-password" not in signed_in.stdout + signed_in.stderr


def test_a_password_of_a_descriptor_is_not_asked_for_on_a_terminal(ready, sign_in, tmp_path):
    (tmp_path / "password").write_text("wrong\n")
    with open(tmp_path / "password") as password:
        os.set_inheritable(password.fileno(), True)
        with sign_in("fcsdk", "--server", ready["addresses"]["fcsdk"], "--username", "ada",
                     "--password-fd", str(password.fileno())) as terminal:
            assert terminal.end() == 1 and "The server refused that user name or password." in terminal.shown
            assert "Password:" not in terminal.shown
