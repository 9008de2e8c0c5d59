"""The only place that creates tasks and threads: each has a name, an owner, and an end somebody sees."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, cast

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.runtime.clock import Clock

T = TypeVar("T")
P = ParamSpec("P")
OnFailure = Callable[[str, BaseException], None]

logger = logging.getLogger(__name__)

THREADS = 16


def run(main: Coroutine[Any, Any, T]) -> T:
    """Carry out a whole program in an event loop of its own. Call it in the main thread; no other loop runs there."""
    _hear_of_children()
    _programs.append(main)
    try:
        return asyncio.run(main)
    finally:
        _programs.pop()


def whole_program() -> bool:
    """Whether this process is wholly ours just now: `run` carries out its program."""
    return bool(_programs)


class DomainClosedError(YagentError):
    """A task was started in a domain that has not been entered or has already ended."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How one named piece of work ended: with a value, an error, or cancelled (`error` is then a `CancelledError`)."""

    name: str
    value: T | None = None
    error: BaseException | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the work was cancelled rather than failed."""
        return isinstance(self.error, asyncio.CancelledError)

    def result(self) -> T:
        """The value, or the error raised."""
        if self.error is not None:
            raise self.error
        return cast("T", self.value)


class Handle(Generic[T]):
    """A running task. Awaiting it gives its result or raises its error.

    Cancelling who awaits does not cancel the task: it belongs to its domain. Only `cancel()` does.
    """

    def __init__(self, name: str, task: asyncio.Task[T]) -> None:
        self.name = name
        self._task = task

    def __await__(self) -> Generator[Any, None, T]:
        yield from self._wait().__await__()
        return self._task.result()

    async def _wait(self) -> None:
        if not self._task.done():
            await asyncio.wait((self._task,))

    async def outcome(self) -> Outcome[T]:
        """Wait for the end and give it as a value, so that a cancelled task is not mistaken for a cancelled caller."""
        await self._wait()
        return _outcome(self.name, self._task)

    def cancel(self) -> None:
        """Ask the task to end; it may still clean up."""
        self._task.cancel()

    def done(self) -> bool:
        """Whether the task has ended."""
        return self._task.done()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call back once the task has ended, however it did, even if it never got to run."""
        self._task.add_done_callback(lambda _: callback())


class Domain:
    """A supervised set of tasks. One that fails is reported under its name and leaves its siblings alone.

    Leaving the `async with` block cancels what still runs and waits for it. `on_failure(name, error)` is called
    for each failed task besides the log line. Source: requirements G-01 to G-05.
    """

    def __init__(self, name: str, *, on_failure: OnFailure | None = None) -> None:
        self.name = name
        self._on_failure = on_failure
        self._tasks: dict[asyncio.Task[Any], str] = {}
        self._open = False

    async def __aenter__(self) -> Self:
        self._open = True
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open = False
        tasks = self._others()
        for task in tasks:
            task.cancel()
        interruption = await _join(tasks)
        if interruption is not None:
            raise interruption

    def go(self, name: str, coroutine: Coroutine[Any, Any, T]) -> Handle[T]:
        """Start a task.

        Raises:
            DomainClosedError: the domain is not between its start and its end; the coroutine is closed unrun.
        """
        if not self._open:
            coroutine.close()
            where = f"the task domain {self.name!r} is not running"
            raise DomainClosedError(f"cannot start {name!r}: {where}; start it inside its `async with` block")
        task = asyncio.get_running_loop().create_task(coroutine, name=f"{self.name}/{name}")
        self._tasks[task] = name
        task.add_done_callback(self._ended)
        return Handle(name, task)

    async def drain(self, timeout: float | None, clock: Clock) -> list[str]:
        """Wait up to `timeout` seconds for all tasks, also those started meanwhile; the names of those still running.

        A task of the domain that drains it does not wait for itself.
        """
        try:
            async with clock.timeout(timeout):
                while others := self._others():
                    await asyncio.wait(others)
        except TimeoutError:
            pass
        return [self._tasks[task] for task in self._others()]

    def running(self) -> list[str]:
        """Names of the tasks that have not ended, oldest first."""
        return [name for task, name in self._tasks.items() if not task.done()]

    def _others(self) -> list[asyncio.Task[Any]]:
        current = asyncio.current_task()
        return [task for task in self._tasks if task is not current and not task.done()]

    def _ended(self, task: asyncio.Task[Any]) -> None:
        name = self._tasks.pop(task)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        logger.error("task %r of %r failed: %s", name, self.name, error, exc_info=error)
        if self._on_failure is not None:
            self._on_failure(name, error)


