"""Finding the text an edit means. Exactly it first; then with one difference of a closed list, and only when that leaves a single place.

What is tolerated is named. Similarity is never enough: a search text whose words differ is not found.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.encoding import newline_style
from yagent.workspace.indentation import common_shift

MANY = 1000
_TYPOGRAPHIC = str.maketrans("‘’‚‛“”„‟′″\u00a0\u2007\u202f‐‑–—−", "''''\"\"\"\"'\"   -----")


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the text, as offsets of characters, and the pieces (lines without endings) that the search text became there.

    `shift` is what each line has more (`+`) or less (`-`) in front than the search text (see `indentation`).
    """

    start: int
    end: int
    shift: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a search text is, and which tolerance it took: the words for the result, None for an exact match.

    `search` and `replace` are the edit's texts as they were understood; `by_character` when untouched characters inside lines have to
    be kept, too. `first_line` is the number that was copied in front of the search text, 0 when none was.
    """

    places: tuple[Place, ...]
    search: str
    replace: str
    tolerances: tuple[str, ...] = ()
    by_character: bool = False
    first_line: int = 0


class Text:
    """A text with what searching it needs, each computed once: its form with plain line feeds, and the way back from there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.style = newline_style(text)
        self.has_returns = "\r" in text
        self._removed = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))] if "\r\n" in text else []
        plain = text.replace("\r\n", "\n") if self._removed else text
        self.plain = plain.replace("\r", "\n") if self.style == "cr" else plain

    def offset(self, plain_offset: int) -> int:
        """Where a character of `plain` is in `text`; a line feed that was a pair begins at its carriage return."""
        return plain_offset + bisect_right(self._removed, plain_offset - 1)

    def line_number(self, offset: int) -> int:
        """The 1-based line of a character of `text`."""
        return self.text.count("\r" if self.style == "cr" else "\n", 0, offset) + 1

    def place(self, start: int, end: int, shift: str = "") -> Place:
        """A place given by offsets of `plain`."""
        return Place(self.offset(start), self.offset(end), shift)


LineOf: TypeAlias = Callable[[int], int]
"""The 1-based line, as the agent read it, of a character of the text."""


def find(text: Text, search: str, replace: str, line_of: LineOf | None = None) -> Found | None:
    """Where `search` is, with the least tolerance that finds it; several places when it is not unique; None when it is nowhere.

    `line_of` is asked whether numbers in front of its lines are theirs; the lines of `text` when it is not given.
    """
    exact = tuple(Place(at, at + len(search)) for at in _occurrences(text.text, search))
    if exact:
        return Found(exact, search, replace)
    for variant in _variants(search, replace):
        found = _find_variant(text, variant, line_of or text.line_number)
        if found is not None:
            return found
    return _find_typographic(text, _plain(search), _plain(replace))


def _find_variant(text: Text, variant: Found, line_of: LineOf) -> Found | None:
    search, replace = _plain(variant.search), _plain(variant.replace)
    for finder in (_with_any_endings, _with_trailing_space, _with_indentation):
        places = _that_have_the_numbers(text, variant, tuple(finder(text, search)), line_of)
        if places:
            return Found(places, search, replace, variant.tolerances + _differences(text, variant.search, places))
    shorter = search.removesuffix("\n")
    if shorter and shorter != search and replace.endswith("\n") and text.plain.endswith(shorter) and text.plain.count(shorter) == 1:
        place = text.place(len(text.plain) - len(shorter), len(text.plain))
        if not _that_have_the_numbers(text, variant, (place,), line_of):
            return None
        named = _differences(text, variant.search.removesuffix("\n").removesuffix("\r"), (place,))
        return Found((place,), shorter, replace[:-1], (*variant.tolerances, *named, "the file has no final line ending"))
    return None


