"""Opening dialogues and reading streams without a network, for the tests of the dialects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.model_server import rules_chat, rules_messages, rules_responses
from tests.support.model_server.rules import parse_body
from yagent.llm.dialects.port import Decoder, Encoder, Learned, WireModel, WireSettings
from yagent.llm.dialects.table import DIALECTS, dialect_for
from yagent.llm.engine import CallOptions, Completed, Head, TextDelta
from yagent.llm.quirks import Quirks
from yagent.llm.quirks_table import quirks_for
from yagent.llm.sse import SseParser
from yagent.protocol.messages import JsonObject, Message, ModelIdentity, ToolDeclaration, ToolResult, user_message

DEFAULT_OPTIONS = CallOptions()
FORMATS = tuple(DIALECTS)
READ_FILE = ToolDeclaration(
    "read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
HEAD = Head("conversation-1", "You are careful.", (READ_FILE,))
NOT_SET = WireSettings()


@dataclass
class Wire:
    """One dialogue in one dialect."""

    api_format: str
    host: str = "127.0.0.1"
    model: str = "m"
    settings: WireSettings = NOT_SET
    head: Head = HEAD
    learned: Learned = field(default_factory=Learned)
    quirks: Quirks | None = None

    def __post_init__(self) -> None:
        self.identity = ModelIdentity("here", self.model, self.api_format)
        quirks = self.quirks or quirks_for(self.api_format, self.host, self.model)
        self.encoder: Encoder = dialect_for(self.api_format).encoder(
            self.head, WireModel(self.identity, self.settings, quirks, self.learned)
        )

    def say(self, *messages: Message | str) -> Wire:
        """Append messages; a string is the user's."""
        for message in messages:
            self.encoder.append(user_message(message) if isinstance(message, str) else message)
        return self

    def raw(self, options: CallOptions = DEFAULT_OPTIONS) -> bytes:
        """The body as it is sent."""
        return b"".join(self.encoder.body(options))

    def body(self, options: CallOptions = DEFAULT_OPTIONS) -> dict[str, Any]:
        """The body as a server reads it."""
        return dict(parse_body(self.raw(options)))

    def items(self) -> list[Any]:
        """The messages or items of the body."""
        body = self.body()
        found = body["input"] if self.api_format == "responses" else body["messages"]
        assert isinstance(found, list)
        return found

    def read(self, *chunks: bytes | str) -> Completed:
        """The reply in a stream that ends cleanly."""
        return finish(self.encoder.decoder(), chunks)

    def check(self, *, paused: bool = False, without_the_last_result: bool = False) -> None:
        """Raise what the strict server would answer with 400; `without_the_last_result` such a body, which no encoder of ours makes."""
        body = self.body()
        if without_the_last_result:
            _drop_last_result(body["input"] if self.api_format == "responses" else body["messages"])
        if self.api_format == "openai":
            rules_chat.check(body)
        elif self.api_format == "responses":
            rules_responses.check(body, issued=encrypted_texts(body))
        else:
            rules_messages.check(body, {"anthropic-version": "x"}, signed_texts(body), paused)


def _drop_last_result(items: list[Any]) -> None:
    """Take the result of the newest call out of a conversation as it is sent."""
    for number, item in reversed(list(enumerate(items))):
        if item.get("role") == "tool" or item.get("type") == "function_call_output":
            del items[number]
            return
        content = item.get("content")
        if isinstance(content, list) and any(part.get("type") == "tool_result" for part in content):
            item["content"] = [part for part in content if part.get("type") != "tool_result"] or [{"type": "text", "text": "next"}]
            return
    raise AssertionError("there is no result")


def finish(decoder: Decoder, chunks: Iterable[bytes | str]) -> Completed:
    """Feed a decoder as the transport does."""
    parser = SseParser()
    for chunk in chunks:
        for event in parser.feed(chunk.encode() if isinstance(chunk, str) else chunk):
            list(decoder.feed(event))
            if decoder.finished:
                return decoder.result()
    for event in parser.end():
        list(decoder.feed(event))
    return decoder.result()


