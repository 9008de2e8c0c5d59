"""A few runs as real processes; `scripts/chaos --processes --runs 20` makes more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.process import run, weather


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.parametrize("seed", [0, 2, 5, 9])
async def test_a_process_over_a_bad_line_ends_right_or_honestly_and_leaves_nothing_running(tmp_path: Path, seed: int) -> None:
    verdict = await run(seed, tmp_path / "run")
    assert verdict.faults == (), verdict
    if weather(seed).lasting is None:
        assert verdict.exit_code == 0
