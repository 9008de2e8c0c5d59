"""Messages as items of OpenAI's Responses API, without anything stored at the provider."""

from collections.abc import Mapping
from typing import Any

from yagent.llm import json_text
from yagent.llm.dialects.context import DialogueContext, result_text
from yagent.llm.dialects.tape import Tape
from yagent.llm.engine import CallOptions
from yagent.protocol.messages import Message, Reasoning, Text, ToolCall


class ResponsesWriter:
    """Items follow each other in the order the model made them, so reasoning stays paired with the item after it (A25)."""

    def __init__(self, context: DialogueContext) -> None:
        self._context = context
        self._first = True

    def begin(self, tape: Tape) -> None:
        """See `Writer.begin`."""
        head = self._context.head
        tape.write(b'{"model":', json_text.encode(self._context.model.identity.model))
        if head.tools:
            tools = [
                {
                    "type": "function",
                    "name": self._context.names.wire(tool.name),
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in head.tools
            ]
            tape.write(b',"tools":', json_text.encode(tools))
        if head.system.strip():
            tape.write(b',"instructions":', json_text.encode(head.system))
        tape.write(b',"input":[')

    def message(self, message: Message, tape: Tape) -> None:
        """See `Writer.message`."""
        if message.role == "assistant":
            self._assistant(message, tape)
            return
        for result in message.results:
            call_id = self._context.ids.of_result(result.call_id)
            self._item({"type": "function_call_output", "call_id": call_id, "output": result_text(result)}, tape)
        texts = [{"type": "input_text", "text": part.text} for part in message.parts if isinstance(part, Text) and part.text.strip()]
        if texts:
            self._item({"type": "message", "role": "user", "content": texts}, tape)

    def tail(self) -> bytes:
        """See `Writer.tail`."""
        return b"]"

    def fields(self, options: CallOptions) -> dict[str, Any]:
        """See `Writer.fields`."""
        head = self._context.head
        fields: dict[str, Any] = {
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": head.conversation_id,
        }
        if head.tools:
            fields["parallel_tool_calls"] = True
            if options.forbid_tools:
                fields["tool_choice"] = "none"
        return fields

    def withheld(self) -> frozenset[str]:
        """See `Writer.withheld`."""
        return frozenset()

    def _assistant(self, message: Message, tape: Tape) -> None:
        parts = self._context.assistant_parts(message)
        thoughts = [part for part in parts if isinstance(part, Reasoning)]
        readable = [part for part in thoughts if part.opaque and (part.opaque.get("encrypted_content") or part.opaque.get("content"))]
        # An item's id refers to the reasoning before it; when that cannot be sent, the id must go, too.
        keep_ids = self._context.own(message) and not self._context.without_reasoning and len(readable) == len(thoughts)
        for part in parts:
            if isinstance(part, ToolCall):
                self._item(self._call(part, message, keep_ids=keep_ids), tape)
            elif isinstance(part, Text):
                self._item(_words(part, (part.extra or {}) if self._context.own(message) else {}, keep_ids=keep_ids), tape)
            elif part in readable and isinstance(part, Reasoning):
                self._item(part.opaque or {}, tape)

    def _item(self, item: Mapping[str, Any], tape: Tape) -> None:
        tape.write(b"" if self._first else b",", json_text.encode(item))
        self._first = False

    def _call(self, call: ToolCall, message: Message, *, keep_ids: bool) -> Mapping[str, Any]:
        return {
            "type": "function_call",
            "call_id": self._context.call_id(call, message),
            "name": self._context.names.wire(call.name),
            "arguments": call.arguments,
            **_beside_id(self._context.call_extra(call, message), keep_ids),
        }


def _words(text: Text, extra: Mapping[str, Any], *, keep_ids: bool) -> Mapping[str, Any]:
    extra = _beside_id(extra, keep_ids)
    if "id" not in extra:
        return {"type": "message", "role": "assistant", "content": text.text, **extra}
    content = [{"type": "output_text", "text": text.text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content, **extra}


def _beside_id(extra: Mapping[str, Any], keep_ids: bool) -> Mapping[str, Any]:
    return extra if keep_ids else {name: value for name, value in extra.items() if name != "id"}
