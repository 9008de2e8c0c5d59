"""What to say when a search text is not in a file: the place that comes nearest, and how it differs."""

from __future__ import annotations

import difflib
from collections import Counter

from yagent.workspace.matching import Text

_SHOWN_LINES = 30
_SHOWN_WIDTH = 200
_COMPARED_LINES = 5000
_RARE = 50


def nearest(text: Text, search: str, replace: str, name: str) -> str:
    """The message for a search text that was not found in the file `name`."""
    wanted = search.replace("\r\n", "\n").strip("\n").split("\n")
    lines = text.plain.split("\n")
    if lines[-1] == "":
        lines.pop()  # a final line ending begins no further line
    parts = [f"the search text was not found in {name} ({len(lines)} lines)"]
    already = text.plain.count(replace.replace("\r\n", "\n")) if len(replace) > 3 else 0
    if already == 1:
        line = text.plain.count("\n", 0, text.plain.find(replace.replace("\r\n", "\n"))) + 1
        parts.append(f"the replacement text is there already (line {line}): the change may have been made before")
    start = _best_start(wanted, lines)
    if start is None:
        return "; ".join([*parts, "nothing in it resembles that text: read the file again"])
    end = min(len(lines), start + len(wanted))
    shown = _compared(wanted, lines[start:end])
    return "; ".join([*parts, f"nearest are lines {start + 1} to {end} ('-' searched, '+' in the file):"]) + "\n" + shown


def _compared(wanted: list[str], present: list[str]) -> str:
    shown = [line for line in difflib.ndiff(wanted[:_SHOWN_LINES], present[:_SHOWN_LINES]) if not line.startswith("?")]
    cut = [line if len(line) <= _SHOWN_WIDTH else line[:_SHOWN_WIDTH] + " …" for line in shown]
    if len(wanted) > _SHOWN_LINES:
        cut.append("…")
    text = "\n".join(cut)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _best_start(wanted: list[str], lines: list[str]) -> int | None:
    """The first line of the stretch that has most lines of the search text in their places, whitespace aside."""
    positions: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        positions.setdefault(line.strip(), []).append(index)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        found = positions.get(line.strip(), []) if line.strip() else []
        if len(found) <= _RARE:
            votes.update({index - offset: len(line.strip()) + 1 for index in found if index >= offset})
    if votes:
        return max(votes.items(), key=lambda vote: (vote[1], -vote[0]))[0]
    return _most_similar(wanted, lines)


def _most_similar(wanted: list[str], lines: list[str]) -> int | None:
    offset, line = max(enumerate(wanted), key=lambda pair: len(pair[1].strip()))
    best, best_ratio = None, 0.6
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(line.strip()[:_SHOWN_WIDTH])
    for index, candidate in enumerate(lines[:_COMPARED_LINES]):
        matcher.set_seq1(candidate.strip()[:_SHOWN_WIDTH])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio and matcher.ratio() > best_ratio:
            best, best_ratio = index, matcher.ratio()
    return None if best is None else max(0, best - offset)
