"""The notes of one session: written once, read from disk whenever they are shown.

A board is a directory, `<notes>/<board>/<agent>/<number>.md`; several tasks of a session share it (J-05). What is written here appears
whole or not at all. Methods that touch the disk do it in a thread.
"""

import errno
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeAlias

from yagent.blackboard.evidence import MARKS, Anchored, Evidence, Verdict
from yagent.blackboard.gc import SUFFIX, note_entries, prune
from yagent.blackboard.index import render_index
from yagent.blackboard.note import DamagedNote, Note, NoteHead, NoteStatus, beginning, decode, encode, is_number
from yagent.blackboard.settings import BlackboardSettings
from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.protocol.handoff import Handoff, HandoffStatus
from yagent.records import dataclass
from yagent.runtime.atomic import NotRegularFileError, make_private_directory, write_bytes, write_pieces
from yagent.runtime.clock import Clock
from yagent.runtime.regular_file import open_regular
from yagent.runtime.supervise import in_thread

Changed: TypeAlias = Callable[[], Awaitable[Sequence[str]]]

DIGITS: Final = 4  # at least, of a file's name, so that names sort
MOST_SUGGESTED: Final = 5
LARGEST_NOTE: Final = 16 * 1024 * 1024  # bytes
_SAFE_NAME: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_ID: Final = pattern(r"([A-Za-z][A-Za-z0-9._-]*?)(?:_agent)?\s*[#/]\s*0*([0-9]{1,9})(?:\.md)?")


class NoteNotKept(YagentError):
    """A note could not be written; what it says is in the conversation all the same."""


