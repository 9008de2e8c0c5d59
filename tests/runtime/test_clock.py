"""Time: deadlines, and the virtual loop the other tests stand on."""

from __future__ import annotations

import asyncio
import selectors
import socket
import sys
import threading
import time

import pytest

from tests.support.virtual_time import OUTSIDE_GRACE_SECONDS, OUTSIDE_POLL_SECONDS, START, VirtualClock, VirtualTimeSelector
from yagent.runtime.clock import Clock, Deadline, SystemClock, breathe
from yagent.runtime.supervise import in_thread, outside


async def test_sleeping_an_hour_takes_no_real_time(clock: VirtualClock) -> None:
    started = time.monotonic()
    before = clock.now()
    await clock.sleep(3600)
    assert clock.now() - before == 3600
    assert time.monotonic() - started < 60


async def test_timers_fire_in_order_of_time(clock: VirtualClock) -> None:
    order: list[int] = []

    async def after(seconds: int) -> None:
        await clock.sleep(seconds)
        order.append(seconds)

    await asyncio.gather(after(30), after(10), after(20))
    assert order == [10, 20, 30]


async def test_timeout_cancels_the_body_and_none_never_does(clock: VirtualClock) -> None:
    with pytest.raises(TimeoutError):
        async with clock.timeout(5):
            await clock.sleep(6)
    async with clock.timeout(None):
        await clock.sleep(10_000)


async def test_a_running_timeout_can_be_moved_on_the_clocks_scale(clock: VirtualClock) -> None:
    async with clock.timeout(5) as limit:
        limit.reschedule(clock.now() + 50)
        await clock.sleep(40)
    assert not limit.expired()


async def test_time_waits_for_a_thread(clock: VirtualClock) -> None:
    async with clock.timeout(60):
        assert await in_thread(lambda: threading.Event().wait(0.05)) is False


async def test_time_waits_for_a_child_process(clock: VirtualClock) -> None:
    async with clock.timeout(60):
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('done')", stdout=asyncio.subprocess.PIPE)
        output, _ = await child.communicate()
    assert output == b"done\n"


def test_outside_work_takes_no_time_at_first_and_then_what_it_takes() -> None:
    selector = VirtualTimeSelector()
    selector.executor_calls = 1
    for _ in range(round(OUTSIDE_GRACE_SECONDS / OUTSIDE_POLL_SECONDS) - 1):
        selector.select(60)
    assert selector.now == START
    while selector.now == START:
        selector.select(60)
    selector.close()


def test_news_give_outside_work_another_moment() -> None:
    selector = VirtualTimeSelector()
    selector.executor_calls = 1
    ours, theirs = socket.socketpair()
    while selector.now == START:
        selector.select(60)
    passed = selector.now
    selector.register(ours, selectors.EVENT_READ)
    theirs.send(b"news")
    assert selector.select(60)
    ours.recv(4)
    selector.select(60)
    assert selector.now == passed
    for closed in (selector, ours, theirs):
        closed.close()


def test_outside_work_with_news_all_the_time_takes_time_as_well() -> None:
    selector = VirtualTimeSelector()
    selector.executor_calls = 1
    ours, theirs = socket.socketpair()
    selector.register(ours, selectors.EVENT_READ)
    while selector.now == START:
        selector.select(60)
        theirs.send(b"news")
        assert selector.select(60)
        ours.recv(4)
    for closed in (selector, ours, theirs):
        closed.close()


async def test_a_hanging_child_still_meets_its_timeout_by_hand(clock: VirtualClock) -> None:
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    task = asyncio.ensure_future(child.wait())
    limit = clock.deadline(180)
    await clock.advance(181)
    assert limit.passed
    child.kill()
    await task


async def test_time_waits_for_a_server_on_the_same_loop(clock: VirtualClock) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, family=socket.AF_INET) as server:
        port = server.sockets[0].getsockname()[1]
        async with clock.timeout(1):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            assert await reader.readline() == b"HELLO\n"
        writer.close()
        await writer.wait_closed()


async def test_time_waits_for_a_reply_that_is_counted_as_outside_work(clock: VirtualClock) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)

    def answer_late() -> None:
        threading.Event().wait(0.1)
        theirs.send(b"at last")

    server = threading.Thread(target=answer_late)
    with outside("a server in its own thread"):
        server.start()
        async with clock.timeout(60):
            assert await asyncio.get_running_loop().sock_recv(ours, 100) == b"at last"
    server.join()
    ours.close()
    theirs.close()


@pytest.mark.real_time
async def test_the_system_clock_and_the_real_loop_are_one_scale() -> None:
    clock = SystemClock()
    assert clock.now() <= asyncio.get_running_loop().time() <= clock.now()
    with pytest.raises(TimeoutError):
        async with clock.timeout(0.01):
            await clock.sleep(30)
    async with clock.timeout(0.0) as limit:
        limit.reschedule(clock.now() + 30)
        await breathe()
    assert not limit.expired()


def test_the_earlier_deadline_wins_and_none_is_never() -> None:
    clock: Clock = SystemClock()
    never, soon, late = Deadline(None, clock), Deadline(10.0, clock), Deadline(20.0, clock)
    assert never.remaining() is None
    assert not never.passed
    assert never.earlier(late) == late.earlier(never) == late
    assert soon.earlier(late) == late.earlier(soon) == soon


async def test_a_deadline_counts_down_and_stops_at_zero(clock: VirtualClock) -> None:
    deadline = clock.deadline(10)
    await clock.sleep(4)
    assert deadline.remaining() == 6
    await clock.sleep(60)
    assert deadline.remaining() == 0
    assert deadline.passed


def test_the_system_clock_is_aware_and_grows() -> None:
    clock = SystemClock()
    assert clock.wall().utcoffset() is not None
    assert clock.now() <= clock.now()
    assert clock.deadline(None).remaining() is None
