"""A batch gives each call exactly one result, in call order, whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yagent.runtime.supervise import together
from yagent.tools.batch import HIGHEST_LIMIT, Batch


class Probe:
    """Counts what is in flight; a call whose name begins with "read" may share a group."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.peak = 0
        self.log: list[str] = []
        self.shared_with_write: list[str] = []

    async def execute(self, call: str) -> str:
        self.running.add(call)
        self.peak = max(self.peak, len(self.running))
        self.log.append(f"+{call}")
        if any(not each.startswith("read") for each in self.running) and len(self.running) > 1:
            self.shared_with_write.append(call)
        try:
            for _ in range(5):
                await asyncio.sleep(0)
        finally:
            self.running.discard(call)
            self.log.append(f"-{call}")
        return f"done {call}"


def batch_of(calls: list[str], execute: Callable[[str], Awaitable[str]], limit: int = 4) -> Batch[str, str]:
    return Batch(
        calls,
        parallelizable=lambda call: call.startswith("read"),
        execute=execute,
        cancelled_result=lambda call: f"cancelled {call}",
        limit=limit,
    )


async def test_read_only_groups_run_together_and_everything_else_alone_with_results_in_call_order() -> None:
    probe = Probe()
    calls = ["read 1", "read 2", "write 1", "write 2", "read 3", "read 4", "read 5"]
    assert await batch_of(calls, probe.execute).run() == tuple(f"done {call}" for call in calls)
    assert probe.peak == 3
    assert probe.shared_with_write == []
    assert probe.log.index("-read 2") < probe.log.index("+write 1") < probe.log.index("-write 1") < probe.log.index("+write 2")


@pytest.mark.parametrize(("limit", "peak"), [(1, 1), (0, 1), (2, 2), (4, 4), (50, HIGHEST_LIMIT)])
async def test_the_limit_bounds_what_runs_at_once(limit: int, peak: int) -> None:
    probe = Probe()
    await batch_of([f"read {number}" for number in range(20)], probe.execute, limit).run()
    assert probe.peak == peak


@pytest.mark.parametrize(
    ("limit", "apart", "peak", "peak_apart"), [(4, 2, 4, 2), (4, 6, 4, 6), (2, 50, 2, HIGHEST_LIMIT), (1, 2, 1, 2), (1, 1, 1, 1)]
)
async def test_calls_with_a_limit_of_their_own_do_not_count_among_the_others(limit: int, apart: int, peak: int, peak_apart: int) -> None:
    probe, others, own = Probe(), Probe(), Probe()

    async def execute(call: str) -> str:
        return (await gather_both(probe, own if call.startswith("read apart") else others, call))[0]

    calls = [f"read{' apart' if number % 2 else ''} {number}" for number in range(40)]
    batch = Batch(
        calls,
        parallelizable=lambda call: True,
        execute=execute,
        cancelled_result=lambda call: f"cancelled {call}",
        limit=limit,
        apart=(lambda call: call.startswith("read apart"), apart),
    )
    assert await batch.run() == tuple(f"done {call}" for call in calls)
    assert (others.peak, own.peak) == (peak, peak_apart)
    assert probe.peak == (1 if limit == apart == 1 else peak + peak_apart)


async def gather_both(first: Probe, second: Probe, call: str) -> list[str]:
    """Let two probes see one call."""
    outcomes = await together([("first", first.execute(call)), ("second", second.execute(call))])
    return [outcome.result() for outcome in outcomes]


async def cancelled_when_blocked(batch: Batch[str, str], blocked: asyncio.Event) -> bool:
    """Run the batch, cancel it once a call is blocked; whether the cancellation came out."""

    async def cancel() -> None:
        await blocked.wait()
        task.cancel()

    task = asyncio.ensure_future(batch.run())
    outcomes = await together([("cancel", cancel())])
    assert outcomes[0].error is None
    with suppress(asyncio.CancelledError):
        await task
    return task.cancelled()


@pytest.mark.parametrize("calls", [["read a", "read hang", "read b", "write c"], ["read a", "write hang", "read b"], ["read hang"]])
async def test_cancelling_from_outside_keeps_finished_results_fills_in_the_rest_and_goes_on(calls: list[str]) -> None:
    blocked = asyncio.Event()

    async def execute(call: str) -> str:
        if call.endswith("hang"):
            blocked.set()
            await asyncio.Event().wait()
        return f"done {call}"

    batch = batch_of(calls, execute, limit=1)
    assert await cancelled_when_blocked(batch, blocked)
    position = next(index for index, call in enumerate(calls) if call.endswith("hang"))
    expected = [f"done {call}" if index < position else f"cancelled {call}" for index, call in enumerate(calls)]
    assert batch.results == tuple(expected)


@pytest.mark.parametrize("calls", [["read self", "read b", "write c"], ["write self", "read b"]])
async def test_a_call_cancelled_from_inside_loses_only_its_own_result(calls: list[str]) -> None:
    async def execute(call: str) -> str:
        if call.endswith("self"):
            raise asyncio.CancelledError
        return f"done {call}"

    results = await batch_of(calls, execute).run()
    assert results == tuple(f"cancelled {call}" if call.endswith("self") else f"done {call}" for call in calls)


class Crash(Exception):
    """A failure of the machinery under a call."""


KINDS = st.sampled_from(["read", "write", "read crash", "write crash", "read self", "write self", "read hang", "write hang"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kinds=st.lists(KINDS, max_size=10), limit=st.integers(0, 10))
def test_any_mix_of_results_crashes_and_cancellations_leaves_one_result_per_call(kinds: list[str], limit: int) -> None:
    calls = [f"{kind}#{number}" for number, kind in enumerate(kinds)]
    started: list[str] = []

    async def scenario() -> None:
        blocked = asyncio.Event()

        async def execute(call: str) -> str:
            started.append(call)
            await asyncio.sleep(0)
            if "hang" in call:
                blocked.set()
                await asyncio.Event().wait()
            if "self" in call:
                raise asyncio.CancelledError
            if "crash" in call:
                raise Crash(call)
            return f"done {call}"

        batch = batch_of(calls, execute, limit)
        task = asyncio.ensure_future(batch.run())
        waiting = asyncio.ensure_future(blocked.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError, Crash):
            await task
        assert len(batch.results) == len(calls)
        for call, result in zip(calls, batch.results, strict=True):
            assert result in (f"done {call}", f"cancelled {call}")
        assert len(started) == len(set(started))

    asyncio.run(scenario())
