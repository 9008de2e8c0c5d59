"""Stopping a task at a chosen moment, as a user does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.support.session import Opened
from yagent.protocol.ops import StartTask, StopTask
from yagent.protocol.result import TaskResult

STEPS = 3000  # of 10 ms of the loop's own time


async def until(condition: Callable[[], object]) -> None:
    """Wait in the time of the loop until `condition()` holds."""
    for _ in range(STEPS):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come true")


async def stopped(opened: Opened, prompt: str, when: Callable[[], object]) -> TaskResult:
    """Start a task, stop it when `when()` holds; how it ended."""
    task = asyncio.ensure_future(opened.session.submit(StartTask(prompt)))
    await until(lambda: task.done() or when())
    assert not task.done(), f"it ended before it could be stopped: {task.result()}"
    await opened.session.submit(StopTask())
    result = await task
    assert result is not None
    return result
