"""What is sent back of what was said before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.wire import FORMATS, Wire, answers, chat_stream, messages_stream, responses_stream
from yagent.llm.assemble import NOTHING_RETURNED
from yagent.llm.dialects.port import Rejection
from yagent.llm.engine import ContextTooLong
from yagent.protocol.messages import JsonObject, Message, Reasoning, Text, ToolCall, ToolResult, Usage

CALL = {
    "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}}]
}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_A06_reasoning_goes_back_with_the_call_it_led_to(field: str) -> None:
    wire = Wire("openai", host="api.deepseek.com", model="deepseek-chat").say("go")
    reply = wire.read(chat_stream({"role": "assistant", field: "need the file"}, CALL, finish_reason="tool_calls")).message
    wire.say(reply, answers(reply))
    assert wire.items()[2]["reasoning_content"] == "need the file"


@pytest.mark.parametrize(("host", "model"), [("api.openai.com", "gpt-5.5"), ("api.openai.com", "gpt-4.1"), ("127.0.0.1", "deepseek-r1")])
def test_A06_reasoning_is_not_sent_to_those_who_reject_it(host: str, model: str) -> None:
    wire = Wire("openai", host=host, model=model).say("go")
    reply = wire.read(chat_stream({"reasoning_content": "need the file"}, CALL)).message
    wire.say(reply, answers(reply))
    assert b"need the file" not in wire.raw()
    assert reply.reasoning == "need the file", "it is kept all the same"


def test_A06_a_server_nobody_described_teaches_by_its_refusal() -> None:
    wire = Wire("openai").say("go")
    reply = wire.read(chat_stream({"reasoning_content": "need the file"}, CALL)).message
    wire.say(reply, answers(reply))
    assert b"reasoning_content" in wire.raw()
    assert wire.encoder.adjust(Rejection("messages[2]: property 'reasoning_content' is unsupported"))
    assert b"reasoning_content" not in wire.raw()

    other = Wire("openai").say("go", Message("assistant", (ToolCall("call_1", "read_file", "{}"),), "x:y:z"))
    other.say(Message("tool", (ToolResult("call_1", "read_file", "x"),)))
    other.raw()
    assert other.encoder.adjust(Rejection("Missing `reasoning_content` field in the assistant message at message index 2"))
    assert other.items()[2]["reasoning_content"] == ""


@pytest.mark.parametrize("api_format", FORMATS)
def test_A08_three_calls_have_their_results_in_order_before_the_new_words(api_format: str) -> None:
    calls = tuple(ToolCall(f"call_{number}", "read_file", "{}") for number in (1, 2, 3))
    results = tuple(ToolResult(call.id, call.name, "interrupted by the user", is_error=True) for call in calls)
    wire = Wire(api_format).say("go", Message("assistant", calls), Message("tool", results), "go on")
    wire.check()
    items = wire.items()
    if api_format == "openai":
        assert [item["role"] for item in items] == ["system", "user", "assistant", "tool", "tool", "tool", "user"]
        assert [item["tool_call_id"] for item in items[3:6]] == ["call_1", "call_2", "call_3"]
    elif api_format == "responses":
        assert [item["type"] for item in items] == ["message", *["function_call"] * 3, *["function_call_output"] * 3, "message"]
    else:
        assert [item["role"] for item in items] == ["user", "assistant", "user"]
        assert [block["type"] for block in items[2]["content"]] == ["tool_result", "tool_result", "tool_result", "text"]


THINKING: list[JsonObject] = [
    {"type": "thinking", "thinking": "", "signature": "QUJD"},
    {"type": "redacted_thinking", "data": "ZW5j"},
    {"type": "thinking", "thinking": "naïve — step \n", "signature": "REVG"},
    {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}},
]


def _unmarked(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]


def test_A09_thinking_goes_back_before_the_call_with_its_signature() -> None:
    blocks: list[JsonObject] = [
        {"type": "thinking", "thinking": "look first", "signature": "c2ln"},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
    ]
    wire = Wire("anthropic").say("go")
    for number in (1, 2):
        turn = [blocks[0], {**blocks[1], "id": f"toolu_{number}"}]
        reply = wire.read(messages_stream(*turn, stop_reason="tool_use")).message
        wire.say(reply, answers(reply))
        assert _unmarked(wire.items()[-2]["content"]) == turn
    wire.check()


def test_A10_thinking_is_replayed_verbatim_and_left_out_whole_elsewhere() -> None:
    wire = Wire("anthropic").say("go")
    reply = wire.read(messages_stream(*THINKING, stop_reason="tool_use")).message
    wire.say(reply, answers(reply))
    assert _unmarked(wire.items()[1]["content"]) == THINKING
    for other in (Wire("anthropic", model="another"), Wire("openai"), Wire("responses")):
        raw = other.say("go", reply, answers(reply)).raw()
        assert not any(trace in raw for trace in (b"thinking", b"QUJD", b"ZW5j", "naïve".encode()))
        other.check()


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_A11_no_blank_text_is_sent_and_every_result_exists(api_format: str, text: str) -> None:
    call = ToolCall("call_1", "read_file", "{}")
    wire = Wire(api_format).say("go", Message("assistant", (Text(text), call)), Message("tool", (ToolResult("call_1", "read_file", text),)))
    wire.say(
        Message("assistant", (Text(text),)),
        Message("assistant", (Reasoning("only thoughts"),)),
        Message("user", (Text(text), Text("next"))),
    )
    wire.check()
    assert b"(no output)" in wire.raw()


def test_A11_blank_blocks_of_a_stream_are_not_kept() -> None:
    blocks: list[JsonObject] = [{"type": "text", "text": "\n"}, THINKING[3]]
    reply = Wire("anthropic").say("go").read(messages_stream(*blocks, stop_reason="tool_use")).message
    assert [type(part) for part in reply.parts] == [ToolCall]


@pytest.mark.parametrize("api_format", FORMATS)
def test_A19_an_empty_reply_is_noted_and_never_sent_back(api_format: str) -> None:
    stream = {"openai": chat_stream({"role": "assistant", "content": ""}), "anthropic": messages_stream(), "responses": responses_stream()}
    wire = Wire(api_format).say("go")
    reply = wire.read(stream[api_format])
    assert NOTHING_RETURNED in reply.notes
    wire.say(reply.message, "again")
    wire.check()
    assert not [item for item in wire.items() if item.get("role") == "assistant"]


ITEMS: list[JsonObject] = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "arguments": '{"path":"a.txt"}'},
]


def test_A25_reasoning_and_the_item_after_it_stay_together_wherever_the_history_is_cut() -> None:
    source = Wire("responses").say("go")
    history: list[Message] = []
    for number in range(3):
        last = (
            [ITEMS[0]]
            if number == 2
            else [{**ITEMS[0], "id": f"rs_{number}"}, {**ITEMS[1], "id": f"fc_{number}", "call_id": f"call_{number}"}]
        )
        reply = source.read(responses_stream(*last)).message
        history += [reply, answers(reply)] if reply.calls else [reply]
        source.say(*history[-2 if reply.calls else -1 :])
    for begin in range(0, 5, 2):
        for end in range(begin, len(history) + 1):
            if begin < end and history[end - 1].calls:
                continue  # the loop answers an interrupted call before it sends anything
            wire = Wire("responses").say("go", *history[begin:end], "next")
            wire.check()
            kinds = [item["type"] for item in wire.items()]
            assert all(kinds[place + 1] == "function_call" for place, kind in enumerate(kinds) if kind == "reasoning")


def test_A25_an_interrupted_call_is_sent_with_its_reasoning_and_one_output() -> None:
    wire = Wire("responses").say("go")
    reply = wire.read(responses_stream(*ITEMS)).message
    wire.say(reply, answers(reply, "interrupted by the user"), "go on")
    assert wire.items()[1:4] == [*ITEMS, {"type": "function_call_output", "call_id": "call_1", "output": "interrupted by the user"}]
    body = wire.body()
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])


PAUSED: list[JsonObject] = [
    {"type": "text", "text": "Searching. "},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
]


def test_A34_a_paused_turn_goes_back_unchanged() -> None:
    wire = Wire("anthropic").say("go")
    reply = wire.read(messages_stream(*PAUSED, stop_reason="pause_turn"))
    assert reply.finish == "pause"
    wire.say(reply.message)
    last = wire.items()[-1]
    assert last["role"] == "assistant"
    assert json.dumps(_unmarked(last["content"])) == json.dumps(PAUSED)


@pytest.mark.parametrize(
    ("reason", "finish"), [("refusal", "refusal"), ("max_tokens", "length"), ("brand_new_reason", "unknown"), ("end_turn", "stop")]
)
def test_A34_stop_reasons_are_told_apart(reason: str, finish: str) -> None:
    reply = Wire("anthropic").say("go").read(messages_stream({"type": "text", "text": "x"}, stop_reason=reason))
    assert reply.finish == finish
    assert any("brand_new_reason" in note for note in reply.notes) == (finish == "unknown")


def test_A34_a_window_that_filled_up_is_an_overflow() -> None:
    with pytest.raises(ContextTooLong):
        Wire("anthropic").say("go").read(messages_stream({"type": "text", "text": "x"}, stop_reason="model_context_window_exceeded"))


def test_D14_three_wire_formats_three_times_the_same_usage() -> None:
    chat = {
        "prompt_tokens": 900,
        "completion_tokens": 120,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 600},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    responses = {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 600},
        "output_tokens": 120,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1020,
    }
    start = {"input_tokens": 300, "cache_read_input_tokens": 500, "cache_creation_input_tokens": 100, "output_tokens": 1}
    words: JsonObject = {"type": "text", "text": "x"}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    assert Wire("openai").say("go").read(chat_stream({"content": "x"}, usage=chat)).usage == Usage(900, 120, 600, None, 30)
    assert Wire("responses").say("go").read(responses_stream(message, response={"usage": responses})).usage == Usage(
        900, 120, 600, None, 30
    )
    stream = messages_stream(words, usage=start).replace('"output_tokens": 9}', '"output_tokens": 120}')
    assert Wire("anthropic").say("go").read(stream).usage == Usage(900, 120, 500, 100)
