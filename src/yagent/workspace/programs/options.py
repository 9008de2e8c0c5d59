"""Reads a program's arguments against the options it is known to have. An option that is not listed makes the answer None."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from yagent.records import dataclass
from yagent.workspace.shell_syntax.words import Word

Operands = Literal["paths", "text", "pattern", "none"]
"""What operands are: paths; plain text; a pattern and then paths; not allowed."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a program that are known to be safe.

    `flags` stand alone, `valued` take a value, `paths` take a path that is read; all with their dashes. `recursive` are those that make
    operands read with everything below; `patterns` those that replace a leading pattern. `number`: `-20` is a count.
    """

    flags: frozenset[str]
    valued: frozenset[str]
    paths: frozenset[str]
    recursive: frozenset[str]
    patterns: frozenset[str]
    operands: Operands
    number: bool
    inert: bool
    default: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments that were understood: `operands` in order, `paths` and `patterns` given by options, `given` the options used."""

    operands: tuple[Word, ...]
    paths: tuple[Word, ...]
    given: frozenset[str]
    patterns: tuple[Word, ...] = ()

    def has(self, *options: str) -> bool:
        return not self.given.isdisjoint(options)


def known(
    flags: str = "",
    valued: str = "",
    *,
    also: Mapping[str, str] | None = None,
    operands: Operands = "paths",
    traits: str = "",
    default: str = "",
) -> Options:
    """Describe a program's options. A token without dashes stands for several short ones (`"AbE --number"`).

    `also` lists options under `paths`, `recursive` and `patterns`; `traits` may hold `inert` and `number`; `default` is what is read when
    no operand is given.
    """
    more = also or {}
    paths, recursive, patterns = (_spread(more.get(kind, "")) for kind in ("paths", "recursive", "patterns"))
    return Options(
        flags=_spread(flags) | recursive,
        valued=_spread(valued) | patterns,
        paths=paths,
        recursive=recursive,
        patterns=patterns | (paths if operands == "pattern" else frozenset()),
        operands=operands,
        number="number" in traits,
        inert="inert" in traits,
        default=default,
    )


def _spread(text: str) -> frozenset[str]:
    result: set[str] = set()
    for token in text.split():
        result |= {token} if token.startswith("-") else {f"-{letter}" for letter in token}
    return frozenset(result)


def read_arguments(words: Sequence[Word], options: Options) -> Arguments | None:
    """Sort words into options and operands; None when one is not known to be safe."""
    reader = _Reader(options)
    for index, word in enumerate(words):
        if reader.waiting:
            reader.take_value(word)
        elif word.source == "--" and word.value == "--":
            reader.operands += words[index + 1 :]
            break
        elif not reader.take(word):
            return None
    if any(not _is_settled(word, options) for word in reader.operands + reader.paths):
        return None
    return Arguments(tuple(reader.operands), tuple(reader.paths), frozenset(reader.given), tuple(reader.patterns))


def _is_settled(word: Word, options: Options) -> bool:
    return word.known or options.inert or options.operands == "text"


class _Reader:
    def __init__(self, options: Options) -> None:
        self._options = options
        self.waiting = ""
        self.operands: list[Word] = []
        self.paths: list[Word] = []
        self.patterns: list[Word] = []
        self.given: set[str] = set()

    def take_value(self, word: Word) -> None:
        self._give(self.waiting, word)
        self.waiting = ""

    def _give(self, option: str, word: Word) -> None:
        if option in self._options.paths:
            self.paths.append(word)
        elif option in self._options.patterns:
            self.patterns.append(word)
        if not word.known and not self._options.inert:
            self.operands.append(word)

    def take(self, word: Word) -> bool:
        text = word.text
        if not text.startswith("-") or text == "-":
            self.operands.append(word)
            return True
        if not word.known and not self._options.inert:
            return False
        if text in self._options.flags:
            self.given.add(text)
            return True
        if text in self._options.valued or text in self._options.paths:
            self.given.add(text)
            self.waiting = text
            return True
        if text.startswith("--"):
            return self._long(word)
        if self._options.number and re.fullmatch(r"-[0-9]+", text):
            return True
        return self._bundle(word)

    def _long(self, word: Word) -> bool:
        name, equals, value = word.text.partition("=")
        if not equals or name not in self._options.valued | self._options.paths | self._options.flags:
            return False
        self.given.add(name)
        self._give(name, Word(word.source, value, known=word.known))
        return True

    def _bundle(self, word: Word) -> bool:
        letters = word.text[1:]
        for index, letter in enumerate(letters):
            option = f"-{letter}"
            rest = letters[index + 1 :]
            if option in self._options.flags:
                self.given.add(option)
            elif option in self._options.valued or option in self._options.paths:
                self.given.add(option)
                if rest:
                    self._give(option, Word(word.source, rest, known=word.known))
                else:
                    self.waiting = option
                return True
            else:
                return False
        return True
