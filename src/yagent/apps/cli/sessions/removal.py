"""`yagent sessions rm`: remove records for good, after asking."""

import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from yagent.apps.cli.current_directory import current_directory
from yagent.apps.cli.progress import write_to_standard_error
from yagent.apps.cli.sessions.finding import find, print_lines, records
from yagent.apps.cli.terminal_asks import open_terminal
from yagent.apps.cli.terminal_line import ask_line
from yagent.config.values import duration_seconds
from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.protocol.ids import is_session_id
from yagent.protocol.stop import FAILED, USAGE
from yagent.protocol.visible import visible
from yagent.records import dataclass
from yagent.rollout.index import list_sessions
from yagent.rollout.reader import session_files, session_of
from yagent.rollout.removal import Removable, held, remove
from yagent.runtime.clock import SystemClock
from yagent.runtime.paths import DataHome, project_id
from yagent.session.build import user_home
from yagent.session.settings import notes_root

ANY_NUMBER = 1_000_000
_OF_TASK = pattern(r"(-\d+)?")  # what follows the session's id in the name of a directory of logs


class RemovalRefused(YagentError):
    """Sessions stay: nobody agreed, or somebody needs them."""

    exit_code: ClassVar[int] = USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOptions:
    """Options of `sessions rm`."""

    sessions: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids, or their first characters.")] = None
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="TIME", help="Only what was last written to longer ago: 30d, 12h.")
    ] = None
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    force: Annotated[bool, typer.Option("--force", help="Also what other sessions begin in; they cannot be read any more then.")] = False


def command(context: typer.Context, options: RemoveOptions) -> None:
    """Remove recorded sessions for good."""
    if not options.sessions and options.older_than is None:
        raise RemovalRefused("Name the sessions to remove, or give --older-than 30d. See: yagent sessions list")
    with records() as home:
        notes = notes_root(os.environ, home, user_home(os.environ))
        wanted = _wanted(home, options)
        if not wanted:
            write_to_standard_error("yagent: there is nothing to remove.")
            return
        with held(wanted) as found:
            going = _allowed(found, options)
            if not going:
                return
            _agreed(going, options)
            _remove(going, lambda each, gone: _beside(each, gone, notes, home.logs_dir))
        for place in {files[0].parent for files in wanted.values()}:
            list_sessions(place, 1)  # what is listed is then up to date


def _wanted(home: DataHome, options: RemoveOptions) -> Mapping[str, Sequence[Path]]:
    """The files of each session that is meant."""
    here = home.rollout_dir(project_id(str(current_directory())))
    if options.sessions:
        named = [find(home, prefix) for prefix in options.sessions]
    else:
        named = list(session_files(here, "").values()) if here.is_dir() else []
    wanted = {session_of(files[0]): files for files in named}
    if options.older_than is None:
        return wanted
    before = _before(options.older_than)
    old = {
        summary.session
        for place in {files[0].parent for files in named}
        for summary in list_sessions(place, ANY_NUMBER)
        if _is_older(summary.updated, before)
    }
    return {session: files for session, files in wanted.items() if session in old}


def _before(text: str) -> datetime:
    try:
        return SystemClock().wall() - timedelta(seconds=duration_seconds(text))
    except (ValueError, OverflowError):
        raise RemovalRefused(f"--older-than {text} is no duration. Write it like 30d or 12h.") from None


def _is_older(timestamp: str, moment: datetime) -> bool:
    """Whether a recorded moment lies before another; one that cannot be read does not."""
    try:
        return datetime.fromisoformat(timestamp) < moment
    except (ValueError, TypeError):
        return False


def _allowed(found: Sequence[Removable], options: RemoveOptions) -> list[Removable]:
    """Those that may go. One that was named and has to stay stops everything; one that was only old is told and left out."""
    reasons = {each.session: reason for each in found if (reason := _why_not(each, force=options.force))}
    if reasons and options.sessions:
        raise RemovalRefused("\n".join([*reasons.values(), "Nothing was removed."]))
    for reason in reasons.values():
        write_to_standard_error(f"yagent: {reason}")
    return [each for each in found if each.session not in reasons]


def _why_not(each: Removable, *, force: bool) -> str:
    if each.in_use:
        return f"Session {each.session} is open in another process, so it stays. End that first."
    if each.forks and not force:
        return f"Other sessions begin in {each.session}, so it stays: {', '.join(each.forks)}. Remove them too, or use --force."
    return ""


def _agreed(going: Sequence[Removable], options: RemoveOptions) -> None:
    """Raises `RemovalRefused` unless somebody agrees."""
    if options.yes:
        return
    terminal = open_terminal(os.environ)
    if terminal is None:
        raise RemovalRefused("Nobody can be asked here whether to remove records. Give --yes if it is meant.")
    try:
        files, size = sum(len(each.files) for each in going), sum(each.size for each in going)
        names = ", ".join(each.session for each in going)
        answer = ask_line(terminal, f"Remove for good: {visible(names)} ({files} files, {_bytes(size)})? [y] yes  [n] no: ")
    finally:
        os.close(terminal)
    if (answer or "").lower() not in ("y", "yes"):
        raise RemovalRefused("Nothing was removed.")


def _beside(removed: Removable, gone: Collection[str], notes: Path, logs: Path) -> list[Path]:
    """What else is of this session alone: the logs of its tasks, and its notes unless a session that is not gone goes on with them.

    What is not named as sessions are is nobody's: any text may stand in a record and in its name, and this is removed for good.
    """
    board = [notes / removed.board] if is_session_id(removed.board) and removed.sharing.issubset(gone) else []
    names = os.listdir(logs) if is_session_id(removed.session) and logs.is_dir() else []
    tasks = [logs / name for name in names if name.startswith(removed.session) and _OF_TASK.fullmatch(name[len(removed.session) :])]
    return [place for place in (*board, *tasks) if place.is_dir() and not place.is_symlink()]


def _remove(going: Sequence[Removable], beside: Callable[[Removable, Collection[str]], Iterable[Path]]) -> None:
    removed = remove(going)
    for place in (place for each in going if each.session in removed.sessions for place in beside(each, removed.sessions)):
        try:
            files, size = _counted(place)
            shutil.rmtree(place)
            removed.files, removed.size = removed.files + files, removed.size + size
        except OSError as problem:
            removed.failures.append(f"{problem.filename}: {problem.strerror}")
    for failure in removed.failures:
        write_to_standard_error(f"yagent: not removed: {visible(failure)}")
    print_lines(f"Removed: {visible(session)}" for session in removed.sessions)
    write_to_standard_error(f"yagent: {removed.files} files removed, {_bytes(removed.size)}.")
    if removed.failures:
        raise SystemExit(FAILED)


def _counted(place: Path) -> tuple[int, int]:
    """How many files are below a directory, and their bytes, as far as they can be looked at."""
    files, size = 0, 0
    for directory, _, names in os.walk(place):
        for name in names:
            with suppress(OSError):
                files, size = files + 1, size + os.lstat(os.path.join(directory, name)).st_size
    return files, size


def _bytes(size: int) -> str:
    for unit, factor in (("MB", 1_000_000), ("kB", 1000)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
