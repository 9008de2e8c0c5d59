"""What yagent writes by itself, told by place and exact name: it may lie in the user's repository, and then it is nobody's change.

The places may be directories that hold the user's own files as well, so nothing counts for where it lies alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from yagent.patterns import pattern
from yagent.protocol.ids import SESSION_FORM
from yagent.records import dataclass
from yagent.runtime.atomic import TEMPORARY_PREFIX
from yagent.runtime.paths import DataHome

_BOARDS = pattern(SESSION_FORM)
_LOGS_OF_TASKS = pattern(SESSION_FORM + r"(?:-[0-9]+)?")
_LOGS = pattern(r"(?:app|llm|llm-error|tool|delegate|crash)-[0-9]{4}-[0-9]{2}-[0-9]{2}[-.].*")
_KEPT = pattern(r"rollout|artifacts")
_TOKENS = pattern(r"tokens\.json(?:\.lock)?")
_SETTINGS = pattern(r"settings\.json(?:\.lock)?")
_HALF_WRITTEN = pattern(re.escape(TEMPORARY_PREFIX) + r"[0-9]+-[0-9a-f]{16}\.tmp")


@dataclass(frozen=True, slots=True)
class _Place:
    """A directory, resolved, and the names of the directories and of the files in it that are ours."""

    directory: str
    directories: re.Pattern[str] | None
    files: re.Pattern[str] | None

    def holds(self, path: str) -> bool:
        """Whether an absolute path, with a slash behind it when it is a directory, is ours or lies in what is."""
        if not path.startswith(self.directory + os.sep):
            return False
        name, is_below, _ = path[len(self.directory) + 1 :].partition(os.sep)
        if is_below:
            return self.directories is not None and self.directories.fullmatch(name) is not None
        return _HALF_WRITTEN.fullmatch(name) is not None or (self.files is not None and self.files.fullmatch(name) is not None)


class OwnRecords:
    """The records of one home, with the notes where they are."""

    def __init__(self, home: DataHome, notes: Path) -> None:
        self._places = (
            _Place(os.path.realpath(home.data_dir), _KEPT, _TOKENS),
            _Place(os.path.realpath(home.logs_dir), _LOGS_OF_TASKS, _LOGS),
            _Place(os.path.realpath(notes), _BOARDS, None),
            _Place(os.path.realpath(home.settings_file.parent), None, _SETTINGS),
        )

    def hold(self, root: Path, name: str) -> bool:
        """Whether an untracked path below the root of a repository, named as git does, is of our own records."""
        path = os.path.join(root, name)
        return any(place.holds(path) for place in self._places)
