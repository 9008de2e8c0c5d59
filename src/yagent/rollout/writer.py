"""Writes the files of one session.

`append` only encodes and returns; what has gathered is written after 32 records or 20 ms (I-06), and `barrier` waits until all that was
appended before it has been handed to the kernel (`write(2)`). The first and the last record are also forced to the disk. A failed write is
reported by every later barrier: a step whose record cannot be kept must not take effect.
"""

import asyncio
import errno
import logging
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.rollout.marks import Segment
from yagent.rollout.records import AgentCheckpoint, EventMessage, Record, SessionMeta, encode
from yagent.runtime.atomic import try_lock
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain, DomainClosedError, in_thread, shielded

FLUSH_RECORDS = 32
FLUSH_SECONDS = 0.02
LOCK_TRIES = 50  # who makes a list looks whether a session is open, which locks it for some microseconds
WRITE_SECONDS = 30.0  # a disk that takes longer for one write does not answer

logger = logging.getLogger(__name__)


class RolloutError(YagentError):
    """The record of a run cannot be written."""


class SessionInUse(YagentError):
    """Another process has the session open."""

    exit_code: ClassVar[int] = USAGE


class Numbers:
    """One order over all files of a session; `start` is the highest number that is taken."""

    def __init__(self, start: int = 0) -> None:
        self._next = start

    def take(self) -> int:
        self._next += 1
        return self._next

    def go_on_after(self, position: int) -> None:
        """Leave out the numbers up to `position`: they are taken."""
        self._next = max(self._next, position)


class NullRecorder:
    """Keeps nothing: for a home that cannot be written, which the user was told of."""

    def append(self, record: Record) -> None:
        return None

    async def barrier(self) -> None:
        return None

    async def finalize_checkpoint(self, checkpoint: AgentCheckpoint) -> None:
        return None

    async def close(self) -> None:
        return None


class RolloutWriter:
    """The record of one run of one agent in one file; `earlier` are the files with what it said before."""

    def __init__(
        self, path: Path, descriptor: int, sequence: Numbers, clock: Clock, domain: Domain, *, earlier: Sequence[Segment] = ()
    ) -> None:
        self.path = path
        self._earlier = earlier
        self._descriptor = descriptor
        self._sequence = sequence
        self._clock = clock
        self._domain = domain
        self._lines: list[bytes] = []
        self._appended = 0
        self._written = 0
        self._force = False
        self._failure: RolloutError | None = None
        self._is_told = False  # the failure was raised once
        self._is_closed = False
        self._waiting = False
        self._full = asyncio.Event()
        self._turn = asyncio.Lock()

    def go_on_from(self, earlier: Sequence[Segment]) -> None:
        """Say which files hold what was said before this one, where that is known only after it is open."""
        self._earlier = earlier

    def append(self, record: Record) -> None:
        """Keep a record; returns at once. Works also while the session's domain is ending: the next barrier then writes it."""
        self._lines.append(encode(self._sequence.take(), self._clock.wall().isoformat(), record))
        self._appended += 1
        self._force = self._force or isinstance(record, SessionMeta) or (isinstance(record, EventMessage) and record.is_terminal)
        if len(self._lines) >= FLUSH_RECORDS:
            self._full.set()
        if not self._waiting:
            with suppress(DomainClosedError):
                self._domain.go(f"rollout {self.path.name}", self._write_soon())
                self._waiting = True

    async def barrier(self) -> None:
        """Wait until everything appended so far is written. Raises `RolloutError` when anything could not be."""
        target = self._appended
        while self._written < target:
            await self._write()
        if self._failure is not None:
            self._is_told = True
            raise self._failure

    async def finalize_checkpoint(self, checkpoint: AgentCheckpoint) -> None:
        """Write a checkpoint whose digest and message count are those of the conversation as a reader of the files will rebuild it (I-07).

        What the caller put into these two fields does not count. Raises `RolloutError` as `barrier`, or when the files cannot be read back.
        """
        await self.barrier()
        try:
            told, count = await in_thread(_read_back, (*self._earlier, Segment(self.path)))
        except OSError as failure:
            raise RolloutError(
                f"The record of this session cannot be read back: {failure.strerror} ({self.path}). Check the disk and resume."
            ) from failure
        except (ImportError, SyntaxError) as failure:
            raise RolloutError(
                f"The record of this session cannot be read back, for yagent was changed while it ran: {failure}. It can be resumed."
            ) from failure
        self.append(replace(checkpoint, digest=told, messages=count))
        await self.barrier()

    async def close(self) -> None:
        """Write what is left and release the file; what is appended later is refused by its barrier. A failure that a barrier has told of
        already is not told again. Closing it twice does nothing."""
        if self._is_closed:
            return
        self._is_closed, was_told = True, self._is_told
        try:
            await self.barrier()
        except RolloutError:
            if not was_told:
                raise
        finally:
            self._failure = self._failure or RolloutError(f"The record {self.path} is closed. This is a defect; please report it.")
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    async def _write_soon(self) -> None:
        with suppress(TimeoutError):
            async with self._clock.timeout(FLUSH_SECONDS):
                await self._full.wait()
        self._waiting = False
        if self._lines:  # else a barrier was faster
            await self._write()

    async def _write(self) -> None:
        """Hand over what has gathered. A caller that is cancelled goes on only when the write under way has ended: nothing may follow it,
        and nobody may close its descriptor, before it is known how it ended."""
        with suppress(TimeoutError):  # kept as the failure of this record
            await shielded(self._write_gathered(), timeout=WRITE_SECONDS, clock=self._clock, name=f"write {self.path.name}")

    async def _write_gathered(self) -> None:
        """Only one write is under way, so lines never interleave."""
        async with self._turn:
            lines, self._lines = self._lines, []
            force, self._force = self._force, False
            self._full.clear()
            if not lines:
                return
            try:
                failure = self._failure or await in_thread(_write_all, self._descriptor, b"".join(lines), force, self.path)
            except asyncio.CancelledError:
                self._descriptor = -1  # left to the thread that is still writing to it
                failure = RolloutError(
                    f"The record of this session cannot be written: no answer for {WRITE_SECONDS:g} s ({self.path}). Check the disk."
                )
                self._keep(failure, lines)
                raise
            self._keep(failure, lines)

    def _keep(self, failure: RolloutError | None, lines: list[bytes]) -> None:
        if failure is not None and self._failure is None:
            logger.error("%s", failure)
        self._failure = failure
        self._written += len(lines)


