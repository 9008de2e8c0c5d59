"""The pause gate."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.virtual_time import VirtualClock, settle
from yagent.runtime.gate import AbandonedError, Gate, is_cancellation
from yagent.runtime.supervise import Domain


async def test_an_open_gate_lets_everybody_through_at_once() -> None:
    gate = Gate()
    await gate.wait()
    assert not gate.paused


async def test_a_paused_gate_holds_and_goes_on_from_the_same_point(clock: VirtualClock) -> None:
    gate = Gate()
    steps: list[int] = []

    async def loop() -> None:
        for step in range(3):
            await gate.wait()
            steps.append(step)
            await clock.sleep(1)

    async with Domain("run") as domain:
        handle = domain.go("loop", loop())
        await clock.sleep(0.5)
        gate.pause()
        await clock.sleep(100)
        assert steps == [0]
        gate.resume()
        await handle
    assert steps == [0, 1, 2]


async def test_a_gate_paused_again_before_the_waiter_woke_still_holds() -> None:
    gate = Gate()
    gate.pause()
    async with Domain("run") as domain:
        handle = domain.go("waiter", gate.wait())
        await settle()
        gate.resume()
        gate.pause()
        await settle()
        assert not handle.done()


async def test_abandoning_ends_those_who_wait_and_those_who_come_later(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    gate.pause()
    async with Domain("run") as domain:
        handle = domain.go("waiter", gate.wait())
        await settle()
        gate.abandon()
        error = (await handle.outcome()).error
    assert isinstance(error, AbandonedError)
    with pytest.raises(AbandonedError):
        await gate.wait()
    gate.pause()
    assert not gate.paused


def test_abandonment_is_a_cancellation_yet_distinguishable() -> None:
    assert is_cancellation(AbandonedError("given up"))
    assert is_cancellation(asyncio.CancelledError())
    assert not is_cancellation(TimeoutError())
    assert not isinstance(AbandonedError("given up"), asyncio.CancelledError)


def test_listeners_hear_changes_once_and_learn_of_a_pause_under_way() -> None:
    gate = Gate()
    heard: list[bool] = []
    stop = gate.listen(heard.append)
    gate.pause()
    gate.pause()
    gate.resume()
    gate.resume()
    assert heard == [True, False]
    stop()
    gate.pause()
    assert heard == [True, False]
    gate.listen(heard.append)
    assert heard == [True, False, True]
