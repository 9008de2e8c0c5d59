"""Where a path really leads, and whether that is inside the workspace.

Paths are resolved the way the kernel does it, one component at a time, so that links, `..` behind links, missing parents and dangling
links all end at the place an effect would reach. "Inside" compares files by identity as well as by name, which holds on file systems
that fold case or normalise names.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from yagent.errors import YagentError
from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.file_system import FileSystem, LocalFileSystem, SeenOnce

MAX_LINKS = 40
"""As many links as Linux follows in one resolution."""

MAX_HASHED_BYTES = 8 * 1024 * 1024
"""Bigger files are fingerprinted by size, times and inode instead of content."""

_VARIABLE = pattern(r"\$(?:([A-Z_][A-Z0-9_]*)(?![a-z])|\{(\w+)\})")
"""Variables as the environment has them; `$id.tsx` is how some web frameworks name their files."""

NO_PLACE = "path"
"""The code of the reason when a path leads nowhere that could be judged: the call is a mistake, and no rule refused it."""


class GuardError(YagentError):
    """A path that cannot be judged: empty, with a NUL byte or half a character, of another user's home, circular, or changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a path leads.

    `requested` is the text as it came; `named` the absolute path before links are followed; `resolved` the place an effect would reach;
    `passed` every link on the way, so that a rule can match what was asked as well as what it leads to.
    """

    requested: str
    named: Path
    resolved: Path
    inside: bool
    exists: bool
    is_directory: bool = False
    passed: tuple[Path, ...] = ()
    follow_last: bool = True

    @property
    def names(self) -> tuple[Path, ...]:
        """Every path this location can be called: as asked, each link passed, as resolved."""
        return tuple(dict.fromkeys((self.named, *self.passed, self.resolved)))


@dataclass(frozen=True, slots=True)
class _Resolved:
    path: str
    passed: tuple[str, ...]


class Guard:
    """Judges paths against a workspace. Further `roots` and `temporary`, the task's private folder, count as inside."""

    def __init__(
        self,
        root: Path,
        *,
        home: Path | None = None,
        roots: Iterable[Path] = (),
        file_system: FileSystem | None = None,
        temporary: Path | None = None,
    ) -> None:
        self.file_system: FileSystem = file_system or LocalFileSystem()
        self.temporary = temporary
        self.root = root
        self.home = home
        self.roots = (root, *roots, *(() if temporary is None else (temporary,)))

    def locate(self, path: str, *, directory: Path | None = None, literal: bool = False, follow_last: bool = True) -> Location:
        """Resolve `path`, relative to `directory` (default: the workspace).

        A leading `~` is the home directory unless `literal` (words of a shell line are expanded before they get here).
        `follow_last=False` is for effects on a link itself: deleting and renaming.
        Raises GuardError with what to do instead.
        """
        named = self._absolute(path, directory, literal=literal)
        resolved = self._resolve(named, follow_last=follow_last, asked=path)
        entry = self.file_system.look(resolved.path)
        return Location(
            requested=path,
            named=Path(os.path.normpath(named)),
            resolved=Path(resolved.path),
            inside=self.is_inside(resolved.path),
            exists=entry is not None,
            is_directory=entry is not None and entry.kind == "directory",
            passed=tuple(Path(link) for link in resolved.passed),
            follow_last=follow_last,
        )

    def remembering(self) -> Guard:
        """Return a guard that looks at each place once: for one verdict, whose words name the same places over and over."""
        return _RememberingGuard(self)

    def verify(self, location: Location) -> None:
        """Raise GuardError when the location leads elsewhere than when it was judged. Called right before the effect."""
        again = self._resolve(str(location.named), follow_last=location.follow_last, asked=location.requested)
        if Path(again.path) != location.resolved or self.is_inside(again.path) != location.inside:
            raise GuardError(
                f"{location.requested}: led to {location.resolved} when it was judged and leads to {again.path} now, "
                "so nothing was done; look at it and try again"
            )

    def is_inside(self, resolved: str) -> bool:
        """Say whether a resolved path is a root or lies below one."""
        for root in self.roots:
            name = self._resolved(root)
            if resolved == name or resolved.startswith(name.rstrip("/") + "/"):
                return True
            entry = self.file_system.look(name)
            if entry is not None and any(self._is_same(parent, entry.identity) for parent in (resolved, *_parents(resolved))):
                return True
        return False

    def same_file(self, first: str, second: str) -> bool:
        """Say whether two paths name one existing file or directory (hard links included)."""
        one = self.file_system.look(first)
        two = self.file_system.look(second)
        return one is not None and two is not None and one.identity == two.identity

    def resolve(self, path: Path) -> Path:
        """Resolve a path of ours (a setting); one that loops stays as it is."""
        return Path(self._resolved(path))

    def _resolved(self, path: Path) -> str:
        try:
            return self._resolve(str(path), follow_last=True, asked=str(path)).path
        except GuardError:
            return str(path)

    def _is_same(self, path: str, identity: tuple[int, int]) -> bool:
        entry = self.file_system.look(path)
        return entry is not None and entry.identity == identity

    def _absolute(self, path: str, directory: Path | None, *, literal: bool) -> str:
        if not path:
            raise GuardError("the path is empty; name a file or directory")
        if "\0" in path:
            raise GuardError(f"{path!r}: a path cannot contain a NUL byte; name the file without it")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise GuardError(f"{path!r}: holds half a character (a lone surrogate), which no file name can; write it whole") from None
        if not literal and path.startswith("~"):
            path = self._expand_home(path)
        if not literal and "$" in path:
            self._require_no_variable(path, directory)
        return path if path.startswith("/") else f"{directory or self.root}/{path}"

    def _require_no_variable(self, path: str, directory: Path | None) -> None:
        """Raise GuardError for what a shell would replace, unless it is there under just that name, or begins with `./`."""
        parts = [] if path.startswith("./") else path.split("/")
        for index, part in enumerate(parts):
            variable = _VARIABLE.match(part)
            here = "/".join(parts[: index + 1])
            if variable is None or self.file_system.look(here if path.startswith("/") else f"{directory or self.root}/{here}") is not None:
                continue
            known = {"TMPDIR": self.temporary, "HOME": self.home}.get(variable[1] or variable[2])
            rest = "/".join([part[variable.end() :], *parts[index + 1 :]])
            meant = "the path it stands for" if known is None or index else f"{known}{rest}"
            literally = "" if path.startswith("/") else f", or ./{path} for a file of that name"
            raise GuardError(
                f"{path}: variables such as {variable[0]} are not replaced in the paths of file tools; write {meant}{literally}"
            )

    def _expand_home(self, path: str) -> str:
        user, slash, rest = path.partition("/")
        if user != "~":
            raise GuardError(f"{path}: another user's home is not looked up; write the absolute path, or ./{path} for a file of that name")
        if self.home is None:
            raise GuardError(f"{path}: no home directory is known here; write the absolute path")
        return f"{self.home}{slash}{rest}"

    def _resolve(self, absolute: str, *, follow_last: bool, asked: str) -> _Resolved:
        pending = [part for part in reversed(absolute.split("/")) if part not in ("", ".")]
        current = ""
        passed: list[str] = []
        while pending:
            part = pending.pop()
            if part == "..":
                current = current.rpartition("/")[0]
                continue
            step = f"{current}/{part}"
            entry = self.file_system.look(step)
            if entry is None or entry.kind != "link" or (not pending and not follow_last):
                current = step
                continue
            passed.append(step)
            if len(passed) > MAX_LINKS:
                raise GuardError(f"{asked}: the symbolic links at {passed[-1]} lead in a circle; name the file itself")
            if entry.target.startswith("/"):
                current = ""
            pending.extend(piece for piece in reversed(entry.target.split("/")) if piece not in ("", "."))
        return _Resolved(current or "/", tuple(passed))


