"""What agents leave for each other in a session: notes with their evidence, results too long for a conversation, the ends of commands."""

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from pathlib import Path

from yagent.agents.delegation.handover import Handed, References
from yagent.agents.delegation.spawn import Commission
from yagent.agents.loop.recorder import Recorder
from yagent.agents.loop.result import RunResult
from yagent.blackboard.artifacts import ArtifactNotKept, Artifacts, is_artifact_id
from yagent.blackboard.board import Board, Changed, Draft, NoteNotKept, nothing_changed
from yagent.blackboard.commands import CommandEvidence, CommandKind, command_data
from yagent.blackboard.evidence import MARKS, Evidence, Look
from yagent.blackboard.note import NoteHead, NoteStatus, whole_text
from yagent.blackboard.resolve import resolve
from yagent.blackboard.settings import BlackboardSettings
from yagent.blackboard.verification import Verification, verification
from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.marks import COMMAND_ENDED
from yagent.rollout.records import EventMessage
from yagent.runtime.clock import Clock
from yagent.runtime.regular_file import open_regular
from yagent.runtime.supervise import in_thread

LARGEST_FILE = 16 * 1024 * 1024  # bytes of a file that evidence looks at
BYTES_PER_TOKEN = 4  # for the budget of a result, which need not be exact


@dataclass(frozen=True, slots=True)
class Shelves:
    """Where things are kept: the notes of all sessions, artifacts, and the workspace the evidence is in. `may_read` says whether an agent
    may read a path without asking (it blocks): evidence looks at nothing else."""

    notes: Path
    artifacts: Path
    workspace: Path
    may_read: Callable[[str], bool]


