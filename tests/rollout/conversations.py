"""Conversations as the product records them, for the tests of this room."""

from __future__ import annotations

from pathlib import Path

from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult, result_message, user_message
from yagent.rollout.records import AgentCheckpoint, EventMessage, Record, ResponseItem, SessionMeta, TurnContext, encode

META = SessionMeta("s1", "director", "/project", "1.0", task="fix the rounding")
CONTEXT = TurnContext("stub", "m1", "openai", "f00", "ba4", "/project", "en")
DIRECTOR_FILE = "20260101-000000_s1.jsonl"


def said(text: str) -> ResponseItem:
    """Words of the user."""
    return ResponseItem(user_message(text))


def asked(*ids: str, text: str = "") -> ResponseItem:
    """A reply that calls a tool for each id."""
    words = (Reasoning("let me see", {"signature": "\u00e9x"}), Text(text)) if text else ()
    return ResponseItem(Message("assistant", (*words, *(call(each) for each in ids)), "openai:stub:m1"))


def call(call_id: str) -> ToolCall:
    return ToolCall(call_id, "read_file", f'{{"path":"{call_id}.py"}}', extra={"index": 0})


def result(call_id: str, text: str = "") -> ToolResult:
    return ToolResult(call_id, "read_file", text or f"content of {call_id}")


def answered(*ids: str) -> ResponseItem:
    """One record with a result for each id."""
    return ResponseItem(result_message(*(result(each) for each in ids)))


def answer(text: str) -> ResponseItem:
    """A reply in words."""
    return ResponseItem(Message("assistant", (Text(text),), "openai:stub:m1"))


def activity(step: int, *tools: str) -> EventMessage:
    return EventMessage("agent_activity", {"step": step, "tools": list(tools)})


def ended(reason: str) -> EventMessage:
    name = "turn_aborted" if reason in ("cancelled", "paused", "panic") else "task_complete"
    return EventMessage(name, {"stop_reason": reason, "status": "partial", "steps": 3})


def checkpoint(step: int = 3, reason: str = "paused", *, digest: str = "", messages: int = 0, delegation: str = "") -> AgentCheckpoint:
    return AgentCheckpoint(step, digest, messages, "stub", "m1", "", reason, "director", delegation)


THREE_TURNS: tuple[Record, ...] = (
    META,
    CONTEXT,
    said("fix the rounding"),
    asked("a", text="first"),
    activity(1, "read_file"),
    answered("a"),
    asked("b", "c", text="second"),
    activity(2, "read_file", "read_file"),
    answered("b"),
    answered("c"),
    asked("d", text="third"),
    activity(3, "read_file"),
    answered("d"),
)


def lines(*records: Record, first: int = 1) -> list[bytes]:
    """Each record as a line, numbered from `first`."""
    return [encode(first + index, "2026-01-01T00:00:00+00:00", record) for index, record in enumerate(records)]


def write(directory: Path, *records: Record, first: int = 1, name: str = DIRECTOR_FILE) -> Path:
    """A file of these records."""
    path = directory / name
    path.write_bytes(b"".join(lines(*records, first=first)))
    return path
