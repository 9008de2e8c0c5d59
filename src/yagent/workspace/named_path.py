"""A path together with the name by which its reader knows it."""

from __future__ import annotations

import os
from pathlib import Path

from yagent.records import dataclass


@dataclass(frozen=True, slots=True)
class NamedPath:
    """An absolute path for the system, and what messages call it (relative to the workspace, say); as text it is that name, printable."""

    path: Path
    name: str = ""

    def __str__(self) -> str:
        return printable(self.name or str(self.path))

    @property
    def directory(self) -> str:
        """What messages call the directory it is in."""
        return printable(os.path.dirname(self.name or str(self.path)) or ".")


def printable(name: str) -> str:
    """A file name for a message: as it is, or quoted and escaped where it holds control characters or bytes that are no characters."""
    return name if name.isprintable() else ascii(name)
