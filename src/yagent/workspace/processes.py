"""The only door to other programs: starting them, hearing from them, ending them with all their descendants.

Programs get an argument list, never a line for a shell to read; no standard input; a session of their own without a terminal.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import cast

from yagent.errors import YagentError
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.runtime.clock import Clock
from yagent.workspace import orphans
from yagent.workspace.process_table import Origin, ProcessInfo, alive

Sink = Callable[[bytes], None]

logger = logging.getLogger(__name__)

TERM_GRACE = 0.4
_POLL = 0.02
_ROUNDS = 3
_LOOKS = 5
_KILL_LIMIT = 3.0


class ProcessError(YagentError):
    """A program could not be started; the text names it."""


class Child:
    """A started program. Its output goes to the sinks it was started with, piece by piece, from the event loop."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self.pid = transport.get_pid()

    async def exited(self) -> int:
        """Wait for the program itself, whoever else holds its pipes: its exit code, or the negative number of the signal that ended it."""
        await asyncio.shield(self._protocol.exited)
        return cast("int", self._transport.get_returncode())

    async def drained(self) -> None:
        """Wait until all holders of its pipes have closed them: no output is missing."""
        await asyncio.shield(self._protocol.closed)

    @property
    def returncode(self) -> int | None:
        """See `exited`; None while it runs."""
        return self._transport.get_returncode()

    def when_exited(self, action: Callable[[], None]) -> None:
        """Call `action` once the program has exited."""
        self._protocol.exited.add_done_callback(lambda _: action())

    def write(self, data: bytes) -> None:
        """Send to its standard input, when it was started with one."""
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None and not pipe.is_closing():
            cast("asyncio.WriteTransport", pipe).write(data)

    @property
    def is_renumbered(self) -> bool:
        """Whether it has ended and its number is that of another process by now, whose group is then none of ours either."""
        return self.returncode is not None and alive(self.pid)

    def kill(self) -> None:
        """End it and its process group at once, without waiting."""
        if not self.is_renumbered:
            _signal_group(self.pid, signal.SIGKILL)

    async def end(self, clock: Clock) -> None:
        """Kill what is left of it and its process group, and let go of its pipes; not cut short by a cancellation.

        A process that the system cannot end yet (it waits for a disk or a network that does not answer) is left to the system.
        """
        self.kill()
        try:
            await supervise.shielded(self.released(), timeout=_KILL_LIMIT, clock=clock, name=f"end of process {self.pid}")
        except TimeoutError:
            logger.warning("process %d was killed and has not ended after %g s", self.pid, _KILL_LIMIT)

    async def released(self) -> None:
        """Let go of its pipes once it has exited."""
        try:
            await self.exited()
        finally:
            self._transport.close()


class _Protocol(asyncio.SubprocessProtocol):
    def __init__(self, sinks: Mapping[int, Sink]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._sinks = sinks
        self._open = set(sinks)
        self.pid = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.pid = cast("asyncio.SubprocessTransport", transport).get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._sinks[fd](data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.closed.done():
            self.closed.set_result(None)

    def process_exited(self) -> None:
        orphans.reaped(self.pid)
        if not self.exited.done():
            self.exited.set_result(None)


@dataclass(frozen=True, slots=True)
class Program:
    """What to start: arguments (the first is the program), where, and with which environment (the whole of it)."""

    arguments: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str] = field(repr=False)


async def start(program: Program, *, output: Sink, errors: Sink | None = None, with_input: bool = False) -> Child:
    """Start a program in its own session. Without `errors`, standard error goes where output goes, in order.

    Raises:
        ProcessError: no such program or directory, or the system refuses.
    """
    pipe, null, same = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL, asyncio.subprocess.STDOUT
    sinks = {1: output} if errors is None else {1: output, 2: errors}
    try:
        with orphans.starting() as own:
            transport, protocol = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Protocol(sinks),
                *program.arguments,
                stdin=pipe if with_input else null,
                stdout=pipe,
                stderr=same if errors is None else pipe,
                cwd=program.directory,
                env=dict(program.environment),
                start_new_session=True,
            )
            if transport.get_returncode() is None:
                own.add(transport.get_pid())
    except (OSError, ValueError) as error:
        what = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ProcessError(f"cannot run {program.arguments[0]} in {program.directory}: {what}") from error
    return Child(transport, protocol)


