"""Which recorded session is meant, and what its files are."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeAlias, TypeVar

from yagent.apps.cli.current_directory import current_directory
from yagent.apps.cli.standard_output import OutputClosed, StandardOutput
from yagent.errors import YagentError
from yagent.protocol.stop import PIPE_CLOSED, USAGE
from yagent.protocol.visible import visible
from yagent.rollout.reader import session_files
from yagent.runtime.paths import DataHome, project_id
from yagent.session.build import user_home

Files: TypeAlias = Sequence[Path]
T = TypeVar("T")


class NoSuchSession(YagentError):
    """The id names no recorded session, or more than one."""

    exit_code: ClassVar[int] = USAGE


class UnreadableRecords(YagentError):
    """The records cannot be read."""


@contextmanager
def records() -> Iterator[DataHome]:
    """The data directory, for reading: one that cannot be written may still be read."""
    home = DataHome.from_environment(os.environ, user_home(os.environ))
    if home.root != home.asked:
        shutil.rmtree(home.root, ignore_errors=True)
    with _told(home.asked):
        yield replace(home, root=home.asked)


def reading(pieces: Iterable[T]) -> Iterator[T]:
    """The same pieces. What fails while they are read is the record's failure and not that of whoever takes them."""
    found = iter(pieces)
    while True:
        with _told(Path()):
            piece = next(found, None)
        if piece is None:
            return
        yield piece


@contextmanager
def _told(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        where = visible(str(failure.filename or place))
        raise UnreadableRecords(f"The records cannot be read: {failure.strerror} ({where}).") from failure


def find(home: DataHome, prefix: str) -> Files:
    """The files of the one session whose id begins so: of this directory, else of any."""
    here = home.rollout_dir(project_id(str(current_directory())))
    found = session_files(here, prefix) if here.is_dir() else {}
    if not found and here.parent.is_dir():
        elsewhere = [session_files(directory, prefix) for directory in sorted(here.parent.iterdir()) if directory.is_dir()]
        found = {session: files for sessions in elsewhere for session, files in sessions.items()}
        found = {prefix: found[prefix]} if prefix in found else found
    if not found:
        raise NoSuchSession(f"No recorded session has an id that begins with {prefix!r}. See: yagent sessions list")
    if len(found) > 1:
        raise NoSuchSession(f"{len(found)} sessions have an id that begins with {prefix!r}: {', '.join(found)}. Give more of it.")
    return next(iter(found.values()))


def of_role(files: Files, role: str | None) -> Files:
    """The files of one role's agents; all when no role is given."""
    if role is None:
        return files
    chosen = [path for path in files if _role(path) == role.lower()]
    if not chosen:
        known = ", ".join(dict.fromkeys(map(_role, files)))
        raise NoSuchSession(f"No agent of the role {role!r} worked in this session. Roles: {known}.")
    return chosen


def _role(path: Path) -> str:
    return re.sub(r"-\d+$", "", label(path))


def label(path: Path) -> str:
    """Who wrote a file, from its name: delegations of one role in one second are told apart by a number."""
    return path.stem.split("_", 2)[2] if path.stem.count("_") > 1 else "director"


def print_lines(lines: Iterable[str]) -> None:
    """Lines on standard output; a reader who leaves ends the command quietly."""
    out = StandardOutput()
    try:
        for line in lines:
            out.write_now(f"{line}\n")
    except OutputClosed:
        raise SystemExit(PIPE_CLOSED) from None


def moment(timestamp: str, *, seconds: bool = False) -> str:
    """A recorded time in the time zone of whoever reads it; as recorded when it is none."""
    try:
        return f"{datetime.fromisoformat(timestamp).astimezone():{'%H:%M:%S' if seconds else '%Y-%m-%d %H:%M'}}"
    except (ValueError, OverflowError):
        return timestamp
