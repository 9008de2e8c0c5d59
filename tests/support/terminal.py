"""A pseudo terminal with a program in its foreground, as a person has it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

from tests.support.command_line import LIMIT, CommandLine

END_OF_OUTPUT = "[written by the test: what programs wrote is above]"


class Terminal:
    """Use as `async with Terminal() as terminal`. `seen` is every byte the program wrote to it."""

    def __init__(self, columns: int = 100, rows: int = 30) -> None:
        self.seen = b""
        self._size = struct.pack("HHHH", rows, columns, 0, 0)
        self._news = asyncio.Event()
        self._master = self._slave = -1

    async def __aenter__(self) -> Self:
        self._master, self._slave = os.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, self._size)
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.hang_up()
        os.close(self._slave)

    async def start(
        self, line: CommandLine, *arguments: str, environment: dict[str, str | None] | None = None, foreground: bool = True, **streams: Any
    ) -> asyncio.subprocess.Process:
        """Start `yagent` with this terminal as its controlling one; streams that are not named are the terminal."""
        streams = {"stdin": self._slave, "stdout": self._slave, "stderr": self._slave, **streams}
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "yagent",
            *arguments,
            cwd=line.workspace,
            start_new_session=True,
            env=line.full_environment({"TERM": "xterm-256color", **(environment or {})}),
            preexec_fn=self._take_control if foreground else self._stay_behind,
            **streams,
        )

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    async def see(self, text: str, *, limit: float = LIMIT) -> None:
        """Wait until `text` is on the terminal."""
        async with asyncio.timeout(limit):
            try:
                while text.encode() not in self.seen:
                    self._news.clear()
                    await self._news.wait()
            except asyncio.CancelledError:
                raise AssertionError(f"{text!r} never came; seen: {self.seen[-3000:]!r}") from None

    async def see_the_rest(self) -> None:
        """Wait until everything that programs have written is on the terminal."""
        os.write(self._slave, END_OF_OUTPUT.encode())
        await self.see(END_OF_OUTPUT)

    def hang_up(self) -> None:
        """The window is closed."""
        if self._master >= 0:
            asyncio.get_running_loop().remove_reader(self._master)
            os.close(self._master)
            self._master = -1

    def settings(self) -> list[Any]:
        """The modes of the line, to compare before and after."""
        return termios.tcgetattr(self._slave)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            self.seen += os.read(self._master, 65536)
        self._news.set()

    def _take_control(self) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSCTTY, 0)

    def _stay_behind(self) -> None:
        """Have the terminal, but leave its foreground to somebody else: a sleeping child of the session's leader."""
        self._take_control()
        if (child := os.fork()) == 0:
            os.setpgid(0, 0)
            for descriptor in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            os.execvp("sleep", ("sleep", "60"))
        os.setpgid(child, child)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(self._slave, child)
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)


@contextlib.asynccontextmanager
async def closing(process: asyncio.subprocess.Process, *cleanups: Callable[[], None]) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that does not outlive the block."""
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        for cleanup in cleanups:
            cleanup()
