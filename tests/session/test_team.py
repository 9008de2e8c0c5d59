"""Who works in a run, what they are called, and who is left out (A-06)."""

from __future__ import annotations

import pytest

from tests.support.model_server import Agent, ModelServer, hand_over
from tests.support.session import Sessions
from yagent.protocol.events import DelegationStarted
from yagent.session.build import RequestError


async def test_agents_can_be_left_out(sessions: Sessions, model_server: ModelServer) -> None:
    model_server.play({"are the Director": ["ok"]})
    async with sessions.open(disabled_agents=frozenset({"coding", "devops"})) as opened:
        await opened.do("go")
    assert {name for name in model_server.views[0].tools if name.startswith("delegate_")} == {"delegate_repo", "delegate_chat"}


async def test_leaving_out_an_agent_that_does_not_exist_is_refused_and_names_those_that_do(sessions: Sessions) -> None:
    with pytest.raises(RequestError, match=r"parser.*coding"):
        async with sessions.open(disabled_agents=frozenset({"parser"})):
            pass


async def test_the_prompt_names_the_agents_that_work_in_this_run_and_those_that_do_not(
    sessions: Sessions, model_server: ModelServer
) -> None:
    model_server.play({"are the Director": ["one"]})
    async with sessions.open(disabled_agents=frozenset({"chat", "devops"})) as opened:
        await opened.do("go")
    system = model_server.views[0].system
    assert "| `delegate_coding` |" in system
    assert "| `delegate_chat` |" not in system
    assert "Switched off: `delegate_devops`, `delegate_chat`." in system
    assert "{{" not in system
    assert {"delegate_repo", "delegate_coding"} == {name for name in model_server.views[0].tools if name.startswith("delegate_")}


async def test_a_delegation_is_told_by_the_name_of_its_result_also_in_a_later_task(sessions: Sessions, model_server: ModelServer) -> None:
    headers = []

    async def director(agent: Agent) -> str:
        headers.extend([(await agent.call("delegate_repo", task="look")).partition(" ")[0].removeprefix("[") for _ in range(2)])
        return "done"

    async with sessions.open() as opened:
        for _ in range(2):
            model_server.play({"are the Director": director, "are Repo": [hand_over("seen"), hand_over("seen")]})
            result = await opened.do("go")
    assert [begun.name for begun in opened.told(DelegationStarted)] == headers == ["repo#1", "repo#2", "repo#3", "repo#4"]
    assert [each.name for each in result.delegations] == ["repo#3", "repo#4"]
