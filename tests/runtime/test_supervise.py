"""Named tasks and threads: failures stay local, nothing is lost, nothing outlives its owner."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import subprocess
import sys
import threading

import pytest

from tests.support.virtual_time import VirtualClock, settle
from yagent.runtime.supervise import Domain, DomainClosedError, Outcome, in_thread, outside, outstanding, shielded, together

marker: contextvars.ContextVar[str] = contextvars.ContextVar("marker", default="unset")


async def fail(text: str) -> None:
    raise ValueError(text)


async def test_a_failing_task_is_named_in_the_log_and_spares_its_siblings(caplog: pytest.LogCaptureFixture) -> None:
    reported: list[tuple[str, str]] = []
    async with Domain("job", on_failure=lambda name, error: reported.append((name, str(error)))) as domain:
        domain.go("bad", fail("broken pipe of dreams"))
        good = domain.go("good", asyncio.sleep(5, "fine"))
        assert await good == "fine"
    assert reported == [("bad", "broken pipe of dreams")]
    assert "'bad'" in caplog.text
    assert "broken pipe of dreams" in caplog.text


async def test_drain_names_what_still_runs(clock: VirtualClock) -> None:
    async with Domain("job") as domain:
        domain.go("quick", asyncio.sleep(1))
        domain.go("stuck", asyncio.sleep(1000))
        domain.go("stuck too", asyncio.sleep(1000))
        assert await domain.drain(10, clock) == ["stuck", "stuck too"]
        assert domain.running() == ["stuck", "stuck too"]


async def test_drain_waits_for_tasks_started_meanwhile(clock: VirtualClock) -> None:
    async with Domain("job") as domain:

        async def parent() -> None:
            await clock.sleep(1)
            domain.go("child", asyncio.sleep(1))

        domain.go("parent", parent())
        assert await domain.drain(10, clock) == []


async def test_a_task_that_drains_its_own_domain_does_not_wait_for_itself(clock: VirtualClock) -> None:
    async with Domain("job") as domain:
        handle = domain.go("executor", domain.drain(1, clock))
        assert await handle == []


async def test_leaving_the_domain_cancels_and_awaits_what_runs(clock: VirtualClock) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await clock.sleep(1000)
        finally:
            await clock.sleep(1)
            ended.append("cleaned up")

    async with Domain("job") as domain:
        handle = domain.go("work", work())
        await settle()
    assert ended == ["cleaned up"]
    assert (await handle.outcome()).cancelled


async def test_cancelling_who_awaits_a_handle_does_not_cancel_the_task(clock: VirtualClock) -> None:
    async with Domain("job") as domain:
        handle = domain.go("work", asyncio.sleep(10, "value"))
        with pytest.raises(TimeoutError):
            async with clock.timeout(1):
                await handle
        assert not handle.done()
        assert await handle == "value"


async def test_nothing_starts_in_a_domain_that_is_not_running() -> None:
    domain = Domain("job")
    with pytest.raises(DomainClosedError, match="late"):
        domain.go("late", asyncio.sleep(0))
    async with domain:
        pass
    with pytest.raises(DomainClosedError):
        domain.go("late", asyncio.sleep(0))


async def test_together_gives_outcomes_in_order_whatever_happens(clock: VirtualClock) -> None:
    async def text(seconds: float, value: str) -> str:
        await clock.sleep(seconds)
        if value == "bad":
            raise ValueError(value)
        return value

    outcomes = await together([("slow", text(3, "a")), ("bad", text(2, "bad")), ("quick", text(1, "c"))])
    assert [outcome.name for outcome in outcomes] == ["slow", "bad", "quick"]
    assert outcomes[0].result() == "a"
    assert isinstance(outcomes[1].error, ValueError)
    assert outcomes[2].result() == "c"
    assert await together([]) == []


async def test_together_tells_every_outcome_before_a_cancellation_goes_on(clock: VirtualClock) -> None:
    settled: dict[int, Outcome[str]] = {}

    async def stubborn() -> str:
        try:
            await clock.sleep(100)
        except asyncio.CancelledError:
            await clock.sleep(5)
            return "saved"
        return "never"

    async with Domain("job") as domain:
        handle = domain.go(
            "batch",
            together(
                [("quick", asyncio.sleep(1, "done")), ("stubborn", stubborn()), ("slow", asyncio.sleep(100, "x"))],
                settled=settled.__setitem__,
            ),
        )
        await clock.sleep(2)
        handle.cancel()
        assert (await handle.outcome()).cancelled
    assert settled[0].result() == "done"
    assert settled[1].result() == "saved"
    assert settled[2].cancelled


async def test_together_cancelled_before_it_began_still_accounts_for_all() -> None:
    settled: dict[int, Outcome[None]] = {}

    async def batch() -> None:
        await together([("one", asyncio.sleep(1)), ("two", asyncio.sleep(1))], settled=settled.__setitem__)

    async with Domain("job") as domain:
        handle = domain.go("batch", batch())
        await asyncio.sleep(0)
        handle.cancel()
        assert (await handle.outcome()).cancelled
    assert [settled[0].cancelled, settled[1].cancelled] == [True, True]


async def test_timeouts_pass_through_together(clock: VirtualClock) -> None:
    with pytest.raises(TimeoutError):
        async with clock.timeout(3):
            await together([("slow", asyncio.sleep(100))])


async def test_shielded_cleanup_finishes_although_its_caller_is_cancelled(clock: VirtualClock) -> None:
    finished: list[float] = []

    async def cleanup() -> None:
        await clock.sleep(3)
        finished.append(clock.now())

    async with Domain("job") as domain:
        handle = domain.go("caller", shielded(cleanup(), timeout=10, clock=clock))
        await clock.sleep(1)
        handle.cancel()
        assert (await handle.outcome()).cancelled
    assert len(finished) == 1


async def test_shielded_cleanup_is_bounded(clock: VirtualClock) -> None:
    with pytest.raises(TimeoutError):
        await shielded(asyncio.sleep(100), timeout=2, clock=clock)


async def test_threads_keep_context_variables_and_return_values() -> None:
    marker.set("here")
    assert await in_thread(marker.get) == "here"
    assert await in_thread(divmod, 7, 2) == (3, 1)


async def test_a_cancelled_caller_goes_on_while_its_thread_stays_counted(caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()
    began = threading.Event()

    def block() -> None:
        began.set()
        release.wait(10)
        raise OSError("late trouble")

    async with Domain("job") as domain:
        handle = domain.go("caller", in_thread(block))
        await in_thread(began.wait, 10)
        handle.cancel()
        assert (await handle.outcome()).cancelled
        assert sum("block" in name for name in outstanding()) == 1  # the other thread may not have left yet
        with caplog.at_level(logging.ERROR):
            release.set()
            while outstanding() or "late trouble" not in caplog.text:
                await in_thread(lambda: None)


async def test_stop_iteration_in_a_thread_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(next, iter(()))


def test_outside_work_is_counted_for_its_duration() -> None:
    with outside("child 7"):
        assert outstanding() == ["child 7"]
    assert outstanding() == []


CHILDREN = """
import asyncio, threading
from yagent.runtime import supervise

async def main():
    codes = [1, 0, 7]
    children = [await asyncio.create_subprocess_exec("sh", "-c", f"exit {code}") for code in codes]
    names = [thread.name for thread in threading.enumerate()]
    assert [await child.wait() for child in children] == codes
    print(names)

supervise.run(main())
supervise.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Python keeps a thread for each child")
def test_no_thread_waits_for_a_child() -> None:
    told = subprocess.run([sys.executable, "-W", "error", "-c", CHILDREN], capture_output=True, text=True, timeout=30, check=True).stdout
    assert told == "['MainThread']\n" * 2


def test_how_children_end_is_known_also_where_nobody_wanted_to_know_of_ours() -> None:
    ignoring = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    ended = subprocess.run([sys.executable, "-c", ignoring + CHILDREN], capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
