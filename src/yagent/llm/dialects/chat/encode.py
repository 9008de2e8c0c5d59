"""Messages in the form of Chat Completions."""

from collections.abc import Mapping
from typing import Any

from yagent.llm import json_text
from yagent.llm.dialects.context import DialogueContext, result_text
from yagent.llm.dialects.tape import Tape
from yagent.llm.engine import CallOptions
from yagent.protocol.messages import Message, Part, Reasoning, Text, ToolCall, ToolDeclaration


class ChatWriter:
    """Content is a plain string, which every server takes, unless the server reads cache marks: then it is one text block.

    User messages that follow each other become one, as some chat templates insist on alternation: the last stays open until another
    role speaks.
    """

    def __init__(self, context: DialogueContext) -> None:
        self._context = context
        self._blocks = context.quirks.cache_marks
        self._first = True
        self._user_open = False

    def begin(self, tape: Tape) -> None:
        """See `Writer.begin`."""
        head = self._context.head
        tape.write(b'{"model":', json_text.encode(self._context.model.identity.model))
        if head.tools:
            tape.write(b',"tools":', json_text.encode([self._tool(tool) for tool in head.tools]))
        tape.write(b',"messages":[')
        if head.system.strip():
            role = json_text.encode(self._context.quirks.system_role)
            tape.write(b'{"role":', role, b',"content":')
            self._content(head.system, tape, pinned=True)
            tape.write(b"}")
            self._first = False

    def message(self, message: Message, tape: Tape) -> None:
        """See `Writer.message`."""
        if message.role == "assistant":
            self._assistant(message, tape)
            return
        for result in message.results:
            call_id = json_text.encode(self._context.ids.of_result(result.call_id))
            self._next(tape, b'{"role":"tool","tool_call_id":', call_id, b',"content":')
            self._content(result_text(result), tape)
            tape.write(b"}")
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                self._user(part.text, tape)

    def tail(self) -> bytes:
        """See `Writer.tail`."""
        return self._user_end() + b"]"

    def fields(self, options: CallOptions) -> dict[str, Any]:
        """See `Writer.fields`."""
        head = self._context.head
        fields: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}, "prompt_cache_key": head.conversation_id}
        if head.tools:
            fields["parallel_tool_calls"] = True
            if options.forbid_tools:
                fields["tool_choice"] = "none"
        return fields

    def withheld(self) -> frozenset[str]:
        """See `Writer.withheld`."""
        return frozenset()

    def _tool(self, tool: ToolDeclaration) -> dict[str, Any]:
        name = self._context.names.wire(tool.name)
        return {"type": "function", "function": {"name": name, "description": tool.description, "parameters": tool.parameters}}

    def _next(self, tape: Tape, *pieces: bytes) -> None:
        tape.write(self._user_end())
        self._user_open = False
        tape.write(b"" if self._first else b",", *pieces)
        self._first = False

    def _user(self, text: str, tape: Tape) -> None:
        if not self._user_open:
            self._next(tape, b'{"role":"user","content":', b"[" if self._blocks else b'"')
            self._user_open = True
        elif not self._blocks:
            tape.write(b"\\n\\n")
        else:
            tape.write(b",")
        if self._blocks:
            self._block(text, tape)
        else:
            tape.write(json_text.inner(text))

    def _user_end(self) -> bytes:
        if not self._user_open:
            return b""
        return b"]}" if self._blocks else b'"}'

    def _content(self, text: str, tape: Tape, *, pinned: bool = False) -> None:
        if not self._blocks:
            tape.write(json_text.encode(text))
            return
        tape.write(b"[")
        self._block(text, tape, pinned=pinned)
        tape.write(b"]")

    def _block(self, text: str, tape: Tape, *, pinned: bool = False) -> None:
        tape.write(b'{"type":"text","text":', json_text.encode(text))
        if pinned:
            tape.pin()
        else:
            tape.place()
        tape.write(b"}")

    def _assistant(self, message: Message, tape: Tape) -> None:
        parts = self._context.assistant_parts(message)
        calls = [part for part in parts if isinstance(part, ToolCall)]
        text = "".join(part.text for part in parts if isinstance(part, Text))
        if not calls and not text:
            return
        encoded: dict[str, Any] = {"role": "assistant", **self._reasoning(parts, has_calls=bool(calls)), "content": text or None}
        if calls:
            encoded["tool_calls"] = [self._call(call, message) for call in calls]
        self._next(tape, json_text.encode(encoded))

    def _reasoning(self, parts: list[Part], *, has_calls: bool) -> Mapping[str, Any]:
        quirks, fields = self._context.quirks, {}
        thoughts = [part for part in parts if isinstance(part, Reasoning)]
        text = "".join(part.text for part in thoughts if part.opaque is None)
        if text:
            fields[quirks.reasoning_field] = text
        for part in thoughts:
            fields.update(part.opaque or {})
        stand_in = "" if self._context.model.learned.replay == "always" else quirks.missing_reasoning
        if has_calls and not fields and stand_in is not None:
            fields[quirks.reasoning_field] = stand_in
        return fields

    def _call(self, call: ToolCall, message: Message) -> dict[str, Any]:
        return {
            "id": self._context.call_id(call, message),
            "type": "function",
            "function": {"name": self._context.names.wire(call.name), "arguments": call.arguments},
            **self._context.call_extra(call, message),
        }
