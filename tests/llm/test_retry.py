"""When to try again, and after how long."""

from __future__ import annotations

import pytest

from yagent.llm.engine import ContextTooLong, ModelConfigurationError, ModelError, ModelGaveUp, RateLimited, TransientModelError
from yagent.llm.retry import RetrySettings, Verdict, judge


def judged(error: ModelError, failures: int = 1, *, remaining: float | None = None, chance: float = 0.0) -> Verdict:
    """The verdict with the usual settings."""
    return judge(error, failures=failures, remaining=remaining, settings=RetrySettings(), random=lambda: chance)


@pytest.mark.parametrize("error", [ContextTooLong("x"), ModelConfigurationError("x"), ModelGaveUp("x"), ModelError("x")])
def test_what_cannot_get_better_is_not_tried_again(error: ModelError) -> None:
    assert judged(error) == Verdict(None)


@pytest.mark.parametrize(
    ("error", "delays"),
    [
        (TransientModelError("dropped"), [10, 20, 40, 80, 120]),
        (TransientModelError("500", status=500), [10, 20, 40, 80, 120]),
        (RateLimited("overloaded in a stream"), [10, 20, 40, 80, 120]),
        (RateLimited("429", retry_after=2.0, status=429), [2, 2, 3, 7, 15]),
        (RateLimited("429", retry_after=0.0, status=429), [0, 1, 3, 7, 15]),
        (RateLimited("429", retry_after=60.0, status=429), [60] * 5),
    ],
)
def test_waits_grow_and_a_time_the_server_named_is_never_shortened(error: ModelError, delays: list[float]) -> None:
    assert [judged(error, failures).delay for failures in range(1, 6)] == delays
    assert judged(error, 6).delay is None


def test_chance_only_makes_waits_longer() -> None:
    error = RateLimited("429", retry_after=40.0)
    assert [judged(error, chance=chance).delay for chance in (0.0, 0.5, 1.0)] == [40, 45, 50]


def test_a_wait_beyond_the_limit_or_the_time_left_is_not_begun_and_says_why() -> None:
    assert "7200 s" in judged(RateLimited("429", retry_after=7200.0)).reason
    assert "only 5 s" in judged(TransientModelError("500", status=500), remaining=5.0).reason
    assert judged(TransientModelError("500", status=500), remaining=11.0).delay == 10
