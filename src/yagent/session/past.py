"""A recorded session that is opened again: which one is meant, what it had come to, and whether it may go on."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from yagent.agents.delegation.spawn import Desk
from yagent.agents.loop.task import TaskAccount
from yagent.blackboard.commands import CommandEvidence, command_from
from yagent.patterns import pattern
from yagent.protocol.client import UnderWay
from yagent.protocol.ids import DIRECTOR, AgentIdentity
from yagent.protocol.messages import Message, ToolCall
from yagent.records import dataclass
from yagent.rollout.index import IN_USE, SessionSummary, list_sessions, resumable
from yagent.rollout.marks import COMMAND_ENDED
from yagent.rollout.reader import Account, events_named, session_files
from yagent.rollout.replay import Replayed
from yagent.rollout.scan import SessionRecords
from yagent.runtime.left_behind import remove_half_written
from yagent.runtime.supervise import in_thread
from yagent.session.request import DEMONSTRATIONS, Resume
from yagent.session.resume import ResumeRefused
from yagent.session.taking_up import DONE, MAY_GO_ON, TakenUp, TakingUp

NEWEST = 100  # sessions among which the newest that is not in use is looked for
_RESULT = pattern(r"\[([a-z_]+#\d+) · ")


@dataclass(frozen=True, slots=True)
class Past:
    """What a resumed session brings with it."""

    records: SessionRecords
    director: Replayed
    taking_up: TakingUp
    left_out: tuple[str, ...] = ()

    @property
    def session(self) -> str:
        """Its id."""
        return self.records.session

    @property
    def board(self) -> str:
        """The name of its board."""
        return (self.director.meta.board_id if self.director.meta is not None else "") or self.session

    @property
    def prompt(self) -> str:
        """The user's words that began it."""
        return "" if self.director.meta is None else self.director.meta.task

    @property
    def has_begun(self) -> bool:
        """Whether anything was said; a process may be killed before."""
        return bool(self.director.messages)

    @property
    def goes_on(self) -> bool:
        """Whether its last task was stopped, and may go on where it stood."""
        try:
            self.check_goes_on()
        except ResumeRefused:
            return False
        return True

    @property
    def notices(self) -> tuple[str, ...]:
        """What could not be read of its record, one line each."""
        return tuple(f"The record of session {self.session}: {text}" for text in (*self.left_out, *self.director.account.skipped))

    def commands(self) -> tuple[CommandEvidence, ...]:
        """The ends of commands it has on record, oldest first; what is damaged proves nothing. Blocks."""
        found = {}
        for data in events_named(self.records.files, COMMAND_ENDED):
            with suppress(KeyError, TypeError, ValueError):
                evidence = command_from(data)
                found[evidence.id] = evidence
        return tuple(sorted(found.values(), key=lambda each: (len(each.id), each.id)))

    def check_goes_on(self) -> None:
        """Raises `ResumeRefused` unless there is a last task, and it was stopped or its process killed (I-32)."""
        ended = self.director.stop_reason
        if not self.has_begun and not self.prompt:
            raise ResumeRefused(f'Nothing of session {self.session} is on the record, not even its task. Begin again: yagent -p "…"')
        new_words = f'yagent -r {self.session} -p "…"'
        if ended in DONE:
            raise ResumeRefused(
                f"Session {self.session} has its answer, which is on the record: yagent sessions show {self.session}. "
                f"Say what to do next: {new_words}"
            )
        if ended not in MAY_GO_ON:
            raise ResumeRefused(
                f"Session {self.session} was not stopped on the way ({resumable(ended)[1]}). Say what to do next: {new_words}"
            )

    async def under_way(self) -> tuple[UnderWay, ...]:
        """The agents that were under way, the Director first (I-33)."""
        taken = await self.taking_up.agent(AgentIdentity(DIRECTOR), self.director, self.records.director)
        own = () if self.director.stop_reason in MAY_GO_ON else (self.director.stop_reason,)
        return (UnderWay(DIRECTOR, "", taken.resumption.step, self.prompt, own), *self._below(taken))

    def _below(self, taken: TakenUp) -> Iterator[UnderWay]:
        for stopped in taken.stopped.values():
            commission, resumption = stopped.commission, stopped.resumption
            delegation_id = commission.identity.delegation_id
            step = 0 if resumption is None else resumption.step
            yield UnderWay(commission.role.name, delegation_id, step, commission.task, stopped.reasons)
            if resumption is not None:
                yield from self._below(self.taking_up.of(delegation_id))

    async def take_up(self, account: TaskAccount, desk: Desk, *, goes_on: bool) -> TakenUp:
        """Where the Director goes on; the account of the task takes up the results he has. What cannot go on is told and kept here where he
        is told something new, else by whoever delegated it."""
        names = {child.meta.delegation_id: child.meta.name or child.meta.agent for child in self.records.delegations}
        account.results.recall(dict(_results(self.director.messages)), names)
        taken = await self.taking_up.agent(AgentIdentity(DIRECTOR), self.director, self.records.director, goes_on=goes_on)
        for stopped in () if goes_on else taken.stopped.values():
            if stopped.reasons:
                account.warn(stopped.warning)
                account.results.keep(stopped.commission.name, stopped.told)
                await desk.degraded(stopped.commission, stopped.reasons, stopped.report)
        for note in self.taking_up.notes:
            account.warn(note)
        for path in await in_thread(self._remove_half_written):
            account.warn(f"Removed {path}: a file that was half written when the process was killed.")
        return taken

    def _remove_half_written(self) -> list[Path]:
        """Clear away what edits that were cut short left beside their files, so that no agent commits it. Blocks."""
        if self.director.meta is None:
            return []
        root = Path(os.path.realpath(self.director.meta.project_dir))
        places = {Path(os.path.realpath(root / path)).parent for call in self.taking_up.unknown() if (path := _path(call)) is not None}
        return [path for place in sorted(places) if place.is_relative_to(root) for path in remove_half_written(place)]


