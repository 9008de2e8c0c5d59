"""A session: one conversation in one workspace, behind the client port. One `match` turns ops into runs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from yagent.protocol.client import ListSessions, ListUnderWay, Question, Snapshot
from yagent.protocol.events import Event, Payload
from yagent.protocol.ops import (
    AnswerAsk,
    CompactTask,
    ContinueTask,
    Op,
    PauseTask,
    QueueTask,
    ResumeTask,
    Shutdown,
    StartTask,
    SteerTask,
    StopTask,
)
from yagent.protocol.result import TaskResult
from yagent.runtime.bus import Bus
from yagent.session.queue import TaskQueue
from yagent.session.tasks import TaskRunner
from yagent.session.workshop import Workshop

if TYPE_CHECKING:
    from yagent.rollout.index import SessionSummary

logger = logging.getLogger(__name__)

LEAVE_SECONDS = 1.0  # for agents of a paused task that have not come to their gate yet


class Session:
    """The in-process `Client`. Made by `open_session`, which also closes it. `bus` carries its events."""

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
        self._began_with = tasks.began_with
        self._opening = list(opening)  # what happened before anybody could listen; told with the first task
        self._tasks = tasks
        self._controls = tasks.controls
        self.bus = bus
        self._list_sessions = list_sessions
        self._queue = TaskQueue(shop.domain, self._controls.stop_all, self._controls.stay_paused)

    async def submit(self, op: Op) -> TaskResult | None:
        """See `Client.submit`. What cannot be done now raises `TaskRefused`."""
        match op:
            case StartTask() | ResumeTask() | QueueTask() | CompactTask():
                return await self._begun(op)
            case PauseTask():
                self._controls.pause(op.delegation_id)
            case ContinueTask():
                self._controls.go_on(op.delegation_id)
            case SteerTask():
                self._controls.steer(op.text, op.delegation_id)
            case StopTask():
                logger.info("%s is stopped: %s", op.delegation_id or "the task", op.reason)
                self._controls.stop(op.delegation_id, hard=op.hard)
            case AnswerAsk():
                self._shop.asks.answer(op.ask_id, op.answer)
            case Shutdown():
                await self._shutdown()
        return None

    async def _begun(self, op: StartTask | ResumeTask | QueueTask | CompactTask) -> TaskResult:
        match op:
            case StartTask():
                return await self._queue.start(partial(self._work, partial(self._tasks.run, op.prompt)))
            case ResumeTask():
                return await self._queue.start(partial(self._work, self._tasks.going_on))
            case QueueTask():
                return await self._queue.queue(op.prompt, partial(self._work, partial(self._tasks.run, op.prompt)))
            case CompactTask():
                return await self._queue.start(partial(self._work, self._tasks.compaction))

    def events(self) -> AsyncIterator[Event]:
        """Everything from now on; nothing is dropped, because a one-shot run writes it out."""
        return aiter(self.bus.subscribe(lossless=True, name="client"))

    def snapshot(self) -> Snapshot:
        """The state now."""
        identity = self._shop.engine("director", None).identity
        return Snapshot(
            session=self._shop.session,
            workspace=str(self._shop.workspace),
            model=identity.model,
            mode=str(self._tasks.mode),
            running=self._queue.running is not None,
            paused=self._controls.paused,
            agents=self._controls.snapshot(),
            queued=self._queue.waiting,
            resumable=self._tasks.is_resumable,
            began_with=self._began_with,
            compressions=self._shop.fittings.statistics,
        )

    async def query(self, question: Question) -> Any:
        """The answer to a question about lists."""
        match question:
            case ListSessions():
                return self._list_sessions(question.limit)
            case ListUnderWay():
                return await self._tasks.under_way()

    def _work(self, run: Callable[[], Coroutine[Any, Any, TaskResult]]) -> Coroutine[Any, Any, TaskResult]:
        """A task that begins now: whatever is asked of it from this moment on reaches it."""
        task = run()  # refuses what may not go on
        while self._opening:
            self._shop.publisher.publish(self._opening.pop(0))
        self._controls.begin()
        return self._ended(task)

    async def _ended(self, task: Coroutine[Any, Any, TaskResult]) -> TaskResult:
        try:
            return await task
        finally:
            self._controls.end()
            self.bus.warn_dropped(self._tasks.current)

    async def _shutdown(self) -> None:
        """Refuse what waits, stop what runs, wait for its end, and let the events run out. Who stands still at a pause ends as paused."""
        self._queue.close()
        running = self._queue.running
        if running is not None:
            if self._controls.abandon():
                with suppress(TimeoutError):
                    async with self._shop.clock.timeout(LEAVE_SECONDS):
                        await running.outcome()
            self._controls.stop_all()
            await running.outcome()
        self.bus.close()
