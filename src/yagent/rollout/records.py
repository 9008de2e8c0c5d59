"""What a rollout consists of.

One JSON object a line: `{"ordinal", "timestamp", "type", "payload"}`. `ordinal` is one sequence over all files of a session, so the
records of parallel delegations have one order. The types are the specification's (I-02): `session_meta`, `turn_context`, `response_item`,
`event_msg`; `compacted` and `agent_checkpoint` join them with the rooms that write them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage

VERSION = 1

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """First record of every file: whose it is and where it belongs."""

    kind: ClassVar[str] = "session_meta"
    session: str
    agent: str
    project_dir: str
    program_version: str
    delegation_id: str = ""
    parent_session_id: str = ""
    parent_delegation_id: str = ""
    board_id: str = ""
    task: str = ""
    git: Mapping[str, Any] = field(default_factory=dict)
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What a step runs with; written when it differs from the last one written."""

    kind: ClassVar[str] = "turn_context"
    provider: str
    model: str
    api_format: str
    surface: str
    prompt: str
    workspace: str
    language: str
    tier: str = ""


@dataclass(frozen=True, slots=True)
class ResponseItem:
    """One message of the conversation, whole: words, reasoning, calls, full tool outputs. `usage` belongs to assistant messages."""

    kind: ClassVar[str] = "response_item"
    message: Message
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class EventMessage:
    """Something that happened beside the conversation. Terminal ones are `task_complete` and `turn_aborted`, with a `stop_reason`."""

    kind: ClassVar[str] = "event_msg"
    name: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_terminal(self) -> bool:
        """Whether this record closes a run."""
        return self.name in ("task_complete", "turn_aborted")


Record: TypeAlias = SessionMeta | TurnContext | ResponseItem | EventMessage


@dataclass(frozen=True, slots=True)
class Entry:
    """A record with its place in the session's order."""

    ordinal: int
    timestamp: str
    record: Record


def to_payload(record: Record) -> dict[str, Any]:
    """The record as plain JSON data. Fields that hold nothing are left out; the reader supplies their defaults."""
    if isinstance(record, ResponseItem):
        payload: dict[str, Any] = {"message": message_to_json(record.message)}
        if record.usage is not None:
            payload["usage"] = _held(asdict(record.usage))
        return payload
    return _held(asdict(record))


def from_payload(kind: str, payload: Mapping[str, Any]) -> Record:
    """The record of a payload. Raises KeyError, TypeError or ValueError when it is not one; unknown fields are ignored (later versions)."""
    if kind == ResponseItem.kind:
        usage = payload.get("usage")
        return ResponseItem(message_from_json(payload["message"]), None if usage is None else _build(Usage, usage))
    record_types: tuple[type[SessionMeta | TurnContext | EventMessage], ...] = (SessionMeta, TurnContext, EventMessage)
    for record_type in record_types:
        if record_type.kind == kind:
            return _build(record_type, payload)
    raise ValueError(f"unknown record type {kind!r}")


def message_to_json(message: Message) -> dict[str, Any]:
    """A message as plain JSON data."""
    return _held({"role": message.role, "origin": message.origin, "parts": [_held(asdict(part)) for part in message.parts]})


def message_from_json(data: Mapping[str, Any]) -> Message:
    """The message of `message_to_json`, equal to the original."""
    if data["role"] not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"unknown role {data['role']!r}")
    return Message(data["role"], tuple(_part_from_json(part) for part in data.get("parts", ())), data.get("origin", ""))


_PARTS: Mapping[str, type[Part]] = {"text": Text, "reasoning": Reasoning, "tool_call": ToolCall, "tool_result": ToolResult}
_REQUIRED_STRINGS = {
    "text": ("text",),
    "reasoning": ("text",),
    "tool_call": ("id", "name", "arguments"),
    "tool_result": ("call_id", "name", "text"),
}


def _part_from_json(data: Mapping[str, Any]) -> Part:
    """Empty strings are left out when a part is written, so they are put back here."""
    kind = data["kind"]
    return _build(_PARTS[kind], {**dict.fromkeys(_REQUIRED_STRINGS[kind], ""), **data})


def _held(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value not in ("", None, {}, (), [], False)}


def _build(target: type[T], data: Mapping[str, Any]) -> T:
    names = {each.name for each in fields(cast(Any, target))}
    known = {name: value for name, value in data.items() if name in names}
    return target(**known)
