"""The engine that asks a model over HTTP: slot, attempt, stream, and again where that may help."""

import logging
import random
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import field

from yagent.llm.dialects.port import Decoder, Delta, Dialect, Encoder, RejectedRequest, WireModel
from yagent.llm.dialects.recognise import foreign_format
from yagent.llm.endpoint import Endpoint
from yagent.llm.engine import (
    Answering,
    CallOptions,
    Head,
    ModelConfigurationError,
    ModelError,
    ModelGaveUp,
    NotAnswering,
    Retrying,
    Sent,
    StreamEvent,
    TextDelta,
    TransientModelError,
)
from yagent.llm.inflight import InFlightGate
from yagent.llm.retry import RetrySettings, judge
from yagent.llm.sse import SseEvent, SseParser
from yagent.llm.transport.http import HttpClients, HttpReply, HttpRequest
from yagent.protocol.messages import Message, ModelIdentity
from yagent.records import dataclass
from yagent.runtime.clock import Clock, Deadline

logger = logging.getLogger(__name__)

MOST_ADJUSTMENTS = 8
CONTENT_BYTES = 12_000_000  # of one reply; the longest output of any model is a tenth of it
TELLING_EVENTS = 3  # of a stream, which show its format
_ENVELOPE = 256  # bytes of a stream event that are not content
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """`timeout` limits one call in all, its retries included and its wait for a slot not; None is no limit (C-21, G-13)."""

    timeout: float | None = 900.0
    retry: RetrySettings = field(default_factory=RetrySettings)


@dataclass(frozen=True, slots=True)
class EngineServices:
    """What all engines of a process share."""

    clients: HttpClients
    gate: InFlightGate
    clock: Clock
    random: Callable[[], float] = random.random


