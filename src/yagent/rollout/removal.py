"""Removes recorded sessions, unless somebody still needs them."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from pathlib import Path

from yagent.records import dataclass
from yagent.rollout.reader import beginning, is_delegation, session_of
from yagent.runtime.atomic import NotRegularFileError, try_lock


@dataclass(frozen=True, slots=True)
class Removable:
    """A session to be removed: its files, the Director's first, their bytes, and why it should stay."""

    session: str
    files: Sequence[Path]
    size: int = 0
    in_use: bool = False
    forks: tuple[str, ...] = ()  # sessions that begin in it and are not removed with it
    board: str = ""  # where its notes are
    sharing: frozenset[str] = frozenset()  # the other sessions whose notes are there


@dataclass(slots=True)
class Removed:
    """What is gone, and what of it could not be removed."""

    sessions: list[str] = field(default_factory=list)
    files: int = 0
    size: int = 0
    failures: list[str] = field(default_factory=list)


@contextmanager
def held(wanted: Mapping[str, Sequence[Path]]) -> Iterator[list[Removable]]:
    """The sessions with these files, of one project each; those that nobody has open stay locked for us meanwhile. Blocks.

    Raises OSError when their directory cannot be read.
    """
    with ExitStack() as stack:
        known = {place: _Neighbours(place) for place in {files[0].parent for files in wanted.values()}}
        yield [
            Removable(
                session,
                files,
                sum(path.lstat().st_size for path in files),
                not _locked(files[0], stack),
                _left(known[files[0].parent].forks.get(session, ()), wanted),
                *known[files[0].parent].board(session),
            )
            for session, files in wanted.items()
        ]


def remove(found: Sequence[Removable]) -> Removed:
    """Remove all files of these sessions; the Director's last, so that a session that is half removed is still listed. Blocks."""
    removed = Removed()
    for each in found:
        try:
            for path in reversed(each.files):
                size = path.lstat().st_size
                path.unlink()
                removed.files += 1
                removed.size += size
        except OSError as failure:
            removed.failures.append(f"{failure.filename}: {failure.strerror}")
        else:
            removed.sessions.append(each.session)
    return removed


def _locked(path: Path, stack: ExitStack) -> bool:
    """Lock a file for as long as `stack` is open; False when somebody else has it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return True  # nobody can have opened what cannot be opened
    stack.callback(os.close, descriptor)
    return try_lock(descriptor, path)


class _Neighbours:
    """The sessions of one directory: which begin in which, and on which boards their notes are."""

    def __init__(self, directory: Path) -> None:
        self.forks: dict[str, list[str]] = {}
        self._boards: dict[str, str] = {}
        for path in sorted(directory.iterdir()):
            if session_of(path) and not is_delegation(path):
                try:
                    meta = beginning(path).meta
                except (OSError, NotRegularFileError):
                    continue  # what cannot be read begins nowhere
                if meta is not None:
                    self._boards.setdefault(session_of(path), meta.board_id or session_of(path))
                if meta is not None and meta.forked_from:
                    self.forks.setdefault(str(meta.forked_from.get("session", "")), []).append(meta.session)

    def board(self, session: str) -> tuple[str, frozenset[str]]:
        """The board of a session, and the other sessions that use it."""
        board = self._boards.get(session, session)
        return board, frozenset(each for each, its in self._boards.items() if its == board and each != session)


def _left(forks: Sequence[str], removed: Collection[str]) -> tuple[str, ...]:
    return tuple(session for session in forks if session not in removed)
