"""By how much a place of the file is indented otherwise than the search text, and whether the replacement goes with it.

A shift is `+` and what each line of the file has more in front, or `-` and what each has less; "+" or "-" alone are none.
"""

from __future__ import annotations


def indent_of(line: str) -> str:
    """The spaces and tabs in front."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def common_shift(wanted: list[str], present: list[str]) -> str | None:
    """The shift from wanted to present lines; None when they do not differ by one shift alone."""
    shift: str | None = None
    for left, right in zip(wanted, present, strict=True):
        if left.strip(" \t") != right.strip(" \t"):
            return None
        if not left.strip(" \t"):
            continue
        asked, there = indent_of(left), indent_of(right)
        if there.endswith(asked):
            this = "+" + there[: len(there) - len(asked)]
        elif asked.endswith(there):
            this = "-" + asked[: len(asked) - len(there)]
        else:
            return None
        if shift not in (None, this) and not len(this) == len(shift or "") == 1:
            return None
        shift = this
    return shift


def shifted(line: str, shift: str) -> str:
    """The line with the shift applied; blank lines stay. Raises ValueError when it has too little to lose."""
    if not shift[1:] or not line.strip():
        return line
    if shift[0] == "+":
        return shift[1:] + line
    if not line.startswith(shift[1:]):
        raise ValueError(line)
    return line[len(shift) - 1 :]


def goes_along(search: list[str], replace: list[str], shift: str) -> bool | None:
    """Whether the replacement is indented like the search text, so that the shift is meant for it, too (True), or like the file already
    (False). None when it can be read in no way, or in both.

    Indented alike are texts whose first lines are, or whose least indented lines are; blank lines aside.
    """
    asked, written = _inked(search), _inked(replace)
    if not written:
        return False
    like_search = _alike(written, asked)
    like_file = _alike(written, [shifted(line, shift) for line in asked])
    return None if like_search == like_file else like_search


def distance(shift: str) -> str:
    """How far, in words: "4 columns", "1 tab"."""
    size = len(shift) - 1
    unit = "tab" if set(shift[1:]) == {"\t"} else "column" if set(shift[1:]) == {" "} else "blank"
    return f"{size} {unit}{'' if size == 1 else 's'}"


def _inked(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def _alike(one: list[str], other: list[str]) -> bool:
    return indent_of(one[0]) == indent_of(other[0]) or _least(one) == _least(other)


def _least(lines: list[str]) -> str:
    return min(map(indent_of, lines), key=len)
