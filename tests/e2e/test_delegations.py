"""Delegations as a whole: asks on their way up, answers on their way down, ends that are honest, results that arrive."""

from __future__ import annotations

import pytest

from tests.support.model_server import Agent, ModelServer, Reply, delegating, hand_over
from tests.support.session import Sessions
from tests.support.virtual_time import VirtualClock
from yagent.protocol.asks import Answer
from yagent.protocol.events import UserHelpNeeded, UserHelpResponse
from yagent.protocol.stop import StopReason

FORMATS = ("openai", "responses", "anthropic")


def allow(needed: UserHelpNeeded) -> Answer:
    """Say yes, once."""
    return Answer(granted=True, offer=needed.offers[0])


@pytest.mark.parametrize("api_format", FORMATS)
async def test_an_ask_of_a_delegation_reaches_the_user_with_its_origin_and_the_answer_comes_back(
    sessions: Sessions, model_server: ModelServer, api_format: str
) -> None:
    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="touch made"))

    model_server.play({"are the Director": delegating("delegate_coding", "make it"), "are Coding": coding})
    async with sessions.open(api_format=api_format, person=allow) as opened:
        result = await opened.do("go")
    (needed,), (response,) = opened.told(UserHelpNeeded), opened.told(UserHelpResponse)
    assert (needed.origin, needed.tool, needed.subject) == ("Coding", "run_bash", "touch made")
    assert (response.scope, response.answered_by) == ("once", "user")
    assert (sessions.workspace / "made").exists()
    assert (result.exit_code, result.denied) == (0, ())


async def test_a_refusal_is_told_to_the_model_with_its_reason_and_the_run_goes_on(sessions: Sessions, model_server: ModelServer) -> None:
    async def coding(agent: Agent) -> Reply:
        said = await agent.call("run_bash", command="touch made")
        return hand_over(said, status="partial")

    model_server.play({"are the Director": delegating("delegate_coding", "make it"), "are Coding": coding})
    async with sessions.open(person=lambda needed: Answer(granted=False, text="use git mv")) as opened:
        result = await opened.do("go")
    assert "use git mv" in result.answer
    assert (result.exit_code, [denied.answered_by for denied in result.denied]) == (0, ["user"])
    assert not (sessions.workspace / "made").exists()


async def test_waiting_for_the_user_never_counts_against_the_idle_limit(
    sessions: Sessions, model_server: ModelServer, clock: VirtualClock
) -> None:
    async def coding(agent: Agent) -> Reply:
        return hand_over(await agent.call("run_bash", command="touch made"))

    model_server.play({"are the Director": delegating("delegate_coding", "make it"), "are Coding": coding})
    sessions.configure('[agent]\ndelegate_idle_timeout = "5s"\ndelegate_total_timeout = "30s"\n')

    async def after_an_hour(needed: UserHelpNeeded) -> Answer:
        await clock.sleep(3600)
        return allow(needed)

    async with sessions.open(person=after_an_hour) as opened:
        result = await opened.do("go")
    assert [each.stop_reason for each in result.delegations] == [StopReason.AGENT_EXIT]


async def test_one_delegations_result_is_given_whole_to_the_next(sessions: Sessions, model_server: ModelServer) -> None:
    found = "the whole finding " * 50

    async def coding(agent: Agent) -> Reply:
        assert found.strip() in agent.task
        return hand_over("read it")

    async def director(agent: Agent) -> str:
        await agent.call("delegate_repo", task="look")
        return await agent.call("delegate_coding", task="use it", context_refs=["agent:repo", "agent:chat"])

    model_server.play({"are the Director": director, "are Repo": [hand_over(found)], "are Coding": coding})
    async with sessions.open() as opened:
        result = await opened.do("go")
    assert "unresolved: 1 (context_refs not found: agent:chat; it worked without; there are: repo#1)" in result.answer
