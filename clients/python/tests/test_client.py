"""`Client` against a fake server that splits, delays, reorders and omits lines."""

import queue
import re
import sys
import threading
import webbrowser
from pathlib import Path

import pytest

from einlass import Client, EinlassError, ServerGone
from einlass.wire import answer_after

FAKE = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
PATIENCE = 20  # seconds until a hanging test fails


@pytest.fixture
def client():
    with Client(FAKE) as client:
        yield client


def asking(answer):
    """Returns a client with a selectAccount function that returns `answer`."""
    return Client(FAKE, prompts={"selectAccount": lambda prompt: answer})


def test_a_request_returns_the_result(client):
    assert client.request("echo", {"a": [1, "ä"]}, PATIENCE) == {"a": [1, "ä"]}


def test_initialize_declares_the_prompts_that_have_a_function():
    with asking(None) as client:
        hello = client.initialize("editor", title="Editor", locale="de")
    assert hello["client"] == {"name": "editor", "title": "Editor"}
    assert hello["capabilities"] == {"prompts": ["selectAccount"]} and hello["locale"] == "de"


def test_line_separators_inside_a_string_do_not_end_a_line(client):
    text = "one\u2028two\u2029three\x85four\x0bfive\x1c\u0000"
    assert client.request("raw", {"text": text.replace("\x0b", "").replace("\x1c", "").replace("\0", "")},
                          PATIENCE) == "one\u2028two\u2029three\x85fourfive"
    assert client.request("echo", {"text": text}, PATIENCE) == {"text": text}


def test_a_line_may_arrive_byte_by_byte(client):
    assert client.request("bytewise", timeout=PATIENCE) == "ä\u2028" * 9


@pytest.mark.parametrize("size", [60 * 1024, 1_000_000])
def test_long_lines_arrive_whole(client, size):
    assert client.request("echo", {"text": "x" * size}, PATIENCE) == {"text": "x" * size}


def test_responses_may_come_out_of_order_and_between_noise(client):
    first, second = client.start("pair"), client.start("pair")
    assert [first.result(PATIENCE), second.result(PATIENCE)] == ["first", "second"]


def test_an_error_carries_code_reason_data_and_message(client):
    with pytest.raises(EinlassError) as caught:
        client.request("fail", timeout=PATIENCE)
    error = caught.value
    assert (error.code, error.reason, error.message) == (1004, "accountBanned", "The account is suspended.")
    assert error.data["provider"] == "twitter"


def test_ten_thousand_notifications_arrive_in_order(client):
    numbers, done = [], threading.Event()

    def tick(params):
        numbers.append(params["number"])
        if len(numbers) == 10_000:
            done.set()

    client.on("tick", tick)
    client.request("burst", {"count": 10_000}, PATIENCE)
    assert done.wait(PATIENCE) and numbers == list(range(10_000))


def test_a_listener_may_send_requests_and_may_fail(client):
    heard, done = [], threading.Event()

    def tick(params):
        heard.append(client.request("echo", params, PATIENCE))
        if len(heard) == 2:
            done.set()
        raise RuntimeError("a listener's own fault")

    client.on("tick", tick)
    client.request("burst", {"count": 2}, PATIENCE)
    assert done.wait(PATIENCE) and heard == [{"number": 0}, {"number": 1}]


def test_a_listener_hears_until_it_is_stopped(client):
    heard, others = [], queue.SimpleQueue()
    stop = client.on("tick", lambda params: heard.append(params["number"]))
    client.on("tick", lambda params: others.put(params["number"]))
    client.request("burst", {"count": 2}, PATIENCE)
    assert [others.get(timeout=PATIENCE) for _ in range(2)] == [0, 1]
    stop()
    client.request("burst", {"count": 1}, PATIENCE)
    assert others.get(timeout=PATIENCE) == 0 and heard == [0, 1]


def test_a_cancelled_request_ends_with_minus_32800(client):
    call = client.start("hang")
    call.cancel()
    with pytest.raises(EinlassError) as caught:
        call.result(PATIENCE)
    assert (caught.value.code, caught.value.reason) == (-32800, "cancelled")


def test_a_timeout_cancels_the_request(client):
    cancelled = threading.Event()
    started = threading.Event()
    client.on("hanging", lambda _: started.set())
    call = client.start("hang")
    call._future.add_done_callback(lambda _: cancelled.set())
    assert started.wait(PATIENCE)
    with pytest.raises(TimeoutError):
        call.result(0)
    assert not cancelled.is_set()
    with pytest.raises(TimeoutError):
        client.request("hang", timeout=0)
    assert client.request("echo", {}, PATIENCE) == {}


def test_pending_requests_fail_when_the_server_ends(client):
    waiting = client.start("hang")
    with pytest.raises(ServerGone) as caught:
        client.request("die", timeout=PATIENCE)
    assert caught.value.data["exitCode"] == 3
    with pytest.raises(ServerGone):
        waiting.result(PATIENCE)
    with pytest.raises(ServerGone):
        client.request("echo", timeout=PATIENCE)


def test_pending_requests_fail_when_the_server_closes_its_output(client):
    with pytest.raises(ServerGone):
        client.request("mute", timeout=PATIENCE)


def test_arrays_within_arrays_are_skipped(client):
    assert client.request("deep", timeout=PATIENCE) == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_pending_requests_fail_when_the_reader_fails(client):
    waiting = client.start("hang")
    client._receive = lambda line: 1 // 0
    with pytest.raises(ServerGone):
        client.request("echo", timeout=PATIENCE)
    with pytest.raises(ServerGone):
        waiting.result(PATIENCE)


