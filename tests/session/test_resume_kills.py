"""What is left of a session when its process was killed, or when its user ended a part of it."""

from __future__ import annotations

import pytest

from tests.support.model_server import Agent, Call, ModelServer, Reply, call, hand_over
from tests.support.session import Opened, Sessions
from yagent.protocol.ops import StopTask
from yagent.protocol.stop import StopReason
from yagent.rollout.marks import BEGUN, CLOSING
from yagent.rollout.reader import read
from yagent.rollout.records import EventMessage
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


def cut_before_its_end(sessions: Sessions, agent: str) -> None:
    """What is left when the process is killed right after an agent's last reply."""
    (path,) = (each for each in sessions.home.glob(".yagent/data/rollout/**/*.jsonl") if ("coding" in each.name) is (agent == "coding"))
    lines = path.read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"role":"assistant"' in line)
    path.write_text("".join(lines[: last + 1]))


@pytest.mark.parametrize("words", [Reply("half the answer"), hand_over("half the answer")], ids=["words", "agent_exit"])
async def test_a_task_that_its_limit_had_ended_is_no_success_after_a_kill(
    sessions: Sessions, model_server: ModelServer, words: Reply
) -> None:
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), call("list_dir", path="."), words]})
    async with sessions.open(max_steps=2) as opened:
        first = await opened.do("the task")
    cut_before_its_end(sessions, "director")
    model_server.play({"are the Director": ["must not be asked"]})
    async with sessions.open(max_steps=2, resume=Resume(first.session)) as opened:
        result = await opened.go_on()
    assert (first.stop_reason, first.status, first.exit_code) == (StopReason.MAX_STEPS, "partial", 3)
    assert (result.stop_reason, result.status, result.exit_code) == (StopReason.MAX_STEPS, "partial", 3)
    assert "half the answer" in result.answer


async def test_a_task_that_was_killed_before_its_last_words_goes_on_where_it_may(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": [call("read_file", path="notes.txt"), call("list_dir", path="."), "half the answer"]})
    async with sessions.open(max_steps=2) as opened:
        first = await opened.do("the task")
    (path,) = sessions.home.glob(".yagent/data/rollout/**/*.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: next(number for number, line in enumerate(lines) if CLOSING in line) + 1]))
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": ["the whole answer"]})
    async with sessions.open(resume=Resume(first.session)) as opened:
        result = await opened.go_on()
    cut_before_its_end(sessions, "director")
    assert (result.stop_reason, result.answer) == (StopReason.PLAIN_TEXT, "the whole answer")
    async with sessions.open(resume=Resume(first.session)) as opened:  # killed once more, after those words
        assert (await opened.go_on()).stop_reason is StopReason.PLAIN_TEXT


async def test_a_delegation_that_its_limit_had_ended_is_no_success_after_a_kill(sessions: Sessions, model_server: ModelServer) -> None:
    looks = [call("read_file", path="notes.txt"), call("list_dir", path=".")]
    model_server.play({"are the Director": [call("delegate_coding", task="work"), "done"], "are Coding": [*looks, "half of it"]})
    async with sessions.open(max_steps=2) as opened:
        first = await opened.do("the task")
    cut_before_its_end(sessions, "coding")
    (path,) = (each for each in sessions.home.glob(".yagent/data/rollout/**/*.jsonl") if "coding" not in each.name)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: next(number for number, line in enumerate(lines) if BEGUN in line) + 1]))
    model_server.tolerate = ("prefix",)
    model_server.play({"are the Director": ["done"], "are Coding": ["must not be asked"]})
    async with sessions.open(max_steps=2, resume=Resume(first.session)) as opened:
        await opened.go_on()
    told = model_server.views[-1].entries[-1].results[0].text
    assert "[coding#1 · partial · max_steps · 2 steps]" in told
    assert "half of it" in told
