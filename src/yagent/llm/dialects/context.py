"""What one dialogue remembers while its messages are encoded."""

from collections.abc import Mapping
from typing import Any

from yagent.llm.assemble import ReplyContext
from yagent.llm.dialects.port import WireModel
from yagent.llm.engine import Head
from yagent.llm.quirks import Quirks, ReasoningReplay
from yagent.llm.tool_names import CallIds, ToolNames
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult

NO_OUTPUT = "(no output)"
_THINKING = {"thinking", "redacted_thinking", "reasoning", None}  # block types that may not end a message


class DialogueContext:
    """Names, ids and the rules of replay for one dialogue with one model. Foreign opaque parts never pass (A10, A24, A25)."""

    def __init__(self, head: Head, model: WireModel, names: ToolNames) -> None:
        self.head = head
        self.model = model
        self.names = names
        self.ids = CallIds(model.quirks.call_ids)
        self.without_reasoning = False
        self._count = 0

    @property
    def quirks(self) -> Quirks:
        """The model family's row."""
        return self.model.quirks

    @property
    def replay(self) -> ReasoningReplay:
        """When reasoning is sent back, after what the server taught us."""
        return "never" if self.without_reasoning else self.model.learned.replay or self.quirks.replay

    def begin(self) -> None:
        """Forget the messages: they are about to be encoded again."""
        self.ids = CallIds(self.quirks.call_ids)
        self._count = 0

    def own(self, message: Message) -> bool:
        """This very model said it."""
        return message.origin == self.model.identity.fingerprint

    def assistant_parts(self, message: Message) -> list[Part]:
        """What of an assistant message is sent: no blank text, no foreign reasoning, no reasoning without the item after it.

        Empty when nothing is left to say (A19): the message is then left out.
        """
        self._count += 1
        parts = [part for part in message.parts if self._passes(part, message)]
        while parts and isinstance(parts[-1], Reasoning) and _block_type(parts[-1]) in _THINKING:
            parts.pop()
        return parts

    def _passes(self, part: Part, message: Message) -> bool:
        if isinstance(part, Text):
            return bool(part.text.strip())
        if isinstance(part, Reasoning):
            wanted = self.replay == "always" or (self.replay == "with_calls" and bool(message.calls))
            return wanted and self.own(message)
        return isinstance(part, ToolCall)

    def call_id(self, call: ToolCall, message: Message) -> str:
        """The id a call goes out with."""
        return self.ids.of_call(call.id, own=self.own(message))

    def call_extra(self, call: ToolCall, message: Message) -> Mapping[str, Any]:
        """Fields of a call beyond name and arguments: its own to the model that made it, the family's stand-in otherwise."""
        if self.own(message):
            return call.extra or {}
        return self.quirks.foreign_call_extra or {}

    def reply_context(self, model_notes: tuple[str, ...]) -> ReplyContext:
        """What the decoder of the next reply has to know."""
        seed = f"{self.head.conversation_id}:{self.model.identity.fingerprint}:{self._count}"
        return ReplyContext(self.names, self.model.identity.fingerprint, seed, frozenset(self.ids.seen), model_notes)


def result_text(result: ToolResult) -> str:
    """The text of a tool result, never blank (A11)."""
    return result.text if result.text.strip() else NO_OUTPUT


def _block_type(part: Reasoning) -> str | None:
    kind = part.opaque.get("type") if part.opaque else None
    return None if kind is None else str(kind)