def shown(decoder: Decoder, chunks: Iterable[bytes | str]) -> tuple[str, str]:
    """Words and reasoning as they were shown while streaming."""
    parser, words, thoughts = SseParser(), "", ""
    for chunk in chunks:
        for event in parser.feed(chunk.encode() if isinstance(chunk, str) else chunk):
            for delta in decoder.feed(event):
                words, thoughts = (words + delta.text, thoughts) if isinstance(delta, TextDelta) else (words, thoughts + delta.text)
    return words, thoughts


def sse(*events: JsonObject | str, named: bool = False) -> str:
    """Events as a stream; Anthropic and Responses servers also name them."""
    lines = []
    for event in events:
        if named and isinstance(event, Mapping):
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
    return "".join(lines)


def chat_stream(*deltas: JsonObject, finish_reason: str | None = "stop", usage: JsonObject | None = None) -> str:
    """A Chat Completions stream of these deltas."""
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks: list[JsonObject | str] = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
    if usage:
        chunks.append({**base, "choices": [], "usage": usage})
    return sse(*chunks, "[DONE]")


def messages_stream(*blocks: JsonObject, stop_reason: str = "end_turn", usage: JsonObject | None = None) -> str:
    """A Messages stream of these finished blocks, sent in pieces."""
    start: JsonObject = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    events: list[JsonObject] = [{"type": "message_start", "message": {**start, "usage": usage or {"input_tokens": 1, "output_tokens": 1}}}]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return sse(*events, named=True)


def _block_events(index: int, block: JsonObject) -> list[JsonObject]:
    deltas: list[JsonObject] = []
    begin = dict(block)
    if block["type"] == "text":
        begin["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in halves(block["text"])]
    elif block["type"] == "thinking":
        begin |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in halves(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif block["type"] in ("tool_use", "server_tool_use"):
        begin["input"] = {}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in halves(json.dumps(block["input"]))]
    return [
        {"type": "content_block_start", "index": index, "content_block": begin},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def responses_stream(*items: JsonObject, status: str = "completed", response: JsonObject | None = None) -> str:
    """A Responses stream of these finished items."""
    base: JsonObject = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
    }
    created = {**base, "status": "in_progress", "output": []}
    events: list[JsonObject] = [{"type": "response.created", "sequence_number": 0, "response": created}]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    final = {**base, "status": status, "output": list(items), **(response or {})}
    events.append({"type": f"response.{status}", "sequence_number": 99, "response": final})
    return sse(*events, named=True)


def _item_events(index: int, item: JsonObject) -> list[JsonObject]:
    place = {"output_index": index, "sequence_number": index}
    begin, middle = dict(item), list[JsonObject]()
    if item["type"] == "function_call":
        begin["arguments"] = ""
        middle = [
            {"type": "response.function_call_arguments.delta", "item_id": item.get("id"), "delta": piece, **place}
            for piece in halves(item["arguments"])
        ]
    elif item["type"] == "message":
        begin["content"] = []
        part = item["content"][0]
        where = {**place, "item_id": item["id"], "content_index": 0}
        middle.append({"type": "response.content_part.added", "part": {**part, "text": ""}, **where})
        middle += [{"type": "response.output_text.delta", "delta": piece, "logprobs": [], **where} for piece in halves(part["text"])]
    return [
        {"type": "response.output_item.added", "item": begin, **place},
        *middle,
        {"type": "response.output_item.done", "item": dict(item), **place},
    ]


def halves(text: str) -> list[str]:
    """A text in two pieces."""
    return [piece for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]


def answers(reply: Message, text: str = "done") -> Message:
    """A result for each call of a reply."""
    return Message("tool", tuple(ToolResult(call.id, call.name, text) for call in reply.calls))


def signed_texts(body: JsonObject) -> dict[str, str]:
    """Signature to thinking of every block in a Messages body."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    return {block["signature"]: block["thinking"] for block in blocks if block["type"] == "thinking"}


def encrypted_texts(body: JsonObject) -> list[str]:
    """Every encrypted reasoning in a Responses body."""
    return [item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"]
