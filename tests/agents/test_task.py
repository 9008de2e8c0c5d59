"""The account of a task: tokens, cost, what is unknown, and its limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.conftest import StageMaker
from tests.agents.stage import Rules
from tests.support.model_server import ModelServer, Reply, call
from yagent.agents.loop.stop import LimitReached
from yagent.agents.loop.task import TaskAccount, TaskLimits, price
from yagent.protocol.events import LlmCallEnd
from yagent.protocol.messages import ModelIdentity, Usage
from yagent.protocol.stop import StopReason

PRICES = {"input": 1.0, "output": 10.0, "cached": 0.1, "cache_written": 1.25}


def identity(prices: dict[str, float] | None) -> ModelIdentity:
    return ModelIdentity("p", "m", "openai", prices=prices)


@pytest.mark.parametrize(
    ("usage", "prices", "micro_dollars"),
    [
        (Usage(1000, 100), PRICES, 2000.0),
        (Usage(1000, 100, cached=0, cache_written=0), PRICES, 2000.0),
        (Usage(1000, 100, cached=600), PRICES, 400 + 60 + 1000.0),
        (Usage(1000, 100, cached=600, cache_written=200), PRICES, 200 + 60 + 250 + 1000.0),
        (Usage(1000, 100, cached=600), {"input": 1.0, "output": 10.0}, 2000.0),
        (Usage(1000, 100, reasoning=90), PRICES, 2000.0),
        (Usage(1000, 0), PRICES, 1000.0),
        (Usage(0, 0), PRICES, 0.0),
        (Usage(100, 0, cached=600), PRICES, 60.0),
        (Usage(1000, 100), {"input": 0.0, "output": 0.0}, 0.0),
        (None, PRICES, None),
        (Usage(), PRICES, None),
        (Usage(None, 100), PRICES, None),
        (Usage(1000, None), PRICES, None),
        (Usage(1000, 100), None, None),
        (Usage(1000, 100), {}, None),
        (Usage(1000, 100), {"input": 1.0}, None),
    ],
)
def test_each_token_is_paid_once_at_its_own_price_and_unknown_is_unknown(
    usage: Usage | None, prices: dict[str, float] | None, micro_dollars: float | None
) -> None:
    cost = price(identity(prices), usage)
    assert cost == (None if micro_dollars is None else pytest.approx(micro_dollars / 1_000_000))


def test_totals_add_up_and_what_nobody_reported_stays_unknown() -> None:
    account = TaskAccount(TaskLimits())
    assert account.charge(identity(PRICES), None) is None
    assert (account.usage, account.cost, account.cost_unknown, account.model_calls) == (None, None, 1, 1)
    account.charge(identity(PRICES), Usage(10, 1, cached=0))
    account.charge(identity(PRICES), Usage(10, None))
    assert account.usage == Usage(20, 1, cached=0)
    assert account.usage.reasoning is None
    assert account.cost == pytest.approx(0.00002)
    assert (account.cost_unknown, account.model_calls) == (2, 3)


def test_a_warning_is_kept_once() -> None:
    heard: list[str] = []
    account = TaskAccount(TaskLimits(), told=heard.append)
    for text in ("a", "b", "a"):
        account.warn(text)
    assert account.warnings == heard == ["a", "b"]


async def test_the_cost_limit_ends_a_task_before_the_next_call(make_stage: StageMaker, model_server: ModelServer) -> None:
    dear: dict[str, Any] = {"usage": Usage(1_000_000, 100_000)}  # two dollars a call
    model_server.play({"Director": [Reply(text="I look.", calls=call("list_dir", path=".").calls, **dear)] * 5})
    stage = make_stage(Rules(max_cost=3.0))
    result = await stage.run()
    assert (result.stop_reason, result.exit_code, result.deliverable) == (StopReason.COST_LIMIT, 3, "I look.")
    assert "Raise --max-cost" in str(result.error)
    assert len(model_server.views) == 2
    assert stage.account.cost == pytest.approx(4.0)


async def test_what_delegations_cost_counts_too(make_stage: StageMaker, model_server: ModelServer) -> None:
    dear: dict[str, Any] = {"usage": Usage(1_000_000, 100_000)}
    model_server.play({"Director": [call("delegate_chat", task="a poem"), "never"], "You are Chat,": [Reply(text="A poem.", **dear)]})
    result = await make_stage(Rules(max_cost=1.0)).run()
    assert result.stop_reason is StopReason.COST_LIMIT


async def test_a_limit_that_cannot_be_watched_is_said_so(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="42", usage=None)]})
    stage = make_stage(Rules(max_cost=1.0))
    assert (await stage.run()).deliverable == "42"
    assert stage.account.warnings == ["What a call of played-model cost is not known, so the cost limit of $1 cannot be watched reliably."]


async def test_what_was_not_reported_is_told_as_unknown(make_stage: StageMaker, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply(text="42", usage=None)]})
    stage = make_stage()
    await stage.run()
    (end,) = stage.published(LlmCallEnd)
    assert (end.usage, end.cost, end.error) == (None, None, None)
    assert (stage.account.usage, stage.account.cost, stage.account.warnings) == (None, None, [])


def test_a_call_that_broke_off_counts_as_what_is_known_of_it_or_as_what_is_expected() -> None:
    account = TaskAccount(TaskLimits(1.0))
    account.charge(identity(PRICES), Usage(100_000, 0))
    account.charge_lost(identity(PRICES), None, 40)
    assert (account.lost, account.cost_unknown) == (1, 1)
    assert account.owed == pytest.approx(0.1)
    account.charge_lost(identity(PRICES), Usage(300_000, None), 40)
    assert account.owed == pytest.approx(0.4)
    assert account.usage == Usage(400_000, 0)
    assert account.told_cost() is None
    (warning,) = account.warnings
    assert "2 replies broke off" in warning
    assert "at least $0.40" in warning


def test_a_call_that_broke_off_first_counts_by_the_size_of_its_request() -> None:
    account = TaskAccount(TaskLimits(1.0))
    account.charge_lost(identity(PRICES), None, 400_000)
    assert account.cost is None
    assert account.owed == pytest.approx(0.1)
    account.charge_lost(identity(None), None, 400_000)
    assert account.owed == pytest.approx(0.2)
    for _ in range(7):
        account.demand_room(account, is_last=False)
        account.charge_lost(identity(PRICES), None, 400_000)
    with pytest.raises(LimitReached, match=r"leaves no room.*about"):
        account.demand_room(account, is_last=False)


def test_what_broke_off_of_a_model_without_a_price_is_no_news() -> None:
    account = TaskAccount(TaskLimits())
    account.charge_lost(identity(None), Usage(10, None), 40)
    assert (account.told_cost(), account.warnings) == (None, [])
