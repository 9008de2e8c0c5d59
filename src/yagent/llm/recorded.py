"""An engine that plays what a model once said, and compares what the tools answer now with what they answered then.

A recording is a list of conversations, each of one agent. A dialogue is given the first conversation that is not taken yet, was held by
the same agent (first line of the system prompt) and whose task occurs in its first user message; around the task that message may say
other things now (date, place). From there the order within the conversation decides; a conversation that was cut short inside calls first
says these again.

Nothing is pretended: what differs is reported as a `Divergence`, and a request beyond the recording is an error. Two things end a record
early without one: it was cut there on purpose, or the recorded run was stopped; then the replay ends the run in words of its own. With a
live engine a dialogue goes on there instead, after everything that was said so far.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256

from yagent.llm.divergence import Divergence, Places, compare_results, different, excerpt, normalise
from yagent.llm.engine import CallOptions, Completed, Dialogue, Engine, Finish, Head, ModelGaveUp, StreamEvent
from yagent.llm.playback import Playback
from yagent.llm.saying_again import IsOpen, said_again, turns_said
from yagent.llm.scripted import UnknownAgent, agent_of, task_of
from yagent.protocol.messages import Message, ModelIdentity, Text, ToolCall, ToolResult, Usage
from yagent.records import dataclass

FREE = Usage(0, 0)  # nothing was sent to anybody


class ReplayDiverged(ModelGaveUp):
    """The run no longer follows its recording."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One reply of the model, and what happened until the next.

    `results` are the known ones of its calls, in call order; `told` is what the agent was told in the user's role afterwards, None where
    that is not to be compared. `run` numbers the runs of a lasting conversation; a run ends by itself unless its last turn has `closing`:
    the words with which the replay ends it where its record stops.
    """

    message: Message
    finish: Finish = "stop"
    usage: Usage | None = None
    results: tuple[ToolResult, ...] = ()
    told: tuple[str, ...] | None = None
    run: int = 0
    step: int = 0
    closing: str = ""


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """What one agent was told and said.

    `id` is "" for the Director, else that of the delegation; `agent` is the first line of the system prompt, `task` the words it was given,
    `name` is for people, `prompt` the fingerprint of the whole system prompt ("" unknown). Turns from number `live_from` on are not played:
    a live model's are compared with them.
    """

    id: str
    agent: str
    task: str
    turns: tuple[RecordedTurn, ...]
    name: str = ""
    prompt: str = ""
    live_from: int | None = None

    @property
    def played(self) -> int:
        """How many turns are played."""
        return len(self.turns) if self.live_from is None else self.live_from


def _never(result: ToolResult) -> bool:
    """Every result is taken for what it says."""
    return False


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """`strict` stops at the first divergence. `places` are texts to be taken for one another: (as recorded or as now, common name).
    `is_open` tells the results of calls that were cut short: where a conversation is taken up, these are made again."""

    strict: bool = False
    places: Places = ()
    is_open: IsOpen = _never


async def _nobody(conversation: RecordedConversation, turn: RecordedTurn) -> None:
    """Nobody wants to know."""


class RecordedSession:
    """The state of a replay: who has which conversation, and how far it is. `report` hears of each divergence.

    `run` is the run of the lasting conversation that is under way; turns of later ones are not given out. `playing` is awaited before a
    turn is told. `remarks` collects what is not as it was and yet no divergence.
    """

    def __init__(
        self, conversations: Sequence[RecordedConversation], report: Callable[[Divergence], None], settings: ReplaySettings | None = None
    ) -> None:
        self.settings = settings or ReplaySettings()
        self.run = 0
        self.playing: Callable[[RecordedConversation, RecordedTurn], Awaitable[None]] = _nobody
        self.remarks: dict[str, None] = {}
        self._report = report
        self._free = [conversation for conversation in conversations if conversation.turns]
        self._taken: dict[str, _Place] = {}
        self._left: list[_Place] = []

    def report_unplayed(self) -> None:
        """Report the first conversation whose turns were not all asked for."""
        places = (*self._left, *self._taken.values(), *map(_Place, self._free))
        behind = next((place for place in places if place.position < place.conversation.played), None)
        if behind is not None:
            conversation, at = behind.conversation, behind.position
            left = f"{conversation.played - at} of {conversation.played} replies"
            self.report(Divergence(conversation.name or conversation.agent, "", "", "unplayed", left, step=conversation.turns[at].step))

    def report(self, divergence: Divergence) -> ReplayDiverged | None:
        """Tell of a divergence; the error to stop with, where the replay is strict."""
        self._report(divergence)
        return ReplayDiverged(str(divergence)) if self.settings.strict else None

    def place(self, head: Head, messages: Sequence[Message]) -> "_Place | None":
        """Where a dialogue is in the recording; None when no recorded conversation fits.

        A dialogue that begins with replies goes on behind them. A second one under the same conversation id goes on where the first one
        stopped, unless that one is used up and this one is new.
        """
        place = self._taken.get(head.conversation_id)
        said = turns_said(messages, self.settings.is_open)
        if place is not None and (said or place.position < place.conversation.played):
            return place
        fitting = self._fitting(head, " ".join(task_of(tuple(messages)).split()))
        if fitting is None:
            return None
        self._free.remove(fitting)
        if place is not None:
            self._left.append(place)
        if fitting.prompt and fitting.prompt != prompt_fingerprint(head.system):
            self.remarks[f"{fitting.name or fitting.agent} has another system prompt now than in the record."] = None
        place = self._taken[head.conversation_id] = _Place(fitting)
        place.position = min(said, fitting.played)
        return place

    def _fitting(self, head: Head, words: str) -> RecordedConversation | None:
        """The conversation of this agent and task: the same delegation's before others, a longer task before one it contains."""
        agent = agent_of(head)
        fitting = [each for each in self._free if each.agent == agent and " ".join(each.task.split()) in words]
        same = [each for each in fitting if each.id and head.conversation_id.endswith(f"-{each.id}")]
        return max(same or fitting, key=lambda each: len(each.task), default=None)


