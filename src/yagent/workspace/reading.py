"""Reading files: never more of one than asked for, never a wait on something that is not a file."""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.workspace.close_names import similar
from yagent.workspace.encoding import SAMPLE, Document, Newline, first_lines, newline_style, recognise
from yagent.workspace.ledger import FileLedger, digest_of
from yagent.workspace.named_path import NamedPath

SIZE_LIMIT = 10_000_000
SIZE_WARNING = 2_000_000
LINES_PER_READ = 1000
LINE_WINDOW = 2000
BYTES_PER_READ = 200_000
SCAN_LIMIT = 512_000_000
_CHUNK = 262_144
_SURROGATES = pattern("[\ud800-\udfff]")

_BINARY_KINDS = (
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"SQLite format 3", "an SQLite database"),
)


class FileError(YagentError):
    """A file cannot be read or changed as asked; the text names it and says what to do."""


class FileMissingError(FileError):
    """There is no such file."""


class NotTextError(FileError):
    """The file holds no text, or is no file at all."""


class FileTooLargeError(FileError):
    """The file is over the limit for being read or changed whole."""


@dataclass(frozen=True, slots=True)
class FileSlice:
    """Lines of a file, and what kind of file it is.

    `lines` have no line endings; `first_line` and `last_line` are 1-based, 0 for an empty file. `truncated` says why the slice ends
    before the file does, None when it reaches the end; `cut` that it was the limit of bytes. `total_lines` and `digest` are None for files
    too large to load.
    """

    path: Path
    lines: tuple[str, ...] = field(repr=False)
    first_line: int
    last_line: int
    total_lines: int | None
    truncated: str | None
    cut: bool
    warnings: tuple[str, ...]
    encoding: str
    newline: Newline
    bom: bool
    size: int
    digest: str | None

    @property
    def text(self) -> str:
        """The lines, joined with line feeds."""
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines of a file: from `start` (None: 1) at most `lines` (None, and at most: 1000) and `size` bytes, line numbers included."""

    start: int | None = None
    lines: int | None = None
    size: int = BYTES_PER_READ

    @property
    def first(self) -> int:
        """The first line."""
        return 1 if self.start is None else self.start

    @property
    def count(self) -> int:
        """How many lines at most."""
        return LINES_PER_READ if self.lines is None else min(self.lines, LINES_PER_READ)


async def read_text(path: Path, wanted: Wanted | None = None, *, name: str = "", ledger: FileLedger | None = None) -> FileSlice:
    """Lines of a text file; by default the whole file, at most 1000 lines a call. `ledger` remembers which lines were read.

    A file over 10 MB is read only by an explicit range, and then streamed. `name` is what messages call it. Sources: requirements D-30,
    N-05.

    Raises:
        FileError: missing, not readable, a directory, device or pipe, binary, too large, or the range lies outside.
    """
    return await supervise.in_thread(_read_text, NamedPath(path, name), wanted or Wanted(), ledger)


def load(path: NamedPath, *, limit: int = SIZE_LIMIT) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file and its status. Blocking.

    Raises:
        FileError: as `read_text`; FileTooLargeError over `limit` bytes, before anything is loaded.
    """
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > limit:
            raise FileTooLargeError(f"{path} has {size_text(status.st_size)}, over the limit of {size_text(limit)} for loading it whole")
        content = _content(file, status.st_size, limit)
        if len(content) > limit:
            raise FileTooLargeError(f"{path} grew over the limit of {size_text(limit)} while it was read")
        return content, status


