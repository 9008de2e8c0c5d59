"""Streams of OpenAI's Responses API."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from yagent.llm import json_text
from yagent.llm.assemble import CallFinisher, Ending, ReplyContext, arguments_text, completed, count, position
from yagent.llm.dialects.failure import read_object, stream_failure
from yagent.llm.dialects.port import Delta
from yagent.llm.engine import Completed, Finish, ReasoningDelta, TextDelta, TransientModelError
from yagent.llm.quirks import Quirks
from yagent.llm.sse import SseEvent
from yagent.protocol.messages import Part, Reasoning, Text, Usage

_TEXT = {"response.output_text.delta", "response.refusal.delta"}
_REASONING = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
_TERMINAL = {"response.completed", "response.incomplete", "response.failed"}
_INCOMPLETE: Mapping[str, Finish] = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "content_filter"}


class ResponsesDecoder:
    """A `Decoder` (port). A finished item is taken from its `done` event; what lacks one, from the final response or from its pieces."""

    def __init__(self, context: ReplyContext, quirks: Quirks) -> None:
        self._context = context
        self._response: Mapping[str, Any] | None = None
        self._model = ""
        self._items: dict[int, Mapping[str, Any]] = {}
        self._drafts: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._usage: Usage | None = None

    @property
    def finished(self) -> bool:
        """See `Decoder.finished`."""
        return self._response is not None

    @property
    def usage(self) -> Usage | None:
        """See `Decoder.usage`. Only the last event has it."""
        return self._usage

    def feed(self, event: SseEvent) -> Iterable[Delta]:
        """See `Decoder.feed`. Events are told apart by their `type` alone; unknown ones are ignored."""
        if event.data.strip() == "[DONE]":
            return []
        data = read_object(event.data, "a stream event")
        kind = str(data.get("type") or event.event)
        if kind == "error" or (data.get("error") and "response" not in data and not kind.startswith("response.")):
            raise stream_failure(data)
        if kind in _TERMINAL:
            self._end(_mapping(data.get("response")), kind)
        elif kind == "response.created":
            self._model = str(_mapping(data.get("response")).get("model") or "")
        else:
            return list(self._progress(kind, data))
        return []

    def whole(self, body: bytes) -> Iterable[Delta]:
        """See `Decoder.whole`."""
        reply = read_object(body.decode("utf-8", "replace"), "a reply")
        if reply.get("error") and "output" not in reply:
            raise stream_failure(reply)
        self._end(reply, f"response.{reply.get('status') or 'completed'}")
        return [TextDelta(part.text) for part in self.result().message.parts if isinstance(part, Text)]

    def result(self) -> Completed:
        """See `Decoder.result`."""
        if self._response is None:
            raise TransientModelError("The stream ended before the reply was complete.")
        finisher = CallFinisher(self._context)
        items = self._all_items()
        parts = [part for item in items for part in _parts(item, finisher)]
        status = self._response.get("status")
        reason = str(_mapping(self._response.get("incomplete_details")).get("reason") or "")
        finish: Finish = "stop"
        if status not in ("completed", "incomplete"):
            reason = str(status)
        if status != "completed" or reason:
            finish = _INCOMPLETE.get(reason, "unknown")
        elif any(_refusals(item) for item in items):
            finish = "refusal"
        model = str(self._response.get("model") or self._model)
        ending = Ending(finish, reason, self._usage, model)
        return completed(parts, ending, self._context, finisher.notes)

    def _end(self, response: Mapping[str, Any], kind: str) -> None:
        usage = _mapping(response.get("usage"))
        self._usage = responses_usage(usage) if usage else None
        if kind == "response.failed" or response.get("error"):
            raise stream_failure({"error": response.get("error") or {"message": "The response failed."}})
        self._response = {**response, "status": kind.removeprefix("response.")}

    def _progress(self, kind: Any, data: Mapping[str, Any]) -> Iterator[Delta]:
        index = position(data.get("output_index")) or 0
        if kind == "response.output_item.added":
            self._drafts[index] = dict(_mapping(data.get("item")))
        elif kind == "response.output_item.done":
            self._items[index] = _mapping(data.get("item"))
        elif kind == "response.function_call_arguments.delta":
            self._pieces.setdefault(index, []).append(arguments_text(data.get("delta")))
        elif kind == "response.function_call_arguments.done":
            self._pieces[index] = [arguments_text(data.get("arguments"))]
        elif kind == "response.reasoning_summary_part.added" and data.get("summary_index"):
            yield ReasoningDelta("\n\n")
        elif kind in _TEXT:
            piece = str(data.get("delta") or "")
            self._pieces.setdefault(index, []).append(piece)
            yield TextDelta(piece)
        elif kind in _REASONING:
            yield ReasoningDelta(str(data.get("delta") or ""))

    def _all_items(self) -> list[Mapping[str, Any]]:
        final = self._response.get("output") if self._response else None
        items: dict[int, Mapping[str, Any]] = {index: self._drafted(index) for index in {*self._drafts, *self._pieces}}
        items.update(enumerate(final if isinstance(final, list) else ()))
        items.update(self._items)
        return [items[index] for index in sorted(items) if isinstance(items[index], Mapping)]

    def _drafted(self, index: int) -> Mapping[str, Any]:
        item = self._drafts.get(index, {"type": "message"})
        text = "".join(self._pieces.get(index, ()))
        if item.get("type") == "function_call":
            return {**item, "arguments": text or item.get("arguments")}
        if item.get("type") == "message":
            return {**item, "content": [{"type": "output_text", "text": text}]}
        return item


def responses_usage(usage: Mapping[str, Any]) -> Usage:
    """`input_tokens` includes cached tokens, `output_tokens` includes reasoning (C-14)."""
    return Usage(
        total_input=count(usage, "input_tokens"),
        output=count(usage, "output_tokens"),
        cached=count(usage, "input_tokens_details", "cached_tokens"),
        cache_written=count(usage, "input_tokens_details", "cache_write_tokens"),
        reasoning=count(usage, "output_tokens_details", "reasoning_tokens"),
    )


def _parts(item: Mapping[str, Any], finisher: CallFinisher) -> Iterator[Part]:
    kind = item.get("type")
    if kind == "function_call":
        call_id, name = str(item.get("call_id") or ""), str(item.get("name") or "")
        extra = _beside(item, "call_id", "name", "arguments", "status")
        yield finisher.call(call_id=call_id, name=name, arguments=arguments_text(item.get("arguments")), extra=extra or None)
    elif kind == "message":
        text = json_text.whole_characters("".join(_texts(item.get("content"), "text", "refusal")))
        yield Text(text, _beside(item, "role", "content", "status") or None)
    else:
        yield Reasoning(json_text.whole_characters(_thought(item)), {name: value for name, value in item.items() if value is not None})


def _thought(item: Mapping[str, Any]) -> str:
    summary = list(_texts(item.get("summary"), "text"))
    return "\n\n".join(summary or _texts(item.get("content"), "text"))


def _refusals(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "message" and any(_texts(item.get("content"), "refusal"))


def _texts(blocks: Any, *names: str) -> Iterator[str]:
    for block in blocks if isinstance(blocks, list) else ():
        for name in names:
            if isinstance(block, Mapping) and isinstance(block.get(name), str):
                yield block[name]


def _beside(item: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("type", *known) and value is not None}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
