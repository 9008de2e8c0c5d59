"""Idle and total limits of a delegation that stop while nobody is to blame for the waiting.

Idle counts only while nothing is in flight: no model call, tool, queue, backoff or ask. Both limits stand still while the
run is paused, the user is asked, or a slot is awaited. Source: decisions "Timers", requirements G-17, I-19, I-20.

A delegation's time lies within its parent's, and its parent keeps a share: whoever hands out its time can still hear the result and answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar

from yagent.errors import YagentError
from yagent.runtime.clock import Clock
from yagent.runtime.gate import Gate

T = TypeVar("T")

KEPT_SECONDS = 240.0  # what an agent keeps of its time when it delegates: for a last step below and an answer of its own
KEPT_SHARE = 0.25  # of what it has left, when that is less
LAST_STEP_SECONDS = 120.0


class ActivityTimeoutError(YagentError):
    """A delegation ran out of time; the subclass says which limit it was."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(text)
        self.seconds = seconds


class IdleTimeoutError(ActivityTimeoutError):
    """Nothing was in flight and nothing happened for the whole idle limit."""


class TotalTimeoutError(ActivityTimeoutError):
    """The whole run took longer than its total limit."""


class TaskTimeoutError(TotalTimeoutError):
    """The time of the whole task, or a delegation's share of it, is over."""


class _Limit(Enum):
    IDLE = "idle"
    TOTAL = "total"


class Activity:
    """The timers of one delegation; limits in seconds, None for none.

    What a child does counts for its `parent` too: a busy child keeps the parent from being idle, a frozen one freezes it.
    Time starts to count with `run`, so that queueing before it is free.
    """

    def __init__(self, clock: Clock, *, idle: float | None = None, total: float | None = None, parent: Activity | None = None) -> None:
        self._clock = clock
        self._idle = idle
        self._total = total
        self._parent = parent
        self._is_tasks = False  # the total limit is the task's, or a share of it
        self._busy = 0
        self._frozen = 0
        self._used = 0.0
        self._counting_since: float | None = None
        self._idle_since = 0.0
        self._running = False
        self._timeout: asyncio.Timeout | None = None
        self._due: _Limit | None = None

    def heartbeat(self) -> None:
        """Something happened: idle counts from now."""
        self._idle_since = self._clock.now()
        self._plan()
        if self._parent is not None:
            self._parent.heartbeat()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """A model call, tool or backoff is in flight: idle does not count, total does."""
        self._shift_busy(1)
        try:
            yield
        finally:
            self._shift_busy(-1)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Nobody works on this delegation (user asked, slot awaited): neither limit counts. Afterwards idle starts anew."""
        self._shift_frozen(1)
        try:
            yield
        finally:
            self._shift_frozen(-1)

    @contextmanager
    def follow(self, gate: Gate) -> Iterator[None]:
        """Freeze whenever the gate is paused, for the block's duration."""
        held = False

        def changed(paused: bool) -> None:
            nonlocal held
            if paused != held:
                held = paused
                self._shift_frozen(1 if paused else -1)

        stop = gate.listen(changed)
        try:
            yield
        finally:
            stop()
            changed(paused=False)

    def used(self) -> float:
        """Seconds counted against the total limit so far."""
        return self._used + (0.0 if self._counting_since is None else self._clock.now() - self._counting_since)

    def remaining_total(self) -> float | None:
        """Seconds left of the total limit, the parent's included; None when there is no limit."""
        own = None if self._total is None else max(0.0, self._total - self.used())
        above = None if self._parent is None else self._parent.remaining_total()
        known = [left for left in (own, above) if left is not None]
        return min(known, default=None)

    def below(self, *, idle: float | None, total: float | None) -> Activity:
        """The timers of a delegation: its total is what is left here less what is kept for the answer, and `total` at most."""
        left = self.remaining_total()
        share = None if left is None else left - min(KEPT_SECONDS, left * KEPT_SHARE)
        is_cut = share is not None and (total is None or share < total)
        child = Activity(self._clock, idle=idle, total=share if is_cut else total, parent=self)
        child._is_tasks = is_cut and (self._parent is None or self._is_tasks)
        return child

    def last_step(self) -> float:
        """Seconds a delegation may take to hand over when its total is over: two minutes, and half of what is left above at most."""
        above = None if self._parent is None else self._parent.remaining_total()
        return LAST_STEP_SECONDS if above is None else min(LAST_STEP_SECONDS, above / 2)

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the delegation's work within its limits; it is cancelled, and awaited, when one fires.

        Raises:
            IdleTimeoutError: the idle limit fired.
            TotalTimeoutError: the total limit fired.
        """
        self._begin()
        try:
            async with self._clock.timeout(None) as timeout:
                self._timeout = timeout
                self._plan()
                return await coroutine
        except TimeoutError as error:
            if not timeout.expired():
                raise  # the work's own time-out, not ours
            raise self._timeout_error() from error
        finally:
            self._end()

    def _begin(self) -> None:
        self._running = True
        self._due = None
        self._idle_since = self._clock.now()
        if not self._frozen:
            self._counting_since = self._idle_since

    def _end(self) -> None:
        self._stop_counting()
        self._running = False
        self._timeout = None

    def _timeout_error(self) -> ActivityTimeoutError:
        if self._due is _Limit.IDLE and self._idle is not None:
            return IdleTimeoutError(f"nothing happened for {self._idle:g} s, so the work was stopped", self._idle)
        total = self._total or 0.0
        if self._is_tasks:
            return TaskTimeoutError(f"its share of {total:.0f} s of the task's time is used up; give the task more time", total)
        text = f"the time limit of {total:g} s is used up; give a higher one or a smaller task"
        return TotalTimeoutError(text, total)

    def _shift_busy(self, step: int) -> None:
        self._busy += step
        if not self._busy:
            self._idle_since = self._clock.now()
        self._plan()
        if self._parent is not None:
            self._parent._shift_busy(step)

    def _shift_frozen(self, step: int) -> None:
        self._frozen += step
        if self._frozen:
            self._stop_counting()
        elif self._running:
            self._counting_since = self._idle_since = self._clock.now()
        self._plan()
        if self._parent is not None:
            self._parent._shift_frozen(step)

    def _stop_counting(self) -> None:
        self._used = self.used()
        self._counting_since = None

    def _plan(self) -> None:
        """Move the running time-out to the moment the next limit is due; the limit that is due first is remembered."""
        if self._timeout is None or self._timeout.expired():
            return
        moments: list[tuple[float, _Limit]] = []
        if self._counting_since is not None:
            if self._total is not None:
                moments.append((self._counting_since + self._total - self._used, _Limit.TOTAL))
            if self._idle is not None and not self._busy:
                moments.append((self._idle_since + self._idle, _Limit.IDLE))
        when, self._due = min(moments, key=lambda moment: moment[0], default=(None, None))
        self._timeout.reschedule(when)
