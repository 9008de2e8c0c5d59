"""Search-and-replace edits that change the bytes they name and no others.

Line endings: the agent sees and writes line feeds; a replacement takes the endings of the lines it replaces.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.workspace.difference import Difference, difference
from yagent.workspace.encoding import Document, EncodingError
from yagent.workspace.files import (
    PLAN_WIDTH,
    FileChangedError,
    FileError,
    FileLedger,
    FileTooLargeError,
    NotTextError,
    WriteResult,
    require_unchanged,
    store,
    writing,
)
from yagent.workspace.indentation import distance, goes_along, indent_of, shifted
from yagent.workspace.ledger import digest_of
from yagent.workspace.matching import MANY, Found, Place, Text, find, has_line_numbers
from yagent.workspace.named_path import NamedPath, printable
from yagent.workspace.nearest import nearest
from yagent.workspace.reading import load

__all__ = ["Edit", "EditError", "FileChangedError", "edit", "edited", "planned_edit"]

_ALIGNED = 4000
_SHOWN_PLACES = 20
_MOST_PLACES = 100_000
_NUMBERS_IN_FRONT = (
    "the lines of the search text begin with numbers; if they are line numbers they are not in the file, and without them the text is not "
    "certain to be the whole lines that have these numbers: send search and replacement without them; "
)
_LINE_END = pattern(r"[ \t]*(?:\r?\n|\r|\Z)")


class EditError(FileError):
    """The edit does not say unambiguously what to change; nothing was written. The text says how many places fit, and where."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `search`, which has to occur exactly once, by `replace`; with `all`, each of one or more occurrences."""

    search: str
    replace: str
    all: bool = False


async def edit(path: Path, edits: Sequence[Edit], *, name: str = "", ledger: FileLedger | None = None) -> WriteResult:
    """Apply edits to one file, each to the result of the one before; all are applied or none is.

    A `ledger` knows what the agent read: a file that changed since is refused, with the difference. Differences in line endings, trailing
    whitespace, indentation as a whole, copied line numbers, escaped or typographic quotes are tolerated where exactly one place fits, and
    named in the result's notes. `name` is what messages call the file. Sources: requirements D-35, N-05.

    Raises:
        EditError: a search text fits nowhere or at several places, or an edit changes nothing.
        FileChangedError: the file changed since the agent read it.
        EncodingError: a replacement does not fit into the file's encoding.
        FileError: missing, not text, over 10 MB before or after, read-only, or the system refuses.
    """
    return await supervise.in_thread(_edit, NamedPath(path, name), tuple(edits), ledger)


async def planned_edit(path: Path, edits: Sequence[Edit], *, name: str = "", ledger: FileLedger | None = None) -> Difference:
    """What `edit` would change now. Raises what it would raise."""

    def plan() -> Difference:
        old, new, _, _ = _prepared(NamedPath(path, name), edits, ledger)
        return difference(old.text, new.text, printable(path.name), width=PLAN_WIDTH)

    return await supervise.in_thread(plan)


def edited(document: Document, edits: Sequence[Edit], name: str) -> tuple[Document, list[str]]:
    """The document after all edits, and remarks about what was tolerated. Pure.

    Raises:
        EditError, EncodingError: as `edit`; the text names the edit by its number.
    """
    if not edits:
        raise EditError(f"no edit of {name} was given; nothing was written")
    notes: list[str] = []
    disk = _Disk(document.text)
    for number, one in enumerate(edits, 1):
        label = f"edit {number} of {len(edits)}" if len(edits) > 1 else "the edit"
        try:
            document, remarks = _apply(document, one, name, disk)
        except (EditError, EncodingError) as error:
            rest = "; none of the edits was applied" if len(edits) > 1 else ""
            raise type(error)(f"{label} failed{rest}: {error}") from error
        notes += [f"{label}: {remark}" if len(edits) > 1 else remark for remark in remarks]
    return document, notes


