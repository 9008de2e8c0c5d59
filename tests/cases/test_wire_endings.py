"""How a reply ends, in the words of the provider, in whole sessions: pauses, refusals, cuts, words nobody knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.wire import chat_stream, messages_stream, responses_stream
from tests.support.model_server import ModelServer, Reply, RequestView
from tests.support.session import Sessions
from yagent.protocol.stop import StopReason

MOST_REQUESTS = 20
PAUSED: list[dict[str, Any]] = [
    {"type": "text", "text": "Searching. "},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
]


async def test_A34_a_paused_turn_is_sent_back_unchanged_and_goes_on(sessions: Sessions, model_server: ModelServer) -> None:
    def script(view: RequestView) -> Reply:
        last = view.body["messages"][-1]
        if last["role"] != "assistant":
            return Reply(raw=messages_stream(*PAUSED, stop_reason="pause_turn"), finish="pause")
        assert [{name: value for name, value in block.items() if name != "cache_control"} for block in last["content"]] == PAUSED
        return Reply(text="Found.")

    model_server.script = script
    async with sessions.open(api_format="anthropic") as opened:
        result = await opened.do("go")
    assert (result.answer, result.exit_code) == ("Searching. Found.", 0)


async def test_A34_a_provider_that_pauses_for_ever_is_bounded(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.tolerate = {"prefix"}  # the pieces of one turn are one message
    model_server.script = lambda view: Reply(raw=messages_stream(*PAUSED, stop_reason="pause_turn"), finish="pause")
    async with sessions.open(api_format="anthropic") as opened:
        result = await opened.do("go")
    assert (result.stop_reason, result.exit_code) == (StopReason.LLM_ERROR, 1)
    assert len(model_server.exchanges) <= MOST_REQUESTS


@pytest.mark.parametrize("state", ["cancelled", "failed", "in_progress", "queued"])
async def test_A34_A15_a_response_that_did_not_complete_is_no_answer(sessions: Sessions, model_server: ModelServer, state: str) -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Some words"}]}
    raw = json.dumps({"id": "resp_1", "object": "response", "status": state, "output": [item]})
    model_server.script = lambda view: Reply(text="whole") if len(model_server.exchanges) > 1 else Reply(raw=raw)
    async with sessions.open(api_format="responses") as opened:
        assert (await opened.do("go")).answer == "whole"


def _ended(api_format: str, reason: str) -> str:
    """A reply of some words that ends for this reason, in the words of the provider."""
    if api_format == "anthropic":
        return messages_stream({"type": "text", "text": "Some words"}, stop_reason=reason)
    if api_format == "openai":
        return chat_stream({"content": "Some words"}, finish_reason=reason)
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Some words"}]}
    return responses_stream(item, response={"status": "incomplete", "incomplete_details": {"reason": reason}})


@pytest.mark.parametrize(
    ("api_format", "reason", "code"),
    [
        ("anthropic", "refusal", 1),
        ("anthropic", "model_context_window_exceeded", 3),
        ("anthropic", "max_tokens", 0),
        ("anthropic", "brand_new_reason", 0),
        ("openai", "content_filter", 1),
        ("openai", "length", 0),
        ("openai", "brand_new_reason", 0),
        ("openai", "model_context_window_exceeded", 3),
        ("responses", "max_output_tokens", 0),
        ("responses", "content_filter", 1),
        ("responses", "brand_new_reason", 0),
        ("openai", "SAFETY", 1),
        ("openai", "MAX_TOKENS", 0),
        ("anthropic", "content_filter", 1),
    ],
)
async def test_A34_an_end_that_is_no_end_is_never_a_success(
    sessions: Sessions, model_server: ModelServer, api_format: str, reason: str, code: int
) -> None:
    model_server.script = lambda view: Reply(raw=_ended(api_format, reason))
    async with sessions.open(api_format=api_format) as opened:
        result = await opened.do("go")
    assert result.status != "ok"
    assert result.exit_code == code
    assert len(model_server.exchanges) == 1
    if code == 0:
        assert result.answer == "Some words"
        assert any("cut at the output limit" in warning or "unknown way" in warning for warning in result.warnings), result.warnings
    else:
        assert result.error


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", None, "brand_new_reason"])
async def test_A05_calls_are_made_whatever_the_reply_says_of_its_end(
    sessions: Sessions, model_server: ModelServer, finish: str | None
) -> None:
    function = {"name": "read_file", "arguments": '{"path":"notes.txt"}'}
    raw = chat_stream({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]}, finish_reason=finish)
    model_server.script = lambda view: Reply(text="done") if view.results else Reply(raw=raw)
    async with sessions.open() as opened:
        assert (await opened.do("go")).answer == "done"
    assert len(model_server.exchanges) == 2
