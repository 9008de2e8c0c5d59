"""Messages in the form of Anthropic's Messages API."""

from collections.abc import Mapping
from typing import Any

from yagent.llm import json_text
from yagent.llm.dialects.context import DialogueContext, result_text
from yagent.llm.dialects.tape import Tape
from yagent.llm.engine import CallOptions
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult


class MessagesWriter:
    """Roles alternate: what follows in the same role joins the message that is open, so results come first and words after them (A08)."""

    def __init__(self, context: DialogueContext) -> None:
        self._context = context
        self._open_role = ""
        self._turn_begins = False  # the next assistant message is the first after words of the user
        self._without_thinking = False

    def begin(self, tape: Tape) -> None:
        """See `Writer.begin`."""
        head = self._context.head
        tape.write(b'{"model":', json_text.encode(self._context.model.identity.model))
        if head.tools:
            tools = [
                {"name": self._context.names.wire(tool.name), "description": tool.description, "input_schema": tool.parameters}
                for tool in head.tools
            ]
            tape.write(b',"tools":', json_text.encode(tools)[:-2])
            tape.pin()
            tape.write(b"}]")
        if head.system.strip():
            tape.write(b',"system":[{"type":"text","text":', json_text.encode(head.system))
            tape.pin()
            tape.write(b"}]")
        tape.write(b',"messages":[')

    def message(self, message: Message, tape: Tape) -> None:
        """See `Writer.message`."""
        if message.role == "assistant":
            self._assistant(message, tape)
            return
        for result in message.results:
            self._block("user", self._result(result), tape)
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                self._block("user", {"type": "text", "text": part.text}, tape)
                self._turn_begins = not message.results

    def tail(self) -> bytes:
        """See `Writer.tail`."""
        return b"]}]" if self._open_role else b"]"

    def fields(self, options: CallOptions) -> dict[str, Any]:
        """See `Writer.fields`."""
        fields: dict[str, Any] = {"stream": True}
        if options.forbid_tools and self._context.head.tools:
            fields["tool_choice"] = {"type": "none"}
        return fields

    def withheld(self) -> frozenset[str]:
        """A turn with calls that began without thinking cannot go on with it: the API wants the turn to start with a thinking block."""
        return frozenset({"thinking"} if self._without_thinking and self._context.quirks.turn_starts_with_thinking else ())

    def _assistant(self, message: Message, tape: Tape) -> None:
        parts = self._context.assistant_parts(message)
        if not parts:
            return
        if self._turn_begins:
            self._without_thinking = bool(message.calls) and not isinstance(parts[0], Reasoning)
            self._turn_begins = False
        for part in parts:
            if isinstance(part, ToolCall):
                self._call(part, message, tape)
            else:
                block = self._words(part, message)
                if block:
                    self._block("assistant", block, tape, markable=isinstance(part, Text))

    def _words(self, part: Part, message: Message) -> Mapping[str, Any]:
        if isinstance(part, Reasoning):
            return part.opaque or {}
        extra = part.extra if isinstance(part, Text) and self._context.own(message) else None
        return {"type": "text", "text": part.text if isinstance(part, Text) else "", **(extra or {})}

    def _call(self, call: ToolCall, message: Message, tape: Tape) -> None:
        start = {"type": "tool_use", "id": self._context.call_id(call, message), "name": self._context.names.wire(call.name)}
        end = json_text.encode(self._context.call_extra(call, message))[1:-1]
        self._enter("assistant", tape)
        tape.write(json_text.encode(start)[:-1], b',"input":', json_text.utf8(call.arguments), b"," * bool(end), end)
        tape.place()
        tape.write(b"}")

    def _result(self, result: ToolResult) -> Mapping[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": self._context.ids.of_result(result.call_id)}
        block["content"] = result_text(result)
        if result.is_error:
            block["is_error"] = True
        return block

    def _block(self, role: str, block: Mapping[str, Any], tape: Tape, *, markable: bool = True) -> None:
        self._enter(role, tape)
        tape.write(json_text.encode(block)[:-1])
        if markable:
            tape.place()
        tape.write(b"}")

    def _enter(self, role: str, tape: Tape) -> None:
        if role == self._open_role:
            tape.write(b",")
            return
        if self._open_role:
            tape.write(b"]},")
        tape.write(b'{"role":', json_text.encode(role), b',"content":[')
        self._open_role = role
