"""Whether a path may be read or changed, in each mode."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from yagent.patterns import pattern
from yagent.records import dataclass
from yagent.workspace.actions import Change, Decision, Mode, Reason
from yagent.workspace.guard import Guard, Location
from yagent.workspace.protected import ProtectedSet, Protection
from yagent.workspace.rule_book import ALLOWED, Finding, RuleBook, asks, denies
from yagent.workspace.rules import RuleKind

FREE_DEVICES = frozenset({"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
WRITABLE_DEVICES = frozenset({"/dev/null", "/dev/full", "/dev/stdout", "/dev/stderr"})

SHARED_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))

SYSTEM_ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/System/Library", "/Library/Developer")
"""Installed software: the same on every machine, so reading it tells nothing about the user."""

LIBRARIES_BELOW_HOME = (".cargo/registry", ".rustup/toolchains", "go/pkg/mod", ".m2/repository", ".nvm/versions", ".pyenv/versions")

WHOLE_WORKSPACE = "edit(**)"
"""The rule behind "edits inside the workspace"; it never covers protected or self-executing files."""

UNLISTED = "is not on the allow list of this run"
"""What is said of an edit or a command that only the list of the run keeps from running."""

_PLAIN = pattern(r"[\w.][\w./+@-]*")
"""A relative path that is its own glob."""


@dataclass(frozen=True, slots=True)
class PathJudge:
    """`recoverable(path)` says that losing it loses nothing: the task made it, or version control has it as it is. `moved(path)` hears
    where something that is not recoverable may get to."""

    guard: Guard
    protected: ProtectedSet
    book: RuleBook
    recoverable: Callable[[Path], bool]
    moved: Callable[[Path], None] = lambda path: None
    home: Path | None = None
    task_temporary: Path | None = None
    system_temporary: Path | None = None
    ceiling: frozenset[RuleKind] = frozenset()
    free_roots: tuple[Path, ...] = field(default_factory=lambda: library_roots(None))

    def read(self, location: Location, mode: Mode, *, recursive: bool = False, filtered: bool = False, names_only: bool = False) -> Finding:
        """Judge reading. `filtered`: what is below and may not be read is left out by the reader, by `may_read`."""
        if str(location.named) in FREE_DEVICES:
            return ALLOWED
        refused = self._refused_to_read(location, below=recursive and not filtered, names_only=names_only)
        if refused is not None:
            return refused
        ruled = self.book.path("read", location)
        if ruled is not None:
            return ruled
        if location.inside or mode is not Mode.ASK or self._is_free(location):
            return ALLOWED
        directory = location.resolved if location.is_directory else location.resolved.parent
        return asks("outside_read", f"reading {outside(location)}", f"read({escape_glob(directory)}/**)" if directory != Path("/") else "")

    def may_read(self, location: Location) -> bool:
        """Say whether a search or listing may show this file without asking."""
        if self._refused_to_read(location, below=False) is not None:
            return False
        ruled = self.book.path("read", location)
        return ruled is None or ruled.decision is Decision.ALLOW

    def edit(self, location: Location, change: Change, mode: Mode, *, verb: str = "") -> Finding:
        """Judge a change. `verb` are the words for it, where there are better ones than for any such change."""
        if change == "replace" and not location.exists:
            change = "create"
        if str(location.named) in WRITABLE_DEVICES:
            return ALLOWED
        ruled = self.book.path("edit", location)
        if ruled is not None and ruled.decision is Decision.DENY:
            return ruled
        protection = self.protected.of(location)
        if protection is not None and protection.strength in ("secret", "guarded"):
            return asks("protected_write", f"{location.requested} is {protection.what}; changing it asks in every mode")
        lost = self.protected.lost_with(location) if change in ("delete", "rename") else None
        if lost is not None:
            return asks("protected_write", f"{_VERBS[change]} {location.requested} takes {lost.what} with it; that asks in every mode")
        if ruled is not None and (ruled.decision is Decision.ASK or self._covers(ruled.rule, protection, change)):
            return ruled
        if mode is Mode.FULL_YOLO:
            return ALLOWED
        if protection is not None and not (protection.strength == "published" and mode is Mode.YOLO):
            return asks("runs_later", f"{location.requested} is {protection.what}", self._rule_for(location))
        if not location.inside:
            return self._outside(location, change, mode, verb or _VERBS[change])
        return self._inside(location, change, mode)

    def _refused_to_read(self, location: Location, *, below: bool, names_only: bool = False) -> Finding | None:
        protection = self.protected.secret_below(location) if below else self.protected.of(location)
        if protection is not None and protection.strength == "secret":
            return denies("protected_read", f"{location.requested} holds {protection.what}; no tool reads it, in any mode")
        if below and not names_only:
            rule = self.book.denied_below(location)
            if rule is not None:
                return denies(
                    "rule",
                    f"reading everything below {location.requested} could reach what your rule {rule.text} closes; "
                    "name the files, or use the search tool, which leaves those out",
                )
        return None

    def _covers(self, rule: str, protection: Protection | None, change: Change) -> bool:
        """Say whether an allow rule reaches this far: one with a wildcard covers neither self-executing files nor deletions."""
        return not re.search(r"[*?]", rule) or (protection is None and change != "delete")

    def _outside(self, location: Location, change: Change, mode: Mode, verb: str) -> Finding:
        temporary = self.system_temporary
        new = not location.exists and change in ("create", "edit", "replace")
        if mode is Mode.YOLO and new and temporary is not None and _is_below(location.resolved, self.guard.resolve(temporary)):
            return ALLOWED
        return asks("outside_write", f"{verb} {outside(location)}", self._rule_for(location), instead=self.scratch(location.resolved))

    def scratch(self, path: Path | None = None) -> str:
        """Where scratch files go, said of a resolved path where others would put them; "" of any other path."""
        own = self.task_temporary
        shared = [self.guard.resolve(each) for each in (self.system_temporary, *SHARED_TEMPORARY) if each is not None]
        if own is None or (path is not None and not any(_is_below(path, each) for each in shared)):
            return ""
        return f'Scratch files go to "$TMPDIR/name" (in file tools: {own}/name).'

    def _inside(self, location: Location, change: Change, mode: Mode) -> Finding:
        if any(location.resolved == self.guard.resolve(root) for root in self.guard.roots) and change in ("delete", "rename"):
            return asks("whole_workspace", f"{location.requested} is the whole workspace")
        if mode is Mode.ASK or "edit" in self.ceiling:
            unlisted = "" if mode is Mode.ASK else f" {UNLISTED}"
            return asks("edit", f"{_VERBS[change]} {location.requested}{unlisted}", self._rule_for(location))
        if change in LOSING and self.is_precious(location):
            return self.loss(location, change)
        reason = self.protected.of(location)
        return Finding(Decision.ALLOW, Reason("runs_later", f"{location.requested} is {reason.what}")) if reason else ALLOWED

    def is_precious(self, location: Location) -> bool:
        """Say whether something is there whose loss would lose work that the task did not make."""
        return location.exists and not self._is_own_temporary(location) and not self.recoverable(location.resolved)

    def loss(self, location: Location, change: Change) -> Finding:
        """Ask because of a loss."""
        instead = "; edit it in place, or write to another file" if change == "replace" else ""
        text = f"{_VERBS[change]} {location.requested} would lose work that this task did not make and git does not have{instead}"
        return asks("loses_work", text, self._rule_for(location), lasting=False)

    def _is_own_temporary(self, location: Location) -> bool:
        return self.task_temporary is not None and _is_below(location.resolved, self.guard.resolve(self.task_temporary))

    def _is_free(self, location: Location) -> bool:
        return any(_is_below(location.resolved, root) for root in self.free_roots)

    def _rule_for(self, location: Location) -> str:
        """The rule for this file alone; relative globs start at the workspace, so a plain name inside it is enough."""
        workspace = self.guard.resolve(self.guard.root)
        if _is_below(location.resolved, workspace) and _PLAIN.fullmatch(name := str(location.resolved.relative_to(workspace))):
            return f"edit({name})"
        return f"edit({escape_glob(location.resolved)})"


_VERBS: dict[Change, str] = {
    "create": "creating",
    "edit": "changing",
    "replace": "replacing",
    "delete": "deleting",
    "rename": "renaming",
}
LOSING: frozenset[Change] = frozenset({"replace", "delete"})


def outside(location: Location) -> str:
    """What is said of a place outside the workspace; where it really is only when that is not how it was named."""
    really = "" if str(location.resolved) == location.requested else f" ({location.resolved})"
    return f"{location.requested} is outside the workspace{really}"


def escape_glob(path: Path) -> str:
    """Write a path as a glob that matches it alone."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def library_roots(home: Path | None) -> tuple[Path, ...]:
    """Where installed software and libraries are on this machine."""
    packages = (Path(entry) for entry in sys.path if entry.endswith(("/site-packages", "/dist-packages")))  # sysconfig costs 2 ms
    own = {Path(sys.prefix), Path(sys.base_prefix), Path(os.__file__).parent, *packages}
    below_home = () if home is None else tuple(home / name for name in LIBRARIES_BELOW_HOME)
    return (*(Path(root) for root in SYSTEM_ROOTS), *sorted(path for path in own if len(path.parts) > 2), *below_home)


def _is_below(path: Path, directory: Path) -> bool:
    return path == directory or path.is_relative_to(directory)
