"""What a reply looks like: the format it is in, and the pieces it comes in."""

from __future__ import annotations

import json
from itertools import groupby

import pytest

from tests.llm.conftest import FORMATS, EngineMaker, dialogue, events_of
from tests.llm.raw_server import RawServer, says, whole
from tests.llm.wire import chat_stream, messages_stream, responses_stream
from yagent.llm.engine import CallOptions, Completed, Dialogue, ModelConfigurationError, ModelError, ReasoningDelta, TextDelta


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("spoken", FORMATS)
async def test_a_reply_in_another_format_names_the_setting_at_once(
    api_format: str, spoken: str, form: str, make_engine: EngineMaker
) -> None:
    streams = {
        "openai": chat_stream({"content": "hello"}),
        "anthropic": messages_stream({"type": "text", "text": "hello"}),
        "responses": responses_stream({"id": "m1", "type": "message", "content": [{"type": "output_text", "text": "hello"}]}),
    }
    wholes = {
        "openai": {"object": "chat.completion", "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]},
        "anthropic": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"},
        "responses": {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}],
        },
    }
    body = streams[spoken] if form == "stream" else json.dumps(wholes[spoken])
    async with RawServer(says(whole(body.encode()))) as server:
        engine = make_engine(api_format, base_url=f"http://127.0.0.1:{server.port}/v1")
        if spoken == api_format:
            assert isinstance((await events_of(dialogue(engine)))[-1], Completed)
            return
        with pytest.raises(ModelConfigurationError, match=rf"looks like '{spoken}'.*YAGENT_API_FORMAT"):
            await events_of(dialogue(engine))
    assert len(server.requests) == 1


@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("marks", [{"object": "response"}, {"type": "message", "content": [], "stop_reason": None}, {"choices": []}])
async def test_an_error_of_the_server_is_told_whatever_its_document_looks_like(
    api_format: str, form: str, marks: dict[str, object], make_engine: EngineMaker
) -> None:
    document = json.dumps({"error": {"message": "the model is on holiday", "code": 400, "type": "invalid_request_error"}, **marks})
    body = document if form == "whole" else f"data: {document}\n\n"
    async with RawServer(says(whole(body.encode()))) as server:
        with pytest.raises(ModelError, match="on holiday"):
            await events_of(dialogue(make_engine(api_format, base_url=f"http://127.0.0.1:{server.port}/v1")))


async def test_what_arrives_together_is_told_together_in_order_and_before_what_fails(make_engine: EngineMaker) -> None:
    pieces = [*({"reasoning_content": "t"} for _ in range(300)), *({"content": "w"} for _ in range(300)), {"reasoning_content": "again"}]
    stream = chat_stream(*pieces).partition("data: [DONE]")[0] + 'data: {"error": {"message": "over", "code": 400}}\n\n'
    told: list[TextDelta | ReasoningDelta] = []

    async def listen(opened: Dialogue) -> None:
        async for event in opened.stream(CallOptions()):
            told.extend([event] if isinstance(event, TextDelta | ReasoningDelta) else [])

    async with RawServer(says(whole(stream.encode()))) as server:
        with pytest.raises(ModelError, match="over"):
            await listen(dialogue(make_engine(base_url=f"http://127.0.0.1:{server.port}/v1")))
    assert [kind for kind, _ in groupby(map(type, told))] == [ReasoningDelta, TextDelta, ReasoningDelta]
    assert "".join(each.text for each in told) == "t" * 300 + "w" * 300 + "again"
    assert len(told) < 20
