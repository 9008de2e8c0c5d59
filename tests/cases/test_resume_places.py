"""Case J-11: which session is meant, and where it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases.test_resume import interrupted, resumed
from tests.support.command_line import CommandLine
from tests.support.fixtures import commit
from tests.support.model_server import Agent, ModelServer, Reply, call, hand_over
from tests.support.session import Sessions
from yagent.session.request import Resume

PLACES: dict[str, Callable[[Path], Path]] = {
    "a folder below": lambda project: project / "sub",
    "another repository": lambda project: project.parent / "other",
    "a link to it": lambda project: project.parent / "link",
}


@pytest.mark.real_time
@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
async def test_J11_a_session_is_continued_in_its_own_directory_or_not_at_all(
    yagent: CommandLine, model_server: ModelServer, place: str
) -> None:
    session = await interrupted(yagent, model_server)
    project, elsewhere = yagent.workspace, PLACES[place](yagent.workspace)
    if place == "a link to it":
        elsewhere.symlink_to(project)
    else:
        elsewhere.mkdir()
    if place == "another repository":
        commit(elsewhere, "init", "-q")
    seen: list[str] = []

    async def coding(agent: Agent) -> Reply:
        seen.append(await agent.call("run_bash", command="pwd -P"))
        return hand_over("went on")

    model_server.play({"are the Director": [call("delegate_coding", task="where"), "going on"], "are Coding": coding})
    result = await yagent.run("-p", "go on", "-Y", "--resume", session, cwd=elsewhere)
    if place == "a link to it":
        assert (result.code, result.answer.strip()) == (0, "going on")
        assert str(project) in seen[0]
    else:
        assert result.code == 2
        assert str(project) in result.told
        assert seen == []


@pytest.mark.real_time
@pytest.mark.slow
async def test_J11_a_session_whose_directory_is_gone_is_a_clear_error(yagent: CommandLine, model_server: ModelServer) -> None:
    session = await interrupted(yagent, model_server)
    gone = yagent.workspace
    moved = gone.rename(gone.parent / "moved")
    result = await yagent.run("-p", "go on", "--resume", session, cwd=moved)
    assert result.code == 2
    assert str(gone) in result.told
    assert not gone.exists()


@pytest.mark.real_time
@pytest.mark.slow
async def test_J11_continue_takes_the_newest_session_of_this_directory_and_says_which(
    yagent: CommandLine, model_server: ModelServer
) -> None:
    for prompt in ("an older task", "a newer task"):
        model_server.play({"are the Director": ["answer"]})
        await yagent.run("-p", prompt)
    other = yagent.workspace.parent / "other"
    other.mkdir()
    await yagent.run("-p", "a task elsewhere", cwd=other)
    result = await resumed(yagent, model_server, "--continue")
    assert "a newer task" in model_server.views[-1].task
    assert "a newer task" in result.told


async def test_J11_of_sessions_within_the_same_second_the_one_last_written_to_is_the_newest(
    sessions: Sessions, model_server: ModelServer
) -> None:
    names = []
    for number in range(5):
        model_server.play({"are the Director": ["answer"]})
        async with sessions.open() as opened:
            names.append((await opened.do(f"task {number}")).session)
        await asyncio.sleep(0.01)  # of virtual time: no two were last written to in the same moment
    files = sorted(path.name for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl"))
    assert len({name.partition("_")[0] for name in files}) == 1, "all began in one second"
    for chosen, number in (("", 4), (names[1], 1), ("", 1)):
        model_server.play({"are the Director": ["more"]})
        async with sessions.open(resume=Resume(chosen)) as opened:
            assert opened.session.snapshot().began_with == f"task {number}"
            assert (await opened.do("go on")).session == names[number]
        await asyncio.sleep(0.01)
        assert f"task {number}" in model_server.views[-1].task


@pytest.mark.real_time
@pytest.mark.slow
async def test_J11_sessions_are_listed_by_directory_with_their_first_prompt(yagent: CommandLine, model_server: ModelServer) -> None:
    await interrupted(yagent, model_server)
    other = yagent.workspace.parent / "other"
    other.mkdir()
    here, there = [await yagent.run("sessions", "list", cwd=place) for place in (yagent.workspace, other)]
    assert "the first task" in here.answer
    assert "the first task" not in there.answer
