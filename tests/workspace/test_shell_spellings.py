"""Options in every way that programs take them: abbreviated, several letters in one word, with the value attached; and pathspecs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision, Mode

ALLOW, ASK = Decision.ALLOW, Decision.ASK
PRECIOUS = "work of the user that git does not have\n"
GIT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("a.txt")
    room.write("f")
    return room


@pytest.fixture
def repository(tmp_path: Path) -> Room:
    """Two branches that differ in `f`, in which the user works."""
    room = Room(tmp_path)
    for name in ("f", "user.txt"):
        room.write(name)
    for line in (
        *("git init -q -b main", "git config user.name x", "git config user.email x", "git add .", "git commit -qm x"),
        *("git branch old", "git commit -qm y --allow-empty"),
    ):
        run(room, line)
    room.write("f", PRECIOUS)
    room.write("user.txt", PRECIOUS)
    return room


def run(room: Room, line: str) -> None:
    subprocess.run(["bash", "--norc", "-c", line], cwd=room.workspace, env=GIT, check=False, capture_output=True, timeout=10)


LOSING_BY_GIT = [
    *("git reset --har", "git reset --h", "git reset -q --hard", "git restore --staged -qW f", "git restore -S --worktre f"),
    *("git restore -SW f", "git restore -qWS f", "git checkout --forc old", "git checkout -qf old", "git switch --discard-change old"),
    *("git switch --di old", "git switch -qf old", "git switch -q --discard old", "git rm -qf f", "git rm --forc f"),
    *("git checkout '*.txt'", "git checkout 'use[r].txt'", "git checkout 'user.tx?'", "git checkout ':(top)f'", "git checkout ':!zz'"),
    *("git checkout :/f", "git checkout ':^zz'", "git read-tree --rese -u HEAD", "git read-tree -u --res HEAD"),
    *("git checkout -q -m old; git checkout -q --pathspec-from-fil=names", "git read-tree --rese -u HEAD --"),
    "git archive -ouser.txt HEAD",
    *("git bundle create --version 2 user.txt HEAD", "git apply --build-fake=user.txt names"),
]


@pytest.mark.parametrize("line", LOSING_BY_GIT)
def test_git_losing_work_asks_under_yolo_however_it_is_spelled(repository: Room, line: str) -> None:
    repository.write("names", "f\n")
    assert repository.shell(line, repository.permissions(Mode.YOLO)).decision is ASK
    run(repository, line)
    left = [path for path in (repository.workspace / "f", repository.workspace / "user.txt") if path.exists()]
    lost = any(path.read_bytes() != PRECIOUS.encode() for path in left) or len(left) < 2
    assert lost or "apply" in line, "the line is harmless after all: it proves nothing here"


@pytest.mark.parametrize(
    "line",
    [
        *("git branch --dele old", "git branch -qD old", "git branch -vf old HEAD", "git tag --for x", "git tag -af -m x v1"),
        *("git mv -vf f a.txt", "git mv --for f a.txt", "git notes --ref=x remove HEAD", "git notes add -fm x", "git notes --ref x prune"),
        *("git worktree add -fB x ../w/y", "git worktree add --for y", "git switch -qm old", "git checkout --conflict=merge old"),
        *("git rebase --exe ls main", "git rebase -qx ls main", "git rebase --interact main", "git rebase -qi main", "git add -vi"),
        *(
            "git init --templ=src .",
            "git init --templ src",
            "git archive --remot=x HEAD",
            "git apply --unsafe-path x",
            "git apply --unsafe x",
        ),
        *("git init --separate-git=x", "git rebase --edit-tod"),
    ],
)
def test_git_losing_other_things_or_running_programs_asks_however_it_is_spelled(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is ASK


@pytest.mark.parametrize(
    "line",
    [
        *("git commit -amfix", "git commit -am 'fix it'", "git commit -qamdone", "git commit --amend --edit", "git commit -uno -qm x"),
        *("git checkout -qb new", "git checkout -bfix", "git checkout feature/x", "git checkout HEAD~1", "git checkout -q main"),
        *("git switch -cfix", "git switch -qc new", "git restore --staged a.txt", "git restore -Sq a.txt", "git restore -S a.txt"),
        *(
            "git stash push -m drop",
            "git stash -um wip",
            "git stash pop --index",
            "git merge -sours -Xours main",
            "git reset -q HEAD a.txt",
        ),
        *("git init -bmain", "git tag -amtext v1", "git tag -am text v1", "git add -vA", "git branch -umain", "git rm -rq --cached a.txt"),
        *(
            "git rebase -Xours main",
            "git cherry-pick -m1 HEAD",
            "git archive -ofix.tar HEAD",
            "git apply --index x",
            "git worktree add -bfix y",
        ),
    ],
)
def test_other_letters_and_words_of_git_run_under_yolo(room: Room, line: str) -> None:
    verdict = room.shell(line, room.permissions(Mode.YOLO))
    assert verdict.decision is ALLOW, verdict.explanation()


@pytest.mark.parametrize(
    "line",
    [
        *("tar xf a.tar --to-comm=ls", "tar xf a.tar --use=ls", "tar xf a.tar --us ls", "tar --ab -xf a.tar", "tar xf a --inf=ls -M"),
        *("tar cf x --new-=ls a.txt", "tar cf x --rs=ls a.txt", "tar cf x --rm=ls a.txt", "tar -xvPf a.tar", "tar xvPf a.tar"),
        *("tar cf x --checkpoint-act=exec=ls a.txt", "sort --comp=ls a.txt", "man --pag=ls x", "cpio --ext -F a", "zip a.zip f --unz=ls"),
        *(".venv/bin/pip install --targ ../x y", ".venv/bin/pip install -t../x y", ".venv/bin/pip install --index-u=http://x y"),
        *(".venv/bin/pip install -ihttp://x y", ".venv/bin/pip install --extra-i http://x y", ".venv/bin/pip install -qt ../x y"),
        *("npm install -gD x", "npm install --glob x", "npm i -Dg x", ".venv/bin/pip install --find x y", ".venv/bin/pip install -f./x y"),
    ],
)
def test_options_of_other_programs_ask_under_yolo_however_they_are_spelled(room: Room, line: str) -> None:
    assert room.shell(line, room.permissions(Mode.YOLO)).decision is ASK


@pytest.mark.parametrize(
    "line",
    [
        *(
            "tar -xvzf a.tar",
            "tar xzf a.tgz",
            "tar --extract --file a.tar",
            "tar -tvf a.tar",
            "npm install -D x",
            "npm install --save-dev x",
        ),
        *(".venv/bin/pip install --pre x", ".venv/bin/pip install -qU x", ".venv/bin/pip install -rtests/fit.txt", "zip -rq new.zip f"),
        *("go mod tidy -go=1.21", "gcc -flto a.txt -o new", "gcc -O2 -Wno-unused f", "unzip -q a.zip", "uniq -f 1 a.txt new.txt"),
    ],
)
def test_other_options_run_under_yolo(room: Room, line: str) -> None:
    verdict = room.shell(line, room.permissions(Mode.YOLO))
    assert verdict.decision is ALLOW, verdict.explanation()
