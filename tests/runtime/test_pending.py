"""Asks and their answers."""

from __future__ import annotations

import pytest

from tests.support.virtual_time import VirtualClock, settle
from yagent.runtime.pending import DuplicateAskError, Pending
from yagent.runtime.supervise import Domain


async def test_answers_arrive_out_of_order() -> None:
    pending: Pending[str] = Pending()
    first, second = pending.open("1"), pending.open("2")
    assert pending.waiting() == ["1", "2"]
    assert pending.answer("2", "two")
    assert pending.answer("1", "one")
    assert (await first, await second) == ("one", "two")
    assert pending.waiting() == []


async def test_unknown_and_second_answers_are_refused() -> None:
    pending: Pending[str] = Pending()
    ask = pending.open("1")
    assert not pending.answer("2", "x")
    assert pending.answer("1", "x")
    assert not pending.answer("1", "y")
    assert await ask == "x"


async def test_an_id_waits_once() -> None:
    pending: Pending[str] = Pending()
    pending.open("1")
    with pytest.raises(DuplicateAskError, match="'1'"):
        pending.open("1")


async def test_a_cancelled_waiter_leaves_nothing_behind(clock: VirtualClock) -> None:
    pending: Pending[str] = Pending()

    async def ask() -> str:
        return await pending.open("1")

    async with Domain("asks") as domain:
        handle = domain.go("ask", ask())
        await settle()
        handle.cancel()
        assert (await handle.outcome()).cancelled
        assert pending.waiting() == []
        assert not pending.answer("1", "late")
        again = pending.open("1")
        assert pending.answer("1", "fresh")
        assert await again == "fresh"
