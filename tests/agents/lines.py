"""Lines and looks that several tests of the loop share."""

from __future__ import annotations

from typing import Any

from tests.agents.stage import Stage, assert_paired
from tests.support.model_server import Call, Reply

FORMATS = ("openai", "responses", "anthropic")
ROLES = {name: f"You are {name}," for name in ("coding", "repo", "chat", "devops")} | {"director": "You are the Director"}
HANDOFF = {"conclusion": "All is well.", "status": "ok"}


def leave(text: str = "", **changes: Any) -> Reply:
    return Reply(text=text, calls=(Call("agent_exit", {"reason": "done", "handoff": {**HANDOFF, **changes}}),))


def checked(stage: Stage) -> list[str]:
    """The record of the run's agent holds no unpaired call and one terminal record; gives the roles of its messages."""
    recorder = stage.recorders[""]
    assert_paired(recorder.messages)
    assert len(recorder.terminals) == 1
    assert recorder.records[-1] is recorder.terminals[0]
    assert recorder.durable == len(recorder.records)
    return [message.role for message in recorder.messages]
