"""What the bench of the context reports is what the requests were."""

from pathlib import Path

import pytest

from scripts.bench.context import Step, Watch, rows, run
from scripts.bench.report import PAGE
from yagent.workspace.difference import common_start


@pytest.mark.parametrize(
    ("before", "after", "length"), [(b"", b"abc", 0), (b"abc", b"abcd", 3), (b"abXd", b"abYd", 2), (b"abcd", b"ab", 2)]
)
def test_what_two_requests_share_is_told_to_the_byte(before: bytes, after: bytes, length: int) -> None:
    assert common_start(before, after) == length


def test_kept_leaves_out_new_epochs_and_reused_does_not() -> None:
    steps = [Step(100), Step(120, 100), Step(50, 20, tiers=["rule"]), Step(80, 50), Step()]
    watch = Watch(4, seen=steps)
    assert watch.kept == 1
    assert watch.reused == pytest.approx(170 / 350)
    assert watch.tiers == {"rule": 1, "emergency": 0, "ultimate": 0}
    steps[3].shared = 40
    assert watch.kept == pytest.approx(0.8)


@pytest.mark.real_time
async def test_a_small_session_is_measured_as_a_large_one_is(tmp_path: Path) -> None:
    watch = Watch(8)
    await run(tmp_path, 16_000, watch)
    assert len(watch.requests) == 9
    assert watch.tiers["rule"] >= 1
    assert watch.kept == 1
    assert all(step.counting > 0 for step in watch.requests[:-1] if not step.tiers)
    assert "rule in step" in rows(watch, 4)


def test_the_page_has_the_tables() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- context: begin -->")[2].partition("<!-- context: end -->")[0]
    assert "reused over the session" in text
    assert "**no**" not in text
