"""Chat Completions streams."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from yagent.llm import json_text
from yagent.llm.assemble import CallFinisher, Ending, ReplyContext, completed, count, first_known, position
from yagent.llm.dialects.chat.calls import CallPieces
from yagent.llm.dialects.chat.text_markup import TextMarkup
from yagent.llm.dialects.failure import read_object, stream_failure
from yagent.llm.dialects.port import Delta
from yagent.llm.engine import Completed, Finish, ReasoningDelta, TextDelta, TransientModelError
from yagent.llm.quirks import Quirks
from yagent.llm.sse import SseEvent
from yagent.protocol.messages import Part, Reasoning, Text, ToolCall, Usage

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "recitation": "content_filter",
    "refusal": "refusal",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_GROWING = {"text", "summary", "data"}  # fields of a reasoning detail that arrive in pieces


class ChatDecoder:
    """A `Decoder` (port)."""

    def __init__(self, context: ReplyContext, quirks: Quirks) -> None:
        self._context = context
        self._markup = TextMarkup(think_tags=quirks.think_tags, dsml=quirks.dsml)
        self._finished = False
        self._reason: str | None = None
        self._model = ""
        self._usage: Usage | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._details: list[dict[str, Any]] = []
        self._calls = CallPieces()
        self._refused = False
        self._chosen: int | None = None

    @property
    def finished(self) -> bool:
        """See `Decoder.finished`."""
        return self._finished

    @property
    def usage(self) -> Usage | None:
        """See `Decoder.usage`."""
        return self._usage

    def feed(self, event: SseEvent) -> Iterable[Delta]:
        """See `Decoder.feed`."""
        if event.data.strip() == "[DONE]":
            self._finished = True
            return []
        return self._chunk(read_object(event.data, "a stream event"), event.event)

    def whole(self, body: bytes) -> Iterable[Delta]:
        """See `Decoder.whole`."""
        deltas = self._chunk(read_object(body.decode("utf-8", "replace"), "a reply"), "")
        self._finished = True
        return deltas

    def result(self) -> Completed:
        """See `Decoder.result`."""
        if not self._finished and self._reason is None:
            raise TransientModelError("The stream ended before the reply was complete.")
        self._keep(self._markup.end())
        finisher = CallFinisher(self._context)
        parts = [*self._thoughts(), Text(json_text.whole_characters("".join(self._text))), *self._tool_calls(finisher)]
        finish: Finish = "refusal" if self._refused else _FINISH.get((self._reason or "stop").lower(), "unknown")
        ending = Ending(finish, self._reason or "", self._usage, self._model)
        return completed(parts, ending, self._context, finisher.notes)

    def _chunk(self, chunk: Mapping[str, Any], event: str) -> list[Delta]:
        choices = chunk.get("choices")
        choice = self._choice(choices if isinstance(choices, list) else [])
        _raise_reported(chunk, choice, event)
        self._model = self._model or str(chunk.get("model") or "")
        self._take_usage(chunk.get("usage") or choice.get("usage"))
        delta = choice.get("delta")
        if delta is None and not self._text and not self._calls.drafts:
            delta = choice.get("message")
        deltas = self._delta(delta) if isinstance(delta, dict) else []
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = reason
        return deltas

    def _choice(self, choices: list[Any]) -> Mapping[str, Any]:
        """The choice that is the reply: we ask for one; of several it is the lowest of those that came first."""
        found = {position(item.get("index")) or 0: item for item in reversed(choices) if isinstance(item, dict)}
        if self._chosen is None and found:
            self._chosen = min(found)
        return found.get(self._chosen or 0, {})

    def _delta(self, delta: Mapping[str, Any]) -> list[Delta]:
        deltas = self._keep(self._reasoning_in(delta))
        for text, thought in _content(delta.get("content")):
            deltas += self._keep([ReasoningDelta(text)] if thought else self._markup.feed(text))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            deltas += self._keep([TextDelta(refusal)])
        pieces = delta.get("tool_calls") or ()
        for piece in pieces if isinstance(pieces, list) else (pieces,):
            self._calls.add(piece)
        if isinstance(delta.get("function_call"), dict):  # the form before tool_calls
            self._calls.add({"function": delta["function_call"]})
        return deltas

    def _reasoning_in(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        details = delta.get("reasoning_details")
        details = [item for item in details if isinstance(item, dict)] if isinstance(details, list) else []
        for detail in details:
            self._add_detail(detail)
        texts = [delta[name] for name in _REASONING_FIELDS if isinstance(delta.get(name), str) and delta[name]]
        if not texts:
            texts = ["".join(str(detail.get("text") or detail.get("summary") or "") for detail in details)]
        if texts[0]:
            yield ReasoningDelta(texts[0])

    def _add_detail(self, detail: Mapping[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        if last.get("type") != detail.get("type") or last.get("index") != detail.get("index"):
            self._details.append(dict(detail))
            return
        for name, value in detail.items():
            if name in _GROWING and isinstance(value, str):
                last[name] = (last.get(name) or "") + value
            elif value is not None:
                last[name] = value

    def _keep(self, deltas: Iterable[Delta]) -> list[Delta]:
        kept = list(deltas)
        for delta in kept:
            (self._text if isinstance(delta, TextDelta) else self._reasoning).append(delta.text)
        return kept

    def _thoughts(self) -> Iterator[Part]:
        text = json_text.whole_characters("".join(self._reasoning))
        if text or self._details:
            yield Reasoning(text, {"reasoning_details": self._details} if self._details else None)

    def _tool_calls(self, finisher: CallFinisher) -> Iterator[ToolCall]:
        for draft in self._calls.drafts:
            yield finisher.call(call_id=draft.call_id, name=draft.name, arguments=draft.arguments, extra=draft.extra or None)
        if not self._calls.drafts:
            for name, arguments in self._markup.calls:
                yield finisher.call(call_id="", name=name, arguments=arguments)

    def _take_usage(self, usage: Any) -> None:
        """A stream may repeat its usage; the numbers are totals, so the latest stands."""
        if isinstance(usage, dict):
            self._usage = chat_usage(usage)


def chat_usage(usage: Mapping[str, Any]) -> Usage:
    """`prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning (C-14)."""
    return Usage(
        total_input=count(usage, "prompt_tokens"),
        output=count(usage, "completion_tokens"),
        cached=first_known(
            count(usage, "prompt_tokens_details", "cached_tokens"), count(usage, "prompt_cache_hit_tokens"), count(usage, "cached_tokens")
        ),
        cache_written=count(usage, "prompt_tokens_details", "cache_write_tokens"),
        reasoning=first_known(count(usage, "completion_tokens_details", "reasoning_tokens"), count(usage, "reasoning_tokens")),
    )


def _content(content: Any) -> Iterator[tuple[str, bool]]:
    """Pieces of text and whether they are thoughts; content is a string or a list of blocks (Mistral)."""
    if isinstance(content, str):
        if content:
            yield content, False
        return
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "thinking":
            yield from ((text, True) for text, _ in _content(block.get("thinking")))
        elif isinstance(block.get("text"), str):
            yield block["text"], False


def _raise_reported(chunk: Mapping[str, Any], choice: Mapping[str, Any], event: str) -> None:
    """Errors that come inside a stream which began with 200 (A15)."""
    error = chunk.get("error") or choice.get("error")
    if error:
        raise stream_failure({"error": error})
    is_error = event == "error" or chunk.get("object") == "error" or choice.get("finish_reason") == "error"
    if is_error or ("choices" not in chunk and ("message" in chunk or "detail" in chunk)):
        raise stream_failure(chunk)
