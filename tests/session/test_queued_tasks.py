"""Tasks that were queued, end to end."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.stances import DAY, Held, until
from tests.support.model_server import ModelServer
from tests.support.session import Sessions
from yagent.protocol.events import TaskPaused
from yagent.protocol.ops import ContinueTask, PauseTask, QueueTask, Shutdown, StartTask
from yagent.protocol.stop import StopReason
from yagent.session.refused import TaskRefused


async def test_queued_tasks_run_in_order_in_one_conversation_and_are_seen_in_the_snapshot(
    sessions: Sessions, model_server: ModelServer
) -> None:
    script = Held(model_server, {"are the Director": ["a", "b", "c"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        tasks = [asyncio.ensure_future(opened.session.submit(op)) for op in (StartTask("one"), QueueTask("two"), QueueTask("three"))]
        await until(lambda: script.waiting)
        assert opened.session.snapshot().queued == ("two", "three")
        script.release("are the Director")
        results = await asyncio.gather(*tasks)
        assert [result.answer for result in results if result is not None] == ["a", "b", "c"]
        assert opened.session.snapshot().queued == ()
        last = await opened.session.submit(Shutdown())
        assert last is None


async def test_a_pause_that_outlives_its_task_holds_the_next_one_in_the_queue(sessions: Sessions, model_server: ModelServer) -> None:
    script = Held(model_server, {"are the Director": ["a", "b", "c"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        first, second = (asyncio.ensure_future(opened.session.submit(op)) for op in (StartTask("one"), QueueTask("two")))
        await until(lambda: script.waiting)
        await opened.session.submit(PauseTask())
        script.release("are the Director")
        await first
        await until(lambda: opened.told(TaskPaused))
        await asyncio.sleep(DAY)
        assert len(model_server.exchanges) == 1
        await opened.session.submit(ContinueTask())
        assert (result := await second) is not None
        assert result.answer == "b"
        assert (await opened.do("three")).answer == "c", "a task that is started anew is not paused"


async def test_closing_the_session_refuses_what_is_queued(sessions: Sessions, model_server: ModelServer) -> None:
    script = Held(model_server, {"are the Director": ["a"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        first, second = (asyncio.ensure_future(opened.session.submit(op)) for op in (StartTask("one"), QueueTask("two")))
        await until(lambda: script.waiting)
        await opened.session.submit(Shutdown())
        assert (result := await first) is not None
        assert result.stop_reason is StopReason.CANCELLED
        with pytest.raises(TaskRefused, match="closed before this task could begin: two"):
            await second
        with pytest.raises(TaskRefused, match="closed"):
            await opened.session.submit(StartTask("three"))