def _edit(path: NamedPath, edits: Sequence[Edit], ledger: FileLedger | None) -> WriteResult:
    with writing():
        old, new, status, notes = _prepared(path, edits, ledger)
        notes += store(path, new.raw, status)
        after = digest_of(new.raw) if ledger is None else ledger.changed(path.path, old.raw, new.raw)
    return WriteResult(path.path, digest_of(old.raw), after, difference(old.text, new.text, printable(path.path.name)), tuple(notes))


def _prepared(path: NamedPath, edits: Sequence[Edit], ledger: FileLedger | None) -> tuple[Document, Document, os.stat_result, list[str]]:
    """The file before and after the edits, its status, and remarks."""
    try:
        content, status = load(path)
    except FileTooLargeError as error:
        raise FileTooLargeError(f"{error}; change it by a command (sed, a script)") from error
    require_unchanged(path, content, ledger)
    old = Document.of(content)
    if old is None:
        raise NotTextError(f"{path} is not text, so it is not edited this way; change it by a program that knows its format")
    new, notes = edited(old, edits, str(path))
    if new.raw == content:
        raise EditError(f"the edits leave {path} as it is, so nothing was written; what they ask for may be there already")
    return old, new, status, notes


class _Disk:
    """The text before all edits of a call: refusals speak of it, since nothing else is on disk."""

    def __init__(self, text: str) -> None:
        self.text = Text(text)
        self._applied: list[tuple[tuple[int, int, int], ...]] = []

    @property
    def is_edited(self) -> bool:
        """Whether an edit has been applied to it already."""
        return bool(self._applied)

    def note(self, changes: Sequence[tuple[int, int, str]]) -> None:
        """The next edit replaced these stretches (start, end, replacement)."""
        self._applied.append(tuple((start, end, len(replacement)) for start, end, replacement in changes))

    def lines(self, places: Sequence[Place]) -> str:
        """The lines of the first places of the text as it is now: "line 3", "lines 3, 9, …"."""
        numbers = [str(self.line(place.start)) for place in places[:_SHOWN_PLACES]]
        more = ", …" if len(places) > _SHOWN_PLACES else ""
        return f"{'line' if len(numbers) == 1 else 'lines'} {', '.join(numbers)}{more}"

    def line(self, offset: int) -> int:
        """The 1-based line that a character of the text as it is now had before."""
        return self.text.line_number(self._offset(offset))

    def _offset(self, offset: int) -> int:
        """Where a character stood; the beginning of what it replaced when it is new."""
        for changes in reversed(self._applied):
            grown = 0
            for start, end, size in changes:
                if offset < start + grown:
                    break
                if offset < start + grown + size:
                    offset = start + grown
                    break
                grown += size - (end - start)
            offset -= grown
        return offset


def _apply(document: Document, one: Edit, name: str, disk: _Disk) -> tuple[Document, list[str]]:
    if not one.search:
        raise EditError(f"the search text for {name} is empty; give the text to replace, or create the file anew")
    if one.search == one.replace:
        raise EditError(f"search and replacement for {name} are the same text; nothing would change")
    text = Text(document.text)
    found = find(text, one.search, one.replace, disk.line)
    if found is None:
        raise EditError(_not_found(one, name, disk))
    if not found.tolerances and len(found.places) == 1:
        found = _from_line_start(text, found)
    places = _chosen(text, found, one, name, disk)
    remarks = [f"matched although it differs in: {tolerance}" for tolerance in found.tolerances if tolerance != "indentation"]
    along = _goes_along(found, places[0], name, disk)
    if len(places[0].shift) > 1:
        what = "was indented likewise" if along else "has the file's indentation already and was written as it is"
        way = "in" if places[0].shift[0] == "+" else "out"
        remarks.append(f"matched {distance(places[0].shift)} further {way}; the replacement {what}")
    changes = [(place.start, place.end, _replacement(text, found, place, along)) for place in places]
    changed = document.replaced(changes)
    disk.note(changes)
    return changed, remarks


