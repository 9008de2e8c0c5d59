"""A block of work that can be ended from outside while the task that runs it goes on."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Stoppable:
    """What `asyncio.timeout` does when the time is over, at somebody's word: `stop()` cancels the `with` block, and only that.

    A cancellation of the task itself, or of a block around this one, passes through as ever. The word must come from another task.
    """

    def __init__(self) -> None:
        self.stopped = False
        self._task: asyncio.Task[object] | None = None
        self._before = 0

    def stop(self) -> None:
        """End the block; one that is entered later ends at its first wait. Without effect afterwards, and the second time."""
        if not self.stopped:
            self.stopped = True
            if self._task is not None:
                self._task.cancel()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a block can only be stopped inside a task")
        self._task, self._before = task, task.cancelling()
        if self.stopped:
            task.cancel()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        task, self._task = self._task, None
        if task is None or not self.stopped:
            return False
        return task.uncancel() <= self._before and isinstance(error, asyncio.CancelledError)
