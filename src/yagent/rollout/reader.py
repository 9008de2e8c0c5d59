"""Reads rollouts back, one record at a time, and says what it had to leave out.

A line that is not a record (torn by a crash, damaged, of a later version) is skipped and accounted; the lines around it are good.
"""

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from yagent.records import dataclass
from yagent.rollout.records import VERSION, Entry, EventMessage, ResponseItem, SessionMeta, from_payload
from yagent.runtime.atomic import NotRegularFileError
from yagent.runtime.regular_file import open_regular

LINE_LIMIT = 64 * 1024 * 1024  # bytes; a longer line is damage, not a record
TOLD = 100  # skipped lines an account describes one by one
NOT_A_FILE = "left out (not a regular file)"
_CHUNK = 1024 * 1024
_HEAD_RECORDS = 16  # the prompt is among the first of a file
_TAIL_SIZES = (64 * 1024, 4 * 1024 * 1024)  # bytes read from the end; the larger only when the smaller holds no whole record


@dataclass(slots=True)
class Account:
    """What reading left out: `skipped` describes the first of them, `count` counts all."""

    skipped: list[str] = field(default_factory=list)
    count: int = 0

    def skip(self, line_number: int, size: int, why: str) -> None:
        """Account for `size` bytes of one line."""
        self.note(f"line {line_number}: {size} bytes skipped ({why})")

    def note(self, text: str) -> None:
        """Account for something."""
        self.count += 1
        if len(self.skipped) < TOLD:
            self.skipped.append(text)


def read(path: Path, account: Account | None = None) -> Iterator[Entry]:
    """The entries of a file in order. Raises OSError when it cannot be opened or read, NotRegularFileError when it is no file."""
    account = account or Account()
    with open_regular(path) as stream:
        number = 0
        while line := stream.readline(LINE_LIMIT + 1):
            number += 1
            if len(line) > LINE_LIMIT and not line.endswith(b"\n"):
                account.skip(number, len(line) + _rest_of_line(stream), "longer than any record")
                continue
            entry = _entry(line, number, account)
            if entry is not None:
                yield entry


def _rest_of_line(stream: BinaryIO) -> int:
    """Go to the next line; the bytes passed over."""
    size = 0
    while piece := stream.readline(_CHUNK):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size


