"""Tools and models for tests that look inside a run while it is under way."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any

from yagent.llm.playback import Playback
from yagent.llm.scripted import Script, ScriptedEngine, ScriptedReply, ScriptedRequest
from yagent.protocol.messages import ModelIdentity, ToolCall
from yagent.runtime.clock import Clock
from yagent.tools.parameters import Describe
from yagent.tools.spec import CallContext, Effect, Output, Spec


@dataclass(frozen=True, slots=True)
class Number:
    """Parameters of every probe."""

    number: Annotated[int, Describe("A number.")] = 0


def probe(name: str, act: Callable[[int, CallContext], Awaitable[str]], *, changes: bool = False) -> Spec[Number]:
    """A tool that does what the test says; one that changes something is alone in its batch and takes the write lock."""

    async def execute(parameters: Number, call: CallContext) -> Output:
        return Output(await act(parameters.number, call))

    effect = Effect.FS_WRITE if changes else Effect.FS_READ
    return Spec(name, effect, Number, execute, mutates=changes)


class Calls:
    """Makes tool calls with ids of their own."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def __call__(self, name: str, /, **arguments: Any) -> ToolCall:
        return ToolCall(f"call_{next(self._numbers)}", name, json.dumps(arguments))


def scripted(clock: Clock, script: Script, *, pace: float = 0.0, prices: dict[str, float] | None = None) -> ScriptedEngine:
    """An engine that asks a function."""
    return ScriptedEngine(script, Playback(clock, pace), ModelIdentity("scripted", "scripted", "openai", prices=prices))


def in_turn(*replies: ScriptedReply) -> Script:
    """The replies one after the other, for a script with one agent; the number of replies given so far tells which is next."""

    def script(request: ScriptedRequest) -> ScriptedReply | None:
        said = sum(message.role == "assistant" for message in request.messages)
        return replies[said] if said < len(replies) else None

    return script


def asks(*calls: ToolCall, text: str = "") -> ScriptedReply:
    """A reply with tool calls."""
    return ScriptedReply(text=text, calls=calls)


def batches(calls: Calls, *steps: Sequence[str]) -> list[ScriptedReply]:
    """One reply for each step, calling the named tools with different numbers."""
    return [
        asks(*(calls(name, number=position) for position, name in enumerate(step)), text=f"step {index}")
        for index, step in enumerate(steps)
    ]
