"""The gate before the network: no more model calls of this process at once than allowed (C-22 to C-24)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class InFlightGate:
    """One for the whole process. `limit` 0 lets everybody through.

    A slot is held by one logical call, over its retries and its whole stream. Waiting is first come, first served; a waiter that is
    cancelled leaves the queue and takes no slot with it. No timer of a call runs while it waits.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = 0
        self.waiting = 0
        self._semaphore = asyncio.Semaphore(limit) if limit > 0 else None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block."""
        if self._semaphore is not None:
            self.waiting += 1
            try:
                await self._semaphore.acquire()
            finally:
                self.waiting -= 1
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            if self._semaphore is not None:
                self._semaphore.release()
