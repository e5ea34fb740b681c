"""`AsyncClient` against a fake server that splits, delays, reorders and omits lines."""

import asyncio
import contextlib
import functools
import sys
import threading
from pathlib import Path

import pytest

from einlass import EinlassError, ServerGone
from einlass.aio import AsyncClient

FAKE = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
PATIENCE = 20  # seconds until a hanging test fails


def asynchronous(test):
    @functools.wraps(test)
    def run(*arguments, **named):
        asyncio.run(asyncio.wait_for(test(*arguments, **named), PATIENCE))
    return run


@asynchronous
async def test_initialize_declares_the_prompts_that_have_a_function():
    async with AsyncClient(FAKE, prompts={"openURL": lambda _: True}) as client:
        hello = await client.initialize("editor", title="Editor", locale="de")
    assert hello["client"] == {"name": "editor", "title": "Editor"}
    assert hello["capabilities"] == {"prompts": ["openURL"]} and hello["locale"] == "de"


@asynchronous
async def test_lines_arrive_in_pieces_in_any_order_and_between_noise():
    async with AsyncClient(FAKE) as client:
        assert await client.request("bytewise") == "ä\u2028" * 9
        assert await client.request("echo", {"text": "x" * 1_000_000}) == {"text": "x" * 1_000_000}
        assert await asyncio.gather(client.request("pair"), client.request("pair")) == ["first", "second"]
        assert await client.request("flood") == {}


@asynchronous
async def test_an_error_carries_code_reason_data_and_message():
    async with AsyncClient(FAKE) as client:
        with pytest.raises(EinlassError) as caught:
            await client.request("fail")
    error = caught.value
    assert (error.code, error.reason, error.message) == (1004, "accountBanned", "The account is suspended.")
    assert error.data["provider"] == "twitter"


@asynchronous
async def test_notifications_are_iterated_in_order_until_the_server_ends():
    async with AsyncClient(FAKE) as client:
        ticks = client.notifications("tick")
        await client.request("burst", {"count": 1000})
        await client.close()
        assert [params["number"] async for params in ticks] == list(range(1000))
        assert [params async for params in client.notifications("tick")] == []


@asynchronous
async def test_after_the_block_no_notification_is_kept():
    async with AsyncClient(FAKE) as client:
        with client.notifications("tick") as ticks, client.notifications("tick") as others:
            await client.request("burst", {"count": 2})
            others.close()
            await client.request("burst", {"count": 1})
        await client.request("burst", {"count": 3})
        assert [params["number"] async for params in ticks] == [0, 1, 0]
        assert [params["number"] async for params in others] == [0, 1]


@asynchronous
async def test_a_cancelled_task_cancels_its_request():
    async with AsyncClient(FAKE) as client:
        hanging, cancelling = client.notifications("hanging"), client.notifications("cancelling")
        task = asyncio.ensure_future(client.request("hang"))
        await hanging.__anext__()
        task.cancel()
        assert await cancelling.__anext__() == {"id": 1}
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.request("hang"), 0.01)
        assert await cancelling.__anext__() == {"id": 2}
        assert await client.request("echo") == {}


@asynchronous
async def test_a_cancelled_call_ends_with_minus_32800():
    async with AsyncClient(FAKE) as client:
        call = client.start("hang")
        call.cancel()
        with pytest.raises(EinlassError) as caught:
            await call
        assert (caught.value.code, caught.value.reason) == (-32800, "cancelled")
        cancelling = client.notifications("cancelling")
        call.cancel()  # it is over, so nothing is sent
        await client.request("echo")
        assert cancelling._queue.empty()


async def answer_later(answer):
    await asyncio.sleep(0)
    return answer


@pytest.mark.parametrize("form", ["plain", "async", "returns an awaitable"])
@pytest.mark.parametrize(("answer", "sent"), [
    ({"account": "a_2"}, {"action": "accept", "account": "a_2"}), (True, {"action": "accept"}),
    (False, {"action": "decline"}), (None, {"action": "cancel"}),
    ({"account": "a_unknown"}, {"action": "cancel"}),  # answered with invalidChoice, then cancelled
])
@asynchronous
async def test_a_prompt_is_answered_with_what_its_function_returns(form, answer, sent):
    async def asynchronously(prompt):
        return await answer_later(answer)

    function = {"plain": lambda prompt: answer, "async": asynchronously,
                "returns an awaitable": lambda prompt: answer_later(answer)}[form]
    async with AsyncClient(FAKE, prompts={"selectAccount": function}) as client:
        assert await client.request("ask", {"kind": "selectAccount"}) == {"prompt": "p_1", **sent}


