"""What goes beside the conversation: limits, temperature, effort, and what a server's refusal changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.llm.wire import DEFAULT_OPTIONS, FORMATS, Wire, answers, chat_stream, messages_stream, responses_stream
from yagent.llm.dialects.port import Learned, Rejection, WireSettings
from yagent.llm.engine import CallOptions
from yagent.protocol.messages import JsonObject, Message, Text, ToolCall

LIMIT = {"openai": "max_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}


def _body(api_format: str, settings: WireSettings, options: CallOptions = DEFAULT_OPTIONS, **more: Any) -> dict[str, Any]:
    return Wire(api_format, settings=settings, **more).say("go").body(options)


@pytest.mark.parametrize("api_format", FORMATS)
def test_options_of_the_call_beat_the_provider_settings(api_format: str) -> None:
    settings = WireSettings(max_output_tokens=500, temperature=0.3)
    body = _body(api_format, settings, CallOptions(max_output_tokens=100, temperature=0.0))
    assert (body[LIMIT[api_format]], body["temperature"]) == (100, 0.0)
    body = _body(api_format, settings)
    assert (body[LIMIT[api_format]], body["temperature"]) == (500, 0.3)


@pytest.mark.parametrize("api_format", ["openai", "responses"])
def test_what_is_not_set_stays_off_the_wire(api_format: str) -> None:
    for settings in (WireSettings(), WireSettings(max_output_tokens=0, temperature=0)):
        assert not {LIMIT[api_format], "temperature", "tool_choice", "reasoning", "thinking"} & _body(api_format, settings).keys()


@pytest.mark.parametrize(("ceiling", "sent"), [(None, 8192), (4096, 4096), (64_000, 32_000)])
def test_messages_always_has_a_limit_the_catalogues_where_known(ceiling: int | None, sent: int) -> None:
    assert _body("anthropic", WireSettings(output_ceiling=ceiling))["max_tokens"] == sent


@pytest.mark.parametrize(("effort", "budget"), [("low", 1024), ("medium", 8192), ("high", 24576), ("max", 32000)])
def test_thinking_budget_raises_the_limit_and_fixes_the_temperature(effort: str, budget: int) -> None:
    body = _body("anthropic", WireSettings(reasoning_effort=effort, temperature=0.3))
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == max(8192, budget + 4096)
    assert body["temperature"] == 1.0


def test_thinking_fits_below_what_the_model_can_write() -> None:
    body = _body("anthropic", WireSettings(reasoning_effort="max", output_ceiling=16_000))
    assert (body["max_tokens"], body["thinking"]["budget_tokens"]) == (16_000, 11_904)
    assert "thinking" not in _body("anthropic", WireSettings(reasoning_effort="max", output_ceiling=4_096))


def test_an_unknown_effort_means_no_thinking_on_the_messages_side() -> None:
    body = _body("anthropic", WireSettings(reasoning_effort="hihg", temperature=0.3))
    assert "thinking" not in body
    assert body["temperature"] == 0.3


def test_effort_on_an_unknown_chat_server_is_passed_through_with_the_switch() -> None:
    body = _body("openai", WireSettings(reasoning_effort="high"))
    assert (body["reasoning_effort"], body["thinking"]) == ("high", {"type": "enabled"})


@pytest.mark.parametrize(
    ("api_format", "host", "model", "fields", "absent"),
    [
        ("openai", "api.openai.com", "gpt-5.5", {"reasoning_effort": "high"}, "thinking"),
        ("openai", "openrouter.ai", "z-ai/glm-5", {"reasoning": {"effort": "high"}}, "reasoning_effort"),
        ("openai", "dashscope.aliyuncs.com", "qwen3-max", {"enable_thinking": True, "thinking_budget": 24576}, "reasoning_effort"),
        (
            "openai",
            "api.z.ai",
            "glm-4.7",
            {"thinking": {"type": "enabled", "clear_thinking": False}, "tool_stream": True},
            "reasoning_effort",
        ),
        ("responses", "api.openai.com", "gpt-5.5", {"reasoning": {"summary": "auto", "effort": "high"}}, "temperature"),
        ("anthropic", "api.anthropic.com", "claude-opus-5", {"output_config": {"effort": "high"}}, "temperature"),
    ],
)
def test_effort_per_family(api_format: str, host: str, model: str, fields: dict[str, Any], absent: str) -> None:
    body = _body(api_format, WireSettings(reasoning_effort="high", temperature=0.2), host=host, model=model)
    assert {name: body.get(name) for name in fields} == fields
    assert absent not in body


def test_openai_gets_its_cache_key_and_limit_name_and_the_others_do_not() -> None:
    settings = WireSettings(max_output_tokens=100)
    body = _body("openai", settings, host="api.openai.com", model="gpt-4.1")
    assert (body["prompt_cache_key"], body["max_completion_tokens"], body["parallel_tool_calls"]) == ("conversation-1", 100, True)
    body = _body("openai", settings, host="api.deepseek.com", model="deepseek-chat")
    assert body["max_tokens"] == 100
    assert not {"prompt_cache_key", "parallel_tool_calls"} & body.keys()
    assert body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in _body("openai", settings, host="api.mistral.ai", model="mistral-large")


@pytest.mark.parametrize("api_format", FORMATS)
def test_forbidding_tools_leaves_them_declared(api_format: str) -> None:
    wire = Wire(api_format).say("go")
    allowed, forbidden = wire.body(), wire.body(CallOptions(forbid_tools=True))
    assert forbidden["tool_choice"] in ("none", {"type": "none"})
    assert {**forbidden, "tool_choice": None} == {**allowed, "tool_choice": None}


@pytest.mark.parametrize(
    ("message", "sent", "lowered"),
    [
        ("max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-x", 32_000, 8192),
        ("max_tokens is too large: 32000. This model supports at most 4096 completion tokens", 32_000, 4096),
    ],
)
def test_a_limit_too_high_is_lowered_to_what_the_server_allows(message: str, sent: int, lowered: int) -> None:
    wire = Wire("anthropic", settings=WireSettings(max_output_tokens=sent)).say("go")
    assert wire.body()["max_tokens"] == sent
    assert wire.encoder.adjust(Rejection(message))
    assert wire.body()["max_tokens"] == lowered
    assert not wire.encoder.adjust(Rejection("max_tokens: strange complaint", "max_tokens")), "the field itself is required"


def test_a_part_of_an_object_is_dropped_alone() -> None:
    wire = Wire("responses", settings=WireSettings(reasoning_effort="high")).say("go")
    wire.body()
    assert wire.encoder.adjust(Rejection("Your organization must be verified to generate reasoning summaries.", "reasoning.summary"))
    assert wire.body()["reasoning"] == {"effort": "high"}


@pytest.mark.parametrize("message", ["messages[3].tool_calls: broken", "Something else", "stream is not allowed"])
def test_what_cannot_be_left_out_is_not_repeated(message: str) -> None:
    wire = Wire("openai").say("go")
    wire.body()
    assert not wire.encoder.adjust(Rejection(message, message.split(":", maxsplit=1)[0]))


def test_a_server_that_refuses_everything_ends_the_adjusting() -> None:
    wire = Wire("openai", host="api.openai.com", settings=WireSettings(1, 0.5, "high")).say("go")
    rounds = 0
    while wire.encoder.adjust(Rejection(f"Unsupported: {', '.join(wire.body())}")):
        rounds += 1
    assert 3 <= rounds <= 12


def test_other_dialogues_of_the_engine_learn_along_and_the_note_is_given_once() -> None:
    learned = Learned()
    first = Wire("openai", settings=WireSettings(temperature=0.5), learned=learned).say("go")
    first.body()
    assert first.encoder.adjust(Rejection("Unsupported value: 'temperature' does not support 0.5", "temperature"))
    second = Wire("openai", settings=WireSettings(temperature=0.5), learned=learned).say("go")
    assert "temperature" not in second.body()
    replies = [first.read(chat_stream({"content": "x"})) for _ in range(2)]
    assert [len(reply.notes) for reply in replies] == [1, 1], "an attempt that failed in between must not lose it"
    assert first.say(replies[1].message, "next").read(chat_stream({"content": "x"})).notes == ()


def test_cache_marks_a_gateway_refuses_are_left_out() -> None:
    wire = Wire("anthropic").say("go")
    assert b"cache_control" in wire.raw()
    assert wire.encoder.adjust(Rejection("system.0.cache_control: Extra inputs are not permitted"))
    assert b"cache_control" not in wire.raw()


def test_reasoning_a_server_cannot_read_any_more_is_dropped_with_the_ids_that_refer_to_it() -> None:
    wire = Wire("responses").say("go")
    items: list[JsonObject] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "arguments": "{}"},
    ]
    reply = wire.read(responses_stream(*items)).message
    wire.say(reply, answers(reply))
    assert [item.get("id") for item in wire.items()] == [None, "rs_1", "fc_1", None]
    rejection = Rejection("The encrypted content could not be verified.", None, "invalid_encrypted_content")
    assert wire.encoder.adjust(rejection)
    assert [item["type"] for item in wire.items()] == ["message", "function_call", "function_call_output"]
    assert all("id" not in item for item in wire.items())
    assert not wire.encoder.adjust(rejection), "once"


def test_signatures_refused_by_anthropic_drop_the_thinking() -> None:
    wire = Wire("anthropic").say("go")
    reply = wire.read(messages_stream({"type": "thinking", "thinking": "t", "signature": "S"}, {"type": "text", "text": "x"})).message
    wire.say(reply, "next")
    assert wire.encoder.adjust(Rejection("messages.1.content.0: Invalid `signature` in `thinking` block"))
    assert [block["type"] for block in wire.items()[1]["content"]] == ["text"]


def test_a_turn_begun_by_another_model_goes_on_without_a_thinking_budget() -> None:
    wire = Wire("anthropic", settings=WireSettings(reasoning_effort="high")).say("go")
    assert "thinking" in wire.body()
    foreign = Message("assistant", (ToolCall("call_1", "read_file", "{}"),), "openai:other:x")
    wire.say(foreign, answers(foreign))
    assert "thinking" not in wire.body()
    wire.say(Message("assistant", (Text("so"),), "anthropic:here:m"), "a new question")
    own = wire.read(
        messages_stream(
            {"type": "thinking", "thinking": "t", "signature": "S"}, {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}
        )
    ).message
    wire.say(own, answers(own))
    assert "thinking" in wire.body()


def test_a_refused_parameter_called_like_the_reasoning_field_is_the_parameter() -> None:
    wire = Wire("openai", host="openrouter.ai", settings=WireSettings(reasoning_effort="high")).say("go")
    assert "reasoning" in wire.body()
    assert wire.encoder.adjust(Rejection("This model does not support reasoning"))
    assert "reasoning" not in wire.body()
    assert wire.learned.replay is None
