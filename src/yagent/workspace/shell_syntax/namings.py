"""Words that may name a place without being a program's operand, and words with the values that the line itself gives their variables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from yagent.records import dataclass
from yagent.workspace.shell_syntax.commands import Naming, Place
from yagent.workspace.shell_syntax.lexer import NotUnderstoodError
from yagent.workspace.shell_syntax.words import Found, Word, decode_value

MAX_VALUES = 32
"""How many values of one variable, and how many readings of one word, are looked at."""

MAX_LENGTH = 4096
"""Values longer than any path are left out: each assignment could double them."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(slots=True)
class Names:
    """What was met so far: words as they are, the values of variables (as patterns, when they come from one), and words that use them."""

    plain: list[Naming] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    used: list[tuple[str, Mapping[str, str], Place]] = field(default_factory=list)

    def add(self, words: Iterable[Word], place: Place) -> None:
        """Note words whose meaning is known."""
        self.plain += [Naming(word, place.directories) for word in words if word.known]

    def use(self, source: str, variables: Mapping[str, str], place: Place) -> None:
        """Note a word that is only known together with what its variables hold."""
        self.used.append((source, variables, place))

    def assign(self, name: str, source: str, variables: Mapping[str, str], place: Place, *, adds: bool) -> None:
        """Note an assignment."""
        new = self.readings(source, variables)
        self.plain += [_naming(source, text, place) for text in new]
        self.use(source, variables, place)
        before = self.values.get(name, ())
        self._hold(name, [earlier + value for earlier in before for value in new] if adds and before else new)

    def loop(self, name: str, words: Iterable[Word], place: Place) -> None:
        """Note what a loop's variable goes through."""
        held = [word for word in words if word.known]
        self.add(held, place)
        self._hold(name, [word.glob or word.text for word in held])

    def latest(self) -> dict[str, str]:
        """Return the value that each variable was given last."""
        return {name: values[-1] for name, values in self.values.items() if values}

    def readings(self, source: str, variables: Mapping[str, str]) -> list[str]:
        """Return what a word may become."""
        names = sorted({name for name in _VARIABLE.findall(source) if name in self.values})
        found: list[str] = []
        for chosen in itertools.islice(itertools.product(*(self.values[name] for name in names)), MAX_VALUES):
            here = {**variables, **dict(zip(names, chosen, strict=True))}
            try:
                word = decode_value(source, 0, len(source), Found(), here)
            except NotUnderstoodError:
                return found
            if word.known and len(word.text) <= MAX_LENGTH:
                found.append(word.text)
        return found

    def _hold(self, name: str, values: Iterable[str]) -> None:
        held = self.values.setdefault(name, [])
        held += [value for value in dict.fromkeys(values) if value not in held and len(value) <= MAX_LENGTH][: MAX_VALUES - len(held)]


def namings_of(names: Names) -> tuple[Naming, ...]:
    """Return every naming of a line; variables may get their value after they are used (in a loop), so this comes last."""
    found = dict.fromkeys(names.plain)
    for source, variables, place in names.used:
        if source.startswith("~") or {*names.values, "HOME"}.intersection(_VARIABLE.findall(source)):
            found |= dict.fromkeys(_naming(source, text, place) for text in names.readings(source, variables))
    return tuple(found)


def _naming(source: str, text: str, place: Place) -> Naming:
    return Naming(Word(source, text, glob=text if _WILDCARD.search(text) else ""), place.directories)