class _RememberingGuard(Guard):
    def __init__(self, guard: Guard) -> None:
        files, extra = SeenOnce(guard.file_system), guard.roots[1:]
        super().__init__(guard.root, home=guard.home, roots=extra, file_system=files)
        self.temporary = guard.temporary
        self._locations: dict[tuple[str, str, bool, bool], Location] = {}
        self._own: dict[str, str] = {}

    def locate(self, path: str, *, directory: Path | None = None, literal: bool = False, follow_last: bool = True) -> Location:
        key = (path, str(directory or self.root), literal, follow_last)
        if key not in self._locations:
            self._locations[key] = super().locate(path, directory=directory, literal=literal, follow_last=follow_last)
        return self._locations[key]

    def _resolved(self, path: Path) -> str:
        key = str(path)
        if key not in self._own:
            self._own[key] = super()._resolved(path)
        return self._own[key]


def _parents(path: str) -> Iterable[str]:
    while path not in ("", "/"):
        path = path.rpartition("/")[0]
        yield path or "/"


def too_wide_for_yolo(workspace: Path, home: Path | None) -> str | None:
    """Return why `-y` and `-Y` cannot be used in this workspace (`/`, or the home directory or above it), None when it can."""
    root = Path(os.path.realpath(workspace))
    if root == Path("/"):
        return "-y and -Y are refused in /: everything would be inside the workspace; start in the project's directory"
    if home is not None and Path(os.path.realpath(home)).is_relative_to(root):
        return f"-y and -Y are refused in {root}: the home directory would be inside the workspace; start in the project's directory"
    return None


def fingerprint(paths: Sequence[Path]) -> Mapping[Path, str]:
    """Return what each path holds, for a comparison later: a hash of the content, "absent", or the state of what has no content."""
    return {path: _fingerprint(path) for path in paths}


def _open_without_following(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _fingerprint(path: Path) -> str:
    try:
        with open(path, "rb", opener=_open_without_following) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_HASHED_BYTES:
                return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return "absent"
    except OSError:
        pass
    try:
        status = os.lstat(path)
    except OSError:
        return "absent"
    return f"{status.st_mode}:{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
