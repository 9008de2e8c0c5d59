"""Reads rollouts back, one record at a time, and says what it had to leave out.

A line that is not a record (torn by a crash, damaged, of a later version) is skipped and accounted; the lines around it are good.
"""

import heapq
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.rollout.records import VERSION, Entry, EventMessage, ResponseItem, SessionMeta, TurnContext, from_payload, is_progress
from yagent.runtime.atomic import NotRegularFileError
from yagent.runtime.regular_file import open_regular

LINE_LIMIT = 64 * 1024 * 1024  # bytes; a longer line is damage, not a record
TOLD = 100  # skipped lines an account describes one by one
NOT_A_FILE = "left out (not a regular file)"
NOT_OWN = "left out (belongs to another user)"
_ID = pattern(r"[A-Za-z0-9-]+")
_DECODER = json.JSONDecoder()
_CHUNK = 1024 * 1024
_HEAD_RECORDS = 16  # the prompt is among the first of a file
_TAIL = 16 * 1024  # bytes read from the end at first; more while they do not tell how a run ended
_TAIL_GROWS = 16  # times


@dataclass(slots=True)
class Account:
    """What reading left out: `skipped` describes the first of them, `count` counts all."""

    skipped: list[str] = field(default_factory=list)
    count: int = 0
    position: int = 0  # highest ordinal of a line that is left out though it has one: its number is taken

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
        entry = _parsed(text, account)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as failure:
        why = str(failure) if type(failure) is ValueError else "damaged"
        account.skip(number, len(line), why if line.endswith(b"\n") else "torn at the end of the file")
        return None
    if b"\0" in line:  # a crash can leave them before a line that was written later
        account.skip(number, len(line) - len(text), "zero bytes beside a record")
    if isinstance(entry.record, SessionMeta) and entry.record.version > VERSION:
        account.note(f"line {number}: written in version {entry.record.version} of this format; known here is {VERSION}")
    return entry


def _decoded(text: bytes) -> Any:
    """What `json.loads` makes of it; at a third of the cost around the decoding itself for what is written here."""
    if not text.startswith(b"{"):
        return json.loads(text)
    words = text.decode("utf-8", "surrogatepass")
    data, end = _DECODER.raw_decode(words)
    if end != len(words):
        raise json.JSONDecodeError("more than one object", words, end)
    return data