def _not_found(one: Edit, name: str, disk: _Disk) -> str:
    there = find(disk.text, one.search, one.replace) if disk.is_edited else None
    if there is None:
        hint = _NUMBERS_IN_FRONT if has_line_numbers(one.search) else ""
        return hint + nearest(disk.text, one.search, one.replace, name)
    where = _Disk(disk.text.text).lines(there.places)
    return f"the search text is in {name} ({where}), but an earlier edit of this call changes that place; join the two into one edit"


def _from_line_start(text: Text, found: Found) -> Found:
    """An exact match that begins inside a line's indentation and ends with a line, taken for one of whole lines where the replacement has
    the file's indentation, or further lines: written right there, it would be indented twice, or its further lines too little."""
    place, lines = found.places[0], found.replace.split("\n")
    before = text.text[: place.start]
    missing = before[len(before.rstrip(" \t")) :]
    begins = (missing and before[: -len(missing)].endswith(("\n", "\r"))) or missing == before != ""
    if not begins or not _LINE_END.match(text.text, place.end) or "\r" in found.search + found.replace:
        return found
    own = indent_of(found.search)
    as_in_file = lines[0].strip() and indent_of(lines[0]) == missing + own
    one_line_for_more = own and "\n" not in found.search and len(lines) > 1
    if found.search.split() == found.replace.split() or not (as_in_file or one_line_for_more):
        return found
    whole = Place(place.start - len(missing), place.end, f"+{missing}")
    return Found((whole,), found.search, found.replace, ("indentation",))


def _goes_along(found: Found, place: Place, name: str, disk: _Disk) -> bool:
    """Whether the replacement is moved with the search text."""
    if len(place.shift) < 2:
        return False
    replace = found.replace.split("\n")
    along = goes_along(found.search.split("\n"), replace, place.shift)
    how = f"the file has {distance(place.shift)} {'more' if place.shift[0] == '+' else 'less'} in front of each line"
    if along is None:
        raise EditError(
            f"the search text fits {disk.lines([place])} of {name} only with another indentation ({how}), and it is not certain how the "
            "replacement is meant; send both with the file's indentation"
        )
    try:
        for line in replace if along else ():
            shifted(line, place.shift)
    except ValueError:
        raise EditError(
            f"the search text is indented deeper than {disk.lines([place])} of {name} ({how}), and a line of the replacement is not, "
            "so it cannot be moved back as a whole; send both with the file's indentation"
        ) from None
    return along


def _chosen(text: Text, found: Found, one: Edit, name: str, disk: _Disk) -> Sequence[Place]:
    """The places to change; more than one only for an edit of all whose text occurs as it is (line endings aside)."""
    if len(found.places) == 1:
        return found.places
    if one.all and all(tolerance == "line endings" for tolerance in found.tolerances):
        occurrences = (text.plain if found.tolerances else text.text).count(found.search)
        if occurrences > _MOST_PLACES:
            raise EditError(f"the search text occurs {occurrences} times in {name}; change so many by a command (sed, a script)")
        return _apart(text, found)
    shown = disk.lines(found.places)
    count = f"{MANY} or more" if len(found.places) >= MANY else str(len(found.places))
    if found.tolerances:
        how = f"differs from the file in: {', '.join(found.tolerances)}; with that tolerated it fits {count} places of {name}"
        raise EditError(f"the search text {how} ({shown}); copy the text exactly, with more of the lines around it")
    raise EditError(
        f"the search text occurs {count} times in {name} ({shown}); add lines around it until it is unique, or set all=true to change each"
    )