class Desk:
    """The desk of one session. `dropped(id)` gives a text that was taken out of a conversation, None for no such id."""

    def __init__(
        self,
        shelves: Shelves,
        board_id: str,
        clock: Clock,
        settings: BlackboardSettings,
        *,
        dropped: Callable[[str], Awaitable[str | None]],
        commands: Sequence[CommandEvidence] = (),
    ) -> None:
        self._settings = settings
        self._dropped = dropped
        self.changed: Changed = nothing_changed
        self._evidence = Evidence(_look(shelves), commands)
        self._board = Board(shelves.notes, board_id, clock, settings, self._evidence, self._changed_now)
        self._artifacts = Artifacts(shelves.artifacts, clock, settings)
        self._has_notes: bool | None = None  # not looked yet

    @property
    def board(self) -> Board:
        """The notes."""
        return self._board

    async def index(self, told: Collection[str]) -> str:
        """The board at a glance, "" while it is empty, without the results that were `told` just now."""
        if self._has_notes is None:
            self._has_notes = self._settings.enabled and await in_thread(os.path.isdir, self._board.directory)
        return await self._board.index(told) if self._has_notes else ""

    async def resolve(self, references: Sequence[str]) -> References | None:
        """What earlier results are meant; None where there are no notes."""
        if not self._settings.enabled:
            return None
        pack = await resolve(references, self._board, self._artifacts.read)
        return References(pack.texts, (*pack.unresolved, *pack.left_out), pack.known)

    async def full_text(self, identifier: str) -> str:
        """The text that an id stands for. Raises NoSuchArtifact."""
        if not is_artifact_id(identifier) and (text := await self._dropped(identifier)) is not None:
            return text
        return await self._artifacts.read(identifier)

    async def ran(self, recorder: Recorder, command: str, exit_code: int | None, output: bytes, *, kind: CommandKind = "check") -> str:
        """Keep the end of a command with the files it found changed, on the record too; gives the id by which it can be cited."""
        changed = await self.changed()
        evidence = await in_thread(partial(self._evidence.ran, command, exit_code, output, changed, kind=kind))
        recorder.append(EventMessage(COMMAND_ENDED, command_data(evidence)))
        return evidence.id

    async def verified(self) -> Verification:
        """Whether what the task changed is proven by a command that ran since."""
        return await in_thread(verification, self._evidence, await self.changed())

    async def keep(self, commission: Commission, result: RunResult, changed: Sequence[str]) -> Handed:
        """Keep the result of a delegation: its note, and as an artifact what is too long to be told."""
        if result.stop_reason is StopReason.PAUSED:
            return Handed()
        found = await in_thread(verification, self._evidence, changed)
        problems: list[str] = []
        short = artifact = ""
        try:
            kept = await self._artifacts.fit(whole_text(result.handoff, result.deliverable), result.handoff, _tokens)
            short, artifact = (kept.text, kept.artifact) if kept.artifact else ("", "")
        except ArtifactNotKept as failure:
            problems.append(str(failure))
        role, _, number = commission.name.partition("#")
        draft = Draft(
            agent=role,
            delegation_id=commission.identity.delegation_id,
            status=_status(result),
            body=result.deliverable or str(result.error or ""),
            handoff=result.handoff,
            number=int(number) if number.isdecimal() else 0,
            task=commission.task,
            stop_reason=result.stop_reason.value,
            verification=found.state,
            artifact=artifact,
        )
        head = await self._written(draft, problems)
        marks = await self._marks(head) if head is not None and result.handoff is not None else ()
        cited = (place.command for places in (() if head is None else head.anchors) for place in places if place.command)
        proofs = dict.fromkeys([*([] if found.proof is None else [found.proof.id]), *cited])
        checks = tuple(each.id for each in self._evidence.commands if each.kind != "other")
        task = await self._standing() if found.state == "none" and result.ran else ""
        return Handed(short, found.state, found.reason, marks, tuple(problems), artifact, tuple(proofs), checks, task)

    async def _standing(self) -> str:
        """Whether what the task changed is proven by now, in words; "" where it changed nothing."""
        found = await self.verified()
        if found.proof is not None:
            return f"verified by {found.proof.id}"
        return f"{found.state}: {found.reason}" if found.reason else ""

    async def degraded(self, commission: Commission, reasons: Sequence[str], report: str) -> None:
        """Keep the report on a delegation that did not go on."""
        role, _, number = commission.name.partition("#")
        draft = Draft(
            agent=role,
            delegation_id=commission.identity.delegation_id,
            status="degraded",
            body=report,
            number=int(number) if number.isdecimal() else 0,
            task=commission.task,
            reasons=tuple(reasons),
        )
        await self._written(draft, [])

    async def _changed_now(self) -> Sequence[str]:
        return await self.changed()

    async def _marks(self, head: NoteHead) -> tuple[str, ...]:
        """One for each fact of a note."""
        return tuple(MARKS[verdict.mark] for verdict in await self._board.verdicts(head))

    async def _written(self, draft: Draft, problems: list[str]) -> NoteHead | None:
        """Write a note; what it says, None where there is none."""
        try:
            head = await self._board.write(draft)
        except NoteNotKept as failure:
            problems.append(str(failure))
            return None
        self._has_notes = self._has_notes or head is not None
        return head


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN


def _status(result: RunResult) -> NoteStatus:
    """J-03: the outcome of the delegation decides `error`, its own word the rest."""
    return "ok" if result.status == "ok" else "partial" if result.status == "partial" else "error"


def _look(shelves: Shelves) -> Look:
    """Paths are judged as they are read, from the workspace: a leading `~` is no home directory here."""
    workspace = shelves.workspace
    return Look(_reader(workspace), _stamper(workspace), may_read=lambda path: shelves.may_read(str(workspace / path)))


def _reader(workspace: Path) -> Callable[[str], bytes | None]:
    def read(path: str) -> bytes | None:
        place = workspace / path
        try:
            with open_regular(place) as stream:
                data = stream.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            return None
        if len(data) > LARGEST_FILE:
            raise OSError(f"{path} is too large to be looked at")
        return data

    return read


def _stamper(workspace: Path) -> Callable[[str], object]:
    def stamp(path: str) -> object:
        try:
            status = os.stat(workspace / path)
        except FileNotFoundError:
            return "none"
        return (status.st_mtime_ns, status.st_size, status.st_ino)

    return stamp
