"""Whose work a deletion loses, on real repositories and without one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.session.task_work import TaskWork
from yagent.workspace.changes import state
from yagent.workspace.git import Git
from yagent.workspace.inventory import take_inventory


class Bench:
    """A workspace in which a task has begun."""

    def __init__(self, base: Path, workspace: str = "") -> None:
        self.root = base / "w"
        self.workspace = self.root / workspace
        self.work = TaskWork()

    def git(self, *arguments: str) -> None:
        settings = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *settings, *arguments], cwd=self.root, check=True, capture_output=True)

    def write(self, name: str, text: str = "text\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def begin(self) -> None:
        """What a session does as a task begins."""
        git = Git(VirtualClock(), os.environ)
        self.work.begin(await take_inventory(git, self.workspace, await state(git, self.workspace)))

    def own(self, name: str) -> bool:
        """Whether losing this is the task's own affair."""
        path = self.root / name
        return self.work.is_recoverable(path.parent.resolve() / path.name)


def _append(path: Path) -> None:
    with open(path, "a") as file:
        file.write("more\n")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    for name in ("clean.txt", "dirty.txt", "src/a.py", "src/b.py", "assumed.txt", "skipped.txt"):
        bench.write(name)
    bench.write(".gitignore", "*.log\nbuild/\n.env\n")
    bench.git("init", "-q")
    bench.git("add", "-A")
    bench.git("commit", "-qm", "x")
    bench.write("dirty.txt", "changed by the user\n")
    for name in ("untracked.txt", "notes/todo.md", "old.log", ".env", "build/out.o"):
        bench.write(name, "the user's own\n")
    bench.write("staged.txt", "staged\n")
    bench.git("add", "staged.txt")
    return bench


async def test_what_git_has_and_what_the_task_made_may_go_and_nothing_else(bench: Bench) -> None:
    await bench.begin()
    bench.write("new.txt")
    bench.write("made/by/task.py")
    bench.write("clean.txt", "changed by the task\n")
    bench.write("build/new.o")
    assert all(map(bench.own, ("clean.txt", "src/a.py", "src", "new.txt", "made", "made/by/task.py", "build/new.o")))
    users = ("dirty.txt", "untracked.txt", "notes", "notes/todo.md", "old.log", ".env", "build", "build/out.o", "staged.txt", ".")
    assert not any(map(bench.own, users))


async def test_nothing_is_the_tasks_own_before_it_began_or_when_the_state_is_not_known(bench: Bench) -> None:
    bench.write("new.txt")
    assert not bench.own("clean.txt")
    (bench.root / ".git" / "index").write_bytes(b"broken")
    await bench.begin()
    assert not bench.own("clean.txt")
    assert not bench.own("new.txt")


async def test_the_users_files_stay_his_whatever_the_task_does_to_them(bench: Bench) -> None:
    await bench.begin()
    for name in ("untracked.txt", "old.log", ".env", "dirty.txt"):
        path = bench.root / name
        path.write_text(path.read_text() + "appended by the task\n")
        assert not bench.own(name)
        (bench.root / "temporary").write_text(path.read_text())
        (bench.root / "temporary").rename(path)  # as editors write
        assert not bench.own(name)


async def test_files_git_was_told_not_to_look_at_are_not_taken_for_committed(bench: Bench) -> None:
    bench.git("update-index", "--assume-unchanged", "assumed.txt")
    bench.git("update-index", "--skip-worktree", "skipped.txt")
    bench.write("assumed.txt", "the user's settings\n")
    bench.write("skipped.txt", "the user's settings\n")
    await bench.begin()
    assert not bench.own("assumed.txt")
    assert not bench.own("skipped.txt")


async def test_a_moved_file_is_still_the_users_even_appended_to(bench: Bench) -> None:
    await bench.begin()
    (bench.root / "untracked.txt").rename(bench.root / "src" / "elsewhere.txt")
    _append(bench.root / "src" / "elsewhere.txt")
    assert not bench.own("src/elsewhere.txt")
    assert not bench.own("src")
    (bench.root / "notes").rename(bench.root / "papers")
    assert not bench.own("papers")
    assert not bench.own("papers/todo.md")
    (bench.root / "clean.txt").rename(bench.root / "moved.txt")
    assert bench.own("moved.txt")


async def test_a_move_that_was_seen_is_remembered_even_when_the_file_was_written_anew(bench: Bench) -> None:
    await bench.begin()
    (bench.root / "untracked.txt").rename(bench.root / "x.txt")
    bench.work.moved(bench.root.resolve() / "x.txt")
    bench.write("temporary", "edited\n").rename(bench.root / "x.txt")
    assert not bench.own("x.txt")
    bench.work.moved(bench.root.resolve() / "taken")
    bench.write("taken/below.txt")
    assert not bench.own("taken/below.txt")
    assert not bench.own("taken")


