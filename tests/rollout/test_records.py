"""Records: what is written is what is read, whatever it holds."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yagent.protocol.messages import Message, Reasoning, Text, ToolCall, ToolResult, Usage
from yagent.rollout.records import (
    AgentCheckpoint,
    Compacted,
    EventMessage,
    Record,
    ResponseItem,
    SessionMeta,
    TurnContext,
    encode,
    from_payload,
    message_from_json,
    message_to_json,
    to_payload,
)

TEXTS = st.text(st.characters(codec=None, categories=None), max_size=20)  # lone surrogates included
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=4)
PARTS = st.one_of(
    st.builds(Text, TEXTS, st.none() | OBJECTS),
    st.builds(Reasoning, TEXTS, st.none() | OBJECTS),
    st.builds(ToolCall, TEXTS, TEXTS, TEXTS, st.none() | TEXTS, st.none() | OBJECTS),
    st.builds(ToolResult, TEXTS, TEXTS, TEXTS, st.booleans()),
)
MESSAGES = st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.lists(PARTS, max_size=4).map(tuple), TEXTS)
COUNTS = st.none() | st.integers(0, 10**12)
RECORDS = st.one_of(
    st.builds(ResponseItem, MESSAGES, st.none() | st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)),
    st.builds(EventMessage, TEXTS, OBJECTS),
    st.builds(TurnContext, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS),
    st.builds(SessionMeta, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, OBJECTS),
    st.builds(
        SessionMeta,
        TEXTS,
        TEXTS,
        TEXTS,
        TEXTS,
        call_id=TEXTS,
        name=TEXTS,
        forked_from=OBJECTS,
        continues=st.booleans(),
        start_step=st.integers(0, 10**6),
    ),
    st.builds(Compacted, st.integers(0, 10**6), st.lists(MESSAGES, max_size=3).map(tuple), TEXTS, TEXTS),
    st.builds(
        AgentCheckpoint,
        st.integers(0, 10**6),
        TEXTS,
        st.integers(0, 10**6),
        *[TEXTS] * 6,
        head=TEXTS,
        dirty=st.none() | st.booleans(),
    ),
)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value).encode("ascii"))


@given(MESSAGES)
def test_any_message_is_equal_after_its_way_through_json(message: Message) -> None:
    assert message_from_json(through_json(message_to_json(message))) == message


@given(RECORDS)
def test_any_record_is_equal_after_its_way_through_a_line(record: Record) -> None:
    line = json.loads(encode(7, "2026-01-01T00:00:00+00:00", record))
    assert (line["ordinal"], line["timestamp"], line["type"]) == (7, "2026-01-01T00:00:00+00:00", record.kind)
    assert from_payload(line["type"], line["payload"]) == record


@given(OBJECTS)
def test_what_a_provider_wants_back_is_kept_exactly(extra: dict[str, Any]) -> None:
    call = ToolCall("c1", "read_file", "{}", extra=extra)
    (part,) = through_json(message_to_json(Message("assistant", (call,))))["parts"]
    assert json.dumps(part["extra"]) == json.dumps(extra)


def test_falsy_values_inside_foreign_objects_survive() -> None:
    extra = {"no": False, "zero": 0, "empty": "", "none": None, "list": [], "object": {}, "deep": {"no": False, "list": [0, "", None]}}
    message = Message("assistant", (Text("hi", extra), Reasoning("", extra), ToolCall("c", "t", "{}", extra=extra)))
    read = message_from_json(through_json(message_to_json(message)))
    assert [part.extra if not isinstance(part, Reasoning) else part.opaque for part in read.parts if not isinstance(part, ToolResult)] == [
        extra,
        extra,
        extra,
    ]
    assert repr(read) == repr(message)  # repr tells False from 0, which == does not


def test_a_reported_zero_is_not_read_as_unknown() -> None:
    item = ResponseItem(Message("assistant", (Text("x"),)), Usage(total_input=10, output=0, cached=0))
    read = from_payload("response_item", through_json(to_payload(item)))
    assert isinstance(read, ResponseItem)
    assert repr(read.usage) == repr(Usage(total_input=10, output=0, cached=0))


def test_an_empty_object_is_not_read_as_none() -> None:
    message = Message("assistant", (Text("", {}), ToolCall("", "", "", malformed="", extra={})))
    assert message_from_json(through_json(message_to_json(message))) == message


def test_mappings_of_any_kind_can_be_recorded() -> None:
    frozen = MappingProxyType({"a": MappingProxyType({"b": 0})})
    line = json.loads(encode(1, "", EventMessage("x", frozen)))
    assert line["payload"]["data"] == {"a": {"b": 0}}


def test_defaults_are_not_written_but_the_version_always_is() -> None:
    meta = to_payload(SessionMeta("s", "director", "/p", "1.0"))
    assert meta == {"session": "s", "agent": "director", "project_dir": "/p", "program_version": "1.0", "version": 1}


def test_a_clean_workspace_is_not_read_as_one_that_nobody_looked_at() -> None:
    clean = AgentCheckpoint(3, "d", 7, "p", "m", "", "paused", "director", "", dirty=False)
    assert from_payload("agent_checkpoint", through_json(to_payload(clean))) == clean
    assert to_payload(clean)["dirty"] is False


def test_records_of_the_first_program_are_read_as_they_were_meant() -> None:
    old = {"session": "s", "agent": "coding", "project_dir": "/p", "program_version": "0.1", "delegation_id": "c1", "version": 1}
    meta = from_payload("session_meta", old)
    assert meta == SessionMeta("s", "coding", "/p", "0.1", "c1")
    assert isinstance(meta, SessionMeta)
    assert (meta.call_id, meta.forked_from, meta.continues, meta.start_step) == ("", {}, False, 0)


def test_fields_of_later_versions_are_ignored() -> None:
    record = from_payload("event_msg", {"name": "note", "data": {"a": 1}, "colour": "red"})
    assert record == EventMessage("note", {"a": 1})


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("world_state", {}),
        ("compacted", {}),
        ("compacted", {"replaces": 1}),
        ("compacted", {"replaces": "all", "messages": []}),
        ("compacted", {"replaces": 1, "messages": [{"role": "robot", "parts": []}]}),
        ("agent_checkpoint", {"step": 3}),
        ("event_msg", {}),
        ("event_msg", {"name": 5}),
        ("event_msg", {"name": "x", "data": []}),
        ("event_msg", []),
        ("turn_context", {"provider": "p"}),
        ("response_item", {"message": None}),
        ("response_item", {"message": {"role": "robot", "parts": []}}),
        ("response_item", {"message": {"role": ["user"], "parts": []}}),
        ("response_item", {"message": {"role": "user", "parts": "text"}}),
        ("response_item", {"message": {"role": "user", "parts": [{"kind": "picture"}]}}),
        ("response_item", {"message": {"role": "user", "parts": [{"kind": "text", "text": 5}]}}),
        ("response_item", {"message": {"role": "user", "parts": [{"kind": "text", "text": "x", "extra": "y"}]}}),
        ("response_item", {"message": {"role": "user", "parts": []}, "usage": {"output": "many"}}),
        ("response_item", {"message": {"role": "user", "parts": []}, "usage": 3}),
    ],
)
def test_what_is_no_record_is_refused_as_such(kind: str, payload: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        from_payload(kind, payload)


@pytest.mark.parametrize(("name", "terminal"), [("task_complete", True), ("turn_aborted", True), ("agent_activity", False)])
def test_two_events_close_a_run(name: str, terminal: bool) -> None:
    assert EventMessage(name).is_terminal is terminal
