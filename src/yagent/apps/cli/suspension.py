"""Ctrl-Z: the terminal is left in order before the process stands still, and taken again afterwards."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress


class Suspension:
    """Calls `leave` before this process is suspended by the terminal, and `come_back` when it goes on. Whoever started us and ignores
    that signal (a shell without job control) is not contradicted."""

    def __init__(self, leave: Callable[[], object], come_back: Callable[[], object]) -> None:
        self._leave = leave
        self._come_back = come_back
        self._is_heeded = False

    def install(self) -> None:
        """Heed the signal from here on."""
        if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
            self._is_heeded = True
            asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self._suspended)

    def release(self) -> None:
        """Leave the signal to the system again."""
        if self._is_heeded:
            self._is_heeded = False
            asyncio.get_running_loop().remove_signal_handler(signal.SIGTSTP)

    def _suspended(self) -> None:
        """Stand still as the system would have us; `kill` returns when somebody has us go on."""
        self._leave()
        self.release()
        os.kill(os.getpid(), signal.SIGTSTP)
        self.install()
        self._come_back()


def is_in_foreground(descriptor: int) -> bool | None:
    """Whether we are in the foreground of a terminal; None where nobody can tell."""
    with suppress(OSError):
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    return None
