"""Wire cases of failing servers in whole sessions: how often, how long, and what is left of the session."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.cases.interruptions import stopped
from tests.llm.wire import FORMATS, messages_stream, sse
from tests.support.model_server import Chaos, ModelServer, Reply, RequestView, call, status
from tests.support.session import Opened, Sessions
from yagent.protocol.events import LlmRetry
from yagent.protocol.stop import StopReason

MOST_REQUESTS = 20
TOO_LONG = "This model's maximum context length is 1000 tokens. However, your messages resulted in 1200 tokens."
NESTED = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps({"error": {"message": TOO_LONG}})}}}
ANTHROPIC = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 1200 tokens > 1000 maximum"}}
OVERFLOWS = [
    status(400, body=json.dumps(NESTED).encode()),
    status(400, body=b'{"error":{"message":"too long","code":"context_length_exceeded"}}'),
    status(400, body=json.dumps(ANTHROPIC).encode()),
    status(413, body=b'{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}'),
    Chaos("error_in_stream", share=0.0, code=400, message="input exceeds the context window of this model"),
]


def _gaps(server: ModelServer) -> list[float]:
    times = [exchange.at for exchange in server.exchanges]
    return [later - earlier for earlier, later in pairwise(times)]


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("refusal", OVERFLOWS, ids=["nested", "code", "words", "413", "stream"])
async def test_A14_a_request_that_does_not_fit_is_not_sent_again_unchanged_and_is_named(
    sessions: Sessions, model_server: ModelServer, api_format: str, refusal: Chaos
) -> None:
    model_server.script = lambda view: Reply(text="never", chaos=[refusal] * 99)
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.CONTEXT_OVERFLOW, 3)
    assert "context window" in result.error
    assert len(model_server.exchanges) == 1


async def test_A14_a_conversation_that_grew_too_long_is_made_to_fit_and_goes_on(sessions: Sessions, model_server: ModelServer) -> None:
    lengths: list[int] = []

    def script(view: RequestView) -> Reply:
        lengths.append(sum(map(len, view.segments)))
        if not any(entry.calls for entry in view.entries):
            return call("read_file", path="long.txt")
        return Reply(text="done", chaos=[OVERFLOWS[0]] if lengths[-1] == max(lengths) else [])

    (sessions.workspace / "long.txt").write_text("words " * 20_000)
    model_server.tolerate = {"prefix"}
    model_server.script = script
    async with sessions.open() as opened:
        assert (await opened.do("go")).answer == "done"
    assert lengths[-1] < max(lengths)


PARTIAL = {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "par"}, "finish_reason": None}]}
BUSY = {"code": 502, "message": "upstream busy"}
IN_STREAM = {
    "before a word": sse({"error": {"message": "try later", "type": "rate_limit", "code": 429}}, "[DONE]"),
    "after words": sse(PARTIAL, {"id": "c1", "choices": [], "error": BUSY}, "[DONE]"),
    "with the end": sse(PARTIAL, {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}], "error": BUSY}, "[DONE]"),
    "in the choice": sse(PARTIAL, {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": BUSY}]}, "[DONE]"),
    "a reason alone": sse(PARTIAL, {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}, "[DONE]"),
    "an abort": sse(PARTIAL, {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "abort"}]}, "[DONE]"),
    "a lack of machines": sse(PARTIAL, {"choices": [{"index": 0, "delta": {}, "finish_reason": "insufficient_system_resource"}]}, "[DONE]"),
    "as a text": sse(PARTIAL, {"error": "upstream busy"}),
    "one object for all": json.dumps({"error": BUSY}),
    "a list of one": json.dumps([{"error": {"code": 503, "message": "upstream busy", "status": "UNAVAILABLE"}}]),
}  # fmt: skip


@pytest.mark.parametrize("raw", IN_STREAM.values(), ids=IN_STREAM)
async def test_A15_an_error_inside_a_good_answer_is_tried_again_and_its_half_words_are_forgotten(
    sessions: Sessions, model_server: ModelServer, raw: str
) -> None:
    def script(view: RequestView) -> Reply:
        return Reply(raw=raw) if len(model_server.exchanges) == 1 else Reply(text="whole")

    model_server.tolerate = {"prefix"}
    model_server.script = script
    async with sessions.open() as opened:
        assert (await opened.do("go")).answer == "whole"
        assert (await opened.do("again")).answer == "whole"
    assert len(opened.told(LlmRetry)) == 1
    assert b'"content":"par' not in model_server.exchanges[-1].raw


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("share", [0.0, 0.7])
async def test_A15_an_error_that_stays_ends_with_the_providers_words_and_the_code_for_trying_later(
    sessions: Sessions, model_server: ModelServer, api_format: str, share: float
) -> None:
    model_server.script = lambda view: Reply(text="half of it", chaos=[Chaos("error_in_stream", share=share, message="we are full")] * 99)
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("go")
    assert (result.answer, result.exit_code, result.stop_reason) == ("", 75, StopReason.LLM_ERROR)
    assert "we are full" in result.error
    assert 1 < len(model_server.exchanges) <= MOST_REQUESTS


BREAKS = ["reset_before_headers", "reset_mid_stream", "close_mid_stream", "reset_mid_character", "end_without_mark", "truncated_call"]


def _calling(view: RequestView, chaos: list[Chaos]) -> Reply:
    """A call whose stream may break; what came back ends the task."""
    if view.results:
        return Reply(text=f"done: {len(view.results)}")
    return Reply(text="é half a word é", calls=call("read_file", path="notes.txt").calls, chaos=chaos, piece=3)


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("kind", BREAKS)
async def test_A20_a_line_that_drops_is_taken_up_again_without_doubles(
    sessions: Sessions, model_server: ModelServer, api_format: str, kind: Any
) -> None:
    model_server.script = lambda view: _calling(view, [Chaos(kind, share=0.6)])
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("go")).answer == "done: 1"
    said = [entry.text for entry in model_server.views[-1].entries if entry.role == "assistant" and entry.text]
    assert said == ["é half a word é"]


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize("kind", ["reset_before_headers", "close_mid_stream", "hang_mid_stream"])
async def test_A20_a_line_that_stays_dead_is_a_clean_end_and_the_session_can_be_used_again(
    sessions: Sessions, model_server: ModelServer, api_format: str, kind: Any
) -> None:
    model_server.script = lambda view: Reply(text="half", chaos=[] if "again" in view.user_text else [Chaos(kind)] * 99)
    model_server.tolerate = {"prefix"}
    async with sessions.open(api_format=api_format) as opened:
        first = await opened.do("go")
        second = await opened.do("again")
    assert (first.stop_reason, first.exit_code, first.answer) == (StopReason.LLM_ERROR, 75, "")
    assert "Traceback" not in first.error
    assert len(model_server.exchanges) <= MOST_REQUESTS
    assert (second.answer, second.exit_code) == ("half", 0)


WAITS: list[tuple[Chaos, float, float]] = [
    (status(429, retry_after="2"), 2.0, 3.0),
    (status(429, retry_after="Thu, 01 Jan 2026 00:00:20 GMT", date="Thu, 01 Jan 2026 00:00:18 GMT"), 2.0, 3.0),
    (status(429, retry_after_ms="1500"), 1.5, 2.5),
    (status(529), 10.0, 26.0),
    (status(503, retry_after="4", body=b"<html><body>down</body></html>"), 4.0, 6.0),
    (status(503, body=b"<html><body>down</body></html>"), 10.0, 26.0),
    (status(429), 10.0, 26.0),
    (status(429, body=b'{"error":{"message":"Rate limit reached. Please try again in 7.5s."}}'), 7.5, 10.0),
    (status(408), 1.0, 26.0),
]


@pytest.mark.parametrize("api_format", FORMATS)
@pytest.mark.parametrize(("trouble", "least", "most"), WAITS)
async def test_A30_the_wait_a_server_asks_for_is_kept_and_shown(
    sessions: Sessions, model_server: ModelServer, api_format: str, trouble: Chaos, least: float, most: float
) -> None:
    model_server.script = lambda view: Reply(text="through", chaos=[trouble, trouble])
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("go")).answer == "through"
    gaps = _gaps(model_server)
    assert len(gaps) == 2
    assert all(least <= gap <= most for gap in gaps), gaps
    assert [round(told.delay_seconds, 1) for told in opened.told(LlmRetry)] == [round(gap, 1) for gap in gaps]


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A30_a_stop_during_the_wait_returns_at_once_and_the_session_lives_on(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    busy = [status(429, retry_after="120")] * 9
    model_server.script = lambda view: Reply(text="now", chaos=[] if "again" in view.user_text else busy)
    model_server.tolerate = {"prefix"}
    async with sessions.open(api_format=api_format) as opened:
        result = await stopped(opened, "go", lambda: opened.told(LlmRetry))
        at = model_server.exchanges[-1].at
        assert result.stop_reason is StopReason.CANCELLED
        assert (await opened.do("again")).answer == "now"
    assert len(model_server.exchanges) == 2
    assert model_server.exchanges[-1].at - at < 0.5


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"You exceeded your current quota, please check your plan","code":"insufficient_quota"}}',
        b'{"type":"error","error":{"type":"billing_error","message":"Your credit balance is too low"}}',
        b'{"error":{"message":"Insufficient credits","code":402}}',
    ],
)
async def test_A30_a_used_up_quota_is_not_tried_again(sessions: Sessions, model_server: ModelServer, body: bytes) -> None:
    model_server.script = lambda view: Reply(text="never", chaos=[status(429, body=body)] * 9)
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert len(model_server.exchanges) == 1
    assert "quota or balance" in result.error
    assert result.exit_code == 1


async def test_A30_a_wait_beyond_all_patience_is_an_end_that_says_so(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.script = lambda view: Reply(text="never", chaos=[status(429, retry_after="7200")] * 9)
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert (len(model_server.exchanges), result.exit_code) == (1, 75)
    assert "7200 s" in result.error


OVERLOADED = "event: error\n" + sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
HALVES: list[dict[str, Any]] = [
    {"type": "text", "text": "Work"},
    {"type": "tool_use", "id": "toolu_1", "name": "create_file", "input": {"path": "made.txt", "content": "x"}},
    {"type": "thinking", "thinking": "Work", "signature": "QUJD"},
]


def _broken_off(block: dict[str, Any]) -> str:
    whole = messages_stream(block)
    return whole[: whole.index("event: content_block_stop")] + "event: ping\n" + sse({"type": "ping"}) + OVERLOADED


@pytest.mark.parametrize("block", HALVES, ids=["text", "call", "thinking"])
async def test_A31_an_overload_in_the_middle_is_tried_again_without_doubles_and_no_half_call_runs(
    sessions: Sessions, model_server: ModelServer, block: dict[str, Any]
) -> None:
    def script(view: RequestView) -> Reply:
        return Reply(raw=_broken_off(block)) if len(model_server.exchanges) <= 2 else Reply(text="Work")

    model_server.script = script
    async with sessions.open(api_format="anthropic", mode="yolo") as opened:
        result = await opened.do("go")
    assert (result.answer, result.exit_code) == ("Work", 0)
    assert len(opened.told(LlmRetry)) == 2
    assert not (sessions.workspace / "made.txt").exists()


async def test_A31_an_overload_that_stays_is_bounded_and_named(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.script = lambda view: Reply(raw=_broken_off(HALVES[0]))
    async with sessions.open(api_format="anthropic") as opened:
        result = await opened.do("go")
    assert "Overloaded" in result.error
    assert result.error.endswith(f" Given up: {len(model_server.exchanges)} attempts failed in 3 rounds.")
    assert not any("iven up" in told.reason or "ave up" in told.reason for told in opened.told(LlmRetry))
    assert (result.answer, result.exit_code) == ("", 75)
    assert len(model_server.exchanges) <= MOST_REQUESTS


SETTINGS = 'max_tokens = 4096\ntemperature = 0.2\nreasoning_effort = "high"\n'
PARAMETERS = {
    "openai": [
        ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        ("temperature", "Unsupported value: 'temperature' does not support 0.2 with this model."),
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("reasoning_effort", "reasoning_effort: Extra inputs are not permitted"),
    ],
    "responses": [
        ("temperature", "Unsupported parameter: 'temperature' is not supported with this model."),
        ("reasoning", "Unsupported parameter: 'reasoning.effort' is not supported with this model."),
    ],
    "anthropic": [
        ("temperature", "temperature: Extra inputs are not permitted"),
        ("thinking", "thinking: Extra inputs are not permitted"),
    ],
}


@pytest.mark.parametrize(("api_format", "name", "message"), [(form, *row) for form, rows in PARAMETERS.items() for row in rows])
async def test_A32_a_parameter_the_server_refuses_costs_one_request_in_the_whole_session(
    sessions: Sessions, model_server: ModelServer, api_format: str, name: str, message: str
) -> None:
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    model_server.script = lambda view: Reply(text="done", chaos=[status(400, body=body)] if name in view.body else [])
    sessions.configure(
        f'[global.llm]\ndefault = "own"\n[global.llm.providers.own]\napi_base_url = "{sessions.url}"\nmodel = "played-model"\n'
        f'api_format = "{api_format}"\n{SETTINGS}'
    )
    async with sessions.open(environ=_bare(sessions)) as opened:
        assert (await opened.do("one")).answer == "done"
        assert (await opened.do("two")).answer == "done"
    assert [name in view.body for view in model_server.views] == [True, False, False]


def _bare(sessions: Sessions) -> dict[str, str]:
    return {name: value for name, value in sessions.environment().items() if not name.startswith("YAGENT_")}


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A32_a_complaint_about_nothing_we_can_leave_out_is_an_end_and_no_loop(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    refusal = status(400, body=b'{"error":{"message":"Invalid schema for tool 3","param":"tools[3]","code":"invalid_value"}}')
    model_server.script = lambda view: Reply(text="never", chaos=[refusal] * 99)
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("go")
    assert "Invalid schema for tool 3" in result.error
    assert len(model_server.exchanges) <= 2


@pytest.mark.parametrize("api_format", FORMATS)
async def test_A17_keep_alives_are_signs_of_life_for_minutes(sessions: Sessions, model_server: ModelServer, api_format: str) -> None:
    model_server.script = lambda view: Reply(text="hello", chaos=[Chaos("keep_alives", seconds=100.0, count=6)])
    async with sessions.open(api_format=api_format) as opened:
        assert (await opened.do("go")).answer == "hello"
    assert len(model_server.exchanges) == 1


async def test_A20_A30_a_session_that_failed_keeps_its_record_whole(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.script = lambda view: _calling(view, []) if not view.results else Reply(text="x", chaos=[Chaos("reset_mid_stream")] * 99)
    async with sessions.open() as opened:
        assert (await opened.do("go")).exit_code == 75
    _assert_whole_record(sessions, opened)


def _assert_whole_record(sessions: Sessions, opened: Opened) -> None:
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[-1]["payload"]["name"] == "turn_aborted"
    kinds = [part["kind"] for record in records if record["type"] == "response_item" for part in record["payload"]["message"]["parts"]]
    assert kinds.count("tool_call") == kinds.count("tool_result") == 1
