"""One batch of tool calls: from the model's asking to one result each."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from yagent.agents.loop.frame import Frame
from yagent.agents.loop.resumption import unknown_outcome
from yagent.protocol.events import ToolCallResult, ToolCallStart
from yagent.protocol.messages import ToolCall
from yagent.tools.batch import Batch
from yagent.tools.invoke import Invoker
from yagent.tools.spec import Output, Scope
from yagent.tools.surface import Surface, tool_call_is_parallelizable
from yagent.tools.teaching import NOT_BEGUN

Settled: TypeAlias = Callable[[ToolCall, Output], None]

CLIP = 4000  # characters of arguments and results in events; the record has all of it

EXIT = "agent_exit"
EXIT_NOT_ALONE = Output(
    "agent_exit was not executed: it stands beside other calls, whose results you have not read. Read them, then call it alone.",
    is_error=True,
)


class Act:
    """Carries out the calls of one run. `parallel` read-only calls run at once, and `delegations` (None: among those, as any call)."""

    def __init__(
        self, surface: Surface, invoker: Invoker, scope: Scope, frame: Frame, *, parallel: int, delegations: int | None = None
    ) -> None:
        self._surface = surface
        self._invoker = invoker
        self._scope = scope
        self._frame = frame
        self._parallel = parallel
        self._delegations = delegations

    def batch(self, calls: Sequence[ToolCall], settled: Settled, *, resumed: bool = False) -> Batch[ToolCall, Output]:
        """The batch of one message's calls, not yet run. Its results are complete however its run ends.

        `settled` hears of each result as it comes, where there are several. `resumed`: the calls were under way when the run was stopped;
        only what has no effect of its own is carried out, a delegation goes on where it stood, all else has an unknown outcome.
        """
        self._surface.next_message()
        execute = partial(self._execute, alone=len(calls) == 1, settled=settled if len(calls) > 1 else None)
        return Batch(
            calls,
            parallelizable=lambda call: tool_call_is_parallelizable(self._surface, call.name),
            execute=partial(self._go_on, execute) if resumed else execute,
            cancelled_result=self._invoker.cancelled,
            limit=self._parallel,
            apart=None if self._delegations is None else (self._delegates, self._delegations),
        )

    def _delegates(self, call: ToolCall) -> bool:
        spec = self._surface.find(call.name)
        return spec is not None and spec.delegates_to != ""

    async def _go_on(self, execute: Callable[[ToolCall], Awaitable[Output]], call: ToolCall) -> Output:
        if call.name == EXIT or self._delegates(call):
            return await execute(call)
        return unknown_outcome()

    async def _execute(self, call: ToolCall, *, alone: bool, settled: Settled | None) -> Output:
        if self._frame.gate.abandoned:  # while a delegation of the same batch stood still
            return NOT_BEGUN
        self._frame.publisher.publish(ToolCallStart(call_id=call.id, name=call.name, arguments=clip(call.arguments)))
        started = self._frame.clock.now()
        output: Output | None = None
        try:
            with self._frame.activity.busy():
                output = EXIT_NOT_ALONE if call.name == EXIT and not alone else await self._invoker.invoke(call, self._scope)
            if settled is not None:
                settled(call, output)
            return output
        finally:
            output = output or self._invoker.cancelled(call)
            duration = round((self._frame.clock.now() - started) * 1000)
            self._frame.publisher.publish(
                ToolCallResult(
                    call_id=call.id,
                    name=call.name,
                    ok=not output.is_error,
                    text=clip(output.text),
                    summary=output.summary,
                    duration_ms=duration,
                )
            )


def clip(text: str) -> str:
    """Short enough for an event."""
    return text if len(text) <= CLIP else f"{text[:CLIP]}… ({len(text) - CLIP} more characters)"
