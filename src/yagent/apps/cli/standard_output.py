"""Standard output carries the answer and nothing else, all of it, or ends quietly when nobody reads."""

import asyncio
import os
import select
import stat
from collections.abc import Callable
from typing import ClassVar

from yagent.errors import YagentError
from yagent.protocol.stop import PIPE_CLOSED
from yagent.protocol.visible import visible


class OutputClosed(YagentError):
    """Whoever read our output has gone: there is nothing left to say."""

    exit_code: ClassVar[int] = PIPE_CLOSED


class StandardOutput:
    """Writes to a descriptor without Python's buffering, so that no byte is lost at exit and a closed pipe is seen at once."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)

    def write(self, text: str) -> None:
        """Write all of `text`. On a terminal, what would control it is made visible (foreign text is data). Raises `OutputClosed`."""
        shown = visible(text) if self.is_terminal else text
        view = memoryview(shown.encode("utf-8", "backslashreplace"))
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except BlockingIOError:  # the parent made it non-blocking
                select.select([], [self._descriptor], [])
            except OSError as failure:
                raise OutputClosed("Standard output was closed.") from failure

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


def open_standard_descriptors() -> None:
    """Make sure that 0, 1 and 2 are open, so that no file we open becomes one of them."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)
