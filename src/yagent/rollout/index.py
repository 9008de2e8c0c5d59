"""The list of a project's sessions.

What a list shows of a session is kept in one file beside the records, so that a thousand of them are not opened each time. It holds nothing
that the records do not: whatever of it is missing, damaged or older than its record is read again.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from yagent.protocol.stop import StopReason
from yagent.records import dataclass
from yagent.rollout.reader import NOT_OWN, Account, beginning, ending, session_of
from yagent.runtime.atomic import NotRegularFileError, is_locked, write_bytes
from yagent.runtime.regular_file import open_regular

INDEX = "index.json"
VERSION = 2  # rows of the first may tell too little of a session that ended before a large compaction
LONGEST_PROMPT = 400  # characters that a list may show
IN_USE = "open in another process"
GONE = "its directory does not exist any more"
MAY_GO_ON: Mapping[str, str] = {
    "": "its process ended without a last word",
    StopReason.PAUSED: "paused",
    StopReason.CANCELLED: "stopped by the user",
}
ENDED: Mapping[str, str] = {
    StopReason.IDLE_TIMEOUT: "ended: nothing happened for too long",
    StopReason.TOTAL_TIMEOUT: "ended: its time was over",
    StopReason.MAX_STEPS: "ended: it took as many steps as it may",
    StopReason.LLM_ERROR: "ended: the model could not answer",
    StopReason.CIRCUIT_BREAKER_OPEN: "ended: the model's service was down",
    StopReason.PANIC: "ended: a defect of the program",
    StopReason.PLAIN_TEXT: "finished: it answered",
    StopReason.AGENT_EXIT: "finished: it answered",
    StopReason.UNACCOUNTED: "ended: nobody knows why",
    StopReason.COST_LIMIT: "ended: the cost limit was reached",
    StopReason.TIME_LIMIT: "ended: the time limit was reached",
    StopReason.LOOP_DETECTED: "ended: it went in circles",
    StopReason.CONTEXT_OVERFLOW: "ended: the conversation did not fit the model",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """One line about a recorded session. Moments are UTC (ISO 8601).

    `resumable`: it may be continued exactly where it stands, without anything new said (I-32); `reason` says why, or why not: `IN_USE` and
    `GONE` before how its last task ended.
    """

    session: str
    path: Path
    started: str  # when its first record was written
    project_dir: str
    prompt: str  # the user's words that began it
    stop_reason: str  # of its last task; "" while that has no terminal record
    status: str = ""
    denied: int = 0  # calls that nobody could be asked about
    updated: str = ""  # when its last record was written
    resumable: bool = False
    reason: str = ""


def list_sessions(directory: Path, limit: int, account: Account | None = None) -> list[SessionSummary]:
    """The sessions recorded in `directory`, the one last written to first, each with the reason why it can or cannot go on.

    Of new or changed files only the beginning and the end are read. Files that hold no session, are no files, or are another user's are
    accounted and left out. Blocks. Raises OSError when the directory cannot be read.
    """
    if limit <= 0 or not directory.is_dir():
        return []
    found = sorted(_Index(directory, account or Account()).summaries(), key=lambda each: (each.updated, each.path.name), reverse=True)
    is_gone = cache(_is_gone)
    return [_judged(summary, is_gone) for summary in found[:limit]]


def resumable(stop_reason: str) -> tuple[bool, str]:
    """Whether a session that ended so may go on where it stands, and the reason in words. What is not known may not."""
    if stop_reason in MAY_GO_ON:
        return True, MAY_GO_ON[stop_reason]
    return False, ENDED.get(stop_reason) or f"ended: {stop_reason}"


def _judged(summary: SessionSummary, is_gone: Callable[[str], bool]) -> SessionSummary:
    may, reason = resumable(summary.stop_reason)
    if is_gone(summary.project_dir):
        may, reason = False, GONE
    if is_locked(summary.path):
        may, reason = False, IN_USE
    return replace(summary, resumable=may, reason=reason)


def _is_gone(directory: str) -> bool:
    """Whether the directory that a session belongs to is known, and no more."""
    return bool(directory) and not os.path.isdir(directory)


class _Index:
    """What is known of the sessions of one directory."""

    def __init__(self, directory: Path, account: Account) -> None:
        self._directory = directory
        self._account = account

    def summaries(self) -> list[SessionSummary]:
        """All sessions; what had to be read anew is kept for the next time."""
        known = self._known()
        rows: dict[str, Any] = {}
        read_anew = False
        with os.scandir(self._directory) as entries:
            for entry in entries:
                if entry.name.count("_") != 1 or not session_of(Path(entry.name)):  # a second is in the names of delegations
                    continue
                row, is_new = self._row(entry, known.get(entry.name))
                read_anew = read_anew or is_new
                if row is not None:
                    rows[entry.name] = row
        if read_anew or rows.keys() != known.keys():
            self._keep(rows)
        empty = (name for name, row in rows.items() if not row[3])
        for name in (name for name in empty if not is_locked(self._directory / name)):  # one that is has just been begun
            self._account.note(f"{name}: left out (no record in it can be read)")
        return [SessionSummary(row[3], self._directory / name, *row[4:]) for name, row in rows.items() if row[3]]

    def _row(self, entry: "os.DirEntry[str]", known: Any) -> tuple[list[Any] | None, bool]:
        """`[size, time of change, inode, session, …]` of one file, and whether it had to be read. A session "" is none."""
        try:
            status = entry.stat()
        except OSError:
            return None, False  # removed meanwhile
        if status.st_uid != os.geteuid():
            self._account.note(f"{entry.name}: {NOT_OWN}")
            return None, False
        stamp = [status.st_size, status.st_mtime_ns, status.st_ino]
        if _is_row(known) and known[:3] == stamp:
            return known, False
        try:
            return [*stamp, *_told(Path(entry.path))], True
        except NotRegularFileError:
            self._account.note(f"{entry.name}: left out (not a regular file)")
        except OSError as failure:
            self._account.note(f"{entry.name}: left out ({failure.strerror})")
        return None, False

    def _known(self) -> dict[str, Any]:
        try:
            with open_regular(self._directory / INDEX) as stream:
                data = json.loads(stream.read())
        except (OSError, NotRegularFileError, ValueError, RecursionError):
            return {}
        rows = data.get("sessions") if isinstance(data, dict) and data.get("version") == VERSION else None
        return rows if isinstance(rows, dict) else {}

    def _keep(self, rows: Mapping[str, Any]) -> None:
        """Write the index. Where that fails the list is right all the same, only slower."""
        data = json.dumps({"version": VERSION, "sessions": rows}, separators=(",", ":")).encode("ascii")
        try:
            write_bytes(self._directory / INDEX, data, durable=False)
        except (OSError, NotRegularFileError) as failure:
            logger.debug("the list of sessions could not be kept: %s", failure)


def _is_row(row: Any) -> bool:
    kinds = [int, int, int, str, str, str, str, str, str, int, str]
    return isinstance(row, list) and [type(cell) for cell in row] == kinds


def _told(path: Path) -> list[Any]:
    """What a list shows of a session, in the order of the summary's fields."""
    begun, ended = beginning(path), ending(path)
    if not begun.first:
        return ["", "", "", "", "", "", 0, ""]
    stop, denied = ended.terminal, ended.terminal.get("denied", 0)
    session = begun.meta.session if begun.meta is not None else session_of(path)
    told = [begun.started, begun.workspace, begun.prompt[:LONGEST_PROMPT], str(stop.get("stop_reason", "")), str(stop.get("status", ""))]
    return [session, *told, denied if isinstance(denied, int) else 0, ended.updated]
