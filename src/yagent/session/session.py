"""A session: one conversation in one workspace, behind the client port. One `match` turns ops into runs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ClassVar

from yagent.errors import YagentError
from yagent.protocol.client import ListSessions, Question, Snapshot
from yagent.protocol.events import Event, Payload
from yagent.protocol.ops import AnswerAsk, Op, Shutdown, StartTask, StopTask
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import USAGE
from yagent.rollout.reader import SessionSummary
from yagent.runtime.bus import Bus
from yagent.runtime.supervise import Handle
from yagent.session.tasks import TaskRunner
from yagent.session.workshop import Workshop


class TaskRefused(YagentError):
    """A task cannot start now."""

    exit_code: ClassVar[int] = USAGE


class Session:
    """The in-process `Client`. Made by `open_session`, which also closes it."""

    def __init__(
        self,
        shop: Workshop,
        tasks: TaskRunner,
        bus: Bus[Event],
        list_sessions: Callable[[int], Sequence[SessionSummary]],
        *,
        opening: Sequence[Payload],
    ) -> None:
        self._shop = shop
        self._opening = list(opening)  # what happened before anybody could listen; told with the first task
        self._tasks = tasks
        self._bus = bus
        self._list_sessions = list_sessions
        self._running: Handle[TaskResult] | None = None

    async def submit(self, op: Op) -> TaskResult | None:
        """See `Client.submit`. `StartTask` raises `TaskRefused` while a task is running."""
        match op:
            case StartTask():
                return await self._start(op)
            case StopTask():
                self._tasks.stop()
            case AnswerAsk():
                self._shop.asks.answer(op.ask_id, op.answer)
            case Shutdown():
                await self._shutdown()
        return None

    def events(self) -> AsyncIterator[Event]:
        """Everything from now on; nothing is dropped, because a one-shot run writes it out."""
        return aiter(self._bus.subscribe(lossless=True, name="client"))

    def snapshot(self) -> Snapshot:
        """The state now."""
        identity = self._shop.engine("director", None).identity
        return Snapshot(
            session=self._shop.session,
            workspace=str(self._shop.workspace),
            model=identity.model,
            mode=str(self._tasks.mode),
            running=self._running is not None and not self._running.done(),
        )

    async def query(self, question: Question) -> Any:
        """The answer to a question about lists."""
        match question:
            case ListSessions():
                return self._list_sessions(question.limit)

    async def _start(self, op: StartTask) -> TaskResult:
        if self._running is not None and not self._running.done():
            raise TaskRefused("A task is running in this session already. Wait for it, steer it, or stop it first.")
        while self._opening:
            self._shop.publisher.publish(self._opening.pop(0))
        self._running = self._shop.domain.go("task", self._tasks.run(op.prompt))
        try:
            return await self._running
        except asyncio.CancelledError:
            self._tasks.stop()
            raise

    async def _shutdown(self) -> None:
        """Stop what runs, wait for its end, and let the events run out."""
        self._tasks.stop()
        if self._running is not None:
            await self._running.outcome()
        self._bus.close()
