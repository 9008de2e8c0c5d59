"""How large a conversation is, and the one decision whether that is too much (L-03, L-04)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from yagent.records import dataclass

_BYTES = 4  # that a character may have
_PART = 4  # characters' worth of what a provider puts around each part
_LEAST_BELIEVED = 0.2  # of what is estimated; servers are known to report 0, or only what their cache did not hold


class Counter(Protocol):
    """Estimates sizes in tokens; `yagent.llm.tokens` has one."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def of_message(self, message: Message) -> int:
        """Tokens of a message with all its parts, counted once for each message object."""
        ...


@dataclass(frozen=True, slots=True)
class Prefix:
    """What is known of the beginning of a conversation.

    `head` is the estimate for system prompt and tool declarations. `tokens` is what the provider reported for the head and the first
    `messages` messages; None where there is no such report, and then everything is estimated.
    """

    counter: Counter
    head: int = 0
    tokens: int | None = None
    messages: int = 0

    def size(self, messages: Sequence[Message]) -> int:
        """Tokens of the next request: the newest report, and an estimate of what was added since."""
        if self.tokens is None or self.messages > len(messages):
            return self.head + self.local(messages)
        return self.tokens + sum(self.counter.of_message(messages[index]) for index in range(self.messages, len(messages)))

    def local(self, messages: Sequence[Message]) -> int:
        """The estimate for the messages alone, whatever was reported: the one scale in which savings are stated (L-08)."""
        return sum(map(self.counter.of_message, messages))

    def measured(self, messages: Sequence[Message], usage: Usage | None) -> "Prefix":
        """After a reply: `messages` end with it, `usage` is what its call reported. Without a report the one before stands, and likewise
        after one that is too small for this request: to believe that a long conversation takes nothing would be to outgrow the window.

        Reasoning that the message does not hold is not sent again, so it is no part of the next request. The first report also says what
        the head really takes, which counts again when nothing is measured any more.
        """
        if usage is None or usage.total_input is None or not messages:
            return self
        if usage.total_input < _LEAST_BELIEVED * (self.head + self.local(messages[:-1])):
            return self
        head = usage.total_input - self.local(messages[:-1]) if self.tokens is None else self.head
        known = replace(self, head=head if self.head / 2 <= head <= self.head * 2 else self.head)
        if usage.output is None:
            return replace(known, tokens=usage.total_input, messages=len(messages) - 1)
        is_sent = any(isinstance(part, Reasoning) for part in messages[-1].parts)
        unsent = 0 if is_sent else usage.reasoning or 0
        return replace(known, tokens=usage.total_input + max(usage.output - unsent, 0), messages=len(messages))

    def told(self, messages: Sequence[Message], usage: Usage | None) -> tuple[Sequence[Message], int] | None:
        """What the report about a request of `messages` says about those not measured before: which, and how many tokens they took. None
        when that cannot be told. From this an estimate learns."""
        if usage is None or usage.total_input is None or self.tokens is None or self.messages >= len(messages):
            return None
        return messages[self.messages :], usage.total_input - self.tokens

    def shortened(self, saved: int) -> "Prefix":
        """After the first tier took `saved` tokens out of messages that may be measured."""
        return self if self.tokens is None else replace(self, tokens=max(self.tokens - saved, self.head))

    def void(self) -> "Prefix":
        """After the conversation was rewritten: nothing of it is measured."""
        return replace(self, tokens=None, messages=0)


def at_most(messages: Sequence[Message]) -> int:
    """Tokens that messages surely do not exceed, without counting: a token has a byte at least, and more is sent again than words."""
    return _BYTES * sum(_PART + _characters(part) for message in messages for part in message.parts)


def _characters(part: Part) -> int:
    """Of all texts in a part, and of what only its provider understands."""
    match part:
        case ToolCall():
            own, foreign = len(part.name) + len(part.arguments) + len(part.malformed or ""), part.extra
        case Reasoning():
            own, foreign = len(part.text), part.opaque
        case Text():
            own, foreign = len(part.text), part.extra
        case ToolResult():
            own, foreign = len(part.text), None
    return own + (0 if foreign is None else len(repr(foreign)))


def over_threshold(messages: Sequence[Message], prefix: Prefix, threshold: int) -> bool:
    """Whether the next request would be larger than it may be. Nobody else decides that."""
    return prefix.size(messages) > threshold
