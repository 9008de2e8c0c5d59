"""The seam between path decisions and a real disk.

The guard and the permissions ask four small questions about the disk; tests answer them for file systems this machine does not have
(case-insensitive, unicode-normalising).
"""

from __future__ import annotations

import os
import stat
from typing import Literal, Protocol

from yagent.records import dataclass

EntryKind = Literal["file", "directory", "link", "other"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What one name holds, the last link not followed. `identity` is device and inode; `target` the text of a link."""

    kind: EntryKind
    identity: tuple[int, int]
    target: str = ""


class FileSystem(Protocol):
    """Questions about absolute paths. A path that cannot be looked at (missing, no permission, too long) is None, never an error."""

    def look(self, path: str) -> Entry | None:
        """Return what is at `path` without following a last link."""
        ...

    def names(self, directory: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; nothing when it cannot be listed."""
        ...

    def text(self, path: str, limit: int) -> str | None:
        """Return at most `limit` bytes of a regular file as text, None when it cannot be read."""
        ...


class LocalFileSystem:
    """The disk of this machine."""

    def look(self, path: str) -> Entry | None:
        try:
            status = os.lstat(path)
            target = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
        except (OSError, ValueError):
            return None
        identity = (status.st_dev, status.st_ino)
        if stat.S_ISLNK(status.st_mode):
            return Entry("link", identity, target)
        if stat.S_ISDIR(status.st_mode):
            return Entry("directory", identity)
        return Entry("file" if stat.S_ISREG(status.st_mode) else "other", identity)

    def names(self, directory: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(directory)))
        except (OSError, ValueError):
            return ()

    def text(self, path: str, limit: int) -> str | None:
        entry = self.look(os.path.realpath(path))
        if entry is None or entry.kind != "file":
            return None
        try:
            with open(path, "rb") as file:
                return file.read(limit).decode("utf-8", "surrogateescape")
        except OSError:
            return None


class SeenOnce:
    """A file system as it was when each of its names was first looked at."""

    def __init__(self, file_system: FileSystem) -> None:
        self._file_system = file_system
        self._entries: dict[str, Entry | None] = {}
        self._names: dict[str, tuple[str, ...]] = {}

    def look(self, path: str) -> Entry | None:
        if path not in self._entries:
            self._entries[path] = self._file_system.look(path)
        return self._entries[path]

    def names(self, directory: str) -> tuple[str, ...]:
        if directory not in self._names:
            self._names[directory] = self._file_system.names(directory)
        return self._names[directory]

    def text(self, path: str, limit: int) -> str | None:
        return self._file_system.text(path, limit)