def _path(call: ToolCall) -> str | None:
    """The file a call names."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return None
    path = arguments.get("path") if isinstance(arguments, dict) else None
    return path if isinstance(path, str) and "\0" not in path else None


def _results(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """The results of delegations that a conversation holds, oldest first, by their names."""
    for message in messages:
        for result in message.results:
            found = _RESULT.match(result.text) if result.name.startswith("delegate_") else None
            if found is not None:
                yield found[1], result.text


def find(directory: Path, workspace: Path, wanted: Resume) -> Path:
    """The Director's file of the session that is meant, of this workspace. Blocks.

    Raises:
        ResumeRefused: there is none, or several, or it belongs to another directory.
    """
    if not wanted.session:
        return _newest(directory)
    found = session_files(directory, wanted.session) if directory.is_dir() else {}
    if len(found) > 1:
        raise ResumeRefused(f"{len(found)} sessions have an id that begins with {wanted.session!r}: {', '.join(found)}. Give more of it.")
    if not found:
        raise ResumeRefused(_nowhere(directory, workspace, wanted.session))
    return next(iter(found.values()))[0]


def _newest(directory: Path) -> Path:
    listed = list_sessions(directory, NEWEST)
    free = next((summary for summary in listed if summary.reason != IN_USE), None)
    if free is None:
        what = "Every session of this directory is open in another process." if listed else "No session is recorded for this directory."
        raise ResumeRefused(f'{what} Begin a new one: yagent -p "…"')
    return free.path


def _nowhere(directory: Path, workspace: Path, prefix: str) -> str:
    """Why a session is not to be had here: most often it belongs to another directory."""
    others = sorted(directory.parent.iterdir()) if directory.parent.is_dir() else []
    elsewhere = [each for place in others if place.is_dir() for each in _of(place, prefix)]
    if not elsewhere:
        return f"No recorded session has an id that begins with {prefix!r}. See: yagent sessions list --all"
    if elsewhere[0].path.parent.name == DEMONSTRATIONS:
        return f"Session {elsewhere[0].session} is a demonstration. The last one that was stopped goes on with: yagent demo --resume"
    other = elsewhere[0].project_dir
    if os.path.isdir(other):
        return f"Session {elsewhere[0].session} belongs to {other}, not to {workspace}. Go on with it there: cd {other}"
    return (
        f"Session {elsewhere[0].session} belongs to {other}, which does not exist any more. It can be read: yagent sessions show {prefix}"
    )


def _of(place: Path, prefix: str) -> list[SessionSummary]:
    return [summary for summary in list_sessions(place, NEWEST, Account()) if summary.session.startswith(prefix)]