@asynchronous
async def test_an_unknown_kind_and_a_function_that_fails_cancel_the_prompt():
    async with AsyncClient(FAKE, prompts={"selectAccount": lambda prompt: 1 // 0}) as client:
        assert (await client.request("ask", {"kind": "readTheLeaves"}))["action"] == "cancel"
        assert (await client.request("ask", {"kind": "selectAccount"}))["action"] == "cancel"


@asynchronous
async def test_a_plain_function_does_not_block_the_event_loop():
    may_answer = threading.Event()

    def ask(prompt):
        assert may_answer.wait(PATIENCE)
        return True

    async with AsyncClient(FAKE, prompts={"selectAccount": ask}) as client:
        call = client.start("ask", {"kind": "selectAccount"})
        assert await client.request("echo") == {}
        may_answer.set()
        assert (await call)["action"] == "accept"


@contextlib.asynccontextmanager
async def open_dialog(method, params=None):
    """Yields a client with an open dialog, the call of the method that asks, and the event of the dialog's end."""
    shown, gone = asyncio.Event(), asyncio.Event()

    async def ask(prompt):
        shown.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with AsyncClient(FAKE, prompts={"selectAccount": ask}) as client:
        call = client.start(method, params)
        await shown.wait()
        yield client, call, gone


@asynchronous
async def test_the_task_of_a_prompt_that_closes_by_itself_is_cancelled():
    async with open_dialog("askAndClose") as (client, call, gone):
        await client.request("close")
        assert await call == "satisfied"
        await gone.wait()


@asynchronous
async def test_prompts_are_asked_together():
    both = asyncio.Event()

    async def page(prompt):
        await both.wait()
        return True

    async def pick(prompt):
        both.set()
        await asyncio.Event().wait()

    async with AsyncClient(FAKE, prompts={"openURL": page, "selectAccount": pick}) as client:
        assert await client.request("askTwo") == {"prompt": "p_1", "action": "accept"}


@asynchronous
async def test_pending_requests_fail_when_the_server_ends():
    lines = []
    async with AsyncClient(FAKE, on_log=lines.append) as client:
        waiting = client.start("hang")
        with pytest.raises(ServerGone) as caught:
            await client.request("die")
        assert caught.value.data["exitCode"] == 3
        with pytest.raises(ServerGone):
            await waiting
        with pytest.raises(ServerGone):
            await client.request("echo")
    async with AsyncClient(FAKE) as client:
        with pytest.raises(ServerGone):
            await client.request("mute")


@asynchronous
async def test_the_dialog_goes_away_when_the_server_ends():
    async with open_dialog("ask", {"kind": "selectAccount"}) as (client, _, gone):
        client.start("die")
        await gone.wait()


@asynchronous
async def test_close_ends_the_server_by_closing_its_input_or_by_a_signal():
    async with AsyncClient(FAKE) as client:
        assert await client.request("echo") == {}
        assert await client.close() == 0
    async with AsyncClient([*FAKE, "--stubborn"]) as client:
        assert await client.request("echo") == {}
        waiting = client.start("hang")
        assert await client.close(grace=0.1) == -9
        with pytest.raises(ServerGone):
            await waiting


@asynchronous
async def test_a_command_that_does_not_exist_fails_at_once():
    with pytest.raises(FileNotFoundError):
        async with AsyncClient(["/nonexistent/einlass"]):
            pass


@asynchronous
async def test_arrays_within_arrays_are_skipped():
    async with AsyncClient(FAKE) as client:
        assert await client.request("deep") == {}


@asynchronous
async def test_pending_requests_fail_when_the_reader_fails():
    async with AsyncClient(FAKE) as client:
        heard, waiting = client.notifications("tick"), client.start("hang")
        client._receive = lambda line: 1 // 0
        for call in (client.start("echo"), waiting, client.start("echo")):
            with pytest.raises(ServerGone):
                await call
        assert [params async for params in heard] == []


@asynchronous
async def test_the_log_is_read_although_on_log_fails():
    lines = []

    def fail(line):
        lines.append(line)
        raise RuntimeError("the function's own fault")

    async with AsyncClient(FAKE, on_log=fail) as client:
        assert await client.request("flood") == {}
        assert await client.request("echo") == {}
        while len(lines) < 4096:
            await asyncio.sleep(0.01)