@dataclass(frozen=True, slots=True)
class Captured:
    """What a short program came to; `code` None when it was ended for taking too long or saying too much."""

    code: int | None
    output: bytes = field(repr=False)
    errors: str
    truncated: bool = False
    timed_out: bool = False


async def capture(program: Program, *, clock: Clock, timeout: float, limit: int = 4_000_000) -> Captured:
    """Run a short program to its end, with at most `limit` bytes of its output.

    Raises:
        ProcessError: it could not be started.
    """
    output, errors = Bounded(limit), Bounded(20_000)
    child = await start(program, output=output.add, errors=errors.add)
    output.when_full = child.kill
    if output.full:
        child.kill()
    timed_out = False
    try:
        with supervise.outside(f"process {program.arguments[0]}"):
            try:
                async with clock.timeout(timeout):
                    code = await child.exited()
                    await child.drained()
            except TimeoutError:
                timed_out = True
    finally:
        await child.end(clock)
    ended = timed_out or output.full
    return Captured(None if ended else code, bytes(output.data), bytes(errors.data).decode("utf-8", "replace"), output.full, timed_out)


class Bounded:
    """Keeps the first `limit` bytes of a stream; `when_full` is called once when there are more."""

    def __init__(self, limit: int) -> None:
        self.data = bytearray()
        self.full = False
        self.when_full: Callable[[], None] | None = None
        self._limit = limit

    def add(self, data: bytes) -> None:
        """A sink."""
        if self.full:
            return
        self.data += data[: self._limit - len(self.data)]
        if len(self.data) >= self._limit:
            self.full = True
            if self.when_full is not None:
                self.when_full()


async def end_tree(origin: Origin, *, clock: Clock, grace: float = TERM_GRACE, at_once: bool = False) -> tuple[str, ...]:
    """End everything that a started program left running: asked first, forced after `grace` seconds or `at_once`. Says what that was.

    Found are the members of its process group, its descendants, and (on Linux) whatever carries the origin's mark in its environment or
    came to us when its parent ended, so that a process that made its own session does not get away.
    """
    found = await _members(origin, clock)
    names = [process.name for process in found]
    for number in (*(() if at_once else (signal.SIGTERM,)), *(signal.SIGKILL,) * _ROUNDS):
        if not found:
            break
        _signal_all(origin.group, found, number)
        await _until_gone(found, clock, grace)
        found = await _members(origin, clock)
        names += [process.name for process in found if process.name not in names]
    await supervise.in_thread(orphans.reap)
    return tuple(names)


async def _members(origin: Origin, clock: Clock) -> Sequence[ProcessInfo]:
    """Who is left; looked again when it could not be told for certain."""
    family = await supervise.in_thread(orphans.known_family, origin)
    for _ in range(_LOOKS):
        if family.members or family.settled:
            break
        await clock.sleep(_POLL)
        family = await supervise.in_thread(orphans.known_family, origin)
    return family.members


def _signal_all(group: int, found: Sequence[ProcessInfo], number: signal.Signals) -> None:
    if any(process.group == group for process in found):
        _signal_group(group, number)
    for process in found:
        # Each by itself as well: it may have left the group since it was found.
        try:
            os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # It is gone, or (macOS) only its unreaped leader is left.
        return


async def _until_gone(found: Sequence[ProcessInfo], clock: Clock, seconds: float) -> None:
    deadline = clock.deadline(seconds)
    while any(alive(process.pid) for process in found) and not deadline.passed:
        await clock.sleep(_POLL)
