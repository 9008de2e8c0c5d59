"""What a conversation consists of, independent of any provider's wire format.

A `Message` is a role and an ordered tuple of parts; the order is the order in which the model produced them and is kept on replay.
Whatever a provider sent that we do not understand but must send back unchanged (signatures, encrypted reasoning, extra fields of a tool
call) travels in `opaque`/`extra` and is replayed only to the `origin` it came from.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from yagent.records import dataclass

JsonObject: TypeAlias = Mapping[str, Any]
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words. Of a user, of the assistant, or a system prompt.

    `extra` is what the provider's own block carried beside the words (a phase, citations) and wants back.
    """

    text: str
    extra: JsonObject | None = None
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What a model thought before it spoke.

    `text` may be empty (signature only, redacted). `opaque` is the provider's own block or item, byte for byte what has to be replayed;
    None where the plain text is all there is.
    """

    text: str
    opaque: JsonObject | None = None
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for.

    `arguments` is always the text of a JSON object, fit to be replayed. When what the model sent was not one, `arguments` is "{}" and
    `malformed` keeps the original text: the call is answered with an error and never executed.
    """

    id: str
    name: str
    arguments: str
    malformed: str | None = None
    extra: JsonObject | None = None
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to a tool call. `text` is never blank."""

    call_id: str
    name: str
    text: str
    is_error: bool = False
    kind: Literal["tool_result"] = "tool_result"


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of one role. `origin` names the model that produced an assistant message (`ModelIdentity.fingerprint`), "" otherwise."""

    role: Role
    parts: tuple[Part, ...]
    origin: str = ""

    @property
    def text(self) -> str:
        """All words of the message, without reasoning, calls and results."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """All reasoning text of the message."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the order the model made them."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results the message carries."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def user_message(text: str) -> Message:
    """A message in the user's role."""
    return Message("user", (Text(text),))


def result_message(*results: ToolResult) -> Message:
    """The answers to the calls of one assistant message, in call order."""
    return Message("tool", results)


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as a model sees it: its name, what it is for, and the JSON Schema of its arguments (an object schema)."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, normalised across dialects. None means the provider did not say; it is never guessed as 0.

    `total_input` includes cached tokens (`cached`, `cache_written` are parts of it); `output` includes `reasoning`.
    """

    total_input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_written: int | None = None
    reasoning: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(_sum(getattr(self, name), getattr(other, name)) for name in self.__slots__))


def _sum(left: int | None, right: int | None) -> int | None:
    """Unknown plus known is at least the known part, so the known part is shown."""
    if left is None or right is None:
        return left if right is None else right
    return left + right


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model answers, through whom and in which dialect (`openai`, `responses`, `anthropic`)."""

    provider: str
    model: str
    api_format: str
    context_window: int | None = None
    prices: Mapping[str, float] | None = field(default=None, compare=False)  # per million tokens: input, output, cached, cache_written

    @property
    def fingerprint(self) -> str:
        """Opaque parts of a message are replayed only to the same fingerprint."""
        return f"{self.api_format}:{self.provider}:{self.model}"
