"""How many tokens a text has, from the kinds of its characters. Any tokenizer of today splits at the same places, more or less.

The weights are least squares over source code, English, Chinese, JSON, output of tools, numbers and other scripts, as the mean of two
vocabularies (o200k and one of another family). On pieces of 400 to 6000 characters the estimate is within 15 % nineteen times in twenty,
before any calibration; Chinese, for which vocabularies differ by half, within 40 %.
"""

import string
from collections.abc import Mapping

from yagent.records import dataclass

# Classes of bytes in UTF-8; those of other scripts are told by the first byte of a character.
_LOWER, _UPPER, _DIGIT, _PUNCTUATION, _SPACE, _LINE, _TAB, _TWO, _HAN, _FULL, _HANGUL, _THREE, _FOUR, _REST = b"aA0. nt23FKE4-"


@dataclass(frozen=True, slots=True)
class Size:
    """A size before calibration, in tokens: what is plain ASCII, what is in other scripts, and what is known exactly."""

    plain: float = 0.0
    wide: float = 0.0
    exact: float = 0.0

    def __add__(self, other: "Size") -> "Size":
        return Size(self.plain + other.plain, self.wide + other.wide, self.exact + other.exact)


def estimate(text: str) -> Size:
    """The size of a text; linear in it, about 0.03 s for a million characters."""
    classes = text.encode("utf-8", "replace").translate(_CLASSES)
    plain = sum(weight * classes.count(sequence) for sequence, weight in _PLAIN.items())
    plain += sum(weight * (b" " + classes.translate(table)).count(_START) for table, weight in _RUNS.items())
    return Size(plain, sum(weight * classes.count(sequence) for sequence, weight in _WIDE.items()))


def _class_of(byte: int) -> int:
    character = chr(byte)
    if byte < 0x80:
        if character in string.ascii_letters:
            return _LOWER if character.islower() else _UPPER
        if character in string.digits:
            return _DIGIT
        return {"\n": _LINE, " ": _SPACE}.get(character, _PUNCTUATION if character in string.punctuation else _TAB)
    starts = ((0xC0, _REST), (0xE0, _TWO), (0xE3, _THREE), (0xEA, _HAN), (0xEE, _HANGUL), (0xEF, _THREE), (0xF0, _FULL))
    return next((kind for below, kind in starts if byte < below), _FOUR)


def _only(classes: bytes) -> bytes:
    """A table that leaves these classes, as one, and makes all others spaces, so that a run starts at each `_START`."""
    return bytes(_LOWER if byte in classes else _SPACE for byte in range(256))


_CLASSES = bytes(map(_class_of, range(256)))
_START = b" a"

# a run of letters costs more than its letters, a hump is where camelCase goes up
_RUNS: Mapping[bytes, float] = {
    _only(bytes((_LOWER, _UPPER))): 0.607,
    _only(bytes((_DIGIT,))): 1.232,
    _only(bytes((_PUNCTUATION,))): 0.542,
}
_PLAIN: Mapping[bytes, float] = {
    b"a": 0.109,
    b"A": 0.109,
    b"aA": 0.693,
    b"0": 0.3,
    b".": 0.127,
    b"n": 0.253,
    b"n ": 1.104,
    b"a  ": 1.417,
    b".  ": 1.417,
    b"0  ": 1.417,
    b"t": 1.087,
}
_WIDE: Mapping[bytes, float] = {b"2": 0.35, b"3": 0.674, b"F": 0.905, b"K": 0.699, b"E": 1.462, b"4": 1.477}
