"""Lines that give a file another name and then lose it there; checked on what bash really does to the files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, EditPath, Mode, Permissions

PRECIOUS = "the user's own work"


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("user.txt", PRECIOUS)
    room.write("mine.txt")
    room.write("other.txt")
    room.write("sub/mine.txt")
    room.write("dir/user.txt", PRECIOUS)
    room.write("dir/mine.txt")
    room.write("clean/mine.txt")
    (room.workspace / "clean" / "link").symlink_to("../dir")
    (room.workspace / "link").symlink_to("dir")
    return room


def task(room: Room) -> Permissions:
    """Rights under -y of a task that made every file but the precious ones."""

    def recoverable(path: Path) -> bool:
        return not any(each.is_file() and each.read_text() == PRECIOUS for each in (path, *path.rglob("*")))

    return room.permissions(Mode.YOLO, recoverable=recoverable)


def precious_left(room: Room) -> int:
    """How many copies of the user's work there are."""
    return sum(each.read_bytes() == PRECIOUS.encode() for each in room.workspace.rglob("*") if each.is_file())


LOSING = [
    *("mv user.txt x && rm x", "mv user.txt x; mv x y; rm y"),
    *("mv user.txt sub && rm -r sub", "mv user.txt sub && rm sub/user.txt"),
    *("mkdir d && mv user.txt d && rm -r d", "mv dir d2 && rm -rf d2"),
    *("mv dir d2 && rm d2/user.txt", "mv dir d2; rm d2/../d2/user.txt"),
    *("mv user.{txt,bak} && rm user.bak", "mv user.* sub/ && rm -r sub"),
    *("mv user.txt x && echo > x", "mv user.txt x && cp mine.txt x"),
    *("mv user.txt x && mv mine.txt x", "mv user.txt mine.txt && rm mine.txt", "mv user.txt x; mv other.txt x"),
    *("ln -s dir l && rm l/user.txt", "ln -s . l && rm l/user.txt", "ln user.txt h && echo > h", "ln -s user.txt l && echo > l"),
    *("mv link l2 && rm l2/user.txt", "cp -a clean c2 && rm c2/link/user.txt", "mv clean c2 && rm c2/link/user.txt"),
    *("cd sub && mv ../user.txt x && rm x", "mv user.txt x & wait; rm x"),
    *("(mv user.txt x); rm x", "bash -c 'mv user.txt x'; rm x"),
    *(
        "if mv user.txt x; then rm x; fi",
        "while rm x 2>/dev/null || ! test -e x; do mv user.txt x || break; done",
        "env mv user.txt x; rm x",
    ),
    "gzip user.txt && rm user.txt.gz",
    *("tar --remove-f -cf a.tar user.txt && rm a.tar", "sort -omine.txt mine.txt; mv mine.txt user.txt", "sort -uo user.txt mine.txt"),
    *("tar --remove-files -cf a.tar user.txt && rm a.tar", "command mv user.txt x && unlink x"),
    *("cp mine.txt user.txt", "> user.txt", "echo x > user.txt"),
    *("echo x >| user.txt", "echo x &> user.txt", "mv mine.txt user.txt"),
    *(
        "truncate -s 0 user.txt",
        "tee user.txt < mine.txt",
        "dd if=mine.txt of=user.txt",
        "ln -f mine.txt user.txt",
        "cat mine.txt >user.txt",
    ),
    *("cp mine.txt dir/../user.txt", "cp -r sub/. dir && cp mine.txt dir/user.txt"),
    *("install mine.txt user.txt", "install -m 600 mine.txt dir/user.txt", "install -CD mine.txt dir/../user.txt"),
    *("install mine.txt other.txt link/../dir; install -T mine.txt dir/user.txt", "mv user.txt x && install mine.txt x"),
    *("gzip -c mine.txt > user.txt.gz && gunzip -f user.txt.gz", "mv user.txt mine.txt.gz && gzip -qf mine.txt"),
    *("mv user.txt mine.txt.xz; xz --forc mine.txt", "mv user.txt xaa; split mine.txt", "mv user.txt yaa; split -l 1 mine.txt y"),
    "mkdir t && cp mine.txt t/user.txt && tar cf a.tar -C t user.txt && tar -xUf a.tar",
    "mkdir t && cp mine.txt t/user.txt && tar cf a.tar -C t user.txt && tar xf a.tar --overwrite --dir=dir",
    *("cp mine.txt link/user.txt", "cd dir && : > user.txt"),
    *(
        "mv -f mine.txt dir/user.txt",
        "cp mine.txt user.txt && true",
        "true && (echo > user.txt)",
        "rm user.txt",
        "rm -r dir",
        "shred -u user.txt",
    ),
]


@pytest.mark.parametrize("line", LOSING)
def test_a_line_that_loses_the_users_work_asks_under_yolo_by_whatever_name(room: Room, line: str) -> None:
    verdict = room.shell(line, task(room))
    assert verdict.decision is Decision.ASK
    before = precious_left(room)
    subprocess.run(["bash", "-c", line], cwd=room.workspace, check=False, capture_output=True, timeout=10)
    assert precious_left(room) < before, "the line is harmless after all: it proves nothing here"


