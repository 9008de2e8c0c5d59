"""Tool calls as servers really stream them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.wire import Wire, answers, chat_stream, sse
from yagent.protocol.messages import Message, ToolCall

PATH_A = '{"path":"a.txt"}'


def _piece(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields]}


def _function(name: str | None = None, arguments: Any = None) -> dict[str, Any]:
    return {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}


def _called(calls: tuple[ToolCall, ...]) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize("index", [{}, {"index": None}], ids=["absent", "null"])
def test_A02_a_call_without_index_goes_on_until_the_next_id(index: dict[str, None]) -> None:
    stream = chat_stream(
        _piece(**index, id="call_1", type="function", function=_function("read_file", "")),
        _piece(**index, function=_function(arguments='{"path":')),
        _piece(**index, function=_function(arguments='"a.txt"}')),
        _piece(**index, id="call_2", type="function", function=_function("read_file", '{"path":"b.txt"}')),
        finish_reason="tool_calls",
    )
    reply = Wire("openai").say("go").read(stream)
    assert _called(reply.message.calls) == [("call_1", "read_file", {"path": "a.txt"}), ("call_2", "read_file", {"path": "b.txt"})]


@pytest.mark.parametrize("identity", [{}, {"id": ""}, {"id": None}], ids=["absent", "empty", "null"])
def test_A03_a_call_without_id_gets_one_that_is_stable_and_unique_in_the_history(identity: dict[str, Any]) -> None:
    stream = chat_stream(
        _piece(index=0, **identity, type="function", function=_function("read_file", "")),
        _piece(index=0, **identity, function=_function(arguments=PATH_A)),
        finish_reason="tool_calls",
    )
    wire, seen = Wire("openai").say("go"), set()
    for _ in range(3):
        reply = wire.read(stream)
        assert reply == wire.read(stream), "the same stream at the same place gives the same id"
        (call,) = reply.message.calls
        assert call.id
        assert json.loads(call.arguments) == {"path": "a.txt"}
        wire.say(reply.message, answers(reply.message))
        seen.add(call.id)
        assistant, tool = wire.items()[-2:]
        assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"] == call.id
    assert len(seen) == 3
    wire.check()


def test_A03_ids_a_server_uses_again_are_made_unique() -> None:
    stream = chat_stream(_piece(index=0, id="call_0", function=_function("read_file", PATH_A)), finish_reason="tool_calls")
    wire = Wire("openai").say("go")
    for _ in range(2):
        reply = wire.read(stream).message
        wire.say(reply, answers(reply))
    sent = [call["id"] for item in wire.items() for call in item.get("tool_calls", ())]
    answered = [item["tool_call_id"] for item in wire.items() if item["role"] == "tool"]
    assert len(set(sent)) == 2
    assert answered == sent
    wire.check()


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", None, "absent"])
def test_A05_calls_decide_whatever_the_finish_reason(reason: str | None) -> None:
    stream = chat_stream(_piece(index=0, id="call_1", function=_function("read_file", PATH_A)), finish_reason=reason)
    if reason == "absent":
        stream = stream.replace(', "finish_reason": "absent"', "")
        assert "absent" not in stream
    reply = Wire("openai").say("go").read(stream)
    assert reply.finish == "tool_calls"
    assert _called(reply.message.calls) == [("call_1", "read_file", {"path": "a.txt"})]


@pytest.mark.parametrize(
    ("arguments", "todos", "note"),
    [
        ('{"todos":"[{\\"title\\":\\"x\\"}]","note":"[1,2]"}', '[{"title":"x"}]', "[1,2]"),
        ('"{\\"todos\\":[{\\"title\\":\\"x\\"}],\\"note\\":\\"n\\"}"', [{"title": "x"}], "n"),
        ({"todos": [{"title": "x"}], "note": "{not json"}, [{"title": "x"}], "{not json"),
    ],
)
def test_A22_only_the_object_itself_is_unwrapped_strings_inside_are_left_to_the_schema(arguments: Any, todos: Any, note: str) -> None:
    reply = Wire("openai").say("go").read(chat_stream(_piece(index=0, id="call_1", function=_function("set_todos", arguments))))
    (call,) = reply.message.calls
    assert call.malformed is None
    assert json.loads(call.arguments) == {"todos": todos, "note": note}


@pytest.mark.parametrize(
    "arguments", ['{"path": "a.txt"', "not json", "[1,2]", '"foo"', '{"path":"a.txt"}{"path":"b.txt"}', "NaN", "[" * 99999]
)
def test_A23_malformed_arguments_are_kept_aside_and_a_valid_object_is_replayed(arguments: str) -> None:
    wire = Wire("openai").say("go")
    reply = wire.read(chat_stream(_piece(index=0, id="call_1", function=_function("read_file", arguments))))
    (call,) = reply.message.calls
    assert (call.malformed, call.arguments) == (arguments, "{}")
    assert any("not a JSON object" in note for note in reply.notes)
    wire.say(reply.message, answers(reply.message, "error: the arguments are not a JSON object"))
    wire.check()


@pytest.mark.parametrize("arguments", ["", None, "null", "{}", " \n"])
def test_A23_no_arguments_at_all_are_an_empty_object(arguments: str | None) -> None:
    reply = Wire("openai").say("go").read(chat_stream(_piece(index=0, id="call_1", function=_function("list_dir", arguments))))
    assert [(call.arguments, call.malformed) for call in reply.message.calls] == [("{}", None)]


@pytest.mark.parametrize(
    ("arguments", "meaning"),
    [('{"text":"a\nb\tc"}', {"text": "a\nb\tc"}), ('{"a":1,"a":2}', {"a": 2}), ('{"a":"\\ud83d\\ude00 \\ud800"}', {"a": "😀 \ufffd"})],
    ids=["raw line breaks", "repeated key", "lone surrogate"],
)
def test_A23_arguments_only_some_parsers_read_are_rewritten_so_that_all_do(arguments: str, meaning: Any) -> None:
    for api_format in ("openai", "anthropic"):
        wire = Wire(api_format).say("go")
        reply = Wire("openai").say("go").read(chat_stream(_piece(index=0, id="call_1", function=_function("read_file", arguments)))).message
        assert json.loads(reply.calls[0].arguments) == meaning
        wire.say(reply, answers(reply)).check()


SIGNED = {"google": {"thought_signature": "QUJDRA=="}}


def test_A24_unknown_fields_of_a_call_go_back_to_where_they_came_from_and_nowhere_else() -> None:
    gemini = Wire("openai", host="generativelanguage.googleapis.com", model="gemini-3-pro").say("go")
    first = _piece(index=0, id="call_1", type="function", function=_function("read_file", PATH_A), extra_content=SIGNED)
    second = _piece(index=1, id="call_2", type="function", function=_function("read_file", PATH_A))
    reply = gemini.read(chat_stream(first, second, finish_reason="tool_calls")).message
    calls = gemini.say(reply, answers(reply)).items()[2]["tool_calls"]
    assert [call.get("extra_content") for call in calls] == [SIGNED, None]

    for api_format in ("openai", "responses", "anthropic"):
        elsewhere = Wire(api_format, model="other").say("go", reply, answers(reply))
        assert b"extra_content" not in elsewhere.raw()
        elsewhere.check()


def test_A24_calls_of_another_model_get_the_stand_in_gemini_asks_for() -> None:
    gemini = Wire("openai", host="generativelanguage.googleapis.com", model="gemini-3-pro").say("go")
    foreign = Message("assistant", (ToolCall("call_1", "read_file", "{}"),), "anthropic:other:x")
    (call,) = gemini.say(foreign, answers(foreign)).items()[2]["tool_calls"]
    assert call["extra_content"]["google"]["thought_signature"] == "skip_thought_signature_validator"


def test_A28_arguments_as_an_object_become_their_json_text() -> None:
    wire = Wire("openai").say("go")
    reply = wire.read(chat_stream(_piece(index=0, id="call_1", function=_function("read_file", {"path": "a.txt"})))).message
    (call,) = wire.say(reply, answers(reply)).items()[2]["tool_calls"]
    assert call["function"]["arguments"] == PATH_A


IDS = ["functions.read_file:0", "functions.bash:1", "call_x", "toolu_1", "3f2a", "a b"]


def test_A36_ids_go_back_exactly_and_are_mapped_for_another_provider() -> None:
    kimi = Wire("openai", host="api.moonshot.cn", model="kimi-k2").say("go")
    history: list[Message] = []
    for call_id in IDS:
        reply = kimi.read(chat_stream(_piece(index=0, id=call_id, function=_function("read_file", PATH_A)))).message
        history += [reply, answers(reply)]
        kimi.say(*history[-2:])
    sent = [item for item in kimi.items() if "tool_calls" in item]
    assert [item["tool_calls"][0]["id"] for item in sent] == IDS
    assert [item["tool_call_id"] for item in kimi.items() if item["role"] == "tool"] == IDS

    claude = Wire("anthropic").say("go", *history)
    claude.check()
    blocks = [block for message in claude.items() for block in message["content"]]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert used == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len(set(used)) == len(IDS)
    assert used[2:5] == ["call_x", "toolu_1", "3f2a"], "legal ids stay"


@pytest.mark.parametrize("api_format", ["openai", "responses", "anthropic"])
@pytest.mark.parametrize("name", ["view_file", "Read_File", "", "mcp__gone__x", "a/b c", "x" * 200])
def test_A37_a_name_that_is_not_offered_is_kept_for_the_loop_and_replayed_in_a_legal_form(api_format: str, name: str) -> None:
    reply = Wire("openai").say("go").read(chat_stream(_piece(index=0, id="call_1", function={"name": name, "arguments": "{}"}))).message
    assert [call.name for call in reply.calls] == [name]
    Wire(api_format).say("go", reply, answers(reply, f"There is no tool {name!r}.")).check()


def test_interleaved_calls_and_the_old_function_call_form() -> None:
    stream = chat_stream(
        _piece(index=0, id="call_1", function=_function("read_file", '{"path":')),
        _piece(index=1, id="call_2", function=_function("list_dir", "{")),
        _piece(index=0, function=_function(arguments='"a.txt"}')),
        _piece(index=1, function=_function(arguments="}")),
    )
    reply = Wire("openai").say("go").read(stream)
    assert _called(reply.message.calls) == [("call_1", "read_file", {"path": "a.txt"}), ("call_2", "list_dir", {})]
    old = chat_stream({"function_call": _function("read_file", '{"path":')}, {"function_call": _function(arguments='"a.txt"}')})
    (call,) = Wire("openai").say("go").read(old).message.calls
    assert (call.name, call.arguments) == ("read_file", PATH_A)


@pytest.mark.parametrize("index", [{}, {"index": 0}], ids=["no index", "index 0 for all"])
def test_whole_calls_without_ids_do_not_run_into_each_other(index: dict[str, int]) -> None:
    pieces = [_piece(**index, function=_function("read_file", f'{{"path":"{name}"}}')) for name in "ab"]
    reply = Wire("openai").say("go").read(chat_stream(*pieces))
    assert [json.loads(call.arguments) for call in reply.message.calls] == [{"path": "a"}, {"path": "b"}]
    assert len({call.id for call in reply.message.calls}) == 2


def test_a_name_repeated_in_every_piece_does_not_grow() -> None:
    pieces = [_piece(index=0, id="call_1", function=_function("read_file", part)) for part in ('{"path"', ':"a"', "}")]
    (call,) = Wire("openai").say("go").read(sse(*({"choices": [{"index": 0, "delta": piece}]} for piece in pieces), "[DONE]")).message.calls
    assert (call.name, call.arguments) == ("read_file", '{"path":"a"}')
