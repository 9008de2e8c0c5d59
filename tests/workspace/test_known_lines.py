"""Which lines are known, and stay known."""

from __future__ import annotations

import difflib
import itertools

from hypothesis import given
from hypothesis import strategies as st

from yagent.workspace.known_lines import Ranges, carried, count, joined, lines_of, missing

RANGES = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12))).map(joined)


def members(ranges: Ranges) -> set[int]:
    return {line for first, last in ranges for line in range(first, last + 1)}


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_joined_ranges_hold_the_same_lines_in_order_and_apart(ranges: list[tuple[int, int]]) -> None:
    result = joined(ranges)
    assert members(result) == members(tuple(ranges))
    assert all(one[1] + 1 < other[0] for one, other in itertools.pairwise(result))


@given(RANGES, st.integers(0, 12))
def test_what_is_missing_is_the_rest(ranges: Ranges, total: int) -> None:
    assert members(missing(ranges, total)) == set(range(1, total + 1)) - members(ranges)
    assert count(ranges) == len(members(ranges))


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefghxy"), unique=True), RANGES)
def test_a_line_is_known_afterwards_when_it_is_new_or_was_known_and_never_otherwise(
    before: list[str], after: list[str], ranges: Ranges
) -> None:
    known = {after[line - 1] for line in members(carried(ranges, before, after))}
    was_known = {before[line - 1] for line in members(ranges) if line <= len(before)}
    assert set(after) - set(before) <= known
    if before == after:
        assert known == was_known
    moved = set(difflib.ndiff(before, after))  # a line taken away here and put there counts as new
    assert {line for line in known if f"  {line}" in moved} <= was_known


def test_known_lines_move_with_what_was_put_in_front_of_them() -> None:
    assert carried(((2, 2),), ["a", "b", "c"], ["x", "a", "b", "c"]) == ((1, 1), (3, 3))
    assert carried(((1, 1), (3, 3)), ["a", "b", "c"], ["a", "c"]) == ((1, 2),)
    assert carried((), ["a", "b", "c"], ["a", "B", "c"]) == ((2, 2),)
    assert carried(((1, 3),), ["a", "b", "c"], ["a", "c", "d"]) == ((1, 3),)


def test_lines_are_counted_as_reading_counts_them() -> None:
    assert lines_of(b"a\r\nb") == ["a", "b"]
    assert lines_of(b"a\rb\r") == ["a", "b"]
    assert lines_of(b"") == []
    assert lines_of(b"a\0b") is None
