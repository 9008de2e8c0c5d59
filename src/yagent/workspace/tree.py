"""What is in a directory, in a bounded view that leaves out what the repository ignores and says so."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.workspace.close_names import similar
from yagent.workspace.ignore import IgnoreRules
from yagent.workspace.named_path import NamedPath, printable
from yagent.workspace.reading import FileError, explain, kind_of

_NAMED = 12
_SCANNED = 100_000

NEVER_OPENED = frozenset(
    {
        "__pycache__",
        "node_modules",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".gradle",
    }
)  # directories that tools fill: opened only when they are asked for by name


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """One entry: its name, kind (file, directory, link, pipe, …), size in bytes for files, and for a link where it points."""

    name: str
    kind: str
    size: int | None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """The entries of a directory: directories first, each kind by name. `notes` say what is left out and why."""

    path: Path
    entries: tuple[DirectoryEntry, ...] = field(repr=False)
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeView:
    """A directory tree as indented lines (directories end with a slash). `notes` say what is left out and why."""

    path: Path
    text: str = field(repr=False)
    notes: tuple[str, ...]


async def list_dir(path: Path, *, name: str = "", limit: int = 500) -> DirectoryListing:
    """The entries of one directory; `name` is what messages call it. Source: requirement D-32.

    Raises:
        FileError: missing, no directory, or not readable.
    """
    return await supervise.in_thread(_list_dir, NamedPath(path, name), limit)


async def print_dir_tree(path: Path, *, name: str = "", depth: int = 3, limit: int = 500) -> TreeView:
    """The tree below a directory, `depth` levels deep; when `limit` entries do not suffice, deeper levels give way first.

    `name` is what messages call it.

    Raises:
        FileError: missing, no directory, or not readable.
    """
    return await supervise.in_thread(_print_dir_tree, NamedPath(path, name), depth, limit)


def _list_dir(path: NamedPath, limit: int) -> DirectoryListing:
    scanned = _Scan(path, _rules(path))
    entries = [_entry(entry) for entry in scanned.shown[:limit]]
    notes = scanned.notes()
    if len(scanned.shown) > limit:
        more = f"{len(scanned.shown) - limit}{' or more' if scanned.cut else ''}"
        notes.append(f"{more} further entries are left out: search, or list a directory below")
    return DirectoryListing(path.path, tuple(entries), tuple(notes))


class _Scan:
    """The entries of one directory, in order, and what of it is not to be shown."""

    def __init__(self, path: NamedPath, rules: IgnoreRules) -> None:
        self.cut = False
        found: list[os.DirEntry[str]] = []
        self.ignored: list[str] = []
        try:
            with os.scandir(path.path) as entries:
                for count, entry in enumerate(entries):
                    self.cut = count >= _SCANNED
                    if self.cut:
                        break
                    if entry.name == ".git":
                        continue
                    if rules.ignores(entry.path, is_directory=entry.is_dir(follow_symlinks=False)):
                        self.ignored.append(entry.name + ("/" if entry.is_dir(follow_symlinks=False) else ""))
                    else:
                        found.append(entry)
        except OSError as error:
            raise explain(error, path, "list") from error
        self.shown = sorted(found, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name))

    def notes(self) -> list[str]:
        if not self.ignored:
            return []
        names = ", ".join(map(printable, sorted(self.ignored)[:_NAMED]))
        more = f" and {len(self.ignored) - _NAMED} more" if len(self.ignored) > _NAMED else ""
        return [f"ignored by the repository's rules and not listed: {names}{more}"]


def _rules(named: NamedPath) -> IgnoreRules:
    """The ignore rules for looking at a directory; none where it is itself ignored, since it was asked for by name."""
    path = named.path
    if not path.is_dir():
        kind = kind_of(path.lstat().st_mode) if os.path.lexists(path) else ""
        wrong = f"it is a {kind}, not a directory" if kind else f"there is no such directory{similar(named)}"
        raise FileError(f"cannot list {named}: {wrong}")
    if path.name == ".git" or ".git" in path.parts:
        return IgnoreRules(())
    in_repository = any(os.path.lexists(place / ".git") for place in path.parents)
    for place in (path, *path.parents) if in_repository else ():
        if os.path.lexists(place / ".git"):
            break
        if IgnoreRules.at(str(place.parent)).ignores(str(place), is_directory=True):
            return IgnoreRules(())
    rules = IgnoreRules.at(str(path))
    try:
        with os.scandir(path) as entries:
            first = [entry for _, entry in zip(range(1000), entries, strict=False)]
    except OSError as error:
        raise explain(error, named, "list") from error
    if first and all(rules.ignores(entry.path, is_directory=entry.is_dir(follow_symlinks=False)) for entry in first):
        return IgnoreRules(())
    return rules


def _entry(entry: os.DirEntry[str]) -> DirectoryEntry:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return DirectoryEntry(entry.name, "unreadable", None)
    kind = kind_of(status.st_mode)
    target = None
    if kind == "link":
        try:
            target = os.readlink(entry.path)
        except OSError:
            target = "?"
    return DirectoryEntry(entry.name, kind, status.st_size if kind == "file" else None, target)


def _print_dir_tree(path: NamedPath, depth: int, limit: int) -> TreeView:
    if depth < 1:
        raise FileError(f"cannot show the tree of {path} to depth {depth}: it counts from 1")
    rules = _rules(path)
    root = _Branch(_Scan(path, rules), rules)
    notes = root.scan.notes()
    room = limit - len(root.scan.shown)
    level = [root]
    for _ in range(depth - 1):
        following: list[_Branch] = []
        for branch in level:
            room = branch.open(room)
            following += branch.children.values()
        level = following
    lines = list(root.lines(""))
    if len(lines) > limit:
        notes.append(f"{len(lines) - limit} entries are left out: show the tree of a directory below")
        lines = lines[:limit]
    below = sum(len(branch.scan.ignored) for branch in _all_branches(root)) - len(root.scan.ignored)
    if below:
        notes.append(f"{below} more entries further down are ignored by the repository's rules and not shown")
    filled = Counter(name for branch in _all_branches(root) for name in branch.filled)
    if filled:
        names = ", ".join(f"{name} ({count})" for name, count in sorted(filled.items()))
        notes.append(f"never opened here: {names}; list_dir shows what is in one")
    closed = sum(branch.closed for branch in _all_branches(root))
    if closed:
        notes.append(f"directories marked … are not opened ({closed}): show their tree separately or list them")
    return TreeView(path.path, "\n".join(lines), tuple(notes))


class _Branch:
    """A directory whose entries are known, and those of its directories that have been opened."""

    def __init__(self, scan: _Scan, rules: IgnoreRules) -> None:
        self.scan = scan
        self.rules = rules
        self.children: dict[str, _Branch] = {}
        directories = [entry.name for entry in scan.shown if entry.is_dir(follow_symlinks=False)]
        self.filled = [name for name in directories if name in NEVER_OPENED]
        self.closed = len(directories) - len(self.filled)

    def open(self, room: int) -> int:
        """Look into the directories here while there is room for their entries; the room that is left."""
        for entry in self.scan.shown:
            if not entry.is_dir(follow_symlinks=False) or room <= 0 or entry.name in NEVER_OPENED:
                continue
            try:
                rules = self.rules.entering(entry.path)
                scan = _Scan(NamedPath(Path(entry.path)), rules)
            except FileError:
                continue
            if len(scan.shown) <= room:
                self.children[entry.name] = _Branch(scan, rules)
                self.closed -= 1
                room -= len(scan.shown)
        return room

    def lines(self, indent: str) -> Iterator[str]:
        for entry in self.scan.shown:
            name = printable(entry.name)
            if not entry.is_dir(follow_symlinks=False):
                yield f"{indent}{name}{'' if entry.is_file(follow_symlinks=False) else ' (link)' if entry.is_symlink() else ' (no file)'}"
            elif entry.name in NEVER_OPENED:
                yield f"{indent}{name}/"
            elif entry.name in self.children:
                yield f"{indent}{name}/"
                yield from self.children[entry.name].lines(indent + "  ")
            else:
                yield f"{indent}{name}/ …"


def _all_branches(branch: _Branch) -> Iterator[_Branch]:
    yield branch
    for child in branch.children.values():
        yield from _all_branches(child)
