"""Pause and continue, for the whole task and for single delegations, as a front end does it; leaving while paused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.session.stances import DAY, agents, event_of, paused_and_resumed, records, scene, terminal, until
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.processes import gone, unique_sleep
from tests.support.session import Sessions
from yagent.protocol.asks import Answer
from yagent.protocol.events import DelegationEnded, TaskPaused, TaskResumed, ToolCallResult, UserHelpNeeded, UserHelpResponse
from yagent.protocol.ops import ContinueTask, PauseTask, Shutdown, SteerTask, StopTask
from yagent.protocol.stop import StopReason
from yagent.session.refused import TaskRefused


async def test_a_paused_delegation_stands_still_at_its_next_step_and_nobody_else_does(
    sessions: Sessions, model_server: ModelServer
) -> None:
    async with scene(sessions, model_server, "left") as now:
        await now.held("left")
        await now.submit(PauseTask(now.id("left")))
        assert agents(now.opened)["left"].paused
        now.crew.release("left")
        await now.stands("left")
        await until(lambda: len(now.opened.told(DelegationEnded)) == 2)
        asked = now.crew.requests("left")
        await asyncio.sleep(DAY)  # longer than any limit of its own or of whoever waits for it
        assert (now.crew.requests("left"), asked) == (1, 1)
        assert not now.task.done()
        paused = event_of(now.opened, TaskPaused)
        (payload,) = now.opened.told(TaskPaused)
        assert (paused.source, paused.delegation_id, paused.trace_id) == ("Repo", now.id("left"), payload.task_id)
        await now.submit(ContinueTask(now.id("left")))
        result = await now.result()
        assert paused_and_resumed(now.opened) == [("task_paused", "repo", 1), ("task_resumed", "repo", 1)]
        assert result.answer.count("ok · agent_exit") == 3
        assert now.crew.requests("left") == 4, "no call of the model was made twice"


async def test_a_paused_delegation_holds_what_it_delegated_too(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "deep") as now:
        await now.held("deep")
        await now.submit(PauseTask(now.id("right")))
        now.crew.release("deep")
        await now.stands("devops")
        await until(lambda: now.opened.told(DelegationEnded))
        await asyncio.sleep(DAY)
        seen = agents(now.opened)
        assert {name: (agent.paused, agent.stands_still) for name, agent in seen.items()} == {
            "director": (False, False),
            "right": (True, False),
            "devops": (True, True),
        }
        assert seen["devops"].parent_delegation_id == seen["right"].delegation_id
        await now.submit(ContinueTask(now.id("right")))
        assert (await now.result()).answer.count("ok · agent_exit") == 3


async def test_the_whole_task_is_paused_continued_and_paused_again(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left", "deep") as now:
        await now.held("left", "deep")
        for steps in (1, 2):
            await now.submit(PauseTask())
            assert now.opened.session.snapshot().paused
            now.crew.release("left")
            now.crew.release("deep")
            await now.stands("left", "devops")
            await asyncio.sleep(DAY)
            assert {agent.step for agent in agents(now.opened).values() if agent.stands_still} == {steps}
            assert not now.task.done(), "nothing ends a task that is paused"
            now.crew.hold("left")
            now.crew.hold("deep")
            await now.submit(ContinueTask())
            await now.held("left", "deep")
        now.crew.release("left")
        now.crew.release("deep")
        result = await now.result()
        assert (result.stop_reason, result.answer.count("ok · agent_exit")) == (StopReason.PLAIN_TEXT, 3)
        assert len(now.opened.told(TaskPaused)) == len(now.opened.told(TaskResumed)) == 4


async def test_what_a_batch_begins_while_the_task_is_paused_waits_at_its_first_step(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "are the Director") as now:
        await now.held("are the Director")
        await now.submit(PauseTask())
        now.crew.release("are the Director")
        await until(lambda: len(agents(now.opened)) == 3)
        await now.stands("left", "right")
        assert now.crew.requests("are Repo") == 0
        await now.submit(ContinueTask())
        assert (await now.result()).answer.count("ok · agent_exit") == 3


async def test_a_pause_lets_a_running_tool_finish_once(sessions: Sessions, model_server: ModelServer) -> None:
    async def deep(agent: Agent) -> Reply:
        await agent.call("run_bash", command="touch begun; while [ ! -e go ]; do sleep 0.02; done; echo x >> effects")
        return hand_over("ran")

    async with scene(sessions, model_server, deep=deep) as now:
        await until((sessions.workspace / "begun").exists)
        await now.submit(PauseTask(now.id("devops")))
        assert not agents(now.opened)["devops"].stands_still
        (sessions.workspace / "go").touch()
        await now.stands("devops")
        await until(lambda: [each.ok for each in now.opened.told(ToolCallResult) if each.name == "run_bash"] == [True])
        await now.submit(ContinueTask(now.id("devops")))
        assert "ran" in (await now.result()).answer
    assert (sessions.workspace / "effects").read_text() == "x\n"


async def test_an_ask_that_is_open_during_a_pause_can_be_answered(sessions: Sessions, model_server: ModelServer) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def person(needed: UserHelpNeeded) -> Answer:
        asked.set()
        await answer.wait()
        return Answer(granted=True, offer=needed.offers[0])

    async def deep(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="touch allowed"))

    async with scene(sessions, model_server, person=person, deep=deep) as now:
        await asked.wait()
        await now.submit(PauseTask())
        await asyncio.sleep(DAY)
        answer.set()
        await now.stands("devops")
        assert (sessions.workspace / "allowed").exists()
        assert [each.answered_by for each in now.opened.told(UserHelpResponse)] == ["user"]
        await now.submit(ContinueTask())
        assert (await now.result()).answer.count("ok · agent_exit") == 3


async def test_only_what_was_paused_can_be_continued(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left") as now:
        await now.held("left")
        left = now.id("left")
        with pytest.raises(TaskRefused, match="not paused"):
            await now.submit(ContinueTask(left))
        await now.submit(PauseTask())
        await now.submit(PauseTask())
        with pytest.raises(TaskRefused, match="above it; continue that"):
            await now.submit(ContinueTask(left))
        await now.submit(ContinueTask())
        with pytest.raises(TaskRefused, match="not paused"):
            await now.submit(ContinueTask())
        now.crew.release("left")
        await now.result()


@pytest.mark.parametrize("op", [PauseTask, ContinueTask, StopTask, lambda delegation: SteerTask("hello", delegation)])
async def test_what_is_asked_of_nobody_is_refused_and_says_why(sessions: Sessions, model_server: ModelServer, op: Any) -> None:
    async with scene(sessions, model_server, "left") as now:
        await now.held("left")
        with pytest.raises(TaskRefused, match=rf"no delegation 'gone'.*{now.id('left')}"):
            await now.submit(op("gone"))
        now.crew.release("left")
        await now.result()
        with pytest.raises(TaskRefused, match="No task is running"):
            await now.submit(op(""))


async def test_leaving_while_paused_ends_as_paused_and_the_record_says_so(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left", "deep") as now:
        await now.held("left", "deep")
        await now.submit(PauseTask())
        now.crew.release("left")
        now.crew.release("deep")
        await now.stands("left", "devops")
        requests = len(model_server.exchanges)
        await now.submit(Shutdown())
        result = await now.result()
        assert (result.stop_reason, result.exit_code) == (StopReason.PAUSED, 130)
        assert len(model_server.exchanges) == requests
        assert now.opened.told(TaskResumed) == []
    assert {terminal(lines) for lines in records(sessions).values()} == {"paused"}
    assert not [*(sessions.home / ".yagent/notes").rglob("*.md")], "who was given up has nothing to say (I-22)"


async def test_leaving_while_paused_does_not_begin_what_the_reply_asked_for_next(sessions: Sessions, model_server: ModelServer) -> None:
    async def boss(agent: Agent) -> str:
        await opened.session.submit(PauseTask())  # while his reply is on its way
        await agent.calls(Call("delegate_coding", {"task": "left"}), Call("delegate_coding", {"task": "right"}))
        return "never"

    model_server.play({"are the Director": boss, "are Coding": [hand_over("never")]})
    async with sessions.open(mode="full-yolo") as opened:
        task = asyncio.ensure_future(opened.do("go"))
        await asyncio.sleep(0)
        await until(lambda: any(agent.stands_still for agent in opened.session.snapshot().agents))
        await opened.session.submit(Shutdown())
        assert (await task).stop_reason is StopReason.PAUSED
    assert all("Coding" not in view.identity for view in model_server.views)


async def test_leaving_while_paused_does_not_wait_for_a_tool_that_still_runs(sessions: Sessions, model_server: ModelServer) -> None:
    sleep = unique_sleep()

    async def deep(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command=f"touch begun; {sleep}", timeout=3000))

    async with scene(sessions, model_server, deep=deep) as now:
        await until((sessions.workspace / "begun").exists)
        await now.submit(PauseTask())
        started = asyncio.get_running_loop().time()
        await now.submit(Shutdown())
        assert asyncio.get_running_loop().time() - started < 3
        await now.result()
    assert gone(sleep, within=0)
    assert {terminal(lines) for lines in records(sessions).values()} <= {"paused", "cancelled", "agent_exit"}
