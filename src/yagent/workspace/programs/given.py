"""Which options a command is given, however they are spelled: abbreviated, several letters in one word, with the value attached."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from yagent.records import dataclass
from yagent.workspace.shell_syntax.words import Word

_BUNDLE = re.compile(r"-([^-=/.,~\s][^=/.,~\s]*)")


@dataclass(frozen=True, slots=True)
class Given:
    """Options as they may be read: `longs` as written, without values; `letters` of all bundles."""

    longs: frozenset[str]
    letters: frozenset[str]

    def long(self, options: Iterable[str]) -> bool:
        """Say whether one of these long options is given, or the beginning of its name.

        Source: GNU getopt_long and git's parse-options take every unambiguous beginning; ambiguous ones count, too.
        """
        return any(abbreviates(name, options) for name in self.longs)

    def letter(self, letters: str) -> bool:
        """Say whether one of these letters is given."""
        return not self.letters.isdisjoint(letters)


def given(words: Sequence[Word], valued: str = "", *, complete: Collection[str] = ()) -> Given:
    """Read the options among words. What follows a `valued` letter in its word is its value; `complete` long ones abbreviate nothing."""
    texts = [word.text for word in words]
    longs = {text.partition("=")[0] for text in texts if text.startswith("--")}
    return Given(frozenset(longs.difference(complete)), frozenset("".join(letters_of(text, valued) for text in texts)))


def abbreviates(name: str, options: Iterable[str]) -> bool:
    """Say whether a long option, as written, stands for one of these by its beginning."""
    return len(name) > 2 and name.startswith("--") and any(option.startswith(name) for option in options)


def letters_of(text: str, valued: str = "") -> str:
    """Return the letters of a word that bundles short options, up to one that takes the rest as its value."""
    bundle = _BUNDLE.match(text)
    if bundle is None:
        return ""
    ends = next((index for index, letter in enumerate(bundle[1]) if letter in valued), len(bundle[1]))
    return bundle[1][: ends + 1]
