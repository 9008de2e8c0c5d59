"""What a line itself brings under another name before it deletes or replaces something there.

`mv user.txt x && rm x` is judged while there is no `x`: what counts is the file that will be there. The order of the parts is not
looked at, since loops and background commands change it: whatever one part may bring somewhere may be there for every other.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path

from yagent.records import dataclass
from yagent.workspace.actions import Change
from yagent.workspace.guard import GuardError, Location
from yagent.workspace.path_judge import PathJudge
from yagent.workspace.programs.acting import moves
from yagent.workspace.programs.git import take_apart
from yagent.workspace.programs.given import given
from yagent.workspace.protected import fold
from yagent.workspace.shell_syntax.commands import Analysis, Command, Directories, every_command
from yagent.workspace.shell_syntax.words import Word

MAX_STEPS = 64
"""As many names are followed back before the answer is that something may be there."""

Settle = Callable[[Sequence[Word], Directories], tuple[Word, ...]]

_REARRANGING: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(("rename", "prename", "file-rename", "mmv", "exch"), ("", ())),
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "compress", "uncompress", "pigz"), ("", ())),
    **dict.fromkeys(("zstd", "unzstd", "lz4", "brotli"), ("j", ("--rm",))),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), ("", ("--remove-files",))),
    "zip": ("m", ("--move",)),
    **dict.fromkeys(("7z", "7za", "7zz"), ("", ("-sdel",))),
}
"""Programs that put the files they are given elsewhere in ways not followed here; for some only with one of these letters or options."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """`source` gets the name `target` by `command`. A copy leaves its source where it is, as a link does."""

    command: Command
    source: Path
    target: Path
    copied: bool = False
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Everything a line brings somewhere, but for what the command `without` brings. `unknown`: work of the user's may get to a name that
    is not known. `at` and `below` have the positions of the arrivals at a place, and of those somewhere below it, by its folded name."""

    paths: PathJudge
    known: tuple[Arrival, ...] = ()
    unknown: bool = False
    at: Mapping[tuple[str, ...], Sequence[int]] = field(default_factory=dict)
    below: Mapping[tuple[str, ...], Sequence[int]] = field(default_factory=dict)
    without: Command | None = None

    def beside(self, command: Command) -> Arrivals:
        """Return what the other commands of the line bring."""
        return replace(self, without=command) if self.known else self

    def earlier(self, location: Location, change: Change | None) -> list[Location]:
        """Return what is now at the places from which that may come which the line meets at `location`: reached by reading (None), or
        by a change. Raises GuardError when it is too much to follow."""
        waiting = [location.resolved, location.named] if self.known else []
        seen: set[Path] = set()
        result: list[Location] = []
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            if len(seen) > MAX_STEPS:
                raise GuardError(f"{location.requested}: the line moves files about too often to be followed; do it in several calls")
            for arrival in self._concerning(path):
                found = self._before(path, arrival, change)
                if found is not None:
                    waiting += [found.resolved, found.named]
                    if not (arrival.copied and _lies_in(found.resolved, arrival.source)):
                        result.append(found)
        return result

    def _concerning(self, path: Path) -> Iterator[Arrival]:
        """The arrivals at a path, above it or below it, in their order: all others cannot be met there."""
        own = _folded(path)
        positions = {position for end in range(len(own) + 1) for position in self.at.get(own[:end], ())}
        positions.update(self.below.get(own, ()))
        for position in sorted(positions):
            if self.known[position].command is not self.without:
                yield self.known[position]

    def _before(self, path: Path, arrival: Arrival, change: Change | None) -> Location | None:
        """What is now where that comes from which will be at a path or below it; None when the arrival does not concern it."""
        own, target = _folded(path), _folded(arrival.target)
        if arrival.linked and change == "delete" and len(own) <= len(target):
            return None  # the link goes, and what it leads to stays
        if own[: len(target)] == target:
            earlier = arrival.source.joinpath(*path.parts[len(arrival.target.parts) :])
        elif target[: len(own)] == own:
            earlier = arrival.source
        else:
            return None
        return self.paths.guard.locate(str(earlier), literal=True, follow_last=change not in ("delete", "rename"))


def arrivals_of(analysis: Analysis, paths: PathJudge, settle: Settle) -> Arrivals:
    """Return what the commands of a line bring where."""
    known: list[Arrival] = []
    unknown = False
    for command in every_command(analysis.commands):
        try:
            found = _of_command(command, paths, settle)
        except GuardError:
            found = None
        unknown = unknown or found is None
        known += found or ()
    at: dict[tuple[str, ...], list[int]] = {}
    below: dict[tuple[str, ...], list[int]] = {}
    for position, arrival in enumerate(known):
        target = _folded(arrival.target)
        at.setdefault(target, []).append(position)
        for end in range(len(target)):
            below.setdefault(target[:end], []).append(position)
    return Arrivals(paths, tuple(known), unknown, at, below)


def _of_command(command: Command, paths: PathJudge, settle: Settle) -> list[Arrival] | None:
    name = posixpath.basename(command.name or "")
    if name in ("mv", "cp", "ln", "install"):
        pairs = None if command.more_words else moves(name, settle(command.words[1:], command.directories))
    elif name == "git":
        call = take_apart(command.words[1:])
        if call.verb != "mv":
            return []
        words = settle([word for word in call.words if word.value != "-k"], command.directories)
        pairs = None if command.more_words or call.directories else moves("mv", words)
    else:
        return None if _rearranges(name, command, paths, settle) else []
    if pairs is None or (command.directories is None and pairs):
        return None
    directories = command.directories or frozenset()
    return [arrival for directory in directories for pair in pairs for arrival in _arrivals(command, pair, Path(directory), paths)]


def _rearranges(name: str, command: Command, paths: PathJudge, settle: Settle) -> bool:
    needed = _REARRANGING.get(name)
    words = settle(command.words[1:], command.directories) if needed is not None else ()
    if not words or needed is None:
        return False
    letters, longs = needed
    options = given(words)
    if (letters or longs) and not (options.letter(letters) or options.long(longs) or any(word.text in longs for word in words)):
        return False
    operands = [word for word in words if not word.text.startswith("-")]
    if command.directories is None or command.more_words or any(word.value is None for word in operands):
        return True
    return any(
        paths.is_precious(paths.guard.locate(word.text, directory=Path(directory), literal=True))
        for directory in command.directories
        for word in operands
        if word.text
    )


def _arrivals(command: Command, pair: tuple[Word, Word], directory: Path, paths: PathJudge) -> Iterator[Arrival]:
    name = posixpath.basename(command.name or "")
    source, target = (paths.guard.locate(word.text, directory=directory, literal=True) for word in pair)
    own = paths.guard.locate(pair[0].text, directory=directory, literal=True, follow_last=False)
    within = target.resolved / own.named.name
    for place in (within,) if target.is_directory else (target.resolved, within):
        if name in ("mv", "git") and (paths.is_precious(own) or paths.is_precious(source)):
            paths.moved(place)
        yield Arrival(command, own.named, place, copied=name in ("cp", "install"), linked=name == "ln")
        if name == "ln":
            yield Arrival(command, target.resolved.parent / pair[0].text, place, linked=True)


def _lies_in(path: Path, directory: Path) -> bool:
    return path == directory or path.is_relative_to(directory)


@lru_cache(maxsize=4096)  # each place is compared with every arrival of the line
def _folded(path: Path) -> tuple[str, ...]:
    return tuple(fold(part) for part in path.parts)
