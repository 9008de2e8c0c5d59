"""Repositories in every state, and such as would start programs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.places import SHARED_MEMORY, in_memory, many_files
from tests.hostile.tour import LOOKS, Tour
from tests.support.command_line import CommandLine
from tests.support.fixtures import commit
from tests.support.model_server import Call, ModelServer

pytestmark = [pytest.mark.real_time, pytest.mark.slow]
PROGRAMS = """
[core]
 fsmonitor = {program} monitor
 hooksPath = {hooks}
 pager = {program} pager
 editor = {program} editor
 sshCommand = {program} ssh
[filter "evil"]
 clean = {program} clean
 smudge = {program} smudge
 process = {program} process
 required = true
[diff "evil"]
 textconv = {program} textconv
 command = {program} command
[diff]
 external = {program} external
[alias]
 status = !{program} alias
[log]
 showSignature = true
[gpg]
 program = {program} gpg
[interactive]
 diffFilter = {program} filter
[credential]
 helper = {program} helper
[includeIf "gitdir:**"]
 path = {included}
"""


def committed(place: Path) -> None:
    commit(place, "add", "-A")
    commit(place, "commit", "-q", "-m", "more")


def without_commits(place: Path) -> None:
    shutil.rmtree(place / ".git")
    commit(place, "init", "-q")


def no_repository(place: Path) -> None:
    shutil.rmtree(place / ".git")


def bare(place: Path) -> None:
    shutil.rmtree(place / ".git")
    commit(place, "init", "-q", "--bare")


def lost_worktree(place: Path) -> None:
    shutil.rmtree(place / ".git")
    (place / ".git").write_text("gitdir: /nonexistent/worktrees/x\n")


def damaged(place: Path) -> None:
    (place / ".git" / "HEAD").write_bytes(b"\x00\xff")


def detached_and_locked(place: Path) -> None:
    commit(place, "checkout", "-q", "--detach")
    (place / ".git" / "index.lock").write_text("")


def with_submodule(place: Path) -> None:
    other = place.parent / "other"
    other.mkdir()
    (other / "x").write_text("words\n")
    commit(other, "init", "-q")
    committed(other)
    commit(place, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    committed(place)
    (place / "sub" / "x").write_text("changed\n")


def hundred_thousand_changed_lines(place: Path) -> None:
    (place / "big.txt").write_text("a\n" * 100_000)
    committed(place)
    (place / "big.txt").write_text("b\n" * 100_000)


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (without_commits, "There is no commit yet."),
        (no_repository, "Not a git repository."),
        (bare, "There is no commit yet."),
        (lost_worktree, "Not a git repository."),
        (damaged, "Not a git repository."),
        (detached_and_locked, "Git branch: none (detached); clean"),
        (with_submodule, "Git branch: main; clean"),
        (hundred_thousand_changed_lines, "Git branch: main; 1 modified"),
    ],
)
async def test_a_run_says_what_state_the_repository_is_in_and_works_there(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, prepare: Callable[[Path], None], told: str
) -> None:
    prepare(workspace)
    visit = await Tour(yagent, model_server).visit()
    assert told in visit.first
    if prepare is bare:  # all of it is git's own
        assert visit.run.code == 4
        assert "needs an approval" in visit.works[1]
        return
    assert visit.run.code == 0, visit.run.told
    assert visit.works[-1] == "Deleted made/moved.txt."
    assert not (workspace / "made" / "moved.txt").exists()


async def test_no_program_that_a_repository_configures_is_started(
    yagent: CommandLine, model_server: ModelServer, workspace: Path, tmp_path: Path
) -> None:
    started, program, hooks = tmp_path / "started", tmp_path / "program.sh", tmp_path / "hooks"
    started.mkdir()
    program.write_text(f'#!/bin/sh\ntouch "{started}/$1"\ncat\n')
    program.chmod(0o755)
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "pre-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {started}/{name}\n")
        (hooks / name).chmod(0o755)
    (tmp_path / "included").write_text(f"[core]\n fsmonitor = {program} included\n")
    (workspace / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    committed(workspace)
    with (workspace / ".git" / "config").open("a") as file:
        file.write(PROGRAMS.format(program=program, hooks=hooks, included=tmp_path / "included"))
    (workspace / "notes.txt").write_text("changed\n")
    lines = ("git status", "git diff", "git log -p -1", "git -C . status --short", "git show HEAD")
    visit = await Tour(yagent, model_server).visit(works=[Call("run_bash", {"command": line}) for line in lines])
    assert "Git branch: main; 1 modified" in visit.first
    assert visit.run.code == 4
    for answer in visit.works:
        assert "the repository's own configuration has" in answer
    assert list(started.iterdir()) == []


@pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="makes its files in /dev/shm")
@pytest.mark.timeout(150)
async def test_two_hundred_thousand_files_and_a_thousand_levels_take_no_minute(yagent: CommandLine, model_server: ModelServer) -> None:
    with in_memory("many") as place:
        many_files(place, 200_000, deep=1000)
        (place / "notes.txt").write_text("first\n")
        commit(place, "init", "-q")
        looks = (
            *LOOKS,
            Call("list_dir", {"path": "d0"}),
            Call("print_dir_tree", {"depth": 20}),
            Call("read_file", {"path": "deep/" * 1000 + "last.txt"}),
            Call("read_file", {"path": "deep/" * 100 + "missing.txt"}),
        )
        before = os.times()
        visit = await Tour(CommandLine(yagent.home, place, yagent.environment), model_server, limit=100).visit(looks)
        after = os.times()
        assert after.children_user + after.children_system - before.children_user - before.children_system < 60  # of the processor
        assert visit.run.code in (0, 4), visit.run.told  # 4: of so many new files it is not known whose they are, so deleting one asks
        assert visit.peak is None or visit.peak < 200
        assert "further entries are left out" in visit.looks[4]
        assert "could not be read: …" in visit.looks[2]
        assert "too long" in visit.looks[2]
        assert len(visit.looks[2]) < 1000
        assert re.search(r"too long|lead too far|1\tneedle", visit.looks[6])


async def test_a_repository_inside_the_home_directory_is_one_like_others(
    yagent: CommandLine, model_server: ModelServer, isolated_home: Path
) -> None:
    place = isolated_home / "project"
    place.mkdir()
    (place / "notes.txt").write_text("needle\n")
    commit(place, "init", "-q")
    visit = await Tour(CommandLine(yagent.home, place, yagent.environment), model_server).visit()
    assert visit.run.code == 0
    assert visit.works[-1] == "Deleted made/moved.txt."


async def test_the_home_directory_itself_is_no_place_for_working_unasked(
    yagent: CommandLine, model_server: ModelServer, isolated_home: Path
) -> None:
    (isolated_home / "notes.txt").write_text("needle\n")
    line = CommandLine(yagent.home, isolated_home, yagent.environment)
    refused = await line.run("-p", "x", "-y")
    assert refused.code == 2
    visit = await Tour(line, model_server, flags=()).visit()
    assert visit.run.code == 4
    assert "needs an approval" in visit.works[1]
