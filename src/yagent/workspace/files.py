"""Single files of the user's tree: read, create, delete, rename. Edits are in `editing`.

Paths are absolute and already judged. For `read_text` and `create` they are fully resolved; for `delete` and `rename` only their parent is:
these act on a symbolic link itself, never on what it points to.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from dataclasses import field
from pathlib import Path

from yagent.records import dataclass
from yagent.runtime import atomic, supervise
from yagent.workspace.difference import Difference, difference
from yagent.workspace.encoding import UTF8, Document, Encoding, newline_style, split_lines
from yagent.workspace.known_lines import count, missing
from yagent.workspace.ledger import FileLedger, Seen, digest_of
from yagent.workspace.named_path import NamedPath, printable
from yagent.workspace.reading import (
    SIZE_LIMIT,
    FileError,
    FileMissingError,
    FileSlice,
    FileTooLargeError,
    NotTextError,
    Wanted,
    explain,
    kind_of,
    load,
    read_text,
    size_text,
)

__all__ = [
    "SIZE_LIMIT",
    "FileChangedError",
    "FileError",
    "FileLedger",
    "FileMissingError",
    "FileSlice",
    "FileTooLargeError",
    "NotTextError",
    "Seen",
    "Wanted",
    "WriteResult",
    "check_rename",
    "create",
    "delete",
    "planned_creation",
    "planned_deletion",
    "read_text",
    "rename",
]


PLAN_WIDTH = 4000  # characters of a line, where a person has to see what would change
_SHOWN_CHANGE = 20_000  # characters, so that an answer shows it whole


class FileChangedError(FileError):
    """The file is not, or is no longer, as the agent read it; the text shows the difference where it is known."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did: digests of the content before (None: there was no file) and after, and the difference.

    `notes` names each thing that was done otherwise than literally asked.
    """

    path: Path
    before: str | None
    after: str
    difference: Difference = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def created(self) -> bool:
        """Whether the file is new."""
        return self.before is None

    @property
    def diff(self) -> str:
        """The change as a unified diff, cut where it is very long."""
        return self.difference.text

    @property
    def added(self) -> int:
        """Number of lines added."""
        return self.difference.added

    @property
    def removed(self) -> int:
        """Number of lines removed."""
        return self.difference.removed


async def create(path: Path, content: str, *, name: str = "", overwrite: bool = False, ledger: FileLedger | None = None) -> WriteResult:
    """Write a whole file; missing directories are made. A new file is UTF-8 exactly as given.

    An overwritten one keeps its encoding, byte order mark, uniform line endings, mode and owner; with a `ledger` this agent must have seen
    all of its lines as they are now. `name` is what messages call the file. Source: requirement D-34.

    Raises:
        FileError: it exists and `overwrite` is False, or was not read whole; over 10 MB; a directory or device; the system refuses.
        EncodingError: the content does not fit into the encoding of the file it overwrites.
    """
    return await supervise.in_thread(_create, NamedPath(path, name), content, overwrite, ledger)


async def planned_creation(
    path: Path, content: str, *, name: str = "", overwrite: bool = False, ledger: FileLedger | None = None
) -> Difference:
    """What `create` would change now. Raises what it would raise."""
    return await supervise.in_thread(_planned_creation, NamedPath(path, name), content, overwrite, ledger)


async def delete(path: Path, *, name: str = "", ledger: FileLedger | None = None) -> None:
    """Remove one file or symbolic link, not what the link points to.

    Raises:
        FileError: missing, a directory, or the system refuses.
    """
    await supervise.in_thread(_delete, NamedPath(path, name), ledger)


async def planned_deletion(path: Path, *, name: str = "") -> str:
    """What `delete` would remove now, in words. Raises the FileError that it would raise."""
    return await supervise.in_thread(_planned_deletion, NamedPath(path, name))


async def rename(source: Path, target: Path, *, names: tuple[str, str] = ("", ""), ledger: FileLedger | None = None) -> None:
    """Give a file or directory another name; missing directories are made; an existing target is never overwritten.

    Raises:
        FileError: the source is missing, the target exists, or the system refuses.
    """
    await supervise.in_thread(_rename, NamedPath(source, names[0]), NamedPath(target, names[1]), ledger)


async def check_rename(source: Path, target: Path, *, names: tuple[str, str] = ("", "")) -> None:
    """Raise the FileError that `rename` would raise for what is there now."""
    await supervise.in_thread(_require_renamable, NamedPath(source, names[0]), NamedPath(target, names[1]))


class _Writing:
    """Read, check and write of one call happen as one step for all agents of this process."""

    lock = threading.Lock()


def writing() -> threading.Lock:
    """The lock to hold from reading a file to writing it back."""
    return _Writing.lock


def require_unchanged(path: NamedPath, content: bytes, ledger: FileLedger | None) -> None:
    """What this agent read of a file is as it read it. A change that can be shown whole counts as read from then on.

    Raises:
        FileChangedError: the file changed; the text shows how, where that is known.
    """
    seen = None if ledger is None else ledger.seen(path.path)
    if ledger is None or seen is None or seen.digest == digest_of(content):
        return
    before = seen.content()
    old, new = None if before is None else Document.of(before), Document.of(content)
    change = None if old is None or new is None else difference(old.text, new.text, printable(path.path.name))
    said = f"{path} has changed since you last read it, so nothing was written."
    if before is not None and change is not None and change.whole and len(change.text) <= _SHOWN_CHANGE:
        ledger.changed(path.path, before, content)
        raise FileChangedError(f"{said} This change counts as read now; send the call again, adapted where it has to be:\n{change.text}")
    shown = "" if change is None else f"\nWhat changed, in part:\n{change.text[:_SHOWN_CHANGE]}"
    raise FileChangedError(f"{said} Read it again first: {_read_call(path)}{shown}")


def store(path: NamedPath, content: bytes, status: os.stat_result | None) -> list[str]:
    """Put content into a file, whole or not at all; remarks about side effects. Blocking; hold `writing()`.

    Raises:
        FileError: too large, read-only, or the system refuses; the file is then as before.
    """
    if len(content) > SIZE_LIMIT:
        raise FileTooLargeError(f"{path} would have {size_text(len(content))}, over the limit of {size_text(SIZE_LIMIT)} for one write")
    if status is not None and not status.st_mode & 0o222:
        raise FileError(
            f"{path} is read-only (mode {stat.S_IMODE(status.st_mode):04o}); if it is meant to be changed, make it writable first"
        )
    try:
        path.path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_bytes(path.path, content, mode=0o666 & ~_umask())
    except OSError as error:
        raise explain(error, path, "write") from error
    if status is not None and status.st_nlink > 1:
        return [f"the file had {status.st_nlink} hard links; the other names may keep the old content"]
    return []


def _create(path: NamedPath, content: str, overwrite: bool, ledger: FileLedger | None) -> WriteResult:
    with writing():
        existing = _existing(path, overwrite, ledger)
        notes: list[str] = []
        if existing is None:
            new = UTF8.encode_new(content)
            old, before = "", None
        else:
            document, _ = existing
            new, notes = _in_form_of(document, content)
            old, before = document.text, digest_of(document.raw)
        notes += store(path, new, None if existing is None else existing[1])
        after = digest_of(new) if ledger is None else ledger.record(path.path, new)
    written = Document.of(new)
    return WriteResult(
        path.path, before, after, difference(old, written.text if written else content, printable(path.path.name)), tuple(notes)
    )


def _planned_creation(path: NamedPath, content: str, overwrite: bool, ledger: FileLedger | None) -> Difference:
    existing = _existing(path, overwrite, ledger)
    if existing is None:
        old, new = "", content
    else:
        old, written = existing[0].text, Document.of(_in_form_of(existing[0], content)[0])
        new = content if written is None else written.text
    return difference(old, new, printable(path.path.name), width=PLAN_WIDTH)


def _existing(path: NamedPath, overwrite: bool, ledger: FileLedger | None) -> tuple[Document, os.stat_result] | None:
    """The file that is to be replaced, None when there is none. Raises FileError when it must not be."""
    try:
        content, status = load(path)
    except FileMissingError:
        return None
    except FileTooLargeError as error:
        raise FileTooLargeError(f"{error}; delete it first if it is to be replaced") from error
    document = Document.of(content)
    if document is None:
        raise NotTextError(f"{path} exists already and is not text; delete it first if it is to become a text file")
    if overwrite:
        require_unchanged(path, content, ledger)
    _require_permitted(path, document, overwrite, ledger)
    return document, status


def _require_permitted(path: NamedPath, document: Document, overwrite: bool, ledger: FileLedger | None) -> None:
    """Nobody replaces a file unasked, nor one whose lines they have not all seen."""
    total = len(split_lines(document.text, newline_style(document.text)))
    seen = None if ledger is None else ledger.seen(path.path)
    known = () if seen is None or seen.digest != digest_of(document.raw) else seen.lines
    unseen = () if ledger is None else missing(known, total)
    if overwrite and not unseen:
        return
    how_much = f" and you have seen {count(known) or 'none'} of its {total} lines" if unseen else ""
    call = "send this call again" + ("" if overwrite else " with overwrite=true")
    first = f"first call {_read_call(path, unseen[0] if known else None)}, then " if unseen else ""
    kind = FileChangedError if overwrite else FileError
    raise kind(
        f"{path} exists already{how_much}, so nothing was written. To change parts of it, call search_replace_in_file; "
        f"to replace it whole, {first}{call}"
    )


def _read_call(path: NamedPath, lines: tuple[int, int] | None = None) -> str:
    """The call that shows these lines."""
    window = {} if lines is None else {"start_line": lines[0], "end_line": lines[1]}
    return f"read_file {json.dumps({'path': str(path), **window}, ensure_ascii=False)}"


def _in_form_of(old: Document, content: str) -> tuple[bytes, list[str]]:
    """Content in the encoding and line endings of the file it replaces."""
    notes = []
    encoding: Encoding = old.encoding
    if encoding.mark:
        content = content.removeprefix("\ufeff")
        notes.append(f"kept the encoding: {encoding.label}")
    elif encoding.guessed:
        notes.append(f"kept the encoding, a guess: {encoding.label}")
    style = newline_style(old.text)
    if style in ("crlf", "cr") and "\r" not in content and "\n" in content:
        content = content.replace("\n", "\r\n" if style == "crlf" else "\r")
        notes.append(f"kept the file's line endings ({style.upper()})")
    return encoding.mark + encoding.encode_new(content), notes


def _planned_deletion(path: NamedPath) -> str:
    status = _require_deletable(path)
    if stat.S_ISLNK(status.st_mode):
        return f"the symbolic link to {printable(os.readlink(path.path))}, not what it leads to"
    if not stat.S_ISREG(status.st_mode):
        return kind_of(status.st_mode)
    try:
        document = Document.of(load(path)[0])
    except FileError:  # too large, or not ours to read: it can be deleted all the same
        document = None
    lines = None if document is None else len(split_lines(document.text, newline_style(document.text)))
    return size_text(status.st_size) if lines is None else f"{lines} {'line' if lines == 1 else 'lines'}, {size_text(status.st_size)}"


def _require_deletable(path: NamedPath) -> os.stat_result:
    try:
        status = path.path.lstat()
        if stat.S_ISDIR(status.st_mode):
            raise FileError(f"{path} is a directory; only single files are deleted this way: delete each, or use run_bash for the whole")
    except OSError as error:
        raise explain(error, path, "delete") from error
    return status


def _delete(path: NamedPath, ledger: FileLedger | None) -> None:
    with writing():
        _require_deletable(path)
        try:
            path.path.unlink()
        except OSError as error:
            raise explain(error, path, "delete") from error
        if ledger is not None:
            ledger.forget(path.path)


def _require_renamable(source: NamedPath, target: NamedPath) -> None:
    try:
        status = source.path.lstat()
    except OSError as error:
        raise explain(error, source, "rename") from error
    # The same entry under both names is another spelling of it on a disk that folds case.
    if os.path.lexists(target.path) and not os.path.samestat(status, target.path.lstat()):
        raise _taken(source, target)


def _taken(source: NamedPath, target: NamedPath) -> FileError:
    kind = kind_of(target.path.lstat().st_mode) if os.path.lexists(target.path) else "entry"
    return FileError(f"cannot rename {source}: the {kind} {target} exists already; choose another name or delete it first")


def _rename(source: NamedPath, target: NamedPath, ledger: FileLedger | None) -> None:
    with writing():
        _require_renamable(source, target)
        try:
            target.path.parent.mkdir(parents=True, exist_ok=True)
            atomic.rename(source.path, target.path)
        except FileExistsError as error:
            raise _taken(source, target) from error
        except OSError as error:
            raise explain(error, NamedPath(source.path, f"{source} to {target}"), "rename") from error
        if ledger is not None:
            ledger.moved(source.path, target.path)


def _umask() -> int:
    if sys.platform == "linux":
        try:
            with open("/proc/self/status", encoding="ascii", errors="replace") as status:
                return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
        except (OSError, StopIteration):
            pass
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
