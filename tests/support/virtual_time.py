"""An event loop whose time is virtual: it jumps to the next timer when nothing else can happen.

Nothing else can happen when no callback is ready, no file descriptor has news, and no thread, child process or other
outside work (`supervise.outside`) is under way. While such work is under way time first stands still for a moment, so that what
ends soon takes no time however busy the machine is; then it runs as fast as real time does, so that a timeout around a hanging
child still fires. Sockets that are open get a short moment of real time before each jump, so that a server in a thread of its own
can answer; a server on the test's own loop needs none of that.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from asyncio import base_subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple, Unpack

from yagent.runtime import supervise
from yagent.runtime.clock import Deadline
from yagent.workspace import lifeline

START = 1000.0
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SOCKET_GRACE_SECONDS = 0.02
OUTSIDE_POLL_SECONDS = 0.05
OUTSIDE_GRACE_SECONDS = 0.25  # of real time without any news before outside work costs virtual time
OUTSIDE_FREE_SECONDS = 2.0  # of real time in all that cost none while there is outside work: what has news all the time is no end of it
CHILD_HOOK = "_make_subprocess_transport"  # private to asyncio, but the one place every child process passes

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class VirtualTimeSelector(selectors.BaseSelector):
    """Waits by moving the virtual time instead of letting real time pass."""

    def __init__(self) -> None:
        self.now = START
        self.executor_calls = 0
        self.children: list[base_subprocess.BaseSubprocessTransport] = []
        self._real = selectors.DefaultSelector()
        self._grace = OUTSIDE_GRACE_SECONDS
        self._free = OUTSIDE_FREE_SECONDS

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """`timeout` is the virtual time until the next timer, 0 when a callback is ready, None when there is no timer."""
        if timeout is None:
            return self._real.select(None)
        busy = self._outside_work()  # asked first: work that ends in between has already woken the loop
        news = self._real.select(0)
        if news:
            self._grace = OUTSIDE_GRACE_SECONDS
        if news or timeout <= 0:
            return news
        if busy:
            return self._let_real_time_pass(timeout)
        self._grace, self._free = OUTSIDE_GRACE_SECONDS, OUTSIDE_FREE_SECONDS
        if len(self._real.get_map()) > 1 and (news := self._real.select(SOCKET_GRACE_SECONDS)):
            return news
        self.now += timeout
        return []

    def _let_real_time_pass(self, timeout: float) -> list[tuple[selectors.SelectorKey, int]]:
        started = time.monotonic()
        news = self._real.select(min(timeout, OUTSIDE_POLL_SECONDS))
        # What it took longer than asked for, we were not running, and perhaps nobody else was.
        passed = min(time.monotonic() - started, OUTSIDE_POLL_SECONDS)
        free = min(passed, self._grace, self._free)
        self._grace = OUTSIDE_GRACE_SECONDS if news else self._grace - free
        self._free -= free
        self.now += min(timeout, passed - free)
        return news

    def _outside_work(self) -> bool:
        self.children = [child for child in self.children if child.get_returncode() is None]
        return bool(self.children or self.executor_calls or supervise.outstanding())


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """The loop of every asynchronous test."""

    def __init__(self) -> None:
        self._virtual = VirtualTimeSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now

    def advance(self, seconds: float) -> None:
        """Move the time by hand; timers that come due fire at the next turn of the loop."""
        self._virtual.now += seconds

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Arguments]], Result], *args: *Arguments
    ) -> asyncio.Future[Result]:
        """As the real one, counted, because name lookups of the standard library go through it."""
        self._virtual.executor_calls += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._executor_call_ended)
        return future

    def _executor_call_ended(self, _future: object) -> None:
        self._virtual.executor_calls -= 1

    async def _make_subprocess_transport(self, *args: Any, **kwargs: Any) -> Any:
        transport = await getattr(super(), CHILD_HOOK)(*args, **kwargs)
        if lifeline.NAME not in args[1]:  # it works only when we are gone; to wait for it would be to wait for ever
            self._virtual.children.append(transport)
        return transport


class VirtualClock:
    """A `Clock` on the running `VirtualTimeLoop`: starts at 1000 s and at the first moment of 2026."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def now(self) -> float:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:  # a thread asks: it has the time of the loop that was seen last
            if self._loop is None:
                raise
        return self._loop.time()

    def wall(self) -> datetime:
        return EPOCH + timedelta(seconds=self.now() - START)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> asyncio.Timeout:
        return asyncio.timeout(seconds)

    def deadline(self, seconds: float | None) -> Deadline:
        return Deadline(None if seconds is None else self.now() + seconds, self)

    async def advance(self, seconds: float) -> None:
        """Move the time by hand even while outside work is under way, then let what came due run."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.advance(seconds)
        await settle()


async def settle(turns: int = 20) -> None:
    """Let everything that is ready run, without any time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
