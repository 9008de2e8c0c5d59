"""Messages as text inside another message. Calls stand with their results, reasoning is left out."""

from collections.abc import Sequence

from yagent.compression.cutting import first_part, last_part
from yagent.compression.frame import Frame
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall

_LEAST = 8  # tokens a part is cut to at least
_CHARACTERS = 5  # of a token, generously: what is too long even so is not counted in vain
_CAPS = (2000, 500, 120, 30)  # tokens a part is cut to when a conversation is summarised, the first with which all of it fits


def whole(messages: Sequence[Message]) -> str:
    """Everything, uncut."""
    return "\n\n".join(filter(None, (_shown(message, None, 0) for message in messages)))


def last_messages(messages: Sequence[Message], number: int) -> int:
    """Where the last `number` messages begin; earlier where a result would be parted from its call."""
    start = max(len(messages) - number, 0)
    while start > 0 and messages[start].role == "tool":
        start -= 1
    return start


def recent(messages: Sequence[Message], budget: int, frame: Frame) -> str:
    """The messages in at most `budget` tokens: whole if they fit, else with their largest parts cut, else the end of that; "" when there
    is no room to speak of."""
    cap, text = budget, ""
    while cap >= _LEAST:
        text = "\n\n".join(filter(None, (_shown(message, frame, cap) for message in messages)))
        if frame.counter.count(text) <= budget:
            return text
        cap //= 2
    end = last_part(text, budget - frame.counter.count(frame.left_out()) - 1, frame.counter.count)
    return f"{frame.left_out()}\n{end}" if end else ""


def digest(messages: Sequence[Message], budget: int, frame: Frame) -> str:
    """The messages in at most `budget` tokens, for a summary.

    Large parts are shortened first; then the oldest messages go, save the very first, which holds the task or what came of an earlier
    compression.
    """
    cost = frame.counter.count
    first = _shown(messages[0], frame, max(budget // 4, _LEAST))
    left = budget - cost(first) - 1
    lengths = [len(part.arguments if isinstance(part, ToolCall) else part.text) for message in messages[1:] for part in message.parts]
    likely = [cap for cap in _CAPS if sum(min(length, cap * _CHARACTERS) for length in lengths) <= left * _CHARACTERS]
    for cap in likely or _CAPS[-1:]:
        shown = [_shown(message, frame, max(min(cap, left // 4), 1)) for message in messages[1:]]
        sizes = [cost(text) + 1 for text in shown]
        if sum(sizes) <= left:
            return "\n\n".join(filter(None, [first, *shown]))
    left -= cost(frame.left_out()) + 1
    kept = []
    for text, size in zip(reversed(shown), reversed(sizes), strict=True):
        left -= size
        if left < 0:
            break
        kept.append(text)
    return "\n\n".join(filter(None, [first, frame.left_out(), *reversed(kept)]))


def _shown(message: Message, frame: Frame | None, cap: int) -> str:
    return "\n".join(filter(None, (_part(message, part, frame, cap) for part in message.parts)))


def _part(message: Message, part: Part, frame: Frame | None, cap: int) -> str:
    if isinstance(part, Reasoning):
        return ""
    if isinstance(part, Text):
        return f"[{'you' if message.role == 'assistant' else message.role}] {_beginning(part.text, frame, cap)}"
    if isinstance(part, ToolCall):
        return f"[call] {part.name} {_beginning(part.malformed or part.arguments, frame, cap)}"
    return f"[{'error' if part.is_error else 'result'} of {part.name}] {_end(part.text, frame, cap)}"


def _beginning(text: str, frame: Frame | None, cap: int) -> str:
    if frame is None:
        return text
    shown = f"{first_part(text, cap, frame.counter.count)}\n{frame.left_out()}"
    return shown if len(shown) < len(text) else text  # a cut has to save something


def _end(text: str, frame: Frame | None, cap: int) -> str:
    if frame is None:
        return text
    shown = f"{frame.left_out()}\n{last_part(text, cap, frame.counter.count)}"
    return shown if len(shown) < len(text) else text
