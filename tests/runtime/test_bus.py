"""The event bus: one sequence, no waiting, nothing dropped that must not be."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tests.support.virtual_time import VirtualClock, settle
from yagent.runtime.bus import CAPACITY, Bus, Publisher
from yagent.runtime.supervise import Domain, DomainClosedError


@dataclass(frozen=True)
class Chunk:
    text: str
    droppable: ClassVar[bool] = True


@dataclass(frozen=True)
class Fact:
    text: str
    droppable: ClassVar[bool] = False


@dataclass(frozen=True)
class Event:
    payload: Chunk | Fact
    source: str = "test"
    delegation_id: str | None = None
    seq: int = 0

    @property
    def type(self) -> str:
        return type(self.payload).__name__.lower()


def numbered(payload: Chunk | Fact) -> Callable[[int], Event]:
    return lambda seq: Event(payload, seq=seq)


def make_event(payload: Chunk | Fact, /, *, seq: int, source: str, delegation_id: str | None) -> Event:
    return Event(payload, source, delegation_id, seq)


async def test_every_subscriber_receives_every_event_in_one_sequence() -> None:
    bus: Bus[Event] = Bus()
    first, second = bus.subscribe(), bus.subscribe()
    for text in "abc":
        bus.publish(numbered(Fact(text)))
    bus.close()
    assert [(event.seq, event.payload.text) async for event in first] == [(1, "a"), (2, "b"), (3, "c")]
    assert [event.seq async for event in second] == [1, 2, 3]


async def test_a_filtered_subscription_receives_only_its_types() -> None:
    bus: Bus[Event] = Bus()
    facts = bus.subscribe({"fact"})
    bus.publish(numbered(Chunk("x")))
    bus.publish(numbered(Fact("y")))
    bus.close()
    assert [event.seq async for event in facts] == [2]
    assert facts.types() == frozenset({"fact"})


async def test_a_full_queue_drops_chunks_keeps_facts_and_the_gap_shows(caplog: pytest.LogCaptureFixture) -> None:
    bus: Bus[Event] = Bus()
    slow = bus.subscribe(name="picture")
    complete = bus.subscribe(lossless=True)
    for _ in range(CAPACITY + 50):
        bus.publish(numbered(Chunk("x")))
    bus.publish(numbered(Fact("help needed")))
    assert slow.dropped == bus.dropped() == 50
    warnings = [record for record in caplog.records if "picture" in record.getMessage()]
    assert len(warnings) == 2  # the first and the tenth
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        bus.warn_dropped("task 1")
        bus.warn_dropped("task 2")
    assert [record.getMessage() for record in caplog.records] == ["task 1: subscriber 'picture' missed 50 events"]
    bus.close()
    received = [event.seq async for event in slow]
    assert received == [*range(1, CAPACITY + 1), CAPACITY + 51]
    assert len([event async for event in complete]) == CAPACITY + 51


async def test_facts_beyond_the_capacity_are_kept() -> None:
    bus: Bus[Event] = Bus()
    slow = bus.subscribe()
    for _ in range(CAPACITY * 2):
        bus.publish(numbered(Fact("x")))
    bus.close()
    assert len([event async for event in slow]) == CAPACITY * 2


async def test_drops_of_a_subscriber_that_left_are_still_told(caplog: pytest.LogCaptureFixture) -> None:
    bus: Bus[Event] = Bus()
    slow = bus.subscribe(name="gone")
    for _ in range(CAPACITY + 3):
        bus.publish(numbered(Chunk("x")))
    slow.close()
    bus.warn_dropped("task")
    assert "'gone' missed 3 events" in caplog.text
    assert bus.dropped() == 3


async def test_a_hanging_consumer_delays_nobody(clock: VirtualClock) -> None:
    bus: Bus[Event] = Bus()
    seen: list[str] = []

    async def hang() -> None:
        async for _ in bus.subscribe():
            await clock.sleep(1_000_000)

    async with Domain("consumers") as domain:
        domain.go("hanging", hang())
        handle = bus.attach(domain, "lively", lambda event: seen.append(event.payload.text))
        await settle()
        before = clock.now()
        for text in "abc":
            bus.publish(numbered(Fact(text)))
        bus.close()
        await handle
        assert clock.now() == before
    assert seen == ["a", "b", "c"]


async def test_a_long_queue_does_not_keep_the_event_loop(clock: VirtualClock) -> None:
    bus: Bus[Event] = Bus()
    order: list[str] = []
    async with Domain("consumers") as domain:
        handle = bus.attach(domain, "busy", lambda event: order.append(event.payload.text))
        for _ in range(CAPACITY):
            bus.publish(numbered(Fact("event")))
        bus.close()
        await settle(turns=3)
        order.append("somebody else")
        await handle
    assert order.index("somebody else") < CAPACITY / 2


async def test_a_consumer_that_fails_is_logged_and_hears_the_next_event(caplog: pytest.LogCaptureFixture) -> None:
    bus: Bus[Event] = Bus()
    seen: list[int] = []

    def receive(event: Event) -> None:
        if event.seq == 1:
            raise ValueError("cannot draw this")
        seen.append(event.seq)

    async with Domain("consumers") as domain:
        handle = bus.attach(domain, "screen", receive)
        bus.publish(numbered(Fact("a")))
        bus.publish(numbered(Fact("b")))
        bus.close()
        await handle
    assert seen == [2]
    assert "cannot draw this" in caplog.text


async def test_after_close_events_are_discarded_and_late_subscribers_end_at_once() -> None:
    bus: Bus[Event] = Bus()
    early = bus.subscribe()
    left = bus.subscribe()
    bus.publish(numbered(Fact("a")))
    left.close()
    bus.close()
    bus.publish(numbered(Fact("b")))
    assert [event.seq async for event in early] == [1]
    assert [event async for event in left] == []
    assert [event async for event in bus.subscribe()] == []
    assert bus.seq == 1


async def test_a_consumer_that_never_ran_leaves_no_queue_behind() -> None:
    bus: Bus[Event] = Bus()
    domain = Domain("consumers")
    with pytest.raises(DomainClosedError):
        bus.attach(domain, "late", lambda event: None)
    async with domain:
        bus.attach(domain, "cancelled", lambda event: None)
    await settle()
    for _ in range(CAPACITY + 1):
        bus.publish(numbered(Chunk("x")))
    assert bus.dropped() == 0


async def test_publishers_of_parallel_delegations_are_separable() -> None:
    bus: Bus[Event] = Bus()
    everything = bus.subscribe()
    director = Publisher[Chunk | Fact, Event](bus, make_event, "director")
    director.publish(Fact("plan"))
    for delegation in ("d1", "d2"):
        director.bound(source="coding", delegation_id=delegation).publish(Chunk("x"))
    bus.close()
    assert [(event.source, event.delegation_id) async for event in everything] == [("director", None), ("coding", "d1"), ("coding", "d2")]
