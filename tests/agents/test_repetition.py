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


def test_three_and_four_steps_in_turn_are_circles_too() -> None:
    assert counts(*islice(cycle("abc"), 9)) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert counts(*islice(cycle("abcd"), 12))[-1] == 3
    assert counts(*islice(cycle("abcde"), 50))[-1] == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2 failed in 0.03s", "2 failed in 1.25s"),
        ("[exit code 1; 0.3 s in /work]", "[exit code 1; 0.4 s in /work]"),
    ],
)
def test_how_long_it_took_is_no_difference(first: str, second: str) -> None:
    repetition = Repetition()
    assert [step(repetition, ("call", "{}", text)) for text in (first, second)] == [1, 2]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("[{} · ok · agent_exit · 2 steps]", ("repo#{}",)),
        ("[exit code 1; {}]", ("run#{}",)),
        ("1\n… [900 of 999 bytes left out here; the whole output is in {}] …\n9", ("/tmp/x/output/{}.log",)),
        ("[{}: exited with code 1: serve]", ("bg{}",)),
        ("begun\n[read_artifact {}] of {}", ("20260131-235959-0123abc{}", "repo#{}")),
    ],
)
def test_a_name_that_only_this_result_has_is_no_difference(said: str, names: tuple[str, ...]) -> None:
    repetition = Repetition()
    own = [tuple(name.format(number) for name in names) for number in range(END)]
    outputs = [Output(said.format(*each), names=each) for each in own]
    assert [repetition.observe([ToolCall("c", "call", "{}")], [output]) for output in outputs] == list(range(1, END + 1))


def test_a_longer_word_that_begins_with_a_name_is_a_difference() -> None:
    repetition = Repetition()
    outputs = [Output(f"[bg1: running] bg1{number} is up", names=("bg1",)) for number in range(2)]
    assert [repetition.observe([ToolCall("c", "call", "{}")], [output]) for output in outputs] == [1, 1]


@pytest.mark.parametrize(("first", "second"), [("12 s to go", "11 s to go"), ("10.5 % done", "11.5 % done"), ("issue #1", "issue #2")])
def test_what_a_poll_waits_for_is_a_difference(first: str, second: str) -> None:
    repetition = Repetition()
    assert [step(repetition, ("call", "{}", text)) for text in (first, second)] == [1, 1]


def test_work_that_moves_on_is_no_circle() -> None:
    assert max(counts(*"abcdeabcdeabcde")) == 1
    assert counts(*"aabbccdd") == [1, 2, 1, 2, 1, 2, 1, 2]


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