class _Place:
    """How far a conversation has been played, and followed by a live model."""

    def __init__(self, conversation: RecordedConversation) -> None:
        self.conversation = conversation
        self.position = 0
        self.followed: int | None = conversation.live_from

    @property
    def name(self) -> str:
        return self.conversation.name or self.conversation.agent

    def next(self, run: int) -> RecordedTurn | None:
        """The next turn of a run; None when its record has no more."""
        conversation = self.conversation
        if self.position >= conversation.played or conversation.turns[self.position].run > run:
            return None
        self.position += 1
        return conversation.turns[self.position - 1]

    def closing(self) -> str:
        """The words that end the run where its record stops, "" when the record ended by itself."""
        return self.conversation.turns[self.position - 1].closing if self.position else ""

    def reference(self) -> RecordedTurn | None:
        """The turn to compare a live model's reply with; None when there is none, or the model left the record before."""
        if self.followed is None or self.followed >= len(self.conversation.turns):
            return None
        self.followed += 1
        return self.conversation.turns[self.followed - 1]


class RecordedEngine:
    """Plays a recorded session; implements `Engine`. `live` answers what lies beyond the recording."""

    def __init__(self, session: RecordedSession, playback: Playback, *, identity: ModelIdentity, live: Engine | None = None) -> None:
        self.session = session
        self.playback = playback
        self.live = live
        self._identity = identity

    @property
    def identity(self) -> ModelIdentity:
        """See `Engine.identity`."""
        return self._identity if self.live is None else self.live.identity

    def open(self, head: Head) -> "RecordedDialogue":
        """See `Engine.open`."""
        return RecordedDialogue(head, self)