def open_regular(path: NamedPath) -> io.FileIO:
    """Open a file for reading without ever waiting for a pipe or device. Blocking.

    Raises:
        FileError: it cannot be opened, or is no regular file.
    """
    try:
        descriptor = os.open(path.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise explain(error, path, "read") from error
    kind = kind_of(os.fstat(descriptor).st_mode)
    if kind != "file":
        os.close(descriptor)
        raise NotTextError(f"{path} is a {kind}, not a file{'; list it instead' if kind == 'directory' else ''}")
    return io.FileIO(descriptor)


def explain(error: OSError | ValueError, path: NamedPath, action: str) -> FileError:
    """What a failed system call means for whoever asked."""
    if isinstance(error, ValueError):
        return FileError(f"cannot {action} {path}: {error}")
    if error.errno == errno.ENOENT:
        return FileMissingError(f"cannot {action} {path}: there is no such file{similar(path)}")
    if error.errno == errno.ENXIO:
        return NotTextError(f"cannot {action} {path}: it is a socket or device, not a file")
    if error.errno == errno.EXDEV:
        return FileError(f"cannot {action} {path}: it is on another file system; a command (mv) copies it there and removes the original")
    if error.errno == errno.ELOOP:
        return FileError(f"cannot {action} {path}: its symbolic links form a loop")
    return FileError(f"cannot {action} {path}: {os.strerror(error.errno) if error.errno else error}")


def kind_of(mode: int) -> str:
    """In a word, what a mode says an entry is."""
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "pipe",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
    }
    return kinds.get(stat.S_IFMT(mode), "special file")


