"""Cases J-02 and D10: what a delegation asks for reaches somebody, or is refused at once with the true reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.cases.interruptions import stopped
from tests.support.model_server import Agent, Call, ModelServer, Reply, hand_over
from tests.support.session import Opened, Sessions
from yagent.protocol.asks import Answer
from yagent.protocol.events import UserHelpNeeded, UserHelpResponse, WarningIssued
from yagent.protocol.ops import AnswerAsk
from yagent.protocol.stop import StopReason

COMMAND = "touch x"


async def devops(agent: Agent) -> Reply:
    """Runs the command its task names."""
    return hand_over(await agent.call("run_bash", command=agent.task.split("<task>\n")[1].split("\n")[0]))


async def repo(agent: Agent) -> Reply:
    """Has somebody else run the command its task names."""
    return hand_over(await agent.call("delegate_devops", task=agent.task.split("<task>\n")[1].split("\n")[0]))


def handing_out(tool: str, *commands: str) -> Callable[[Agent], Any]:
    """A Director who hands out commands side by side."""

    async def director(agent: Agent) -> str:
        results = await agent.calls(*(Call(tool, {"task": command}) for command in commands))
        return "\n====\n".join(result.text for result in results)

    return director


def play(server: ModelServer, depth: int, *commands: str) -> None:
    """The command at that depth below the Director."""
    tool = "delegate_devops" if depth == 1 else "delegate_repo"
    server.play({"are the Director": handing_out(tool, *(commands or (COMMAND,))), "are Repo": repo, "are DevOps": devops})


def allow(needed: UserHelpNeeded) -> Answer:
    """Yes, once."""
    return Answer(granted=True, offer=needed.offers[0])


def deny(needed: UserHelpNeeded) -> Answer:
    """No."""
    return Answer(granted=False)


def assert_all_answered(opened: Opened) -> None:
    """Every ask that was raised was also closed."""
    asked, answered = opened.told(UserHelpNeeded), opened.told(UserHelpResponse)
    assert sorted(each.request_id for each in asked) == sorted(each.request_id for each in answered)


@pytest.mark.parametrize("depth", [1, 2])
async def test_J02_D10_an_ask_from_any_depth_is_shown_with_its_origin_and_its_answer_comes_back(
    sessions: Sessions, model_server: ModelServer, depth: int
) -> None:
    play(model_server, depth)
    async with sessions.open(person=allow) as opened:
        result = await opened.do("go")
    (needed,) = opened.told(UserHelpNeeded)
    assert (needed.origin, needed.tool, needed.subject) == ("DevOps", "run_bash", COMMAND)
    assert (sessions.workspace / "x").exists()
    assert (result.exit_code, result.denied) == (0, ())
    assert_all_answered(opened)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("mode", ["yolo", "full-yolo"])
async def test_D10_what_is_allowed_beforehand_is_asked_of_nobody_at_any_depth(
    sessions: Sessions, model_server: ModelServer, depth: int, mode: str
) -> None:
    play(model_server, depth)
    async with sessions.open(mode=mode) as opened:
        result = await opened.do("go")
    assert (sessions.workspace / "x").exists()
    assert (opened.told(UserHelpNeeded), result.exit_code) == ([], 0)


@pytest.mark.parametrize("depth", [1, 2])
async def test_J02_D10_where_nobody_can_answer_the_child_hears_so_at_once(
    sessions: Sessions, model_server: ModelServer, depth: int
) -> None:
    play(model_server, depth)
    started = asyncio.get_running_loop().time()
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert asyncio.get_running_loop().time() - started < 5
    assert not (sessions.workspace / "x").exists()
    assert "obody" in result.answer
    assert "user denied" not in result.answer.lower()
    assert (result.exit_code, [denied.answered_by for denied in result.denied]) == (4, ["nobody"])
    assert_all_answered(opened)


@pytest.mark.parametrize("depth", [1, 2])
async def test_J02_a_refusal_reaches_the_child_alone_and_its_sibling_goes_on(
    sessions: Sessions, model_server: ModelServer, depth: int
) -> None:
    def person(needed: UserHelpNeeded) -> Answer:
        return deny(needed) if needed.subject == "touch x" else allow(needed)

    play(model_server, depth, "touch x", "touch y")
    async with sessions.open(person=person) as opened:
        result = await opened.do("go")
    refused, made = result.answer.split("\n====\n")
    assert "exit code 0" in made
    assert "exit code 0" not in refused
    assert "Denied to it: run_bash touch x" in refused
    assert ((sessions.workspace / "x").exists(), (sessions.workspace / "y").exists()) == (False, True)
    assert [(each.agent, each.subject, each.answered_by) for each in result.denied] == [("DevOps", "touch x", "user")]


async def test_D10_two_children_that_ask_at_the_same_time_are_both_served_in_any_order(
    sessions: Sessions, model_server: ModelServer
) -> None:
    waiting: list[UserHelpNeeded] = []
    served = asyncio.Event()

    async def person(needed: UserHelpNeeded) -> Answer:
        waiting.append(needed)
        if len(waiting) < 2:
            await served.wait()  # the first to ask is answered last
        served.set()
        return allow(needed)

    play(model_server, 2, "touch x", "touch y")
    async with sessions.open(person=person) as opened:
        result = await opened.do("go")
    assert sorted(needed.subject for needed in waiting) == ["touch x", "touch y"]
    assert [(sessions.workspace / name).exists() for name in "xy"] == [True, True]
    assert result.exit_code == 0
    assert_all_answered(opened)


@pytest.mark.parametrize("depth", [1, 2])
async def test_D10_stopping_the_task_ends_the_wait_and_the_next_task_can_ask_again(
    sessions: Sessions, model_server: ModelServer, depth: int
) -> None:
    async def never(needed: UserHelpNeeded) -> Answer:
        if len(opened.told(UserHelpNeeded)) == 1:
            await asyncio.Event().wait()
        return allow(needed)

    play(model_server, depth)
    async with sessions.open(person=never) as opened:
        first = await stopped(opened, "go", lambda: opened.told(UserHelpNeeded))
        assert first.stop_reason is StopReason.CANCELLED
        assert [each.answered_by for each in opened.told(UserHelpResponse)] == ["cancelled"]
        assert not (sessions.workspace / "x").exists()
        late = AnswerAsk(opened.told(UserHelpNeeded)[0].request_id, allow(opened.told(UserHelpNeeded)[0]))
        await opened.session.submit(late)  # nobody waits for it any more
        play(model_server, depth)
        assert (await opened.do("again")).exit_code == 0
    assert (sessions.workspace / "x").exists()
    assert_all_answered(opened)


@pytest.mark.parametrize("answers", [(True, False), (False, True)])
async def test_J02_the_first_answer_counts_and_answers_to_unknown_asks_change_nothing(
    sessions: Sessions, model_server: ModelServer, answers: Sequence[bool]
) -> None:
    async def person(needed: UserHelpNeeded) -> Answer:
        await opened.session.submit(AnswerAsk("unknown", allow(needed)))
        first, second = (allow(needed) if yes else deny(needed) for yes in answers)
        await opened.session.submit(AnswerAsk(needed.request_id, first))
        return second

    play(model_server, 2)
    async with sessions.open(person=person) as opened:
        await opened.do("go")
    assert (sessions.workspace / "x").exists() is answers[0]


async def test_a_grant_that_cannot_be_kept_for_the_project_is_told(sessions: Sessions, model_server: ModelServer) -> None:
    def person(needed: UserHelpNeeded) -> Answer:
        (sessions.home / ".yagent" / "settings.json.lock").mkdir()
        return Answer(granted=True, offer=next(offer for offer in needed.offers if offer.scope == "project"))

    play(model_server, 1)
    async with sessions.open(person=person) as opened:
        result = await opened.do("go")
    assert (sessions.workspace / "x").exists()
    assert [warning for warning in result.warnings if "holds for this session only" in warning] != []
    assert any("holds for this session only" in told.text for told in opened.told(WarningIssued))
