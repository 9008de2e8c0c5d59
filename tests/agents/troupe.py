"""A scripted agent tree and a tool that takes its time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from tests.agents.probes import asks, probe, scripted
from tests.agents.stage import Rules, Stage
from yagent.llm.scripted import ScriptedReply, ScriptedRequest
from yagent.protocol.messages import ToolCall
from yagent.runtime.clock import Clock
from yagent.tools.spec import CallContext

FORMATS = ("openai", "responses", "anthropic")
EXIT = {"reason": "r", "handoff": {"conclusion": "Found it.", "status": "ok", "facts": [{"claim": "It rounds", "where": "a.py:3"}]}}


Parts: TypeAlias = dict[str, Sequence[Sequence[ToolCall] | str]]


class Troupe:
    """A scripted tree: what each agent does at each of its turns, by role and by words of its task."""

    def __init__(self, clock: Clock, parts: Parts) -> None:
        self.clock = clock
        self.parts = parts
        self.requests: list[ScriptedRequest] = []
        self.working = self.peak = 0

    def __call__(self, request: ScriptedRequest) -> ScriptedReply | None:
        self.requests.append(request)
        said = sum(message.role == "assistant" for message in request.messages)
        fitting = [part for key, part in self.parts.items() if request.agent.startswith(f"You are {key}") or key in request.task]
        if len(fitting) != 1 or said >= len(fitting[0]):
            return None
        line = fitting[0][said]
        return ScriptedReply(line) if isinstance(line, str) else asks(*line)

    async def work(self, number: int, call: CallContext) -> str:
        """A tool that takes as many seconds as it is told, and counts how many of it run at once."""
        self.working += 1
        self.peak = max(self.peak, self.working)
        try:
            await self.clock.sleep(number)
        finally:
            self.working -= 1
        return f"worked {number} s"

    def stage(self, workspace: Path, rules: Rules | None = None) -> Stage:
        """A stage on which the tool `work` exists."""
        rules = rules or Rules()
        rules.tools = (*rules.tools, probe("work", self.work))
        return Stage(workspace, self.clock, scripted(self.clock, self), rules)


def results(stage: Stage, delegation: str = "") -> list[str]:
    """The texts of all tool results an agent was given."""
    return [result.text for message in stage.recorders[delegation].messages for result in message.results]
