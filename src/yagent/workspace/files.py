"""Single files of the user's tree: read, create, delete, rename. Edits are in `editing`.

Paths are absolute and already judged. For `read_text` and `create` they are fully resolved; for `delete` and `rename` only their parent is:
these act on a symbolic link itself, never on what it points to.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from dataclasses import field
from pathlib import Path

from yagent.records import dataclass
from yagent.runtime import atomic, supervise
from yagent.workspace.difference import Difference, difference
from yagent.workspace.encoding import UTF8, Document, Encoding, newline_style
from yagent.workspace.ledger import FileLedger, Seen, digest_of
from yagent.workspace.reading import (
    SIZE_LIMIT,
    FileError,
    FileMissingError,
    FileSlice,
    FileTooLargeError,
    NotTextError,
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
    "WriteResult",
    "create",
    "delete",
    "read_text",
    "rename",
]


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


async def create(path: Path, content: str, *, overwrite: bool = False, ledger: FileLedger | None = None) -> WriteResult:
    """Write a whole file; missing directories are made. A new file is UTF-8 exactly as given.

    An overwritten one keeps its encoding, byte order mark, uniform line endings, mode and owner; with a `ledger` it must have been read
    by this agent and be unchanged since. Source: requirement D-34.

    Raises:
        FileError: it exists and `overwrite` is False, or was not read; over 10 MB; a directory or device; the system refuses.
        EncodingError: the content does not fit into the encoding of the file it overwrites.
    """
    return await supervise.in_thread(_create, path, content, overwrite, ledger)


async def delete(path: Path, *, ledger: FileLedger | None = None) -> None:
    """Remove one file or symbolic link, not what the link points to.

    Raises:
        FileError: missing, a directory, or the system refuses.
    """
    await supervise.in_thread(_delete, path, ledger)


async def rename(source: Path, target: Path, *, ledger: FileLedger | None = None) -> None:
    """Give a file or directory another name; missing directories are made; an existing target is never overwritten.

    Raises:
        FileError: the source is missing, the target exists, or the system refuses.
    """
    await supervise.in_thread(_rename, source, target, ledger)


class _Writing:
    """Read, check and write of one call happen as one step for all agents of this process."""

    lock = threading.Lock()


def writing() -> threading.Lock:
    """The lock to hold from reading a file to writing it back."""
    return _Writing.lock


def require_unchanged(path: Path, content: bytes, seen: Seen) -> None:
    """
    Raises:
        FileChangedError: the file is not as it was seen.
    """
    if digest_of(content) == seen.digest:
        return
    before, after = seen.content(), Document.of(content)
    old = None if before is None else Document.of(before)
    shown = "" if old is None or after is None else "\nWhat changed since:\n" + difference(old.text, after.text, path.name).text
    raise FileChangedError(f"{path} has changed since you last read it, so nothing was written; read it again first.{shown}")


def store(path: Path, content: bytes, status: os.stat_result | None) -> list[str]:
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
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_bytes(path, content, mode=0o666 & ~_umask())
    except OSError as error:
        raise explain(error, path, "write") from error
    if status is not None and status.st_nlink > 1:
        return [f"the file had {status.st_nlink} hard links; the other names may keep the old content"]
    return []


def _create(path: Path, content: str, overwrite: bool, ledger: FileLedger | None) -> WriteResult:
    with writing():
        existing = _existing(path, overwrite)
        notes: list[str] = []
        if existing is None:
            new = UTF8.encode_new(content)
            old, before = "", None
        else:
            raw, _ = existing
            _require_seen(path, raw, ledger)
            old_document = Document.of(raw)
            if old_document is None:
                raise NotTextError(f"{path} is not text; delete it first if it is to become a text file")
            new, notes = _in_form_of(old_document, content)
            old, before = old_document.text, digest_of(raw)
        notes += store(path, new, existing[1] if existing else None)
        after = digest_of(new) if ledger is None else ledger.record(path, new)
    written = Document.of(new)
    return WriteResult(path, before, after, difference(old, written.text if written else content, path.name), tuple(notes))


def _existing(path: Path, overwrite: bool) -> tuple[bytes, os.stat_result] | None:
    try:
        content, status = load(path)
    except FileMissingError:
        return None
    except FileTooLargeError as error:
        raise FileTooLargeError(f"{error}; delete it first if it is to be replaced") from error
    if not overwrite:
        raise FileError(f"{path} exists already ({size_text(status.st_size)}); edit it, or create it with overwrite after reading it")
    return content, status


def _require_seen(path: Path, content: bytes, ledger: FileLedger | None) -> None:
    if ledger is None or not content:
        return
    seen = ledger.seen(path)
    if seen is None:
        raise FileChangedError(f"{path} exists ({size_text(len(content))}) and you have not read it; read it before overwriting it")
    require_unchanged(path, content, seen)


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


def _delete(path: Path, ledger: FileLedger | None) -> None:
    with writing():
        try:
            if stat.S_ISDIR(path.lstat().st_mode):
                raise FileError(f"{path} is a directory; only files are deleted this way, use the shell for a directory")
            path.unlink()
        except OSError as error:
            raise explain(error, path, "delete") from error
        if ledger is not None:
            ledger.forget(path)


def _rename(source: Path, target: Path, ledger: FileLedger | None) -> None:
    with writing():
        try:
            source.lstat()
            target.parent.mkdir(parents=True, exist_ok=True)
            atomic.rename(source, target)
        except FileExistsError as error:
            kind = kind_of(target.lstat().st_mode) if os.path.lexists(target) else "entry"
            raise FileError(
                f"cannot rename {source}: the {kind} {target} exists already; choose another name or delete it first"
            ) from error
        except OSError as error:
            raise explain(error, source, f"rename (to {target})") from error
        if ledger is not None:
            ledger.moved(source, target)


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
