"""Words that may name a place without being a program's operand, and words with the values that the line itself gives their variables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field

from yagent.records import dataclass
from yagent.workspace.shell_syntax.commands import Naming, Place
from yagent.workspace.shell_syntax.lexer import NotUnderstoodError
from yagent.workspace.shell_syntax.words import HOLE, Word, outlines

CERTAIN = frozenset({"HOME", "PWD", "TMPDIR"})
"""The variables that a shell certainly gets from outside."""

MAX_VALUES = 32
"""How many values of one variable are looked at; of one that has more, any value is possible."""

MAX_READINGS = 1024
"""How many readings beyond the first one of each word are looked at before a line counts as not understood."""

MAX_LENGTH = 4096
"""Values longer than any path are left out: each assignment could double them."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(slots=True)
class Names:
    """What was met so far: words as they are, the values of variables (as patterns, when they come from one), and words that use them.

    Values and readings are outlines: with HOLE where text is only known when the line runs. `unsure`: something in the line may set any
    variable to anything.
    """

    unsure: bool = False
    plain: list[Naming] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    used: list[_Use] = field(default_factory=list)
    left: int = MAX_READINGS

    def add(self, words: Iterable[Word], place: Place) -> None:
        """Note words whose meaning is known."""
        self.plain += [Naming(word, place.directories) for word in words if word.known]

    def use(self, source: str, variables: Mapping[str, str], place: Place, *, is_value: bool = False) -> None:
        """Note a word that is only known together with what its variables hold."""
        self.used.append(_Use(source, variables, place, is_value, frozenset(self.values)))

    def assign(self, name: str, source: str, variables: Mapping[str, str], place: Place, *, adds: bool) -> None:
        """Note an assignment. Raises NotUnderstoodError when there are too many values."""
        new = self.readings(source, variables, is_value=True)
        self.plain += [_naming(source, text, place) for text in new if HOLE not in text]
        self.use(source, variables, place, is_value=True)
        before = self.values.get(name, ())
        self._hold(name, [earlier + value for earlier in before for value in new] if adds and before else new)

    def loop(self, name: str, words: Iterable[Word], variables: Mapping[str, str], place: Place) -> None:
        """Note what a loop's variable goes through. Raises NotUnderstoodError when there are too many values."""
        words = tuple(words)
        self.add(words, place)
        for word in words:
            self._hold(name, [word.glob or word.text] if word.known else self.readings(word.source, variables, is_value=False))
        if not words:
            self._hold(name, [HOLE])

    def latest(self) -> dict[str, str]:
        """Return the value that each variable was given last, as far as it is known."""
        whole = {name: [value for value in values if HOLE not in value] for name, values in self.values.items()}
        return {name: values[-1] for name, values in whole.items() if values}

    def readings(self, source: str, variables: Mapping[str, str], *, is_value: bool, bound: Collection[str] | None = None) -> list[str]:
        """Return what a word may become. Raises NotUnderstoodError when that is too much."""
        used = {*_VARIABLE.findall(source), *(("HOME",) if "~" in source else ())}
        bound = self.values if bound is None else bound
        names = sorted(name for name in used if name in self.values or self.unsure or _may_be_kept(name, variables, bound))
        found: dict[str, None] = {}
        for index, chosen in enumerate(itertools.product(*(self._options(name, variables, bound) for name in names))):
            self.left -= index > 0
            if self.left < 0:
                raise NotUnderstoodError("its variables can have too many values to be judged")
            here = {**variables, **dict(zip(names, chosen, strict=True))}
            try:
                found |= dict.fromkeys(self._filled(source, outlines(source, here, is_value=is_value), chosen))
            except NotUnderstoodError:
                return [*found, HOLE]
        return [text for text in found if len(text) <= MAX_LENGTH]

    def _filled(self, source: str, texts: Iterable[str], chosen: Iterable[str]) -> Iterator[str]:
        """Readings, also with what `${x:-…}` has instead, or with the value that `${x%…}` and the like take something from."""
        for text in texts:
            yield text
            if HOLE in text and "${" in source:
                yield from (text.replace(HOLE, value) for value in (*self.values.get("", ()), *chosen))

    def _options(self, name: str, variables: Mapping[str, str], bound: Collection[str]) -> list[str]:
        """The values a variable may have: those of the line, the one from outside (or none, when it is kept from commands), any."""
        options = [*self.values.get(name, ()), *((variables[name],) if name in variables else ())]
        if _may_be_kept(name, variables, bound):
            options.append("")
        known = bool(options) and not self.unsure and (name in bound or name in variables)
        return list(dict.fromkeys(options if known else [*options, HOLE]))

    def _hold(self, name: str, values: Iterable[str]) -> None:
        held = self.values.setdefault(name, [])
        new = [value for value in dict.fromkeys(values) if value not in held and len(value) <= MAX_LENGTH]
        free = MAX_VALUES - len(held)
        held += new if len(new) <= free else [*new[: max(0, free)], *([] if HOLE in held else [HOLE])]


@dataclass(frozen=True, slots=True)
class _Use:
    source: str
    variables: Mapping[str, str]
    place: Place
    is_value: bool
    bound: frozenset[str]
    """The variables that the line gave a value before; any other may have any."""


def _may_be_kept(name: str, variables: Mapping[str, str], bound: Collection[str]) -> bool:
    """Whether a variable from outside may be one that commands do not get."""
    return name in variables and name not in bound and name not in CERTAIN


def namings_of(names: Names) -> tuple[tuple[Naming, ...], dict[str, tuple[str, ...]]]:
    """Return every naming of a line, and the readings of each word that is not known, by its source; variables may get their value
    after they are used (in a loop), so this comes last. Raises NotUnderstoodError when there are too many."""
    found = dict.fromkeys(names.plain)
    readings: dict[str, dict[str, None]] = {}
    for use in names.used:
        for text in names.readings(use.source, use.variables, is_value=use.is_value, bound=use.bound):
            readings.setdefault(use.source, {})[text] = None
            word = Word(use.source, "", known=False) if HOLE in text else None
            found[_naming(use.source, text, use.place) if word is None else Naming(word, use.place.directories)] = None
    return tuple(found), {source: tuple(texts) for source, texts in readings.items()}


def _naming(source: str, text: str, place: Place) -> Naming:
    return Naming(Word(source, text, glob=text if _WILDCARD.search(text) else ""), place.directories)
