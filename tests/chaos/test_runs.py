"""Fifty runs of every kind of trouble in every dialect; and that a bad run would be seen."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.job import ANSWER, STATES, damage, lay_out
from tests.chaos.report import faults, table
from tests.chaos.run import Verdict, judged, run, unpaired
from tests.chaos.trouble import DIALECTS, HARMLESS, KINDS, Weather, weather
from tests.support.virtual_time import VirtualClock
from yagent.protocol.messages import Message, ToolCall, ToolResult, result_message, user_message
from yagent.protocol.result import TaskResult
from yagent.protocol.stop import StopReason

# some runs of the first rounds, and one in which the trouble of each kind never ends
SEEDS = [*range(len(KINDS) + 15), *(seed for seed in range(3 * len(KINDS), 4 * len(KINDS)) if weather(seed).lasting is not None)]
LONG = {71}  # every call is cut: some two hundred replies until the Director is ended
GOOD = TaskResult(ANSWER, "ok", StopReason.PLAIN_TEXT, 0, "session")


def test_the_seeds_are_many_and_meet_every_kind_in_passing_and_for_ever() -> None:
    passing = {weather(seed).kind for seed in SEEDS if weather(seed).lasting is None}
    lasting = {weather(seed).kind for seed in SEEDS if weather(seed).lasting is not None}
    assert len(SEEDS) == 50
    assert passing == set(KINDS)
    assert lasting == set(KINDS) - HARMLESS
    assert {(weather(seed).kind, weather(seed).dialect) for seed in range(3 * len(KINDS))} == {
        (kind, dialect) for kind in KINDS for dialect in DIALECTS
    }


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) if seed in LONG else seed for seed in SEEDS])
async def test_a_run_over_a_bad_line_ends_right_or_honestly(tmp_path: Path, clock: VirtualClock, seed: int) -> None:
    verdict = await run(weather(seed), tmp_path / "run", clock)
    assert verdict.faults == (), verdict
    if verdict.weather.kind in HARMLESS and not verdict.weather.met:
        assert verdict.exit_code == 0


async def test_a_run_on_a_clear_day_gives_the_answer_without_a_second_attempt(tmp_path: Path, clock: VirtualClock) -> None:
    clear = Weather(0, "500", "openai", None, None, random.Random(), rate=0.0)
    verdict = await run(clear, tmp_path / "run", clock)
    assert (verdict.outcome, verdict.attempts, verdict.faults) == ("right answer", clear.replies, ())


@pytest.mark.parametrize("name", STATES)
def test_a_file_in_no_whole_state_is_a_fault(tmp_path: Path, name: str) -> None:
    place = tmp_path / "project"
    lay_out(place)
    assert damage(place, complete=False) == []
    assert [fault.split(" ")[0] for fault in damage(place, complete=True)] == list(STATES)
    (place / name).write_text("first\nfirst\n" if name == "effects.log" else "half of it")
    assert [fault.split(" ")[0] for fault in damage(place, complete=False)] == [name]


def test_what_nobody_made_is_a_fault(tmp_path: Path) -> None:
    lay_out(tmp_path / "project")
    (tmp_path / "project/greeting.txt.tmp").write_text("")
    assert damage(tmp_path / "project", complete=False) == ["greeting.txt.tmp was left"]


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (replace(GOOD, answer="The total is 41."), "exit 0 with the answer 'The total is 41.'"),
        (replace(GOOD, exit_code=1, stop_reason=StopReason.PANIC, error="time"), "a defect of ours: time"),
        (replace(GOOD, exit_code=130, error="time"), "exit code 130"),
        (replace(GOOD, exit_code=75, answer="", error="Sorry."), "exit 75 without a cause: 'Sorry.'"),
    ],
)
def test_a_dishonest_end_is_a_fault(tmp_path: Path, result: TaskResult, fault: str) -> None:
    lay_out(tmp_path / "project")
    assert next(judged(result, tmp_path / "project", tmp_path / "home")) == fault


def test_a_call_without_its_one_result_is_a_fault() -> None:
    asked = Message("assistant", (ToolCall("a", "x", "{}"), ToolCall("b", "x", "{}")))
    one, two = ToolResult("a", "x", "done"), ToolResult("b", "x", "done")
    assert list(unpaired([asked, result_message(one, two)])) == []
    assert list(unpaired([asked, result_message(one)])) == ["calls ['a', 'b'] got ['a']"]
    assert list(unpaired([asked, result_message(one, two, two)])) == ["calls ['a', 'b'] got ['a', 'b', 'b']"]
    assert list(unpaired([asked, user_message("go on")])) == ["calls without a result: ['a', 'b']"]
    assert list(unpaired([asked])) == ["calls without a result: ['a', 'b']"]


def test_the_table_counts_each_run_once_and_the_faults_name_their_seed() -> None:
    verdicts = [Verdict(weather(seed), 0 if seed else 75, "", "", 20 + seed, 10.0, ("broke",) if seed == 3 else ()) for seed in range(40)]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(verdicts).splitlines()[2:]]
    assert [line[0] for line in lines][: len(KINDS)] == list(KINDS)
    assert lines[0][1:] == ["3", "2", "75: 1", "39 (58)", "10 (10)", "0"]
    assert sum(int(line[1]) for line in lines[: len(KINDS)]) == 40
    assert faults(verdicts) == [f"seed 3 ({weather(3).kind}, {weather(3).dialect}): broke"]
