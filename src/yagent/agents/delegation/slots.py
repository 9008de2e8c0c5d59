"""How many delegations of one run may be under way at once.

Slots belong to the run that delegates, never to the process: a parent that holds one can always give its child one of its own, so nobody
waits for somebody who waits for him (F-13).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

HIGHEST = 8


class Slots:
    """First come, first served; waiting gives way to cancellation and loses no slot."""

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(max(1, min(limit, HIGHEST)))

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a slot for the block."""
        async with self._free:
            yield