def _differences(text: Text, search: str, places: tuple[Place, ...]) -> tuple[str, ...]:
    """What had to be overlooked to find `search` at these places, in words."""
    wanted = search.split("\n")
    names = dict.fromkeys(("line endings", "trailing whitespace", "indentation"), False)
    for place in places:
        present = text.text[place.start : place.end]
        lines = (present.replace("\r", "\n") if text.style == "cr" else present).split("\n")
        names["line endings"] |= text.style == "cr" and len(lines) > 1
        names["indentation"] |= len(place.shift) > 1
        for left, right in zip(wanted, lines, strict=True):
            names["line endings"] |= left.endswith("\r") != right.endswith("\r")
            names["trailing whitespace"] |= _trailing(left) != _trailing(right)
    return tuple(name for name, differs in names.items() if differs)


def _trailing(line: str) -> str:
    body = line.removesuffix("\r")
    return body[len(body.rstrip(" \t")) :]


def _variants(search: str, replace: str) -> Iterator[Found]:
    """The edit as written, then as it was probably meant: without copied line numbers, without needless escapes, without both."""
    yield Found((), search, replace)
    numberless = _without_line_numbers(search, replace)
    for candidate in (Found((), search, replace), numberless):
        if candidate is not None:
            if candidate.tolerances:
                yield candidate
            unescaped = _without_escapes(candidate)
            if unescaped is not None:
                yield unescaped


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _occurrences(text: str, search: str) -> Iterator[int]:
    """Where `search` begins, overlapping ones too: they make it ambiguous as well."""
    at = text.find(search)
    for _ in range(MANY):
        if at < 0:
            return
        yield at
        at = text.find(search, at + 1)


def _with_any_endings(text: Text, search: str) -> Iterator[Place]:
    return (text.place(at, at + len(search)) for at in _occurrences(text.plain, search))


def _with_trailing_space(text: Text, search: str) -> Iterator[Place]:
    pieces = [piece.rstrip(" \t") for piece in search.split("\n")]
    if not any(pieces):
        return
    # The look-behind keeps long runs of spaces from being tried at each of their positions.
    end_of_line = "(?=[ \t]*(?:\n|\\Z))" if search.endswith((" ", "\t")) else ""
    pattern = re.compile("(?<![ \t])[ \t]*\n".join(map(re.escape, pieces)) + end_of_line)
    at = 0
    for _ in range(MANY):
        match = pattern.search(text.plain, at)
        if match is None:
            return
        yield text.place(match.start(), match.end())
        at = match.start() + 1


def _with_indentation(text: Text, search: str) -> Iterator[Place]:
    """Whole lines that differ from the search text's by the same piece of indentation each."""
    ended = search.endswith("\n")
    wanted = search[: -1 if ended else None].split("\n")
    anchor = next((index for index, line in enumerate(wanted) if line.strip(" \t")), None)
    if anchor is None:
        return
    first = wanted[anchor].strip(" \t")
    start, lines = 0, text.plain.split("\n")
    starts = []
    for line in lines:
        starts.append(start)
        start += len(line) + 1
    for index, line in enumerate(lines):
        begin, end = index - anchor, index - anchor + len(wanted)
        if line.strip(" \t") != first or begin < 0 or end > len(lines) or (ended and end == len(lines)):
            continue
        shift = common_shift(wanted, lines[begin:end])
        if shift is not None:
            finish = starts[end - 1] + len(lines[end - 1].rstrip(" \t")) if not ended else starts[end]
            yield text.place(starts[begin], finish, shift)


_NUMBERED = pattern(r"[ \t]*(\d+)(?:(\t)|(→)|( ?\| ?)|(: )|(:)(?=\S|$))")
_NO_BLANK = pattern("[^ \t]")
_DRIFT = 20
"""Lines by which earlier edits may have moved a place, for each further line that is as it was read."""


def has_line_numbers(search: str) -> bool:
    """Say whether each line that is not blank has a number in front, as `read_file` or a search shows it."""
    lines = _inked(search.split("\n"))
    return bool(lines) and all(map(_NUMBERED.match, lines))


