"""One model call: from the conversation so far to a complete reply, with everything in between told to the bus."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, aclosing

from yagent.agents.loop.frame import EventPublisher, Frame
from yagent.agents.loop.stop import UnansweredError
from yagent.llm.engine import (
    Answering,
    CallOptions,
    Completed,
    Dialogue,
    ModelGaveUp,
    NotAnswering,
    RateLimited,
    ReasoningDelta,
    Retrying,
    Sent,
    StreamEvent,
    TextDelta,
    TransientModelError,
)
from yagent.protocol.events import (
    AiChunk,
    AiResponse,
    AiStreamEnd,
    AiStreamStart,
    LlmCallEnd,
    LlmCallStart,
    LlmRetry,
    Thinking,
)
from yagent.protocol.messages import ModelIdentity, Usage
from yagent.records import dataclass
from yagent.runtime.activity import TaskTimeoutError, TotalTimeoutError

BACKOFF_CAP = 30.0  # seconds (E-18)
CALL_STOPPED = "stopped"  # told of a call that was in flight when its agent was ended: no error
SILENT_SECONDS = 60.0  # without a word after which a provider that has replied before counts as being in trouble
FIRST_SECONDS = 1.0  # the same for one that has not: a call that was stopped as it was sent, or before, says nothing of it
PAUSES = 8  # how often in a row a provider may interrupt its own turn and ask to go on


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How often a failed model call is tried again by the loop, after the engine's own attempts. `backoff` is the first wait in seconds."""

    step_retries: int = 2
    backoff: float = 2.0


class Turn:
    """Makes the model calls of one run; `dialogue()` is the one to call."""

    def __init__(self, dialogue: Callable[[], Dialogue], identity: ModelIdentity, frame: Frame, settings: TurnSettings) -> None:
        self._dialogue = dialogue
        self._identity = identity
        self._frame = frame
        self._settings = settings
        self._calls = 0
        self._failed = 0  # attempts of the reply under way
        self._has_replied = False
        self._trouble = ""  # what kept the newest call from its reply
        self._is_only_silent = False  # which is a slow model's right: no failure of its provider

    def with_trouble(self, over: TotalTimeoutError) -> TotalTimeoutError:
        """The end of the run's time, told with what kept the newest call from its reply."""
        if not self._trouble:
            return over
        used, advice = str(over).partition(";")[0], "see whether the provider works, or give more time"
        if self._has_replied or self._is_only_silent or isinstance(over, TaskTimeoutError):
            return type(over)(f"{used}; the newest reply did not come: {self._trouble}; {advice}", over.seconds)
        text = f"the time limit of {over.seconds:g} s was over before the model gave any reply: {self._trouble}; {advice}"
        return UnansweredError(text, over.seconds)

    async def query(self, options: CallOptions, *, is_last: bool = False) -> Completed:
        """The reply to everything said so far.

        A reply without words and calls, and a call that failed in passing, are tried again. Raises `ModelError`, or `LimitReached` when
        the task may not go on. `is_last`: the run hands over with this call.
        """
        attempt = self._failed = 0
        while True:
            try:
                reply = await self._call(options, is_last=is_last)
                _demand_content(reply)
                return reply
            except TransientModelError as failure:
                self._failed += 1
                asked = (failure.retry_after or 0.0) if isinstance(failure, RateLimited) else 0.0
                if attempt >= self._settings.step_retries or asked > BACKOFF_CAP:
                    if attempt:
                        failure.args = (f"{failure} Given up: {self._failed} attempts failed in {attempt + 1} rounds.",)
                    raise
                attempt += 1
                delay = max(asked, min(self._settings.backoff * 2 ** (attempt - 1), BACKOFF_CAP))
                self._frame.publisher.publish(LlmRetry(reason=str(failure), delay_seconds=delay, attempt=attempt + 1))
                with self._frame.activity.busy():
                    await self._frame.clock.sleep(delay)

    async def _call(self, options: CallOptions, *, is_last: bool) -> Completed:
        self._calls += 1
        told = _Telling(self._frame.publisher, self._identity, self._calls, self._frame.clock.now)
        bill = _Bill(self._frame, self._identity, is_last=is_last)
        try:
            with self._frame.activity.busy(), ExitStack() as queue:
                queue.enter_context(self._frame.activity.frozen())
                place = self._frame.account.admitted(self._frame.activity, is_last=is_last)
                async with place, aclosing(self._dialogue().stream(options)) as events:
                    return await self._followed(events, told, bill, queue.close)
        except BaseException as failure:
            is_stopped = isinstance(failure, asyncio.CancelledError)
            why = CALL_STOPPED if is_stopped else str(failure) or type(failure).__name__
            self._noted(told.silence() if is_stopped else None, failure)
            told.ended(bill.lost(), None, why)
            raise

    def _noted(self, silence: float | None, failure: BaseException) -> None:
        """Keep what kept a call from its reply: a failure, or when it was stopped that nothing had come for so many seconds."""
        if isinstance(failure, TransientModelError):
            self._trouble, self._is_only_silent = str(failure).rstrip("."), False
        elif silence is None:
            self._trouble = ""  # a reply was coming
        elif not self._trouble and silence >= (SILENT_SECONDS if self._has_replied else FIRST_SECONDS):
            self._trouble = f"{self._identity.provider} had not answered for {silence:.0f} s"
            self._is_only_silent = True

    async def _followed(
        self, events: AsyncIterator[StreamEvent], told: "_Telling", bill: "_Bill", leave_queue: Callable[[], None]
    ) -> Completed:
        """Follow a call to its end. Waiting for its turn to be sent counts against no timer of the run."""
        async for event in events:
            match event:
                case Sent():
                    leave_queue()
                    told.sent()
                    bill.size = event.size
                case Answering():
                    bill.so_far = event.so_far
                case NotAnswering():
                    bill.so_far = None
                case TextDelta():
                    told.chunk(event.text, "text")
                case ReasoningDelta():
                    told.chunk(event.text, "reasoning")
                case Retrying():
                    self._trouble, self._is_only_silent = event.reason.rstrip("."), False
                    told.ended(bill.lost(), None, event.reason)
                    self._failed += 1
                    bill.demand_room()
                    self._frame.publisher.publish(LlmRetry(reason=event.reason, delay_seconds=event.delay, attempt=event.attempt))
                case Completed():
                    self._has_replied, self._trouble = True, ""
                    told.completed(event, bill.completed(event.usage))
                    return event
        raise ModelGaveUp(
            f"{self._identity.model} ended its reply without completing it. This is a defect of its engine; please report it."
        )


