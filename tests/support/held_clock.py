"""A clock that stands still until what a test waits for has happened: a slow machine then has all the time it needs."""

from __future__ import annotations

import asyncio

from yagent.runtime.clock import SystemClock


class HeldClock(SystemClock):
    """The real clock, except that no limit passes before `let_go()`; those under way then begin. To sleep takes real time all along."""

    def __init__(self) -> None:
        self._held: list[tuple[asyncio.Timeout, float]] = []
        self._stands_at: float | None = super().now()

    def now(self) -> float:
        """See `Clock.now`; the same moment until it is let go."""
        return super().now() if self._stands_at is None else self._stands_at

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        """See `Clock.timeout`."""
        if seconds is None or self._stands_at is None:
            return super().timeout(seconds)
        limit = asyncio.timeout(None)
        self._held.append((limit, seconds))
        return limit

    def let_go(self) -> None:
        """From now on time passes."""
        self._stands_at = None
        for limit, seconds in self._held:
            try:
                limit.reschedule(asyncio.get_running_loop().time() + seconds)
            except RuntimeError:  # it is over
                continue
