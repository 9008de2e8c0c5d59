"""One tool call, from the model's text to one bounded result.

The order is fixed (D-14): name → arguments → permission → write lock → effect. Whatever goes wrong on the way becomes an error result that
tells the model what to do next; only cancellation leaves as an exception.
"""

import asyncio
from collections.abc import Callable

from yagent.protocol.messages import ToolCall
from yagent.protocol.result import DeniedAccount
from yagent.runtime.clock import Clock
from yagent.tools.spec import Output, Scope
from yagent.tools.surface import Surface


def cancelled_output(call: ToolCall) -> Output:
    """The result of a call that was cancelled before it ended, or never began."""
    return Output(
        f"{call.name or 'This call'} was cancelled before it finished. Look at the state before you repeat it.",
        is_error=True,
        summary="cancelled",
    )


class Invoker:
    """Makes the calls of one agent's run.

    `write_lock` is shared by the whole agent tree: one writer at a time. `denials` collects what was refused, for the account of the task.
    """

    def __init__(self, surface: Surface, *, write_lock: asyncio.Lock, clock: Clock, denials: list[DeniedAccount]) -> None:
        self._surface = surface
        self._write_lock = write_lock
        self._clock = clock
        self._denials = denials

    async def invoke(self, call: ToolCall, scope: Scope, progress: Callable[[str], None] = lambda text: None) -> Output:
        """The result of one call: never blank, never an exception except CancelledError."""
        raise asyncio.CancelledError