def _demand_content(reply: Completed) -> None:
    """Raises `ModelError` for a reply that says and asks nothing."""
    if reply.message.calls or reply.message.text.strip() or reply.finish in ("refusal", "content_filter", "pause"):
        return
    if reply.finish == "length":
        raise ModelGaveUp(
            "The model reached its output limit before it said anything: it spent all of it on reasoning. "
            "Raise max_tokens, lower the reasoning effort, or choose another model."
        )
    raise TransientModelError("The model returned nothing: no words and no tool call. Try again, or choose another model.")


class _Bill:
    """What one call costs: each attempt that the server began to answer is charged once, whether it came to anything or not."""

    def __init__(self, frame: Frame, identity: ModelIdentity, *, is_last: bool) -> None:
        self._account, self._run = frame.account, frame.activity
        self._identity = identity
        self._is_last = is_last
        self.size = 0  # bytes of the newest request
        self.so_far: Callable[[], Usage | None] | None = None  # None while nothing is owed for it

    def completed(self, usage: Usage | None) -> float | None:
        """The cost of the call, None when unknown."""
        self.so_far = None
        return self._account.charge(self._identity, usage, self.size)

    def lost(self) -> Usage | None:
        """Charge what began and broke off, if anything did; what is known of it."""
        if self.so_far is None:
            return None
        usage, self.so_far = self.so_far(), None
        self._account.charge_lost(self._identity, usage, self.size)
        return usage

    def demand_room(self) -> None:
        """Raises `LimitReached` when another attempt would not fit."""
        self._account.demand_room(self._run, is_last=self._is_last)


class _Telling:
    """Tells the bus about one call: each start is followed by exactly one end."""

    def __init__(self, publisher: EventPublisher, identity: ModelIdentity, number: int, now: Callable[[], float]) -> None:
        self._publisher = publisher
        self._identity = identity
        self._number = number
        self._now = now
        self._started: float | None = None
        self._stream = ""
        self._attempt = 0

    def sent(self) -> None:
        self._started = self._now()
        self._attempt += 1
        self._publisher.publish(LlmCallStart(call_no=self._number, model=self._identity.model, provider=self._identity.provider, tier=None))

    def silence(self) -> float | None:
        """Seconds since the request was sent, in which nothing of a reply has come (0 while none is on its way); None when some has."""
        return None if self._stream else self._now() - (self._now() if self._started is None else self._started)

    def chunk(self, text: str, channel: str) -> None:
        if not self._stream:
            self._stream = f"{self._publisher.source}-{self._publisher.delegation_id or ''}-{self._number}.{self._attempt}"
            self._publisher.publish(AiStreamStart(stream_id=self._stream))
        self._publisher.publish(AiChunk(stream_id=self._stream, text=text, channel="text" if channel == "text" else "reasoning"))

    def completed(self, reply: Completed, cost: float | None) -> None:
        self._stream_ended(reply.finish)
        if reply.message.reasoning:
            self._publisher.publish(Thinking(text=reply.message.reasoning))
        if reply.message.text:
            self._publisher.publish(AiResponse(text=reply.message.text))
        self.ended(reply.usage, cost, None)

    def ended(self, usage: Usage | None, cost: float | None, error: str | None) -> None:
        self._stream_ended(None)
        if self._started is None:
            return
        duration = round((self._now() - self._started) * 1000)
        self._started = None
        self._publisher.publish(
            LlmCallEnd(
                call_no=self._number,
                model=self._identity.model,
                provider=self._identity.provider,
                tier=None,
                usage=usage,
                cost=cost,
                duration_ms=duration,
                error=error,
            )
        )

    def _stream_ended(self, finish: str | None) -> None:
        if self._stream:
            self._publisher.publish(AiStreamEnd(stream_id=self._stream, finish_reason=finish))
            self._stream = ""
