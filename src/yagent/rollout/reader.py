"""Reads rollouts back, one record at a time, and says what it had to leave out.

A line that is not a record (torn by a crash, damaged, of a later version) is skipped and accounted; the lines around it are good.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from yagent.rollout.records import Entry, EventMessage, ResponseItem, SessionMeta, from_payload

LINE_LIMIT = 64 * 1024 * 1024  # bytes; a longer line is damage, not a record


@dataclass(slots=True)
class Account:
    """What reading one file left out."""

    skipped: list[str] = field(default_factory=list)

    def skip(self, line_number: int, size: int, why: str) -> None:
        self.skipped.append(f"line {line_number}: {size} bytes skipped ({why})")


def read(path: Path, account: Account | None = None) -> Iterator[Entry]:
    """The entries of a file in order. Raises OSError when it cannot be opened."""
    account = account or Account()
    with path.open("rb") as stream:
        number = 0
        while line := stream.readline(LINE_LIMIT):
            number += 1
            entry = _entry(line, number, account)
            if entry is not None:
                yield entry


def _entry(line: bytes, number: int, account: Account) -> Entry | None:
    text = line.strip(b"\0 \t\r\n")
    if not text:
        if b"\0" in line:
            account.skip(number, len(line), "zero bytes")
        return None
    try:
        data = json.loads(text)
        return Entry(int(data["ordinal"]), str(data["timestamp"]), from_payload(str(data["type"]), data["payload"]))
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        torn = "" if line.endswith(b"\n") else ", torn at the end of the file"
        account.skip(number, len(line), f"not a record: {type(failure).__name__}{torn}")
        return None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line about a recorded session."""

    session: str
    path: Path
    started: str
    project_dir: str
    prompt: str  # the user's first words
    stop_reason: str  # "" while there is no terminal record


def session_files(directory: Path, session: str) -> list[Path]:
    """All files of a session whose id begins with `session`, the Director's first."""
    paths = [path for path in directory.glob("*.jsonl") if _session_of(path).startswith(session)]
    return sorted(paths, key=lambda path: (path.stem.count("_") > 1, path.name))


def list_sessions(directory: Path, limit: int) -> list[SessionSummary]:
    """The sessions recorded in `directory`, newest first; files that hold no session are left out."""
    if not directory.is_dir():
        return []
    paths = sorted((path for path in directory.glob("*.jsonl") if path.stem.count("_") == 1), key=lambda path: path.name, reverse=True)
    summaries = (_summary(path) for path in paths[:limit])
    return [summary for summary in summaries if summary is not None]


def _session_of(path: Path) -> str:
    parts = path.stem.split("_")
    return parts[1] if len(parts) > 1 else ""


def _summary(path: Path) -> SessionSummary | None:
    meta: SessionMeta | None = None
    started, prompt, stop_reason = "", "", ""
    try:
        for entry in read(path):
            record = entry.record
            if isinstance(record, SessionMeta):
                meta, started = record, entry.timestamp
            elif isinstance(record, ResponseItem) and record.message.role == "user" and not prompt:
                prompt = meta.task if meta is not None and meta.task else record.message.text
            elif isinstance(record, EventMessage) and record.is_terminal:
                stop_reason = str(record.data.get("stop_reason", ""))
    except OSError:
        return None
    return None if meta is None else SessionSummary(meta.session, path, started, meta.project_dir, prompt, stop_reason)