class NoSuchNote(YagentError):
    """No note has this id; the text names those that are near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a note is made of.

    `number` is the one its result has already (`repo#2`), 0 for the next free one. `handoff` is None where the agent handed over nothing.
    `status` is the outcome of the delegation (J-03); `reasons` go with `degraded`. `verification` is a word of `verification.State`.
    """

    agent: str
    delegation_id: str
    status: NoteStatus
    body: str
    handoff: Handoff | None = None
    number: int = 0
    task: str = ""
    stop_reason: str = ""
    reasons: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # ids of recorded commands that belong to it
    verification: str = "none"
    artifact: str = ""
    blueprint: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A note as it stands, and what is found now at each of its facts."""

    head: NoteHead
    verdicts: tuple[Verdict, ...]

    @property
    def marks(self) -> tuple[str, ...]:
        """One character for each fact."""
        return tuple(MARKS[verdict.mark] for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class Listing:
    """The notes of a board, newest first (there are `total`), and one line for each file that could not be read."""

    notes: tuple[Shown, ...] = ()
    problems: tuple[str, ...] = ()
    total: int = 0


class Board:
    """The notes of one session, below `notes`. Switched off, it is empty and takes nothing. `changed()` gives the files that the task has
    changed so far: a command that is cited proves nothing about what was edited after it."""

    def __init__(
        self,
        notes: Path,
        board_id: str,
        clock: Clock,
        settings: BlackboardSettings,
        evidence: Evidence,
        changed: Changed | None = None,
    ) -> None:
        self._directory = notes / safe_name(board_id)
        self._clock = clock
        self._settings = settings
        self._evidence = evidence
        self._changed = changed or nothing_changed
        self._known: dict[str, tuple[tuple[int, int, int], NoteHead]] = {}

    @property
    def directory(self) -> Path:
        """Where its notes are; it need not exist."""
        return self._directory

    async def write(self, draft: Draft) -> NoteHead | None:
        """Keep a note and give what it says, with what was found at its facts; None where notes are switched off.

        A second note of the same delegation under the same number takes the place of the first; a number that another delegation has
        gives way to the next free one.

        Raises:
            NoteNotKept: it could not be written.
        """
        if not self._settings.enabled:
            return None
        return await in_thread(self._write, draft, self._clock.wall())

    async def notes(self) -> Listing:
        """All notes, as far as they can be read."""
        return await self._listing() if self._settings.enabled else Listing()

    async def read(self, note_id: str) -> tuple[Note, Shown]:
        """A note by its id (`repo#2`), or the newest of an agent by the agent's name.

        Raises:
            NoSuchNote: there is none; the text names near ones.
        """
        if not self._settings.enabled:
            raise NoSuchNote("There are no notes: they are switched off (YAGENT_BLACKBOARD=0).")
        note = await in_thread(self._read, note_id)
        return note, Shown(note.head, await self.verdicts(note.head))

    async def index(self, told: Collection[str] = ()) -> str:
        """The newest notes, a line each, as a model is told of them, without those `told` just now; "" where there is nothing to tell."""
        if not self._settings.enabled or self._settings.index_max_notes <= 0:
            return ""
        listing = await self._listing(self._settings.index_max_notes, told)
        return render_index([(each.head, each.marks) for each in listing.notes], listing.total, self._settings)

    async def verdicts(self, head: NoteHead) -> tuple[Verdict, ...]:
        """What is found now at each fact of a note."""
        (shown,) = await self._shown([head])
        return shown.verdicts

    def _write(self, draft: Draft, now: datetime) -> NoteHead:
        handoff, status = draft.handoff, draft.status
        limit = self._settings.summary_max_runes
        if handoff is None:
            said: HandoffStatus = "partial" if status == "degraded" else status
            handoff = Handoff(beginning(draft.body.strip().partition("\n\n")[0], limit), status=said)
        belonging = set(draft.commands)
        head = NoteHead(
            agent=safe_name(draft.agent),
            stem="",
            created=now.isoformat(timespec="milliseconds"),
            status=status,
            handoff=handoff,
            submitted=draft.handoff is not None,
            delegation_id=draft.delegation_id,
            task=draft.task,
            stop_reason=draft.stop_reason,
            reasons=draft.reasons,
            anchors=tuple(self._evidence.record(fact.where) for fact in handoff.facts),
            commands=tuple(each for each in self._evidence.commands if each.id in belonging),
            verification=draft.verification,
            artifact=draft.artifact,
            blueprint=draft.blueprint,
        )
        try:
            make_private_directory(self._directory / head.agent)
            head = self._placed(head, draft)
            prune(self._directory, self._settings.max_notes_per_board)
        except (OSError, NotRegularFileError) as failure:
            advice = "make room there" if getattr(failure, "errno", None) in (errno.ENOSPC, errno.EDQUOT) else "see what is in the way"
            raise NoteNotKept(
                f"the note of {draft.agent} could not be kept in {self._directory} ({failure}); {advice}, or set YAGENT_NOTES_ROOT"
            ) from failure
        return head

    def _placed(self, head: NoteHead, draft: Draft) -> NoteHead:
        """Write under the number wanted, else under the next that is free."""
        directory = self._directory / head.agent
        number = draft.number
        if number > 0 and self._is_own(directory / _file_name(number), draft.delegation_id):
            head = replace(head, stem=f"{number:0{DIGITS}}")
            write_bytes(directory / _file_name(number), encode(Note(head, draft.body)))
            return head
        if number <= 0:
            number = 1 + max((int(stem) for stem in map(_stem, note_entries(directory)) if is_number(stem)), default=0)
        while True:
            head = replace(head, stem=f"{number:0{DIGITS}}")
            try:
                write_pieces(directory / _file_name(number), (encode(Note(head, draft.body)),))
            except FileExistsError:
                number += 1
            else:
                return head

    def _is_own(self, path: Path, delegation_id: str) -> bool:
        """Whether the note in this file is of the same delegation."""
        try:
            return _load(path).head.delegation_id == delegation_id != ""
        except (OSError, NotRegularFileError, DamagedNote):
            return False

    async def _listing(self, shown: int | None = None, told: Collection[str] = ()) -> Listing:
        """The newest notes, without those `told` by their ids; of those not `shown` nothing is checked."""
        problems: list[str] = []
        heads = [head for head in await in_thread(self._heads, problems) if head.id not in told]
        return Listing(await self._shown(heads[:shown]), tuple(problems), len(heads))

    async def _shown(self, heads: Sequence[NoteHead]) -> tuple[Shown, ...]:
        """Notes with what is found now; what the task has changed is asked for where a fact rests on a command."""
        is_cited = any(anchor.command for head in heads for anchors in head.anchors for anchor in anchors)
        return await in_thread(self._checked, heads, await self._changed() if is_cited else ())

    def _checked(self, heads: Sequence[NoteHead], changed: Sequence[str]) -> tuple[Shown, ...]:
        now = self._evidence.hashes_of(changed)
        return tuple(Shown(head, tuple(self._evidence.check_fact(each, now) for each in _anchors(head))) for head in heads)

    def _heads(self, problems: list[str]) -> list[NoteHead]:
        """What all notes say of themselves, the newest first; files that have not changed since are not read again."""
        known: dict[str, tuple[tuple[int, int, int], NoteHead]] = {}
        for entry in self._entries(problems):
            try:
                status = entry.stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                before = self._known.get(entry.path)
                known[entry.path] = before if before is not None and before[0] == stamp else (stamp, _load(Path(entry.path)).head)
            except FileNotFoundError:
                continue  # removed meanwhile
            except DamagedNote as failure:
                problems.append(str(failure))
            except (OSError, NotRegularFileError) as failure:
                problems.append(f"the note {entry.path} cannot be read ({failure})")
        self._known = known
        return sorted((head for _, head in known.values()), key=lambda head: (head.created, head.number), reverse=True)

    def _entries(self, problems: list[str]) -> Iterator["os.DirEntry[str]"]:
        """The files that are notes by their names, agent by agent."""
        try:
            with os.scandir(self._directory) as found:
                agents = sorted(entry.path for entry in found if entry.is_dir(follow_symlinks=False))
            for agent in agents:
                yield from note_entries(agent)
        except FileNotFoundError:
            return  # nothing was written yet
        except OSError as failure:
            problems.append(f"the notes in {self._directory} cannot be listed ({failure.strerror})")

    def _read(self, note_id: str) -> Note:
        problems: list[str] = []
        heads = self._heads(problems)
        head = find(heads, note_id)
        if head is None:
            raise NoSuchNote(missing(note_id, [each.id for each in heads], len(problems)))
        try:
            return _load(self._directory / head.agent / f"{head.stem}{SUFFIX}")
        except (OSError, NotRegularFileError) as failure:
            raise NoSuchNote(f"The note {head.id} cannot be read any more ({failure}).") from failure


async def nothing_changed() -> tuple[str, ...]:
    """No task has changed anything."""
    return ()


def safe_name(name: str) -> str:
    """A name that is one part of a path and nothing else. Raises NoteNotKept for any other."""
    if not _SAFE_NAME.fullmatch(name):
        raise NoteNotKept(f"{name!r} cannot be the name of a directory of notes; use letters, digits, dots, dashes and underscores")
    return name


def find(heads: Iterable[NoteHead], wanted: str) -> NoteHead | None:
    """The note of an id (`repo#2`, `repo/0002`, `repo_agent#2`), or the first of an agent's; the id never becomes a path."""
    name = wanted.strip().removeprefix("note:").strip().lower()
    match = _ID.fullmatch(name)
    plain = f"{match[1]}#{int(match[2])}" if match else name.removesuffix(SUFFIX)
    agent = name.removesuffix("_agent")
    return next((head for head in heads if head.id.lower() == plain or (not match and head.agent.lower() in (name, agent))), None)


