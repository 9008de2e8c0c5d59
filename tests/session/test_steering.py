"""What the user says to agents at work."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.stances import DAY, Held, agents, records, scene, until
from tests.support.model_server import Agent, ModelServer, Reply, hand_over
from tests.support.session import Sessions
from yagent.protocol.events import SteeringJoined, SteeringQueued, SteeringReturned, TaskStarted, WarningIssued
from yagent.protocol.ops import ContinueTask, PauseTask, SteerTask
from yagent.session.refused import TaskRefused


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
