"""Text from outside made safe to show: nothing in it moves the cursor, hides, or reorders what is read.

Characters are replaced one by one, so that text may be made visible piece by piece as it streams, whatever the borders of the pieces.
Letters of all scripts and emoji pass unchanged.
"""

from __future__ import annotations

import unicodedata

from yagent.patterns import pattern

_INVISIBLE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u3164\uffa0\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064"
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\ufeff\ufff9\ufffa\ufffb"
)
_BLANK_LOOKALIKES = frozenset("\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u2800")
_JOINERS = frozenset("\u200c\u200d")
_TAGS = range(0xE0000, 0xE0080)
_EMOJI_MADE_OF_TAGS = pattern("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f")
_WORD = pattern(r"://[^\s/]+|[^\W\d_]+")
"""A host as a whole, or a run of letters."""

_LATIN_LOOKALIKES = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")


def visible(text: str) -> str:
    """Return text with control, invisible and reordering characters written as `\\x1b` or `\\u{202e}`; newline and tab stay."""
    return text if text.isascii() and _on_one_line(text).isprintable() else "".join(map(_visible_character, text))


def _on_one_line(text: str) -> str:
    return text.replace("\n", "").replace("\t", "") if "\n" in text or "\t" in text else text


def has_hidden(text: str) -> bool:
    """Say whether text, read on a screen, could be taken for something else: hidden, reordering or blank-like characters, controls,
    or a word that mixes Latin letters with ones that look like them."""
    if text.isascii():
        return any(map(_is_control, set(text)))
    text = _EMOJI_MADE_OF_TAGS.sub("", text)
    characters = set(text)  # of which long texts have few
    if any(_is_control(character) or _is_hidden(character) or character in _BLANK_LOOKALIKES for character in characters):
        return True
    if characters & _JOINERS and any(each in _JOINERS and not _joins_properly(text, index) for index, each in enumerate(text)):
        return True
    return any(_mixes_scripts(word) for word in _WORD.findall(text))


def _visible_character(character: str) -> str:
    if _is_control(character):
        return f"\\x{ord(character):02x}"
    if _is_hidden(character) or (character in _BLANK_LOOKALIKES and character != "\u2800"):
        return f"\\u{{{ord(character):x}}}"
    return character


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in "\n\t"


def _is_hidden(character: str) -> bool:
    return character in _INVISIBLE or ord(character) in _TAGS or unicodedata.category(character) in ("Cs", "Co")


def _joins_properly(text: str, index: int) -> bool:
    """Joiners belong in emoji and in Arabic and Indic scripts; between other letters they only hide."""
    before = text[index - 1] if index else ""
    return bool(before) and not before.isascii() and unicodedata.category(before) in ("Lo", "Mn", "Mc", "So", "Sk", "Me")


def _mixes_scripts(word: str) -> bool:
    if word.isascii():
        return False
    names = [unicodedata.name(character, "") for character in word if character.isalpha()]
    return any(name.startswith("LATIN") for name in names) and any(name.startswith(_LATIN_LOOKALIKES) for name in names)