def test_a_flood_on_stderr_does_not_block(client):
    assert client.request("flood", timeout=PATIENCE) == {}


def test_stderr_lines_reach_on_log():
    lines = []
    with Client(FAKE, on_log=lines.append) as client:
        with pytest.raises(ServerGone):
            client.request("die", timeout=PATIENCE)
        client._log_reader.join(PATIENCE)
    assert lines == ["last words"]


def test_the_log_is_read_although_on_log_fails():
    lines = []

    def fail(line):
        lines.append(line)
        raise RuntimeError("the function's own fault")

    with Client(FAKE, on_log=fail) as client:
        assert client.request("flood", timeout=PATIENCE) == {}
        with pytest.raises(ServerGone):
            client.request("die", timeout=PATIENCE)
        client._log_reader.join(PATIENCE)
    assert len(lines) == 4097 and lines[-1] == "last words"


@pytest.mark.parametrize(("answer", "sent"), [
    ({"account": "a_2"}, {"action": "accept", "account": "a_2"}),
    (True, {"action": "accept"}),
    (False, {"action": "decline"}),
    (None, {"action": "cancel"}),
    ({"account": "a_unknown"}, {"action": "cancel"}),  # answered with invalidChoice, then cancelled
])
def test_a_prompt_is_answered_with_what_its_function_returns(answer, sent):
    with asking(answer) as client:
        assert client.request("ask", {"kind": "selectAccount"}, PATIENCE) == {"prompt": "p_1", **sent}


def test_an_unknown_kind_of_prompt_is_cancelled():
    with asking(True) as client:
        assert client.request("ask", {"kind": "readTheLeaves"}, PATIENCE)["action"] == "cancel"


def test_a_function_that_fails_cancels_its_prompt():
    with Client(FAKE, prompts={"selectAccount": lambda prompt: 1 // 0}) as client:
        assert client.request("ask", {"kind": "selectAccount"}, PATIENCE)["action"] == "cancel"


def test_a_prompt_that_was_closed_meanwhile_is_not_shown():
    shown, closed = [], threading.Event()

    def pick(prompt):
        shown.append(prompt["prompt"])
        assert closed.wait(PATIENCE)  # p_2 closes while the person looks at p_1
        return {"account": "a_1"}

    with Client(FAKE, prompts={"selectAccount": pick}) as client:
        client.on("prompt.closed", lambda params: closed.set())
        assert client.request("askTwoAndCloseOne", timeout=PATIENCE)["prompt"] == "p_1"
        assert client.request("echo", {}, PATIENCE) == {}
    assert shown == ["p_1"]


def test_prompts_are_asked_together_if_wanted():
    second, closed = threading.Event(), threading.Event()

    def pick(prompt):
        second.set()
        closed.wait(PATIENCE)

    prompts = {"openURL": lambda prompt: second.wait(PATIENCE), "selectAccount": pick}
    with Client(FAKE, prompts=prompts, together=True) as client:
        client.on("prompt.closed", lambda params: closed.set())
        assert client.request("askTwo", timeout=PATIENCE) == {"prompt": "p_1", "action": "accept"}


def test_a_prompt_that_closes_by_itself_gets_no_answer(caplog):
    shown, closed = threading.Event(), threading.Event()

    def pick(prompt):
        shown.set()
        assert closed.wait(PATIENCE)
        return {"account": "a_1"}

    with Client(FAKE, prompts={"selectAccount": pick}) as client:
        client.on("prompt.closed", lambda params: closed.set())
        call = client.start("askAndClose")
        assert shown.wait(PATIENCE)
        client.request("close", timeout=PATIENCE)
        assert call.result(PATIENCE) == "satisfied"
        assert client.request("echo", {}, PATIENCE) == {}
    assert not caplog.records  # an answer would have been refused with a warning


def test_an_answer_after_the_end_of_einlass_is_no_warning(caplog):
    assert answer_after("p_1", ServerGone(0, [])) is None
    assert not caplog.records
    # The control.
    assert answer_after("p_1", EinlassError(1005, "invalidChoice", {}, "No.")) == {"prompt": "p_1", "action": "cancel"}
    assert caplog.records


def test_the_example_of_the_page_accepts_without_a_desktop(monkeypatch):
    page = Path(__file__).parents[1].joinpath("README.md").read_text()
    function = re.search(r"^import webbrowser\n.*?(?=^with Client)", page, re.MULTILINE | re.DOTALL)[0]
    opened, names = [], {}
    monkeypatch.setattr(webbrowser, "open", opened.append)  # returns nothing, as if no browser was found
    exec(function, names)
    with Client(FAKE, prompts={"openURL": lambda prompt: names["open_page"]({**prompt, "host": "a", "url": "b"})}) as client:
        assert client.request("ask", {"kind": "openURL"}, PATIENCE)["action"] == "accept"
    assert opened == ["b"]


def test_close_ends_the_server_by_closing_its_input():
    client = Client(FAKE)
    assert client.request("echo", {}, PATIENCE) == {}
    assert client.close() == 0
    assert client.close() == 0
    with pytest.raises(ServerGone):
        client.request("echo", timeout=PATIENCE)


def test_close_kills_a_server_that_does_not_listen():
    client = Client([*FAKE, "--stubborn"])
    assert client.request("echo", {}, PATIENCE) == {}
    waiting = client.start("hang")
    assert client.close(grace=0.1) == -9
    with pytest.raises(ServerGone):
        waiting.result(PATIENCE)


def test_a_command_that_does_not_exist_fails_at_once():
    with pytest.raises(FileNotFoundError):
        Client(["/nonexistent/einlass"])
