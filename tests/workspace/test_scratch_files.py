"""Files in the temporary directories: the task's own is free, and who may not use the shared ones is told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, Mode

ALLOW, ASK = Decision.ALLOW, Decision.ASK


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


@pytest.mark.parametrize(
    ("line", "explained"),
    [
        ("tool {shared}/old.csv", "{shared}/old.csv is outside the workspace."),
        ("echo x > {shared}/old.csv", "replacing {shared}/old.csv is outside the workspace."),
        ("echo x >> {shared}/old.csv", "changing {shared}/old.csv is outside the workspace."),
        ("rm {shared}/old.csv", "deleting {shared}/old.csv is outside the workspace."),
        ("printf x > {shared}/t.csv && tool {shared}/t.csv", "{shared}/t.csv is outside the workspace."),
        ("cd {shared} && make", "make would run in {shared}, outside the workspace."),
        ("tool /tmp/no/such.csv", "/tmp/no/such.csv is outside the workspace."),
        ('f=$(mktemp); echo b > "$f"', '"$f" is only known when the line runs.'),
        ('cd "$(mktemp -d)" && make', "make would run in a directory that is only known when the line runs."),
    ],
)
def test_who_may_not_use_the_shared_temporary_directory_is_told_where_scratch_files_go(room: Room, line: str, explained: str) -> None:
    shared = room.base / "shared"
    shared.mkdir()
    (shared / "old.csv").touch()
    verdict = room.shell(line.format(shared=shared), room.permissions(Mode.YOLO))
    assert verdict.decision is ASK
    assert verdict.explanation() == explained.format(shared=shared)
    instead = f'Scratch files go to "$TMPDIR/name" (in file tools: {room.base}/temporary/name).'
    assert verdict.instead == ("mktemp is not followed. " if "mktemp" in line else "") + instead


@pytest.mark.parametrize("line", ["touch /opt/x", 'echo x > "$X"', "sudo mktemp", "tool /opt/x"])
def test_of_other_denials_nothing_is_said_of_scratch_files(room: Room, line: str) -> None:
    verdict = room.shell(line, room.permissions(Mode.YOLO))
    assert (verdict.decision, verdict.instead) == (ASK, "")


def test_scratch_files_of_the_task_are_used_in_every_way(room: Room) -> None:
    (room.base / "temporary" / "t.csv").touch()
    for way in ("tool {}", "echo x > {}", "echo x >> {}", "rm {}", "printf x > {0} && tool {0}", "cp a.txt {}"):
        assert room.shell(way.format('"$TMPDIR/t.csv"'), room.permissions(Mode.YOLO)).decision is ALLOW, way
