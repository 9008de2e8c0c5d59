"""Reading what earlier delegations left: the list of their notes, a note, a text that was too long for the conversation."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Final, Literal, Protocol, TypeAlias

from yagent.blackboard.board import Listing, Shown
from yagent.blackboard.evidence import LEGEND
from yagent.blackboard.index import line_of, note_text
from yagent.blackboard.note import Note
from yagent.records import dataclass
from yagent.tools.bounds import sayable
from yagent.tools.builtin.places import counted, remarks
from yagent.tools.parameters import Describe
from yagent.tools.spec import AnySpec, CallContext, Effect, Output, Spec

PAGE_CHARACTERS: Final = 12_000  # unless asked otherwise
PAGE_BYTES: Final = 28_000  # so that a page stays whole below the general bound
PAGE_LINES: Final = 1_900
LINE_CHARACTERS: Final = 160
_PRIORITY: Final = 30  # it can be read again

FullText: TypeAlias = Callable[[str], Awaitable[str]]
"""The whole text behind an id; raises YagentError for one that leads nowhere."""


class NoteReader(Protocol):
    """The notes of the running session, bound by `session`."""

    async def notes(self) -> Listing:
        """All of them, newest first."""
        ...

    async def read(self, note_id: str) -> tuple[Note, Shown]:
        """One by its id; raises YagentError, with what there is, for an id that leads nowhere."""
        ...


@dataclass(frozen=True, slots=True)
class ListNotes:
    """Parameters of `list_notes`."""

    agent: Annotated[str, Describe("Only of this agent, such as repo.")] = ""
    status: Annotated[Literal["", "ok", "partial", "error", "degraded"], Describe("Only with this status.")] = ""


@dataclass(frozen=True, slots=True)
class ReadNote:
    """Parameters of `read_note`."""

    note_id: Annotated[str, Describe("Its id, repo#2.")]
    offset: Annotated[int, Describe("First character, from 0.", minimum=0)] = 0
    limit: Annotated[int, Describe("Characters.", minimum=1)] = PAGE_CHARACTERS


@dataclass(frozen=True, slots=True)
class ReadArtifact:
    """Parameters of `read_artifact`."""

    artifact_id: Annotated[str, Describe("Its id, as the result names it.")]
    offset: Annotated[int, Describe("First character, from 0.", minimum=0)] = 0
    limit: Annotated[int, Describe("Characters.", minimum=1)] = PAGE_CHARACTERS


def notes(reader: NoteReader, full_text: FullText) -> tuple[AnySpec, ...]:
    """The tools that read what was left. `full_text` knows artifacts, and results that were shortened in the conversation."""
    return (_list_notes(reader), _read_note(reader), _read_artifact(full_text))


def _list_notes(reader: NoteReader) -> Spec[ListNotes]:
    async def execute(parameters: ListNotes, call: CallContext) -> Output:
        listing = await reader.notes()
        agent = parameters.agent.strip().lower().removesuffix("_agent")
        chosen = [each for each in listing.notes if agent in ("", each.head.agent.lower()) and parameters.status in ("", each.head.status)]
        lines = [line_of(each.head, each.marks, LINE_CHARACTERS) for each in chosen]
        fitting = _fitting(lines)
        said = [f"marks of facts: {LEGEND}"] if any(each.verdicts for each in chosen[:fitting]) else []
        if fitting < len(lines):
            said.append(f"{len(lines) - fitting} older ones are left out; name an agent or a status to see fewer")
        if not chosen:
            lines, fitting = [_nothing(listing)], 1
        summary = counted(len(chosen), "note", "notes")
        return Output("\n".join([*lines[:fitting], *remarks([*said, *listing.problems])]), summary=summary)

    return Spec("list_notes", Effect.CONTEXT, ListNotes, execute, priority=_PRIORITY)


def _nothing(listing: Listing) -> str:
    """Why no note is listed."""
    if listing.notes:
        return f"No such note; without arguments you see all {len(listing.notes)}."
    return "No note can be read." if listing.problems else "No delegation has left a note yet."


def _read_note(reader: NoteReader) -> Spec[ReadNote]:
    async def execute(parameters: ReadNote, call: CallContext) -> Output:
        note, shown = await reader.read(parameters.note_id)
        return _page(note_text(note, shown.verdicts), parameters.offset, parameters.limit, ("read_note", "note_id", note.head.id))

    return Spec("read_note", Effect.CONTEXT, ReadNote, execute, priority=_PRIORITY)


def _read_artifact(full_text: FullText) -> Spec[ReadArtifact]:
    async def execute(parameters: ReadArtifact, call: CallContext) -> Output:
        wanted = parameters.artifact_id.strip().removeprefix("artifact:").strip()
        text = await full_text(wanted)
        return _page(text, parameters.offset, parameters.limit, ("read_artifact", "artifact_id", wanted))

    return Spec("read_artifact", Effect.CONTEXT, ReadArtifact, execute, priority=_PRIORITY)


def _page(text: str, offset: int, limit: int, source: tuple[str, str, str]) -> Output:
    """A part of a text, then in brackets where it stops and how to read on. Pages end with a line where they can."""
    tool, parameter, identity = source
    text = sayable(text)
    if offset >= len(text) > 0:
        return Output(f"{identity} has {len(text)} characters, so there is nothing at {offset}.", is_error=True)
    end = page_end(text, offset, limit)
    said = []
    if end < len(text):
        following = json.dumps({parameter: identity, "offset": end}, ensure_ascii=False)
        said.append(f"characters {offset} to {end} of {len(text)} shown; to read on: {tool} {following}")
    elif offset:
        said.append(f"end of the text at character {end}")
    elif not text:
        said.append("it is empty")
    shown = text[offset:end]
    separator = "" if not said or not shown or shown.endswith("\n") else "\n"
    return Output(f"{shown}{separator}{chr(10).join(remarks(said))}", summary=counted(end - offset, "character", "characters"))


def page_end(text: str, offset: int, limit: int) -> int:
    """Where a page stops: within its limits, after a line's end unless that would leave most of the page empty, always further on."""
    page = text[offset : offset + min(limit, PAGE_BYTES)]
    if not page.isascii():
        page = page.encode()[:PAGE_BYTES].decode(errors="ignore")
    lines = page.splitlines(keepends=True)
    if len(lines) > PAGE_LINES:
        page = "".join(lines[:PAGE_LINES])
    end = offset + max(1, len(page))
    line_end = page.rfind("\n") + 1
    return offset + line_end if 2 * line_end >= len(page) and end < len(text) else min(end, len(text))


def _fitting(lines: list[str]) -> int:
    """How many of the lines one answer holds."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > PAGE_BYTES:
            return number
    return len(lines)
