"""From the files of an agent back to its conversation, exactly as it stood.

One pass, in memory that of the conversation alone. What the record lacks or holds twice (a crash, damage) is repaired so that a provider
accepts it: each call has one result, no result is without its call. Whatever is repaired stands in the account.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from yagent.protocol.messages import Message, ToolCall, ToolResult
from yagent.records import dataclass
from yagent.rollout.marks import BEFORE, BEGUN, CLOSING, EFFECTS, RESUMED, USER_INPUT, Segment
from yagent.rollout.pairing import Paired
from yagent.rollout.reader import Account, named
from yagent.rollout.records import (
    AgentCheckpoint,
    Compacted,
    Entry,
    EventMessage,
    Record,
    ResponseItem,
    SessionMeta,
    TurnContext,
    is_progress,
    reached_step,
)


@dataclass(frozen=True, slots=True)
class StepMark:
    """A completed step of the agent: its number, counted from 1 over the whole session; the ordinal of its last record, where another
    session can begin; the names of the tools it called, none for an answer in words; what the terminal record tells that came before the
    next step, empty where there is none."""

    step: int
    ordinal: int
    tools: tuple[str, ...]
    end: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replayed:
    """An agent as its record leaves it."""

    meta: SessionMeta | None  # of the newest file that has one
    messages: tuple[Message, ...]  # each call answered, save those of `open_calls`: then the message that made them is the last
    open_calls: tuple[ToolCall, ...]  # of the newest message, without a result
    settled: Mapping[str, ToolResult]  # what is known of that message's other calls, by call id
    superseded: int  # results that a later one for the same call replaced
    step: int  # steps of the run that was under way
    checkpoint: AgentCheckpoint | None  # when the conversation did not go on after it
    stop_reason: str  # of the terminal record after the newest message; "" without one
    context: TurnContext | None  # the newest
    changed: tuple[str, ...]  # files the run under way changed so far
    changed_ever: tuple[str, ...]  # those of all runs
    closing: str  # the reason for which the run under way was made to end, "" for none
    ran: tuple[str, ...]  # commands it ran after the last change
    said: tuple[tuple[bool, str], ...]  # what the user and the agent said, whatever was compacted since; True for the user
    compactions: int  # how often the conversation was rewritten
    begun: frozenset[str]  # calls of the newest message whose delegations had begun
    before: Mapping[str, Any]  # state of the files before the task under way, as its own room wrote it; empty where it is not on record
    asked_at: int  # ordinal of the agent's newest message, 0 for none
    position: int  # highest ordinal
    account: Account
    steps: tuple[StepMark, ...]


def replay(segments: Sequence[Segment]) -> Replayed:
    """Read an agent's files, merged into one order. Blocks for seconds where the record is large: call it in a thread.

    Raises OSError when a file cannot be opened or read; what is no regular file is left out with account.
    """
    account = Account()
    run = _Run(account)
    for entry in heapq.merge(*(_entries(segment, account) for segment in segments), key=_ordinal):
        run.take(entry)
    return run.end()


def replaced(segments: Sequence[Segment], identifier: str) -> tuple[tuple[Message, ...], tuple[Message, ...]] | None:
    """What the compaction of this id took out of an agent's conversation, and what it put in its place; None when there is none such.

    Blocks. Raises as `replay`.
    """
    account = Account()
    run = _Run(account)
    for entry in heapq.merge(*(_entries(segment, account) for segment in segments), key=_ordinal):
        record = entry.record
        if isinstance(record, Compacted) and record.id == identifier:
            return run.paired.settled_messages()[: record.replaces], record.messages
        run.take(entry)
    return None


def _ordinal(entry: Entry) -> int:
    return entry.ordinal


def _entries(segment: Segment, account: Account) -> Iterator[Entry]:
    """The entries of one file that count, each once."""
    seen: set[int] = set()
    for entry in named(segment.path, account):
        if segment.until is not None and entry.ordinal > segment.until:
            continue
        if entry.ordinal in seen:
            account.note(f"{segment.path.name}: a second record {entry.ordinal} dropped ({entry.record.kind})")
            continue
        seen.add(entry.ordinal)
        yield entry


@dataclass(slots=True)
class _Run:
    """What has been read so far."""

    account: Account
    paired: Paired = field(init=False)
    meta: SessionMeta | None = None
    context: TurnContext | None = None
    checkpoint: AgentCheckpoint | None = None
    stop_reason: str = ""
    step: int = 0
    is_new_run: bool = True  # no step since the run before ended
    effects: Mapping[str, Any] = field(default_factory=dict)
    changed_ever: dict[str, None] = field(default_factory=dict)
    closing: str = ""
    before: Mapping[str, Any] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    said: list[tuple[bool, str]] = field(default_factory=list)
    compactions: int = 0
    asked_at: int = 0
    position: int = 0
    marks: list[StepMark] = field(default_factory=list)
    asked: Message | None = None  # the step that is not marked yet
    reached: int = 0  # ordinal of its last record
    ended: Mapping[str, Any] = field(default_factory=dict)  # what the newest terminal record since it tells

    def __post_init__(self) -> None:
        self.paired = Paired(self.account)

    def take(self, entry: Entry) -> None:
        record = entry.record
        self.position = max(self.position, entry.ordinal)
        if is_progress(record):
            self.checkpoint, self.stop_reason = None, ""
        if isinstance(record, ResponseItem):
            self._message(record.message, entry.ordinal)
        elif isinstance(record, EventMessage):
            self._event(record)
        elif isinstance(record, Compacted):
            self.paired.compact(record.replaces, record.messages)
            self.compactions += 1
            self.checkpoint = None  # it describes what was there before
        else:
            self._state(record)

    def end(self) -> Replayed:
        open_calls, settled = self.paired.end()
        if not open_calls:
            self._mark()
        return Replayed(
            meta=self.meta,
            messages=self.paired.messages(),
            open_calls=open_calls,
            settled=settled,
            superseded=self.paired.superseded,
            step=self.step,
            checkpoint=self.checkpoint,
            stop_reason=self.stop_reason,
            context=self.context,
            changed=_texts(self.effects.get("changed")),
            changed_ever=tuple(self.changed_ever),
            closing=self.closing,
            ran=_texts(self.effects.get("ran")),
            begun=frozenset(self.begun),
            said=tuple(self.said),
            compactions=self.compactions,
            before=self.before,
            asked_at=self.asked_at,
            position=max(self.position, self.account.position),
            account=self.account,
            steps=tuple(self.marks),
        )

    def _state(self, record: Record) -> None:
        if isinstance(record, TurnContext):
            self.context = record
        elif isinstance(record, AgentCheckpoint):
            self.checkpoint, self.step = record, record.step
        elif isinstance(record, SessionMeta):
            self.meta = record
            if record.continues:
                self.step, self.is_new_run = max(self.step, record.start_step), False

    def _event(self, record: EventMessage) -> None:
        if record.is_terminal:
            self.stop_reason, self.is_new_run = str(record.data.get("stop_reason", "unaccounted")), True
            self.ended = record.data
        elif (step := reached_step(record)) is not None:
            self.step, self.is_new_run = step, False
        elif record.name == RESUMED:
            self.is_new_run = False
        elif record.name == EFFECTS:
            self.effects = record.data
            self.changed_ever.update(dict.fromkeys(_texts(record.data.get("changed"))))
        elif record.name == CLOSING:
            self.closing = str(record.data.get("reason", ""))
        elif record.name == USER_INPUT:
            self.said.append((True, str(record.data.get("text", ""))))
        elif record.name == BEGUN:
            self.begun.add(str(record.data.get("call_id", "")))
        elif record.name == BEFORE:
            self.before = record.data

    def _message(self, message: Message, ordinal: int) -> None:
        if message.role == "tool":
            if self.paired.results(message.results):
                self.reached = ordinal
            return
        if message.role == "assistant":
            is_more_of_it = self.asked is not None and self.paired.goes_on()
            if not is_more_of_it:
                self._mark()
            self.asked, self.reached, self.asked_at, self.ended = message, ordinal, ordinal, {}
            self.begun.clear()
            self.said.append((False, message.text))
        else:
            self._mark()
            if self.is_new_run:
                self.step, self.effects, self.before, self.closing = 0, {}, {}, ""
        self.paired.append(message)

    def _mark(self) -> None:
        """The step under way is complete."""
        if self.asked is not None:
            tools = tuple([call.name for call in self.asked.calls])
            self.marks.append(StepMark(len(self.marks) + 1, self.reached, tools, self.ended))
            self.asked = None


def _texts(data: Any) -> tuple[str, ...]:
    return tuple(each for each in data if isinstance(each, str)) if isinstance(data, list) else ()