async def test_a_new_file_with_the_inode_of_a_replaced_one_is_the_tasks(bench: Bench) -> None:
    await bench.begin()
    (bench.root / "untracked.txt").rename(bench.root / "scratch.txt")
    bench.write("untracked.txt", "another file has the name now\n")
    assert bench.own("scratch.txt")
    assert not bench.own("untracked.txt")


async def test_a_hard_link_to_the_users_file_is_not_the_tasks_to_overwrite(bench: Bench) -> None:
    await bench.begin()
    os.link(bench.root / "untracked.txt", bench.root / "link.txt")
    assert not bench.own("link.txt")


async def test_symbolic_links_are_judged_themselves_and_not_followed(bench: Bench) -> None:
    (bench.root / "users-link").symlink_to("untracked.txt")
    await bench.begin()
    (bench.root / "task-link").symlink_to("notes")
    assert bench.own("task-link")
    assert not bench.own("users-link")
    (bench.root / "made").mkdir()
    (bench.root / "made" / "up").symlink_to("..")
    assert bench.own("made")


async def test_another_spelling_of_a_users_file_is_the_same_file(bench: Bench) -> None:
    """A file system that ignores case shows one file under both names; a hard link stands for it here."""
    await bench.begin()
    os.link(bench.root / "dirty.txt", bench.root / "DIRTY.TXT")
    assert not bench.own("DIRTY.TXT")


async def test_what_lies_in_other_repositories_is_not_known(bench: Bench, tmp_path: Path) -> None:
    other = Bench(tmp_path / "other")
    other.write("a.txt")
    other.git("init", "-q")
    other.git("add", "-A")
    other.git("commit", "-qm", "x")
    bench.git("submodule", "--quiet", "add", str(other.root), "module")
    bench.git("commit", "-qm", "module")
    bench.write("module/users.txt")
    shutil.copytree(other.root, bench.root / "nested")
    shutil.copytree(other.root, bench.root / "build" / "nested")
    await bench.begin()
    for name in ("module", "module/users.txt", "module/a.txt", "nested", "nested/a.txt", "build/nested/a.txt"):
        assert not bench.own(name), name
    shutil.copytree(other.root, bench.root / "cloned")
    assert bench.own("cloned")


async def test_a_workspace_below_the_root_of_its_repository(bench: Bench) -> None:
    bench.workspace = bench.root / "src"
    bench.write("src/users.txt")
    await bench.begin()
    bench.write("src/new.txt")
    assert bench.own("src/a.py")
    assert bench.own("src/new.txt")
    assert not bench.own("src/users.txt")
    assert not bench.own("src")


async def test_a_workspace_reached_through_a_link(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bench.root)
    bench.workspace = tmp_path / "link"
    await bench.begin()
    assert bench.own("clean.txt")
    assert not bench.own("dirty.txt")


async def test_without_a_repository_everything_that_was_there_is_the_users(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("users.txt")
    bench.write("deep/users.txt")
    (bench.root / "empty").mkdir()
    await bench.begin()
    bench.write("users.txt", "changed by the task\n")
    bench.write("deep/new.txt")
    assert not any(map(bench.own, ("users.txt", "deep", "deep/users.txt", ".")))
    assert all(map(bench.own, ("deep/new.txt", "empty")))
    (bench.root / "users.txt").rename(bench.root / "x")
    assert not bench.own("x")


async def test_files_outside_are_never_the_tasks_own(bench: Bench, tmp_path: Path) -> None:
    await bench.begin()
    (tmp_path / "outside.txt").write_text("x")
    assert not bench.own("../outside.txt")
    assert not bench.own("not-there")


async def test_the_next_task_of_a_session_does_not_own_what_the_first_left(bench: Bench) -> None:
    await bench.begin()
    bench.write("first.txt")
    assert bench.own("first.txt")
    await bench.begin()
    assert not bench.own("first.txt")


async def test_the_age_of_files_does_not_matter(bench: Bench) -> None:
    os.utime(bench.root / "untracked.txt", (4e9, 4e9))
    await bench.begin()
    os.utime(bench.write("unpacked.txt"), (0, 0))
    assert bench.own("unpacked.txt")
    assert not bench.own("untracked.txt")


async def test_where_there_is_too_much_to_look_at_nothing_is_known(bench: Bench) -> None:
    for number in range(30):
        bench.write(f"build/{number}/x.o")
    git = Git(VirtualClock(), os.environ)
    bench.work.begin(await take_inventory(git, bench.root, await state(git, bench.root), most=10))
    bench.write("build/29/new.o")
    bench.write("new.txt")
    assert not bench.own("build/29/new.o")
    assert bench.own("new.txt")


async def test_a_very_deep_directory_is_looked_through(bench: Bench) -> None:
    await bench.begin()
    name = "/".join(["d"] * 900)
    bench.write(f"{name}/x")
    assert bench.own("d")


async def test_pipes_and_sockets_which_git_does_not_list_may_be_the_users(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(bench.root / "s"))
    await bench.begin()
    assert not bench.own("pipe")
    assert not bench.own("s")