def size_text(size: int) -> str:
    """A size for people: bytes, kB, MB or GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def _read_text(path: NamedPath, wanted: Wanted, ledger: FileLedger | None) -> FileSlice:
    if wanted.first < 1 or wanted.count < 1:
        raise FileError(f"cannot read {path} from line {wanted.first} for {wanted.count} lines: both count from 1")
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= SIZE_LIMIT:
            content = _content(file, size, SIZE_LIMIT)
            if len(content) <= SIZE_LIMIT:
                return _slice_of(path, content, wanted, ledger)
        if wanted.start is None and wanted.lines is None:
            raise FileTooLargeError(
                f"{path} has {size_text(size)}, over the limit of {size_text(SIZE_LIMIT)} for reading a file whole; "
                "search it, or read a range of it with start_line and max_lines"
            )
        file.seek(0)
        return _streamed(path, file, size, wanted)


def _content(file: io.FileIO, size: int, limit: int) -> bytes:
    """All of a file that has `size` bytes, and may have grown or not have known it; of one with more than `limit` that many and one."""
    content = file.read(size + 1)
    return content if len(content) <= size else content + file.read(limit - size)


def _slice_of(path: NamedPath, content: bytes, wanted: Wanted, ledger: FileLedger | None) -> FileSlice:
    document = Document.of(content)
    if document is None:
        raise _binary(path, content, len(content))
    newline = newline_style(document.text)
    first, count = wanted.first, wanted.count
    lines, total = first_lines(document.text, newline, first - 1 + count)
    if first > max(1, total):
        raise FileError(f"{path} has {total} lines; there is no line {first}")
    chosen, warnings, shown = _within_limits([(line, len(line)) for line in lines[first - 1 :]], wanted)
    last = first - 1 + shown
    truncated = None if last >= total else f"lines {first} to {last} of {total} are shown; read on from line {last + 1}"
    digest = digest_of(content) if ledger is None else ledger.record(path.path, content, lines=((first, last),))
    return FileSlice(
        path=path.path,
        lines=tuple(chosen),
        first_line=first if chosen else 0,
        last_line=last,
        total_lines=total,
        truncated=truncated,
        cut=shown < min(count, total - first + 1),
        warnings=(*_about(document, len(content)), *warnings),
        encoding=document.encoding.label,
        newline=newline,
        bom=bool(document.encoding.mark),
        size=len(content),
        digest=digest,
    )


def _about(document: Document, size: int) -> list[str]:
    notes = []
    if size >= SIZE_WARNING:
        notes.append(f"this is a large file ({size_text(size)}); read only the ranges you need")
    if document.encoding.guessed:
        notes.append(f"the encoding is a guess: {document.encoding.label}")
    if not document.encoding.exact:
        notes.append("some bytes are no valid characters and are shown as \ufffd; edits leave them as they are")
    return notes


def _within_limits(lines: Sequence[tuple[str, int]], wanted: Wanted) -> tuple[list[str], list[str], int]:
    """Of lines (their beginnings) with their lengths: those that fit, cut to windows; remarks about the cuts; how many they are."""
    shown: list[str] = []
    cut: list[int] = []
    room = wanted.size
    for number, (line, length) in enumerate(lines, wanted.first):
        piece = window(line, length)
        room -= len(str(number)) + 1 + len(piece.encode(errors="replace")) + 1
        if room < 0 and shown:
            break
        if length > LINE_WINDOW:
            cut.append(number)
        shown.append(piece)
    notes = [f"very long lines are cut to their first {LINE_WINDOW} characters: {_numbers(cut)}"] if cut else []
    return shown, notes, len(shown)


def window(line: str, length: int) -> str:
    """A line of `length` characters as it is shown: not endless, and without lone surrogates."""
    shown = line if length <= LINE_WINDOW else f"{line[:LINE_WINDOW]} … [line cut: {length} characters]"
    return shown if shown.isascii() else _SURROGATES.sub("\ufffd", shown)


def _numbers(values: list[int]) -> str:
    return ", ".join(map(str, values[:20])) + (f" and {len(values) - 20} more" if len(values) > 20 else "")


def _streamed(path: NamedPath, file: io.FileIO, size: int, wanted: Wanted) -> FileSlice:
    head = file.read(SAMPLE)
    encoding = recognise(head, partial=True)
    if encoding is None:
        raise _binary(path, head, size)
    file.seek(len(encoding.mark))
    first, count = wanted.first, wanted.count
    lines, ended = _LineScan(first, count, encoding.codec).run(file)
    if not lines:
        reached = "it has fewer lines" if ended else f"the first {size_text(SCAN_LIMIT)} have fewer lines; search for the text instead"
        raise FileError(f"{path} has no line {first}: {reached}")
    chosen, warnings, shown = _within_limits(lines[:count], wanted)
    last = first - 1 + shown
    return FileSlice(
        path=path.path,
        lines=tuple(chosen),
        first_line=first,
        last_line=last,
        total_lines=last if ended and shown == len(lines) else None,
        truncated=None if ended and shown == len(lines) else f"lines {first} to {last} are shown; read on from line {last + 1}",
        cut=shown < min(count, len(lines)),
        warnings=(f"this is a very large file ({size_text(size)}); the number of its lines is not counted", *warnings),
        encoding=encoding.label,
        newline=newline_style(head.decode(encoding.codec, "replace")),
        bom=bool(encoding.mark),
        size=size,
        digest=None,
    )


class _LineScan:
    """Finds lines in a stream while keeping only what will be shown of them."""

    def __init__(self, first: int, count: int, codec: str) -> None:
        self._first = first
        self._count = count
        self._decoder = codecs.getincrementaldecoder(codec)("replace")
        self._number = 1
        self._open = ""
        self._open_length = 0
        self._lines: list[tuple[str, int]] = []

    def run(self, file: io.FileIO) -> tuple[list[tuple[str, int]], bool]:
        """The lines (one more than wanted when there is one), and whether the file ended."""
        scanned = 0
        while len(self._lines) <= self._count and scanned < SCAN_LIMIT:
            chunk = file.read(_CHUNK)
            scanned += len(chunk)
            self._take(self._decoder.decode(chunk, final=not chunk))
            if not chunk:
                if self._open_length:
                    self._close("")
                return self._lines, True
        return self._lines, False

    def _take(self, text: str) -> None:
        breaks = text.count("\n")
        if self._number + breaks < self._first:
            self._number += breaks
            self._open, self._open_length = "", 0 if breaks else self._open_length + len(text)
            if breaks:
                self._open_length = len(text) - text.rfind("\n") - 1
            return
        pieces = text.split("\n")
        for piece in pieces[:-1]:
            self._close(piece)
            if len(self._lines) > self._count:
                return
        self._extend(pieces[-1])

    def _extend(self, piece: str) -> None:
        if self._number >= self._first and len(self._open) <= LINE_WINDOW:
            self._open += piece[: LINE_WINDOW + 1]
        self._open_length += len(piece)

    def _close(self, piece: str) -> None:
        self._extend(piece)
        if self._number >= self._first:
            ending = self._open.endswith("\r") and self._open_length <= LINE_WINDOW
            self._lines.append((self._open.removesuffix("\r") if ending else self._open, self._open_length - ending))
        self._number += 1
        self._open, self._open_length = "", 0


def _binary(path: NamedPath, head: bytes, size: int) -> NotTextError:
    kind = next((name for mark, name in _BINARY_KINDS if head.startswith(mark)), "binary data")
    return NotTextError(f"{path} is not text but {kind} ({size_text(size)}); look at it with a program that reads such files")