def _that_have_the_numbers(text: Text, variant: Found, places: tuple[Place, ...], line_of: LineOf) -> tuple[Place, ...]:
    """The places whose lines the copied numbers can be of: whole lines, and, when only one place has such, the line of that number.

    Several lines in a row may have been moved by edits since they were read; one alone says too little for that.
    """
    if not variant.first_line:
        return places
    whole = tuple(place for place in places if _is_whole(text, place))
    moved = abs(line_of(whole[0].start) - variant.first_line) if len(whole) == 1 else 0
    return whole if moved <= _DRIFT * (len(_inked(variant.search.split("\n"))) - 1) else ()


def _is_whole(text: Text, place: Place) -> bool:
    """Whether a place is one of whole lines, blanks at its end aside."""
    ends = ("\n", "\r") if text.style == "cr" else ("\n", "\r\n")
    before = text.text[max(0, place.start - 1) : place.start]
    if before not in ("", ends[0], ends[1][-1:]):
        return False
    if text.text[place.start : place.end].endswith(ends):
        return True
    following = _NO_BLANK.search(text.text, place.end)
    return following is None or text.text.startswith(ends, following.start())


def _without_line_numbers(search: str, replace: str) -> Found | None:
    """Both texts without line numbers, when each line of the search text has the next one in front."""
    lines = search.split("\n")
    body = lines[:-1] if lines[-1] == "" else lines
    matches = [match for match in map(_NUMBERED.match, body) if match]
    if not body or len(matches) < len(body):
        return None
    numbers = [int(match.group(1)) for match in matches]
    separators = {match.lastindex for match in matches if match.string[match.end() :].strip()}
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))) or len(separators) != 1:
        return None
    written = _strip_numbers(replace, separators.pop(), numbers)
    if written is None:
        return None
    stripped = [match.string[match.end() :] for match in matches] + lines[len(body) :]
    return Found((), "\n".join(stripped), written, ("line numbers copied into the search text",), first_line=numbers[0])


def _strip_numbers(replace: str, separator: int | None, numbers: Sequence[int]) -> str | None:
    """The replacement without its line numbers, as it is when it has none; None when it is not certain which numbers are such."""
    lines = replace.split("\n")
    matches = [match if match and match.lastindex == separator else None for match in map(_NUMBERED.match, lines)]
    if not any(matches):
        return replace
    near = range(numbers[0] - 1, numbers[-1] + len(lines) + 1)
    if any(int(match.group(1)) not in near if match else line.strip() for line, match in zip(lines, matches, strict=True)):
        return None
    return "\n".join(line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True))


def _inked(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.strip()]


_ESCAPED_QUOTE = pattern(r"\\(?=[\"'`])")
_BARE_QUOTE = pattern(r"(?<!\\)[\"'`]")


def _without_escapes(edit: Found) -> Found | None:
    """Both texts with `\\"` as `"`: only when the search text has no bare quote, and the replacement escapes all or none of its own."""
    if not _ESCAPED_QUOTE.search(edit.search) or _BARE_QUOTE.search(edit.search):
        return None
    escaped, bare = _ESCAPED_QUOTE.search(edit.replace), _BARE_QUOTE.search(edit.replace)
    if escaped and bare:
        return None
    search, replacement = (_ESCAPED_QUOTE.sub("", text) for text in (edit.search, edit.replace))
    return replace(edit, search=search, replace=replacement, tolerances=(*edit.tolerances, "escaped quotes"))


def _find_typographic(text: Text, search: str, replace: str) -> Found | None:
    """Straight for curly quotes, plain for special spaces and dashes: character for character, so that the others can be kept."""
    wanted = search.translate(_TYPOGRAPHIC)
    places = tuple(text.place(at, at + len(wanted)) for at in _occurrences(text.plain.translate(_TYPOGRAPHIC), wanted))
    if not places:
        return None
    return Found(places, search, replace, ("typographic quotes, spaces or dashes",), by_character=True)
