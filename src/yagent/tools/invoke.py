"""One tool call, from the model's text to one bounded result.

The order is fixed (D-14): name → arguments → permission → write lock → effect. Whatever goes wrong on the way becomes an error result that
tells the model what to do next; only cancellation leaves as an exception.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from yagent.errors import YagentError
from yagent.protocol.messages import ToolCall
from yagent.protocol.result import DeniedAccount
from yagent.runtime.clock import Clock
from yagent.tools import teaching
from yagent.tools.approval import Approval, Refused
from yagent.tools.bounds import bounded, sayable
from yagent.tools.exhausted import lacking, told
from yagent.tools.parameters import ParameterError, Parsed, parse
from yagent.tools.spec import AnySpec, CallContext, Output, Scope
from yagent.tools.surface import COLD_ARGUMENT, Surface
from yagent.tools.teaching import NOT_BEGUN, cancelled_output

logger = logging.getLogger(__name__)

APPROVAL_ROUNDS: Final = 3  # how often a call is judged again because what it touches changed meanwhile
MOST_NOTES: Final = 10
NOTE_LENGTH: Final = 300  # characters


class Invoker:
    """Makes the calls of one agent's run.

    `write_lock` is shared by the whole agent tree: one writer at a time. `denied` hears of what was refused.
    """

    def __init__(self, surface: Surface, *, write_lock: asyncio.Lock, clock: Clock, denied: Callable[[DeniedAccount], None]) -> None:
        self._surface = surface
        self._write_lock = write_lock
        self._clock = clock
        self._denied = denied
        self._begun: set[str] = set()  # calls whose tool was started

    def cancelled(self, call: ToolCall) -> Output:
        """The result of a call that was cancelled: what never got to its tool had no effect, and is told so."""
        return cancelled_output(call) if call.id in self._begun else NOT_BEGUN

    async def invoke(self, call: ToolCall, scope: Scope) -> Output:
        """The result of one call: never blank, never an exception except CancelledError."""
        notes: list[str] = []
        try:
            output = await self._answer(call, CallContext(call.id, scope, partial(teaching.teach, self._surface)), notes)
        except YagentError as error:
            output = Output(str(error), is_error=True)
        except Exception as error:
            logger.exception("tool %s failed (call %s of %s)", call.name, call.id, scope.agent.label)
            what = lacking(error)
            failed = f"{call.name} failed inside: {type(error).__name__}: {error}. Try another way to the same end."
            output = Output(told(call.name, what) if what else failed, is_error=True)
        remarks = "".join(f"\n[note: {note[:NOTE_LENGTH]}]" for note in notes[:MOST_NOTES])
        return replace(
            output,
            text=sayable(bounded(output.text) + remarks),
            summary=sayable(output.summary),
            diff=sayable(output.diff),
            paths=tuple(map(sayable, output.paths)),
            names=tuple(map(sayable, output.names)),
        )

    async def _answer(self, call: ToolCall, context: CallContext, notes: list[str]) -> Output:
        """The result, or the exception of the tool; what was tolerated in its arguments goes to `notes`."""
        spec = self._surface.find(call.name)
        if spec is None:
            return teaching.unknown_tool(self._surface, call.name)
        arguments = None if call.malformed is not None else _decoded(call.arguments)
        if arguments is None:
            return teaching.malformed_arguments(self._surface, call)
        if not self._surface.is_loaded(spec.name):
            return teaching.receipt(self._surface, spec.name)
        try:
            parsed = parse(spec.parameters, _unwrapped(arguments) if spec.frequency == "cold" else arguments)
        except ParameterError as error:
            return teaching.not_executed(spec.name, str(error))
        notes += parsed.notes
        return await self._permitted(spec, parsed, context)

    async def _permitted(self, spec: AnySpec, parsed: Parsed[Any], context: CallContext) -> Output:
        """Run the call once permission is given for the state it meets; judged again when that changed while somebody was waited for."""
        approval = Approval(spec, parsed.value, context)
        for _ in range(APPROVAL_ROUNDS):
            refused = await approval.obtain()
            if refused is not None:
                return self._refusal(spec, refused, context.scope)
            async with self._turn(spec, context.scope):
                if await approval.still_holds():
                    return await self._execute(spec, parsed.value, context)
        return teaching.not_executed(spec.name, "what it touches kept changing while it was being approved. Look at it again first.")

    @asynccontextmanager
    async def _turn(self, spec: AnySpec, scope: Scope) -> AsyncIterator[None]:
        """Mutating tools wait for their turn; waiting is queueing: no timer of the run counts it."""
        if not spec.mutates:
            yield
            return
        with scope.queueing():
            await self._write_lock.acquire()
        try:
            yield
        finally:
            self._write_lock.release()

    async def _execute(self, spec: AnySpec, parameters: Any, context: CallContext) -> Output:
        """Run the tool within its own limit."""
        self._begun.add(context.call_id)
        try:
            async with self._clock.timeout(spec.timeout) as timer:
                return await spec.execute(parameters, context)
        except TimeoutError:
            if not timer.expired():
                raise
            text = f"{spec.name} did not finish within {spec.timeout:g} s and was stopped. Ask for less at once, or do it another way."
            return Output(text, is_error=True, summary="timeout")

    def _refusal(self, spec: AnySpec, refused: Refused, scope: Scope) -> Output:
        """Keep account of a refusal and tell the model."""
        self._denied(DeniedAccount(scope.agent.label, spec.name, refused.subject, refused.answered_by, refused.advice))
        return Output(refused.text, is_error=True, summary=f"denied: {refused.reason}")


def _decoded(text: str) -> Mapping[str, Any] | None:
    """The arguments; an object that was encoded twice is accepted, anything else is None."""
    value: Any = text
    for _ in range(2):
        try:
            value = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


def _unwrapped(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a cold tool: as declared in one text, as an object, or directly."""
    if set(arguments) != {COLD_ARGUMENT}:
        return arguments
    inner = arguments[COLD_ARGUMENT]
    decoded = inner if isinstance(inner, Mapping) else _decoded(inner) if isinstance(inner, str) else None
    return arguments if decoded is None else decoded
