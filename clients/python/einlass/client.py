"""Spawns einlass, sends it requests, answers its prompts and closes it.

    with Client(prompts={"selectAccount": pick}) as einlass:
        einlass.initialize("my-editor")
        result = einlass.request("auth.perform", {"provider": "twitter"})

A message is one line of JSON. Responses are matched by id, in any order. Notification functions run in order of
arrival on a thread of their own. Prompts are asked one after the other on another thread, or `together`.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from .find import find_einlass
from .wire import Answer as Answer
from .wire import EinlassError as EinlassError
from .wire import Lines, Log, Params, answer_after, from_line, hello, logging_failure
from .wire import ServerGone as ServerGone
from .wire import settle, to_answer, to_line

if TYPE_CHECKING:  # because a program with few requests would load them longer than it runs
    from .protocol_types import InitializeResult

PromptFunction = Callable[[Dict[str, Any]], Answer]
NotificationFunction = Callable[[Dict[str, Any]], None]


class Call:
    """A request, answered or not yet."""

    def __init__(self, client: Client, identifier: int) -> None:
        self.id = identifier
        self._client = client
        self._future: Future[Any] = Future()

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the answer. Raises EinlassError, or TimeoutError, after which the request still runs."""
        try:
            return self._future.result(timeout)
        except FutureTimeout:
            raise TimeoutError(f"no answer within {timeout} s") from None

    def cancel(self) -> None:
        """Asks the server to give up. The request is still answered: with -32800, unless it had just finished."""
        if not self._future.done():
            self._client.notify("$/cancelRequest", {"id": self.id})

    def _settle(self, result: Any = None, error: Optional[EinlassError] = None) -> None:
        try:
            self._future.set_exception(error) if error else self._future.set_result(result)
        except InvalidStateError:
            pass  # already settled: the first outcome counts