async def together(
    work: Sequence[tuple[str, Coroutine[Any, Any, T]]], *, settled: Callable[[int, Outcome[T]], None] | None = None
) -> list[Outcome[T]]:
    """Run coroutines side by side and give all outcomes, in the order of `work`; one failure stops nobody.

    `settled(index, outcome)` is called as each one ends. When the caller is cancelled, all are cancelled and awaited,
    `settled` still hears of every one, and only then the cancellation goes on: no outcome is lost.
    """
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(coroutine, name=name) for name, coroutine in work]
    outcomes: dict[int, Outcome[T]] = {}

    def ended(index: int, task: asyncio.Task[T]) -> None:
        if index in outcomes:
            return
        outcomes[index] = _outcome(work[index][0], task)
        if settled is not None:
            settled(index, outcomes[index])

    for index, task in enumerate(tasks):
        task.add_done_callback(partial(ended, index))
    interruption = await _join(tasks, cancel_on_interruption=True)
    for index, task in enumerate(tasks):
        ended(index, task)  # a task that ended in this very turn of the loop has not told its callbacks yet
    if interruption is not None:
        raise interruption
    return [outcomes[index] for index in range(len(tasks))]


async def shielded(coroutine: Coroutine[Any, Any, T], *, timeout: float, clock: Clock, name: str = "cleanup") -> T:
    """Run clean-up that a cancelled caller must not cut short, for at most `timeout` seconds.

    A cancellation that arrives meanwhile is raised when the coroutine has ended; what the coroutine itself raised is then logged.

    Raises:
        TimeoutError: the coroutine took too long and was cancelled.
    """
    task = asyncio.get_running_loop().create_task(_limited(coroutine, timeout, clock), name=name)
    interruption = await _join([task])
    if interruption is None:
        return task.result()
    error = None if task.cancelled() else task.exception()
    if error is not None:
        logger.error("%r failed while its caller was being cancelled: %s", name, error, exc_info=error)
    raise interruption


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work in a thread, with the caller's context variables.

    A thread cannot be stopped: a cancelled caller goes on at once, work not yet begun is dropped, and work under way
    stays counted in `outstanding()` until it ends; if it then fails, that is logged.
    """
    name = getattr(function, "__qualname__", repr(function))
    waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    ticket = _enter(f"thread {name}")
    try:
        work = _threads().submit(partial(contextvars.copy_context().run, function, *args, **kwargs))
    except BaseException:
        _leave(ticket)
        raise
    work.add_done_callback(partial(_worked, waiting, ticket, name))
    try:
        return await waiting
    except asyncio.CancelledError:
        work.cancel()
        raise


@contextmanager
def outside(name: str) -> Iterator[None]:
    """Count work that goes on outside the event loop (a child process, a reply on its way) for the block's duration."""
    ticket = _enter(name)
    try:
        yield
    finally:
        _leave(ticket)


def _hear_of_children() -> None:
    """Let the kernel tell how programs ended, also where whoever started us did not want to know, and when. Python 3.11 would keep a thread
    for each, later ones hear of it by themselves."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if sys.version_info < (3, 12) and sys.platform == "linux":
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError:
            return  # an old kernel, or one that forbids it
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())


def outstanding() -> list[str]:
    """Names of the threads and other outside work under way, oldest first."""
    return list(_outstanding.values())


_programs: list[object] = []
_outstanding: dict[object, str] = {}
_outstanding_lock = threading.Lock()


def _enter(name: str) -> object:
    ticket = object()
    with _outstanding_lock:
        _outstanding[ticket] = name
    return ticket


def _leave(ticket: object) -> None:
    with _outstanding_lock:
        del _outstanding[ticket]


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="yagent")


def _worked(waiting: asyncio.Future[T], ticket: object, name: str, work: Future[T]) -> None:
    """Wake who waits, from the thread that did the work; until then it is outstanding."""
    try:
        waiting.get_loop().call_soon_threadsafe(_settle, waiting, name, work)
    except RuntimeError:  # the loop is closed
        _report_late_failure(name, work)
    finally:
        _leave(ticket)


def _settle(waiting: asyncio.Future[T], name: str, work: Future[T]) -> None:
    if waiting.cancelled():
        _report_late_failure(name, work)
    elif (error := work.exception()) is None:
        waiting.set_result(work.result())
    elif isinstance(error, StopIteration):  # refused by futures, and whoever awaits it would then wait for ever
        waiting.set_exception(RuntimeError(f"{name} raised StopIteration"))
    else:
        waiting.set_exception(error)


def _report_late_failure(name: str, work: Future[Any]) -> None:
    error = None if work.cancelled() else work.exception()
    if error is not None:
        logger.error("thread %r failed after its caller was cancelled: %s", name, error, exc_info=error)


async def _limited(coroutine: Coroutine[Any, Any, T], timeout: float, clock: Clock) -> T:
    async with clock.timeout(timeout):
        return await coroutine


async def _join(tasks: Collection[asyncio.Task[Any]], *, cancel_on_interruption: bool = False) -> asyncio.CancelledError | None:
    """Wait for all tasks whatever happens; the cancellation that arrived meanwhile, for the caller to raise."""
    interruption: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            if interruption is None and cancel_on_interruption:
                for task in pending:
                    task.cancel()
            interruption = error
    return interruption


def _outcome(name: str, task: asyncio.Task[T]) -> Outcome[T]:
    if task.cancelled():
        return Outcome(name, error=asyncio.CancelledError())
    error = task.exception()
    return Outcome(name, error=error) if error is not None else Outcome(name, value=task.result())
