"""An engine that plays what a model once said, and compares what the tools answer now with what they answered then.

A recording is a list of turns, in order, each belonging to a conversation of one agent. A dialogue is given the first conversation that is
not taken yet, was held by the same agent (first line of the system prompt) and whose task occurs in its first user message; around the
task that message may say other things now (date, place). From there the order within the conversation decides.

Nothing is pretended: a tool result that differs is reported as a `Divergence`, and a request beyond the recording is an error.
"""

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Literal, TypeAlias

from yagent.llm.engine import CallOptions, Completed, Finish, Head, ModelGaveUp, StreamEvent
from yagent.llm.playback import Playback
from yagent.llm.scripted import UnknownAgent, agent_of, task_of
from yagent.protocol.messages import Message, ModelIdentity, ToolResult, Usage
from yagent.records import dataclass

_EXCERPT = 200
_LEAD = 40
_Mask: TypeAlias = tuple[re.Pattern[str], str]

# What differs from run to run without meaning anything, the longer forms first.
_MASKS: tuple[_Mask, ...] = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "<moment>"),
    (re.compile(r"(?:/private)?/(?:var/folders/\w+/\w+/T|var/tmp|tmp)/[^\s'\":,;)\]}]+"), "<temporary>"),
    (re.compile(r"\b0x[0-9a-fA-F]{6,}\b"), "<address>"),
    (re.compile(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b"), r"\1:<port>"),
    (re.compile(r"\b(pid|process(?: id)?|job)([ =:#(]+)\d+", re.IGNORECASE), r"\1\2<process>"),
    (re.compile(r"\b\d+(?:\.\d+)?( ?)(ns|µs|us|ms|s|sec|secs|seconds?|min|minutes?)\b"), r"<duration>"),
    (re.compile(r"\b\d+:\d\d(:\d\d)?(\.\d+)\b"), "<duration>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class ReplayDiverged(ModelGaveUp):
    """The run no longer follows its recording."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One reply of the model, and what the tools answered to its calls (`results`, in call order; empty when the record ends there).

    `conversation` tells two conversations of one agent apart (a delegation id, "" for the Director's); `agent` is the first line of its
    system prompt and `task` the words it was given.
    """

    conversation: str
    agent: str
    task: str
    message: Message
    finish: Finish = "stop"
    usage: Usage | None = None
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Divergence:
    """One tool result that is not what the recording has. `recorded` and `now` are normalised and shortened around the difference."""

    agent: str
    tool: str
    call_id: str
    what: Literal["missing", "unexpected", "error flag", "text"]
    recorded: str = ""
    now: str = ""

    def __str__(self) -> str:
        subject = f"{self.agent}: the result of {self.tool} ({self.call_id})"
        return f"{subject} is not as recorded ({self.what}): was {self.recorded!r}, is {self.now!r}"


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """`strict` stops at the first divergence. `places` are texts to be taken for one another: (as recorded or as now, common name)."""

    strict: bool = False
    places: tuple[tuple[str, str], ...] = ()


class RecordedEngine:
    """Plays recorded turns; implements `Engine`. `report` hears of each divergence."""

    def __init__(
        self,
        turns: Sequence[RecordedTurn],
        playback: Playback,
        *,
        identity: ModelIdentity,
        report: Callable[[Divergence], None],
        settings: ReplaySettings | None = None,
    ) -> None:
        self._playback = playback
        self._identity = identity
        self._report = report
        self._settings = settings or ReplaySettings()
        self._free: dict[str, list[RecordedTurn]] = {}
        self._taken: dict[str, list[RecordedTurn]] = {}
        for turn in turns:
            self._free.setdefault(turn.conversation, []).append(turn)

    @property
    def identity(self) -> ModelIdentity:
        """See `Engine.identity`."""
        return self._identity

    @property
    def unplayed(self) -> int:
        """Turns nobody has asked for."""
        return sum(map(len, (*self._free.values(), *self._taken.values())))

    def open(self, head: Head) -> "RecordedDialogue":
        """See `Engine.open`. A second dialogue under one conversation id goes on where the first one stopped."""
        return RecordedDialogue(head, self)

    def take(self, head: Head, messages: Sequence[Message]) -> RecordedTurn:
        """The next turn for a dialogue.

        Raises:
            UnknownAgent: no recorded conversation fits.
            ReplayDiverged: the conversation's record is used up.
        """
        agent, task = agent_of(head), task_of(tuple(messages))
        if head.conversation_id not in self._taken:
            self._taken[head.conversation_id] = self._free.pop(self._fitting(agent, task))
        turns = self._taken[head.conversation_id]
        if not turns:
            raise ReplayDiverged(f"{agent}: the recording of this conversation is over, but the agent asks for another reply.")
        return turns.pop(0)

    def compare(self, agent: str, expected: Sequence[ToolResult], results: Sequence[ToolResult]) -> ReplayDiverged | None:
        """Report what differs between recorded and present results; the error to stop with, where the replay is strict."""
        divergences = compare_results(agent, expected, results, self._settings.places)
        for divergence in divergences:
            self._report(divergence)
        return ReplayDiverged(str(divergences[0])) if divergences and self._settings.strict else None

    async def play(self, turn: RecordedTurn) -> AsyncGenerator[StreamEvent, None]:
        """Tell one recorded reply."""
        completed = Completed(turn.message, turn.finish, turn.usage, self._identity.model)
        async for event in self._playback.tell(completed):
            yield event

    async def ready(self) -> None:
        """See `Playback.ready`."""
        await self._playback.ready()

    def _fitting(self, agent: str, task: str) -> str:
        words = _blanks(task)
        for conversation, turns in self._free.items():
            if turns[0].agent == agent and _blanks(turns[0].task) in words:
                return conversation
        raise UnknownAgent(f"The recording has no conversation left of the agent {agent!r} with the task {task[:120]!r}.")


class RecordedDialogue:
    """One conversation with a recording; implements `Dialogue`."""

    def __init__(self, head: Head, engine: RecordedEngine) -> None:
        self._head = head
        self._engine = engine
        self._messages: list[Message] = []
        self._last: RecordedTurn | None = None
        self._stop: ReplayDiverged | None = None

    def append(self, message: Message) -> None:
        """See `Dialogue.append`. Results are compared here; a strict replay stops at the next call."""
        self._messages.append(message)
        if message.results and self._last is not None:
            self._stop = self._engine.compare(agent_of(self._head), self._last.results, message.results)
            self._last = None

    async def stream(self, options: CallOptions) -> AsyncGenerator[StreamEvent, None]:
        """See `Dialogue.stream`."""
        await self._engine.ready()
        if self._stop is not None:
            raise self._stop
        self._last = self._engine.take(self._head, self._messages)
        async for event in self._engine.play(self._last):
            yield event


def compare_results(
    agent: str, expected: Sequence[ToolResult], results: Sequence[ToolResult], places: Sequence[tuple[str, str]] = ()
) -> list[Divergence]:
    """How the results of one batch differ from the recorded ones, in call order. No recorded results: nothing to compare with."""
    if not expected:
        return []
    now = {result.call_id: result for result in results}
    found = [_difference(agent, recorded, now.pop(recorded.call_id, None), places) for recorded in expected]
    extra = [Divergence(agent, result.name, result.call_id, "unexpected", now=result.text[:_EXCERPT]) for result in now.values()]
    return [item for item in found if item is not None] + extra


def normalise(text: str, places: Sequence[tuple[str, str]] = ()) -> str:
    """Text without what differs from run to run: moments, durations, temporary paths, process ids, addresses, and the given places."""
    for place, name in sorted(places, key=lambda pair: -len(pair[0])):
        text = text.replace(place, name)
    for pattern, name in _MASKS:
        text = pattern.sub(name, text)
    return text.strip()


def _difference(agent: str, recorded: ToolResult, result: ToolResult | None, places: Sequence[tuple[str, str]]) -> Divergence | None:
    if result is None:
        return Divergence(agent, recorded.name, recorded.call_id, "missing", recorded=recorded.text[:_EXCERPT])
    if recorded.is_error != result.is_error:
        excerpt = (result.text if result.is_error else recorded.text)[:_EXCERPT]
        was, now = ("success", f"error: {excerpt}") if result.is_error else (f"error: {excerpt}", "success")
        return Divergence(agent, recorded.name, recorded.call_id, "error flag", was, now)
    before, after = normalise(recorded.text, places), normalise(result.text, places)
    if before == after:
        return None
    pairs = enumerate(zip(before, after, strict=False))
    same = next((index for index, (left, right) in pairs if left != right), min(len(before), len(after)))
    start = max(0, same - _LEAD)
    end = start + _EXCERPT
    return Divergence(agent, recorded.name, recorded.call_id, "text", before[start:end], after[start:end])


def _blanks(text: str) -> str:
    return " ".join(text.split())
