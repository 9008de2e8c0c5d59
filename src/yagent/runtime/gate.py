"""Pause at step boundaries: what runs finishes, then waits here and goes on from the same point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from yagent.errors import YagentError

Listener = Callable[[bool], None]


class AbandonedError(YagentError):
    """The run was given up while (or before) it waited at the pause gate. Counts as a cancellation; see `is_cancellation`."""


def is_cancellation(error: BaseException) -> bool:
    """Whether an error means "stopped on request" rather than "failed". Source: requirement I-21."""
    return isinstance(error, asyncio.CancelledError | AbandonedError)


class Gate:
    """One gate per run, shared by all its delegations. Open at first; a run that is never paused never notices it."""

    def __init__(self) -> None:
        self._paused = False
        self._abandoned = False
        self._changed = asyncio.Event()
        self._listeners: list[Listener] = []

    @property
    def paused(self) -> bool:
        """Whether steps wait."""
        return self._paused

    @property
    def abandoned(self) -> bool:
        """Whether the run was given up; that is final."""
        return self._abandoned

    def pause(self) -> None:
        """Let each agent finish its step and then wait. Without effect when paused already or abandoned."""
        if not self._paused and not self._abandoned:
            self._change(paused=True)

    def resume(self) -> None:
        """Let everybody go on."""
        if self._paused:
            self._change(paused=False)

    def abandon(self) -> None:
        """Give the run up: who waits, and whoever comes to the gate later, gets an `AbandonedError`."""
        self._abandoned = True
        if self._paused:
            self._change(paused=False)

    async def wait(self) -> None:
        """Wait while paused; return at once when open.

        Raises:
            AbandonedError: the run was given up.
        """
        while self._paused and not self._abandoned:
            await self._changed.wait()
        if self._abandoned:
            raise AbandonedError("the run was given up at a pause; start it again to go on")

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(paused)` at every change, and at once if paused now; the result stops that."""
        self._listeners.append(listener)
        if self._paused:
            listener(self._paused)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def _change(self, *, paused: bool) -> None:
        self._paused = paused
        if paused:
            self._changed.clear()
        else:
            self._changed.set()
        for listener in tuple(self._listeners):
            listener(paused)
