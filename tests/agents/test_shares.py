"""What a task may cost and take is shared: no agent spends what those above it need to answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.probes import Calls
from tests.agents.stage import COST_LIMIT, TIME_IS_UP, Rules, assert_paired
from tests.agents.test_task import PRICES, identity
from tests.agents.troupe import EXIT, Parts, Troupe, results
from tests.support.model_server import Agent, Call, ModelServer, Reply
from tests.support.virtual_time import VirtualClock, settle
from yagent.agents.loop.stop import LimitReached
from yagent.agents.loop.task import TaskAccount, TaskLimits
from yagent.protocol.messages import Usage
from yagent.protocol.stop import StopReason
from yagent.runtime.supervise import Domain

DIME = Usage(100_000, 0)  # ten cents, at the stage's prices


async def spend(account: TaskAccount, clock: VirtualClock, dollars: float) -> None:
    """A model call of ten seconds."""
    async with account.admitted(clock):
        await clock.sleep(10)
        account.charge(identity(PRICES), Usage(round(dollars * 1_000_000), 0))


async def test_no_more_calls_begin_at_once_than_the_limit_has_room_for(clock: VirtualClock) -> None:
    account = TaskAccount(TaskLimits(1.0))
    await spend(account, clock, 0.2)
    async with Domain("test") as domain:
        calls = [domain.go(f"call {number}", spend(account, clock, 0.2)) for number in range(10)]
        await settle()
        assert account.in_flight == 3  # what a fourth would cost is left for its own end
        outcomes = [await call.outcome() for call in calls]
    assert account.cost == pytest.approx(0.8)
    refused = [outcome.error for outcome in outcomes if outcome.error is not None]
    assert len(refused) == 7
    assert all(isinstance(error, LimitReached) and error.reason is StopReason.COST_LIMIT for error in refused)


async def test_calls_that_turn_out_cheap_let_others_begin(clock: VirtualClock) -> None:
    account = TaskAccount(TaskLimits(1.0))
    await spend(account, clock, 0.4)
    async with Domain("test") as domain:
        calls = [domain.go(f"call {number}", spend(account, clock, 0.01)) for number in range(4)]
        await settle()
        assert account.in_flight == 1
        for call in calls:
            await call
    assert account.cost == pytest.approx(0.44)


async def test_a_call_that_waits_and_is_cancelled_keeps_no_place(clock: VirtualClock) -> None:
    account = TaskAccount(TaskLimits(1.0))
    await spend(account, clock, 0.4)
    async with Domain("test") as domain:
        domain.go("first", spend(account, clock, 0.1))
        waiting = domain.go("second", spend(account, clock, 0.1))
        await settle()
        waiting.cancel()
        assert (await waiting.outcome()).cancelled
        assert account.in_flight == 1
    assert account.in_flight == 0


async def test_side_by_side_delegations_leave_the_director_what_his_report_costs(make_stage: StageMaker, model_server: ModelServer) -> None:
    async def director(agent: Agent) -> Reply:
        found = await agent.calls(*(Call("delegate_repo", {"task": f"part {number}"}) for number in range(4)))
        return Reply("So far: " + " / ".join(each.text.splitlines()[0] for each in found), usage=DIME)

    async def repo(agent: Agent) -> Reply:
        number = 0
        while COST_LIMIT not in agent.view.user_text:
            number += 1
            calls = (Call("read_file", {"path": "a.txt", "start_line": number}),)
            await agent.reply(Reply(calls=calls, usage=DIME))
        return Reply(calls=(Call("agent_exit", {"reason": "r", "handoff": {"conclusion": "Half.", "status": "partial"}}),), usage=DIME)

    model_server.play({"You are the Director": director, "You are Repo,": repo})
    stage = make_stage(Rules(max_cost=2.0))
    result = await stage.run()
    assert (result.stop_reason, result.exit_code, result.status) == (StopReason.COST_LIMIT, 3, "partial")
    assert result.deliverable.count("partial · cost_limit") == 4
    assert stage.account.cost is not None
    assert 1.5 < stage.account.cost <= 2.0
    assert {each.stop_reason for each in stage.account.delegations} == {StopReason.COST_LIMIT}
    assert any("Raise --max-cost" in warning for warning in stage.account.warnings)
    for recorder in stage.recorders.values():
        assert_paired(recorder.messages)


async def test_the_director_reports_when_a_delegation_used_up_its_share_of_the_time(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {
        "the Director": [[calls("delegate_repo", task="part 1"), calls("delegate_repo", task="part 2")], "What was done so far."],
        "part 1": [[calls("work", number=10_000)], [calls("agent_exit", **EXIT)]],
        "part 2": [[calls("work", number=5)], [calls("agent_exit", **EXIT)]],
    }
    stage = Troupe(clock, parts).stage(workspace, Rules(total=1200, task_timeout=100))
    started = clock.now()
    result = await stage.run()
    assert clock.now() - started == pytest.approx(75, abs=1)
    assert (result.stop_reason, result.exit_code) == (StopReason.TIME_LIMIT, 3)
    assert (result.deliverable, result.status) == ("What was done so far.", "partial")
    assert {each.stop_reason for each in stage.account.delegations} == {StopReason.TIME_LIMIT, StopReason.AGENT_EXIT}
    assert "It did not finish: the time limit of the task was reached." in results(stage)[0]
    assert any(TIME_IS_UP in message.text for recorder in stage.recorders.values() for message in recorder.messages)
    assert stage.account.warnings == ["repo: its share of 75 s of the task's time is used up; give the task more time."]


async def test_a_delegations_own_time_limit_is_none_of_the_task(workspace: Path, clock: VirtualClock) -> None:
    calls = Calls()
    parts: Parts = {
        "the Director": [[calls("delegate_repo", task="look")], "Done."],
        "Repo": [[calls("work", number=10_000)], [calls("agent_exit", **EXIT)]],
    }
    stage = Troupe(clock, parts).stage(workspace, Rules(total=50, task_timeout=1000))
    result = await stage.run()
    assert (result.stop_reason, result.exit_code, stage.account.warnings) == (StopReason.PLAIN_TEXT, 0, [])
    assert stage.account.delegations[0].stop_reason is StopReason.TOTAL_TIMEOUT
