"""Writes the files of one session.

`append` only encodes and returns; what has gathered is written after 32 records or 20 ms (I-06), and `barrier` waits until all that was
appended before it has been handed to the kernel (`write(2)`). The first and the last record are also forced to the disk. A failed write is
reported by every later barrier: a step whose record cannot be kept must not take effect.
"""

import asyncio
import errno
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from yagent.errors import YagentError
from yagent.protocol.ids import AgentIdentity
from yagent.records import dataclass
from yagent.rollout.records import EventMessage, Record, SessionMeta, encode
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain, DomainClosedError, in_thread, shielded

FLUSH_RECORDS = 32
FLUSH_SECONDS = 0.02
WRITE_SECONDS = 30.0  # a disk that takes longer for one write does not answer

logger = logging.getLogger(__name__)


class RolloutError(YagentError):
    """The record of a run cannot be written."""


class Numbers:
    """One order over all files of a session."""

    def __init__(self) -> None:
        self._next = 0

    def take(self) -> int:
        self._next += 1
        return self._next


class NullRecorder:
    """Keeps nothing: for a home that cannot be written, which the user was told of."""

    def append(self, record: Record) -> None:
        return None

    async def barrier(self) -> None:
        return None

    async def close(self) -> None:
        return None


class RolloutWriter:
    """The record of one run of one agent in one file."""

    def __init__(self, path: Path, descriptor: int, sequence: Numbers, clock: Clock, domain: Domain) -> None:
        self.path = path
        self._descriptor = descriptor
        self._sequence = sequence
        self._clock = clock
        self._domain = domain
        self._lines: list[bytes] = []
        self._appended = 0
        self._written = 0
        self._force = False
        self._failure: RolloutError | None = None
        self._waiting = False
        self._full = asyncio.Event()
        self._turn = asyncio.Lock()

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
            raise self._failure

    async def close(self) -> None:
        """Write what is left and release the file; what is appended later is refused by its barrier."""
        try:
            await self.barrier()
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

    def open(self, agent: AgentIdentity) -> RolloutWriter:
        """A new file for a run of `agent`. Raises `RolloutError` when it cannot be made."""
        stem = f"{self.started}_{self.session}"
        if agent.delegation_id:
            stem = f"{self.clock.wall():%Y%m%d-%H%M%S}_{self.session}_{agent.role}"
        try:
            self.prepare_directory(self.directory)
            path, descriptor = _create(self.directory, stem)
        except OSError as failure:
            raise RolloutError(
                f"The record of this session cannot be created: {failure.strerror} ({self.directory}). Set YAGENT_HOME."
            ) from failure
        return RolloutWriter(path, descriptor, self.sequence, self.clock, self.domain)


def _create(directory: Path, stem: str) -> tuple[Path, int]:
    number = 1
    while True:
        path = directory / (f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            number += 1
