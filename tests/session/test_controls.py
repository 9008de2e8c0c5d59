"""Pause, steer, stop and continue, for the whole task and for single delegations, as a front end does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.session.stances import Held, agents, crew, event_of, paused_and_resumed, records, terminal, until
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.processes import gone, unique_sleep
from tests.support.session import Opened, Sessions
from yagent.protocol.asks import Answer
from yagent.protocol.events import (
    BackgroundEnded,
    DelegationEnded,
    SteeringJoined,
    SteeringQueued,
    SteeringReturned,
    TaskPaused,
    TaskResumed,
    TaskStarted,
    ToolCallResult,
    UserHelpNeeded,
    UserHelpResponse,
    WarningIssued,
)
from yagent.protocol.ops import ContinueTask, Op, PauseTask, QueueTask, Shutdown, StartTask, SteerTask, StopTask
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason
from yagent.session.refused import TaskRefused

DAY = 86_400.0


@dataclass
class Scene:
    """A task of the crew under way."""

    sessions: Sessions
    opened: Opened
    crew: Held
    task: asyncio.Future[TaskResult | None]
    begun: dict[str, str] = field(default_factory=dict)

    async def submit(self, op: Op) -> None:
        assert await self.opened.session.submit(op) is None

    def id(self, name: str) -> str:
        return agents(self.opened)[name].delegation_id

    async def works(self, *names: str) -> None:
        """Wait until these are at work."""
        await until(lambda: set(names) <= agents(self.opened).keys())

    async def held(self, *names: str) -> None:
        """Wait until the replies to these wait."""
        await until(lambda: set(names) <= set(self.crew.waiting))

    async def stands(self, *names: str) -> None:
        """Wait until these stand still, and nobody else does."""
        await until(lambda: {name for name, agent in agents(self.opened).items() if agent.stands_still} == set(names))

    async def result(self) -> TaskResult:
        found = await self.task
        assert found is not None
        return found


@asynccontextmanager
async def scene(sessions: Sessions, server: ModelServer, *held: str, person: Any = None, **parts: Any) -> AsyncIterator[Scene]:
    """A task whose agents are held back at their first step."""
    held_script = crew(server, **parts)
    for words in held:
        held_script.hold(words)
    async with sessions.open(mode=None if person else "full-yolo", person=person) as opened:
        task = asyncio.ensure_future(opened.session.submit(StartTask("go")))
        try:
            yield Scene(sessions, opened, held_script, task)
        finally:
            await opened.session.submit(Shutdown())
            await asyncio.wait([task])


# Pausing


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
        assert [each.ok for each in now.opened.told(ToolCallResult) if each.name == "run_bash"] == [True]
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


# Steering


async def test_what_the_user_says_joins_before_the_next_step_of_whom_it_is_said_to(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left", "are the Director") as now:
        await now.held("are the Director")
        await now.submit(SteerTask("Mind the tests."))
        await now.submit(SteerTask("And the docs."))
        assert agents(now.opened)["director"].steering == ("Mind the tests.", "And the docs.")
        now.crew.release("are the Director")
        await now.held("left")
        await now.submit(SteerTask("Only line two.", now.id("left")))
        now.crew.release("left")
        await now.result()
        last = {view.task: [entry.text for entry in view.entries if entry.role == "user"][1:] for view in model_server.views}
        (director,) = (said for task, said in last.items() if "go" in task and "<request>" in task)
        assert "\n\n".join(director) == "Mind the tests.\n\nAnd the docs.", "while he waits for a delegation it joins afterwards"
        (left,) = (said for task, said in last.items() if "<task>\nleft" in task)
        assert left == ["Only line two."]
        queued, joined = now.opened.told(SteeringQueued), now.opened.told(SteeringJoined)
        assert [(each.agent, each.text) for each in queued] == [
            ("director", "Mind the tests."),
            ("director", "And the docs."),
            ("repo", "Only line two."),
        ]
        assert {each.steering_id: (each.agent, each.step) for each in joined} == {
            queued[0].steering_id: ("director", 2),
            queued[1].steering_id: ("director", 2),
            queued[2].steering_id: ("repo", 2),
        }
        assert now.opened.told(SteeringReturned) == []
    spoken = [line["payload"]["message"] for line in records(sessions)["left"] if line["type"] == "response_item"]
    assert [each["parts"][0]["text"] for each in spoken if each["role"] == "user"][1:] == ["Only line two."]
    assert model_server.kept == 1.0


async def test_words_to_somebody_who_is_paused_join_when_he_goes_on(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left") as now:
        await now.held("left")
        await now.submit(PauseTask())
        now.crew.release("left")
        await until(lambda: agents(now.opened)["left"].stands_still)
        await now.submit(SteerTask("Read slowly.", now.id("left")))
        await asyncio.sleep(DAY)
        assert now.opened.told(SteeringJoined) == []
        await now.submit(ContinueTask())
        await now.result()
        assert [each.step for each in now.opened.told(SteeringJoined)] == [2]


async def test_words_that_came_too_late_open_the_next_task(sessions: Sessions, model_server: ModelServer) -> None:
    script = Held(model_server, {"are the Director": ["the first answer", "the second answer"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        first = asyncio.ensure_future(opened.do("one"))
        await until(lambda: script.waiting)
        await opened.session.submit(SteerTask("By the way: tabs."))
        script.release("are the Director")
        result = await first
        assert any("By the way: tabs." in warning and "next task" in warning for warning in result.warnings)
        assert [(each.text, each.next_task) for each in opened.told(SteeringReturned)] == [("By the way: tabs.", True)]
        assert (await opened.do("two")).warnings == ()
        assert [each.text for each in opened.told(TaskStarted)] == ["one", "two"]
    said = [entry.text for entry in model_server.views[-1].entries if entry.role == "user"]
    assert said[1:] == ["By the way: tabs.\n\ntwo"]
    assert len(opened.told(SteeringJoined)) == 1


async def test_words_a_delegation_could_not_hear_any_more_are_told_as_such(sessions: Sessions, model_server: ModelServer) -> None:
    async def left(agent: Agent) -> Reply:
        return hand_over("quick")

    async with scene(sessions, model_server, "left", left=left) as now:
        await now.held("left")
        await now.submit(SteerTask("Wait!", now.id("left")))
        now.crew.release("left")
        result = await now.result()
        assert [(each.agent, each.text, each.next_task) for each in now.opened.told(SteeringReturned)] == [("repo", "Wait!", False)]
        assert any("'Wait!'" in warning for warning in result.warnings)
        assert any("'Wait!'" in each.text for each in now.opened.told(WarningIssued))


async def test_empty_words_are_refused(sessions: Sessions, model_server: ModelServer) -> None:
    async with scene(sessions, model_server, "left") as now:
        await now.held("left")
        with pytest.raises(TaskRefused, match="no words"):
            await now.submit(SteerTask(" \n"))
        now.crew.release("left")
        await now.result()


# Stopping


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


# Leaving


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


async def test_leaving_while_paused_does_not_begin_what_the_reply_asked_for_next(sessions: Sessions, model_server: ModelServer) -> None:
    async def boss(agent: Agent) -> str:
        await agent.calls(Call("delegate_coding", {"task": "left"}), Call("delegate_coding", {"task": "right"}))
        return "never"

    model_server.play({"are the Director": boss, "are Coding": [hand_over("never")]})
    async with sessions.open(mode="full-yolo") as opened:
        task = asyncio.ensure_future(opened.do("go"))
        await asyncio.sleep(0)
        await until(lambda: opened.session.snapshot().agents)
        await until(lambda: len(model_server.exchanges) == 1)
        await opened.session.submit(PauseTask())
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


# Queueing


async def test_queued_tasks_run_in_order_in_one_conversation_and_are_seen_in_the_snapshot(
    sessions: Sessions, model_server: ModelServer
) -> None:
    script = Held(model_server, {"are the Director": ["a", "b", "c"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        tasks = [asyncio.ensure_future(opened.session.submit(op)) for op in (StartTask("one"), QueueTask("two"), QueueTask("three"))]
        await until(lambda: script.waiting)
        assert opened.session.snapshot().queued == ("two", "three")
        script.release("are the Director")
        results = await asyncio.gather(*tasks)
        assert [result.answer for result in results if result is not None] == ["a", "b", "c"]
        assert opened.session.snapshot().queued == ()
        last = await opened.session.submit(Shutdown())
        assert last is None


async def test_a_pause_that_outlives_its_task_holds_the_next_one_in_the_queue(sessions: Sessions, model_server: ModelServer) -> None:
    script = Held(model_server, {"are the Director": ["a", "b", "c"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        first, second = (asyncio.ensure_future(opened.session.submit(op)) for op in (StartTask("one"), QueueTask("two")))
        await until(lambda: script.waiting)
        await opened.session.submit(PauseTask())
        script.release("are the Director")
        await first
        await until(lambda: opened.told(TaskPaused))
        await asyncio.sleep(DAY)
        assert len(model_server.exchanges) == 1
        await opened.session.submit(ContinueTask())
        assert (result := await second) is not None
        assert result.answer == "b"
        assert (await opened.do("three")).answer == "c", "a task that is started anew is not paused"


async def test_closing_the_session_refuses_what_is_queued(sessions: Sessions, model_server: ModelServer) -> None:
    script = Held(model_server, {"are the Director": ["a"]})
    script.hold("are the Director")
    async with sessions.open() as opened:
        first, second = (asyncio.ensure_future(opened.session.submit(op)) for op in (StartTask("one"), QueueTask("two")))
        await until(lambda: script.waiting)
        await opened.session.submit(Shutdown())
        assert (result := await first) is not None
        assert result.stop_reason is StopReason.CANCELLED
        with pytest.raises(TaskRefused, match="closed before this task could begin: two"):
            await second
        with pytest.raises(TaskRefused, match="closed"):
            await opened.session.submit(StartTask("three"))
