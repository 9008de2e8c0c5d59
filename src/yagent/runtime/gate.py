"""Pause at step boundaries: what runs finishes, then waits here and goes on from the same point.

Gates form the tree of the agents: one that is paused holds whoever works below it, too, and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from yagent.errors import YagentError

Listener = Callable[[bool], None]


class AbandonedError(YagentError):
    """The run was given up while (or before) it waited at the pause gate. Counts as a cancellation; see `is_cancellation`."""


def is_cancellation(error: BaseException) -> bool:
    """Whether an error means "stopped on request" rather than "failed". Source: requirement I-21."""
    return isinstance(error, asyncio.CancelledError | AbandonedError)


class Gate:
    """The gate of one run. Open at first; a run that is never paused never notices it. Source: requirements I-17, I-18."""

    def __init__(self, above: Gate | None = None) -> None:
        self._above = above
        self._below: list[Gate] = []
        self._held = False
        self._given_up = False
        self._paused = above is not None and above.paused
        self._changed = asyncio.Event()
        self._listeners: list[Listener] = []

    @property
    def paused(self) -> bool:
        """Whether steps wait: this gate is held, or one above it."""
        return self._paused

    @property
    def held(self) -> bool:
        """Whether this gate itself was paused."""
        return self._held

    @property
    def abandoned(self) -> bool:
        """Whether the run, or one above it, was given up; that is final."""
        return self._given_up or (self._above is not None and self._above.abandoned)

    def below(self) -> Gate:
        """The gate of a delegation: closed while it is held itself or anything above it is, given up with what is above it."""
        gate = Gate(self)
        self._below.append(gate)
        return gate

    def pause(self) -> None:
        """Let each agent finish its step and then wait. Without effect when held already or abandoned."""
        if not self.abandoned:
            self._held = True
            self._settle()

    def resume(self) -> None:
        """Let everybody go on whom no other gate holds."""
        self._held = False
        self._settle()

    def abandon(self) -> None:
        """Give the run up: who waits, and whoever comes to the gate later, gets an `AbandonedError`."""
        self._given_up = True
        self._held = False
        self._settle()

    async def wait(self) -> None:
        """Wait while paused; return at once when open.

        Raises:
            AbandonedError: the run was given up.
        """
        while self._paused:
            await self._changed.wait()
        if self.abandoned:
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

    def _settle(self) -> None:
        """Bring this gate and all below it to what they are now; listeners are called once all of them are there."""
        changed = [gate for gate in self._downwards() if gate._is_changed()]
        for gate in changed:
            for listener in tuple(gate._listeners):
                listener(gate._paused)

    def _downwards(self) -> Iterator[Gate]:
        yield self
        for gate in self._below:
            yield from gate._downwards()

    def _is_changed(self) -> bool:
        """Take the state that follows from this gate and the one above; whether it is another than before."""
        before, above = self._paused, self._above is not None and self._above.paused
        self._paused = (self._held or above) and not self.abandoned
        if self._paused:
            self._changed.clear()
        else:
            self._changed.set()
        return self._paused != before
