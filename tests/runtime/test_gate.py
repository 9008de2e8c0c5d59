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


def test_a_pause_holds_what_is_below_and_nothing_else() -> None:
    director = Gate()
    coding, repo = director.below(), director.below()
    nested = coding.below()
    coding.pause()
    assert [gate.paused for gate in (director, coding, nested, repo)] == [False, True, True, False]
    assert [gate.held for gate in (director, coding, nested, repo)] == [False, True, False, False]
    assert coding.below().paused, "a gate that is made below a closed one is closed"


def test_each_pause_is_taken_back_where_it_was_made() -> None:
    director = Gate()
    coding = director.below()
    director.pause()
    coding.pause()
    director.resume()
    assert (director.paused, coding.paused) == (False, True)
    director.pause()
    coding.resume()
    assert coding.paused
    director.resume()
    assert not coding.paused


async def test_giving_up_goes_down_and_not_up() -> None:
    director = Gate()
    coding = director.below()
    nested = coding.below()
    nested.pause()
    coding.abandon()
    assert [gate.abandoned for gate in (director, coding, nested, coding.below())] == [False, True, True, True]
    assert not nested.paused
    with pytest.raises(AbandonedError):
        await nested.wait()
    await director.wait()


async def test_who_waits_below_goes_on_only_when_nothing_above_is_paused() -> None:
    director = Gate()
    nested = director.below().below()
    director.pause()
    nested.pause()
    async with Domain("run") as domain:
        handle = domain.go("waiter", nested.wait())
        nested.resume()
        await settle()
        assert not handle.done()
        director.resume()
        await settle()
        assert handle.done()


def test_listeners_below_hear_only_what_changes_for_them_and_see_the_whole_tree_changed() -> None:
    director = Gate()
    coding = director.below()
    heard: list[tuple[str, bool, bool]] = []
    director.listen(lambda paused: heard.append(("director", paused, coding.paused)))
    coding.listen(lambda paused: heard.append(("coding", paused, director.paused)))
    coding.pause()
    director.pause()
    coding.resume()
    director.resume()
    assert heard == [("coding", True, False), ("director", True, True), ("director", False, False), ("coding", False, False)]
