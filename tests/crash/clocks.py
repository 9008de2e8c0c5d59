"""Clocks and disks of crash runs. Every record is stamped with the calendar time, so a clock sees each of them come."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.virtual_time import START, VirtualClock, VirtualTimeLoop

MORNING = datetime(2026, 1, 1, 8, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


class WitnessClock(VirtualClock):
    """Gives no calendar time twice, and calls `seen(stamp)` whenever it is asked for one: at least once for every record, before it can
    have been written. `begins` is the calendar time of the run's start."""

    def __init__(self, seen: Callable[[str], None], begins: datetime = MORNING) -> None:
        super().__init__()
        self._seen = seen
        self._begins = begins
        self._last = begins - _TICK
        self._thread = threading.get_ident()

    def wall(self) -> datetime:
        self._last = max(self._last + _TICK, self._begins + timedelta(seconds=self.now() - START))
        if threading.get_ident() == self._thread:
            self._seen(self._last.isoformat())
        return self._last


class JumpingClock(VirtualClock):
    """Begins at some time, and each time it is asked the calendar has been moved by as much, back and forth."""

    def __init__(self, begins: datetime, jump: timedelta = timedelta(0)) -> None:
        super().__init__()
        self._begins = begins
        self._jump = jump

    def wall(self) -> datetime:
        self._jump = -self._jump
        return self._begins + self._jump + timedelta(seconds=self.now() - START)


@contextmanager
def slow_disk(records: Callable[[], Path | None], seconds: float) -> Iterator[None]:
    """Every write to a record below `records()` takes so many virtual seconds; call it in a `VirtualTimeLoop`."""
    loop, plain = asyncio.get_running_loop(), os.write
    assert isinstance(loop, VirtualTimeLoop)

    def slow(descriptor: int, data: bytes) -> int:
        directory = records()
        if directory is not None and descriptor in writing_to(directory):
            loop.call_soon_threadsafe(loop.advance, seconds)
        return plain(descriptor, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", slow)
        yield


def full() -> int:
    """A descriptor to which nothing can be written: no space left on device."""
    return os.open("/dev/full", os.O_WRONLY | os.O_CLOEXEC)


def broken() -> int:
    """A descriptor to which nothing can be written: input/output error."""
    ours, theirs = os.openpty()
    os.close(ours)
    return theirs


class BrokenDisk:
    """From record number `number` (from 1) of a run on, no record below `records()` can be written any more."""

    def __init__(self, records: Callable[[], Path | None], number: int, failing: Callable[[], int]) -> None:
        self._records = records
        self._left = number
        self._failing = failing

    def __call__(self, stamp: str) -> None:
        """A record comes."""
        directory = self._records()
        if directory is None:
            return
        self._left -= 1
        if self._left > 0:
            return
        for descriptor in writing_to(directory):
            failing = self._failing()
            os.dup2(failing, descriptor, inheritable=False)
            os.close(failing)


def writing_to(directory: Path) -> list[int]:
    """The descriptors of this process that are open on records below a directory (Linux)."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if target.startswith(f"{directory}/") and fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                found.append(int(name))
    return found