class RecordedDialogue:
    """One conversation with a recording; implements `Dialogue`."""

    def __init__(self, head: Head, engine: RecordedEngine) -> None:
        self._head = head
        self._engine = engine
        self._session = engine.session
        self._messages: list[Message] = []
        self._told: list[str] = []
        self._place: _Place | None = None
        self._last: RecordedTurn | None = None
        self._live: Dialogue | None = None
        self._stop: ReplayDiverged | None = None

    def append(self, message: Message) -> None:
        """See `Dialogue.append`. Results are compared here; a strict replay stops at the next call."""
        self._messages.append(message)
        if self._live is not None:
            self._live.append(message)
        if message.role == "user":
            self._told.append(message.text)
        if message.results and self._place is not None and self._last is not None:
            for found in compare_results(self._place.name, self._last.results, message.results, self._session.settings.places):
                self._report(replace(found, step=self._last.step))

    async def stream(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """See `Dialogue.stream`."""
        await self._engine.playback.ready()
        self._compare_told()
        if self._stop is not None:
            raise self._stop
        reply = None if self._live is not None else self._next()
        if reply is None:
            async with aclosing(self._going_on(options)) as events:
                async for event in events:
                    yield event
            return
        if self._place is not None and self._last is not None:
            await self._session.playing(self._place.conversation, self._last)
        async for event in self._engine.playback.tell(reply):
            yield event

    def _next(self) -> Completed | None:
        """The next reply of the recording; None when a live model has to give it.

        Raises:
            UnknownAgent: no recorded conversation fits.
            ReplayDiverged: the conversation's record is used up.
        """
        is_taken_up = self._place is None
        place = self._place = self._place or self._session.place(self._head, self._messages)
        if place is None:
            self._check_goes_on()
            return None
        again = said_again(self._messages, self._session.settings.is_open) if is_taken_up else None
        if again is not None:
            return Completed(again, "tool_calls", FREE, self._engine.identity.model)
        turn = self._last = place.next(self._session.run)
        identity = self._engine.identity
        if turn is not None:
            return Completed(turn.message, turn.finish, turn.usage if self._engine.live is None else FREE, identity.model)
        is_used_up = place.position >= place.conversation.played
        if self._engine.live is not None and is_used_up:
            return None
        if place.closing():
            message = Message("assistant", (Text(place.closing()),), identity.fingerprint)
            return Completed(message, "stop", FREE, identity.model)
        over = Divergence(place.name, "", "", "over", step=place.position)
        self._session.report(over)
        raise ReplayDiverged(f"{over}.")

    def _check_goes_on(self) -> None:
        """Somebody has to answer where no recorded conversation fits."""
        if self._engine.live is not None:
            return
        found = Divergence(agent_of(self._head), "", "", "unknown", now=excerpt(task_of(tuple(self._messages))))
        self._session.report(found)
        raise UnknownAgent(f"{found}.")

    async def _going_on(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """What the live model says."""
        if self._live is None:
            if self._engine.live is None:
                raise AssertionError("only a live engine goes beyond the recording")
            self._live = self._engine.live.open(self._head)
            for message in self._messages:
                self._live.append(message)
        async with aclosing(self._live.stream(options)) as events:
            async for event in events:
                if isinstance(event, Completed):
                    self._follow(event.message)
                yield event

    def _follow(self, message: Message) -> None:
        """Compare a live reply's calls with the recorded ones, as long as they have been the same."""
        place, turn = self._place, None if self._place is None else self._place.reference()
        self._last = None
        if place is None or turn is None:
            return
        places = self._session.settings.places
        recorded, now = (_calls_as_text(each.calls, places) for each in (turn.message, message))
        if recorded != now:
            place.followed = None
            was, is_now = different(recorded, now) or (recorded, now)
            self._report(Divergence(place.name, "", "", "calls", was, is_now, turn.step))
            return
        new_ids = {then.id: call.id for then, call in zip(turn.message.calls, message.calls, strict=True)}
        self._last = replace(turn, results=tuple(replace(result, call_id=new_ids[result.call_id]) for result in turn.results))

    def _compare_told(self) -> None:
        """Compare what the agent was told since the last reply with what it was told then."""
        told, self._told = self._told, []
        if self._place is None or self._last is None or self._last.told is None:
            return
        texts = different("\n".join(self._last.told), "\n".join(told), self._session.settings.places)
        if texts is not None:
            self._report(Divergence(self._place.name, "", "", "told", *texts, step=self._last.step))

    def _report(self, divergence: Divergence) -> None:
        self._stop = self._stop or self._session.report(divergence)


def prompt_fingerprint(system: str) -> str:
    """How a record names a system prompt."""
    return sha256(system.encode()).hexdigest()[:16]


def _calls_as_text(calls: Sequence[ToolCall], places: Places) -> str:
    """What a reply asks for, the same however its arguments are spaced and ordered."""
    return "; ".join(f"{call.name} {normalise(_canonical(call.arguments), places)}" for call in calls) or "an answer in words"


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
