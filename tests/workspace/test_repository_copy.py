"""A repository is copied as it was at a commit: whole for who works in it, harmless, and without a trace in the original."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.support.fixtures import commit
from yagent.runtime.clock import SystemClock
from yagent.workspace.git import Git
from yagent.workspace.repository_copy import Copied, CopyError, copy_repository

pytestmark = pytest.mark.real_time


@pytest.fixture
def within(tmp_path: Path) -> Path:
    """Where copies are made."""
    place = tmp_path / "copies"
    place.mkdir()
    return place


@pytest.fixture
def head(workspace: Path) -> str:
    """A commit that is no longer the newest."""
    found = git(workspace, "rev-parse", "HEAD")
    (workspace / "notes.txt").write_text("later\n")
    git(workspace, "commit", "-q", "-a", "-m", "later")
    (workspace / "untracked").write_text("work\n")
    return found


def git(place: Path, *arguments: str) -> str:
    """What git prints."""
    return commit(place, *arguments).strip()


async def copied(workspace: Path, head: str, within: Path, branch: str | None = "main") -> Copied:
    """A copy by the system's clock."""
    return await copy_repository(Git(SystemClock(), dict(os.environ)), workspace, head, branch, within)


def everything(place: Path) -> dict[str, str]:
    """Every file, git's own as well, by what it holds."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


async def test_the_copy_has_the_files_of_the_commit_and_its_branch_and_the_original_stays_as_it_is(
    workspace: Path, head: str, within: Path
) -> None:
    before = everything(workspace)
    copy = await copied(workspace, head, within)
    assert (copy.root, copy.original) == (within / "project", workspace)
    assert (copy.root / "notes.txt").read_text() == "first line\nsecond line\n"
    assert (git(copy.root, "rev-parse", "HEAD"), git(copy.root, "symbolic-ref", "HEAD")) == (head, "refs/heads/main")
    assert git(copy.root, "status", "--porcelain") == ""
    (copy.root / "new").write_text("new\n")
    git(copy.root, "add", "-A")
    git(copy.root, "commit", "-q", "-m", "of the copy")
    git(copy.root, "gc", "-q")
    assert everything(workspace) == before


async def test_without_a_branch_the_head_is_detached(workspace: Path, head: str, within: Path) -> None:
    copy = await copied(workspace, head, within, branch=None)
    assert git(copy.root, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert git(copy.root, "rev-parse", "HEAD") == head


async def test_it_has_the_branches_tags_identity_and_ignore_rules_but_no_addresses_hooks_and_filters(
    workspace: Path, head: str, within: Path
) -> None:
    (workspace / ".gitattributes").write_text("*.txt filter=evil\n")
    git(workspace, "add", ".gitattributes")
    git(workspace, "commit", "-q", "-m", "filtered")
    git(workspace, "tag", "v1", head)
    git(workspace, "branch", "other", head)
    git(workspace, "update-ref", "refs/remotes/origin/main", head)
    for name, value in (
        ("user.name", 'A "quoted" \\ name'),
        ("remote.origin.url", "https://user:secret@example.invalid/x"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
        ("filter.evil.smudge", "touch /nonexistent; false"),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", "false"),
    ):
        git(workspace, "config", name, value)
    (workspace / ".git/info").mkdir(exist_ok=True)
    (workspace / ".git/info/exclude").write_text("*.private\n")
    hook = workspace / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {within}/ran\n")
    hook.chmod(0o755)
    copy = await copied(workspace, git(workspace, "rev-parse", "HEAD"), within)
    assert git(copy.root, "config", "--local", "user.name") == 'A "quoted" \\ name'
    assert set(git(copy.root, "branch", "--format=%(refname:short)").split()) == {"main", "other"}
    assert git(copy.root, "rev-parse", "v1") == head
    assert "ahead of 'origin/main' by 2 commits" in git(copy.root, "status")
    (copy.root / "x.private").write_text("")
    assert git(copy.root, "status", "--porcelain") == ""
    listed = git(copy.root, "config", "--list", "--local")
    assert [word for word in ("secret", "filter.", "fsmonitor") if word in listed] == []
    assert not (copy.root / ".git/hooks").exists()
    assert os.listdir(within) == ["project"]


async def test_from_a_linked_worktree_and_a_shallow_clone(workspace: Path, head: str, within: Path, tmp_path: Path) -> None:
    linked, shallow = tmp_path / "linked", tmp_path / "shallow"
    git(workspace, "worktree", "add", "-q", str(linked), head)
    git(workspace, "clone", "-q", "--depth=1", f"file://{workspace}", str(shallow))
    (within / "a").mkdir()
    (within / "b").mkdir()
    from_linked = await copied(linked, head, within / "a", branch=None)
    from_shallow = await copied(shallow, git(shallow, "rev-parse", "HEAD"), within / "b")
    assert (from_linked.root / "notes.txt").read_text() == "first line\nsecond line\n"
    assert len(git(from_shallow.root, "log", "--format=%H").splitlines()) == 1


async def test_submodules_stay_empty_and_that_is_told(workspace: Path, head: str, within: Path) -> None:
    git(workspace, "update-index", "--add", "--cacheinfo", f"160000,{head},inner")
    git(workspace, "commit", "-q", "-m", "with a submodule")
    copy = await copied(workspace, git(workspace, "rev-parse", "HEAD"), within)
    assert copy.remarks == ("1 submodules stay empty in the copy.",)
    assert os.listdir(copy.root / "inner") == []


@pytest.mark.parametrize(
    ("commit_id", "told"), [("1" * 40, "is not in"), ("HEAD", "is no commit"), ("--all", "is no commit"), ("", "is no commit")]
)
async def test_what_is_no_commit_of_the_repository_is_refused(workspace: Path, within: Path, commit_id: str, told: str) -> None:
    with pytest.raises(CopyError, match=told):
        await copied(workspace, commit_id, within)
    assert os.listdir(within) == []


async def test_a_directory_that_is_no_repository_or_is_gone_is_refused(tmp_path: Path, within: Path) -> None:
    for place in (tmp_path, tmp_path / "gone"):
        with pytest.raises(CopyError, match="not in the working tree"):
            await copied(place, "1" * 40, within)
