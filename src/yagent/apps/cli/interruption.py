"""What ends a run from outside: signals, a reader of our output that goes away, a terminal that is closed."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

from yagent.errors import YagentError
from yagent.protocol.stop import INTERRUPTED, PIPE_CLOSED, TERMINATED

CODES: Final = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGHUP: TERMINATED}


class Interruption:
    """The first signal of a run ends it in order, a second one at once. `exit_code` is that of what came first, None for nothing. What
    whoever started us ignores (`nohup`, a script's background) stays ignored."""

    def __init__(self, stop: Callable[[], object], at_once: Callable[[], None]) -> None:
        self.exit_code: int | None = None
        self._stop = stop
        self._at_once = at_once
        self._signalled = False
        self._heeded: list[signal.Signals] = []

    def install(self) -> None:
        """Heed signals from here on."""
        loop = asyncio.get_running_loop()
        self._heeded = [number for number in CODES if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._heeded:
            loop.add_signal_handler(number, self._arrived, number)

    def release(self) -> None:
        """The run is over: a signal starts nothing any more and cuts no cleaning up short, be it until the process ends. A second one
        still ends the process at once."""
        loop = asyncio.get_running_loop()
        for number in self._heeded:
            while signal.getsignal(number) != self._late:
                try:
                    loop.remove_signal_handler(number)
                    signal.signal(number, self._late)
                except KeyboardInterrupt:  # between the two
                    self._signalled = True

    def output_closed(self, failure: YagentError | None = None) -> None:
        """The reader of our output went away, or it cannot be written: nobody gets what we do."""
        self._end(PIPE_CLOSED if failure is None else failure.exit_code)

    def terminal_closed(self) -> None:
        """Nobody is left at the terminal that a question was put on: as if the signal that comes with it had come first."""
        self._end(TERMINATED)

    def _end(self, code: int) -> None:
        if self.exit_code is None:
            self.exit_code = code
            self._stop()

    def _arrived(self, number: signal.Signals) -> None:
        if self._signalled and number is not signal.SIGHUP:  # of which a closed terminal sends several
            self._at_once()
            logging.shutdown()  # writes what has gathered
            os._exit(CODES[number])  # the workspace's lifeline ends what still runs when we are gone
        if not self._signalled:
            self._signalled, self.exit_code = True, CODES[number]
            self._stop()

    def _late(self, number: int, frame: FrameType | None) -> None:
        if self._signalled and number != signal.SIGHUP:
            os._exit(CODES[signal.Signals(number)])
        self._signalled = True
