"""The one door to time: what it is now, how to wait, and how long something may take.

A `Clock` is passed in wherever time matters, so that tests replace it and never wait for real.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import field
from datetime import UTC, datetime
from typing import Protocol

from yagent.records import dataclass


class Clock(Protocol):
    """Time as yagent sees it.

    `now` and the event loop's own time are one scale, so the `asyncio.Timeout` that `timeout` gives can be
    moved with `reschedule(clock.now() + seconds)` while it runs.
    """

    def now(self) -> float:
        """Seconds on a scale that only ever grows; its zero means nothing."""
        ...

    def wall(self) -> datetime:
        """The calendar time, aware and in UTC. It may jump; never subtract two of them to measure."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less only lets other tasks run."""
        ...

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """An async context manager that cancels its body after `seconds` and raises `TimeoutError`; None never does."""
        ...

    def deadline(self, seconds: float | None) -> Deadline:
        """The moment `seconds` from now; None is the deadline that never comes."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment until which something may take; `expires_at` is in seconds of `clock.now()`, None for never."""

    expires_at: float | None
    clock: Clock = field(repr=False, compare=False)

    def remaining(self) -> float | None:
        """Seconds left, never below zero; None when there is no limit. Fits `Clock.timeout`."""
        return None if self.expires_at is None else max(0.0, self.expires_at - self.clock.now())

    @property
    def passed(self) -> bool:
        """Whether the moment has come."""
        return self.remaining() == 0.0

    def earlier(self, other: Deadline) -> Deadline:
        """The stricter of two deadlines: a request never outlives its caller."""
        if other.expires_at is None:
            return self
        return other if self.expires_at is None or other.expires_at < self.expires_at else self


async def breathe() -> None:
    """Let other tasks run once, without any time passing; for loops that might otherwise keep the event loop for long."""
    await asyncio.sleep(0)


class SystemClock:
    """The real clock."""

    def now(self) -> float:
        """See `Clock.now`."""
        return time.monotonic()

    def wall(self) -> datetime:
        """See `Clock.wall`."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """See `Clock.timeout`."""
        return asyncio.timeout(seconds)

    def deadline(self, seconds: float | None) -> Deadline:
        """See `Clock.deadline`."""
        return Deadline(None if seconds is None else self.now() + seconds, self)
