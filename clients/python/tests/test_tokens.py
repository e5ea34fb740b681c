"""`TokenSource`, and the libraries that send its tokens, against a fake server and a service on this machine."""

import os
import signal
import sys
from pathlib import Path

import pytest

from einlass import Client, EinlassError, ServerGone
from einlass import tokens
from einlass.tokens import Token, TokenSource

FAKE = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
ADDRESS = "https://api.example.com/user"


@pytest.fixture
def started(monkeypatch):
    """The clients that were started."""
    made = []

    class Counted(Client):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            made.append(self)

    monkeypatch.setattr(tokens, "Client", Counted)
    yield made
    for client in made:
        client.close()


def kill(client):
    os.kill(client.process.pid, signal.SIGKILL)
    client.process.wait()


def test_an_einlass_that_was_killed_is_started_anew(started):
    with TokenSource("script", FAKE) as source:
        for number in range(3):
            assert source.token(ADDRESS).text == "token of a_1"
            kill(started[number])
        source.reject(Token("token of a_1", "a_1", None, None, None))
        assert source.token(ADDRESS).text == "token of a_1"
    assert len(started) == 4 and all(client.process.returncode is not None for client in started)


def test_an_einlass_that_ends_each_time_is_started_anew_once(started):
    with TokenSource("script", FAKE) as source:
        with pytest.raises(ServerGone):
            source._request("die", {}, 20)
        assert len(started) == 2
        assert source.token(ADDRESS).text == "token of a_1"


@pytest.mark.parametrize("command, timeout, reason", [
    (["/bin/cat"], 0.2, "timeout"), (["/bin/true"], 20, "serverGone")])
def test_a_program_that_is_no_einlass_is_an_error_and_is_closed(started, command, timeout, reason):
    with TokenSource("script", command) as source, pytest.raises(EinlassError) as caught:
        source.token(ADDRESS, timeout=timeout)
    assert caught.value.reason == reason
    assert started and all(client.process.returncode is not None for client in started)
    assert reason != "timeout" or "/bin/cat did not answer" in caught.value.message