def _apart(text: Text, found: Found) -> list[Place]:
    """All occurrences from left to right, without those that overlap an earlier one."""
    if not found.tolerances:
        starts = [match.start() for match in re.finditer(re.escape(found.search), text.text)]
        return [Place(start, start + len(found.search)) for start in starts]
    starts = [match.start() for match in re.finditer(re.escape(found.search), text.plain)]
    return [text.place(start, start + len(found.search)) for start in starts]


def _replacement(text: Text, found: Found, place: Place, along: bool) -> str:
    """What to write at a place: the replacement, with everything the edit does not change kept as it is there."""
    present = text.text[place.start : place.end]
    if found.by_character:
        return _with_endings(text, place, _keep_characters(found.search, present.replace("\r\n", "\n"), found.replace))
    if not found.tolerances and ("\r" in found.search or not text.has_returns or "\n" not in found.replace):
        return found.replace
    if not found.tolerances and "\r" in found.replace:
        return found.replace
    return _keep_lines(text, found, place, along)


def _keep_lines(text: Text, found: Found, place: Place, along: bool) -> str:
    """The replacement line by line: lines it has in common with the search text stay as the file has them, with their endings."""
    wanted = [shifted(line, place.shift) for line in found.search.split("\n")]
    written = [shifted(line, place.shift) if along else line for line in found.replace.split("\n")]
    present, endings = _pieces(text.text[place.start : place.end], text.style == "cr")
    fallback = _ending_near(text, place, endings)
    pieces = list(written)
    chosen = [endings[index] if index < len(endings) else fallback for index in range(len(written))]
    for kind, i1, i2, j1, _ in _aligned(wanted, written):
        for step in range(i2 - i1):
            if kind == "equal":
                pieces[j1 + step] = present[i1 + step]
                chosen[j1 + step] = endings[i1 + step] if i1 + step < len(endings) else fallback
    return "".join(piece + ending for piece, ending in zip(pieces, [*chosen[:-1], ""], strict=True))


def _aligned(wanted: list[str], written: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    if len(wanted) + len(written) <= _ALIGNED:
        return difflib.SequenceMatcher(None, wanted, written, autojunk=False).get_opcodes()
    return []


def _pieces(stretch: str, old_mac: bool) -> tuple[list[str], list[str]]:
    parts = re.split("(\r)" if old_mac else "(\r?\n)", stretch)
    return parts[::2], parts[1::2]


def _ending_near(text: Text, place: Place, endings: list[str]) -> str:
    """The line ending for lines that have no counterpart: the stretch's last, else that of its own line, else of the line before."""
    if endings:
        return endings[-1]
    pattern = re.compile("\r" if text.style == "cr" else "\r?\n")
    following = pattern.search(text.text, place.end)
    if following is not None:
        return following.group()
    before = text.text.rfind("\r" if text.style == "cr" else "\n", 0, place.start)
    if before < 0:
        return "\n"
    return "\r\n" if text.text[before - 1 : before + 1] == "\r\n" else text.text[before]


def _keep_characters(wanted: str, present: str, written: str) -> str:
    """The replacement with the characters it has in common with the search text as the file has them."""
    start = next((index for index, (a, b) in enumerate(zip(wanted, written, strict=False)) if a != b), min(len(wanted), len(written)))
    end = next(
        (index for index, (a, b) in enumerate(zip(wanted[start:][::-1], written[start:][::-1], strict=False)) if a != b),
        min(len(wanted), len(written)) - start,
    )
    old, shown, new = (side[start : len(side) - end] for side in (wanted, present, written))
    middle = new
    if len(old) + len(new) <= _ALIGNED:
        codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        middle = "".join(shown[i1:i2] if kind == "equal" else new[j1:j2] for kind, i1, i2, j1, j2 in codes)
    return present[:start] + middle + present[len(present) - end :]


def _with_endings(text: Text, place: Place, replacement: str) -> str:
    ending = _ending_near(text, place, _pieces(text.text[place.start : place.end], text.style == "cr")[1])
    return replacement.replace("\n", ending) if ending != "\n" else replacement
