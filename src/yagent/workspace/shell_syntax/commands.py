"""What a parsed line consists of: simple commands, with what is known of their words, files and directory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from yagent.records import dataclass
from yagent.workspace.shell_syntax.words import Word

MAX_DIRECTORIES = 8

Directories = frozenset[str] | None
"""The directories a command may run in; None when that is not known."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value` before a command, or as one."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Redirection:
    """`operator` as written (`>`, `>>`, `<`, `&>`, `>&`, `<>`, `>|`, `<<<`); here-documents are in `Command.stdin`."""

    operator: str
    target: Word
    directories: Directories


@dataclass(frozen=True, slots=True)
class Naming:
    """A word that may name a place although no program is given it here: a value, a loop's list, text that is fed to a command. One that
    rests on variables stands for each value the line itself gives them (with wildcards, `word.glob` is a pattern)."""

    word: Word
    directories: Directories


@dataclass(frozen=True, slots=True)
class Hazard:
    """Something that makes words mean other than they say, or runs what cannot be seen. `text` completes "this line …"."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command.

    `stdin` is the text it is fed by a here-document or here-string.
    `inner` are the commands it runs, when it is a wrapper that was understood; `transparent` then says that it adds nothing of its own.
    `more_words`: further words are added when it runs (by xargs).
    """

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    directories: Directories = None
    stdin: Word | None = None
    inner: tuple[Command, ...] = ()
    transparent: bool = False
    more_words: bool = False

    @property
    def values(self) -> tuple[str | None, ...]:
        """The words as rules see them: None for what is only known when the line runs."""
        return (*(word.value for word in self.words), *((None,) if self.more_words else ()))

    @property
    def likely_values(self) -> tuple[str | None, ...]:
        """The same, with the likely value of words that are not known: for rules that refuse."""
        return (*(word.value or word.guess or None for word in self.words), *((None,) if self.more_words else ()))

    @property
    def name(self) -> str | None:
        """The program's name as written, None when it is not known."""
        return self.words[0].value if self.words else None


def every_command(commands: Iterable[Command]) -> Iterator[Command]:
    """Yield commands and those they run, outermost first."""
    for command in commands:
        yield command
        yield from every_command(command.inner)


@dataclass(slots=True)
class Budget:
    """How much one line may cost: commands found, compound commands and scripts within each other, characters."""

    commands: int = 400
    depth: int = 24
    characters: int = 48 * 1024


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a line would run. `problem` says why it is not understood; then `commands` are not to be trusted as complete.

    `readings`: what each word that is not known may become, by its source, as outlines.
    """

    commands: tuple[Command, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    problem: str = ""
    loose_words: tuple[tuple[str, ...], ...] = ()
    namings: tuple[Naming, ...] = ()
    readings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command stands: the directories it may run in, the variables whose value is known, and those where it is only likely."""

    directories: Directories
    variables: dict[str, str]
    likely: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The directories after a statement, by how it ended."""

    success: Directories
    failure: Directories

    @property
    def either(self) -> Directories:
        return join(self.success, self.failure)


def join(one: Directories, other: Directories) -> Directories:
    """Return every directory of both."""
    if one is None or other is None or len(one | other) > MAX_DIRECTORIES:
        return None
    return one | other


def changed(directories: Directories, target: str | None) -> Directories:
    """Return where `cd target` may lead. Behind a link, `..` leads elsewhere by name than on disk: both count."""
    if directories is None or target is None:
        return None
    reached: set[str] = set()
    for directory in directories:
        path = os.path.join(directory, target)
        reached.add(os.path.normpath(path))
        if ".." in target.split("/"):
            reached.add(path)
    return frozenset(reached) if len(reached) <= MAX_DIRECTORIES else None
