"""What a verdict costs: how often it looks at the disk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.file_system import Entry, LocalFileSystem
from yagent.workspace.permissions import Mode, Permissions


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("src/a.py")
    return room


class CountedDisk(LocalFileSystem):
    """Counts how often each path is looked at."""

    def __init__(self) -> None:
        self.looks: Counter[str] = Counter()

    def look(self, path: str) -> Entry | None:
        self.looks[path] += 1
        return super().look(path)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "line", ["cat {}", "git add {}", "python3 x.py {}", "python3 x.py --a={}:b", "for f in {}; do cp $f c; done", "cp {} src"]
)
def test_a_verdict_looks_at_each_place_once_however_many_words_name_it(room: Room, line: str, mode: Mode) -> None:
    """Each look is a call of the system, which on a slow disk is what a verdict costs."""
    disk = CountedDisk()
    permissions = Permissions(room.permissions(mode).settings, file_system=disk)
    room.shell("ls", permissions)  # what is the same for all verdicts is found out with the first
    disk.looks.clear()
    room.shell(line.format(" ".join(["src/a.py", *(f"src/{number}.py" for number in range(60))])), permissions)
    assert disk.looks[f"{room.workspace}/src"] <= 2
    assert max(disk.looks.values()) <= 4
