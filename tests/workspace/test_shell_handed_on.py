"""Text and words that bash hands on (to another bash, a trap, a function, a variable) hide neither a secret nor a protected file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, Mode

ALLOW = Decision.ALLOW
MODES = (Mode.ASK, Mode.YOLO, Mode.FULL_YOLO)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path, {"MY_TOKEN": "inside", "PLACE": "src"})
    room.write("a.txt")
    room.write("src/a.py")
    (room.home / ".netrc").write_text("key")
    (room.workspace / "link").symlink_to(room.home / ".ssh")
    (room.workspace / "hl").symlink_to(room.home)
    return room


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'cat $0' link/id_rsa",
        "bash -c 'cat \"$@\"' x link/id_rsa",
        "bash -c 'cat $0/id_rsa' link",
        "bash +x -c 'cat link/id_rsa'",
        "bash -e +u -c 'cat ~/.netrc'",
        "trap 'cat ~/.ssh/id_rsa' EXIT",
        "trap -- 'cat link/id_rsa' EXIT",
        "trap 'x=~; cat $x/.netrc' EXIT",
        "f() { cat; } < link/id_rsa; f",
        ": ${x:=~/.s}; cat ${x}sh/id_rsa",
        ": ${x=link}; cat $x/id_rsa",
        "cat $MY_TOKEN/etc/shadow",
        "gcc -x c @hl/.netrc",
        "node -r ../home/.netrc",
        "cp -r -t c ~",
        "cp -rt c ~/.",
        "cp --rec ~ c",
        "cp --archiv ~ c",
        "cp --recursive --target-directory=c ~",
    ],
)
def test_what_is_handed_on_does_not_hide_a_secret(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.YOLO])
@pytest.mark.parametrize(
    "line", ["bash <(echo 'cat ~/.netrc')", "bash /dev/stdin <<< 'cat ~/.netrc'", "bash /dev/fd/3 3<<< 'cat ~/.netrc'"]
)
def test_a_shell_that_is_fed_by_name_asks(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "line",
    [
        "f() { echo x; } > ~/.bashrc; f",
        "f() { echo x; } >> ../home/.bashrc; f",
        "trap 'echo x >> ~/.bashrc' EXIT",
        "trap 'echo x >> ../home/.bashrc' 0",
    ],
)
def test_a_protected_file_is_not_written_at_another_time(room: Room, line: str, mode: Mode) -> None:
    assert room.shell(line, room.permissions(mode)).decision is not ALLOW


@pytest.mark.parametrize(
    "line",
    [
        "trap 'rm -f a.txt' EXIT",
        "trap - INT",
        "trap '' INT TERM",
        "f() { make; }; f",
        "f() { make; } > log.txt; f",
        "bash -c 'make $0' test",
        "cat $PLACE/a.py",
        "npm install @types/node",
        "cp -rt out src",
        "cp --rec src out",
    ],
)
def test_what_names_no_secret_runs_under_full_yolo(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.FULL_YOLO)).decision is ALLOW
