"""Whether a word of which only parts are known before the line runs may turn out to name a secret place.

What is not known stands in a word's outline as HOLE. A word may be completed to a secret when what is known of it leads into such a place
(`~/.ssh/$X`), begins its name (`~/.s$X`), ends with it (`$X/.ssh/id_rsa`), or stops right above one that is there (`~/$X`). A word that
says nothing (`$X`, `/$X`) counts only by the directory it is used in.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Literal

from yagent.records import dataclass
from yagent.workspace.guard import GuardError
from yagent.workspace.protected import ProtectedSet, fold, plain_parts
from yagent.workspace.rule_book import Finding, asks, denies
from yagent.workspace.shell_syntax.commands import Analysis, Command, Directories, every_command
from yagent.workspace.shell_syntax.words import HOLE, Word

MAX_REACHED = 16
"""How many directories are looked at for a command whose own is not known."""

_SEPARATORS = re.compile(r"[=:,@]")
_ATTACHED = re.compile(r"-[A-Za-z0-9](?=[./~\0])")
_ABSOLUTE = re.compile(r"/+[^/]")
_WILDCARD = re.compile(r"[*?\[]")

Use = Literal["operand", "told", "value"]
"""Who gets a word: a program that opens it, a command that hands it on, or a variable (whose uses are looked at, too)."""


@dataclass(frozen=True, slots=True)
class Completions:
    """Finds words that may be completed to a secret.

    `readings`: what each word that is not known may become, by its source. `reached`: the directories (as outlines) that a command may be
    in whose directory is not known. `named`: absolute names in the line, of which a program may make such a directory or the beginning
    of a word.
    """

    protected: ProtectedSet
    readings: Mapping[str, tuple[str, ...]]
    reached: frozenset[str]
    named: tuple[str, ...] = ()
    known: dict[tuple[str, bool], Path | None] = field(default_factory=dict)
    """What was found before: many words of a line lead to the same outlines."""

    def of(self, word: Word, directories: Directories, use: Use = "operand") -> Finding | None:
        """Return why a word is not let through, None when it names no secret. The directory says something of a word that itself says
        nothing only when that is opened there; a value that stops above a secret says nothing yet."""
        if word.known and directories is not None:
            return None
        asked: Path | None = None
        for piece in dict.fromkeys(piece for outline in outlines_of(word, self.readings) for piece in _pieces(outline)):
            for path, certain in self._paths(piece, directories, use):
                key = (path, use != "value")
                if key not in self.known:
                    self.known[key] = self._completed(path, above=key[1])
                place = self.known[key]
                if place is not None and certain and HOLE not in path:
                    what = f"{word.source} can stand for {place}, which holds a secret"
                    return denies("protected_read", f"{what}; no tool reads it, in any mode")
                asked = place or asked
        if asked is None:
            return None
        shown = word.source or "what it is given"
        return asks("may_be_secret", f"{shown} is only known when the line runs, and could name {asked}, which holds a secret")

    def _paths(self, piece: str, directories: Directories, use: Use) -> Iterator[tuple[str, bool]]:
        """The places a part of a word may stand for, and whether the line itself says so."""
        for path in _from(piece, self.reached if directories is None else directories, operand=use == "operand"):
            yield path, True
        if piece.startswith(f"{HOLE}/"):
            yield from ((f"{name}{piece[len(HOLE) :]}", False) for name in self.named)
        elif directories is None and not piece.startswith(("/", HOLE)):
            yield from ((f"{name}/{piece}", False) for name in self.named)

    def _completed(self, outline: str, *, above: bool) -> Path | None:
        """The secret place that an outline names, or may name once its holes are filled."""
        if HOLE not in outline:
            named = self.protected.secrets_matching(outline) if outline.startswith("/") else ()
            return named[0] if named else self._led_to(outline)
        for name in self._names(outline):
            parts = plain_parts(name)
            if _is_process(parts):
                return Path("/proc/self")
            sought = [(parts, place, path) for place, path in self._sought(parts)]
            sought += [(ending, *found) for ending in _endings(parts) for found in self.protected.secret_endings]
            for known, place, path in sought:
                if _may_become(known, place, partial(self.protected.is_there, path), above=above):
                    return path
        tells = above and HOLE in outline.removesuffix(f"/{HOLE}")
        return self._led_to(outline.replace(HOLE, "")) or (self._led_to(outline.replace(HOLE, "*")) if tells else None)

    def _led_to(self, outline: str) -> Path | None:
        """The secret place that something on the disk leads to, be it by links of any name."""
        return self.protected.secret_found(outline) if outline.startswith("/") else None

    def _names(self, outline: str) -> Iterable[str]:
        """An outline, and the one where what is known of its directory leads to through links."""
        yield outline
        known, _, rest = outline.partition(HOLE)
        directory, _, begun = known.rpartition("/")
        if directory and not _WILDCARD.search(directory):
            try:
                resolved = self.protected.resolved(directory)
            except GuardError:
                return
            yield f"{resolved}/{begun}{HOLE}{rest}"

    def _sought(self, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Path]]:
        """The secret places, and (for a name that stops above it) the directory of yagent's own."""
        yield from self.protected.secret_names
        own = self.protected.own_directory
        if own is not None and len(parts) < len(own.parts) + 1:
            yield tuple(fold(part) for part in own.parts[1:]), own


