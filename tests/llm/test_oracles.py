"""The official SDKs as judges: they accept what we send, and read the same out of what arrives."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from tests.llm.test_decoding import STREAMS
from tests.llm.wire import FORMATS, Wire, answers, responses_stream
from tests.support.model_server.rules import Refused
from yagent.llm.dialects.port import WireSettings
from yagent.llm.engine import Completed
from yagent.protocol.messages import JsonObject, Message, Reasoning, Text, ToolCall

FOREIGN = Message("assistant", (Reasoning("hidden"), Text("I look."), ToolCall("a b", "mcp.x.y", '{"q":"é"}')), "openai:other:x")


def _conversation(api_format: str, host: str, model: str) -> Wire:
    """A dialogue with everything in it: words, foreign and own calls, own reasoning, results, an error."""
    wire = Wire(api_format, host=host, model=model, settings=WireSettings(500, 0.3, "high")).say("go", FOREIGN, answers(FOREIGN), "and")
    reply = wire.read(STREAMS[api_format]).message
    return wire.say(reply, answers(reply), "next")


def _faults(kind: Any, value: Any) -> list[str]:
    """What the SDK's type finds wrong with a body."""
    adapter = TypeAdapter(kind)  # held: the lazy validators below lean on it
    try:
        _exhaust(adapter.validate_python(value))
    except ValidationError as error:
        return [str(fault) for fault in error.errors()]
    return []


def _exhaust(value: Any) -> None:
    """Pydantic checks the elements of an `Iterable` only when they are taken."""
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for item in value:
            _exhaust(item)


