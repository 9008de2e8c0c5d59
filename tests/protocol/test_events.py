"""The event types, their JSON and the generated files."""

import importlib
import json
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scripts.gen_protocol import ProtocolError, generate, read_protocol, stale_files
from yagent.protocol.event_json import InvalidEvent, from_json, to_json, to_json_line
from yagent.protocol.events import PAYLOADS, AiChunk, Event, LlmCallEnd, WarningIssued
from yagent.protocol.messages import Usage

ROOT = Path(__file__).resolve().parents[2]
YAML_TEXT = (ROOT / "protocol/agent-events.yaml").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "protocol/agent-events.schema.json").read_text(encoding="utf-8"))
EXAMPLES = [
    json.loads(line)
    for path in sorted((ROOT / "protocol/examples").glob("*.jsonl"))
    for line in path.read_text(encoding="utf-8").splitlines()
]
# H-02
SPECIFIED = {
    *("ai_stream_start", "ai_chunk", "ai_stream_end", "ai_response", "thinking", "llm_call_start", "llm_call_end", "model_info"),
    *("model_routed", "tool_call_start", "tool_call_result", "user_help_needed", "user_help_response", "context_loaded"),
    *("commit_context_loaded", "context_compressed", "context_emergency_compressed", "context_ultimate_compressed"),
    *("thinklink_entry", "conversation_error", "conversation_result", "task_paused", "task_resumed"),
}


def an_event(text: str = "hello") -> Event:
    return Event(
        payload=WarningIssued(code="sample", text=text),
        id="event-1",
        source="session",
        priority="normal",
        timestamp="2026-11-30T21:07:00.125Z",
        seq=1,
    )


def is_valid(data: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(data))


def test_every_specified_event_type_exists() -> None:
    assert set(PAYLOADS) >= SPECIFIED


def test_the_yaml_file_and_the_classes_name_the_same_types() -> None:
    listed = [name for family in yaml.safe_load(YAML_TEXT)["families"].values() for name in family["events"]]
    assert listed == list(PAYLOADS)
    assert [payload.type for payload in PAYLOADS.values()] == listed


def test_only_streamed_chunks_may_be_dropped_and_only_asks_are_critical() -> None:
    assert {name for name, payload in PAYLOADS.items() if payload.droppable} == {"ai_chunk"}
    assert {name for name, payload in PAYLOADS.items() if payload.critical} == {"user_help_needed", "user_help_response"}
    assert all(payload.critical == (payload.priority == "critical") for payload in PAYLOADS.values())


def test_types_shared_with_other_modules_are_described_as_they_are() -> None:
    protocol = read_protocol(YAML_TEXT)
    described = {entry.python: entry.values for entry in protocol.enumerations.values() if entry.python}
    described |= {record.python: tuple(field.name for field in record.fields) for record in protocol.objects.values() if record.python}
    assert described
    for place, names in described.items():
        module, _, name = place.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        assert names == (get_args(found) or tuple(field.name for field in fields(found))), place


def test_the_examples_show_every_event_type_and_fit_the_schema() -> None:
    assert {example["type"] for example in EXAMPLES} == set(PAYLOADS)
    for example in EXAMPLES:
        jsonschema.Draft202012Validator(SCHEMA).validate(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['type']}-{example['seq']}")
def test_reading_an_example_and_writing_it_again_changes_nothing(example: dict[str, Any]) -> None:
    event = from_json(example)
    assert event.type == example["type"]
    assert event.priority == event.payload.priority
    assert json.loads(to_json_line(event)) == example


@given(st.text(alphabet=st.characters(), max_size=60))
def test_any_text_survives_the_trip_on_one_encodable_line(text: str) -> None:
    event = an_event(text)
    line = to_json_line(event)
    assert len(line.splitlines()) == 1
    assert from_json(json.loads(line.encode())) == event
    assert line.isprintable()


def test_a_lone_surrogate_of_a_file_name_is_escaped_rather_than_failing_to_encode() -> None:
    line = to_json_line(an_event("caf\udce9"))
    assert "\\udce9" in line
    assert line.encode()


def test_unknown_usage_stays_unknown() -> None:
    payload = LlmCallEnd(call_no=1, model="m", provider="p", usage=Usage(total_input=3), duration_ms=4)
    event = Event(payload=payload, id="e", source="Director", priority="normal", timestamp="t", seq=1)
    assert to_json(event)["content"]["usage"] == {
        "total_input": 3,
        "output": None,
        "cached": None,
        "cache_written": None,
        "reasoning": None,
    }
    assert from_json(to_json(event)) == event


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"type": "telepathy"}, "telepathy"),
        ({"content": []}, "content must be an object"),
        ({"content": {"code": "sample"}}, "lacks the key text"),
        ({"content": {"code": "sample", "text": 7}}, "content.text is 7"),
        ({"seq": "1"}, "event.seq"),
        ({"seq": True}, "event.seq"),
        ({"priority": "urgent"}, "event.priority"),
        ({"metadata": {"key": 1}}, "event.metadata.key"),
    ],
)
def test_data_that_is_no_event_is_refused_with_the_place_named(change: dict[str, Any], named: str) -> None:
    data = to_json(an_event()) | change
    assert not is_valid(data)
    with pytest.raises(InvalidEvent, match=named):
        from_json(data)


def test_keys_of_later_versions_are_ignored_on_reading() -> None:
    data = to_json(an_event())
    data["content"]["later"] = 1
    assert from_json(data | {"also_later": 2}) == an_event()


def test_events_and_payloads_cannot_be_changed() -> None:
    chunk = AiChunk(stream_id="s", text="t", channel="text")
    with pytest.raises(FrozenInstanceError):
        chunk.__setattr__("text", "other")
    assert not hasattr(chunk, "__dict__")


def test_the_generated_files_are_what_the_yaml_file_gives() -> None:
    assert stale_files(ROOT) == []
    assert generate(YAML_TEXT) == generate(YAML_TEXT)


def test_a_changed_or_left_over_generated_file_is_noticed(tmp_path: Path) -> None:
    for name, content in {**generate(YAML_TEXT), "protocol/agent-events.yaml": YAML_TEXT}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert stale_files(tmp_path) == []
    (tmp_path / "docs/protocol.md").write_text("other", encoding="utf-8")
    (tmp_path / "src/yagent/protocol/events/gone.py").write_text("", encoding="utf-8")
    assert stale_files(tmp_path) == ["docs/protocol.md", "src/yagent/protocol/events/gone.py"]


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("type: integer, doc: Its process", "type: number_of_sheep, doc: Its process", "number_of_sheep"),
        ("priority: critical", "priority: urgent", "urgent"),
        ("      ai_stream_start:\n        doc:", "      ai_stream_start:\n        colour: blue\n        doc:", "colour"),
        ("call_id: {type: string, doc: The call it answers.}", "call_id: {type: string}", "exactly `type` and `doc`"),
    ],
)
def test_a_mistake_in_the_yaml_file_is_named(old: str, new: str, named: str) -> None:
    assert old in YAML_TEXT
    with pytest.raises(ProtocolError, match=named):
        read_protocol(YAML_TEXT.replace(old, new, 1))
