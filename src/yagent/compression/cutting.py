"""Cuts a text to a size in tokens. What is counted is the piece that stays, so a long text costs no more than a short one."""

from collections.abc import Callable
from typing import TypeAlias

Count: TypeAlias = Callable[[str], int]

_LONGEST = 16  # characters a token can have on average in any text worth reading; what is beyond cannot fit


def first_part(text: str, tokens: int, count: Count) -> str:
    """The beginning of `text`, at most `tokens` large, up to the end of a line where one is near; "" when nothing fits."""
    part = _fitting(lambda length: text[:length], min(len(text), _LONGEST * tokens), tokens, count)
    if len(part) == len(text):
        return text
    end = part.rfind("\n", len(part) * 4 // 5)
    return part[:end] if end > 0 else part


def last_part(text: str, tokens: int, count: Count) -> str:
    """The end of `text`, at most `tokens` large, from the beginning of a line where one is near; "" when nothing fits."""
    part = _fitting(lambda length: text[len(text) - length :], min(len(text), _LONGEST * tokens), tokens, count)
    if len(part) == len(text):
        return text
    start = part.find("\n", 0, len(part) // 5)
    return part[start + 1 :]


def _fitting(piece: Callable[[int], str], length: int, tokens: int, count: Count) -> str:
    """The longest piece found that fits; each try is shorter than the last by at least a tenth."""
    while length > 0:
        part = piece(length)
        size = count(part)
        if size <= tokens:
            return part
        length = min(length * 9 // 10, length * tokens // size)
    return ""
