"""Agents that work for agents: queues, timers, cancellation."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.probes import Calls, probe, scripted
from tests.agents.stage import TIME_IS_UP, ProbeRecorder, Rules, Stage, assert_paired
from tests.agents.troupe import EXIT, Parts, Troupe, results
from tests.support.model_server import Agent, ModelServer
from tests.support.virtual_time import VirtualClock
from yagent.llm.inflight import InFlightGate
from yagent.llm.scripted import ScriptedReply, ScriptedRequest
from yagent.protocol.events import DelegationEnded
from yagent.protocol.stop import StopReason
from yagent.runtime.supervise import Domain
from yagent.tools.spec import CallContext


async def test_waiting_for_a_slot_counts_against_no_timer(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {"the Director": [[calls("delegate_repo", task=f"part {number}") for number in range(3)], "Done."]}
    parts |= {f"part {number}": [[calls("work", number=90)], [calls("agent_exit", **EXIT)]] for number in range(3)}
    stage = Troupe(clock, parts).stage(workspace, Rules(parallel_delegations=1, idle=60, total=100))
    await stage.run()
    assert [each.stop_reason for each in stage.account.delegations] == [StopReason.AGENT_EXIT] * 3


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
    parts: Parts = {"the Director": [[calls("delegate_repo", task="look long"), calls("work", number=10_000)]]}
    parts |= {"Repo": [[calls("work", number=10_000)]]}
    troupe = Troupe(clock, parts)
    stage = troupe.stage(workspace, Rules(total=1000, task_timeout=50))
    started = clock.now()
    result = await stage.run()
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert 50 <= clock.now() - started < 51
    assert troupe.working == 0
    assert [(each.role, each.stop_reason) for each in stage.account.delegations] == [("repo", StopReason.TIME_LIMIT)]
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
    assert clock.now() - started == pytest.approx(300, abs=1)  # a quarter is kept by the parent, who ends in order
    assert [(each.role, each.stop_reason) for each in stage.account.delegations] == [
        ("devops", StopReason.TOTAL_TIMEOUT),
        ("repo", StopReason.AGENT_EXIT),
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
