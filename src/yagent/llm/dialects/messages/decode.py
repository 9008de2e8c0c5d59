"""Streams of Anthropic's Messages API."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from yagent.llm import json_text
from yagent.llm.assemble import CallFinisher, Ending, ReplyContext, arguments_text, completed, count, largest, position
from yagent.llm.dialects.failure import read_object, stream_failure
from yagent.llm.dialects.port import Delta
from yagent.llm.engine import Completed, Finish, ReasoningDelta, TextDelta, TransientModelError
from yagent.llm.quirks import Quirks
from yagent.llm.sse import SseEvent
from yagent.protocol.messages import Part, Reasoning, Text, Usage

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "length": "length",
    "content_filter": "content_filter",
    "pause_turn": "pause",
    "refusal": "refusal",
}
_GROWS = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking"), "signature_delta": ("thinking", "signature")}


class MessagesDecoder:
    """A `Decoder` (port)."""

    def __init__(self, context: ReplyContext, quirks: Quirks) -> None:
        self._context = context
        self._finished = False
        self._reason = ""
        self._model = ""
        self._usage: Usage | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._grown: dict[int, dict[str, list[str]]] = {}  # joined once: a text that is copied for each piece takes quadratic time

    @property
    def finished(self) -> bool:
        """See `Decoder.finished`."""
        return self._finished

    @property
    def usage(self) -> Usage | None:
        """See `Decoder.usage`."""
        return self._usage

    def feed(self, event: SseEvent) -> Iterable[Delta]:
        """See `Decoder.feed`. Unknown events are ignored (A31)."""
        if event.data.strip() == "[DONE]":  # some gateways add it
            self._finished = self._finished or bool(self._reason)
            return []
        data = read_object(event.data, "a stream event")
        kind = str(data.get("type") or event.event)
        if kind == "error" or (data.get("error") and kind not in _HANDLERS):
            raise stream_failure(data)
        handler = _HANDLERS.get(kind)
        return handler(self, data) if handler else []

    def whole(self, body: bytes) -> Iterable[Delta]:
        """See `Decoder.whole`."""
        reply = read_object(body.decode("utf-8", "replace"), "a reply")
        if reply.get("type") == "error" or reply.get("error"):
            raise stream_failure(reply)
        self._message_start({"message": reply})
        deltas: list[Delta] = []
        for index, block in enumerate(reply.get("content") or ()):
            deltas += self._block_start({"index": index, "content_block": block})
        self._message_delta({"delta": reply, "usage": reply.get("usage")})
        self._finished = True
        return deltas

    def result(self) -> Completed:
        """See `Decoder.result`."""
        if not self._finished and not self._reason:
            raise TransientModelError("The stream ended before the reply was complete.")
        finisher = CallFinisher(self._context)
        parts = [self._part(index, finisher) for index in sorted(self._blocks)]
        finish = _FINISH.get(self._reason, "unknown") if self._reason else "stop"
        return completed(parts, Ending(finish, self._reason, self._usage, self._model), self._context, finisher.notes)

    def _message_start(self, data: Mapping[str, Any]) -> Iterable[Delta]:
        message = _mapping(data.get("message"))
        self._model = str(message.get("model") or "")
        self._take_usage(message.get("usage"))
        return ()

    def _block_start(self, data: Mapping[str, Any]) -> Iterable[Delta]:
        block = dict(_mapping(data.get("content_block")))
        self._blocks[_index(data)] = block
        text = block.get("text") or block.get("thinking")
        if isinstance(text, str) and text:
            return (TextDelta(text) if block.get("type") == "text" else ReasoningDelta(text),)
        return ()

    def _block_delta(self, data: Mapping[str, Any]) -> Iterable[Delta]:
        index, delta = _index(data), _mapping(data.get("delta"))
        kind = str(delta.get("type"))
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(arguments_text(delta.get("partial_json")))
        elif kind == "citations_delta":
            block = self._blocks.setdefault(index, {"type": "text", "text": ""})
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        elif kind in _GROWS:
            block_type, name = _GROWS[kind]
            piece = delta.get(name)
            if isinstance(piece, str):
                self._blocks.setdefault(index, {"type": block_type, name: ""})
                self._grown.setdefault(index, {}).setdefault(name, []).append(piece)
                return _shown(name, piece)
        return ()

    def _message_delta(self, data: Mapping[str, Any]) -> Iterable[Delta]:
        self._reason = str(_mapping(data.get("delta")).get("stop_reason") or self._reason)
        self._take_usage(data.get("usage"))
        return ()

    def _message_stop(self, data: Mapping[str, Any]) -> Iterable[Delta]:
        self._finished = True
        return ()

    def _part(self, index: int, finisher: CallFinisher) -> Part:
        block = dict(self._blocks[index])
        for name, pieces in self._grown.get(index, {}).items():
            block[name] = "".join((block.get(name) or "", *pieces))
        kind = block.get("type")
        streamed = "".join(self._inputs.get(index, ()))
        if kind == "text":
            extra = _beside(block, "text")
            return Text(json_text.whole_characters(str(block.get("text") or "")), extra or None)
        if kind == "tool_use":
            arguments = streamed or arguments_text(block.get("input"))
            name, call_id = str(block.get("name") or ""), str(block.get("id") or "")
            return finisher.call(call_id=call_id, name=name, arguments=arguments, extra=_beside(block, "id", "name", "input") or None)
        if streamed:  # a tool of the server's own: its input goes back as it came
            block = {**block, "input": _input(streamed)}
        text = block.get("thinking") if kind == "thinking" else ""
        return Reasoning(json_text.whole_characters(str(text or "")), block)

    def _take_usage(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            self._usage = merge_snapshots(self._usage, messages_usage(usage))


def messages_usage(usage: Mapping[str, Any]) -> Usage:
    """`input_tokens` excludes what was read from and written to the cache; here both are part of the input (C-14)."""
    cached, written = count(usage, "cache_read_input_tokens"), count(usage, "cache_creation_input_tokens")
    fresh = count(usage, "input_tokens")
    return Usage(
        total_input=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output=count(usage, "output_tokens"),
        cached=cached,
        cache_written=written,
        reasoning=count(usage, "output_tokens_details", "thinking_tokens"),
    )


def merge_snapshots(earlier: Usage | None, later: Usage) -> Usage:
    """The records of a stream are snapshots of counters that only grow; some servers send zeros first and the truth last."""
    if earlier is None:
        return later
    return Usage(*(largest(getattr(earlier, name), getattr(later, name)) for name in Usage.__slots__))


def _shown(name: str, piece: str) -> Iterator[Delta]:
    if piece and name != "signature":
        yield TextDelta(piece) if name == "text" else ReasoningDelta(piece)


def _beside(block: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name not in ("type", *known) and value is not None}


def _input(text: str) -> Any:
    try:
        return json_text.loads(text)
    except ValueError:
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _index(data: Mapping[str, Any]) -> int:
    return position(data.get("index")) or 0


_HANDLERS = {
    "message_start": MessagesDecoder._message_start,
    "content_block_start": MessagesDecoder._block_start,
    "content_block_delta": MessagesDecoder._block_delta,
    "message_delta": MessagesDecoder._message_delta,
    "message_stop": MessagesDecoder._message_stop,
}
