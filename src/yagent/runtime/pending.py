"""Questions waiting for an answer: id → future."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from yagent.errors import YagentError

A = TypeVar("A")


class DuplicateAskError(YagentError):
    """An ask was opened with an id that is already waiting."""


class Pending(Generic[A]):
    """Asks of any number of agents, answered in any order. Nothing stays behind: cancelling who waits removes the entry."""

    def __init__(self) -> None:
        self._asks: dict[str, asyncio.Future[A]] = {}

    def open(self, ask_id: str) -> asyncio.Future[A]:
        """Register an ask and give what to await. Open first and publish then, so that no answer comes too early.

        Raises:
            DuplicateAskError: the id is already waiting.
        """
        if ask_id in self._asks:
            raise DuplicateAskError(f"ask {ask_id!r} is already waiting for its answer; give each ask its own id")
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._asks[ask_id] = future
        future.add_done_callback(lambda done: self._forget(ask_id, done))
        return future

    def answer(self, ask_id: str, value: A) -> bool:
        """Deliver an answer; False when nobody waits for it (unknown, answered already, or given up)."""
        future = self._asks.pop(ask_id, None)
        if future is None or future.done():
            return False
        future.set_result(value)
        return True

    def waiting(self) -> list[str]:
        """Ids of the asks without an answer, oldest first."""
        return [ask_id for ask_id, future in self._asks.items() if not future.done()]

    def _forget(self, ask_id: str, future: asyncio.Future[A]) -> None:
        if self._asks.get(ask_id) is future:
            del self._asks[ask_id]
        if not future.cancelled():
            future.exception()  # marks it as seen: an ask nobody awaited any more is no unhandled error
