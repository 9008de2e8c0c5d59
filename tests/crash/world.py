"""What a kill leaves behind, and how it is put back: the files of the record, and the working tree."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.crash.job import lay_out
from tests.support.fixtures import commit

Records: TypeAlias = Mapping[str, bytes]  # name of a file of the record -> what it holds
Signature: TypeAlias = tuple[tuple[str, int, int, int], ...]
NOBODY = 2**22 + 1  # the number of no process
ATTEMPTS = 200  # to copy a tree in which a command is at work


@dataclass(frozen=True, slots=True)
class Line:
    """One record where it lies. `stamp` is its time, which no other record of its run has."""

    ordinal: int
    file: str
    stamp: str
    data: bytes
    payload: Mapping[str, Any]


@dataclass(slots=True)
class World:
    """A home and a repository below `place`, and copies of the repository as it was at many moments."""

    place: Path
    _trees: dict[Signature, Path] = field(default_factory=dict)
    _records: Path | None = None

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.place / "home"

    @property
    def workspace(self) -> Path:
        """The user's repository."""
        return self.place / "project"

    def begin(self) -> None:
        """As it is before the first task."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.workspace, ignore_errors=True)
        self.home.mkdir(parents=True)
        lay_out(self.workspace)

    @property
    def record_directory(self) -> Path | None:
        """Where the record lies; None before there is one."""
        if self._records is None:
            self._records = next((path.parent for path in self.home.glob(".yagent/data/rollout/*/*.jsonl")), None)
        return self._records

    def sizes(self) -> dict[str, int]:
        """How long each file of the record is now."""
        directory = self.record_directory
        if directory is None:
            return {}
        with os.scandir(directory) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".jsonl")}

    def records(self) -> dict[str, bytes]:
        """What the files of the record hold."""
        directory = self.record_directory
        return {} if directory is None else {path.name: path.read_bytes() for path in sorted(directory.glob("*.jsonl"))}

    def tree(self) -> Path:
        """A copy of the repository as it is; the same one while nothing changes."""
        for attempt in range(ATTEMPTS):
            try:
                before = _signature(self.workspace)
                if before in self._trees:
                    return self._trees[before]
                copy = self.place / "trees" / f"{len(self._trees)}-{attempt}"
                shutil.copytree(self.workspace, copy, symlinks=True)
                if _signature(self.workspace) == before:
                    self._trees[before] = copy
                    return copy
            except (OSError, shutil.Error):  # something went while it was looked at
                continue
        raise AssertionError("the repository never stood still")

    def put(self, records: Records, tree: Path) -> None:
        """Make it as it was. Everything else that the program keeps stays as it is: what goes stale is its own affair."""
        directory = self.record_directory
        assert directory is not None
        for path in directory.glob("*.jsonl"):
            path.unlink()
        for name, data in records.items():
            (directory / name).write_bytes(data)
            (directory / name).chmod(0o600)
        shutil.rmtree(self.workspace)
        shutil.copytree(tree, self.workspace, symlinks=True)
        for path in list(self.workspace.rglob(f".yagent-{os.getpid()}-*")):  # a file that was half written: by a process that is gone
            shutil.move(path, path.with_name(path.name.replace(str(os.getpid()), str(NOBODY), 1)))


def lines(records: Records) -> list[Line]:
    """Every whole record, in the one order they have; torn lines are left out."""
    found = []
    for name, data in records.items():
        for line in data.splitlines(keepends=True):
            try:
                entry = json.loads(line)
            except ValueError:  # torn
                continue
            found.append(Line(entry["ordinal"], name, entry["timestamp"], line, entry))
    return sorted(found, key=lambda each: each.ordinal)


def contents(place: Path) -> dict[str, str]:
    """What a repository holds: the text of each file, and its history as subjects and trees."""
    paths = (path for path in sorted(place.rglob("*")) if path.is_file() and ".git" not in path.relative_to(place).parts)
    found = {str(path.relative_to(place)): path.read_text(encoding="utf-8") for path in paths}
    return {**found, "history": commit(place, "log", "--format=%s %T"), "status": commit(place, "status", "--short")}


def _signature(place: Path) -> Signature:
    """Every file with what tells that it was written: length, time, inode."""
    found: list[tuple[str, int, int, int]] = []
    waiting = [str(place)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.path, status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(sorted(found))
