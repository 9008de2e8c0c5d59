"""What a rollout consists of.

One JSON object a line: `{"ordinal", "timestamp", "type", "payload"}`. `ordinal` is one sequence over all files of a session, so the
records of parallel delegations have one order. The types are the specification's (I-02): `session_meta`, `turn_context`, `response_item`,
`event_msg`, `compacted`, `agent_checkpoint`.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, field, fields
from functools import cache
from types import UnionType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from yagent.protocol.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult, Usage
from yagent.records import dataclass

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
    call_id: str = ""  # the parent's call that started the delegation
    name: str = ""  # how its result is called: `coding#1`
    forked_from: Mapping[str, Any] = field(default_factory=dict)  # `{"session", "ordinal"}`: what was said before this file, up to there
    continues: bool = False  # a later file of the same delegation
    start_step: int = 0  # steps that the earlier files of the delegation hold
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


@dataclass(frozen=True, slots=True)
class Compacted:
    """The first `replaces` messages of the conversation, as read so far, are now `messages`."""

    kind: ClassVar[str] = "compacted"
    replaces: int
    messages: tuple[Message, ...]
    tier: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class AgentCheckpoint:
    """Where a run stopped; written once, before its terminal record (I-13, I-14).

    `digest` and `messages` (a count) are of the conversation as the reader rebuilds it from the file. `head` is the workspace's commit, ""
    outside a repository; `dirty` None where nobody looked.
    """

    kind: ClassVar[str] = "agent_checkpoint"
    step: int
    digest: str
    messages: int
    provider: str
    model: str
    tier: str
    stop_reason: str
    agent: str
    delegation_id: str
    head: str = ""
    dirty: bool | None = None


Record: TypeAlias = SessionMeta | TurnContext | ResponseItem | EventMessage | Compacted | AgentCheckpoint


@dataclass(frozen=True, slots=True)
class Entry:
    """A record with its place in the session's order."""

    ordinal: int
    timestamp: str
    record: Record


def is_progress(record: Record) -> bool:
    """Whether the agent goes on with this record: what a checkpoint or a terminal record before it said is past. Compressing between two
    tasks is not going on."""
    return isinstance(record, ResponseItem) or (isinstance(record, EventMessage) and reached_step(record) is not None)


def reached_step(record: EventMessage) -> int | None:
    """The step whose calls this event tells, else None."""
    step = record.data.get("step") if record.name == "agent_activity" else None
    return step if isinstance(step, int) else None


def encode(ordinal: int, timestamp: str, record: Record) -> bytes:
    """The record as a line of a file, line end included.

    ASCII only: lone surrogates of file names survive the round trip, and a cut line never splits a character.
    """
    entry = {"ordinal": ordinal, "timestamp": timestamp, "type": record.kind, "payload": to_payload(record)}
    return json.dumps(entry, separators=(",", ":"), default=_plain).encode("ascii") + b"\n"


def to_payload(record: Record) -> dict[str, Any]:
    """The record as JSON data. Fields that hold their default are left out; the reader supplies it. What they hold is not looked into."""
    match record:
        case ResponseItem():
            payload: dict[str, Any] = {"message": message_to_json(record.message)}
            return payload if record.usage is None else {**payload, "usage": _written(record.usage)}
        case SessionMeta():
            return {**_written(record), "version": record.version}  # always said, because the default changes with the program
        case Compacted():
            return {**_written(record), "messages": [message_to_json(message) for message in record.messages]}
        case _:
            return _written(record)


def from_payload(kind: str, payload: Mapping[str, Any]) -> Record:
    """The record of a payload; unknown fields are ignored (later versions).

    Raises KeyError, TypeError, AttributeError or ValueError when it is not one.
    """
    if kind == ResponseItem.kind:
        usage = payload.get("usage")
        return ResponseItem(message_from_json(payload["message"]), None if usage is None else _build(Usage, usage))
    if kind == Compacted.kind:
        return _build(Compacted, {**payload, "messages": tuple(message_from_json(message) for message in payload["messages"])})
    for record_type in _WHOLE:
        if record_type.kind == kind:
            return _build(record_type, payload)
    raise ValueError(f"unknown record type {kind!r}")


def message_to_json(message: Message) -> dict[str, Any]:
    """A message as JSON data."""
    data: dict[str, Any] = {"role": message.role, "parts": [{"kind": part.kind, **_written(part)} for part in message.parts]}
    return {**data, "origin": message.origin} if message.origin else data


def message_from_json(data: Mapping[str, Any]) -> Message:
    """The message of `message_to_json`, equal to the original. Raises as `from_payload` does."""
    if data["role"] not in _ROLES:
        raise ValueError(f"unknown role {data['role']!r}")
    return Message(data["role"], tuple([_build(_PARTS[part["kind"]], part) for part in data["parts"]]), data.get("origin", ""))


_WHOLE: tuple[type[SessionMeta | TurnContext | EventMessage | AgentCheckpoint], ...] = (
    EventMessage,
    TurnContext,
    SessionMeta,
    AgentCheckpoint,
)
_ROLES = get_args(Role)
_PARTS: Mapping[str, type[Part]] = {"text": Text, "reasoning": Reasoning, "tool_call": ToolCall, "tool_result": ToolResult}


def _written(value: Any) -> dict[str, Any]:
    """The fields that do not hold their default. A default is None, "" or empty, so what a field holds is only ever compared as a whole."""
    return {name: held for name, default in _defaults(cast(Any, type(value))) if (held := getattr(value, name)) != default}


def _build(target: type[T], data: Mapping[str, Any]) -> T:
    accepted = _accepted(cast(Any, target))
    is_known = True
    for name, value in data.items():
        kinds = accepted.get(name)
        if kinds is None:
            is_known = False
        elif type(value) not in kinds and not isinstance(value, kinds):
            raise ValueError(f"{name} of {target.__name__} cannot be a {type(value).__name__}")
    return target(**(data if is_known else {name: value for name, value in data.items() if name in accepted}))


@cache
def _defaults(target: type) -> tuple[tuple[str, Any], ...]:
    """Each field's default; `MISSING`, which equals nothing, where there is none."""
    return tuple(
        (each.name, each.default if each.default_factory is MISSING else each.default_factory()) for each in fields(cast(Any, target))
    )


@cache
def _accepted(target: type) -> Mapping[str, tuple[type, ...]]:
    """The classes that JSON may give each field."""
    hints = get_type_hints(target)
    return {each.name: _classes(hints[each.name]) for each in fields(cast(Any, target))}


def _classes(hint: Any) -> tuple[type, ...]:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return tuple(each for part in get_args(hint) for each in _classes(part))
    if origin is Literal:
        return tuple({type(each) for each in get_args(hint)})
    return (dict, Mapping) if origin is Mapping else (origin or hint,)  # a dict is told at once, other mappings by asking


def _plain(value: Any) -> Any:
    """For mappings that are no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a record cannot hold a {type(value).__name__}")