def _entry(line: bytes, number: int, account: Account) -> Entry | None:
    text = line.strip(b"\0 \t\r\n")
    if not text:
        if b"\0" in line:
            account.skip(number, len(line), "zero bytes")
        return None
    try:
        entry = _parsed(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        why = str(failure) if type(failure) is ValueError else "damaged"
        account.skip(number, len(line), why if line.endswith(b"\n") else "torn at the end of the file")
        return None
    if b"\0" in line:  # a crash can leave them before a line that was written later
        account.skip(number, len(line) - len(text), "zero bytes beside a record")
    if isinstance(entry.record, SessionMeta) and entry.record.version > VERSION:
        account.note(f"line {number}: written in version {entry.record.version} of this format; known here is {VERSION}")
    return entry


def _parsed(text: bytes) -> Entry:
    data = json.loads(text)
    ordinal, timestamp = data["ordinal"], data["timestamp"]
    if not isinstance(ordinal, int) or not isinstance(timestamp, str):
        raise ValueError("without its place in the order")
    return Entry(ordinal, timestamp, from_payload(data["type"], data["payload"]))


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line about a recorded session. `started` is when its first record was written, in UTC (ISO 8601)."""

    session: str
    path: Path
    started: str
    project_dir: str
    prompt: str  # the user's words that began it
    stop_reason: str  # of its last task; "" while that has no terminal record
    status: str = ""
    denied: int = 0  # calls that nobody could be asked about


def session_of(path: Path) -> str:
    """The session id in a file's name, "" when the name is none of ours."""
    parts = path.stem.split("_", 2)
    return parts[1] if path.suffix == ".jsonl" and len(parts) > 1 else ""


def session_files(directory: Path, prefix: str) -> dict[str, list[Path]]:
    """The files of each session whose id begins with `prefix`, the Director's first, then its delegations in the order they began.

    A session of exactly that id is the only one meant. Raises OSError when the directory cannot be read.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(directory.iterdir(), key=lambda path: (_is_delegation(path), path.name)):
        session = session_of(path)
        if session and session.startswith(prefix):
            found.setdefault(session, []).append(path)
    return {prefix: found[prefix]} if prefix in found else found


def merged(paths: Sequence[Path], account: Account | None = None) -> Iterator[tuple[Path, Entry]]:
    """The entries of all files of a session in the one order in which they happened. Raises OSError as `read` does."""
    account = account or Account()
    yield from heapq.merge(*(_named(path, account) for path in paths), key=lambda named: named[1].ordinal)


def list_sessions(directory: Path, limit: int, account: Account | None = None) -> list[SessionSummary]:
    """The sessions recorded in `directory`, newest first; files that hold no session are left out.

    Only the beginning and the end of each file are read; what is no file at all is accounted.
    Raises OSError when the directory cannot be read.
    """
    if limit <= 0 or not directory.is_dir():
        return []
    summaries: list[SessionSummary] = []
    names = (path for path in directory.iterdir() if session_of(path) and not _is_delegation(path))
    for path in sorted(names, key=lambda path: path.name, reverse=True):
        summary = _summary(path, account or Account())
        if summary is not None:
            summaries.append(summary)
        if len(summaries) == limit:
            break
    return sorted(summaries, key=lambda summary: summary.started, reverse=True)  # names tell seconds, records tell more


def _is_delegation(path: Path) -> bool:
    return path.stem.count("_") > 1


def _named(path: Path, account: Account) -> Iterator[tuple[Path, Entry]]:
    own = Account()
    try:
        for entry in read(path, own):
            yield path, entry
    except NotRegularFileError:
        account.note(f"{path.name}: {NOT_A_FILE}")
    for text in own.skipped:
        account.note(f"{path.name}, {text}")
    account.count += own.count - len(own.skipped)


def _summary(path: Path, account: Account) -> SessionSummary | None:
    try:
        meta, started, prompt = _beginning(path)
        if meta is None:
            return None
        end = _end(path)
        denied = end.get("denied", 0)
        told = (str(end.get("stop_reason", "")), str(end.get("status", "")), denied if isinstance(denied, int) else 0)
        return SessionSummary(meta.session, path, started, meta.project_dir, prompt, *told)
    except NotRegularFileError:
        account.note(f"{path.name}: {NOT_A_FILE}")
        return None
    except OSError:
        return None


def _beginning(path: Path) -> tuple[SessionMeta | None, str, str]:
    """Whose file it is, when it began, and the user's first words: as asked for, else as sent."""
    meta: SessionMeta | None = None
    started = ""
    for _, entry in zip(range(_HEAD_RECORDS), read(path), strict=False):
        record = entry.record
        if isinstance(record, SessionMeta) and meta is None:
            meta, started = record, entry.timestamp
            if meta.task:
                return meta, started, meta.task
        elif isinstance(record, ResponseItem) and record.message.role == "user":
            return meta, started, record.message.text
    return meta, started, ""


def _end(path: Path) -> Mapping[str, Any]:
    """What the terminal record says when it is the file's last word, else nothing."""
    for size in _TAIL_SIZES:
        with open_regular(path) as stream:
            length = stream.seek(0, 2)
            stream.seek(max(0, length - size))
            lines = stream.read(size).split(b"\n")
        whole = lines if size >= length else lines[1:]
        for line in reversed(whole):
            entry = _entry(line, 0, Account())
            if entry is not None and isinstance(entry.record, EventMessage) and entry.record.is_terminal:
                return entry.record.data
            if entry is not None:
                return {}
        if size >= length:
            break
    return {}
