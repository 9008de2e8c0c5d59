"""What is left of a session when its process was killed, or when its user ended a part of it."""

from __future__ import annotations

import pytest

from tests.support.model_server import Agent, Call, ModelServer, Reply, call, hand_over
from tests.support.session import Opened, Sessions
from yagent.protocol.ops import StopTask
from yagent.rollout.reader import read
from yagent.rollout.records import EventMessage
from yagent.rollout.replay import BEGUN
from yagent.session.request import Resume


async def test_a_killed_task_is_closed_on_the_record_when_the_user_asks_for_something_else(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), "the answer"]})
    async with sessions.open() as opened:
        first = await opened.do("the task")
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: next(n for n, line in enumerate(lines) if '"the answer"' in line)]))
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": ["something else"]})
    async with sessions.open(resume=Resume(first.session)) as opened:
        assert (await opened.do("leave that")).answer == "something else"
    ends = [entry.record.data["stop_reason"] for entry in read(path) if isinstance(entry.record, EventMessage) and entry.record.is_terminal]
    assert ends == ["unaccounted", "plain_text"]


async def test_a_delegation_that_the_user_ended_alone_does_not_go_on_with_the_rest(sessions: Sessions, model_server: ModelServer) -> None:
    opened: list[Opened] = []

    async def coding(agent: Agent) -> Reply:
        (running,) = [each for each in opened[0].session.snapshot().agents if each.delegation_id]
        await opened[0].session.submit(StopTask(running.delegation_id))
        return Reply("lost words")

    async def director(agent: Agent) -> Reply:
        await agent.call("delegate_coding", task="work")
        await opened[0].session.submit(StopTask())
        return Reply("lost words")

    model_server.play({"are the Director": director, "are Coding": coding})
    async with sessions.open(mode="yolo") as one:
        opened.append(one)
        first = await one.do("the task")
    model_server.play({"are the Director": ["I leave it"], "are Coding": ["must not be asked"]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as again:
        result = await again.go_on()
    assert result.answer == "I leave it"
    assert "the user stopped it" in model_server.views[-1].entries[-1].results[0].text


@pytest.mark.parametrize("begun", [False, True], ids=["announced only", "begun, its record lost"])
async def test_a_delegation_without_a_record_begins_unless_it_had_begun(sessions: Sessions, model_server: ModelServer, begun: bool) -> None:
    model_server.play({"are the Director": [call("delegate_coding", task="work"), "done"], "are Coding": [hand_over("made it")]})
    async with sessions.open(mode="yolo") as opened:
        first = await opened.do("the task")
    director, coding = sorted(sessions.home.glob(".yagent/data/rollout/**/*.jsonl"), key=lambda path: len(path.name))
    coding.unlink()
    lines = director.read_text().splitlines(keepends=True)
    cut = next(n for n, line in enumerate(lines) if '"role":"tool"' in line)
    director.write_text("".join(line for line in lines[:cut] if begun or BEGUN not in line))
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": ["done again"], "are Coding": [hand_over("made it now")]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
        assert (await opened.go_on()).answer == "done again"
    told = model_server.views[-1].entries[-1].results[0].text
    assert ("no_rollout" in told) is begun
    assert ("made it now" in told) is not begun


async def test_what_the_first_call_of_a_reply_changed_is_known_when_the_process_was_killed_in_the_second(
    sessions: Sessions, model_server: ModelServer
) -> None:
    async def coding(agent: Agent) -> Reply:
        await agent.calls(Call("create_file", {"path": "made.txt", "content": "made\n"}), Call("run_bash", {"command": "true"}))
        return hand_over("made it")

    model_server.play({"are the Director": [call("delegate_coding", task="make it"), "done"], "are Coding": coding})
    async with sessions.open(mode="yolo") as opened:
        first = await opened.do("the task")
    for path in sessions.home.glob(".yagent/data/rollout/**/*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        last = '"Created made.txt' if "coding" in path.name else BEGUN
        path.write_text("".join(lines[: 1 + next(number for number, line in enumerate(lines) if last in line)]))
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": ["done"], "are Coding": [hand_over("went on")]})
    async with sessions.open(mode="yolo", resume=Resume(first.session)) as again:
        await again.go_on()
    told = model_server.views[-1].entries[-1].results[0].text
    assert "Files its file tools had changed until then: made.txt" in told