def completions_of(analysis: Analysis, protected: ProtectedSet, home: str | None) -> Completions:
    """Return what the words of a line may be completed to."""
    commands = tuple(every_command(analysis.commands))
    outlines = [outline for command in commands for word in command.words for outline in outlines_of(word, analysis.readings)]
    absolute = [outline.rstrip("/") for outline in outlines if _ABSOLUTE.match(outline) and HOLE not in outline]
    named = dict.fromkeys(name for path in absolute for name in (path, posixpath.dirname(path)) if name.strip("/"))
    return Completions(protected, analysis.readings, _reached(commands, analysis.readings, home), tuple(named)[:MAX_REACHED])


def _reached(commands: Sequence[Command], readings: Mapping[str, tuple[str, ...]], home: str | None) -> frozenset[str]:
    """The directories that commands of a line may be in, in whatever order they run: those that are known, and those `cd` is given."""
    reached = dict.fromkeys([HOLE, *(directory for command in commands for directory in sorted(command.directories or ()))])
    targets = [target for command in commands for target in _targets(command, readings, home)]
    for _ in range(3):
        reached |= dict.fromkeys(path for target in targets for path in list(_from(target, tuple(reached), operand=True)))
        reached = dict.fromkeys(posixpath.normpath(path) if HOLE not in path else path for path in reached)
        if len(reached) > MAX_REACHED:
            break
    telling = [path for path in reached if path.strip(HOLE + "/")]
    return frozenset([HOLE, *telling[:MAX_REACHED]])


def outlines_of(word: Word, readings: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return what a word may become; a program's own mark for what it fills in (`{}`) is not known either."""
    if word.known:
        return (word.glob or word.text,)
    found = readings.get(word.source, ()) if word.source else ()
    return tuple(dict.fromkeys([*(text.replace("{}", HOLE) for text in found), *(() if found else (f"{word.text}{HOLE}",))]))


def _targets(command: Command, readings: Mapping[str, tuple[str, ...]], home: str | None) -> list[str]:
    if command.name not in ("cd", "pushd"):
        return []
    words = [word for word in command.words[1:] if not (word.known and word.text.startswith(("-", "+")))]
    return [outline for word in words for outline in outlines_of(word, readings)] if words else [home or HOLE]


def _from(piece: str, bases: Iterable[str], *, operand: bool) -> Iterator[str]:
    """The places a relative outline stands for."""
    if piece.startswith("/"):
        yield piece
        return
    if piece.startswith(HOLE):
        yield piece
    if operand or not piece.startswith(HOLE):
        yield from (f"{base.rstrip('/')}/{piece}" for base in bases)


def _pieces(outline: str) -> Iterator[str]:
    """The parts of a word that may be paths."""
    for piece in dict.fromkeys((outline, *_SEPARATORS.split(outline), _ATTACHED.sub("", outline, count=1))):
        if piece and (piece.startswith("/") or not re.search(r"\s", piece)):
            yield piece


def _endings(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What is known behind each hole that nothing known is before."""
    for index, part in enumerate(parts):
        if HOLE not in part or not part.startswith(HOLE):
            return
        yield parts[index + 1 :]
        if part.strip(HOLE):
            yield (part.strip(HOLE), *parts[index + 1 :])
            return


def _is_process(parts: tuple[str, ...]) -> bool:
    """Whether an outline may become the entry of a process."""
    if not parts or not fnmatch.fnmatchcase("proc", parts[0].replace(HOLE, "*")):
        return False
    if HOLE in parts[0]:
        return parts[0].partition(HOLE)[0] != ""
    return len(parts) > 1 and HOLE in parts[1] and parts[1].replace(HOLE, "").strip("0123456789") == ""


def _may_become(parts: tuple[str, ...], place: tuple[str, ...], is_there: Callable[[], bool], *, above: bool) -> bool:
    """Whether an outline may be completed to a place or something in it. What says nothing of its own (a mere hole or wildcard) is
    taken for a place only when that is there, and only behind something that does."""
    said, vague = False, False
    for index, name in enumerate(place):
        if index == len(parts):
            return False
        part, last = parts[index], index == len(place) - 1
        begun, hole, _ = part.partition(HOLE)
        if hole and fnmatch.fnmatchcase(name, f"{begun}*"):
            telling = begun.strip(".*?") != ""
            if (telling and last and not vague) or ((telling or (above and last and said)) and is_there()):
                return True
        if not fnmatch.fnmatchcase(name, part.replace(HOLE, "*")) or (not hole and name.startswith(".") and not part.startswith(".")):
            return False
        if hole and last and begun.strip(".*?") == "" and not above:
            return False
        tells = part.replace(HOLE, "").strip(".*?") != ""
        said, vague = said or tells, vague or not tells
    return said and (not vague or is_there())
