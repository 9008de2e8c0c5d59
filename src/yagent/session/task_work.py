"""Whose work is lost when a file goes: the task's own, which it may throw away, or the user's.

Known at the start of a task: what differed from the last commit (the user's own work, never the task's to delete) and what git tracks
(it has the committed form). Everything else that is younger than the task was made by it. A file that was moved keeps its age.
"""

import os
import stat
from pathlib import Path

from yagent.workspace.changes import WorkspaceState

MOST_ENTRIES = 2_000  # of a directory; a larger one is not looked through


class TaskWork:
    """What of the workspace the running task may delete without losing anybody else's work."""

    def __init__(self) -> None:
        self._state: WorkspaceState | None = None
        self._tracked: frozenset[str] = frozenset()
        self._started = float("inf")

    def begin(self, state: WorkspaceState, tracked: frozenset[str], started: float) -> None:
        """A task begins: the state of the workspace before it, the paths git tracks, and the time in seconds since 1970."""
        self._state, self._tracked, self._started = state, tracked, started

    def is_recoverable(self, path: Path) -> bool:
        """Whether deleting `path` loses nothing that was there before the task. False as long as nothing is known. Blocks shortly."""
        if self._state is None:
            return False
        try:
            return self._is_own(path, [MOST_ENTRIES])
        except OSError:
            return False

    def _is_own(self, path: Path, left: list[int]) -> bool:
        left[0] -= 1
        if left[0] < 0:
            return False
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            return all(self._is_own(each, left) for each in path.iterdir())
        name = self._name(path)
        if self._state is not None and name in self._state.fingerprints:
            return False
        return name in self._tracked or min(status.st_mtime, status.st_ctime) >= self._started

    def _name(self, path: Path) -> str:
        root = None if self._state is None else self._state.root
        return str(path) if root is None else os.path.relpath(path, root)
