"""The encoder all dialects share: one growing tape, a fixed beginning, the parameters at the end, and what rejections teach."""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Protocol

from yagent.llm import json_text
from yagent.llm.assemble import ReplyContext
from yagent.llm.dialects import parameters
from yagent.llm.dialects.context import DialogueContext, result_text
from yagent.llm.dialects.port import Decoder, Rejection, WireModel
from yagent.llm.dialects.tape import Tape
from yagent.llm.engine import CallOptions, Head
from yagent.llm.quirks import Quirks
from yagent.llm.tool_names import ToolNames
from yagent.patterns import pattern
from yagent.protocol.messages import Message, Text, ToolResult

_BAD_REASONING = pattern(
    r"invalid_encrypted_content|encrypted content[^.]{0,60}(could not|invalid|fail)|invalid `?signature`?", re.IGNORECASE
)
_WANTED = pattern(r"missing|must be (passed|provided|included|sent)|required|pass(ed)? back", re.IGNORECASE)


class Writer(Protocol):
    """What differs between dialects: how the beginning, a message and the end look. One per dialogue; it may remember what is open."""

    def begin(self, tape: Tape) -> None:
        """Write everything before the first message."""
        ...

    def message(self, message: Message, tape: Tape) -> None:
        """Write one message behind the others."""
        ...

    def tail(self) -> bytes:
        """The brackets that close what is open, up to the end of the message list."""
        ...

    def fields(self, options: CallOptions) -> dict[str, Any]:
        """The dialect's own parameters."""
        ...

    def withheld(self) -> frozenset[str]:
        """Parameters the conversation, as it stands, does not allow."""
        ...


class DialogueEncoder:
    """An `Encoder` (port). It keeps the messages, not to walk them again but to start over when the server refuses a form of them."""

    def __init__(
        self,
        context: DialogueContext,
        writer: Callable[[DialogueContext], Writer],
        decoder: Callable[[ReplyContext, Quirks], Decoder],
    ) -> None:
        self._context = context
        self._make_writer = writer
        self._make_decoder = decoder
        self._writer = writer(context)
        self._tape = Tape()
        self._messages: list[Message] = []
        self._unanswered: dict[str, None] = {}
        self._sent: dict[str, Any] = {}
        self._notes: list[str] = []  # what was adjusted since the last message
        self._before_newest: tuple[Writer, tuple[int, int]] | None = None  # None after the model's own words
        self._replay = context.replay  # the rule the messages were encoded by

    def append(self, message: Message) -> None:
        """See `Encoder.append`."""
        self._check_pairing(message)
        self._messages.append(message)
        self._notes = []
        self._write(message)

    def body(self, options: CallOptions) -> Sequence[bytes]:
        """See `Encoder.body`."""
        self._refuse_unanswered()
        context = self._context
        self._sent = parameters.build(options, context.model, self._writer.fields(options), self._writer.withheld())
        writer, tape = self._with_hint(options.hint)
        end = json_text.encode(self._sent)[1:]
        return tape.read(writer.tail() + (b"," if self._sent else b"") + end)

    def decoder(self) -> Decoder:
        """See `Encoder.decoder`."""
        return self._make_decoder(self._context.reply_context(tuple(self._notes)), self._context.quirks)

    def adjust(self, rejection: Rejection) -> bool:
        """See `Encoder.adjust`."""
        note = self._change_past(rejection)
        if note is not None:
            self.restart()
        else:
            note = parameters.learn(rejection, self._context.model, self._sent)
        if note is None:
            return False
        self._notes.append(note)
        return True

    def restart(self) -> None:
        """Encode the beginning and all messages anew."""
        context = self._context
        context.begin()
        self._replay = context.replay
        self._writer = self._make_writer(context)
        self._tape = Tape(_mark(context))
        self._writer.begin(self._tape)
        for message in self._messages:
            self._write(message)

    def _write(self, message: Message) -> None:
        self._before_newest = None if message.role == "assistant" else (copy(self._writer), self._tape.length())
        self._writer.message(message, self._tape)

    def _with_hint(self, hint: str) -> tuple[Writer, Tape]:
        """What is read for this request: all that was written, or for a hint the newest message once more with it."""
        if not hint or self._before_newest is None:
            return self._writer, self._tape
        newest = self._messages[-1]
        last = newest.parts[-1]
        if not isinstance(last, Text | ToolResult):
            return self._writer, self._tape
        said = result_text(last) if isinstance(last, ToolResult) else last.text
        before, length = self._before_newest
        writer, tape = copy(before), self._tape.beginning(length)
        writer.message(replace(newest, parts=(*newest.parts[:-1], replace(last, text=f"{said}\n\n{hint}"))), tape)
        return writer, tape

    def _change_past(self, rejection: Rejection) -> str | None:
        """A complaint about the messages rather than the parameters: change the rule they are encoded by, each rule once."""
        context, learned = self._context, self._context.model.learned
        words = f"{rejection.code} {rejection.parameter} {rejection.message}"
        if _BAD_REASONING.search(words) and not context.without_reasoning:
            context.without_reasoning = True
            return "The server cannot read the earlier reasoning; it was left out."
        if self._concerns_reasoning(words) and (learned.replay is None or learned.replay != self._replay):
            learned.replay = learned.replay or ("always" if _WANTED.search(words) else "never")
            return f"{context.quirks.reasoning_field} is now {learned.replay} sent back, as the server demands."
        if "cache_control" in words and self._tape.marked:
            learned.dropped.add("cache_control")
            return "The server does not accept cache marks; they are no longer sent."
        return None

    def _concerns_reasoning(self, words: str) -> bool:
        """The field of replayed reasoning is named, and not as the parameter some servers have of that name."""
        name = self._context.quirks.reasoning_field
        return bool(re.search(rf"(?<!\w){name}(?!\w)", words)) and (name not in self._sent or "messages" in words)

    def _check_pairing(self, message: Message) -> None:
        if message.role != "tool":
            self._refuse_unanswered()
        for result in message.results:
            if result.call_id not in self._unanswered:
                raise ValueError(f"The result of {result.name} answers no open call ({result.call_id}); pair them before appending.")
            del self._unanswered[result.call_id]
        self._unanswered.update(dict.fromkeys(call.id for call in message.calls))

    def _refuse_unanswered(self) -> None:
        if self._unanswered:
            raise ValueError(f"Calls without a result: {', '.join(self._unanswered)}. Each call needs exactly one before the next message.")


def open_dialogue(
    head: Head,
    model: WireModel,
    *,
    writer: Callable[[DialogueContext], Writer],
    decoder: Callable[[ReplyContext, Quirks], Decoder],
) -> DialogueEncoder:
    """An encoder with its beginning written."""
    context = DialogueContext(head, model, ToolNames(tool.name for tool in head.tools))
    encoder = DialogueEncoder(context, writer, decoder)
    encoder.restart()
    return encoder


def _mark(context: DialogueContext) -> bytes:
    quirks = context.quirks
    if not quirks.cache_marks or "cache_control" in context.model.learned.dropped:
        return b""
    mark = {"type": "ephemeral", **(quirks.long_cache if context.head.long_lived else {})}
    return b',"cache_control":' + json_text.encode(mark)
