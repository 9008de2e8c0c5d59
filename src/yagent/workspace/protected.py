"""The places that no rule, grant or mode opens silently.

Three strengths: `secret` (reading is refused, writing asks in every mode), `guarded` (writing asks in every mode) and `runs_later`
(written inside a workspace, started by some other program afterwards with the user's full rights). Names are compared with case and
unicode form folded, since one file system or another takes `.GIT/Hooks` for `.git/hooks`.
"""

from __future__ import annotations

import fnmatch
import unicodedata
from collections.abc import Iterable
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Literal

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.globbing import SET, expand
from yagent.workspace.guard import Guard, GuardError, Location
from yagent.workspace.protected_names import GUARDED_BELOW_HOME, PUBLISHED, RUNS_LATER, SECRET_BELOW_HOME, SECRET_OF_SYSTEM

Strength = Literal["secret", "guarded", "runs_later", "published"]

MAX_FOLLOWED = 20_000
"""Of how many names links are looked for below a directory."""

OWN_SECRETS = "yagent's own configuration and keys"
GIT_DIRECTORY = "the git directory, where hooks and configuration start programs"

_OTHER_PROCESS = pattern(r"/proc/(\d+|self|thread-self)(/|$)")
_SET = pattern(SET)
_IGNORED_BY_SOME = pattern("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


@dataclass(frozen=True, slots=True)
class Protection:
    """Why a place is protected: how strongly, and what it is, in words."""

    strength: Strength
    what: str


@dataclass(frozen=True, slots=True)
class ProtectedSettings:
    """Where the protected places are on this machine. Absent ones are not known and not protected.

    `data_home` is yagent's own directory; `secrets` are further files that hold keys (the file given by `-c`); `guarded` further places
    that ask on every write; `git_directories` where the repository's hooks and configuration really are (a worktree's and a submodule's are
    elsewhere, and may have any name).
    """

    home: Path | None = None
    data_home: Path | None = None
    secrets: tuple[Path, ...] = ()
    guarded: tuple[Path, ...] = ()
    git_directories: tuple[Path, ...] = ()


def fold(name: str) -> str:
    """Return a name as the most forgiving file system compares it: case folded, one unicode form, invisible marks gone."""
    if name.isascii():
        return name.lower()
    return _IGNORED_BY_SOME.sub("", unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold()))


