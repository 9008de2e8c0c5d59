"""Edits as models really send them: clear ones succeed, unclear ones are refused, none goes wrong."""

from __future__ import annotations

from tests.workspace.model_edits import CLEAR, UNCLEAR, outcome, samples


def test_the_set_is_what_it_is_said_to_be() -> None:
    assert sum(count for count, _ in CLEAR.values()) == 180
    assert sum(count for count, _ in UNCLEAR.values()) == 20 + 15
    assert list(samples()) == list(samples())


def test_clear_edits_succeed_and_unclear_ones_are_refused() -> None:
    results = [(sample, outcome(sample)) for sample in samples()]
    clear = [(sample, result) for sample, result in results if sample.meant is not None]
    wrong = [(sample.kind, sample.edit, result) for sample, result in clear if result not in (None, sample.meant)]
    assert wrong == []
    assert sum(result == sample.meant for sample, result in clear) >= 171
    assert [(sample.kind, sample.edit) for sample, result in results if sample.meant is None and result is not None] == []
