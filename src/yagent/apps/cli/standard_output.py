"""Standard output carries the answer and nothing else, all of it, or ends quietly when nobody reads."""

import asyncio
import errno
import io
import os
import select
import stat
import sys
from collections.abc import Callable
from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.stop import PIPE_CLOSED
from yagent.protocol.visible import visible

GONE = frozenset({errno.EPIPE, errno.ECONNRESET})


class OutputClosed(YagentError):
    """Whoever read our output has gone: there is nothing left to say."""

    exit_code: ClassVar[int] = PIPE_CLOSED


class OutputFailed(YagentError):
    """The answer could not be written, although somebody wants it: the disk is full, say. The record has it."""


class OutputMissing(OutputFailed):
    """There was no standard output from the start, so nothing can be delivered."""

    exit_code: ClassVar[int] = PIPE_CLOSED


class StandardOutput:
    """Writes to a descriptor without Python's buffering, so that no byte is lost at exit and a closed pipe is seen at once."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)

    async def write(self, text: str) -> None:
        """Write all of `text`, however slowly it is read; the event loop goes on meanwhile, so that signals are heeded.

        On a terminal, what would control it is made visible (foreign text is data). Raises `OutputClosed` and `OutputFailed`.
        """
        rest = self._bytes(text)
        while rest:
            if not self._has_room(0):
                await self._room()
            rest = rest[self._put(rest) :]

    def write_now(self, text: str) -> None:
        """`write` where no event loop runs; it blocks."""
        rest = self._bytes(text)
        while rest:
            self._has_room(None)
            rest = rest[self._put(rest) :]

    def _bytes(self, text: str) -> memoryview:
        return memoryview((visible(text) if self.is_terminal else text).encode("utf-8", "backslashreplace"))

    def _put(self, data: memoryview) -> int:
        """Write no more than fits once there is room; how much it was. Raises `OutputClosed` and `OutputFailed`."""
        try:
            return os.write(self._descriptor, data[: select.PIPE_BUF])
        except BlockingIOError:  # the parent made it non-blocking, and somebody else was quicker
            return 0
        except OSError as failure:
            if failure.errno in GONE:
                raise OutputClosed("Standard output was closed.") from failure
            if failure.errno == errno.EBADF:
                raise OutputMissing("The answer could not be written: standard output is closed.") from failure
            raise OutputFailed(f"The answer could not be written: {os.strerror(failure.errno or 0)}.") from failure

    def _has_room(self, seconds: float | None) -> bool:
        """Whether a write would not block now, or within `seconds`. Files always have room."""
        return bool(select.select([], [self._descriptor], [], seconds)[1])

    async def _room(self) -> None:
        """Wait until a write would not block."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_writer(self._descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._descriptor)

    def watch(self, closed: Callable[[], None]) -> Callable[[], None]:
        """Call `closed` when the reader of a pipe goes away while we work; returns what ends the watch. Does nothing elsewhere."""
        loop = asyncio.get_running_loop()
        try:
            if not stat.S_ISFIFO(os.fstat(self._descriptor).st_mode):
                return lambda: None
            # an end for writing becomes "readable" only when its other end is closed
            loop.add_reader(self._descriptor, self._reader_gone, loop, closed)
        except OSError:
            return lambda: None
        return lambda: _forget(loop, self._descriptor)

    def _reader_gone(self, loop: asyncio.AbstractEventLoop, closed: Callable[[], None]) -> None:
        loop.remove_reader(self._descriptor)
        closed()


def _forget(loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    loop.remove_reader(descriptor)


def reader_has_left(descriptor: int = 1) -> bool:
    """Whether the other end of a pipe is closed."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def flush_standard_streams() -> str:
    """Write out what the interpreter holds. Why standard output could not take it, "" also where its other end is gone: that is how
    readers leave."""
    why = ""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as failure:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and failure.errno not in GONE:
                why = os.strerror(failure.errno or 0)
    return why


def hold_standard_output() -> None:
    """Buffer what the parser prints also where the environment asks for unbuffered output, which loses what it could not write."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.FileIO) and raw.fileno() == 1:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=sys.stdout.encoding, errors=sys.stdout.errors)


def open_standard_descriptors() -> None:
    """Make sure that 0, 1 and 2 are open, so that no file we open becomes one of them.

    Standard output then cannot be written: an answer that nobody can get must not count as delivered.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
