"""From the files of a recorded session to what can be played again: the user's words, and every reply of every agent."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from yagent.agents.roles.roster import ROSTER
from yagent.errors import YagentError
from yagent.llm.engine import Finish
from yagent.llm.recorded import RecordedConversation, RecordedTurn
from yagent.prompts.text import Prompts
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import Message, ToolCall, ToolResult, Usage
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.rollout.marks import UNKNOWN_OUTCOME, Segment
from yagent.rollout.reader import Account, named, session_files, session_of
from yagent.rollout.records import Entry, EventMessage, ResponseItem, SessionMeta, TurnContext
from yagent.rollout.scan import ChildRecord, session_records
from yagent.tools.teaching import NOT_BEGUN, cancelled_output

REMINDERS: Final = ("cost_limit", "delegate_again", "delegate_first", "last_step", "no_action", "repo_no_action", "time_is_up")
FINISHED: Final = ("agent_exit", "plain_text")  # a run that ended so needs nobody to end it
_REQUEST, _END = "\n\n<request>\n", "\n</request>"  # around the user's words when the workspace is described before them


class ReplayRefused(YagentError):
    """A record cannot be replayed. Its text is three plain lines: what, where, how to fix."""

    exit_code: ClassVar[int] = USAGE

    def __init__(self, what: str, *, where: str, fix: str) -> None:
        super().__init__(f"{what}\n{where}\n{fix}")


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """One task: the user's words, how it ended ("" when that was not recorded), and how many steps it took."""

    prompt: str
    stop_reason: str = ""
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded session. `conversations` begin with the Director's; of it `asked_at` has the ordinal of each turn, `began` that of the
    first record of each delegation. `git` is what the record says of the repository; `remarks` say what could not be read."""

    session: str
    project_dir: str
    git: Mapping[str, Any]
    tasks: tuple[RecordedTask, ...]
    conversations: tuple[RecordedConversation, ...]
    asked_at: tuple[int, ...] = ()
    began: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Steps of the Director in all."""
        return self.conversations[0].turns[-1].step

    def until(self, step: int, *, goes_on: bool) -> "Recording":
        """The recording up to and with this step of the Director; delegations inside it are whole. When it `goes_on` (with a live model),
        the Director's later turns stay, to be compared with, and so do the user's later words."""
        director = self.conversations[0]
        kept = sum(turn.step <= step for turn in director.turns)
        if kept == len(director.turns):
            return self
        cut, run = self.asked_at[kept], director.turns[kept].run
        tasks = tuple(replace(task, stop_reason="") if number >= run else task for number, task in enumerate(self.tasks))
        inside = tuple(each for each, began in zip(self.conversations[1:], self.began, strict=True) if began < cut)
        began = tuple(ordinal for ordinal in self.began if ordinal < cut)
        if goes_on:
            return replace(self, tasks=tasks, conversations=(replace(director, live_from=kept), *inside), began=began)
        turns = director.turns[:kept]
        if turns[-1].run == run:
            closing = f"[The replay ends here, after step {step}, as asked.]"
            turns = (*turns[:-1], replace(turns[-1], closing=closing, told=None))
        conversations = (replace(director, turns=turns), *inside)
        return replace(self, tasks=tasks[: turns[-1].run + 1], conversations=conversations, began=began)


def find_recording(wanted: str, places: Sequence[Path]) -> Path:
    """The Director's file that is meant: a file of the session, or the session's id, or its first characters, looked for in `places`
    one after the other. Blocks.

    Raises ReplayRefused when there is none, or several.
    """
    path = Path(wanted)
    if path.is_file():
        session = session_of(path)
        beside = session_files(path.parent, session).get(session, []) if session else []
        return beside[0] if beside else path
    if path.suffix == ".jsonl" or len(path.parts) > 1:
        what = "That is no file, so it is no record." if path.exists() else "There is no such record."
        raise ReplayRefused(what, where=f"File: {wanted}", fix="Give a record's file, or the id of a session.")
    found: dict[str, list[Path]] = {}
    for place in places:
        found = found or (session_files(place, wanted) if place.is_dir() else {})
    if len(found) != 1:
        what = "No recorded session has" if not found else f"{len(found)} recorded sessions have"
        fix = "See: yagent sessions list --all" if not found else f"Give more of it: {', '.join(found)}"
        raise ReplayRefused(f"{what} an id that begins with {wanted!r}.", where=f"Looked in: {places[0].parent}", fix=fix)
    return next(iter(found.values()))[0]


