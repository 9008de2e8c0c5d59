"""The engine port: what the loop needs from a model, and nothing about any wire.

An `Engine` stands for one model behind one provider. `open` starts a `Dialogue`: a fixed head (system prompt, tools) and a list of messages
that only grows. A dialogue encodes each message once, when it is appended, so a request costs what is new and its prefix is byte-identical
to the request before. One dialogue is one epoch (decisions, "Conversation and cache"): what changes the head or the past opens a new one.

`Dialogue.stream` yields events until `Completed`; it retries by itself what may be retried and raises a `ModelError` otherwise:

    TransientModelError      retry: dropped connection, stalled stream, 5xx, malformed reply   (raised after the last retry)
      RateLimited            wait: 429 and overload, with the time the server asked for
    ContextTooLong           the request does not fit the window; never repeated unchanged
    ModelConfigurationError  fix the config: key, model name, address, rejected parameter
    ModelGaveUp              give up: refusal, quota used up, content filter, a reply that cannot be used
"""

from collections.abc import AsyncGenerator, Callable
from typing import ClassVar, Literal, Protocol, TypeAlias

from yagent.errors import YagentError
from yagent.protocol.messages import Message, ModelIdentity, ToolDeclaration, Usage
from yagent.records import dataclass

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "pause", "refusal", "content_filter", "unknown"]


class ModelError(YagentError):
    """A model call failed. `detail` is the provider's own text, shortened, with keys removed. `is_document`: an error or a page came in the
    place of an answer, under a status that promised one."""

    is_document = False

    def __init__(self, message: str, *, status: int | None = None, detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


class TransientModelError(ModelError):
    """Trying again may help."""

    exit_code: ClassVar[int] = 75


class RateLimited(TransientModelError):
    """The server asked us to wait. `retry_after` is in seconds, None when it did not say how long."""

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = None, detail: str = "") -> None:
        super().__init__(message, status=status, detail=detail)
        self.retry_after = retry_after


class ContextTooLong(ModelError):
    """The request exceeds the model's window."""

    exit_code: ClassVar[int] = 3


class ModelConfigurationError(ModelError):
    """The provider settings cannot work as they are."""

    exit_code: ClassVar[int] = 2


class ModelGaveUp(ModelError):
    """The model or provider will not answer this request."""


@dataclass(frozen=True, slots=True)
class Head:
    """The fixed beginning of a dialogue. `tools` keep their order; `conversation_id` stays for the life of the conversation (cache key)."""

    conversation_id: str
    system: str
    tools: tuple[ToolDeclaration, ...] = ()
    long_lived: bool = False  # the Director's: asks the provider for the longer cache time


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What may differ from call to call without touching the prefix. None is "not set": the field stays off the wire.

    `hint` is said in this request only: it rides at the end of the newest message, where that is a result or the user's; "" for none.
    """

    max_output_tokens: int | None = None
    temperature: float | None = None
    forbid_tools: bool = False  # tool choice "none"; the declared tools stay as they are
    hint: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Words of the answer as they arrive."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Reasoning as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The request is on the wire (after queueing for a slot). `size` in bytes, 0 where nothing was really sent."""

    size: int = 0


@dataclass(frozen=True, slots=True)
class Answering:
    """The server has accepted the request: from here on the attempt costs something, whatever becomes of it. `so_far()` is the usage it has
    reported until now, None for nothing."""

    so_far: Callable[[], Usage | None]


@dataclass(frozen=True, slots=True)
class NotAnswering:
    """What began was an error or a page and no answer: the attempt costs nothing after all."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The attempt failed; all deltas since the last `Sent` are void. The next attempt starts after `delay` seconds."""

    reason: str
    delay: float
    attempt: int


@dataclass(frozen=True, slots=True)
class Completed:
    """The whole reply. `model` is the name the provider reported ("" when it did not), `notes` what was repaired or dropped on the way."""

    message: Message
    finish: Finish
    usage: Usage | None
    model: str = ""
    notes: tuple[str, ...] = ()


StreamEvent: TypeAlias = TextDelta | ReasoningDelta | Sent | Answering | NotAnswering | Retrying | Completed


class Dialogue(Protocol):
    """One epoch of one conversation with one model."""

    def append(self, message: Message) -> None:
        """Add a message for good. Tool results must answer calls of the last assistant message, each exactly once."""
        ...

    def stream(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """Send everything appended so far and yield what comes back; ends after `Completed`. Does not append the reply.

        Whoever may leave early closes the generator (`contextlib.aclosing`), so that the connection and its slot are free at once.
        """
        ...


class Engine(Protocol):
    """One model behind one provider."""

    @property
    def identity(self) -> ModelIdentity:
        """Which model this is."""
        ...

    def open(self, head: Head) -> Dialogue:
        """Start a dialogue; no request is made."""
        ...
