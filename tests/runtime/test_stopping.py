"""Ending a block of a task without ending the task."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.virtual_time import VirtualClock, settle
from yagent.runtime.stopping import Stoppable
from yagent.runtime.supervise import Domain, shielded, together


async def test_a_stopped_block_ends_and_its_task_goes_on(clock: VirtualClock) -> None:
    inner = Stoppable()
    seen: list[str] = []

    async def work() -> str:
        with inner:
            try:
                await clock.sleep(100)
            finally:
                seen.append("cleaned up")
        await clock.sleep(1)
        return "went on"

    async with Domain("test") as domain:
        handle = domain.go("work", work())
        await settle()
        inner.stop()
        inner.stop()
        assert await handle == "went on"
    assert (seen, inner.stopped) == (["cleaned up"], True)


async def test_a_cancelled_task_is_cancelled_whether_its_block_is_stopped_or_not(clock: VirtualClock) -> None:
    for also_stopped in (False, True):
        block = Stoppable()

        async def work(held: Stoppable) -> None:
            with held:
                await clock.sleep(100)

        async with Domain("test") as domain:
            handle = domain.go("work", work(block))
            await settle()
            if also_stopped:
                block.stop()
            handle.cancel()
            assert (await handle.outcome()).cancelled


@pytest.mark.parametrize("order", [("outer", "inner"), ("inner", "outer"), ("outer",), ("inner",)])
async def test_of_nested_blocks_the_outermost_stopped_one_is_left(clock: VirtualClock, order: tuple[str, ...]) -> None:
    blocks = {"outer": Stoppable(), "inner": Stoppable()}
    reached: list[str] = []

    async def work() -> None:
        with blocks["outer"]:
            with blocks["inner"]:
                await clock.sleep(100)
            reached.append("after inner")
            await clock.sleep(1)
            reached.append("end of outer")
        reached.append("after outer")

    async with Domain("test") as domain:
        handle = domain.go("work", work())
        await settle()
        for name in order:
            blocks[name].stop()
        await handle
    whole = ["after inner", "end of outer", "after outer"]
    assert reached == (["after outer"] if "outer" in order else whole)


async def test_a_second_stop_above_while_the_first_is_cleaned_up_reaches_the_outer_block(clock: VirtualClock) -> None:
    outer, inner = Stoppable(), Stoppable()
    reached: list[str] = []

    async def work() -> None:
        with outer:
            with inner:
                try:
                    await clock.sleep(100)
                finally:
                    await shielded(clock.sleep(5), timeout=10, clock=clock)
                    reached.append("not interrupted")
            reached.append("after inner")
        reached.append("after outer")

    async with Domain("test") as domain:
        handle = domain.go("work", work())
        await settle()
        inner.stop()
        await clock.sleep(1)
        outer.stop()
        await handle
    assert reached == ["after outer"]


async def test_timeouts_and_groups_inside_a_stopped_block_end_with_it(clock: VirtualClock) -> None:
    block = Stoppable()
    ended: list[int] = []

    async def child(number: int) -> None:
        try:
            await clock.sleep(100)
        finally:
            ended.append(number)

    async def work() -> str:
        with block:
            async with clock.timeout(50):
                await together([("a", child(1)), ("b", child(2))])
        return "went on"

    async with Domain("test") as domain:
        handle = domain.go("work", work())
        await settle()
        block.stop()
        assert await handle == "went on"
    assert sorted(ended) == [1, 2]


async def test_a_block_stopped_before_it_is_entered_ends_at_its_first_wait(clock: VirtualClock) -> None:
    block = Stoppable()
    block.stop()
    with block:
        await clock.sleep(100)
        pytest.fail("it went on")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_stop_after_the_block_changes_nothing(clock: VirtualClock) -> None:
    block = Stoppable()
    with block:
        await clock.sleep(1)
    block.stop()
    started = clock.now()
    await clock.sleep(1)
    assert clock.now() - started == 1


async def test_errors_of_a_stopped_block_are_raised(clock: VirtualClock) -> None:
    block = Stoppable()

    async def work() -> None:
        with block:
            try:
                await clock.sleep(100)
            finally:
                raise ValueError("while cleaning up")

    async with Domain("test") as domain:
        handle = domain.go("work", work())
        await settle()
        block.stop()
        assert isinstance((await handle.outcome()).error, ValueError)
