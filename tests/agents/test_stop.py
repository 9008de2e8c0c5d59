"""The one stop classifier, and what an end looks like from outside."""

from __future__ import annotations

import asyncio

import pytest

from yagent.agents.loop.result import RunResult
from yagent.agents.loop.stop import LimitReached, Panic, classify
from yagent.errors import YagentError
from yagent.llm.engine import ContextTooLong, ModelConfigurationError, ModelError, ModelGaveUp, RateLimited, TransientModelError
from yagent.protocol.handoff import Handoff
from yagent.protocol.stop import EXIT_CODES, StopReason
from yagent.rollout.writer import RolloutError
from yagent.runtime.activity import IdleTimeoutError, TaskTimeoutError, TotalTimeoutError
from yagent.runtime.gate import AbandonedError, is_cancellation

ENDED_BY: dict[StopReason, BaseException] = {
    StopReason.PAUSED: AbandonedError("x"),
    StopReason.CANCELLED: asyncio.CancelledError(),
    StopReason.IDLE_TIMEOUT: IdleTimeoutError("x", 1),
    StopReason.TOTAL_TIMEOUT: TotalTimeoutError("x", 1),
    StopReason.MAX_STEPS: LimitReached(StopReason.MAX_STEPS, "x"),
    StopReason.LLM_ERROR: ModelGaveUp("x"),
    StopReason.CIRCUIT_BREAKER_OPEN: LimitReached(StopReason.CIRCUIT_BREAKER_OPEN, "x"),
    StopReason.PANIC: ZeroDivisionError("x"),
    StopReason.COST_LIMIT: LimitReached(StopReason.COST_LIMIT, "x"),
    StopReason.TIME_LIMIT: LimitReached(StopReason.TIME_LIMIT, "x"),
    StopReason.LOOP_DETECTED: LimitReached(StopReason.LOOP_DETECTED, "x"),
    StopReason.CONTEXT_OVERFLOW: ContextTooLong("x"),
}
NEVER_BY_AN_ERROR = {StopReason.PLAIN_TEXT, StopReason.AGENT_EXIT, StopReason.UNACCOUNTED}


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_value_of_the_vocabulary_has_what_leads_to_it(reason: StopReason) -> None:
    assert (reason in ENDED_BY) != (reason in NEVER_BY_AN_ERROR)
    if reason in ENDED_BY:
        assert classify(ENDED_BY[reason]) is reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModelError("x"), StopReason.LLM_ERROR),
        (TransientModelError("x"), StopReason.LLM_ERROR),
        (RateLimited("x"), StopReason.LLM_ERROR),
        (ModelConfigurationError("x"), StopReason.LLM_ERROR),
        (RolloutError("x"), StopReason.PANIC),
        (Panic("x"), StopReason.PANIC),
        (TimeoutError(), StopReason.PANIC),
        (TaskTimeoutError("x", 1), StopReason.TIME_LIMIT),
        (KeyboardInterrupt(), StopReason.PANIC),
    ],
)
def test_errors_of_one_kind_end_alike(error: BaseException, reason: StopReason) -> None:
    assert classify(error) is reason


def test_giving_up_at_the_gate_is_a_pause_although_it_counts_as_a_cancellation() -> None:
    assert is_cancellation(AbandonedError("x"))
    assert classify(AbandonedError("x")) is StopReason.PAUSED


def handed(status: str) -> Handoff:
    assert status in ("ok", "partial", "error")
    return Handoff("c", status="ok" if status == "ok" else "partial" if status == "partial" else "error")


@pytest.mark.parametrize(
    ("result", "status", "code", "finished"),
    [
        (RunResult(StopReason.PLAIN_TEXT, "x", 1), "ok", 0, True),
        (RunResult(StopReason.PLAIN_TEXT, "x", 1, notes=("cut",)), "partial", 0, True),
        (RunResult(StopReason.AGENT_EXIT, "x", 1, handed("partial")), "partial", 0, True),
        (RunResult(StopReason.AGENT_EXIT, "x", 1, handed("error")), "error", 1, True),
        (RunResult(StopReason.AGENT_EXIT, " \n", 1, handed("ok")), "error", 1, True),
        (RunResult(StopReason.MAX_STEPS, "x", 1), "partial", 3, False),
        (RunResult(StopReason.MAX_STEPS, "", 1), "error", 3, False),
        (RunResult(StopReason.MAX_STEPS, "x", 1, handed("ok")), "partial", 3, False),
        (RunResult(StopReason.LLM_ERROR, "x", 1, error=ModelGaveUp("e")), "error", 1, False),
        (RunResult(StopReason.LLM_ERROR, "x", 1, error=RateLimited("e")), "error", 75, False),
        (RunResult(StopReason.LLM_ERROR, "x", 1, error=ModelConfigurationError("e")), "error", 2, False),
        (RunResult(StopReason.CONTEXT_OVERFLOW, "x", 1, error=ContextTooLong("e")), "error", 3, False),
        (RunResult(StopReason.CANCELLED, "x", 1), "partial", 130, False),
        (RunResult(StopReason.PAUSED, "", 1, error=AbandonedError("e")), "error", 130, False),
        (RunResult(StopReason.PANIC, "x", 1, error=Panic("e")), "error", 1, False),
        (RunResult(StopReason.UNACCOUNTED, "", 1), "error", 1, False),
        (RunResult(StopReason.COST_LIMIT, "x", 1, error=LimitReached(StopReason.COST_LIMIT, "e")), "error", 3, False),
        (RunResult(StopReason.PLAIN_TEXT, "x", 1, error=YagentError("e")), "error", 1, False),
    ],
)
def test_an_end_has_a_status_and_an_exit_code(result: RunResult, status: str, code: int, finished: bool) -> None:
    assert (result.status, result.exit_code, result.is_finished) == (status, code, finished)


def test_every_reason_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(StopReason)