HARMLESS = [
    *(
        "mv user.txt x",
        "mv user.txt mine.txt",
        "mv dir d2",
        "mv dir d2 && rm d2/mine.txt",
        "cp user.txt x && rm x",
        "cp -r dir d2 && rm -r d2",
        "mv mine.txt x && rm x",
    ),
    *(
        "mkdir d && echo x > d/y && rm -r d",
        "echo x >> user.txt",
        "sed -i s/own/old/ user.txt",
        "touch user.txt",
        "echo > mine.txt && rm mine.txt",
    ),
    *(
        "cp mine.txt dir/",
        "cp mine.txt dir/new.txt",
        "mv mine.txt dir/",
        "cp -r sub dir",
        "mv user.txt sub && rm sub/mine.txt",
        "rm -r sub",
    ),
    *("tar cf a.tar user.txt && rm a.tar", "gzip mine.txt && rm mine.txt.gz"),
    *("ln -s dir l && rm l", "tee -a user.txt < mine.txt"),
    *("cat user.txt > x; rm x", "mv mine.txt x; mv other.txt y; rm x y"),
    *("install mine.txt dir/", "install -m 755 mine.txt other.txt", "install -d dir new/d", "install -D mine.txt new/d/x"),
    *("gunzip -f mine.txt.gz", "gzip -kf mine.txt", "split -l 1 mine.txt part_", "split -b1 - part_ < mine.txt"),
    *("tar -xUf a.tar -C clean", "tar xf a.tar", "unzip -o a.zip -d clean", "unzip -qo -dclean a.zip", "unzip a.zip", "tar cUf a.tar sub"),
    *("cp mine.txt other.txt", "python3 -c 1 > out.txt; rm out.txt"),
]


@pytest.mark.parametrize("line", HARMLESS)
def test_what_loses_nothing_runs_under_yolo(room: Room, line: str) -> None:
    verdict = room.shell(line, task(room))
    assert verdict.decision is Decision.ALLOW, verdict.explanation()


def test_a_move_is_followed_from_call_to_call(room: Room) -> None:
    permissions = task(room)
    room.shell("mv user.txt x; mv mine.txt y; cp user.txt z", permissions)
    room.shell("mv user.txt sub", permissions)
    permissions.judge("rename_file", [EditPath("user.txt", "rename"), EditPath("new.txt", "create")])
    permissions.judge("rename_file", [EditPath("mine.txt", "rename"), EditPath("other.py", "create")])
    names = {str(place.relative_to(room.workspace)) for place in room.moved}
    assert names == {"x", "x/user.txt", "sub/user.txt", "new.txt"}


def test_replacing_a_file_as_a_whole_asks_where_that_loses_work_and_editing_it_does_not(room: Room) -> None:
    permissions = task(room)
    assert permissions.judge("create_file", [EditPath("user.txt", "replace")]).reasons[0].code == "loses_work"
    assert permissions.judge("create_file", [EditPath("mine.txt", "replace")]).allowed
    assert permissions.judge("create_file", [EditPath("new.txt", "replace")]).allowed
    assert permissions.judge("search_replace_in_file", [EditPath("user.txt", "edit")]).allowed


LEADING_OUT = [
    *("cp -r out x && echo > x/victim.txt", "mv out x && echo > x/victim.txt", "mv out x; touch x/new", "mv out x; cd x; touch new"),
    *(
        "mv out x && sed -i s/a/b/ x/victim.txt",
        "mv out x; mv mine.txt x/victim.txt",
        "mv out x; mkdir x/y",
        "mkdir d; mv out d; touch d/out/y",
    ),
    *("mv g x && echo > x/config", "mv hooks x && cp mine.txt x/post-commit", "cp -P g x && echo > x/config", "cp -a hooks x; touch x/y"),
    *(
        "mv g x && cd x/hooks && touch y",
        "mv out x && cd x && make",
        "mv out x && python3 mine.txt x/victim.txt",
        "mv out x; tee x/y < mine.txt",
    ),
]


@pytest.mark.parametrize("line", LEADING_OUT)
def test_a_link_given_another_name_still_leads_where_it_led(room: Room, line: str) -> None:
    (room.workspace / ".git" / "hooks").mkdir(parents=True)
    for name, target in (("out", room.outside), ("g", ".git"), ("hooks", ".git/hooks")):
        (room.workspace / name).symlink_to(target)
    assert room.shell(line, task(room)).decision is Decision.ASK


def test_a_key_is_not_read_through_a_link_given_another_name(room: Room) -> None:
    (room.workspace / "keys").symlink_to(room.home / ".ssh")
    assert room.shell("mv keys x && cat x/id_rsa", task(room)).decision is Decision.DENY


WRITING = [
    *(
        "sort -o user.txt mine.txt",
        "uniq mine.txt user.txt",
        "tar cf user.txt sub",
        "tar -czf user.txt sub",
        "git archive -o user.txt HEAD",
    ),
    *("gcc -ouser.txt x.c", "tar -c -f user.txt sub", "tar --creat --file=user.txt sub", "tar -vcfuser.txt sub", "tar czCf sub user.txt ."),
    *(
        "jar cf user.txt sub",
        "jar cmf mine.txt user.txt sub",
        "uniq -f 1 mine.txt user.txt",
        "sponge user.txt",
        "patch -so user.txt mine.txt",
    ),
    *("ffmpeg -y -i mine.txt user.txt", "convert mine.txt user.txt", "tool --outp user.txt", "tool -output user.txt", "tree -ao user.txt"),
    *("gcc -o user.txt x.c", "git archive --output=user.txt HEAD", "xxd -r mine.txt user.txt"),
]


@pytest.mark.parametrize("line", WRITING)
def test_an_output_that_is_the_users_work_asks_and_another_does_not(room: Room, line: str) -> None:
    assert room.shell(line, task(room)).decision is Decision.ASK
    assert room.shell(line.replace("user.txt", "new.txt"), task(room)).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "line", ["unzip -o a.zip", "unzip -qo a.zip -d dir", "unzip -o -ddir a.zip", "tar --unlink -xf a.tar", "srm user.txt"]
)
def test_unpacking_over_the_users_work_asks_where_it_is_said_to_replace_files(room: Room, line: str) -> None:
    assert room.shell(line, task(room)).decision is Decision.ASK
