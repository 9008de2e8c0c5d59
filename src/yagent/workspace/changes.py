"""Which files of a repository changed while something went on, whoever changed them, apart from what had been changed before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from yagent.records import dataclass
from yagent.runtime import supervise
from yagent.workspace.git import Git, Place, reason

CHANGED_LIMIT = 5000
RECORDED_LIMIT = 1000  # paths of a state that is kept on a record
HASHED_FILE_LIMIT = 10_000_000

ChangeKind = Literal["added", "modified", "deleted"]

_EMPTY_TREES = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", 64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}

_FIELDS_BEFORE_PATH = {b"1": 7, b"u": 9}
"""By kind of line in `git status --porcelain=v2`, without the kind itself. Source: git-status(1)."""


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """What differed from the last commit at some moment: a fingerprint for each such path, None where the file was gone.

    `new` are the paths that the commit does not have. `records` are files of our own that git does not track: they are told nowhere as
    changed, but what is there is not lost either. `root` is None outside a repository, `head` without a commit. `note` says why not
    everything could be looked at, None when it could.
    """

    root: Path | None
    head: str | None
    fingerprints: Mapping[str, str | None] = field(repr=False)
    new: frozenset[str] = field(repr=False)
    note: str | None = None
    records: frozenset[str] = field(default=frozenset(), repr=False)


def state_data(state: WorkspaceState) -> dict[str, Any] | None:
    """A state as JSON data for a record, None when it is too large or not complete enough to be worth keeping."""
    if state.root is None or state.note is not None or len(state.fingerprints) > RECORDED_LIMIT:
        return None
    return {"root": str(state.root), "head": state.head, "fingerprints": dict(state.fingerprints), "new": sorted(state.new)}


def recorded_state(data: Mapping[str, Any]) -> WorkspaceState | None:
    """The state of `state_data`; None when the data is none, or of a directory that is gone."""
    match data:
        case {"root": str(root), "head": str() | None as head, "fingerprints": dict(prints), "new": list(new)} if os.path.isdir(root):
            return WorkspaceState(Path(root), head, prints, frozenset(new))
    return None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A path relative to the repository's root (undecodable bytes as lone surrogates), and what happened to it."""

    path: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Files that changed since a state was taken, by path. `note` says why there may be more, None when these are all."""

    files: tuple[ChangedFile, ...]
    note: str | None = None


async def state(git: Git, directory: Path, place: Place | None = None) -> WorkspaceState:
    """What differs from the last commit now, to be given to `changed_files` later; never an error."""
    place = place or await git.place(directory)
    located = place.facts
    if located.root is None:
        why = located.note or "this is not a git repository"
        return WorkspaceState(None, None, {}, frozenset(), why)
    status = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    answer = await git.ask(located.root, *status, filters_off=place.filters_off)
    if answer is None or answer.code != 0:
        head = await git.head(located.root)
        return WorkspaceState(located.root, head, {}, frozenset(), f"changes are not known: {reason(answer, 'git status')}")
    head, every = _parsed_status(answer.output)
    records = frozenset(name for code, name in every if code == b"??" and git.is_record(located.root, name))
    entries = [(code, name) for code, name in every if name not in records]
    note = f"more than {CHANGED_LIMIT} files differ from the last commit" if len(entries) > CHANGED_LIMIT else None
    chosen = entries[:CHANGED_LIMIT]
    prints = await supervise.in_thread(_fingerprints, located.root, [name for _, name in chosen])
    new = frozenset(name for code, name in chosen if code[:1] in b"?A")
    return WorkspaceState(located.root, head, prints, new, note, records)


async def changed_files(git: Git, since: WorkspaceState) -> ChangedFiles:
    """What changed in the working tree since then, committed meanwhile or not. What differed then and is still the same does not count.

    Ignored files are not seen.
    """
    if since.root is None:
        return ChangedFiles((), since.note)
    now = await state(git, since.root)
    committed, note = await _committed(git, since, now)
    kinds: dict[str, ChangeKind] = dict(committed)
    for path, present in now.fingerprints.items():
        if path not in since.fingerprints:
            kinds[path] = "deleted" if present is None else "added" if _is_new(path, now, committed) else "modified"
    earlier = [path for path in since.fingerprints if path not in now.fingerprints]
    current = {**now.fingerprints, **await supervise.in_thread(_fingerprints, since.root, earlier)}
    for path, before in since.fingerprints.items():
        kinds.pop(path, None)
        if current[path] != before:
            kinds[path] = "added" if before is None else "deleted" if current[path] is None else "modified"
    return ChangedFiles(tuple(ChangedFile(path, kinds[path]) for path in sorted(kinds)), since.note or now.note or note)


def _parsed_status(output: bytes) -> tuple[str | None, list[tuple[bytes, str]]]:
    """The current commit, and what differs from it: a code of two letters and the path."""
    head: str | None = None
    entries: list[tuple[bytes, str]] = []
    for entry in output.split(b"\0"):
        kind, _, rest = entry.partition(b" ")
        if entry.startswith(b"# branch.oid ") and not entry.endswith(b"(initial)"):
            head = entry[13:].decode("ascii", "replace")
        elif kind == b"?":
            entries.append((b"??", os.fsdecode(rest)))
        elif kind in _FIELDS_BEFORE_PATH:
            entries.append((rest[:2], os.fsdecode(rest.split(b" ", _FIELDS_BEFORE_PATH[kind])[-1])))
    return head, entries


def _is_new(path: str, now: WorkspaceState, committed: Mapping[str, ChangeKind]) -> bool:
    return committed.get(path) == "added" if path in committed else path in now.new


async def _committed(git: Git, since: WorkspaceState, now: WorkspaceState) -> tuple[dict[str, ChangeKind], str | None]:
    """What differs between the commits of two states."""
    if since.head == now.head or now.head is None or since.root is None:
        return {}, None
    names = ("diff-tree", "-r", "-z", "--name-status", "--no-renames", "--no-ext-diff", "--no-textconv")
    answer = await git.ask(since.root, *names, since.head or _EMPTY_TREES[len(now.head)], now.head, "--")
    if answer is None or answer.code != 0:
        return {}, f"what was committed meanwhile is not known: {reason(answer, 'git diff-tree')}"
    fields = answer.output.split(b"\0")
    words: dict[bytes, ChangeKind] = {b"A": "added", b"D": "deleted"}
    named = [(status, os.fsdecode(path)) for status, path in zip(fields[::2], fields[1::2], strict=False)]
    return {path: words.get(status, "modified") for status, path in named}, None


def _fingerprints(root: Path, paths: Iterable[str]) -> dict[str, str | None]:
    return {path: _fingerprint(root / path) for path in paths}


def _fingerprint(path: Path) -> str | None:
    """Something that changes when a file's content, kind or executable bit does; None where there is none."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return f"link {os.readlink(path)}"
        if not stat.S_ISREG(status.st_mode):
            return f"kind {stat.S_IFMT(status.st_mode)}"
        if status.st_size > HASHED_FILE_LIMIT:
            return f"size {status.st_size} {status.st_mtime_ns}"
        return f"file {bool(status.st_mode & 0o111)} {sha256(path.read_bytes()).hexdigest()}"
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"unreadable {error.errno}"
