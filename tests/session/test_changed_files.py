"""Which files a task is said to have changed, where git does not tell and where our own records lie among them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.model_server import Agent, ModelServer, Reply, call, delegating, hand_over
from tests.support.session import Sessions
from yagent.protocol.result import FileChange


async def making(agent: Agent) -> Reply:
    await agent.call("read_file", path="notes.txt")
    await agent.call("search_replace_in_file", path="notes.txt", edits=[{"search": "second", "replace": "2nd"}])
    await agent.call("create_file", path="made.txt", content="x\n")
    await agent.call("rename_file", source="made.txt", target="kept.txt")
    await agent.call("create_file", path="passing.txt", content="x\n")
    await agent.call("delete_file", path="passing.txt")
    return hand_over("done")


MADE = {FileChange("notes.txt", "modified"), FileChange("kept.txt", "created")}


@pytest.mark.parametrize("when", ["missing", "no repository", "fails later"])
async def test_where_git_does_not_tell_the_file_tools_do(sessions: Sessions, model_server: ModelServer, tmp_path: Path, when: str) -> None:
    programs, broken = tmp_path / "programs", tmp_path / "broken"
    programs.mkdir()
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    if when == "no repository":
        shutil.rmtree(sessions.workspace / ".git", ignore_errors=True)
    elif when == "missing":
        path = str(programs)
        (programs / "bash").symlink_to(shutil.which("bash") or "")
    else:
        (programs / "git").write_text(f'#!/bin/sh\n[ -e {broken} ] && exit 1\nexec {shutil.which("git")} "$@"\n')
        (programs / "git").chmod(0o755)

    async def coding(agent: Agent) -> Reply:
        broken.touch()
        return await making(agent)

    model_server.play({"are the Director": delegating("delegate_coding", "change"), "are Coding": coding})
    async with sessions.open(mode="yolo", environ={**sessions.environment(), "PATH": path}) as opened:
        result = await opened.do("go")
    assert set(result.files_changed) == MADE


async def test_our_own_records_are_no_changes_wherever_they_are_kept(sessions: Sessions, model_server: ModelServer) -> None:
    kept = sessions.workspace / ".yh"
    kept.mkdir()

    async def coding(agent: Agent) -> Reply:
        await agent.call("create_file", path="made.txt", content="x\n")
        await agent.call("run_bash", command="python3 -m pytest --version")
        return hand_over("done")

    model_server.play({"are the Director": [call("delegate_coding", task="change"), "done", "again"], "are Coding": coding})
    async with sessions.open(mode="yolo", environ={**sessions.environment(), "YAGENT_HOME": str(kept.resolve())}) as opened:
        result = await opened.do("go")
        again = await opened.do("again")
    assert (kept / "data").is_dir()
    assert set(result.files_changed) == {FileChange("made.txt", "created")}
    assert again.files_changed == ()
    assert not any("/logs/" in text or "/data/" in text for text in result.warnings)
    seen = model_server.views[-1].body["messages"]
    assert ".yh/" not in str(seen)


async def test_the_users_files_beside_our_records_stay_his_and_their_changes_are_told(
    sessions: Sessions, model_server: ModelServer
) -> None:
    users = {"notes/d.txt": "modified", "notes/new.txt": "untracked", "notes.md": "modified", "notes/0123abcd/x": "modified"}
    for path in (sessions.workspace / name for name in users):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("committed\n")
    _git(sessions.workspace, "init", "-q")
    _git(sessions.workspace, "add", *(name for name, how in users.items() if how == "modified"))
    _git(sessions.workspace, "commit", "-qm", "x")
    for name in users:
        (sessions.workspace / name).write_text("the user's work\n")

    async def coding(agent: Agent) -> Reply:
        for name in users:
            await agent.call("run_bash", command=f"rm {name}")
            await agent.call("read_file", path=name)
            await agent.call("search_replace_in_file", path=name, edits=[{"search": "work", "replace": "work, and ours"}])
        return hand_over("done")

    place = sessions.workspace.resolve() / "notes"
    model_server.play({"are the Director": [call("delegate_coding", task="change"), "done"], "are Coding": coding})
    async with sessions.open(mode="yolo", environ={**sessions.environment(), "YAGENT_NOTES_ROOT": str(place)}) as opened:
        result = await opened.do("go")
    texts = {name: (sessions.workspace / name).read_text() for name in users if (sessions.workspace / name).exists()}
    assert texts == dict.fromkeys(users, "the user's work, and ours\n")
    assert set(result.files_changed) == {FileChange(name, "modified", before_task=True) for name in users}
    assert [path for path in place.iterdir() if path.is_dir() and path.name != "0123abcd"], "our own notes lie there, too"


def _git(directory: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *settings, *arguments], cwd=directory, check=True, capture_output=True)
