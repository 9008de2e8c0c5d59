"""The gate: order, cancellation, no limit."""

from __future__ import annotations

import asyncio

import pytest

from yagent.llm.inflight import InFlightGate


async def test_waiters_go_in_the_order_they_came() -> None:
    gate, order = InFlightGate(1), []

    async def pass_through(number: int) -> None:
        async with gate.slot():
            order.append(number)
            await asyncio.sleep(1)

    await asyncio.gather(*map(pass_through, range(5)))
    assert order == [0, 1, 2, 3, 4]


async def test_a_cancelled_waiter_leaves_the_capacity_whole() -> None:
    gate = InFlightGate(2)

    async def hold() -> None:
        async with gate.slot():
            await asyncio.sleep(10)

    tasks = [asyncio.ensure_future(hold()) for _ in range(4)]
    await asyncio.sleep(1)
    assert (gate.in_flight, gate.waiting) == (2, 2)
    tasks[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[2]
    assert (gate.in_flight, gate.waiting) == (2, 1)
    await asyncio.gather(tasks[0], tasks[1], tasks[3])
    assert (gate.in_flight, gate.waiting) == (0, 0)
    await asyncio.gather(*(hold() for _ in range(2)))


async def test_a_waiter_cancelled_in_the_turn_it_gets_its_slot_gives_it_on() -> None:
    gate = InFlightGate(1)

    async def hold() -> None:
        async with gate.slot():
            await asyncio.sleep(0)

    async with gate.slot():
        first, second = asyncio.ensure_future(hold()), asyncio.ensure_future(hold())
        await asyncio.sleep(1)
    first.cancel()
    await asyncio.wait([first, second])
    assert second.exception() is None
    assert gate.in_flight == 0


async def test_no_limit_is_no_limit() -> None:
    gate = InFlightGate(0)
    slots = [gate.slot() for _ in range(50)]
    for slot in slots:
        await slot.__aenter__()
    assert gate.in_flight == 50
    for slot in slots:
        await slot.__aexit__(None, None, None)