def _read_back(segments: Sequence[Segment]) -> tuple[str, int]:
    """Digest and count of a conversation. Blocking."""
    from yagent.rollout.checkpoint import digest
    from yagent.rollout.replay import replay

    messages = replay(segments).messages
    return digest(messages), len(messages)


def _write_all(descriptor: int, data: bytes, force: bool, path: Path) -> RolloutError | None:
    """Blocking. A torn line can only be the last one: after a failure nothing more is written to this file."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
        if force:
            os.fsync(descriptor)
    except OSError as failure:
        hint = "free some space" if failure.errno in (errno.ENOSPC, errno.EDQUOT) else "check the disk"
        return RolloutError(
            f"The record of this session cannot be written: {failure.strerror} ({path}). Nothing more is done; {hint} and resume."
        )
    return None


@dataclass(frozen=True, slots=True)
class SessionLog:
    """The files of one session under `directory` (`…/rollout/{project_id}`): `{time}_{session}[_{agent}].jsonl` (I-01)."""

    directory: Path
    session: str
    started: str  # file-name form of the session's start, UTC
    sequence: Numbers
    clock: Clock
    domain: Domain
    prepare_directory: Callable[[Path], None]

    def open(self, agent: AgentIdentity, earlier: Sequence[Segment] = ()) -> RolloutWriter:
        """A new file for a run of `agent`; `earlier` are the files with what it said before (a delegation that goes on, a fork). The
        Director's is locked until it is closed or the process ends. Raises `RolloutError` when it cannot be made."""
        stem = f"{self.started}_{self.session}"
        if agent.delegation_id:
            stem = f"{self.clock.wall():%Y%m%d-%H%M%S}_{self.session}_{agent.role}"
        try:
            self.prepare_directory(self.directory)
            path, descriptor = _create(self.directory, stem)
            if not agent.delegation_id:
                try_lock(descriptor, path)  # nobody else knows the file yet
        except OSError as failure:
            raise RolloutError(
                f"The record of this session cannot be created: {failure.strerror} ({self.directory}). Set YAGENT_HOME."
            ) from failure
        return RolloutWriter(path, descriptor, self.sequence, self.clock, self.domain, earlier=earlier)

    def reopen(self, path: Path, earlier: Sequence[Segment] = ()) -> RolloutWriter:
        """Go on in the Director's file; what is appended begins on a line of its own, whatever the last one was cut to.

        Raises `SessionInUse` when another process has it open, `RolloutError` when it cannot be written.
        """
        try:
            descriptor = _reopen(path)
        except OSError as failure:
            raise RolloutError(f"The record of this session cannot be continued: {failure.strerror} ({path}). Check the file.") from failure
        if descriptor is None:
            raise SessionInUse(
                f"Session {self.session} is open in another process. Go on there, end that process, or start a new session ({path})."
            )
        return RolloutWriter(path, descriptor, self.sequence, self.clock, self.domain, earlier=earlier)


def _reopen(path: Path) -> int | None:
    """A locked descriptor that appends to whole lines, None when somebody else has the lock. A link is not followed: what it leads to
    need not be a record, and would be written to."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link, and nothing is written through one")
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if status.st_uid != os.geteuid():
            raise OSError(errno.EPERM, "it belongs to another user")
        if not any(try_lock(descriptor, path) for _ in range(LOCK_TRIES)):
            os.close(descriptor)
            return None
        size = os.fstat(descriptor).st_size  # of now: the process that had the lock may have written
        if size > 0 and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")
        return descriptor
    except OSError:
        os.close(descriptor)
        raise


def _create(directory: Path, stem: str) -> tuple[Path, int]:
    number = 1
    while True:
        path = directory / (f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            number += 1
