"""Disks this machine does not have, in memory, behind the seam the guard looks through."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from yagent.workspace.file_system import Entry


def as_is(name: str) -> str:
    """A disk that keeps names apart."""
    return name


def fold_case(name: str) -> str:
    """A disk that takes upper and lower case for one."""
    return name.casefold()


def normalise(name: str) -> str:
    """A disk that takes composed and decomposed letters for one, and case as well."""
    return unicodedata.normalize("NFD", name).casefold()


@dataclass
class _Node:
    identity: int
    target: str | None = None
    children: dict[str, tuple[str, _Node]] | None = None


@dataclass
class FoldingDisk:
    """`fold` maps a name to what the disk compares."""

    fold: Callable[[str], str] = as_is
    _count: int = 0
    _root: _Node = field(default_factory=lambda: _Node(0, children={}))

    def make_directory(self, path: str) -> None:
        node = self._root
        for part in _parts(path):
            if node.children is None:
                return
            if self.fold(part) not in node.children:
                node.children[self.fold(part)] = (part, self._new(children={}))
            node = node.children[self.fold(part)][1]

    def make_link(self, path: str, target: str) -> None:
        parent, _, name = path.rpartition("/")
        self.make_directory(parent)
        node = self._find(parent)
        if node is not None and node.children is not None and self.fold(name) not in node.children:
            node.children[self.fold(name)] = (name, self._new(target=target))

    def look(self, path: str) -> Entry | None:
        node = self._find(path)
        if node is None:
            return None
        kind = "link" if node.target is not None else "directory" if node.children is not None else "file"
        return Entry("link" if kind == "link" else "directory" if kind == "directory" else "file", (1, node.identity), node.target or "")

    def names(self, directory: str) -> tuple[str, ...]:
        node = self._find(directory)
        return () if node is None or node.children is None else tuple(name for name, _ in node.children.values())

    def text(self, path: str, limit: int) -> str | None:
        return None

    def reached(self, path: str) -> list[int] | None:
        """Follow a path as a kernel does; return the identities of the directories entered last, outermost first, None when it fails.

        What is missing stays below the last directory that exists: that is where an effect would happen.
        """
        trail = [self._root]
        pending = list(reversed(path.split("/")))
        links = 0
        missing = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if missing:
                    missing -= 1
                elif len(trail) > 1:
                    trail.pop()
                continue
            children = trail[-1].children
            found = None if missing or children is None else children.get(self.fold(part))
            if found is None:
                missing += 1
                continue
            node = found[1]
            if node.target is None:
                trail.append(node)
                continue
            links += 1
            if links > 40:
                return None
            if node.target.startswith("/"):
                trail = [self._root]
            pending += reversed(node.target.split("/"))
        return [node.identity for node in trail]

    def _find(self, path: str) -> _Node | None:
        node = self._root
        for part in _parts(path):
            found = (node.children or {}).get(self.fold(part))
            if found is None:
                return None
            node = found[1]
        return node

    def _new(self, target: str | None = None, children: dict[str, tuple[str, _Node]] | None = None) -> _Node:
        self._count += 1
        return _Node(self._count, target, children)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
