"""A key that cannot be printed by accident, and the cleaning of keys as people really paste them (case H-03)."""

import re
import unicodedata
from typing import Final, NoReturn

from yagent.config.problems import ConfigError, Notice
from yagent.records import dataclass

_PLACEHOLDER: Final = r"""(?ixs)
        (your|insert|enter|paste|put|replace)[-_ .].*    # your-key-here
      | <.*> | \[.*\] | \{.*\}                           # <key>
      | \$\w+ | \$\{\w+\} | %\w+%                        # a variable that nobody expanded
      | (sk[-_])?(x{3,}|\.{3,}|…|\*{3,})                 # sk-xxxx
      | change[-_ ]?me | placeholder | todo"""
_BEARER: Final = r"(?i)bearer\s+"
_QUOTES: Final = (('"', '"'), ("'", "'"), ("`", "`"), ("“", "”"), ("‘", "’"))
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


class SecretText:
    """A string that shows itself only to `reveal`. `str`, `repr`, formatting and logging give `***`; pickling is refused."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "SecretText(***)"

    def __str__(self) -> str:
        return "***"

    def __format__(self, _spec: str) -> str:
        return "***"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretText) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __deepcopy__(self, _memo: object) -> "SecretText":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True)
class CleanKey:
    """`key` is None when nothing usable was there (empty, or a placeholder of a template)."""

    key: SecretText | None
    notices: tuple[Notice, ...] = ()


def is_placeholder(text: str) -> bool:
    """Whether `text` is what a template or a tutorial puts where a person is meant to write something."""
    return re.fullmatch(_PLACEHOLDER, text.strip()) is not None


def clean_key(raw: str, source: str) -> CleanKey:
    """The key in `raw` without what pasting and `$(cat file)` add to it; `source` says in messages where it came from.

    White space, invisible characters, quotes around it and a leading `Bearer` are taken off, with a notice. Any other character
    outside ASCII cannot be part of a key and cannot go into a header: ConfigError with its position, never with the key.
    """
    removed: set[str] = set()
    text = _unwrap(raw, removed)
    if is_placeholder(text):
        return CleanKey(None, (Notice(source, f"The key from {source} is a placeholder and counts as not set."),))
    kept = [char for char in text if unicodedata.category(char) not in _UNSEEN]
    if len(kept) != len(text):
        removed.add("blanks or invisible characters")
    for position, char in enumerate(raw, 1):
        if char in kept and not char.isascii():
            name = unicodedata.name(char, "unnamed character")
            raise ConfigError(
                f"The key from {source} has a character that no key can have: number {position} of {len(raw)} is {name}.",
                where=f"Source of the key: {source}",
                fix="Copy the key again from the provider's page, as plain text, and set it anew.",
            )
    value = "".join(kept)
    if not value:
        return CleanKey(None)
    if not removed:
        return CleanKey(SecretText(value))
    return CleanKey(SecretText(value), (Notice(source, f"Taken off the key from {source}: {', '.join(sorted(removed))}."),))


def _unwrap(raw: str, removed: set[str]) -> str:
    """`raw` without surrounding blanks, quotes and `Bearer`, in whatever order they were wrapped around it."""
    text = raw
    while True:
        before = text
        text = _strip_unseen(text)
        if text != before:
            removed.add("blanks or invisible characters")
        for opening, closing in _QUOTES:
            if len(text) >= 2 and text.startswith(opening) and text.endswith(closing):
                text = text[1:-1]
                removed.add("quotes")
        if match := re.match(_BEARER, text):
            text = text[match.end() :]
            removed.add("the word Bearer")
        if text == before:
            return text


def _strip_unseen(text: str) -> str:
    start, end = 0, len(text)
    while start < end and unicodedata.category(text[start]) in _UNSEEN:
        start += 1
    while end > start and unicodedata.category(text[end - 1]) in _UNSEEN:
        end -= 1
    return text[start:end]
