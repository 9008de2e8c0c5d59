"""Compressing between two tasks, because the user asks for it (W-39)."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.stances import until
from tests.support.model_server import Agent, Call, ModelServer, Reply, RequestView, call, hand_over
from tests.support.session import Opened, Sessions
from yagent.protocol.events import ContextCompressed, ContextEmergencyCompressed
from yagent.protocol.ops import CompactTask, QueueTask, StartTask, StopTask
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason
from yagent.rollout.index import list_sessions
from yagent.session.compacting import NOTHING
from yagent.session.refused import TaskRefused
from yagent.session.request import Resume


class Talker:
    """Reads what it is told to read, else talks much; a summary waits while it is held."""

    def __init__(self) -> None:
        self.held = asyncio.Event()
        self.held.set()
        self.asked = 0

    async def __call__(self, view: RequestView) -> Reply:
        if "You summarise" in view.identity:
            self.asked += 1
            await self.held.wait()
            return Reply("talked about words")
        if "WAIT" in view.user_text:
            await self.held.wait()
        if "READ" in view.user_text:
            return Reply(calls=(Call("read_file", {"path": "long.txt"}),))
        if "BRIEFLY" in view.user_text:
            return Reply("yes")
        return Reply("done" if view.results else "many words " * 2000, piece=4096)


@pytest.fixture
def talker(model_server: ModelServer, sessions: Sessions) -> Talker:
    (sessions.workspace / "long.txt").write_text("".join(f"line {number} of a long text\n" for number in range(1000)))
    model_server.tolerate = ("prefix",)
    model_server.script = talker = Talker()
    return talker


async def compact(opened: Opened) -> TaskResult:
    result = await opened.session.submit(CompactTask())
    assert result is not None
    return result


async def test_results_are_shortened_without_a_request_and_the_next_task_goes_on(
    sessions: Sessions, model_server: ModelServer, talker: Talker
) -> None:
    async with sessions.open() as opened:
        await opened.do("READ it")
        result = await compact(opened)
        assert result.answer.startswith("The conversation was compressed: about ")
        assert (result.status, result.exit_code, result.usage) == ("ok", 0, None)
        (told,) = opened.told(ContextCompressed)
        assert told.saved_tokens > 0
        await opened.do("again")
    assert talker.asked == 0
    assert "line 5 of" not in str(model_server.views[-1].body)
    assert "read_artifact" in str(model_server.views[-1].body)


async def test_words_become_a_summary_whose_cost_is_told_and_what_was_stopped_or_ended_stays_so(
    sessions: Sessions, model_server: ModelServer, talker: Talker
) -> None:
    async with sessions.open() as opened:
        first = await opened.do("talk. Never touch generated/.")
        await opened.do("talk on")
        result = await compact(opened)
        assert result.usage is not None
        assert len(opened.told(ContextEmergencyCompressed)) == 1
    (listed,) = list_sessions(next(sessions.home.glob(".yagent/data/rollout/*")), 10)
    assert listed.stop_reason == "plain_text"
    async with sessions.open(resume=Resume(first.session)) as opened:
        await opened.do("go on")
    body = str(model_server.views[-1].body)
    assert "talked about words" in body
    assert "Never touch generated/." in body


async def test_it_says_when_there_is_nothing_to_compress_or_it_may_not(sessions: Sessions, talker: Talker) -> None:
    async with sessions.open() as opened:
        with pytest.raises(TaskRefused, match="no conversation to compress yet"):
            await compact(opened)
        await opened.do("say it BRIEFLY")
        result = await compact(opened)
        assert (result.answer, result.exit_code) == (NOTHING, 0)
    sessions.configure("[compression]\nenable_context_compression = false\n")
    async with sessions.open() as opened:
        await opened.do("talk")
        with pytest.raises(TaskRefused, match="switched off"):
            await compact(opened)


async def test_no_task_starts_meanwhile_and_it_can_be_stopped(sessions: Sessions, talker: Talker) -> None:
    async with sessions.open() as opened:
        await opened.do("talk")
        await opened.do("talk on")
        talker.held.clear()
        compacting = asyncio.ensure_future(compact(opened))
        await until(lambda: talker.asked)
        assert opened.session.snapshot().running
        for op in (StartTask("talk"), CompactTask()):
            with pytest.raises(TaskRefused, match="running in this session already"):
                await opened.session.submit(op)
        queued = asyncio.ensure_future(opened.session.submit(QueueTask("talk again")))
        await opened.session.submit(StopTask())
        assert (await compacting).stop_reason is StopReason.CANCELLED
        result = await queued
        assert result is not None
        assert result.status == "ok"
        talker.held.set()


MAKES = "printf made > made_by_command.txt"


async def _makes(agent: Agent) -> Reply:
    await agent.call("create_file", path="made_by_tool.txt", content="made\n")
    await agent.call("run_bash", command=MAKES)
    return hand_over("made it")


def made(model_server: ModelServer) -> None:
    """A task in which files are made by a tool and by a command."""
    talks = Reply("many words " * 3000, piece=4096)
    model_server.play({"are the Director": [call("delegate_coding", task="make"), talks], "are Coding": _makes})


def from_record(model_server: ModelServer) -> str:
    """What the newest request has from the record rather than from a summary."""
    words = model_server.views[-1].task
    return words[words.index("# From the record") :]


@pytest.mark.parametrize("again", [False, True], ids=["the same process", "opened again"])
async def test_files_changed_by_tools_and_commands_in_any_task_are_still_known(
    sessions: Sessions, model_server: ModelServer, talker: Talker, again: bool
) -> None:
    made(model_server)
    async with sessions.open(mode="yolo") as opened:
        first = await opened.do("make them")
        model_server.script = talker
        await opened.do("talk on")
        if not again:
            await compact(opened)
            await opened.do("say it BRIEFLY")
    if again:
        async with sessions.open(mode="yolo", resume=Resume(first.session)) as opened:
            await compact(opened)
            await opened.do("say it BRIEFLY")
    assert "- made_by_tool.txt" in from_record(model_server)
    assert "- made_by_command.txt" in from_record(model_server)


async def test_a_session_that_was_stopped_on_the_way_goes_on_before_it_is_compressed(
    sessions: Sessions, model_server: ModelServer, talker: Talker
) -> None:
    async with sessions.open() as opened:
        first = await opened.do("talk")
        talker.held.clear()
        stopped = asyncio.ensure_future(opened.do("WAIT for it"))
        await until(lambda: "WAIT for it" in str(model_server.views[-1].body))
        await opened.session.submit(StopTask())
        assert (await stopped).stop_reason is StopReason.CANCELLED
    async with sessions.open(resume=Resume(first.session)) as opened:
        with pytest.raises(TaskRefused, match="stopped on the way"):
            await compact(opened)
        talker.held.set()
        await opened.go_on()
