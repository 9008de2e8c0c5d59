"""What a wire format offers to whoever carries the bytes.

The carrier (`llm.transport`) opens one `Encoder` per dialogue and asks it for one `Decoder` per attempt. It never looks into a body or an
event. The usual course of an attempt:

    response = POST base_url + dialect.path, headers dialect.headers(key, quirks), body b"".join(encoder.body(options))
    status != 200           -> raise dialect.classify(status, headers, body, now=clock time)
    decoder = encoder.decoder()
    content type is JSON    -> decoder.whole(body), then decoder.result()
    else                    -> feed every event until decoder.finished or the end of the stream, then decoder.result()
    RejectedRequest raised  -> if encoder.adjust(error.rejection): repeat at once, else raise it
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, TypeAlias

from yagent.llm.engine import CallOptions, Completed, Head, ModelConfigurationError, ModelError, ReasoningDelta, TextDelta
from yagent.llm.quirks import Quirks, ReasoningReplay
from yagent.llm.sse import SseEvent
from yagent.protocol.messages import Message, ModelIdentity, Usage
from yagent.records import dataclass

Delta: TypeAlias = TextDelta | ReasoningDelta


@dataclass(frozen=True, slots=True)
class Rejection:
    """What a 400 or 422 complained about. `parameter` is the path the server named (None when it named none), `message` its words."""

    message: str
    parameter: str | None = None
    code: str = ""


class RejectedRequest(ModelConfigurationError):
    """The server refuses the request as it is. `Encoder.adjust` may know a form it accepts; if not, this error stands."""

    def __init__(self, message: str, *, rejection: Rejection, status: int | None = None, detail: str = "") -> None:
        super().__init__(message, status=status, detail=detail)
        self.rejection = rejection


@dataclass(frozen=True, slots=True)
class WireSettings:
    """What the user configured for a provider. None, and 0 for both numbers, mean "not set" (C-05).

    `output_ceiling` is the most the model can write, in tokens, from the catalogue; None when unknown.
    """

    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str = ""
    output_ceiling: int | None = None


@dataclass(slots=True)
class Learned:
    """What a server taught us by rejecting requests. One per engine, shared by its dialogues, so a lesson is paid for once (A32)."""

    dropped: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    ceilings: dict[str, int] = field(default_factory=dict)
    replay: ReasoningReplay | None = None


@dataclass(frozen=True, slots=True)
class WireModel:
    """One model as the wire sees it."""

    identity: ModelIdentity
    settings: WireSettings
    quirks: Quirks
    learned: Learned = field(default_factory=Learned)


class Decoder(Protocol):
    """Reads the reply of one attempt."""

    @property
    def finished(self) -> bool:
        """The protocol's own end mark was seen; nothing of interest follows."""
        ...

    @property
    def usage(self) -> Usage | None:
        """What the server has reported so far, None for nothing."""
        ...

    def feed(self, event: SseEvent) -> Iterable[Delta]:
        """Take one event. Raises a `ModelError` when the event is an error or cannot be read."""
        ...

    def whole(self, body: bytes) -> Iterable[Delta]:
        """Take the reply of a server that answered with one JSON document although a stream was asked for."""
        ...

    def result(self) -> Completed:
        """The assembled reply, callable whenever the stream is over. Raises `TransientModelError` when it was cut short."""
        ...


class Encoder(Protocol):
    """Owns the bytes of one dialogue. Each message is encoded once, when it is appended."""

    def append(self, message: Message) -> None:
        """Encode a message behind the others. Raises `ValueError` when results and calls do not pair up."""
        ...

    def body(self, options: CallOptions) -> Sequence[bytes]:
        """The request body in pieces, to be joined as they are. No earlier message is looked at."""
        ...

    def decoder(self) -> Decoder:
        """A reader for the reply to the request that `body` last built."""
        ...

    def adjust(self, rejection: Rejection) -> bool:
        """Change what the server complained about; True when the request is different now and may be repeated. Ends after finitely many."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """A wire format. `name` is the `api_format` of the configuration, `path` is appended to the base URL.

    `classify(status, headers, body, now)` turns a reply that is not a 2xx into the error to raise; header names are lower case, `now` is
    in seconds since 1970 (for `Retry-After` dates).
    """

    name: str
    path: str
    encoder: Callable[[Head, WireModel], Encoder]
    headers: Callable[[str, Quirks], Mapping[str, str]]
    classify: Callable[[int, Mapping[str, str], bytes, float], ModelError]
