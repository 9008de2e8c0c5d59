"""Where a recorded session is played again: a copy of the repository as it was, or a directory the user names."""

import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from yagent.llm.divergence import Places
from yagent.records import dataclass
from yagent.runtime.left_behind import held, private_prefix
from yagent.runtime.supervise import in_thread
from yagent.session.replay import Recording, ReplayRefused
from yagent.workspace.git import Git
from yagent.workspace.repository_copy import Copied, CopyError, copy_repository


@dataclass(frozen=True, slots=True)
class ReplayPlace:
    """`workspace` is where the session works now; `places` make it and the recorded one read alike."""

    workspace: Path
    places: Places
    remarks: tuple[str, ...] = ()


def here(recording: Recording, workspace: Path) -> ReplayPlace:
    """Replay in a directory of the user's, as it is. Blocks."""
    return ReplayPlace(workspace, _alike(recording.project_dir, workspace))


@asynccontextmanager
async def copied(recording: Recording, git: Git) -> AsyncIterator[ReplayPlace]:
    """A private copy of the recorded repository at the recorded commit, removed at the end.

    Raises ReplayRefused when there is no such repository or commit any more.
    """
    head, branch, dirty = (recording.git.get(name) for name in ("head", "branch", "dirty"))
    if not isinstance(head, str) or not head:
        raise _refused(recording, "The record names no commit: the session did not work in a repository that has one.")
    private = await in_thread(_private_directory)
    try:
        on_branch = branch if isinstance(branch, str) else None
        try:
            copy = await copy_repository(git, Path(recording.project_dir), head, on_branch, Path(private.name))
        except CopyError as failure:
            raise _refused(recording, str(failure)) from failure
        remarks = copy.remarks
        if dirty is not False:
            work = "with uncommitted work" if dirty else "perhaps with uncommitted work"
            remarks = (f"The session was recorded {work}; the copy is the commit {head[:12]} alone, so results may differ.", *remarks)
        with held(Path(private.name)):
            yield await in_thread(_place_in, recording, copy, remarks)
    finally:
        await in_thread(private.cleanup)


def _place_in(recording: Recording, copy: Copied, remarks: tuple[str, ...]) -> ReplayPlace:
    """The recorded directory in the copy. Blocks."""
    inside = os.path.relpath(os.path.realpath(recording.project_dir), os.path.realpath(copy.original))
    workspace = copy.root if inside == "." else copy.root / inside
    if not workspace.is_dir():
        raise _refused(recording, f"The directory {inside} is not part of the recorded commit.")
    return ReplayPlace(workspace, (*_alike(copy.original, copy.root), *_alike(recording.project_dir, workspace)), remarks)


def _private_directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=private_prefix(), ignore_cleanup_errors=True)


def _alike(*paths: str | Path) -> Places:
    """These directories by one name, each also as it is really called."""
    names = dict.fromkeys(name for path in paths for name in (str(path), os.path.realpath(path)))
    return tuple((name, "<workspace>") for name in names if len(Path(name).parts) > 1)


def _refused(recording: Recording, what: str) -> ReplayRefused:
    return ReplayRefused(
        what,
        where=f"Record: session {recording.session} in {recording.project_dir}",
        fix="Replay it in a directory that you prepare yourself, and that it may change: yagent replay … --here",
    )
