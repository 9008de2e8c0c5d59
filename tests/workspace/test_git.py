"""Facts about repositories of all kinds, and files changed while something went on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.virtual_time import VirtualClock
from yagent.runtime.paths import DataHome
from yagent.workspace.changes import changed_files, state
from yagent.workspace.git import Git
from yagent.workspace.inventory import take_inventory
from yagent.workspace.own_records import OwnRecords

IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def run(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, env={**os.environ, **IDENTITY})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    run(root, "init", "-q", "-b", "main")
    (root / "kept.txt").write_text("kept\n")
    (root / "tracked.txt").write_text("one\n")
    run(root, "add", ".")
    run(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def git(clock: VirtualClock) -> Git:
    return Git(clock, dict(os.environ))


async def test_a_clean_repository(git: Git, repository: Path) -> None:
    (repository / "sub").mkdir()
    facts = await git.facts(repository / "sub")
    assert (facts.is_repository, facts.root, facts.branch, facts.dirty) == (True, repository, "main", False)
    assert facts.head is not None
    assert len(facts.head) == 40


async def test_changes_are_counted_by_kind(git: Git, repository: Path) -> None:
    (repository / "tracked.txt").write_text("two\n")
    (repository / "new\nfile").write_text("x")
    (repository / "staged").write_text("x")
    run(repository, "add", "staged")
    run(repository, "mv", "kept.txt", "moved.txt")
    facts = await git.facts(repository)
    assert (facts.staged, facts.modified, facts.untracked, facts.conflicted, facts.dirty) == (2, 1, 1, 0, True)


async def test_a_repository_without_commits(git: Git, tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "-b", "trunk")
    facts = await git.facts(tmp_path)
    assert (facts.is_repository, facts.branch, facts.head, facts.note) == (True, "trunk", None, "there is no commit yet")


async def test_a_detached_head(git: Git, repository: Path) -> None:
    run(repository, "checkout", "-q", "--detach")
    facts = await git.facts(repository)
    assert facts.branch is None
    assert facts.head is not None


async def test_a_bare_repository(git: Git, tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "--bare", "b.git")
    facts = await git.facts(tmp_path / "b.git")
    assert (facts.is_repository, facts.bare, facts.root, facts.dirty) == (True, True, None, None)


async def test_no_repository(git: Git, tmp_path: Path) -> None:
    facts = await git.facts(tmp_path)
    assert (facts.is_repository, facts.root, facts.dirty, facts.note) == (False, None, None, None)


async def test_no_git(clock: VirtualClock, tmp_path: Path) -> None:
    facts = await Git(clock, {"PATH": str(tmp_path)}).facts(tmp_path)
    assert not facts.is_repository
    assert facts.note is not None
    assert "git cannot be run" in facts.note


async def test_for_a_git_that_was_silent_nobody_waits_long_again(clock: VirtualClock, tmp_path: Path) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\ntest -e {tmp_path}/well && echo fine && exit\nexec sleep 60\n")
    program.chmod(0o700)
    git = Git(clock, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    began = clock.now()
    silent = [await git.ask(tmp_path, "status", seconds=seconds) for seconds in (0.2, 9.0, 9.0)]
    assert all(answer is not None and answer.timed_out for answer in silent)
    assert clock.now() - began < 9
    (tmp_path / "well").touch()
    answer = await git.ask(tmp_path, "status")
    assert answer is not None
    assert answer.output == b"fine\n"


async def test_a_damaged_repository_is_said_to_be_unknown(git: Git, repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"garbage")
    facts = await git.facts(repository)
    assert facts.dirty is None
    assert facts.note is not None
    assert "unknown" in facts.note


async def test_a_repository_with_a_submodule(git: Git, repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    run(outer, "init", "-q")
    run(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    run(outer, "commit", "-qm", "with a submodule")
    (outer / "inner" / "tracked.txt").write_text("changed\n")
    assert (await git.facts(outer)).dirty is False


async def test_variables_that_redirect_git_do_not_matter(clock: VirtualClock, repository: Path, tmp_path: Path) -> None:
    git = Git(clock, {**os.environ, "GIT_DIR": str(tmp_path / "nowhere")})
    assert (await git.facts(repository)).root == repository


async def test_changes_are_told_apart_from_those_that_were_there(git: Git, repository: Path) -> None:
    (repository / "tracked.txt").write_text("the user's own\n")
    (repository / "notes.txt").write_text("the user's own\n")
    before = await state(git, repository)
    assert (await changed_files(git, before)).files == ()
    (repository / "kept.txt").unlink()
    (repository / "new.txt").write_text("x")
    (repository / "notes.txt").write_text("changed again\n")
    changed = await changed_files(git, before)
    assert [(file.path, file.kind) for file in changed.files] == [("kept.txt", "deleted"), ("new.txt", "added"), ("notes.txt", "modified")]
    assert changed.note is None


async def test_what_was_committed_meanwhile_counts(git: Git, repository: Path) -> None:
    (repository / "notes.txt").write_text("the user's own\n")
    before = await state(git, repository)
    (repository / "tracked.txt").write_text("two\n")
    (repository / "new.txt").write_text("x")
    run(repository, "add", ".")
    run(repository, "commit", "-qm", "second")
    changed = await changed_files(git, before)
    assert [(file.path, file.kind) for file in changed.files] == [("new.txt", "added"), ("tracked.txt", "modified")]


async def test_a_change_taken_back_is_a_change_to_what_the_user_had(git: Git, repository: Path) -> None:
    (repository / "tracked.txt").write_text("the user's own\n")
    before = await state(git, repository)
    run(repository, "checkout", "-q", "tracked.txt")
    changed = await changed_files(git, before)
    assert [(file.path, file.kind) for file in changed.files] == [("tracked.txt", "modified")]


async def test_a_first_commit_counts(git: Git, tmp_path: Path) -> None:
    run(tmp_path, "init", "-q")
    before = await state(git, tmp_path)
    (tmp_path / "a").write_text("x")
    run(tmp_path, "add", ".")
    run(tmp_path, "commit", "-qm", "first")
    assert [(file.path, file.kind) for file in (await changed_files(git, before)).files] == [("a", "added")]


async def test_outside_a_repository_changes_are_not_known(git: Git, tmp_path: Path) -> None:
    changed = await changed_files(git, await state(git, tmp_path))
    assert changed.files == ()
    assert changed.note is not None
    assert "not a git repository" in changed.note


OURS = (
    *("data/rollout/p/1.jsonl", "data/artifacts/a", "data/tokens.json", "data/tokens.json.lock", "data/.yagent-7-0123456789abcdef.tmp"),
    *("logs/app-2026-01-01.log", "logs/0123abcd-1/tool-2026-01-01.log", "logs/crash-2026-01-01-101010-1-7.txt"),
    *("notes/0123abcd/coding/0001.md", "settings.json", "settings.json.lock"),
)
USERS = (
    *("notes.md", "notes/new.txt", "notes/plans/a.md", "notes/0123abcd", "notes/0123abcde/a.md", "notes.old/0123abcd/a.md"),
    *("data/x.csv", "data/rollout.txt", "data.txt", "logs/mine.log", "logs/0123abcd-x/a", "settings.json.d/x", "settings.json.bak"),
    *("settings.json/x", "config/config.toml", ".yagent-7-0123456789abcdef.old"),
)


@pytest.mark.parametrize(("name", "is_told"), [*((name, False) for name in OURS), *((name, True) for name in USERS)])
async def test_records_of_ours_are_told_nowhere_as_changed_and_yet_are_not_lost(
    repository: Path, clock: VirtualClock, name: str, *, is_told: bool
) -> None:
    git = Git(clock, dict(os.environ), OwnRecords(DataHome(repository, repository), repository / "notes"))
    before = await state(git, repository)
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text("one\n")
    assert [file.path for file in (await changed_files(git, before)).files] == [name] * is_told
    later = await state(git, repository)
    assert (name in later.fingerprints, name in later.records) == (is_told, not is_told)
    inventory = await take_inventory(git, repository, later)
    assert inventory is not None
    assert name in inventory.others
    run(repository, "add", "-f", name)
    assert name in (await state(git, repository)).fingerprints, "what git tracks is the user's"
    run(repository, "commit", "-qm", "x")
    assert [file.path for file in (await changed_files(git, before)).files] == [name]
    (repository / name).write_text("two\n")
    dirty = await state(git, repository)
    inventory = await take_inventory(git, repository, dirty)
    assert inventory is not None
    assert (name in inventory.kept, name in inventory.others) == (False, True)


async def test_records_of_ours_are_not_counted_as_untracked(repository: Path, clock: VirtualClock) -> None:
    git = Git(clock, dict(os.environ), OwnRecords(DataHome(repository, repository), repository / "notes"))
    for name in ("notes/kept.md", "notes/0123abcd/coding/0001.md", "notes/other.md"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("one\n")
    run(repository, "add", "notes/kept.md")
    assert (await git.facts(repository)).untracked == 1
