"""From the pieces of a stream to one message: what all dialects share."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from yagent.llm import json_text
from yagent.llm.engine import Completed, ContextTooLong, Finish, TransientModelError
from yagent.llm.tool_names import ToolNames
from yagent.protocol.messages import JsonObject, Message, Part, Text, ToolCall, Usage
from yagent.records import dataclass

_MOST_TOKENS = 10**9  # in one request; what is above is no count but a defect of the server
NOTHING_RETURNED = "The model returned nothing: no words and no tool call."
_WINDOW_FULL = {"model_context_window_exceeded", "context_length_exceeded", "context_window_exceeded"}
_BROKEN_OFF = {
    "error", "network_error", "server_error", "insufficient_system_resource", "engine_overloaded", "overloaded", "abort", "aborted",
    "cancelled", "canceled", "timeout", "failed", "in_progress", "queued",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplyContext:
    """What a decoder has to know about the dialogue. `seed` differs for every reply of every conversation; `taken` are ids in use."""

    names: ToolNames
    origin: str
    seed: str
    taken: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a reply ended: the provider's word for it ("" when it gave none) and ours."""

    finish: Finish
    reason: str = ""
    usage: Usage | None = None
    model: str = ""


def arguments_text(value: Any) -> str:
    """The text of tool call arguments that may have come as text, as an object (A28) or not at all."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text.dumps(value)


def read_arguments(raw: str) -> tuple[str, str | None]:
    """(JSON object text to run and replay, None) or ("{}", the malformed original) (A23).

    Nothing at all means no arguments. A string that holds the JSON text of an object is that object (A22); valid text is kept as it came.
    """
    text = raw.strip()
    if not text or text == "null":
        return "{}", None
    try:
        value = json_text.loads(text)
    except ValueError:
        try:
            text = json_text.dumps(value := json_text.loads_lenient(text))
        except ValueError:
            return "{}", raw
    if isinstance(value, str):
        inner, malformed = read_arguments(value) if value.lstrip().startswith("{") else ("{}", raw)
        return inner, None if malformed is None else raw
    if not isinstance(value, dict):
        return "{}", raw
    return text if json_text.is_portable(text) else json_text.whole_characters(json_text.dumps(value)), None


class CallFinisher:
    """Turns what arrived for each call into `ToolCall`s with ids that are unique in the conversation (A03)."""

    def __init__(self, context: ReplyContext) -> None:
        self._context = context
        self._used: set[str] = set()
        self.notes: list[str] = []

    def call(self, *, call_id: str, name: str, arguments: str, extra: JsonObject | None = None) -> ToolCall:
        """One finished call. An absent or repeated id is replaced by one derived from the conversation and the place of the call."""
        kept = call_id
        if not kept or kept in self._used or kept in self._context.taken:
            seed = f"{self._context.seed}:{len(self._used)}"
            kept = "call_" + hashlib.sha256(seed.encode("utf-8", "backslashreplace")).hexdigest()[:24]
            self.notes.append(f"The server gave the call of {name or 'a tool'} {'a used id' if call_id else 'no id'}; it is now {kept}.")
        self._used.add(kept)
        text, malformed = read_arguments(arguments)
        if malformed is not None:
            self.notes.append(f"The arguments of {name or 'a tool'} ({kept}) are not a JSON object; the call will not run.")
        return ToolCall(kept, self._context.names.original(name), text, malformed, extra)


def completed(parts: Sequence[Part], ending: Ending, context: ReplyContext, notes: Sequence[str] = ()) -> Completed:
    """The reply as the loop gets it: without blank text (A11), with a note when it is empty (A19). Calls outweigh the reason (A05).

    Raises `ContextTooLong` or `TransientModelError` when the provider's word for the end says that it is none (A15, A34).
    """
    _refuse_failure(ending.reason)
    kept = tuple(part for part in parts if not isinstance(part, Text) or part.text.strip())
    has_calls = any(isinstance(part, ToolCall) for part in kept)
    finish = ending.finish
    if has_calls and finish in ("stop", "unknown"):
        finish = "tool_calls"
    elif not has_calls and finish == "tool_calls":
        finish = "stop"
    remarks = [*context.notes, *notes]
    if finish == "unknown":
        remarks.append(f"The reply ended for a reason we do not know: {ending.reason or 'none given'}.")
    if not has_calls and not any(isinstance(part, Text) for part in kept):
        remarks.append(NOTHING_RETURNED)
    return Completed(Message("assistant", kept, context.origin), finish, ending.usage, ending.model, tuple(remarks))


def count(record: Mapping[str, Any], *path: str) -> int | None:
    """The whole number at `path` of a usage record; None when it is absent, not a number, or more than a request can have."""
    value: Any = record
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def position(value: object) -> int | None:
    """An index of a stream, which some servers send as text; None when there is none."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def first_known(*values: int | None) -> int | None:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)


def largest(left: int | None, right: int | None) -> int | None:
    """The larger of two snapshots of a counter that only grows."""
    return max((value for value in (left, right) if value is not None), default=None)


def _refuse_failure(reason: str) -> None:
    """Some servers report what went wrong only as the reason why the reply ended."""
    if reason.lower() in _WINDOW_FULL:
        raise ContextTooLong("The model's context window was full before the reply was complete.", detail=reason)
    if reason.lower() in _BROKEN_OFF:
        raise TransientModelError(f"The server broke the reply off ({reason}).", detail=reason)
