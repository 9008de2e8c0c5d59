"""Run the calls of one assistant message.

Consecutive calls that may run beside others form a group and run together; every other call runs alone, and nothing of another group is in
flight meanwhile. Results are in call order; inside a group no start order is promised. This module knows nothing of tools: it is given
functions.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import Final, Generic, TypeVar

from yagent.runtime.supervise import together

C = TypeVar("C")
R = TypeVar("R")

DEFAULT_LIMIT: Final = 4
HIGHEST_LIMIT: Final = 8


class Batch(Generic[C, R]):
    """One batch. Each call gets exactly one result, however `run` ends.

    `execute` gives a call's result; `cancelled_result` gives the result of a call that was cancelled or never began. `limit` bounds how
    many calls of a group run at once (at most 8). `apart` tells calls that have a limit of their own (delegations, B-40), and that limit;
    they and the others do not wait for each other, unless both limits are 1, which is strictly serial.
    """

    def __init__(
        self,
        calls: Sequence[C],
        *,
        parallelizable: Callable[[C], bool],
        execute: Callable[[C], Awaitable[R]],
        cancelled_result: Callable[[C], R],
        limit: int = DEFAULT_LIMIT,
        apart: tuple[Callable[[C], bool], int] | None = None,
    ) -> None:
        self._calls = tuple(calls)
        self._parallelizable = parallelizable
        self._execute = execute
        self._cancelled_result = cancelled_result
        self._limit = _bounded(limit)
        self._apart = apart
        self._finished: dict[int, R] = {}

    @property
    def results(self) -> tuple[R, ...]:
        """One result per call, in call order. Complete at any moment, also after `run` raised: what did not end counts as cancelled."""
        return tuple(
            self._finished[position] if position in self._finished else self._cancelled_result(call)
            for position, call in enumerate(self._calls)
        )

    async def run(self) -> tuple[R, ...]:
        """Run everything and return the results.

        Cancelling stops what runs, waits for it to stop and raises CancelledError; so does an exception of `execute`, which is raised as it
        is. In both cases `results` is complete.
        """
        for side_by_side, group in groupby(range(len(self._calls)), key=self._may_run_beside_others):
            positions = tuple(group)
            for part in [positions] if side_by_side else [(position,) for position in positions]:
                await self._run_group(part)
        return self.results

    def _may_run_beside_others(self, position: int) -> bool:
        """Whether the call at this position may share a group."""
        return self._parallelizable(self._calls[position])

    async def _run_group(self, positions: Sequence[int]) -> None:
        """Run one group, at most the limit of calls at once; the first failure is raised after all of it ended."""
        if len(positions) == 1:
            await self._run_one(positions[0])
            return
        slots = asyncio.Semaphore(self._limit)
        apart = self._slots_apart(slots)
        running = [
            (f"call {position}", self._run_in_slot(position, apart if self._is_apart(position) else slots)) for position in positions
        ]
        outcomes = await together(running)
        for outcome in outcomes:
            outcome.result()

    def _slots_apart(self, slots: asyncio.Semaphore) -> asyncio.Semaphore:
        """The slots of the calls that have a limit of their own."""
        limit = self._limit if self._apart is None else _bounded(self._apart[1])
        return slots if self._apart is None or limit == self._limit == 1 else asyncio.Semaphore(limit)

    def _is_apart(self, position: int) -> bool:
        """Whether the call at this position has a limit of its own."""
        return self._apart is not None and self._apart[0](self._calls[position])

    async def _run_in_slot(self, position: int, slots: asyncio.Semaphore) -> None:
        """Run one call of a group when there is room."""
        async with slots:
            await self._run_one(position)

    async def _run_one(self, position: int) -> None:
        """Run one call and keep its result. A call that is cancelled from inside (nobody cancelled us) only loses its own result."""
        try:
            self._finished[position] = await self._execute(self._calls[position])
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self._finished[position] = self._cancelled_result(self._calls[position])


def _bounded(limit: int) -> int:
    return max(1, min(limit, HIGHEST_LIMIT))
