"""The client for asyncio.

    async with AsyncClient(prompts={"openURL": open_page}) as einlass:
        await einlass.initialize("my-editor")
        result = await einlass.request("auth.perform", {"provider": "github", "signIn": "ifNeeded"})

Each prompt is asked in a task of its own, which is cancelled when the prompt closes by itself: the dialog goes away.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import (
    Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, Generator, List, Mapping, Optional, Sequence, Set, Union,
)

from .find import find_einlass
from .protocol_types import InitializeResult
from .wire import (
    Answer, EinlassError, Lines, Log, Params, ServerGone, answer_after, from_line, hello, logging_failure, settle,
    to_answer, to_line,
)

#: Answers a prompt. A plain function runs in a thread, because it may wait for the person.
PromptFunction = Callable[[Dict[str, Any]], Union[Answer, Awaitable[Answer]]]


class AsyncCall:
    """A request, answered or not yet: `await call` returns its result or raises EinlassError. To cancel the waiting
    task cancels the request."""

    def __init__(self, client: AsyncClient, identifier: int) -> None:
        self.id = identifier
        self._client = client
        self._future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[Any, None, Any]:
        try:
            return (yield from asyncio.shield(self._future))
        except asyncio.CancelledError:
            self.cancel()
            raise

    def cancel(self) -> None:
        """Asks the server to give up. The request is still answered: with -32800, unless it had just finished."""
        if not self._future.done():
            self._client.notify("$/cancelRequest", {"id": self.id})

    def _settle(self, result: Any, error: Optional[EinlassError]) -> None:
        if error is None:
            self._future.set_result(result)
        else:
            self._future.set_exception(error)
            self._future.exception()  # retrieved, because the task that waited may have been cancelled


class Notifications(AsyncIterator[Dict[str, Any]]):
    """The params of the notifications of one method, in the order of arrival. It ends with the server, or by `close`,
    which the end of a `with` block calls."""

    def __init__(self, listeners: List[Notifications]) -> None:
        self._queue: asyncio.Queue[Optional[Dict[str, Any]]] = asyncio.Queue()
        self._listeners = listeners
        listeners.append(self)

    def close(self) -> None:
        """Hears no more of them. `async for` ends after those that have arrived."""
        if self in self._listeners:
            self._listeners.remove(self)
            self._queue.put_nowait(None)

    def __enter__(self) -> Notifications:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __anext__(self) -> Dict[str, Any]:
        params = await self._queue.get()
        if params is None:
            self._queue.put_nowait(None)
            raise StopAsyncIteration
        return params


class AsyncClient:
    """One spawned server and the pipe to it. Belongs to one event loop."""

    def __init__(
        self,
        command: Optional[Sequence[str]] = None,
        *,
        prompts: Optional[Mapping[str, PromptFunction]] = None,
        on_log: Optional[Callable[[str], None]] = None,
        env: Optional[Mapping[str, str]] = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        """`command`: by default the einlass of `find_einlass`. `async with` starts it."""
        self.prompts: Dict[str, PromptFunction] = dict(prompts or {})
        self._command = list(command or [])
        self._env = None if env is None else dict(env)
        self._pass_fds = tuple(pass_fds)
        self._log = Log(on_log)
        self._listeners: Dict[str, List[Notifications]] = {}
        self._calls: Dict[int, AsyncCall] = {}
        self._last_id = 0
        self._gone = False
        self._questions: Dict[str, asyncio.Task[None]] = {}
        self._tasks: Set[asyncio.Task[None]] = set()  # the event loop keeps no reference to a task

    async def __aenter__(self) -> AsyncClient:
        # A session of its own, so that Ctrl-C in a terminal reaches only this program, which then closes the server.
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *(self._command or [find_einlass()]), stdin=pipe, stdout=pipe, stderr=pipe, env=self._env,
            pass_fds=self._pass_fds, start_new_session=True)
        self._task(self._read_log())
        self._reader = self._task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # Requests

    async def initialize(self, name: str, **params: Any) -> InitializeResult:
        """Sends `initialize`. Access is granted to the application `name`. Declares the prompts that have a function
        (`any`: every other kind, by `show`); further members (`title`, `applications`, `locale`) are passed on."""
        result: InitializeResult = await self.request("initialize", hello(name, self.prompts, params))
        return result

    async def request(self, method: str, params: Optional[Params] = None) -> Any:
        """Sends a request and waits for its result. To cancel the task, by `asyncio.wait_for` for example, cancels
        the request."""
        return await self.start(method, params)

    def start(self, method: str, params: Optional[Params] = None) -> AsyncCall:
        """Sends a request without waiting."""
        self._last_id += 1
        call = AsyncCall(self, self._last_id)
        if self._gone:
            call._settle(None, self._server_gone())
        else:
            self._calls[call.id] = call
            self._send({"id": call.id, "method": method, "params": dict(params or {})})
        return call

    def notify(self, method: str, params: Optional[Params] = None) -> None:
        """Sends a notification, which has no answer."""
        self._send({"method": method, "params": dict(params or {})})

    def notifications(self, method: str) -> Notifications:
        """Returns the notifications of this method from now on, for `async for`, until its `close`."""
        heard = Notifications(self._listeners.setdefault(method, []))
        if self._gone:
            heard.close()
        return heard

    # The end

    async def close(self, grace: float = 2.0) -> Optional[int]:
        """Ends the server: closes its input, waits, SIGTERM, waits, SIGKILL. Returns its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        for insist in (None, self.process.terminate, self.process.kill):
            if insist and self.process.returncode is None:
                insist()
            try:
                await asyncio.wait_for(self.process.wait(), grace)
                break
            except asyncio.TimeoutError:
                continue
        if asyncio.current_task() is not self._reader:
            await asyncio.wait([self._reader], timeout=grace)  # every pending call has failed now
        return self.process.returncode

    # Lines

    def _send(self, message: Dict[str, Any]) -> None:
        assert self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(to_line(message))  # a lost pipe is seen at the end of the output

    async def _read(self) -> None:
        assert self.process.stdout is not None
        lines = Lines()
        try:
            while chunk := await self.process.stdout.read(65536):
                for line in lines.feed(chunk):
                    self._receive(line)
            # For the exit code; no longer, because the server may still be saving a token.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.process.wait(), 0.5)
        finally:  # after a failure too, because the calls wait for it
            self._end()

    def _end(self) -> None:
        self._gone = True
        waiting, self._calls = self._calls, {}
        for call in waiting.values():
            call._settle(None, self._server_gone())
        for heard in self._listeners.values():
            for listener in list(heard):
                listener.close()
        for question in self._questions.values():
            question.cancel()

    def _receive(self, line: bytes) -> None:
        message = from_line(line)
        if message is None:
            return
        if "method" not in message:
            return settle(self._calls, message)
        params = message["params"]
        for heard in self._listeners.get(message["method"], ()):
            heard._queue.put_nowait(params)
        prompt = str(params.get("prompt"))
        if message["method"] == "prompt.opened":
            self._questions[prompt] = self._task(self._ask(prompt, params))
        elif message["method"] == "prompt.closed" and prompt in self._questions:
            self._questions.pop(prompt).cancel()

    def _server_gone(self) -> ServerGone:
        return ServerGone(self.process.returncode, self._log.last)

    async def _read_log(self) -> None:
        """Drains stderr all the time, because a full log pipe blocks the server."""
        assert self.process.stderr is not None
        lines = Lines(longest=65536)
        while chunk := await self.process.stderr.read(65536):
            self._log.add(lines.feed(chunk))
        self._log.add(lines.end())

    # Prompts

    async def _ask(self, prompt: str, params: Dict[str, Any]) -> None:
        function = self.prompts.get(str(params.get("kind")), self.prompts.get("any"))
        answer: Answer = None
        with logging_failure(params.get("kind")):
            if inspect.iscoroutinefunction(function):
                answer = await function(params)
            elif function:
                given = await asyncio.to_thread(function, params)
                answer = await given if inspect.isawaitable(given) else given
        self._questions.pop(prompt, None)  # from here on prompt.closed follows from the answer
        try:
            await self.request("prompt.answer", to_answer(prompt, answer))
        except EinlassError as error:
            if again := answer_after(prompt, error):
                self.start("prompt.answer", again)