def read_recording(path: Path) -> Recording:
    """Read the session of a Director's file, its delegations and what it was forked from. Blocks.

    Raises ReplayRefused when it cannot be played, OSError when a file cannot be read.
    """
    where = f"Record: {path}"
    account = Account()
    session = session_of(path)
    records = session_records(path.parent, session, account) if session else None
    director, delegations = (records.director, records.delegations) if records and records.director else ((Segment(path),), ())
    reading = _Reading(is_director=True)
    for entry in _entries(director, account):
        reading.take(entry)
    meta, turns = reading.meta, reading.turns()
    fix = "Give the Director's file of a session that yagent recorded; yagent sessions list shows them."
    if meta is None:
        raise ReplayRefused("This is no record of a session: it does not begin with whose it is.", where=where, fix=fix)
    if meta.delegation_id:
        raise ReplayRefused("This is the record of one delegation, and the Director's is not beside it.", where=where, fix=fix)
    if not turns:
        raise ReplayRefused("Nothing of this record can be replayed: it holds no reply of the Director.", where=where, fix=fix)
    children = [read for child in delegations if (read := _child(child, account)) is not None]
    conversations = (_conversation(meta, turns, reading.prompt), *(child for child, _ in children))
    stopped = {child.meta.call_id or child.meta.delegation_id for child in delegations if _was_stopped(child)}
    return Recording(
        session=session or meta.session,
        project_dir=meta.project_dir,
        git=meta.git,
        tasks=tuple(reading.tasks),
        conversations=tuple(_without(each, stopped) for each in conversations),
        asked_at=tuple(reading.asked_at),
        began=tuple(began for _, began in children),
        remarks=tuple(account.skipped),
    )


def _child(child: ChildRecord, account: Account) -> tuple[RecordedConversation, int] | None:
    """The conversation of a delegation and where it began; None when it said nothing."""
    reading = _Reading(is_director=False)
    for entry in _entries(child.segments, account):
        reading.take(entry)
    turns = reading.turns()
    return (_conversation(child.meta, turns, reading.prompt), child.first) if turns else None


def _conversation(meta: SessionMeta, turns: tuple[RecordedTurn, ...], prompt: str) -> RecordedConversation:
    name = AgentIdentity(meta.agent).label
    return RecordedConversation(meta.delegation_id, agent_line(meta.agent), meta.task, turns, name, prompt)


def _was_stopped(child: ChildRecord) -> bool:
    """Whether a delegation was stopped on its way, be it that it went on later: its result tells of that."""
    return len(child.segments) > 1 or child.stop_reason not in FINISHED


def _without(conversation: RecordedConversation, calls: set[str]) -> RecordedConversation:
    """The conversation without the results of these calls, which are nothing to compare with."""
    turns = (replace(turn, results=tuple(each for each in turn.results if each.call_id not in calls)) for turn in conversation.turns)
    return replace(conversation, turns=tuple(turns))


def agent_line(role: str) -> str:
    """The first line of a role's system prompt now; the role's name when there is no such role."""
    if role not in ROSTER:
        return role
    prompts, name = Prompts(), f"{role}.prompt.md"
    return prompts.text(name, **dict.fromkeys(prompts.variables(name), "")).strip().partition("\n")[0].strip()


@cache
def is_reminder(text: str) -> bool:
    """Whether the program itself says this to agents."""
    prompts = Prompts()
    return any(text == prompts.text(f"reminders/{name}.md") for name in REMINDERS)


def _entries(segments: Sequence[Segment], account: Account) -> Iterator[Entry]:
    """The entries of a conversation in order, each once."""
    seen = -1
    for entry in heapq.merge(*(_up_to(segment, account) for segment in segments), key=lambda entry: entry.ordinal):
        if entry.ordinal > seen:
            seen = entry.ordinal
            yield entry


def _up_to(segment: Segment, account: Account) -> Iterator[Entry]:
    return (entry for entry in named(segment.path, account) if segment.until is None or entry.ordinal <= segment.until)


