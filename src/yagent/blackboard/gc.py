"""Removes what nobody will read any more: boards and artifacts after their time, the oldest notes of a board with too many (J-13).

The place may be one that the user named and keeps other things in: only what is a note by its name and its first bytes is removed, and
directories only when that leaves them empty. All of it blocks.
"""

import logging
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from yagent.blackboard.artifacts import is_artifact_id
from yagent.blackboard.note import FENCE
from yagent.blackboard.settings import BlackboardSettings
from yagent.runtime.atomic import TEMPORARY_PREFIX, NotRegularFileError
from yagent.runtime.regular_file import open_regular

SUFFIX: Final = ".md"
_BEGINNING: Final = FENCE + b"{"

logger = logging.getLogger(__name__)


def collect(notes: Path, now: datetime, settings: BlackboardSettings, in_use: Collection[str] = ()) -> tuple[str, ...]:
    """Remove boards untouched for `ttl`, but none `in_use`, and prune the others; gives the names of the boards removed.

    What cannot be removed stays, and a line in the log says so.
    """
    if not settings.enabled:
        return ()
    removed = []
    for board in _directories(notes):
        if board.name in in_use:
            continue
        touched = max((_modified(path) for path in _all_notes(board)), default=None)
        if settings.ttl is not None and touched is not None and now.timestamp() - touched > settings.ttl:
            _remove(_all_notes(board))
            _remove_empty(board)
            if not board.exists():
                removed.append(board.name)
        else:
            prune(board, settings.max_notes_per_board)
    return tuple(removed)


def collect_artifacts(artifacts: Path, now: datetime, settings: BlackboardSettings) -> int:
    """Remove artifacts older than `ttl`; gives how many. What they say is in the note and in the record of the agent as well."""
    if settings.ttl is None:
        return 0
    try:
        names = [name for name in os.listdir(artifacts) if is_artifact_id(name)]
    except FileNotFoundError:
        return 0
    oldest = now.timestamp() - settings.ttl
    return _remove([path for name in names if not (path := artifacts / name).is_symlink() and 0.0 < _modified(path) < oldest])


def prune(board: Path, most: int) -> int:
    """Keep the `most` newest notes of a board; gives how many were removed."""
    named = _named_notes(board)
    found = [path for path in named if _is_note(path)] if len(named) > most else []
    if len(found) <= most:
        return 0
    newest_first = sorted(found, key=lambda path: (_modified(path), path.name), reverse=True)
    removed = _remove(newest_first[most:])
    if removed:
        logger.info("the board %s held more than %d notes: its %d oldest were removed", board.name, most, removed)
    return removed


def note_entries(agent: Path | str) -> list["os.DirEntry[str]"]:
    """The files of one agent's directory that are notes by their names. Raises OSError as the system."""
    with os.scandir(agent) as entries:
        found = [entry for entry in entries if entry.name.endswith(SUFFIX) and not entry.name.startswith(".")]
    return sorted(found, key=lambda entry: entry.name)


def _all_notes(board: Path) -> list[Path]:
    """The files of a board that are notes by their names and their first bytes."""
    return [path for path in _named_notes(board) if _is_note(path)]


def _named_notes(board: Path) -> list[Path]:
    found: list[Path] = []
    for agent in _directories(board):
        try:
            found += [Path(entry.path) for entry in note_entries(agent)]
        except OSError as failure:
            logger.warning("the notes in %s cannot be listed: %s", agent, failure)
    return found


def _directories(parent: Path) -> Iterator[Path]:
    """The directories in a directory, no links; none where it does not exist."""
    try:
        with os.scandir(parent) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return
    except OSError as failure:
        logger.warning("%s cannot be listed: %s", parent, failure)
        return
    yield from (parent / name for name in names)


def _is_note(path: Path) -> bool:
    try:
        if path.is_symlink():
            return False
        with open_regular(path) as stream:
            return stream.read(len(_BEGINNING)) == _BEGINNING
    except (OSError, NotRegularFileError):
        return False


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(paths: Collection[Path]) -> int:
    removed = 0
    for path in paths:
        try:
            path.unlink(missing_ok=True)
            removed += 1
        except OSError as failure:
            logger.warning("%s could not be removed: %s", path, failure)
    return removed


def _remove_empty(board: Path) -> None:
    """Remove a board's directories where nothing is left in them but what a killed write left."""
    for agent in _directories(board):
        _remove([path for path in agent.iterdir() if path.name.startswith(TEMPORARY_PREFIX) and path.suffix == ".tmp"])
        with suppress(OSError):  # something of the user's is in it
            agent.rmdir()
    with suppress(OSError):
        board.rmdir()
