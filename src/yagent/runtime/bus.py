"""Everything that happens, told to whoever listens: one sequence, one queue per subscriber, no waiting.

A lost event costs a picture, never a fact; facts go to the rollout. Source: requirements H-05 to H-13 as ruled
(only payloads marked `droppable` may be dropped).
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import deque
from collections.abc import Callable, Collection
from typing import Generic, Protocol, Self, TypeVar

from yagent.records import dataclass
from yagent.runtime.clock import breathe
from yagent.runtime.supervise import Domain, DomainClosedError, Handle

logger = logging.getLogger(__name__)

CAPACITY = 1000
BREATH = 64  # events taken in a row before other tasks get their turn


class EventPayload(Protocol):
    """What an event carries; `droppable` says whether a slow subscriber may miss it."""

    @property
    def droppable(self) -> bool: ...


class BusEvent(Protocol):
    """What the bus carries; its number is given by the bus."""

    @property
    def type(self) -> str: ...

    @property
    def payload(self) -> EventPayload: ...

    @property
    def seq(self) -> int: ...


E = TypeVar("E", bound=BusEvent)
EventT_co = TypeVar("EventT_co", bound=BusEvent, covariant=True)
PayloadT = TypeVar("PayloadT")
PayloadT_contra = TypeVar("PayloadT_contra", contravariant=True)


class Subscription(Generic[E]):
    """One subscriber's own queue, read with `async for`; iteration ends when the bus or the subscription is closed.

    What was queued before the bus closed is still delivered; closing the subscription itself discards it.
    """

    def __init__(self, name: str, types: Collection[str] | None, *, lossless: bool) -> None:
        self.name = name
        self.dropped = 0
        self._types = None if types is None else frozenset(types)
        self._lossless = lossless
        self._queue: deque[E] = deque()
        self._arrived = asyncio.Event()
        self._closed = False
        self._dropped_told = 0
        self._taken = 0

    @property
    def closed(self) -> bool:
        """Whether no further event will arrive."""
        return self._closed

    def types(self) -> frozenset[str] | None:
        """The event types this subscription receives; None for all."""
        return self._types

    def offer(self, event: E) -> None:
        """Queue an event if it is wanted and there is room, or if it must not be lost. Called by the bus."""
        if self._closed or (self._types is not None and event.type not in self._types):
            return
        if len(self._queue) >= CAPACITY and event.payload.droppable and not self._lossless:
            self._drop()
            return
        self._queue.append(event)
        self._arrived.set()

    def end(self) -> None:
        """No more events; what is queued is still delivered. Called by the bus."""
        self._closed = True
        self._arrived.set()

    def close(self) -> None:
        """Stop listening; what is still queued is discarded."""
        self._queue.clear()
        self.end()

    def dropped_since_told(self) -> int:
        """How many events were dropped since this was last asked."""
        count, self._dropped_told = self.dropped - self._dropped_told, self.dropped
        return count

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        self._taken += 1
        if self._taken % BREATH == 0:
            await breathe()
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._queue.popleft()

    def _drop(self) -> None:
        self.dropped += 1
        # Rate limit without a clock: the 1st, 10th, 100th … drop is worth a line.
        if str(self.dropped).rstrip("0") == "1":
            logger.warning("subscriber %r is slow: its queue of %d events is full, %d dropped so far", self.name, CAPACITY, self.dropped)


class Bus(Generic[E]):
    """Publish and subscribe, on one event loop. Publishing neither blocks nor raises; after `close` it does nothing."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription[E]] = []
        self._seq = 0
        self._closed = False
        self._dropped_by_gone = 0

    @property
    def seq(self) -> int:
        """The number of the latest event; 0 before the first."""
        return self._seq

    def publish(self, make_event: Callable[[int], E]) -> None:
        """Have the event made with the next `seq` and queue it for each subscriber. A gap in `seq` proves a loss."""
        if self._closed:
            return
        self._seq += 1
        event = make_event(self._seq)
        for subscription in self._subscriptions:
            subscription.offer(event)

    def subscribe(self, types: Collection[str] | None = None, *, lossless: bool = False, name: str = "subscriber") -> Subscription[E]:
        """Listen from now on, to some event types or to all. A lossless subscription drops nothing, however slow it is."""
        subscription: Subscription[E] = Subscription(name, types, lossless=lossless)
        if self._closed:
            subscription.end()
        else:
            self._forget_closed()
            self._subscriptions.append(subscription)
        return subscription

    def attach(self, domain: Domain, name: str, receive: Callable[[E], None], *, types: Collection[str] | None = None) -> Handle[None]:
        """Give each event to `receive` from a task of its own; one that fails is logged and the next event still comes.

        After `close`, await the handle (or drain the domain) to know that everything was delivered.
        """
        subscription = self.subscribe(types, name=name)
        try:
            handle = domain.go(name, _deliver(subscription, receive))
        except DomainClosedError:
            subscription.close()
            raise
        handle.when_done(subscription.close)
        return handle

    def dropped(self) -> int:
        """How many events were dropped, summed over all subscribers there ever were."""
        return self._dropped_by_gone + sum(subscription.dropped for subscription in self._subscriptions)

    def warn_dropped(self, scope: str) -> None:
        """Log what was dropped since the last call; called at the end of each task with the task's name."""
        for subscription in self._subscriptions:
            if count := subscription.dropped_since_told():
                logger.warning("%s: subscriber %r missed %d events", scope, subscription.name, count)
        self._forget_closed()

    def close(self) -> None:
        """Accept no more events. Subscribers receive what is queued, then their iteration ends."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.end()

    def _forget_closed(self) -> None:
        for subscription in self._subscriptions:
            if subscription.closed:
                if count := subscription.dropped_since_told():
                    logger.warning("subscriber %r had missed %d events when it left", subscription.name, count)
                self._dropped_by_gone += subscription.dropped
        self._subscriptions = [each for each in self._subscriptions if not each.closed]


class MakeEvent(Protocol[PayloadT_contra, EventT_co]):
    """Builds an event around a payload; id, timestamp and trace are the builder's own business."""

    def __call__(self, payload: PayloadT_contra, /, *, seq: int, source: str, delegation_id: str | None) -> EventT_co: ...


@dataclass(frozen=True, slots=True)
class Publisher(Generic[PayloadT, E]):
    """A bus with the sender filled in, bound once per agent loop: source names are not unique among parallel delegations."""

    bus: Bus[E]
    make_event: MakeEvent[PayloadT, E]
    source: str
    delegation_id: str | None = None

    def publish(self, payload: PayloadT) -> None:
        """Wrap the payload in an event of this sender and publish it."""
        self.bus.publish(lambda seq: self.make_event(payload, seq=seq, source=self.source, delegation_id=self.delegation_id))

    def bound(self, *, source: str, delegation_id: str | None) -> Publisher[PayloadT, E]:
        """The same bus for another sender."""
        return dataclasses.replace(self, source=source, delegation_id=delegation_id)


async def _deliver(subscription: Subscription[E], receive: Callable[[E], None]) -> None:
    async for event in subscription:
        try:
            receive(event)
        except Exception:
            logger.exception("subscriber %r failed on %s", subscription.name, event.type)