@dataclass(slots=True)
class _Reply:
    """A reply of the agent while its conversation is read."""

    message: Message
    usage: Usage | None
    run: int
    step: int
    results: dict[str, ToolResult] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def turn(self, closing: str, *, is_last: bool) -> RecordedTurn:
        known = (self.results[call.id] for call in self.message.calls if call.id in self.results)
        results = tuple(result for result in known if not is_open(result))
        finish: Finish = "tool_calls" if self.message.calls else "stop"
        told = None if is_last else tuple(self.told)
        return RecordedTurn(self.message, finish, self.usage, results, told, self.run, self.step, closing)


class _Reading:
    """One conversation as it is read. A lasting one consists of runs: the Director's tasks."""

    def __init__(self, *, is_director: bool) -> None:
        self.meta: SessionMeta | None = None
        self.prompt = ""
        self.tasks: list[RecordedTask] = []
        self.asked_at: list[int] = []
        self._is_director = is_director
        self._replies: list[_Reply] = []
        self._reasons: list[str] = [""]  # why each run ended
        self._words = ""  # of the run under way
        self._has_ended = True
        self._openings = 0

    def take(self, entry: Entry) -> None:
        """The next entry."""
        record = entry.record
        match record:
            case SessionMeta():
                self.meta = self.meta or record
            case TurnContext():
                self.prompt = record.prompt
            case EventMessage() if record.is_terminal:
                self._reasons[-1], self._has_ended = str(record.data.get("stop_reason", "")), True
            case ResponseItem() if record.message.role == "assistant":
                self._reply(record, entry.ordinal)
            case ResponseItem() if record.message.role == "tool":
                for result in record.message.results:
                    self._result(result)
            case ResponseItem():
                self._told(record.message.text)

    def turns(self) -> tuple[RecordedTurn, ...]:
        """Every reply, once all is read."""
        self._end_run()
        runs = [*(reply.run for reply in self._replies[1:]), None]
        return tuple(
            reply.turn("" if reply.run == next_run else _closing(self._reasons[reply.run]), is_last=reply.run != next_run)
            for reply, next_run in zip(self._replies, runs, strict=False)
        )

    def _reply(self, record: ResponseItem, ordinal: int) -> None:
        before = self._replies[-1] if self._replies and self._replies[-1].run == len(self._reasons) - 1 else None
        goes_on = before is not None and not before.message.calls and not before.told
        last_step = self._replies[-1].step if self._replies else 0
        self._has_ended, self._reasons[-1] = False, ""
        self._replies.append(_Reply(record.message, record.usage, len(self._reasons) - 1, last_step + (not goes_on)))
        self.asked_at.append(ordinal)

    def _result(self, result: ToolResult) -> None:
        """The last result of a call wins; it belongs to the newest reply."""
        if self._replies and any(call.id == result.call_id for call in self._replies[-1].message.calls):
            self._replies[-1].results[result.call_id] = result

    def _told(self, text: str) -> None:
        is_opening = self._has_ended or (text.startswith("<environment") and text.endswith(_END))
        if self._is_director and is_opening:
            self._end_run()
            self._words = (self.meta.task if self.meta is not None and not self._openings else "") or _words(text)
            self._openings += 1
            self._has_ended = False
        elif self._replies and self._replies[-1].run == len(self._reasons) - 1:
            self._replies[-1].told.append(text)
        elif self._is_director:
            self._words += f"\n\n{text}"

    def _end_run(self) -> None:
        """The task under way is over; one that never got a reply is as if it had not been."""
        run = len(self._reasons) - 1
        steps = len({reply.step for reply in self._replies if reply.run == run})
        if steps:
            self.tasks.append(RecordedTask(self._words, self._reasons[run], steps))
            self._reasons.append("")


def is_open(result: ToolResult) -> bool:
    """Whether nobody knows how the call ended, because its run was stopped."""
    call = ToolCall(result.call_id, result.name, "")
    openings = (NOT_BEGUN.text, UNKNOWN_OUTCOME, cancelled_output(call).text)
    return result.is_error and result.text.startswith(openings)


def _closing(reason: str) -> str:
    """With which words the replay ends a run that did not end by itself."""
    if reason in FINISHED:
        return ""
    return f"[The record of this run ends here: {reason or 'its process ended'}.]"


def _words(text: str) -> str:
    """The user's words in the message that begins a task."""
    _, mark, words = text.rpartition(_REQUEST)
    return words.removesuffix(_END) if mark and words.endswith(_END) else text
