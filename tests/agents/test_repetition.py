"""Circles, by the numbers."""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from yagent.agents.loop.repetition import END, Repetition, reminder
from yagent.protocol.messages import ToolCall
from yagent.tools.spec import Output


def step(repetition: Repetition, *steps: tuple[str, str, str]) -> int:
    calls = [ToolCall(f"c{number}", name, arguments) for number, (name, arguments, _) in enumerate(steps)]
    return repetition.observe(calls, [Output(text) for _, _, text in steps])


def counts(*texts: str) -> list[int]:
    repetition = Repetition()
    return [step(repetition, (name, "{}", "same")) for name in texts]


def test_a_step_alone_is_counted_while_it_repeats() -> None:
    assert counts(*"aaab") == [1, 2, 3, 1]
    assert counts(*"a" * 14)[-3:] == [12, 13, 14]


def test_two_steps_in_turn_are_counted_by_rounds() -> None:
    assert counts(*"abababab") == [1, 1, 2, 2, 3, 3, 4, 4]
    assert counts(*islice(cycle("ab"), 24))[-1] == END


def test_work_that_moves_on_is_no_circle() -> None:
    assert max(counts(*"abcabcabcabc")) == 1
    assert counts(*"aabbaabb") == [1, 2, 1, 2, 1, 2, 1, 2]


def test_a_result_that_changes_breaks_the_circle() -> None:
    repetition = Repetition()
    assert [step(repetition, ("poll", "{}", f"{number} %")) for number in range(5)] == [1] * 5


def test_the_spelling_of_arguments_does_not_matter_and_their_values_do() -> None:
    repetition = Repetition()
    assert step(repetition, ("read", '{"a": 1, "b": 2}', "x")) == 1
    assert step(repetition, ("read", '{"b":2,"a":1}', "x")) == 2
    assert step(repetition, ("read", '{"b":2,"a":2}', "x")) == 1


@pytest.mark.parametrize("arguments", ["{", "[" * 100_000, '"\ud800"', ""])
def test_arguments_of_any_kind_are_compared(arguments: str) -> None:
    repetition = Repetition()
    assert [step(repetition, ("read", arguments, "\udcff")) for _ in range(2)] == [1, 2]


def test_a_batch_is_one_step() -> None:
    repetition = Repetition()
    both = (("a", "{}", "x"), ("b", "{}", "y"))
    assert [step(repetition, *both), step(repetition, *both), step(repetition, both[0])] == [1, 2, 1]


def test_there_are_three_remarks_before_the_end() -> None:
    assert [count for count in range(END + 3) if reminder(count)] == [3, 5, 8]
