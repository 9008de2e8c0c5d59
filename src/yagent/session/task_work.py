"""Whose work is lost when a file goes: the task's own, which it may throw away, or the user's.

What was there when the task began and is not in git as it was is the user's: never the task's to delete or to replace as a whole, even
after the task changed it. Everything else git can give back, or the task made. A file is known again under another name, where the move
was seen or its inode is found; times are not relied on, since clocks differ and files are touched.
"""

import os
import stat
from pathlib import Path

from yagent.workspace.inventory import Identity, Inventory

MOST_ENTRIES = 20_000  # of a directory; a larger one is not looked through


class TaskWork:
    """What of the workspace the running task may delete or replace without losing anybody else's work."""

    def __init__(self) -> None:
        self._before: Inventory | None = None
        self._by_identity: dict[Identity, str] = {}
        self._moved: set[str] = set()

    def begin(self, before: Inventory | None) -> None:
        """A task begins: what was there before it; None while that is not known, so that nothing is the task's own."""
        self._before = before
        self._by_identity = {} if before is None else {identity: name for name, identity in before.others.items()}
        self._moved = set()

    def moved(self, target: Path) -> None:
        """Work that is not the task's own may have got to `target` (resolved)."""
        name = self._name(target)
        if name is not None:
            self._moved.add(name)

    def is_recoverable(self, path: Path) -> bool:
        """Whether losing what is at `path` (resolved) loses nothing that was there before the task. Blocks shortly."""
        try:
            return self._before is not None and self._all_own(path, self._before)
        except OSError:
            return False

    def _all_own(self, path: Path, before: Inventory) -> bool:
        name = self._name(path)
        if name is None or not self._is_open(name, before):
            return False
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
                return False  # git lists no pipes and sockets, so nobody knows whose it is
            return self._is_own(name, (status.st_dev, status.st_ino), before)
        left = MOST_ENTRIES
        waiting = [name]
        while waiting:
            directory = waiting.pop()
            if directory in before.closed or directory in self._moved:
                return False
            with os.scandir(before.root / directory) as entries:
                for entry in entries:
                    left -= 1
                    child = f"{directory}/{entry.name}" if directory else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(child)
                    elif left < 0 or not self._is_own(child, (status.st_dev, entry.inode()), before):
                        return False
        return True

    def _is_open(self, name: str, before: Inventory) -> bool:
        """Whether something is known of the places a name lies in, and nothing of the user's was moved there."""
        pieces = name.split("/")
        above = {"", *("/".join(pieces[:end]) for end in range(1, len(pieces) + 1))}
        return above.isdisjoint(before.closed) and above.isdisjoint(self._moved)

    def _is_own(self, name: str, identity: Identity, before: Inventory) -> bool:
        if name in before.others or name in self._moved:
            return False
        if name in before.kept:
            return True
        earlier = self._by_identity.get(identity)
        return earlier is None or not self._is_still(identity, before.root / earlier)

    @staticmethod
    def _is_still(identity: Identity, earlier: Path) -> bool:
        """Whether a file of the user's is meant: it is gone from where it was (moved), or still there (a link, a name in another case).

        Where another file has taken its name, its inode was given to a new one.
        """
        try:
            status = earlier.lstat()
        except FileNotFoundError:
            return True
        return (status.st_dev, status.st_ino) == identity

    def _name(self, path: Path) -> str | None:
        """The name in the inventory, "" for its root; None for what lies outside."""
        if self._before is None or not path.is_relative_to(self._before.root):
            return None
        name = os.path.relpath(path, self._before.root)
        return "" if name == "." else name
