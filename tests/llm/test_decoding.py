"""A stream that is split anywhere gives the same message; one that is cut gives a retryable error, never half a message."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.wire import FORMATS, Wire, answers, chat_stream, finish, messages_stream, responses_stream, shown, sse
from yagent.llm.assemble import NOTHING_RETURNED
from yagent.llm.engine import Completed, ModelError, TransientModelError
from yagent.llm.sse import SseEvent
from yagent.protocol.messages import JsonObject, Reasoning, Text, ToolCall, Usage

CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":'}}
STREAMS = {
    "openai": chat_stream(
        {"role": "assistant", "reasoning_content": "thïnk "},
        {"reasoning_content": "more"},
        {"content": "words 😀 "},
        {"content": "and words"},
        {"tool_calls": [CALL]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"a.txt"}'}}]},
        finish_reason="tool_calls",
        usage={"prompt_tokens": 9, "completion_tokens": 3},
    ),
    "anthropic": messages_stream(
        {"type": "thinking", "thinking": "thïnk more", "signature": "c2ln"},
        {"type": "text", "text": "words 😀 and words"},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
        stop_reason="tool_use",
    ),
    "responses": responses_stream(
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "thïnk more"}], "encrypted_content": "ENC"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "words 😀 and words", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "arguments": '{"path":"a.txt"}'},
    ),
}


def _reply(api_format: str, *chunks: bytes | str) -> Completed:
    return Wire(api_format).say("go").read(*chunks)


@pytest.mark.parametrize("api_format", FORMATS)
def test_a_whole_stream_becomes_its_parts_in_order(api_format: str) -> None:
    reply = _reply(api_format, STREAMS[api_format])
    assert [type(part) for part in reply.message.parts] == [Reasoning, Text, ToolCall]
    assert reply.message.reasoning == "thïnk more"
    assert reply.message.text == "words 😀 and words"
    (call,) = reply.message.calls
    assert (call.name, json.loads(call.arguments), call.malformed) == ("read_file", {"path": "a.txt"}, None)
    assert (reply.finish, reply.model, reply.message.origin) == ("tool_calls", "m", f"{api_format}:here:m")
    assert reply.notes == ()


@pytest.mark.parametrize("api_format", FORMATS)
def test_what_was_shown_while_streaming_is_what_is_kept(api_format: str) -> None:
    words, thoughts = shown(Wire(api_format).say("go").encoder.decoder(), [STREAMS[api_format]])
    assert words == "words 😀 and words"
    assert thoughts == ("" if api_format == "responses" else "thïnk more")  # the fixture sends its summary with the finished item only


@pytest.mark.parametrize("api_format", FORMATS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_split_anywhere_is_the_same(api_format: str, data: st.DataObject) -> None:
    stream = STREAMS[api_format].encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert _reply(api_format, *pieces) == _reply(api_format, stream)


@pytest.mark.parametrize("api_format", FORMATS)
def test_cut_anywhere_is_the_same_message_or_retryable(api_format: str) -> None:
    stream = STREAMS[api_format].encode()
    whole = _reply(api_format, stream)
    complete = 0
    for end in range(len(stream)):
        try:
            reply = _reply(api_format, stream[:end])
        except TransientModelError:
            continue
        complete += 1
        assert reply.message == whole.message
    assert complete < len(stream) / 3


@pytest.mark.parametrize("api_format", FORMATS)
@given(noise=st.binary(max_size=200))
def test_noise_never_raises_anything_but_model_errors(api_format: str, noise: bytes) -> None:
    with pytest.raises(TransientModelError):
        _reply(api_format, b"data: " + noise.replace(b"\n", b"").replace(b"\r", b"") + b"\n\n")


FIELDS = st.sampled_from(
    re.findall(
        r"\w+",
        "choices delta content tool_calls function name arguments index id usage type item response output message reasoning_details "
        "content_block finish_reason stop_reason text summary status prompt_tokens input",
    )
)
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=15,
)
TOP = st.sampled_from(["choices", "delta", "item", "response", "message", "content_block", "index", "output_index", "usage"])
KINDS = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
        "response.output_item.added",
        "response.output_item.done",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.incomplete",
        "x",
    ]
)


@pytest.mark.parametrize("api_format", FORMATS)
@settings(max_examples=100, deadline=None)
@given(events=st.lists(st.tuples(KINDS, st.dictionaries(TOP, SHAPES, max_size=4)), max_size=6))
def test_events_of_any_shape_never_crash(api_format: str, events: list[tuple[str, dict[str, Any]]]) -> None:
    decoder = Wire(api_format).say("go").encoder.decoder()
    try:
        reply = finish(decoder, [sse(*({**event, "type": kind} for kind, event in events), "[DONE]")])
    except ModelError:
        return
    assert all(json.loads(call.arguments) == {} or isinstance(json.loads(call.arguments), dict) for call in reply.message.calls)


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize(
    "event",
    [
        {"type": ["x"]},
        {"type": {"x": 1}},
        {"type": "content_block_delta", "delta": {"type": []}},
        {"type": "content_block_delta", "delta": {"type": {}}},
    ],
)
def test_a_kind_that_is_no_text_is_unknown(api_format: str, event: dict[str, Any]) -> None:
    decoder = Wire(api_format).say("go").encoder.decoder()
    assert list(decoder.feed(SseEvent("", json.dumps(event)))) == []


USAGES: dict[str, JsonObject] = {
    "openai": {
        "prompt_tokens": 900,
        "completion_tokens": 120,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 30},
    },
    "deepseek": {"prompt_tokens": 900, "completion_tokens": 120, "prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 300},
    "responses": {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 600},
        "output_tokens": 120,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1020,
    },
}


def test_usage_of_chat_completions_counts_each_token_once_however_often_it_is_repeated() -> None:
    chunk = {"choices": [], "usage": USAGES["openai"]}
    first = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}], "usage": USAGES["openai"]}
    stream = sse(first, chunk, chunk, "[DONE]")
    assert _reply("openai", stream).usage == Usage(900, 120, 600, None, 30)
    assert _reply("openai", chat_stream({"content": "x"}, usage=USAGES["deepseek"])).usage == Usage(900, 120, 600, None, None)


def test_usage_of_responses() -> None:
    assert _reply("responses", responses_stream(response={"usage": USAGES["responses"]})).usage == Usage(900, 120, 600, None, 30)


def test_usage_of_messages_adds_what_the_cache_held() -> None:
    start = {"input_tokens": 300, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 100, "output_tokens": 1}
    usage = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 120}}] * 3
    stream = sse({"type": "message_start", "message": {"model": "m", "usage": start}}, *usage, {"type": "message_stop"})
    assert _reply("anthropic", stream).usage == Usage(900, 120, 500, 100, None)


def test_usage_that_starts_with_zeros_and_ends_with_the_truth() -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 300, "output_tokens": 5}},
    ]
    assert _reply("anthropic", sse(*events, {"type": "message_stop"})).usage == Usage(300, 5)


def test_absent_usage_is_unknown() -> None:
    assert _reply("openai", chat_stream({"content": "x"})).usage is None
    assert _reply("responses", responses_stream()).usage is None


def test_surrogate_halves_in_different_pieces_are_joined() -> None:
    stream = chat_stream({"content": "\ud83d"}, {"content": "\ude00 ok \ud800"})
    assert _reply("openai", stream).message.text == "😀 ok \ufffd"


def test_a_server_that_answers_with_one_document() -> None:
    message = {
        "role": "assistant",
        "content": "hi",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}],
    }
    decoder = Wire("openai").say("go").encoder.decoder()
    list(decoder.whole(json.dumps({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()))
    assert decoder.result().message.calls[0].arguments == '{"path":"a.txt"}'

    decoder = Wire("anthropic").say("go").encoder.decoder()
    list(decoder.whole(json.dumps({"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}).encode()))
    assert decoder.result().message.text == "hi"

    decoder = Wire("responses").say("go").encoder.decoder()
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
    list(decoder.whole(json.dumps({"object": "response", "status": "completed", "output": [item]}).encode()))
    assert decoder.result().message.text == "hi"


def test_thoughts_in_think_tags_are_reasoning() -> None:
    pieces = ["\n<th", "ink>step", " one</thi", "nk>\n\nanswer"]
    reply = _reply("openai", chat_stream(*({"content": piece} for piece in pieces)))
    assert (reply.message.reasoning, reply.message.text) == ("step one", "answer")


@pytest.mark.parametrize("text", ["a <think> in the middle", "<thin", "<", "no tags"])
def test_text_that_only_looks_like_a_tag_stays_text(text: str) -> None:
    assert _reply("openai", chat_stream(*({"content": letter} for letter in text))).message.text == text


DSML = (
    'Reading.<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n'
    '<｜DSML｜parameter name="path" string="true">a.txt'
    '</｜DSML｜parameter>\n<｜DSML｜parameter name="lines" string="false">[1, 2]</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
)


def test_calls_written_in_deepseeks_markup_become_calls() -> None:
    wire = Wire("openai", host="api.deepseek.com", model="deepseek-chat").say("go")
    reply = wire.read(chat_stream(*({"content": DSML[start : start + 7]} for start in range(0, len(DSML), 7))))
    assert reply.message.text == "Reading."
    assert [(call.name, json.loads(call.arguments)) for call in reply.message.calls] == [("read_file", {"path": "a.txt", "lines": [1, 2]})]
    assert reply.finish == "tool_calls"


def test_that_markup_is_text_where_no_family_uses_it() -> None:
    assert _reply("openai", chat_stream({"content": DSML})).message.text == DSML


def test_openrouters_reasoning_details_come_back_unchanged() -> None:
    details = [
        {"type": "reasoning.text", "index": 0, "text": "th", "format": "x"},
        {"type": "reasoning.text", "index": 0, "text": "ink"},
        {"type": "reasoning.text", "index": 0, "signature": "SIG"},
    ]
    wire = Wire("openai", host="openrouter.ai", model="anthropic/claude-x").say("go")
    reply = wire.read(chat_stream(*({"reasoning_details": [detail]} for detail in details), {"content": "hi"}))
    assert reply.message.reasoning == "think"
    wire.say(reply.message, "next")
    (detail,) = wire.items()[2]["reasoning_details"]
    assert detail == {"type": "reasoning.text", "index": 0, "text": "think", "format": "x", "signature": "SIG"}


def test_the_phase_of_a_responses_message_comes_back() -> None:
    wire = Wire("responses", host="api.openai.com", model="gpt-5.5").say("go")
    reply = wire.read(STREAMS["responses"])
    wire.say(reply.message, answers(reply.message))
    assert next(item for item in wire.items() if item.get("id") == "msg_1")["phase"] == "commentary"
    assert [part.extra for part in reply.message.parts if isinstance(part, Text)] == [{"id": "msg_1", "phase": "commentary"}]


@pytest.mark.parametrize("api_format", FORMATS)
def test_a_reply_without_anything_is_noted(api_format: str) -> None:
    stream = {"openai": chat_stream({"content": " \n"}), "anthropic": messages_stream(), "responses": responses_stream()}[api_format]
    reply = _reply(api_format, stream)
    assert reply.message.parts == ()
    assert NOTHING_RETURNED in reply.notes


def test_answers_of_another_choice_are_ignored() -> None:
    other = {"index": 1, "delta": {"content": "no"}}
    stream = sse({"choices": [other, {"index": 0, "delta": {"content": "yes"}, "finish_reason": "stop"}]})
    assert _reply("openai", stream).message.text == "yes"


@pytest.mark.parametrize("index", ["0", 1, "3", None])
def test_a_choice_is_ours_whatever_its_index(index: object) -> None:
    chunks = [{"choices": [{"index": index, "delta": {"content": text}}]} for text in ("y", "es")]
    end = {"choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]}
    assert _reply("openai", sse(*chunks, end, "[DONE]")).message.text == "yes"


def test_indexes_sent_as_text_keep_calls_apart() -> None:
    def piece(index: str, **function: str) -> JsonObject:
        return {"tool_calls": [{"index": index, "function": function}]}

    begun = [piece("0", name="read_file", arguments='{"path":'), piece("1", name="list_dir", arguments='{"path":')]
    stream = chat_stream(*begun, piece("0", arguments='"a"}'), piece("1", arguments='"b"}'), finish_reason="tool_calls")
    calls = [(part.name, json.loads(part.arguments)) for part in _reply("openai", stream).message.calls]
    assert calls == [("read_file", {"path": "a"}), ("list_dir", {"path": "b"})]


@pytest.mark.parametrize("number", [10**400, 10**30, -1, True, "9", 1.5], ids=["huge", "large", "negative", "truth", "text", "part"])
def test_a_number_of_tokens_that_cannot_be_is_unknown(number: object) -> None:
    usage = _reply("openai", chat_stream({"content": "x"}, usage={"prompt_tokens": 5, "completion_tokens": number})).usage
    assert usage is not None
    assert (usage.total_input, usage.output) == (5, None)
