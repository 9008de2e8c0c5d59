"""Errors, where servers really put them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.wire import Wire, chat_stream, finish, messages_stream, sse
from yagent.llm.dialects.failure import classify
from yagent.llm.dialects.port import Learned, RejectedRequest, WireSettings
from yagent.llm.engine import ContextTooLong, ModelError, ModelGaveUp, RateLimited, TransientModelError
from yagent.llm.sse import SseParser

TOO_LONG = "This model's maximum context length is 1000 tokens. However, your messages resulted in 1200 tokens."
NESTED = {
    "error": {
        "message": "Provider returned error", "code": 400,
        "metadata": {
            "raw": json.dumps({"error": {"message": TOO_LONG, "type": "Bad Request", "code": 400}}),
            "provider_name": "X",
        },
    }
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, NESTED),
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
        (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 1200 tokens > 1000 maximum"}}),
        (400, {"error": {"message": "Your input exceeds the context window of this model."}}),
        (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        (400, {"message": 'litellm.BadRequestError: {"error":{"code":"context_length_exceeded"}}'}),
    ],
)
def test_A14_context_overflow_is_recognised_however_deep_it_hides(status: int, body: Any) -> None:
    error = classify(status, {}, json.dumps(body).encode(), 0.0)
    assert isinstance(error, ContextTooLong)
    assert not isinstance(error, TransientModelError), "never repeated unchanged"


PARTIAL = {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "par"}, "finish_reason": None}]}
ENDED = {"index": 0, "delta": {}, "finish_reason": "error"}
BUSY = {"code": 502, "message": "upstream busy"}


@pytest.mark.parametrize(
    ("events", "kind", "words"),
    [
        ([{"error": {"message": "try later", "type": "rate_limit", "code": 429}}], RateLimited, "try later"),
        ([PARTIAL, {"id": "c1", "choices": [], "error": BUSY}], TransientModelError, "upstream busy"),
        (
            [PARTIAL, {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}], "error": BUSY}],
            TransientModelError,
            "busy",
        ),
    ],
)
def test_A15_an_error_inside_a_good_stream_fails_the_attempt_with_the_providers_words(
    events: list[Any], kind: type[ModelError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        Wire("openai").say("go").read(sse(*events, "[DONE]"))


A17 = (
    ':\n\n: keep-alive\r\n\r\nretry: 3000\n\nid: 7\nevent: message\ndata:{"id": "c1", "model": "m", "choices": [{"index": 0, "delta": '
    '{"role": "assistant", "content": "hel"}, "finish_reason": null}]}\r\n\r\n:ping\n\ndata: {"id": "c1", "choices": [{"index": 0, '
    '"delta": {"content": "lo"}, "finish_reason": "stop"}]}\n\ndata:[DONE]\n\n'
)


def test_A17_comments_ids_and_odd_line_ends_are_legal() -> None:
    assert Wire("openai").say("go").read(A17).message.text == "hello"
    parser = SseParser()
    assert [parser.feed(b":\n\n") for _ in range(8)] == [[]] * 8


@pytest.mark.parametrize("api_format", ["openai", "anthropic"])
def test_A20_a_stream_that_breaks_off_is_retryable_and_never_an_answer(api_format: str) -> None:
    whole = (
        chat_stream({"content": "half"}, {"content": " more"})
        if api_format == "openai"
        else messages_stream({"type": "text", "text": "half more"})
    )
    with pytest.raises(TransientModelError):
        Wire(api_format).say("go").read(whole[: whole.index("half") + 10])


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"retry-after": "2"}, 2.0),
        (429, {"retry-after": "Mon, 30 Nov 2026 12:00:02 GMT"}, 2.0),
        (429, {"retry-after": "Mon, 30 Nov 2026 12:00:02 GMT", "date": "Mon, 30 Nov 2026 11:59:59 GMT"}, 3.0),
        (429, {"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        (429, {}, None),
        (429, {"retry-after": "soon"}, None),
        (529, {}, None),
        (503, {"retry-after": "4"}, 4.0),
    ],
)
def test_A30_the_wait_a_server_asks_for_is_understood(status: int, headers: dict[str, str], wait: float | None) -> None:
    noon = 1_796_040_000.0  # 30 November 2026, 12:00:00 GMT
    error = classify(status, headers, b"<html>busy</html>", noon)
    assert isinstance(error, RateLimited)
    assert error.retry_after == wait


def test_A30_a_503_page_is_retried_and_a_used_up_quota_is_not() -> None:
    assert type(classify(503, {}, b"<html>busy</html>", 0.0)) is TransientModelError
    quota = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}).encode()
    assert type(classify(429, {}, quota, 0.0)) is ModelGaveUp


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    "block", [{"type": "text", "text": "Work"}, {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a"}}]
)
def test_A31_an_error_event_ends_the_attempt_and_pings_and_news_are_ignored(block: dict[str, Any]) -> None:
    whole = messages_stream(block)
    begin = whole[: whole.index("event: content_block_stop")]
    harmless = sse({"type": "ping"}, {"type": "brand_new_event", "delta": {"type": "x"}}, named=True)
    with pytest.raises(RateLimited, match="Overloaded"):
        Wire("anthropic").say("go").read(begin + harmless + sse(OVERLOADED, named=True))
    rest = whole[len(begin) :]
    assert Wire("anthropic").say("go").read(begin + harmless + rest) == Wire("anthropic").say("go").read(whole)


SETTINGS = WireSettings(max_output_tokens=100, temperature=0.2, reasoning_effort="high")


@pytest.mark.parametrize(
    ("error", "gone", "instead"),
    [
        (
            {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter",
            },
            "max_tokens", "max_completion_tokens",
        ),
        (
            {
                "message": "Unsupported value: 'temperature' does not support 0.2 with this model.",
                "param": "temperature", "code": "unsupported_value",
            },
            "temperature", "",
        ),
        ({"message": "Unrecognized request argument supplied: stream_options"}, "stream_options", ""),
        ({"message": "reasoning_effort: Extra inputs are not permitted"}, "reasoning_effort", ""),
        ({"message": "json: unknown field \"thinking\""}, "thinking", ""),
    ],
)  # fmt: skip
def test_A32_a_refused_parameter_is_dropped_or_renamed_once_and_for_all(error: Any, gone: str, instead: str) -> None:
    learned = Learned()
    wire = Wire("openai", settings=SETTINGS, learned=learned).say("go")
    assert gone in wire.body()
    refused = classify(400, {}, json.dumps({"error": error}).encode(), 0.0)
    assert isinstance(refused, RejectedRequest)
    assert wire.encoder.adjust(refused.rejection)
    body = wire.body()
    assert gone not in body
    assert body.get(instead) == (100 if instead else None)
    assert not wire.encoder.adjust(refused.rejection), "the same complaint again is not answered by the same repair"
    assert gone not in Wire("openai", settings=SETTINGS, learned=learned).say("go").body()


def test_A32_parallel_tool_calls_where_it_is_sent() -> None:
    wire = Wire("openai", host="api.openai.com", model="gpt-4.1").say("go")
    assert "parallel_tool_calls" in wire.body()
    error = classify(400, {}, b'{"error":{"message":"Unrecognized request argument supplied: parallel_tool_calls"}}', 0.0)
    assert isinstance(error, RejectedRequest)
    assert wire.encoder.adjust(error.rejection)
    assert "parallel_tool_calls" not in wire.body()
    assert any("parallel_tool_calls" in note for note in finish(wire.encoder.decoder(), [chat_stream({"content": "x"})]).notes)