def _parsed(text: bytes, account: Account) -> Entry:
    data = _decoded(text)
    ordinal, timestamp = data["ordinal"], data["timestamp"]
    if type(ordinal) is not int or not isinstance(timestamp, str):
        raise ValueError("without its place in the order")
    try:
        return Entry(ordinal, timestamp, from_payload(data["type"], data["payload"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        account.position = max(account.position, ordinal)
        raise


def session_of(path: Path) -> str:
    """The session id in a file's name, "" when the name is none of ours: an id is never a dot or two, nor anything else that leads away."""
    parts = path.stem.split("_", 2)
    return parts[1] if path.suffix == ".jsonl" and len(parts) > 1 and _ID.fullmatch(parts[1]) else ""


def session_files(directory: Path, prefix: str) -> dict[str, list[Path]]:
    """The files of each session whose id begins with `prefix`, the Director's first, then its delegations in the order they began.

    A session of exactly that id is the only one meant. Raises OSError when the directory cannot be read.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(directory.iterdir(), key=lambda path: (is_delegation(path), path.name)):
        session = session_of(path)
        if session and session.startswith(prefix):
            found.setdefault(session, []).append(path)
    return {prefix: found[prefix]} if prefix in found else found


def merged(paths: Sequence[Path], account: Account | None = None) -> Iterator[tuple[Path, Entry]]:
    """The entries of all files of a session in the one order in which they happened. Raises OSError as `read` does."""
    account = account or Account()
    yield from heapq.merge(*(_with_path(path, account) for path in paths), key=lambda named: named[1].ordinal)


def named(path: Path, account: Account) -> Iterator[Entry]:
    """The entries of a file; its name stands before what the account says of it. What is no regular file is left out with account."""
    own = Account()
    try:
        yield from read(path, own)
    except NotRegularFileError:
        account.note(f"{path.name}: {NOT_A_FILE}")
    for text in own.skipped:
        account.note(f"{path.name}, {text}")
    account.count += own.count - len(own.skipped)
    account.position = max(account.position, own.position)


def events_named(paths: Sequence[Path], name: str) -> Iterator[Mapping[str, Any]]:
    """The data of all events of this name, file by file. Lines that cannot hold one are not parsed, so a large record is read at the speed
    of the disk. Raises OSError as `read` does."""
    mark = json.dumps(name).encode("ascii")
    for path in paths:
        with open_regular(path) as stream:
            for line in stream:
                entry = _entry(line, 0, Account()) if mark in line else None
                if entry is not None and isinstance(entry.record, EventMessage) and entry.record.name == name:
                    yield entry.record.data


def _with_path(path: Path, account: Account) -> Iterator[tuple[Path, Entry]]:
    for entry in named(path, account):
        yield path, entry


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the first records of a file tell."""

    meta: SessionMeta | None
    first: int  # ordinal of the first record, 0 when there is none
    started: str  # when it was written, UTC (ISO 8601)
    workspace: str
    prompt: str  # the user's first words: as asked for, else as sent


@dataclass(frozen=True, slots=True)
class Ending:
    """What the last records of a file tell. `terminal` is what the terminal record says when the agent did not go on after it."""

    position: int  # highest ordinal, of a record not understood too
    updated: str  # when the last record was written, UTC (ISO 8601)
    terminal: Mapping[str, Any] = field(default_factory=dict)


def beginning(path: Path) -> Beginning:
    """Read the first few records. Raises as `read` does."""
    meta: SessionMeta | None = None
    first, started, workspace = 0, "", ""
    for entry in islice(read(path), _HEAD_RECORDS):
        record = entry.record
        first, started = first or entry.ordinal, started or entry.timestamp
        if isinstance(record, SessionMeta) and meta is None:
            meta, workspace = record, record.project_dir
            if meta.task:
                return Beginning(meta, first, started, workspace, meta.task)
        elif isinstance(record, TurnContext):
            workspace = workspace or record.workspace
        elif isinstance(record, ResponseItem) and record.message.role == "user":
            return Beginning(meta, first, started, workspace, record.message.text)
    return Beginning(meta, first, started, workspace, "")


def ending(path: Path) -> Ending:
    """Read the records back to the last terminal one or the last that shows an agent at work. Raises as `read` does."""
    size = _TAIL
    while True:
        with open_regular(path) as stream:
            length = stream.seek(0, 2)
            stream.seek(max(0, length - size))
            lines = stream.read(size).split(b"\n")
        found, is_told = _last(lines if size >= length else lines[1:])
        if is_told or size >= length:
            return found
        size *= _TAIL_GROWS


def _last(lines: Sequence[bytes]) -> tuple[Ending, bool]:
    """What these lines tell, and whether earlier ones cannot tell more."""
    account = Account()
    position, updated = 0, ""
    for line in reversed(lines):
        entry = _entry(line, 0, account)
        if entry is None:
            continue
        position, updated = max(position, entry.ordinal), updated or entry.timestamp
        if isinstance(entry.record, EventMessage) and entry.record.is_terminal:
            return Ending(max(position, account.position), updated, entry.record.data), True
        if is_progress(entry.record):
            return Ending(max(position, account.position), updated), True
    return Ending(max(position, account.position), updated), False


def is_delegation(path: Path) -> bool:
    """Whether a file's name is that of a delegation."""
    return path.stem.count("_") > 1


def is_own(path: Path, account: Account) -> bool:
    """Whether there is a file of the user's own; why not stands in the account."""
    try:
        status = path.stat()
    except OSError as failure:
        account.note(f"{path.name}: left out ({failure.strerror})")
        return False
    if status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode):
        return True
    account.note(f"{path.name}: {NOT_A_FILE if status.st_uid == os.geteuid() else NOT_OWN}")
    return False
