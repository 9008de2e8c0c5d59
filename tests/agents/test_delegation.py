"""Agents that work for agents: queue, timers, limits, ends, and what comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.probes import Calls, asks, probe, scripted
from tests.agents.stage import TIME_IS_UP, ProbeRecorder, Rules, Stage, assert_paired, limited
from tests.support.model_server import Agent, Call, ModelServer, Reply, call
from tests.support.model_server.scripts import Role
from tests.support.virtual_time import VirtualClock
from yagent.agents.delegation.handover import MAX_REFERENCES, References, render, resolve, task_message
from yagent.agents.delegation.spawn import MAX_DEPTH
from yagent.agents.loop.result import RunResult
from yagent.llm.inflight import InFlightGate
from yagent.llm.scripted import ScriptedReply, ScriptedRequest
from yagent.protocol.events import DelegationEnded, DelegationStarted
from yagent.protocol.handoff import Handoff
from yagent.protocol.ids import AgentIdentity
from yagent.protocol.messages import ToolCall
from yagent.protocol.stop import StopReason
from yagent.rollout.writer import RolloutError
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain
from yagent.tools.spec import CallContext, DelegationRequest
from yagent.workspace.permissions import Mode

FORMATS = ("openai", "responses", "anthropic")
EXIT = {"reason": "r", "handoff": {"conclusion": "Found it.", "status": "ok", "facts": [{"claim": "It rounds", "where": "a.py:3"}]}}


Parts: TypeAlias = dict[str, Sequence[Sequence[ToolCall] | str]]


class Troupe:
    """A scripted tree: what each agent does at each of its turns, by role and by words of its task."""

    def __init__(self, clock: Clock, parts: Parts) -> None:
        self.clock = clock
        self.parts = parts
        self.requests: list[ScriptedRequest] = []
        self.working = self.peak = 0

    def __call__(self, request: ScriptedRequest) -> ScriptedReply | None:
        self.requests.append(request)
        said = sum(message.role == "assistant" for message in request.messages)
        fitting = [part for key, part in self.parts.items() if request.agent.startswith(f"You are {key}") or key in request.task]
        if len(fitting) != 1 or said >= len(fitting[0]):
            return None
        line = fitting[0][said]
        return ScriptedReply(line) if isinstance(line, str) else asks(*line)

    async def work(self, number: int, call: CallContext) -> str:
        """A tool that takes as many seconds as it is told, and counts how many of it run at once."""
        self.working += 1
        self.peak = max(self.peak, self.working)
        try:
            await self.clock.sleep(number)
        finally:
            self.working -= 1
        return f"worked {number} s"

    def stage(self, workspace: Path, rules: Rules | None = None) -> Stage:
        """A stage on which the tool `work` exists."""
        rules = rules or Rules()
        rules.tools = (*rules.tools, probe("work", self.work))
        return Stage(workspace, self.clock, scripted(self.clock, self), rules)


def results(stage: Stage, delegation: str = "") -> list[str]:
    """The texts of all tool results an agent was given."""
    return [result.text for message in stage.recorders[delegation].messages for result in message.results]


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


async def test_waiting_for_a_slot_counts_against_no_timer(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_repo", task=f"part {number}") for number in range(3)], "Done."]}
    parts |= {f"part {number}": [[calls("work", number=90)], [calls("agent_exit", **EXIT)]] for number in range(3)}
    stage = Troupe(clock, parts).stage(workspace, Rules(parallel_delegations=1, idle=60, total=100))
    await stage.run()
    assert [each.stop_reason for each in stage.account.delegations] == [StopReason.AGENT_EXIT] * 3


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


async def test_waiting_for_the_models_turn_counts_against_no_timer(
    workspace: Path, clock: VirtualClock, model_server: ModelServer, make_stage: StageMaker, gate: InFlightGate
) -> None:
    async def director(agent: Agent) -> str:
        return await agent.call("delegate_chat", task="a poem")

    model_server.play({"You are the Director": director, "You are Chat,": ["A poem."]})
    stage = make_stage(Rules(total=30, idle=30, task_timeout=60))
    async with AsyncExitStack() as others, Domain("test") as domain:
        for _ in range(gate.limit):
            await others.enter_async_context(gate.slot())
        running = domain.go("run", stage.run())
        await clock.sleep(1000)
        assert (gate.waiting, len(model_server.exchanges)) == (1, 0)
        await others.aclose()
        assert "A poem." in (await running).deliverable


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


async def test_a_delegation_whose_time_is_over_hands_over_in_one_last_step(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {
        "the Director": [[calls("delegate_repo", task="look long")], "Done."],
        "Repo": [[calls("work", number=1)], [calls("work", number=10_000)], [calls("agent_exit", **EXIT)]],
    }
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace, Rules(total=100))
    started = clock.now()
    assert (await stage.run()).deliverable == "Done."
    assert clock.now() - started < 101
    (delegation,) = [key for key in stage.recorders if key]
    assert_paired(stage.recorders[delegation].messages)
    assert [message.text for message in stage.recorders[delegation].messages if message.role == "user"][1:] == [TIME_IS_UP]
    text = results(stage)[0]
    assert text.startswith("[repo#1 · partial · total_timeout · 2 steps]")
    assert "It did not finish: its time was over." in text
    assert "Found it." in text
    assert stage.account.delegations[0].stop_reason is StopReason.TOTAL_TIMEOUT


async def test_a_last_step_that_never_comes_is_not_waited_for(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_repo", task="look long")], "Done."], "Repo": [[calls("work", number=10_000)]]}
    troupe = Troupe(clock, parts)

    async def slow(request: ScriptedRequest) -> ScriptedReply | None:
        if request.messages[-1].text == TIME_IS_UP:
            await clock.sleep(100_000)
        return troupe(request)

    stage = Stage(workspace, clock, scripted(clock, slow), Rules(tools=(probe("work", troupe.work),), total=100))
    started = clock.now()
    assert (await stage.run()).deliverable == "Done."
    assert 220 <= clock.now() - started < 221
    assert "total_timeout" in results(stage)[0]
    assert "It left no result." in results(stage)[0]


class _Stuck(ProbeRecorder):
    """A record whose first barrier takes very long: nothing is in flight meanwhile."""

    async def barrier(self) -> None:
        if not self.barriers:
            self.barriers += 1
            await self.clock.sleep(10_000)
        await super().barrier()


async def test_a_delegation_in_which_nothing_happens_is_ended(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_chat", task="t")], "Done."]}
    rules = Rules(idle=60, recorder=lambda identity, clock: (_Stuck if identity.depth else ProbeRecorder)(clock))
    stage = Troupe(clock, parts).stage(workspace, rules)
    started = clock.now()
    assert (await stage.run()).deliverable == "Done."
    assert 60 <= clock.now() - started < 61
    assert "[chat#1 · error · idle_timeout · 1 step]" in results(stage)[0]


async def test_slow_but_busy_work_is_not_idle(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    working = [[calls("work", number=170)], [calls("agent_exit", **EXIT)]]
    parts: Parts = {"the Director": [[calls("delegate_repo", task="t")], "Done."], "Repo": working}
    stage = Troupe(clock, parts).stage(workspace, Rules(idle=60))
    await stage.run()
    assert stage.account.delegations[0].stop_reason is StopReason.AGENT_EXIT


async def test_the_time_of_the_task_is_over_for_everybody(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_repo", task="look long")]], "Repo": [[calls("work", number=10_000)]]}
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace, Rules(total=1000, task_timeout=50))
    started = clock.now()
    result = await stage.run()
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert 50 <= clock.now() - started < 51
    assert troupe.working == 0
    assert [(each.role, each.stop_reason) for each in stage.account.delegations] == [("repo", StopReason.CANCELLED)]
    for recorder in stage.recorders.values():
        assert_paired(recorder.messages)
        assert len(recorder.terminals) == 1


async def test_a_grandchild_does_not_outlive_its_parents_time(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {
        "the Director": [[calls("delegate_repo", task="ask devops")], "Done."],
        "Repo": [[calls("delegate_devops", task="run it")], [calls("agent_exit", **EXIT)]],
        "DevOps": [[calls("work", number=170)], [calls("work", number=170)], [calls("work", number=170)]],
    }
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace, Rules(total=400))
    started = clock.now()
    assert (await stage.run()).deliverable == "Done."
    assert clock.now() - started < 401
    assert [(each.role, each.stop_reason) for each in stage.account.delegations] == [
        ("devops", StopReason.CANCELLED),
        ("repo", StopReason.TOTAL_TIMEOUT),
    ]
    assert troupe.working == 0


async def test_cancelling_the_director_reaches_every_agent_below(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    asked = [calls("delegate_repo", task="part 1"), calls("delegate_repo", task="part 2"), calls("delegate_coding", task="later")]
    parts: Parts = {
        "the Director": [asked],
        "part 1": [[calls("work", number=170)]],
        "part 2": [[calls("delegate_devops", task="run it")]],
        "DevOps": [[calls("work", number=170)]],
    }
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace)
    async with Domain("test") as domain:
        running = domain.go("run", stage.run())
        while troupe.working < 2:
            await clock.sleep(0.1)
        stopped = clock.now()
        running.cancel()
        assert (await running.outcome()).cancelled
    assert clock.now() - stopped < 1
    requests = len(troupe.requests)
    await clock.sleep(1000)
    assert (troupe.working, len(troupe.requests)) == (0, requests)
    assert len(stage.recorders) == 4  # coding never began
    for recorder in stage.recorders.values():
        assert_paired(recorder.messages)
        assert [record.data["stop_reason"] for record in recorder.terminals] == ["cancelled"]
        assert recorder.records[-1] is recorder.terminals[0]
    assert [each.stop_reason for each in stage.account.delegations] == [StopReason.CANCELLED] * 3
    assert len(stage.published(DelegationEnded)) == 3


async def test_a_child_cancelled_by_itself_costs_only_its_own_result(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()

    async def cancelled(number: int, call: CallContext) -> str:
        raise asyncio.CancelledError

    parts: Parts = {
        "the Director": [[calls("delegate_repo", task="part 1"), calls("delegate_repo", task="part 2")], "Done."],
        "part 1": [[calls("vanish")], "I go on.", "I said I go on."],
        "part 2": [[calls("work", number=5)], [calls("agent_exit", **EXIT)]],
    }
    stage = Troupe(clock, parts).stage(workspace, Rules(tools=(probe("vanish", cancelled),)))
    assert (await stage.run()).deliverable == "Done."
    assert_paired(stage.recorders[""].messages)
    assert ["I said I go on." in results(stage)[0], "Found it." in results(stage)[1]] == [True, True]


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


async def test_earlier_results_are_given_in_full(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> str:
        await agent.call("delegate_repo", task="find it")
        references = ["agent:repo", "agent:repo_agent#1", "agent:chat", "note:x", "agent:repo"]
        text = await agent.call("delegate_coding", task="change it", context_refs=references)
        assert "[unresolved: 2 (agent:chat, note:x)]" in text.splitlines()[0]
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


def test_ten_references_at_most_are_looked_up_after_doubles_are_gone() -> None:
    references = [f"agent:role{number}" for number in range(12)]
    found = resolve([*references[:3], *references], {f"role{number}": f"text {number}" for number in range(12)})
    assert MAX_REFERENCES == 10
    assert [reference for reference, _ in found.texts] == references[:10]
    assert found.unresolved == ()


@pytest.mark.parametrize(
    "reference", ["agent:repo", " agent:repo ", "agent:repo_agent", "agent:repo#2", "agent:repo_agent#2", "agent: repo", "agent:Repo"]
)
def test_a_result_is_found_under_each_of_its_names(reference: str) -> None:
    assert resolve([reference], {"repo": "x", "repo#2": "x"}).unresolved == ()


@pytest.mark.parametrize("reference", ["repo", "note:repo", "agent:", "agent:coding", "agent:repo#1", ":"])
def test_what_leads_nowhere_is_named(reference: str) -> None:
    assert resolve([reference], {"repo": "x", "repo#2": "x"}) == References((), (reference,))


def test_the_task_stands_last_in_the_first_message() -> None:
    text = task_message("do it", References((("agent:repo", "found"),), ("note:x",)), "<environment/>")
    assert text.startswith("<environment/>\n\n<result of=")
    assert "There is no result called note:x" in text
    assert text.endswith("<task>\ndo it\n</task>")


@pytest.mark.parametrize("reason", [reason for reason in StopReason if reason not in (StopReason.PLAIN_TEXT, StopReason.AGENT_EXIT)])
def test_no_other_end_looks_like_a_finished_one(reason: StopReason) -> None:
    text = render("repo#1", RunResult(reason, "Half.", 3, calls=1))
    assert "It did not finish: " in text
    assert "unfinished work" in text
    assert text.endswith("Half.")
    assert "It left no result." in render("repo#1", RunResult(reason, "", 3, calls=1))


def test_an_end_without_a_word_is_called_that() -> None:
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, " ", 3, Handoff(" "), calls=1))
    assert text.splitlines()[0] == "[repo#1 · error · agent_exit · 3 steps]"
    assert "It left no result." in text


def test_a_longer_answer_beside_the_hand_over_arrives_whole() -> None:
    text = render("repo#1", RunResult(StopReason.AGENT_EXIT, "All the long words.", 3, Handoff("Short."), calls=1))
    assert text.endswith("Short.\n\nIn full:\nAll the long words.")
    same = render("repo#1", RunResult(StopReason.AGENT_EXIT, "Short.", 3, Handoff("Short."), calls=1))
    assert same.count("Short.") == 1