class ProtectedSet:
    """Says which protection, if any, a location has."""

    def __init__(self, settings: ProtectedSettings, guard: Guard) -> None:
        self._settings = settings
        self._guard = guard
        self._known: dict[Location, Protection | None] | None = None

    def seen_by(self, guard: Guard) -> ProtectedSet:
        """Return this set for one verdict, whose guard remembers: it looks at each location once."""
        for name in ("_places", "secret_names", "secret_endings", "_single_secrets"):
            getattr(self, name)  # found out once for all verdicts
        found = copy(self)
        found._guard, found._known = guard, {}
        return found

    def of(self, location: Location) -> Protection | None:
        """Return the strongest protection any name of a location has."""
        known = {} if self._known is None else self._known
        if location not in known:
            known[location] = self._strongest(location)
        return known[location]

    def _strongest(self, location: Location) -> Protection | None:
        if any(_OTHER_PROCESS.match(str(name)) for name in location.names):
            return Protection("secret", "the memory and environment of a process")
        names = [_folded(name) for name in location.names]
        for strength, places in self._places:
            what = next((places[name[:end]] for name in names for end in range(1, len(name) + 1) if name[:end] in places), None)
            if what is not None:
                return Protection(strength, what)
        if any(self._guard.same_file(str(path), str(location.resolved)) for path in self._single_secrets):
            return Protection("secret", OWN_SECRETS)
        return self._by_name(location, names)

    def secrets_matching(self, glob: str) -> tuple[Path, ...]:
        """Return the secret places that an absolute pattern can match, or lead into; by a mere `*` only those that are there."""
        parts = plain_parts(glob)
        if len(parts) > 1 and _leads_to((parts[0],), ("proc",)) and _may_be_process(parts[1]):
            return (Path("/proc/self"),)
        return tuple(
            path
            for place, path in self.secret_names
            if _leads_to(parts, place) and (_says_something(parts[: len(place)]) or self.is_there(path))
        )

    def secret_below(self, location: Location) -> Protection | None:
        """Return the secret that a recursive read from here would reach, if any."""
        own = self.of(location)
        if own is not None and own.strength == "secret":
            return own
        if _folded(location.resolved) in ((), ("proc",)):
            return Protection("secret", "the memory and environment of processes")
        return self._below(location, _secret_places(self._settings), "secret")

    def secret_found(self, glob: str) -> Path | None:
        """Return the secret place that an absolute pattern leads to on this disk, through links, too."""
        for name in expand(glob, "/", self._guard.file_system) or ():
            try:
                location = self._guard.locate(name, literal=True)
            except GuardError:
                continue
            protection = self.of(location)
            if protection is not None and protection.strength == "secret":
                return location.resolved
        return None

    def secret_linked(self, location: Location) -> Protection | None:
        """Return the secret that a recursive read which follows links would reach from here, if any.

        Raises GuardError when there is more below than can be looked at.
        """
        waiting, seen = [str(location.resolved)], set[str]()
        while waiting:
            directory = waiting.pop()
            names = () if directory in seen else self._guard.file_system.names(directory)
            seen.add(directory)
            if len(seen) + len(waiting) + len(names) > MAX_FOLLOWED:
                what = f"{location.requested}: links below are followed, and there are too many directories to look where they lead"
                raise GuardError(f"{what}; read without following links (grep -r, not -R), or name smaller directories")
            for path in (f"{directory.rstrip('/')}/{name}" for name in names):
                entry = self._guard.file_system.look(path)
                if entry is not None and entry.kind == "directory":
                    waiting.append(path)
                elif entry is not None and entry.kind == "link":
                    target = self._guard.locate(path, literal=True)
                    found = self.secret_below(target) if target.is_directory else self.of(target)
                    if found is not None and found.strength == "secret":
                        return found
                    waiting += [str(target.resolved)] if target.is_directory else []
        return None

    def lost_with(self, location: Location) -> Protection | None:
        """Return what is protected and would go when a directory is deleted or moved."""
        if not location.is_directory:
            return None
        if self._guard.file_system.look(f"{location.resolved}/.git") is not None:
            return Protection("guarded", GIT_DIRECTORY)
        return self._below(location, (*_secret_places(self._settings), *_guarded_places(self._settings)), "guarded")

    def _below(self, location: Location, places: Iterable[tuple[Path, str]], strength: Strength) -> Protection | None:
        here = _folded(location.resolved)
        for place, what in places:
            for name in (place, self._guard.resolve(place)):
                if _folded(name)[: len(here)] == here and self._guard.file_system.look(str(name)) is not None:
                    return Protection(strength, f"{what} ({place})")
        return None

    @cached_property
    def _places(self) -> tuple[tuple[Strength, dict[tuple[str, ...], str]], ...]:
        secret = self._by_folded_name(_secret_places(self._settings))
        return ("secret", secret), ("guarded", self._by_folded_name(_guarded_places(self._settings)))

    def _by_folded_name(self, places: Iterable[tuple[Path, str]]) -> dict[tuple[str, ...], str]:
        return {_folded(name): what for place, what in places for name in (place, self._guard.resolve(place))}

    @cached_property
    def secret_names(self) -> tuple[tuple[tuple[str, ...], Path], ...]:
        """Every name of every secret place: its folded components, and the place."""
        names = {name for place, _ in _secret_places(self._settings) for name in (place, self._guard.resolve(place))}
        return tuple((_folded(name), name) for name in sorted(names))

    def is_there(self, path: Path) -> bool:
        """Say whether there is anything at an absolute path."""
        return self._guard.file_system.look(str(path)) is not None

    def resolved(self, path: str) -> Path:
        """Return where an absolute path leads to."""
        return self._guard.resolve(Path(path))

    @property
    def own_directory(self) -> Path | None:
        """Where yagent's own keys are somewhere below."""
        return self._settings.data_home

    @cached_property
    def secret_endings(self) -> tuple[tuple[tuple[str, ...], Path], ...]:
        """The same by what stays of a name when its beginning is not known: at least what is below a home, or the root."""
        home, own = self._settings.home, self._settings.data_home
        homes = [] if home is None else [_folded(home), _folded(self._guard.resolve(home))]
        homes += [] if own is None else [_folded(own.parent), _folded(self._guard.resolve(own.parent))]
        below = [
            (place[index:], path)
            for place, path in self.secret_names
            for index in range(max((len(start) for start in homes if place[: len(start)] == start), default=0) + 1)
        ]
        return tuple(dict.fromkeys(below))

    @cached_property
    def _single_secrets(self) -> tuple[Path, ...]:
        data_home = self._settings.data_home
        own = () if data_home is None else (data_home / "config" / "config.toml", data_home / "settings.json")
        return (*own, *self._settings.secrets)

    def _by_name(self, location: Location, folded: list[tuple[str, ...]]) -> Protection | None:
        if any(part == ".git" or part.startswith("git~") for name in folded for part in name):
            return Protection("guarded", GIT_DIRECTORY)
        if not location.inside:
            return None
        names = [self._below_root(name.parts, own) for name, own in zip(location.names, folded, strict=True)]
        if any(_contains(name, later) for name in names for later in RUNS_LATER):
            return Protection("runs_later", "a file that another program starts later with the user's rights")
        if any(_contains(name, later) for name in names for later in PUBLISHED):
            return Protection("published", "a file that a build service runs once it is pushed")
        return None

    def _below_root(self, name: tuple[str, ...], folded: tuple[str, ...]) -> tuple[str, ...]:
        root = self._guard.root.parts
        if name[: len(root)] != root:
            root = self._guard.resolve(self._guard.root).parts
        return folded[len(root) - 1 :] if name[: len(root)] == root else folded