class Client:
    """One spawned server and the pipe to it. Safe to use from several threads."""

    def __init__(
        self,
        command: Optional[Sequence[str]] = None,
        *,
        prompts: Optional[Mapping[str, PromptFunction]] = None,
        on_log: Optional[Callable[[str], None]] = None,
        env: Optional[Mapping[str, str]] = None,
        pass_fds: Sequence[int] = (),
        together: bool = False,
    ) -> None:
        """Starts `command`, or the einlass of `find_einlass`. `together`: each prompt is asked on a thread of its own,
        as soon as it opens."""
        self.prompts: Dict[str, PromptFunction] = dict(prompts or {})
        self._listeners: Dict[str, List[NotificationFunction]] = {}
        self._calls: Dict[int, Call] = {}
        self._last_id = 0
        self._gone = False
        self._lock = threading.Lock()  # guards _listeners, _calls, _last_id and _gone
        self._writing = threading.Lock()  # one line at a time
        self._log = Log(on_log)
        self._notifications: queue.SimpleQueue[Optional[Dict[str, Any]]] = queue.SimpleQueue()
        self._questions: queue.SimpleQueue[Optional[Dict[str, Any]]] = queue.SimpleQueue()
        self._open_prompts: set[str] = set()
        self._together = together
        # A session of its own, so that Ctrl-C in a terminal reaches only this program, which then closes the server.
        self.process = subprocess.Popen(
            list(command or [find_einlass()]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, env=None if env is None else dict(env), pass_fds=tuple(pass_fds), start_new_session=True,
        )
        self._reader, self._log_reader = self._thread(self._read), self._thread(self._read_log)
        self._thread(self._run_listeners)
        self._thread(self._ask)

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"einlass {work.__name__}", daemon=True)
        thread.start()
        return thread

    # Requests

    def initialize(self, name: str, *, timeout: Optional[float] = None, **params: Any) -> InitializeResult:
        """Sends `initialize`. Access is granted to the application `name`. Declares the prompts that have a function
        (`any`: every other kind, by `show`); further members (`title`, `applications`, `locale`) are passed on."""
        result: InitializeResult = self.request("initialize", hello(name, self.prompts, params), timeout)
        return result

    def request(self, method: str, params: Optional[Params] = None, timeout: Optional[float] = None) -> Any:
        """Sends a request and waits for its result. A timeout or Ctrl-C cancels it."""
        call = self.start(method, params)
        try:
            return call.result(timeout)
        except EinlassError:
            raise
        except BaseException:
            call.cancel()
            raise

    def start(self, method: str, params: Optional[Params] = None) -> Call:
        """Sends a request without waiting."""
        with self._lock:
            self._last_id += 1
            call = Call(self, self._last_id)
            if gone := self._gone:
                call._settle(error=self._server_gone())
            else:
                self._calls[call.id] = call
        if not gone and not self._send({"id": call.id, "method": method, "params": dict(params or {})}):
            call._settle(error=self._server_gone())
        return call

    def notify(self, method: str, params: Optional[Params] = None) -> None:
        """Sends a notification, which has no answer."""
        self._send({"method": method, "params": dict(params or {})})

    def on(self, method: str, function: NotificationFunction) -> Callable[[], None]:
        """Calls `function` with the params of each notification of this method. Functions may send requests. Returns a
        function that ends this, to be called once."""
        def stop() -> None:
            with self._lock:
                self._listeners[method].remove(function)

        with self._lock:
            self._listeners.setdefault(method, []).append(function)
        return stop

    # The end

    def close(self, grace: float = 2.0) -> Optional[int]:
        """Ends the server: closes its input, waits, SIGTERM, waits, SIGKILL. Returns its exit code."""
        if self._writing.acquire(timeout=grace):  # a blocked writer holds the lock; a signal then ends the server
            try:
                assert self.process.stdin is not None
                self.process.stdin.close()
            finally:
                self._writing.release()
        for insist in (None, self.process.terminate, self.process.kill):
            if insist:
                insist()
            try:
                self.process.wait(grace)
                break
            except subprocess.TimeoutExpired:
                continue
        if threading.current_thread() is not self._reader:
            self._reader.join(grace)  # every pending call has failed now
        return self.process.returncode

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Lines out

    def _send(self, message: Dict[str, Any]) -> bool:
        line = to_line(message)
        with self._writing:
            pipe = self.process.stdin
            if pipe is None or pipe.closed:
                return False
            rest = memoryview(line)
            try:
                while rest:
                    rest = rest[pipe.write(rest) or 0 :]
            except OSError:
                return False
        return True

    # Lines in

    def _read(self) -> None:
        assert self.process.stdout is not None
        descriptor, lines = self.process.stdout.fileno(), Lines()
        try:
            while chunk := os.read(descriptor, 65536):
                for line in lines.feed(chunk):
                    self._receive(line)
        finally:  # after a failure too, because the calls wait for it
            self.process.stdout.close()
            self._end()

    def _receive(self, line: bytes) -> None:
        message = from_line(line)
        if message is None:
            return
        if "method" not in message:
            with self._lock:
                settle(self._calls, message)
            return
        if message["method"] == "prompt.opened":
            self._open_prompts.add(str(message["params"].get("prompt")))
        elif message["method"] == "prompt.closed":
            self._open_prompts.discard(str(message["params"].get("prompt")))
        self._notifications.put(message)

    def _end(self) -> None:
        try:
            self.process.wait(0.5)  # for the exit code; no longer, because the server may still be saving a token
        except subprocess.TimeoutExpired:
            pass
        with self._lock:
            self._gone = True
            waiting, self._calls = self._calls, {}
        for call in waiting.values():
            call._settle(error=self._server_gone())
        self._notifications.put(None)

    def _server_gone(self) -> ServerGone:
        return ServerGone(self.process.poll(), self._log.last)

    def _read_log(self) -> None:
        """Drains stderr all the time, because a full log pipe blocks the server."""
        assert self.process.stderr is not None
        with self.process.stderr as pipe:
            lines = Lines(longest=65536)
            while chunk := os.read(pipe.fileno(), 65536):  # the pipe is unbuffered: readline would read single bytes
                self._log.add(lines.feed(chunk))
            self._log.add(lines.end())

    # Callbacks

    def _run_listeners(self) -> None:
        while (message := self._notifications.get()) is not None:
            with self._lock:
                functions = list(self._listeners.get(message["method"], ()))
            for function in functions:
                with logging_failure(message["method"]):
                    function(message["params"])
            if message["method"] == "prompt.opened":  # asked after the earlier notifications were delivered
                if self._together:
                    threading.Thread(target=self._ask_one, args=(message["params"],), daemon=True).start()
                else:
                    self._questions.put(message["params"])
        self._questions.put(None)

    def _ask(self) -> None:
        while (prompt := self._questions.get()) is not None:
            self._ask_one(prompt)

    def _ask_one(self, prompt: Dict[str, Any]) -> None:
        identifier = str(prompt.get("prompt"))
        if identifier not in self._open_prompts:
            return  # closed during the answer to an earlier prompt
        answer: Answer = None
        function = self.prompts.get(str(prompt.get("kind")), self.prompts.get("any"))
        with logging_failure(prompt.get("kind")):
            answer = function(prompt) if function else None
        if identifier not in self._open_prompts:
            return  # closed by itself meanwhile
        try:
            self.request("prompt.answer", to_answer(identifier, answer))
        except EinlassError as error:
            if again := answer_after(identifier, error):
                self.start("prompt.answer", again)
