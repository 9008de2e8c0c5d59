"""How two versions of a text differ, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import AnyStr

from yagent.records import dataclass
from yagent.workspace.encoding import newline_style

CONTEXT = 3
SHOWN_LINES = 600
SHOWN_WIDTH = 400
_SLACK = 80
_COMPARED_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff and its count of lines; `text` ends with a remark where it is cut. `whole`: nothing of it is cut, no line either."""

    text: str
    added: int
    removed: int
    whole: bool = True


def difference(before: str, after: str, name: str, *, width: int = SHOWN_WIDTH) -> Difference:
    """What turns `before` into `after`; lines longer than `width` are cut, and say so.

    Line endings are shown (as ␍) only when they are what changed.
    """
    show_endings = newline_style(before) != newline_style(after) and "\r" in before + after
    old, new = _comparable(before, show_endings), _comparable(after, show_endings)
    # What is common is never cut into lines: of a large file only the changed stretch is.
    start = old.rfind("\n", 0, common_start(old, new)) + 1
    tail = _common_lines_at_end(old[start:], new[start:])
    old_middle, new_middle = old[start : len(old) - tail], new[start : len(new) - tail]
    line = old.count("\n", 0, start)
    if old_middle.count("\n") + new_middle.count("\n") > _COMPARED_LINES:
        return _coarse(old_middle, new_middle, name, line, width=width)
    before_it, behind_it = _last_lines(old[:start]), _first_lines(old[len(old) - tail :])
    old_part, new_part = (_lines(before_it + middle + behind_it) for middle in (old_middle, new_middle))
    return _rendered(old_part, new_part, name, max(0, line - CONTEXT), width=width)


def _rendered(old: list[str], new: list[str], name: str, offset: int, *, width: int) -> Difference:
    shown = [f"--- a/{name}", f"+++ b/{name}"]
    added = removed = left_out = 0
    whole = True
    for line in _unified(old, new, offset):
        added += line[0] == "+"
        removed += line[0] == "-"
        if len(shown) < SHOWN_LINES:
            shown.append(_clip(line, width))
            whole &= len(line) <= width + _SLACK
        else:
            left_out += 1
    if left_out:
        shown.append(f"… {left_out} more lines of this diff are left out")
    text = "\n".join(shown) if added or removed else ""
    return Difference(text, added, removed, whole and not left_out)


def _unified(old: list[str], new: list[str], offset: int) -> Iterator[str]:
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old_start + offset, old_end + offset)} +{_range(new_start + offset, new_end + offset)} @@"
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                yield from (" " + line for line in old[i1:i2])
            else:
                yield from ("-" + line for line in old[i1:i2])
                yield from ("+" + line for line in new[j1:j2])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}" if length != 1 else f"{start + 1}"


def _coarse(old: str, new: str, name: str, offset: int, *, width: int) -> Difference:
    """Too many lines to compare one by one: all of the changed stretch counts as replaced."""
    half = SHOWN_LINES // 2
    removed, added = _count(old), _count(new)
    shown = [f"--- a/{name}", f"+++ b/{name}", f"@@ -{_range(offset, offset + removed)} +{_range(offset, offset + added)} @@"]
    for sign, text in (("-", old), ("+", new)):
        shown += [_clip(sign + line, width) for line in _lines(_first_lines(text, half))]
    left_out = max(0, removed - half) + max(0, added - half)
    shown.append(f"… {left_out} more lines of this diff are left out")
    return Difference("\n".join(shown), added, removed, whole=False)


def _comparable(text: str, show_endings: bool) -> str:
    """The text with line feeds only; other line endings are gone or visible."""
    if "\r" in text and not show_endings:
        text = text.replace("\r\n", "\n").replace("\r", "\n") if "\n" not in text.replace("\r\n", "") else text.replace("\r\n", "\n")
    return text.replace("\r", "␍")


def _lines(text: str) -> list[str]:
    """Lines for comparing; a missing final line ending is part of the last line, as it is part of the file."""
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _count(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _first_lines(text: str, count: int = CONTEXT) -> str:
    end = 0
    for _ in range(count):
        end = text.find("\n", end) + 1
        if not end:
            return text
    return text[:end]


def _last_lines(text: str, count: int = CONTEXT) -> str:
    """Of text that is empty or ends with a line feed."""
    start = len(text)
    for _ in range(count):
        start = text.rfind("\n", 0, max(0, start - 1)) + 1
    return text[start:]


def _clip(line: str, width: int) -> str:
    shown = line if len(line) <= width + _SLACK else f"{line[:width]} … [{len(line) - 1} characters]"
    return shown if shown.isascii() else shown.encode("utf-8", "replace").decode()


def common_start(one: AnyStr, other: AnyStr) -> int:
    """How many characters, or bytes, both begin with. Halving: they are compared by the million, not one by one."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_lines_at_end(one: str, other: str) -> int:
    """How many characters at the end of both are whole lines that both have; both begin with a line."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    starts_line = all(low == len(text) or text[len(text) - low - 1] == "\n" for text in (one, other))
    if low == 0 or starts_line:
        return low
    feed = one.find("\n", len(one) - low)
    return 0 if feed < 0 else len(one) - feed - 1
