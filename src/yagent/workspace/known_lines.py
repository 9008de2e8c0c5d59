"""Which lines of a file somebody has seen, and which they still know after the file changed.

Lines are 1-based; ranges of them are inclusive, ascending and apart.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from yagent.workspace.encoding import Document, newline_style, split_lines

Ranges: TypeAlias = tuple[tuple[int, int], ...]

TRACKED_LINES = 200_000
"""Of a partly known file with more lines, none counts as known after a change: keeping track would take more memory than it is worth."""

_COMPARED_LINES = 20_000


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges in order, those that touch made one; empty ones dropped."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(each for each in ranges if each[0] <= each[1]):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def missing(ranges: Ranges, total: int) -> Ranges:
    """What of lines 1 to `total` is in no range."""
    edges = [0, *(edge for each in ranges for edge in each), total + 1]
    return tuple((before + 1, min(after - 1, total)) for before, after in zip(edges[::2], edges[1::2], strict=True) if before + 1 < after)


def count(ranges: Ranges) -> int:
    """How many lines these are."""
    return sum(last - first + 1 for first, last in ranges)


def lines_of(content: bytes) -> list[str] | None:
    """The lines of a file as reading numbers them; None when it is not text."""
    document = Document.of(content)
    return None if document is None else split_lines(document.text, newline_style(document.text))


def count_lines(content: bytes) -> int:
    """How many `lines_of` would give, without making them; 0 when it is not text."""
    document = Document.of(content)
    if document is None or not document.text:
        return 0
    end = "\r" if newline_style(document.text) == "cr" else "\n"
    return document.text.count(end) + (not document.text.endswith(end))


def carried(ranges: Ranges, before: Sequence[str], after: Sequence[str]) -> Ranges:
    """The known lines of a file after a change all of whose new lines were seen (or written) by the one who knows it."""
    if not missing(ranges, len(before)):
        return joined([(1, len(after))])
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    codes: Sequence[tuple[str, int, int, int, int]] = ()  # so many lines are not compared one by one: none of them counts as known
    if len(old) + len(new) <= _COMPARED_LINES:
        codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    same = [(0, start, 0), *((start + i1, start + i2, start + j1) for kind, i1, i2, j1, _ in codes if kind == "equal")]
    same.append((len(before) - end, len(before), len(after) - end))
    kept = [
        (max(first, i1 + 1) - i1 + j1, min(last, i2) - i1 + j1)
        for i1, i2, j1 in same
        for first, last in ranges
        if first <= i2 and last > i1
    ]
    fresh = [(start + j1 + 1, start + j2) for kind, _, _, j1, j2 in codes if kind != "equal"]
    return joined([*kept, *fresh])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
