"""Names that a missing path may have been meant for."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from yagent.workspace.named_path import NamedPath, printable

MOST_NAMES = 3
MOST_ENTRIES = 2000
"""As many names of a directory are compared."""


def similar(path: NamedPath) -> str:
    """Names beside a missing one that it may have been meant for, or where its directory may be, as the end of a message."""
    names = _names_in(path.path.parent)
    if names is None:
        meant = ", ".join(map(printable, _meant(path)))
        return f", nor a directory {path.directory}{meant and f'; close: {meant}'}"
    close = _close(path.path.name, names)
    return f"; close names there: {', '.join(map(printable, close))}" if close else ""


def _names_in(directory: Path, *, without_links: bool = False) -> list[str] | None:
    """The first names in a directory; None where there is none that can be listed."""
    try:
        with os.scandir(directory) as entries:
            return [
                entry.name for _, entry in zip(range(MOST_ENTRIES), entries, strict=False) if not (without_links and entry.is_symlink())
            ]
    except OSError:
        return None


def _close(name: str, names: Sequence[str]) -> list[str]:
    same = [each for each in names if each.casefold() == name.casefold()]
    return [name] if name in same else same or difflib.get_close_matches(name, names, n=MOST_NAMES, cutoff=0.7)


def _meant(path: NamedPath) -> list[str]:
    """What is there under names close to a path whose directory is not: within the workspace only, and behind no link."""
    parts = Path(path.name).parts
    if not parts or os.path.isabs(path.name):
        return []
    root, found = path.path.parents[len(parts) - 1], [Path()]
    for part in parts:
        deeper = [each / name for each in found for name in _close(part, _names_in(root / each, without_links=True) or ())]
        if not deeper:
            break
        found = deeper[:MOST_NAMES]
    written = {Path(*parts[:end]) for end in range(len(parts) + 1)}
    return [f"{each}/" if (root / each).is_dir() else str(each) for each in found if each not in written]
