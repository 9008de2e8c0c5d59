"""A sample of the crash matrix; `scripts/crash_matrix` makes all of it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.crash import matrix, troubles
from tests.crash.cuts import Cut, boundaries
from tests.crash.matrix import Trial, Undisturbed, undisturbed

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("crash")]

# what is tried, and how many of it
SAMPLE: Mapping[str, tuple[int, Callable[[Undisturbed], Sequence[Trial]]]] = {
    "a record": (8, matrix.at_every_record),
    "a byte": (6, partial(matrix.inside_records, count=6)),
    "the disk as it lay": (2, matrix.as_files_lay),
    "a failing disk": (2, matrix.failing_disks),
    "a clock": (3, partial(matrix.odd_clocks, count=1)),
    "new words": (1, matrix.new_words),
    "two at once": (1, partial(matrix.at_once, count=1)),
    "kill after kill": (1, matrix.kill_after_kill),
    "a nested delegation": (1, matrix.kill_in_a_resumed_delegation),
}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are found below /proc")
PARTS = [
    pytest.param(what, number, marks=[LINUX] if what in ("a failing disk", "a clock") else [])
    for what, (count, _) in SAMPLE.items()
    for number in range(count)
]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Undisturbed]:
    """A run to which nothing happened, in two dialects."""
    return {dialect: undisturbed(tmp_path_factory.mktemp(dialect), dialect) for dialect in ("openai", "anthropic")}


@pytest.mark.parametrize(("what", "number"), PARTS)
def test_a_killed_task_goes_on_to_the_same_end(bases: Mapping[str, Undisturbed], what: str, number: int) -> None:
    count, group = SAMPLE[what]
    trials = group(bases["anthropic" if number % 3 == 2 else "openai"])
    trial = trials[(2 * number + 1) * len(trials) // (2 * count)]  # spread over all of them
    verdict = trial.verdict()
    assert verdict.faults == [], verdict
    assert verdict.reached


@pytest.mark.parametrize("seed", [0, 4])
def test_a_killed_process_goes_on_by_its_own_command(bases: Mapping[str, Undisturbed], tmp_path: Path, seed: int) -> None:
    (trial,) = matrix.real_kills(bases["openai"], tmp_path, [seed])
    verdict = trial.verdict()
    assert verdict.faults == [], verdict
    assert verdict.reached


def test_a_session_of_which_nothing_is_recorded_is_not_gone_on_with(bases: Mapping[str, Undisturbed]) -> None:
    base = bases["openai"]
    first = base.run.stream[0]
    for data in (b"", first.data[:40]):
        verdict = base.trial(Cut("", "", {first.file: data}, base.run.moments[0].tree, torn=1)).verdict()
        assert verdict.faults == [], verdict
        assert "on the record, not even its task" in verdict.anew


def test_a_file_that_was_half_written_is_cleared_away_before_anybody_commits_it(bases: Mapping[str, Undisturbed], tmp_path: Path) -> None:
    base = bases["openai"]
    edit = next(line for line in base.run.stream if "search_replace_in_file" in line.payload["payload"].get("data", {}).get("tools", ()))
    cut = next(cut for cut in boundaries(base.run) if cut.name.startswith(f"after record {edit.ordinal} "))
    tree = shutil.copytree(cut.tree, tmp_path / "tree", symlinks=True)
    (tree / "parts" / f".yagent-{os.getpid()}-{'0' * 16}.tmp").write_text("base: neue W")
    verdict = base.trial(replace(cut, tree=tree)).verdict()
    assert (verdict.faults, verdict.told) == ([], 2)


def test_new_words_come_with_what_is_not_known_of_a_delegation(bases: Mapping[str, Undisturbed]) -> None:
    base = bases["openai"]
    step = next(line for line in base.run.stream if line.payload["payload"].get("data", {}).get("tools", []) == ["run_bash"] * 2)
    cut = next(cut for cut in boundaries(base.run) if cut.name.startswith(f"after record {step.ordinal} "))
    trial = Trial("", "", partial(troubles.with_new_words, base.stage, base.expected, cut, base.run.session))
    verdict = trial.verdict()
    assert (verdict.faults, verdict.told) == ([], 1)


def test_the_sample_is_a_part_of_the_matrix_that_fits_into_the_gate() -> None:
    assert sum(count for count, _ in SAMPLE.values()) == 25
