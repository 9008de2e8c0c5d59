"""How two versions of a text differ, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from yagent.records import dataclass
from yagent.workspace.encoding import newline_style

CONTEXT = 3
SHOWN_LINES = 600
SHOWN_WIDTH = 400
_LONGEST = SHOWN_WIDTH + 80
_COMPARED_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff and its count of lines; `text` ends with a remark where it is cut. `whole`: nothing of it is cut, no line either."""

    text: str
    added: int
    removed: int
    whole: bool = True


def difference(before: str, after: str, name: str) -> Difference:
    """What turns `before` into `after`. Line endings are shown (as ␍) only when they are what changed."""
    show_endings = newline_style(before) != newline_style(after) and "\r" in before + after
    old, new = _lines(before, show_endings), _lines(after, show_endings)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first = max(0, start - CONTEXT)
    tail = max(0, end - CONTEXT)
    old_part, new_part = old[first : len(old) - tail], new[first : len(new) - tail]
    if len(old_part) + len(new_part) > _COMPARED_LINES:
        return _coarse(old[start : len(old) - end], new[start : len(new) - end], name, start)
    return _rendered(old_part, new_part, name, first)


def _rendered(old: list[str], new: list[str], name: str, offset: int) -> Difference:
    shown = [f"--- a/{name}", f"+++ b/{name}"]
    added = removed = left_out = 0
    whole = True
    for line in _unified(old, new, offset):
        added += line[0] == "+"
        removed += line[0] == "-"
        if len(shown) < SHOWN_LINES:
            shown.append(_clip(line))
            whole &= len(line) <= _LONGEST
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


def _coarse(old: list[str], new: list[str], name: str, offset: int) -> Difference:
    """Too many lines to compare one by one: all of the changed stretch counts as replaced."""
    half = SHOWN_LINES // 2
    shown = [f"--- a/{name}", f"+++ b/{name}", f"@@ -{_range(offset, offset + len(old))} +{_range(offset, offset + len(new))} @@"]
    shown += [_clip("-" + line) for line in old[:half]] + [_clip("+" + line) for line in new[:half]]
    left_out = max(0, len(old) - half) + max(0, len(new) - half)
    shown.append(f"… {left_out} more lines of this diff are left out")
    return Difference("\n".join(shown), len(new), len(old), whole=False)


def _lines(text: str, show_endings: bool) -> list[str]:
    """Lines for comparing; a missing final line ending is part of the last line, as it is part of the file."""
    if "\r" in text and not show_endings:
        text = text.replace("\r\n", "\n").replace("\r", "\n") if "\n" not in text.replace("\r\n", "") else text.replace("\r\n", "\n")
    lines = text.replace("\r", "␍").split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _clip(line: str) -> str:
    shown = line if len(line) <= _LONGEST else f"{line[:SHOWN_WIDTH]} … [{len(line) - 1} characters]"
    return shown if shown.isascii() else shown.encode("utf-8", "replace").decode()


def _common(old: list[str], new: list[str]) -> int:
    count = 0
    for left, right in zip(old, new, strict=False):
        if left != right:
            break
        count += 1
    return count
