"""Tasks that wait for their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.virtual_time import VirtualClock, settle
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason
from yagent.runtime.supervise import Domain
from yagent.session.queue import TaskQueue
from yagent.session.refused import TaskRefused


def result(answer: str) -> TaskResult:
    return TaskResult(answer=answer, status="ok", stop_reason=StopReason.PLAIN_TEXT, exit_code=0, session="s")


class Tasks:
    """Tasks that take ten seconds, one after the other; `stop` ends the one under way."""

    def __init__(self, clock: VirtualClock, domain: Domain) -> None:
        self.clock = clock
        self.begun: list[str] = []
        self.waited: list[int] = []
        self.stopped = asyncio.Event()
        self.queue = TaskQueue(domain, self.stopped.set, lambda: self.waited.append(len(self.begun)))

    def run(self, name: str) -> Callable[[], Coroutine[Any, Any, TaskResult]]:
        async def task() -> TaskResult:
            self.begun.append(name)
            self.stopped.clear()
            try:
                async with self.clock.timeout(10):
                    await self.stopped.wait()
            except TimeoutError:
                return result(name)
            return result(f"{name}, stopped")

        return task

    async def queued(self, name: str) -> str:
        return (await self.queue.queue(name, self.run(name))).answer

    async def started(self, name: str) -> str:
        return (await self.queue.start(self.run(name))).answer


@asynccontextmanager
async def tasks_of(clock: VirtualClock) -> AsyncIterator[tuple[Tasks, Domain]]:
    async with Domain("session") as session, Domain("callers") as callers:
        yield Tasks(clock, session), callers


async def test_tasks_run_in_the_order_in_which_they_were_queued_and_each_has_its_own_result(clock: VirtualClock) -> None:
    async with tasks_of(clock) as (tasks, callers):
        handles = [callers.go("start", tasks.started("a"))] + [callers.go("queue", tasks.queued(name)) for name in "bcd"]
        await settle()
        assert (tasks.begun, tasks.queue.waiting) == (["a"], ("b", "c", "d"))
        assert [await handle for handle in handles] == ["a", "b", "c", "d"]
        assert (tasks.begun, tasks.queue.waiting, tasks.queue.running) == (["a", "b", "c", "d"], (), None)
        assert tasks.waited == [1, 2, 3], "whoever waited is told of before it begins"
        assert await tasks.queued("e") == "e"


async def test_nobody_comes_in_between(clock: VirtualClock) -> None:
    async with tasks_of(clock) as (tasks, callers):
        first = callers.go("start", tasks.started("a"))
        await settle()
        waiting = callers.go("queue", tasks.queued("b"))
        await first
        with pytest.raises(TaskRefused):
            await tasks.started("impatient")
        assert await waiting == "b"
        assert tasks.begun == ["a", "b"]


async def test_a_task_is_refused_while_one_runs_and_the_message_says_what_to_do(clock: VirtualClock) -> None:
    async with tasks_of(clock) as (tasks, callers):
        callers.go("start", tasks.started("a"))
        await settle()
        with pytest.raises(TaskRefused, match=r"running.*queue"):
            await tasks.started("b")


async def test_a_caller_who_gives_up_takes_his_waiting_task_back(clock: VirtualClock) -> None:
    async with tasks_of(clock) as (tasks, callers):
        handles = [callers.go("start", tasks.started("a"))] + [callers.go("queue", tasks.queued(name)) for name in "bc"]
        await settle()
        handles[1].cancel()
        await settle()
        assert tasks.queue.waiting == ("c",)
        assert [await handles[0], await handles[2]] == ["a", "c"]
        assert tasks.begun == ["a", "c"]


async def test_a_caller_who_gives_up_stops_his_running_task_and_the_next_one_begins(clock: VirtualClock) -> None:
    async with tasks_of(clock) as (tasks, callers):
        first, second = callers.go("start", tasks.started("a")), callers.go("queue", tasks.queued("b"))
        await settle()
        started = clock.now()
        first.cancel()
        assert await second == "b"
        assert clock.now() - started == 10


async def test_closing_refuses_what_waits_and_whatever_comes(clock: VirtualClock) -> None:
    async with tasks_of(clock) as (tasks, callers):
        first, second = callers.go("start", tasks.started("a")), callers.go("queue", tasks.queued("do b, please"))
        await settle()
        tasks.queue.close()
        with pytest.raises(TaskRefused, match="closed before this task could begin: do b, please"):
            await second
        assert await first == "a", "the running one is not touched"
        for late in (tasks.started("c"), tasks.queued("c")):
            with pytest.raises(TaskRefused, match="closed"):
                await late
        assert tasks.begun == ["a"]


async def test_a_task_that_fails_gives_way_to_the_next(clock: VirtualClock) -> None:
    async def broken() -> TaskResult:
        raise ValueError("it broke")

    async with tasks_of(clock) as (tasks, callers):
        first, second = callers.go("start", tasks.queue.start(broken)), callers.go("queue", tasks.queued("b"))
        with pytest.raises(ValueError, match="it broke"):
            await first
        assert await second == "b"
