"""The tasks of a session: one at a time, and those that wait for it in the order of their coming."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from yagent.protocol.result import TaskResult
from yagent.records import dataclass
from yagent.runtime.supervise import Domain, Handle
from yagent.session.refused import TaskRefused

SHOWN = 200  # characters of a task's words in a message

Run: TypeAlias = Callable[[], Coroutine[Any, Any, TaskResult]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    prompt: str
    run: Run
    begun: asyncio.Future[Handle[TaskResult]]


class TaskQueue:
    """Runs tasks in `domain`. `stop()` ends the running one, for a caller who no longer waits for its result; `before_next()` is called
    when one that has waited begins."""

    def __init__(self, domain: Domain, stop: Callable[[], None], before_next: Callable[[], None]) -> None:
        self._domain = domain
        self._stop = stop
        self._before_next = before_next
        self._running: Handle[TaskResult] | None = None
        self._queue: deque[_Waiting] = deque()
        self._closed = False

    @property
    def running(self) -> Handle[TaskResult] | None:
        """The task under way."""
        return self._running if self._running is not None and not self._running.done() else None

    @property
    def waiting(self) -> tuple[str, ...]:
        """The words of the tasks that wait, in their order."""
        return tuple(each.prompt for each in self._queue if not each.begun.done())

    async def start(self, run: Run) -> TaskResult:
        """Carry out a task that begins now.

        Raises:
            TaskRefused: one is running, or others wait, or the session is closed.
        """
        self._check_open()
        if self.running is not None:
            raise TaskRefused("A task is running in this session already. Wait for it, steer it, queue behind it, or stop it first.")
        if self.waiting:
            raise TaskRefused("Other tasks wait in this session already. Queue this one behind them.")
        return await self._result(self._begin(run))

    async def queue(self, prompt: str, run: Run) -> TaskResult:
        """Carry out a task when those before it have ended; at once when there are none. A cancelled caller takes it back.

        Raises:
            TaskRefused: the session is closed, or was before the task could begin.
        """
        self._check_open()
        if self.running is None and not self.waiting:
            return await self._result(self._begin(run))
        waiting = _Waiting(prompt, run, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        try:
            handle = await waiting.begun
        except asyncio.CancelledError:
            if not waiting.begun.cancelled():
                self._stop()  # it began in this very moment
            raise
        return await self._result(handle)

    def close(self) -> None:
        """Refuse what waits, and whatever comes."""
        self._closed = True
        while self._queue:
            waiting = self._queue.popleft()
            if not waiting.begun.done():
                words = " ".join(waiting.prompt.split())[:SHOWN]
                waiting.begun.set_exception(TaskRefused(f"The session was closed before this task could begin: {words}"))

    def _check_open(self) -> None:
        if self._closed:
            raise TaskRefused("This session is closed. Open another one.")

    def _begin(self, run: Run) -> Handle[TaskResult]:
        handle = self._running = self._domain.go("task", run())
        handle.when_done(self._next)
        return handle

    async def _result(self, handle: Handle[TaskResult]) -> TaskResult:
        try:
            return await handle
        except asyncio.CancelledError:
            if not handle.done():
                self._stop()
            raise

    def _next(self) -> None:
        """Begin the next one, in the same moment in which the one before is seen to have ended: nobody comes in between."""
        while self._queue and self.running is None:
            waiting = self._queue.popleft()
            if not waiting.begun.done():
                self._before_next()
                waiting.begun.set_result(self._begin(waiting.run))