def _secret_places(settings: ProtectedSettings) -> Iterable[tuple[Path, str]]:
    for name in SECRET_OF_SYSTEM:
        yield Path(name), "credentials of the system"
    if settings.home is not None:
        for name in SECRET_BELOW_HOME:
            yield settings.home / name, "credentials of the user"
    if settings.data_home is not None:
        yield settings.data_home / "config", OWN_SECRETS
        yield settings.data_home / "settings.json", "yagent's own grants"
    for path in settings.secrets:
        yield path, OWN_SECRETS


def _guarded_places(settings: ProtectedSettings) -> Iterable[tuple[Path, str]]:
    if settings.data_home is not None:
        yield settings.data_home, "yagent's own data (grants, records of runs)"
    if settings.home is not None:
        for name in GUARDED_BELOW_HOME:
            yield settings.home / name, "something that starts by itself with the user's rights"
    for path in settings.git_directories:
        yield path, GIT_DIRECTORY
    for path in settings.guarded:
        yield path, "a protected place"


def plain_parts(glob: str) -> tuple[str, ...]:
    """Return the folded components of a pattern or outline. A set in brackets is taken for any character, and `..` takes the component
    before it back, unless that is not known (it holds a NUL) and may be several."""
    parts: list[str] = []
    for part in glob.split("/"):
        if part == "..":
            parts = parts if parts and "\0" in parts[-1] else parts[:-1]
        elif part not in ("", "."):
            parts.append(fold(_SET.sub("?", part)))
    return tuple(parts)


def _may_be_process(part: str) -> bool:
    rest = part.replace("*", "").replace("?", "")
    return rest == "" or rest.isdigit() or any(fnmatch.fnmatchcase(name, part) for name in ("self", "thread-self"))


def _says_something(parts: tuple[str, ...]) -> bool:
    return all(part.strip("*?.") for part in parts)


def _leads_to(parts: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Whether a pattern can stand for a place or something in it; as in bash, a wildcard does not stand for the dot of a hidden name."""
    return len(parts) >= len(place) and all(
        fnmatch.fnmatchcase(name, part) and (not name.startswith(".") or part.startswith("."))
        for name, part in zip(place, parts, strict=False)
    )


def _contains(name: tuple[str, ...], part: str) -> bool:
    return f"/{part}/" in f"/{'/'.join(name)}/"


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(fold(part) for part in path.parts if part != "/")