class HttpEngine:
    """One model behind one HTTP endpoint; implements `Engine`."""

    def __init__(self, model: WireModel, dialect: Dialect, endpoint: Endpoint, settings: EngineSettings, services: EngineServices) -> None:
        self._model = model
        self._dialect = dialect
        self._endpoint = endpoint
        self._settings = settings
        self._services = services
        self._reached = self._proven = False  # by any reply at all, by a whole one

    @property
    def identity(self) -> ModelIdentity:
        """See `Engine.identity`."""
        return self._model.identity

    def open(self, head: Head) -> "HttpDialogue":
        """See `Engine.open`."""
        return HttpDialogue(self, self._dialect.encoder(head, self._model))

    async def call(self, encoder: Encoder, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """One logical call: see `Dialogue.stream`."""
        async with self._services.gate.slot():
            deadline = self._services.clock.deadline(self._settings.timeout)
            failures = 0
            while True:
                try:
                    async with aclosing(self._accepted(encoder, options, deadline)) as events:
                        async for event in events:
                            yield event
                    return
                except ModelError as error:
                    failures += 1
                    retrying = self._after(error, failures, deadline)
                yield retrying
                await self._services.clock.sleep(retrying.delay)

    def _after(self, error: ModelError, failures: int, deadline: Deadline) -> Retrying:
        """The wait before the next attempt; raises what the caller gets when there is none. Nothing of either tells a key."""
        error.args, error.detail = (self._endpoint.without_secrets(str(error)),), self._endpoint.without_secrets(error.detail)
        never_reached = not self._reached
        settings = self._settings.retry.hasty() if never_reached else self._settings.retry
        verdict = judge(error, failures=failures, remaining=deadline.remaining(), settings=settings, random=self._services.random)
        logger.info("attempt %d with %s failed: %s", failures, self.identity.fingerprint, error)
        if verdict.delay is None:
            advice = f" Check the network, a proxy, and the base URL {self._endpoint.without_secrets(self._endpoint.url(''))}."
            raise self._explained(error, verdict.reason + (advice if never_reached and isinstance(error, TransientModelError) else ""))
        return Retrying(str(error), verdict.delay, failures)

    async def _accepted(self, encoder: Encoder, options: CallOptions, deadline: Deadline) -> AsyncGenerator[StreamEvent, None]:
        """One attempt, repeated at once in another form while the server names what it does not take and we know better (A32)."""
        for _ in range(MOST_ADJUSTMENTS):
            try:
                async with aclosing(self._attempt(encoder, options, deadline)) as events:
                    async for event in events:
                        yield event
                return
            except RejectedRequest as error:
                if not encoder.adjust(error.rejection):
                    raise
                logger.info("%s rejected %s; sending another form", self.identity.fingerprint, error.rejection.parameter)
        raise ModelConfigurationError(f"{self._endpoint.host} rejects every form of the request this program knows; see its log.")

    async def _attempt(self, encoder: Encoder, options: CallOptions, deadline: Deadline) -> AsyncGenerator[StreamEvent, None]:
        request = HttpRequest("POST", self._endpoint.url(self._dialect.path), self._headers(), encoder.body(options))
        yield Sent(sum(map(len, request.body)))
        async with self._services.clients.send(request, deadline) as reply:
            self._reached = True
            if not 200 <= reply.status < 300:
                now = self._services.clock.wall().timestamp()
                raise self._dialect.classify(reply.status, reply.headers, await reply.read_some(), now)
            decoder = encoder.decoder()
            yield Answering(lambda: decoder.usage)
            size = _Size()
            try:
                async with aclosing(self._deltas(reply, decoder, size)) as deltas:
                    async for delta in deltas:
                        yield delta
            except ModelError as error:
                if error.is_document and size.events <= 1:
                    yield NotAnswering()
                raise
        completed = decoder.result()
        self._proven = True
        yield completed

    async def _deltas(self, reply: HttpReply, decoder: Decoder, size: "_Size") -> AsyncGenerator[StreamEvent, None]:
        """What the body says, whatever the server calls its type: many name it wrongly, the first byte never does."""
        chunk = start = await self._beginning(reply)
        if start[:1] in (b"{", b"["):
            size.take(len(start))
            body = start + await _rest(reply, size)
            self._demand_own_format(body.decode("utf-8", "replace"))
            for delta in decoder.whole(body):
                yield delta
            return
        if start[:1] == b"<":
            raise self._page()
        parser = SseParser()
        while chunk and not decoder.finished:
            for delta in joined(self._decoded(parser.feed(chunk), decoder, size)):
                yield delta
            chunk = b"" if decoder.finished else await reply.read()
        if decoder.finished:
            await reply.drain()
            return
        for event in parser.end():
            for delta in decoder.feed(event):
                yield delta

    def _decoded(self, events: Iterable[SseEvent], decoder: Decoder, size: "_Size") -> Iterator[Delta]:
        """What these events bring, each as soon as it is asked for."""
        for event in events:
            size.events += 1
            size.take(len(event.data) - _ENVELOPE)
            self._demand_own_format(event.data, size.events)
            yield from decoder.feed(event)

    def _demand_own_format(self, text: str, number: int = 1) -> None:
        """Raises `ModelConfigurationError` for a reply, or one of the first events of one, in another wire format than was asked for."""
        found = None if self._proven or number > TELLING_EVENTS else foreign_format(text, self._dialect.name)
        if found is not None:
            error = ModelConfigurationError(
                f"{self._endpoint.host} does not answer in the format {self._dialect.name!r}: its reply looks like {found!r}. "
                f"Set api_format (or YAGENT_API_FORMAT) to {found!r}."
            )
            error.is_document = True
            raise error

    async def _beginning(self, reply: HttpReply) -> bytes:
        """The body up to and with the first chunk that has more than blanks."""
        start = b""
        while not start and (chunk := await reply.read()):
            start = chunk.removeprefix(_BYTE_ORDER_MARK).lstrip()
        return start

    def _page(self) -> ModelError:
        """A page for people: the address of a web site, or a gateway in front of a model that worked before."""
        message = f"{self._endpoint.host} sent a web page instead of a model's reply"
        error: ModelError = ModelConfigurationError(f"{message}: check its base URL, and whether a sign-in page is in the way.")
        if self._proven:
            error = TransientModelError(f"{message}.")
        error.is_document = True
        return error

    def _headers(self) -> dict[str, str]:
        own = self._dialect.headers(self._endpoint.key(), self._model.quirks)
        given = {**own, **self._endpoint.authorization, **self._endpoint.headers}
        return {"content-type": "application/json", "accept": "text/event-stream", **given}

    def _explained(self, error: ModelError, reason: str) -> ModelError:
        """The error as the user reads it: with the provider, the key's source and the model where they are what has to change."""
        if error.status in (401, 403):
            key = f"The key came from {self._endpoint.key_source}." if self._endpoint.key() else "No key was sent."
            if self._endpoint.authorization:
                key = "The user name and password came from the address."
            reason = f"{key} {reason}"
        elif error.status in (404, 405):
            reason = f"Asked for the model {self.identity.model!r} at {self._endpoint.shown(self._dialect.path)}. {reason}"
        error.args = (f"{self._endpoint.provider}: {error} {reason}".rstrip(),)
        return error


class HttpDialogue:
    """One dialogue with an `HttpEngine`; implements `Dialogue`."""

    def __init__(self, engine: HttpEngine, encoder: Encoder) -> None:
        self._engine = engine
        self._encoder = encoder

    def append(self, message: Message) -> None:
        """See `Dialogue.append`."""
        self._encoder.append(message)

    def stream(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """See `Dialogue.stream`. Whoever leaves before `Completed` closes the iterator (`aclose`), which frees its slot at once."""
        return self._engine.call(self._encoder, options)


def joined(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """The same text in fewer pieces: what arrived together and is of one kind is told together, also before what then fails."""
    kind: type[Delta] = TextDelta
    texts: list[str] = []
    try:
        for delta in deltas:
            if type(delta) is not kind and texts:
                yield kind("".join(texts))
                texts = []
            kind = type(delta)
            texts.append(delta.text)
    except ModelError:
        if texts:
            yield kind("".join(texts))
        raise
    if texts:
        yield kind("".join(texts))


class _Size:
    """How much content a reply has brought, and in how many events. All of it is in memory several times before it is refused by anybody
    else."""

    def __init__(self) -> None:
        self._bytes = 0
        self.events = 0

    def take(self, size: int) -> None:
        """Raises `ModelGaveUp` when there is more than any model writes."""
        self._bytes += max(0, size)
        if self._bytes > CONTENT_BYTES:
            raise ModelGaveUp(
                f"The server sent a reply of more than {CONTENT_BYTES // 1_000_000} MB of content, which no model writes; "
                "it was given up. Check the server, or choose another one."
            )


async def _rest(reply: HttpReply, size: _Size) -> bytes:
    parts = []
    while chunk := await reply.read():
        size.take(len(chunk))
        parts.append(chunk)
    return b"".join(parts)