def missing(wanted: str, ids: Sequence[str], unreadable: int = 0) -> str:
    """What to say of an id that leads nowhere, among so many more notes that cannot be read: it may be one of them."""
    asked = repr(beginning(wanted.strip(), 80))
    if unreadable:
        readable = f"; those that can: {', '.join(ids[:MOST_SUGGESTED])}" if ids else ""
        return f"There is no note {asked} that can be read{readable}. list_notes says what is wrong with {unreadable}."
    if not ids:
        return f"There is no note {asked}: no delegation has left one yet."
    near = get_close_matches(wanted.strip().lower(), ids, n=MOST_SUGGESTED, cutoff=0.5) or ids[:MOST_SUGGESTED]
    more = "" if len(near) == len(ids) else f" list_notes shows all {len(ids)}."
    return f"There is no note {asked}. There are: {', '.join(near)}.{more}"


def _anchors(head: NoteHead) -> list[tuple[Anchored, ...]]:
    """Those of each fact; there are none where no one looked when the note was written."""
    return [*head.anchors, *[()] * (len(head.handoff.facts) - len(head.anchors))]


def _stem(entry: "os.DirEntry[str]") -> str:
    return entry.name.removesuffix(SUFFIX)


def _file_name(number: int) -> str:
    return f"{number:0{DIGITS}}{SUFFIX}"


def _load(path: Path) -> Note:
    """A note from its file. Raises OSError, NotRegularFileError or DamagedNote."""
    with open_regular(path) as stream:
        data = stream.read(LARGEST_NOTE + 1)
    if len(data) > LARGEST_NOTE:
        raise DamagedNote(f"the note {path.parent.name}/{path.stem} is larger than {LARGEST_NOTE // 1024 // 1024} MB")
    return decode(data, path.parent.name, path.stem)
