"""A TOML text as the lines it is made of, so that an error can name a line and an edit can change one.

`tomllib` gives values without places and `tomlkit` moves what it touches. Here a text is cut into expressions (a table header, or a
key with its value), each with its lines; what a value is stays tomllib's business.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from yagent.records import dataclass

_NAME: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_DOTTED: Final = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*"
_ASSIGNMENT: Final = rf"[ \t]*({_DOTTED})[ \t]*="
_HEADER: Final = rf"[ \t]*(\[\[?)[ \t]*({_DOTTED})[ \t]*\]"
_LINE: Final = r"[^\n]*\n|[^\n]+\Z"

_BARE: Final = r"[A-Za-z0-9_-]+"

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expression:
    """`lines[start:end]` of a text: a header of the table `path`, or an assignment to `path` inside the table `table`."""

    start: int
    end: int
    path: Path
    table: Path
    is_header: bool
    is_array: bool = False


def split_lines(text: str) -> list[str]:
    """Lines with their ends, split at line feeds only, which is what TOML calls a line."""
    return re.findall(_LINE, text)


def expressions(lines: Sequence[str]) -> Iterator[Expression]:
    """The expressions of a valid document, in order. An assignment ends with the line at which tomllib can read it by itself."""
    table: Path = ()
    index = 0
    while index < len(lines):
        if header := re.match(_HEADER, lines[index]):
            table = dotted_path(header[2])
            yield Expression(index, index + 1, table, table, is_header=True, is_array=header[1] == "[[")
            index += 1
        elif assignment := re.match(_ASSIGNMENT, lines[index]):
            end = _end_of(lines, index)
            yield Expression(index, end, (*table, *dotted_path(assignment[1])), table, is_header=False)
            index = end
        else:
            index += 1


def dotted_path(text: str) -> Path:
    """The names of a dotted key as it is written, quotes and all."""
    import tomllib

    names: list[str] = []
    value: Any = tomllib.loads(f"{text} = 0")
    while isinstance(value, dict):
        [(name, value)] = value.items()
        names.append(name)
    return tuple(names)


def show_path(path: Iterable[str]) -> str:
    """A path as a dotted key, with quotes around the names that need them; the opposite of `dotted_path`."""
    return ".".join(name if re.fullmatch(_BARE, name) else json.dumps(name, ensure_ascii=False) for name in path)


def line_of(text: str, path: Path) -> int | None:
    """The number (from 1) of the line that sets `path`, or of the one that opens the nearest table around it; None when nothing does."""
    best: tuple[int, int] | None = None
    for expression in expressions(split_lines(text)):
        depth = _shared(expression.path, path)
        sets_it = depth == min(len(expression.path), len(path)) and depth > 0
        if sets_it and (best is None or depth > best[0]):
            best = (depth, expression.start + 1)
    return best[1] if best else None


def _shared(one: Path, other: Path) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _end_of(lines: Sequence[str], start: int) -> int:
    import tomllib

    for end in range(start + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[start:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return len(lines)
