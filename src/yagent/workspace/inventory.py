"""What was in a workspace at some moment, so that later it can be told whose work a deletion would lose.

Names are relative to `root`. What git has as it is can be fetched back; what it has not, is somebody's. Directories that were not
looked through (other repositories, too many entries) are `closed`: nothing is known of what is below them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from yagent.records import dataclass
from yagent.runtime.supervise import in_thread
from yagent.workspace.changes import WorkspaceState
from yagent.workspace.git import Git

MOST_ENTRIES = 20_000
"""As many names are noted that git does not have; about 50 ms of looking."""

Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Inventory:
    """`kept` are the names that git has in the form they are in; `others` everything else that was there, with device and inode."""

    root: Path
    kept: frozenset[str] = field(repr=False)
    others: Mapping[str, Identity] = field(repr=False)
    closed: frozenset[str] = frozenset()


async def take_inventory(git: Git, workspace: Path, state: WorkspaceState, *, most: int = MOST_ENTRIES) -> Inventory | None:
    """The inventory that belongs to a state just taken; None when it cannot be complete."""
    if state.root is None:
        return await in_thread(_Look(workspace, most).inventory, frozenset[str](), ("",), frozenset[str]())
    if state.note is not None:
        return None
    tracked = await git.ask(state.root, "ls-files", "-v", "--stage", "-z")
    ignored = await git.ask(state.root, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    for answer in (tracked, ignored):
        if answer is None or answer.code != 0 or answer.truncated:
            return None
    if tracked is None or ignored is None:
        return None
    plain, unusual, repositories = _index(tracked.output)
    changed = {name for name, print_ in state.fingerprints.items() if print_ is not None}
    looked_at = (*changed, *state.records, *unusual, *(os.fsdecode(name) for name in ignored.output.split(b"\0") if name))
    return await in_thread(_Look(state.root, most).inventory, plain - changed, looked_at, repositories)


def _index(output: bytes) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The names git compares with the disk, those it was told not to look at, and other repositories. Source: git-ls-files(1)."""
    plain: set[str] = set()
    unusual: set[str] = set()
    repositories: set[str] = set()
    for entry in output.split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if name:
            fit = repositories if b" 160000 " in facts else plain if facts.startswith(b"H ") else unusual
            fit.add(os.fsdecode(name))
    return frozenset(plain), frozenset(unusual), frozenset(repositories)


class _Look:
    """One look at a tree; it blocks."""

    def __init__(self, root: Path, most: int) -> None:
        self._root = os.path.realpath(root)
        self._others: dict[str, Identity] = {}
        self._closed: set[str] = set()
        self._left = most

    def inventory(self, kept: frozenset[str], names: Iterable[str], repositories: frozenset[str]) -> Inventory:
        """Note `names` and all below them."""
        self._closed |= repositories
        waiting = sorted((name.rstrip("/") for name in names), reverse=True)
        while waiting:
            name = waiting.pop()
            try:
                waiting += self._noted(name)
            except OSError:
                self._closed.add(name)
        return Inventory(Path(self._root), kept, self._others, frozenset(self._closed))

    def _noted(self, name: str) -> list[str]:
        """Note one name; the names below it that are to be noted, too."""
        path = os.path.join(self._root, name)
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return []
        if not os.path.isdir(path) or os.path.islink(path):
            self._others[name] = (status.st_dev, status.st_ino)
            return []
        if self._left <= 0 or (name and os.path.lexists(os.path.join(path, ".git"))):
            self._closed.add(name)
            return []
        below: list[str] = []
        with os.scandir(path) as entries:
            for entry in entries:
                self._left -= 1
                if self._left < 0:
                    self._closed.add(name)
                    break
                child = f"{name}/{entry.name}" if name else entry.name
                if entry.is_dir(follow_symlinks=False):
                    below.append(child)
                else:
                    self._others[child] = (status.st_dev, entry.inode())
        return below
