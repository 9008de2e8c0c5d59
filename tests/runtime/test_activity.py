"""Idle and total limits, alone, nested, and against a model of what they should do."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, ExitStack

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.virtual_time import VirtualClock, VirtualTimeLoop, settle
from yagent.runtime.activity import Activity, IdleTimeoutError, TaskTimeoutError, TotalTimeoutError
from yagent.runtime.gate import Gate
from yagent.runtime.supervise import Domain, Handle

IDLE, TOTAL = 10, 60


async def test_idle_fires_when_nothing_happens(clock: VirtualClock) -> None:
    started = clock.now()
    with pytest.raises(IdleTimeoutError, match="10 s,"):
        await Activity(clock, idle=IDLE, total=TOTAL).run(clock.sleep(1000))
    assert clock.now() - started == IDLE


async def test_a_busy_run_meets_only_the_total_limit(clock: VirtualClock) -> None:
    activity = Activity(clock, idle=IDLE, total=TOTAL)
    started = clock.now()

    async def work() -> None:
        with activity.busy():
            await clock.sleep(1000)

    with pytest.raises(TotalTimeoutError, match="60 s is"):
        await activity.run(work())
    assert clock.now() - started == TOTAL


async def test_heartbeats_keep_a_run_alive(clock: VirtualClock) -> None:
    activity = Activity(clock, idle=IDLE, total=TOTAL)

    async def work() -> str:
        for _ in range(5):
            await clock.sleep(IDLE - 1)
            activity.heartbeat()
        return "done"

    assert await activity.run(work()) == "done"


async def test_a_pause_longer_than_the_total_limit_is_survived(clock: VirtualClock) -> None:
    activity, gate = Activity(clock, idle=IDLE, total=TOTAL), Gate()

    async def work() -> str:
        await clock.sleep(5)
        await gate.wait()
        await clock.sleep(IDLE - 1)
        return "done"

    async with Domain("test") as domain:
        with activity.follow(gate):
            handle = domain.go("run", activity.run(work()))
            await clock.sleep(1)
            gate.pause()
            await clock.sleep(TOTAL * 3)
            gate.resume()
            assert await handle == "done"
    assert activity.used() == 1 + IDLE - 1


async def test_waiting_for_the_user_stops_both_timers(clock: VirtualClock) -> None:
    activity = Activity(clock, idle=IDLE, total=TOTAL)

    async def work() -> float | None:
        await clock.sleep(4)
        with activity.frozen():
            await clock.sleep(10_000)
        return activity.remaining_total()

    assert await activity.run(work()) == TOTAL - 4


async def test_queueing_before_the_run_is_free(clock: VirtualClock) -> None:
    activity = Activity(clock, idle=IDLE, total=TOTAL)
    await clock.sleep(1000)
    assert activity.remaining_total() == TOTAL
    assert await activity.run(asyncio.sleep(IDLE - 1, "done")) == "done"


async def test_a_childs_work_keeps_its_parent_from_being_idle(clock: VirtualClock) -> None:
    parent = Activity(clock, idle=IDLE, total=TOTAL)
    child = Activity(clock, idle=IDLE, parent=parent)

    async def child_work() -> str:
        with child.busy():
            await clock.sleep(IDLE * 3)
        await clock.sleep(IDLE - 1)
        child.heartbeat()
        await clock.sleep(IDLE - 1)
        return "done"

    assert await parent.run(child.run(child_work())) == "done"


async def test_a_child_has_no_more_time_than_its_parent(clock: VirtualClock) -> None:
    parent = Activity(clock, total=TOTAL)
    child = Activity(clock, total=TOTAL * 2, parent=parent)

    async def work() -> float | None:
        await clock.sleep(20)
        return child.remaining_total()

    assert await parent.run(work()) == TOTAL - 20
    assert Activity(clock).remaining_total() is None


async def test_the_works_own_timeouts_and_errors_pass_unchanged(clock: VirtualClock) -> None:
    async def own_timeout() -> None:
        async with clock.timeout(1):
            await clock.sleep(2)

    with pytest.raises(TimeoutError) as caught:
        await Activity(clock, idle=IDLE, total=TOTAL).run(own_timeout())
    assert type(caught.value) is TimeoutError


@pytest.mark.parametrize(
    ("left", "own", "share"),
    [(None, None, None), (None, 50, 50), (40, None, 30), (40, 20, 20), (4000, None, 3760), (4000, 1200, 1200), (0, None, 0)],
)
async def test_who_hands_out_time_keeps_enough_to_answer(
    clock: VirtualClock, left: float | None, own: float | None, share: float | None
) -> None:
    assert Activity(clock, total=left).below(idle=None, total=own).remaining_total() == share


async def test_only_a_share_of_the_tasks_own_time_ends_by_the_tasks_limit(clock: VirtualClock) -> None:
    task = Activity(clock, total=1000)
    for below, is_tasks in [
        (task.below(idle=None, total=None), True),
        (task.below(idle=None, total=None).below(idle=None, total=None), True),
        (task.below(idle=None, total=100), False),
        (task.below(idle=None, total=100).below(idle=None, total=100), False),
    ]:
        with pytest.raises(TotalTimeoutError) as caught:
            await below.run(clock.sleep(2000))
        assert isinstance(caught.value, TaskTimeoutError) == is_tasks


async def test_a_last_step_takes_half_of_what_is_left_above_at_most(clock: VirtualClock) -> None:
    assert Activity(clock, total=TOTAL).below(idle=None, total=None).last_step() == TOTAL / 2
    assert Activity(clock, total=10 * TOTAL).below(idle=None, total=None).last_step() == 120
    assert Activity(clock).below(idle=None, total=1).last_step() == 120


class TimersAgainstModel(RuleBasedStateMachine):
    """Any order of steps, pauses, asks and waits fires the same limit at the same second as counting seconds by hand does."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualTimeLoop()
        self.clock = VirtualClock()
        self.gate = Gate()
        self.activity = Activity(self.clock, idle=IDLE, total=TOTAL)
        self.busy: list[ExitStack] = []
        self.frozen: list[ExitStack] = []
        self.idle_seconds = self.total_seconds = 0
        self.expected: type[Exception] | None = None
        self.stack = ExitStack()
        self.domain = Domain("model")
        self.handle: Handle[None] = self.loop.run_until_complete(self._start())

    async def _start(self) -> Handle[None]:
        await self.domain.__aenter__()
        self.stack.enter_context(self.activity.follow(self.gate))
        handle = self.domain.go("run", self.activity.run(self.clock.sleep(1_000_000)))
        await settle()
        return handle

    def _do(self, action: object) -> None:
        async def act() -> None:
            assert callable(action)
            action()
            await settle()

        self.loop.run_until_complete(act())

    def _enter(self, stacks: list[ExitStack], context: AbstractContextManager[None]) -> None:
        stack = ExitStack()
        self._do(lambda: stack.enter_context(context))
        stacks.append(stack)

    def _stands_still(self) -> bool:
        return self.gate.paused or bool(self.frozen)

    @rule(seconds=st.integers(1, 15))
    def time_passes(self, seconds: int) -> None:
        async def wait() -> None:
            await self.clock.sleep(seconds)
            await settle()

        self.loop.run_until_complete(wait())
        for _ in range(seconds):
            if self.expected is None and not self._stands_still():
                self.total_seconds += 1
                self.idle_seconds += 0 if self.busy else 1
                if self.total_seconds >= TOTAL:
                    self.expected = TotalTimeoutError
                elif self.idle_seconds >= IDLE:
                    self.expected = IdleTimeoutError

    @rule()
    def heartbeat(self) -> None:
        self._do(self.activity.heartbeat)
        self.idle_seconds = 0

    @rule()
    def pause(self) -> None:
        self._do(self.gate.pause)

    @rule()
    def resume(self) -> None:
        was_still = self._stands_still()
        self._do(self.gate.resume)
        if was_still and not self._stands_still():
            self.idle_seconds = 0

    @rule()
    def begin_call(self) -> None:
        self._enter(self.busy, self.activity.busy())

    @precondition(lambda self: self.busy)
    @rule()
    def end_call(self) -> None:
        self._do(self.busy.pop().close)
        if not self.busy:
            self.idle_seconds = 0

    @rule()
    def begin_ask(self) -> None:
        self._enter(self.frozen, self.activity.frozen())

    @precondition(lambda self: self.frozen)
    @rule()
    def end_ask(self) -> None:
        self._do(self.frozen.pop().close)
        if not self._stands_still():
            self.idle_seconds = 0

    @invariant()
    def the_same_limit_fired(self) -> None:
        assert self.handle.done() == (self.expected is not None)
        if self.expected is not None:
            error = self.loop.run_until_complete(self.handle.outcome()).error
            assert type(error) is self.expected
        else:
            self.loop.run_until_complete(self._count_is_right())

    async def _count_is_right(self) -> None:
        assert self.activity.used() == self.total_seconds

    def teardown(self) -> None:
        async def finish() -> None:
            for stack in (*self.busy, *self.frozen, self.stack):
                stack.close()
            await self.domain.__aexit__(None, None, None)

        self.loop.run_until_complete(finish())
        self.loop.close()


TimersAgainstModel.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_timers_against_model = TimersAgainstModel.TestCase
