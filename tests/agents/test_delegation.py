"""Agents that work for agents: who works, with what, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.probes import Calls, probe
from tests.agents.stage import ProbeRecorder, Rules, assert_paired, limited
from tests.agents.troupe import EXIT, FORMATS, Parts, Troupe, results
from tests.support.model_server import Agent, Call, ModelServer, Reply, call
from tests.support.model_server.scripts import Role
from tests.support.virtual_time import VirtualClock
from yagent.agents.delegation.spawn import MAX_DEPTH
from yagent.protocol.events import DelegationEnded, DelegationStarted
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import ToolCall
from yagent.protocol.stop import StopReason
from yagent.rollout.writer import RolloutError
from yagent.runtime.clock import Clock
from yagent.tools.spec import CallContext, DelegationRequest
from yagent.workspace.permissions import Mode


@pytest.mark.parametrize("api_format", FORMATS)
async def test_a_delegation_works_with_its_own_tools_and_hands_over(
    make_stage: StageMaker, model_server: ModelServer, api_format: str
) -> None:
    async def director(agent: Agent) -> str:
        handed = await agent.call("delegate_repo", task="find the words in a.txt")
        assert handed.startswith("[repo#1 · ok · agent_exit · 2 steps]")
        assert "Found it.\n\n- It rounds (a.py:3)" in handed
        return "Repo found it."

    async def repo(agent: Agent) -> Reply:
        assert "find the words in a.txt" in agent.task
        assert "create_file" not in agent.view.tools
        assert "this is a" in await agent.call("read_file", path="a.txt")
        return Reply(calls=(Call("agent_exit", EXIT),))

    model_server.play({"You are the Director": director, "You are Repo,": repo})
    stage = make_stage(api_format=api_format)
    assert (await stage.run()).deliverable == "Repo found it."
    (delegation,) = [key for key in stage.recorders if key]
    assert stage.recorders[""].messages[1].calls[0].id == delegation
    assert [(each.id, each.role, each.status, each.stop_reason, each.steps) for each in stage.account.delegations] == [
        (delegation, "repo", "ok", StopReason.AGENT_EXIT, 2)
    ]
    (began,), (ended,) = stage.published(DelegationStarted), stage.published(DelegationEnded)
    assert (began.delegation_id, began.parent_delegation_id, began.agent) == (delegation, None, "repo")
    assert (ended.delegation_id, ended.status, ended.stop_reason, ended.steps) == (delegation, "ok", "agent_exit", 2)
    assert {source for source, of, _ in stage.events if of == delegation} == {"Repo"}
    assert stage.recorders[delegation].closed
    assert model_server.kept == 1.0


async def test_two_delegations_of_one_role_are_two_agents(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        first, second = await agent.calls(Call("delegate_repo", {"task": "look at a"}), Call("delegate_repo", {"task": "look at b"}))
        assert ("Nothing in a." in first.text, "Nothing in b." in second.text) == (True, True)
        return "Nothing."

    cast: dict[str | tuple[str, str], Role] = {"You are the Director": director}
    cast |= {("You are Repo,", f"look at {name}"): ["I know.", f"Nothing in {name}."] for name in "ab"}
    model_server.play(cast)
    stage = make_stage()
    assert (await stage.run()).deliverable == "Nothing."
    assert len({id(conversation) for conversation in stage.conversations.values()}) == 3
    assert [each.stop_reason for each in stage.account.delegations] == [StopReason.PLAIN_TEXT] * 2


async def test_a_child_that_fails_is_an_error_result_and_its_parent_goes_on(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        (failed,) = await agent.calls(Call("delegate_chat", {"task": "a poem"}))
        assert failed.is_error
        assert "It did not finish: its model failed. The model declined to answer" in failed.text
        assert "It left no result." not in failed.text
        return "No poem today."

    model_server.play({"You are the Director": director, "You are Chat,": [Reply(text="I must not.", finish="refusal")]})
    stage = make_stage(api_format="anthropic")
    assert (await stage.run()).deliverable == "No poem today."


async def test_a_child_that_cannot_be_set_up_is_an_error_result(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()

    def no_room(identity: AgentIdentity, clock: Clock) -> ProbeRecorder:
        if identity.depth:
            raise RolloutError("The record cannot be created: no space.")
        return ProbeRecorder(clock)

    stage = Troupe(clock, {"the Director": [[calls("delegate_chat", task="t")], "Done."]}).stage(workspace, Rules(recorder=no_room))
    assert (await stage.run()).deliverable == "Done."
    assert results(stage) == ["Chat could not start: The record cannot be created: no space."]
    assert stage.account.delegations == []


async def test_read_only_delegations_run_side_by_side_within_the_slots(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_repo", task=f"part {number}") for number in range(6)], "Done."]}
    parts |= {f"part {number}": [[calls("work", number=10)], [calls("agent_exit", **EXIT)]] for number in range(6)}
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace, Rules(parallel_delegations=2))
    started = clock.now()
    assert (await stage.run()).deliverable == "Done."
    assert troupe.peak == 2
    assert 30 <= clock.now() - started < 31
    assert [text.splitlines()[0] for text in results(stage)] == [f"[repo#{number} · ok · agent_exit · 2 steps]" for number in range(1, 7)]


async def test_one_slot_is_enough_for_a_child_that_delegates(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {
        "the Director": [[calls("delegate_repo", task="ask devops")], "Done."],
        "Repo": [[calls("delegate_devops", task="run it")], [calls("agent_exit", **EXIT)]],
        "DevOps": [[calls("agent_exit", **EXIT)]],
    }
    stage = Troupe(clock, parts).stage(workspace, Rules(parallel_delegations=1))
    assert (await stage.run()).deliverable == "Done."
    began = stage.published(DelegationStarted)
    assert [(each.agent, each.parent_delegation_id) for each in began] == [("repo", None), ("devops", began[0].delegation_id)]
    assert [each.role for each in stage.account.delegations] == ["devops", "repo"]


async def test_agents_that_use_the_same_call_ids_are_told_apart(workspace: Path, clock: VirtualClock) -> None:
    same = "call_0"
    parts: Parts = {
        "the Director": [[ToolCall(same, "delegate_repo", '{"task": "ask devops"}')], "Done."],
        "Repo": [[ToolCall(same, "delegate_devops", '{"task": "run it"}')], [ToolCall("call_1", "agent_exit", json.dumps(EXIT))]],
        "DevOps": [[ToolCall(same, "work", '{"number": 1}')], [ToolCall("call_1", "agent_exit", json.dumps(EXIT))]],
    }
    stage = Troupe(clock, parts).stage(workspace)
    assert (await stage.run()).deliverable == "Done."
    assert [(each.id, each.role) for each in stage.account.delegations] == [("call_0-2", "devops"), ("call_0", "repo")]
    assert set(stage.recorders) == {"", "call_0", "call_0-2"}


async def test_a_hundred_delegations_in_one_reply_each_have_one_result(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    asked = [calls("delegate_chat", task=f"number {number}.") for number in range(100)]
    parts: Parts = {"the Director": [asked, "Done."]}
    parts |= {f"number {number}.": [[calls("agent_exit", **EXIT)]] for number in range(100)}
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace)
    assert (await stage.run()).deliverable == "Done."
    assert_paired(stage.recorders[""].messages)
    assert [result.call_id for result in stage.recorders[""].messages[2].results] == [each.id for each in asked]
    assert len(stage.account.delegations) == 100


async def test_a_record_that_cannot_be_closed_does_not_cost_the_result(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_chat", task="t")], "Done."], "Chat": [[calls("agent_exit", **EXIT)]]}
    rules = Rules(recorder=lambda identity, clock: ProbeRecorder(clock, 3 if identity.depth else None))
    stage = Troupe(clock, parts).stage(workspace, rules)
    assert (await stage.run()).deliverable == "Done."
    assert "Found it." in results(stage)[0]
    assert len(stage.account.warnings) == 1


async def test_agents_can_be_nested_only_so_deep(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    seen: list[str] = []

    async def dig(number: int, call: CallContext) -> str:
        scope = call.scope
        for depth in (MAX_DEPTH - 1, MAX_DEPTH):
            deep = replace(scope, agent=AgentIdentity("repo", "", depth))
            output = await scope.delegate(DelegationRequest("chat", "t"), CallContext(f"deep-{depth}", deep))
            seen.append(output.text)
        seen.append((await scope.delegate(DelegationRequest("nobody", "t"), call)).text)
        return "dug"

    parts: Parts = {"the Director": [[calls("dig")], "Done."], "Chat": [[calls("agent_exit", **EXIT)]]}
    await Troupe(clock, parts).stage(workspace, Rules(tools=(probe("dig", dig),))).run()
    assert "Found it." in seen[0]
    assert seen[1] == "Delegations are nested 4 deep already. Do this part yourself."
    assert seen[2].startswith("There is no agent 'nobody'. Agents: director, coding")


async def test_a_childs_asks_and_denials_belong_to_the_task(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    write = calls("create_file", path="new.txt", content="x")
    parts: Parts = {"the Director": [[calls("delegate_coding", task="write")], "Done."], "Coding": [[write], [calls("agent_exit", **EXIT)]]}
    stage = Troupe(clock, parts).stage(workspace, Rules(mode=Mode.ASK))
    await stage.run()
    assert [(ask.origin.label, ask.origin.depth) for ask in stage.person.asked][-1:] == [("Coding", 1)]
    assert [(denied.agent, denied.tool) for denied in stage.account.denials][-1:] == [("Coding", "create_file")]
    assert not (workspace / "new.txt").exists()


async def test_what_was_denied_to_one_of_two_siblings_is_told_of_that_one_alone(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        tasks = [Call("delegate_coding", {"task": "write it"}), Call("delegate_coding", {"task": "look at it"})]
        wrote, looked = [seen.text for seen in await agent.calls(*tasks)]
        assert "Denied to it: create_file new.txt" in wrote
        assert "Denied" not in looked
        return "Done."

    async def coding(agent: Agent) -> Reply:
        if "write it" in agent.task:
            await agent.call("create_file", path="new.txt", content="x")
        return Reply(calls=(Call("agent_exit", EXIT),))

    model_server.play({"You are the Director": director, "You are Coding,": coding})
    stage = make_stage(Rules(mode=Mode.ASK, parallel_delegations=2))
    assert (await stage.run()).deliverable == "Done."
    assert [denied.subject for denied in stage.account.denials] == ["new.txt"]


async def test_earlier_results_are_given_in_full(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        await agent.call("delegate_repo", task="find it")
        references = ["agent:repo", "agent:repo_agent#1", "agent:chat", "note:x", "agent:repo"]
        text = await agent.call("delegate_coding", task="change it", context_refs=references)
        assert "[unresolved: 2 (context_refs not found: agent:chat, note:x; it worked without; there are: repo#1)]" in text.splitlines()[0]
        return "Done."

    async def coding(agent: Agent) -> Reply:
        assert agent.task.count("Found it.") == 2
        assert '<result of="agent:repo">\n[repo#1 · ok · agent_exit · 1 step]' in agent.task
        assert agent.task.endswith("<task>\nchange it\n</task>")
        return Reply(calls=(Call("agent_exit", EXIT),))

    model_server.play({"You are the Director": director, "You are Coding,": coding, "You are Repo,": [call("agent_exit", **EXIT)]})
    assert (await make_stage().run()).deliverable == "Done."


async def test_a_step_limit_of_a_child_is_told_to_its_parent(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        text = await agent.call("delegate_repo", task="find it")
        assert text.startswith("[repo#1 · partial · max_steps · 1 step]")
        assert "It did not finish: it reached its step limit." in text
        assert "What follows is unfinished work" in text
        return "Half of it."

    model_server.play({"You are the Director": director, "You are Repo,": [call("read_file", path="a.txt"), "Half."]})
    assert (await make_stage(Rules(limited("repo", max_steps=1))).run()).deliverable == "Half of it."
