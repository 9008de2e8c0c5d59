"""Stopping single delegations and whole tasks, in order and hard."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.stances import agents, records, scene, terminal, until
from tests.support.model_server import Agent, ModelServer, Reply, hand_over
from tests.support.processes import gone, unique_sleep
from tests.support.session import Sessions
from yagent.protocol.asks import Answer
from yagent.protocol.events import BackgroundEnded, DelegationEnded, UserHelpNeeded, UserHelpResponse
from yagent.protocol.ops import ContinueTask, PauseTask, StopTask
from yagent.protocol.stop import StopReason


async def test_a_stopped_delegation_is_told_to_its_parent_once_and_the_others_go_on(sessions: Sessions, model_server: ModelServer) -> None:
    sleep = unique_sleep()

    async def deep(agent: Agent) -> Reply:
        await agent.call("run_bash", text="I began with the log.", command=f"echo x >> log; {sleep}", is_background=True)
        return hand_over(await agent.call("run_bash", text="I wait.", command=f"touch begun; {sleep}", timeout=600))

    async with scene(sessions, model_server, "left", deep=deep) as now:
        await until((sessions.workspace / "begun").exists)
        await now.held("left")
        requests = len(model_server.exchanges)
        await now.submit(StopTask(now.id("right")))
        await until(lambda: len(now.opened.told(DelegationEnded)) == 2)
        assert gone(sleep, within=0), "its processes have ended before it is said that it has, background ones too"
        assert [each.reason for each in now.opened.told(BackgroundEnded)] == ["stopped"]
        await asyncio.sleep(3)
        assert (len(model_server.exchanges), set(agents(now.opened))) == (requests, {"director", "left"})
        now.crew.release("left")
        result = await now.result()
    assert result.stop_reason is StopReason.PLAIN_TEXT
    left, right = result.answer.split("\n====\n")
    assert "ok · agent_exit" in left
    assert right.startswith("[repo#2 · partial · cancelled · 1 step]")
    assert "the user stopped it" in right
    assert "I hand it on." in right
    assert {each.role: each.stop_reason for each in result.delegations if each.task != "left"} == {
        "repo": StopReason.CANCELLED,
        "devops": StopReason.CANCELLED,
    }
    assert {task: terminal(lines) for task, lines in records(sessions).items()} == {
        "": "plain_text",
        "left": "agent_exit",
        "right": "cancelled",
        "deep": "cancelled",
    }
    assert (sessions.workspace / "log").read_text() == "x\n"


@pytest.mark.parametrize("name", ["left", "devops"])
async def test_a_delegation_that_stands_still_can_be_stopped(sessions: Sessions, model_server: ModelServer, name: str) -> None:
    async with scene(sessions, model_server, "left", "deep") as now:
        await now.held("left", "deep")
        await now.submit(PauseTask())
        now.crew.release("left")
        now.crew.release("deep")
        await now.stands("left", "devops")
        await now.submit(StopTask(now.id(name)))
        await until(lambda: name not in agents(now.opened))
        await now.submit(ContinueTask())
        result = await now.result()
    assert sorted(each.stop_reason.value for each in result.delegations) == ["agent_exit", "agent_exit", "cancelled"]


async def test_a_stopped_delegations_open_ask_is_taken_back(sessions: Sessions, model_server: ModelServer) -> None:
    asked = asyncio.Event()

    async def person(needed: UserHelpNeeded) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    async def deep(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="touch allowed"))

    async with scene(sessions, model_server, person=person, deep=deep) as now:
        await asked.wait()
        await now.submit(StopTask(now.id("devops")))
        result = await now.result()
        assert [each.answered_by for each in now.opened.told(UserHelpResponse)] == ["cancelled"]
        assert "[repo#2 · ok" in result.answer
        assert "the user stopped it" in result.answer
    assert not (sessions.workspace / "allowed").exists()


async def test_two_delegations_of_one_line_can_be_stopped_in_any_order(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left", "deep") as now:
        await now.held("left", "deep")
        right, deep = now.id("right"), now.id("devops")
        await now.submit(StopTask(deep))
        await now.submit(StopTask(right))
        await until(lambda: len(now.opened.told(DelegationEnded)) == 2)
        now.crew.release("left")
        result = await now.result()
    assert [each.stop_reason for each in result.delegations] == [StopReason.CANCELLED, StopReason.CANCELLED, StopReason.AGENT_EXIT]


@pytest.mark.parametrize("whole", [True, False])
async def test_a_hard_stop_ends_processes_unasked_and_the_record_still_has_its_end(
    sessions: Sessions, model_server: ModelServer, whole: bool
) -> None:
    sleep = unique_sleep()
    stubborn = f"trap 'echo asked >> asked' TERM; touch begun; while true; do {sleep}; done"

    async def deep(agent: Agent) -> Reply:
        await agent.call("run_bash", command=stubborn.replace("begun", "background"), is_background=True)
        return hand_over(await agent.call("run_bash", command=stubborn, timeout=600))

    async with scene(sessions, model_server, deep=deep) as now:
        await until((sessions.workspace / "begun").exists)
        started = asyncio.get_running_loop().time()
        await now.submit(StopTask("" if whole else now.id("devops"), hard=True))
        await until(lambda: whole or "devops" not in agents(now.opened))
        result = await now.result()
        assert asyncio.get_running_loop().time() - started < 2
        assert gone(sleep, within=0)
        assert (result.stop_reason is StopReason.CANCELLED) == whole
    assert not (sessions.workspace / "asked").exists()
    assert terminal(records(sessions)["deep"]) == "cancelled"


async def test_a_task_can_be_stopped_in_the_very_moment_it_was_started(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["never"]})
    async with sessions.open() as opened:
        first = asyncio.ensure_future(opened.do("one"))
        await asyncio.sleep(0)
        await opened.session.submit(StopTask())
        result = await first
        assert (result.stop_reason, model_server.exchanges) == (StopReason.CANCELLED, [])
        model_server.play({"are the Director": ["again"]})
        assert (await opened.do("two")).answer == "again"