class Played:
    """A transport that plays one stream and keeps what it was sent."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.sent: dict[str, Any] = {}

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.sent = json.loads(request.content)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=self.stream.encode())

    def client(self) -> httpx2.Client:
        """A client that talks to it."""
        return httpx2.Client(transport=httpx2.MockTransport(self))


@pytest.mark.parametrize(
    ("host", "model"),
    [("127.0.0.1", "m"), ("api.openai.com", "gpt-4.1"), ("api.openai.com", "gpt-5.5"), ("openrouter.ai", "anthropic/claude-opus-5")],
)
def test_chat_bodies_pass_the_sdks_types(host: str, model: str) -> None:
    assert _faults(CompletionCreateParamsStreaming, _conversation("openai", host, model).body()) == []


@pytest.mark.parametrize(("host", "model"), [("127.0.0.1", "m"), ("api.openai.com", "gpt-5.5")])
def test_responses_bodies_pass_the_sdks_types(host: str, model: str) -> None:
    assert _faults(ResponseCreateParamsStreaming, _conversation("responses", host, model).body()) == []


def test_the_judge_finds_what_is_wrong() -> None:
    body = Wire("openai").say("go").body()
    body["messages"][1]["content"] = [{"type": "text"}]
    assert _faults(CompletionCreateParamsStreaming, body)


def test_chat_through_the_sdk_is_the_same_request_and_the_same_reply() -> None:
    wire, played = _conversation("openai", "api.openai.com", "gpt-5.5"), Played(STREAMS["openai"])
    body = wire.body()
    with OpenAI(api_key="k", max_retries=0, http_client=played.client()) as client:
        options = {name: value for name, value in body.items() if name != "stream"}
        with client.chat.completions.stream(**options) as stream:
            final = stream.get_final_completion()
    assert played.sent == body
    ours = wire.read(STREAMS["openai"])
    message = final.choices[0].message
    assert (message.model_extra or {})["reasoning_content"] == ours.message.reasoning
    assert message.content == ours.message.text
    assert [(call.function.name, call.function.arguments) for call in message.tool_calls or ()] == _calls(ours)
    assert ours.usage is not None
    assert final.usage is not None
    assert (final.usage.prompt_tokens, final.usage.completion_tokens) == (ours.usage.total_input, ours.usage.output)


def test_responses_through_the_sdk_is_the_same_request_and_the_same_reply() -> None:
    details: JsonObject = {
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 1},
    }
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12, **details}
    stream = STREAMS["responses"].replace(
        '"tool_choice": "auto", "status": "completed"', f'"usage": {json.dumps(usage)}, "status": "completed"'
    )
    wire, played = _conversation("responses", "api.openai.com", "gpt-5.5"), Played(stream)
    body = wire.body()
    with OpenAI(api_key="k", max_retries=0, http_client=played.client()) as client:
        options = {name: value for name, value in body.items() if name != "stream"}
        with client.responses.stream(**options) as events:
            final = events.get_final_response()
    assert played.sent == body
    ours = wire.read(stream)
    assert final.output_text == ours.message.text
    calls = [(item.name, item.arguments) for item in final.output if item.type == "function_call"]
    assert calls == _calls(ours)
    assert ours.usage is not None
    assert final.usage is not None
    assert (final.usage.input_tokens, final.usage.output_tokens) == (ours.usage.total_input, ours.usage.output)


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning", "ignore:Using Claude:UserWarning")
@pytest.mark.slow  # importing the SDK takes seconds
@pytest.mark.parametrize(
    ("model", "effort"), [("m", "high"), ("claude-sonnet-4-5", "low"), ("claude-opus-5", "max"), ("claude-sonnet-4-6", ""), ("m", "hihg")]
)
def test_messages_through_the_sdk_is_the_same_request_and_the_same_reply(model: str, effort: str) -> None:
    anthropic = importlib.import_module("anthropic")
    wire = Wire("anthropic", host="api.anthropic.com", model=model, settings=WireSettings(reasoning_effort=effort))
    wire.say("go", FOREIGN, answers(FOREIGN), "and")
    reply = wire.read(STREAMS["anthropic"]).message
    body = wire.say(reply, answers(reply), "next").body()
    assert _faults(anthropic.types.message_create_params.MessageCreateParamsStreaming, body) == []
    played = Played(STREAMS["anthropic"])
    with anthropic.Anthropic(api_key="k", max_retries=0, http_client=played.client()) as client:
        options = {name: value for name, value in body.items() if name not in ("stream", "temperature")}
        more = {"temperature": body["temperature"]} if "temperature" in body else None
        with client.messages.stream(**options, extra_body=more) as stream:
            final = stream.get_final_message()
    assert played.sent == body
    blocks = [block.model_dump(exclude_none=True) for block in final.content]
    ours = Wire("anthropic").say("go").read(STREAMS["anthropic"])
    thinking, text, call = ours.message.parts
    assert isinstance(thinking, Reasoning)
    assert isinstance(text, Text)
    assert isinstance(call, ToolCall)
    assert thinking.opaque == blocks[0]
    assert text.text == blocks[1]["text"]
    assert (call.id, call.name, json.loads(call.arguments)) == (blocks[2]["id"], blocks[2]["name"], blocks[2]["input"])
    assert ours.usage is not None
    assert final.usage.output_tokens == ours.usage.output


@pytest.mark.parametrize("api_format", FORMATS)
def test_the_conversation_the_sdks_judge_passes_the_strict_server_too(api_format: str) -> None:
    wire = _conversation(api_format, "127.0.0.1", "m")
    wire.check()
    with pytest.raises(Refused):
        wire.check(without_the_last_result=True)


def test_items_that_only_the_final_response_has_are_read_from_there() -> None:
    whole = responses_stream({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]})
    events = whole.split("\n\n")
    last = next(event for event in events if "response.completed" in event)
    assert Wire("responses").say("go").read(last + "\n\n").message.text == "hi"
    without_done = "\n\n".join(event for event in events if "output_item.done" not in event).replace(
        '"output": [{', '"output": [], "x": [{'
    )
    assert Wire("responses").say("go").read(without_done).message.text == "hi"


def _calls(reply: Completed) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in reply.message.calls]
