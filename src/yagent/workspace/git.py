"""What git knows of a directory, asked in a way that runs no program the repository names.

Hooks, file system monitors, external diffs, text conversions, filters, pagers and aliases of the repository are switched off; no index is
rewritten. The user's and the system's own configuration is trusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from yagent.records import dataclass
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import together
from yagent.workspace.own_records import OwnRecords
from yagent.workspace.processes import Captured, ProcessError, Program, capture

TIME_LIMIT = 10.0
PATIENCE = 1.0  # seconds for a git that did not answer in time when it was asked last
SHOWN_PATHS = 10  # of the paths that differ from the last commit
OUTPUT_LIMIT = 8_000_000

_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "status.submoduleSummary=false",
    "protocol.allow=never",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
)


@dataclass(frozen=True, slots=True)
class GitFacts:
    """The state of the repository around a directory. Counts are of paths, None when unknown.

    `root` is the top of the working tree, None outside a repository and in a bare one. `branch` is None when HEAD is detached, `head`
    when there is no commit yet. `note` says in words what is unusual or could not be found out. `paths`
    are the first of those that differ from the last commit.
    """

    is_repository: bool
    root: Path | None = None
    branch: str | None = None
    head: str | None = None
    bare: bool = False
    staged: int | None = None
    modified: int | None = None
    untracked: int | None = None
    conflicted: int | None = None
    note: str | None = None
    paths: tuple[str, ...] = ()

    @property
    def dirty(self) -> bool | None:
        """Whether anything differs from the last commit; None when unknown."""
        counts = (self.staged, self.modified, self.untracked, self.conflicted)
        return None if None in counts else any(counts)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a directory stands: the facts that need no look at files, and the settings that switch off the repository's own filters."""

    facts: GitFacts
    filters_off: tuple[str, ...] = ()


class Git:
    """Asks git. `environment` is the user's own; everything in it that redirects git is left out.

    What git does not track and `records` hold is written by us, and is told as nobody's change.
    """

    def __init__(self, clock: Clock, environment: Mapping[str, str], records: OwnRecords | None = None) -> None:
        self._clock = clock
        self._records = records
        self._was_silent = False
        self._environment = {name: value for name, value in environment.items() if not name.startswith("GIT_")} | {
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PAGER": "cat",
            "GIT_NO_LAZY_FETCH": "1",
            "LC_ALL": "C",
            "PATH": absolute_only(environment.get("PATH", os.defpath)),
        }

    async def place(self, directory: Path) -> Place:
        """Where a directory stands, for one look at it: what a repository configures may be different at the next."""
        work: list[tuple[str, Coroutine[Any, Any, Any]]] = [
            ("git place", self._locate(directory)),
            ("git filters", self._filters_off(directory)),
        ]
        facts, filters_off = await together(work)
        return Place(facts.result(), tuple(filters_off.result()))

    async def facts(self, directory: Path, place: Place | None = None) -> GitFacts:
        """The facts about the repository around a directory; never an error."""
        place = place or await self.place(directory)
        located = place.facts
        if located.root is None:
            return located
        status = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty")
        answer = await self.ask(located.root, *status, filters_off=place.filters_off)
        if answer is None or answer.timed_out or answer.code not in (0, None):
            why = reason(answer, "git status")
            return GitFacts(is_repository=True, root=located.root, note=f"the state of the repository is unknown: {why}")
        facts = _parsed_status(answer.output, located.root, self.is_record)
        if answer.truncated:
            return GitFacts(
                is_repository=True, root=located.root, branch=facts.branch, head=facts.head, note="there are too many changes to count"
            )
        return facts

    async def _locate(self, directory: Path) -> GitFacts:
        """Where the repository is; `root` None when there is none, or no working tree."""
        answer = await self.ask(directory, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-toplevel")
        if answer is None:
            return GitFacts(is_repository=False, note="git cannot be run here")
        lines = os.fsdecode(answer.output).split("\n")
        if answer.code == 0 and len(lines) > 2 and lines[1] == "true":
            return GitFacts(is_repository=True, root=Path("\n".join(lines[2:]).removesuffix("\n")))
        if lines[0] == "true":
            return GitFacts(is_repository=True, bare=True, note="this is a bare repository, without a working tree")
        if lines[:2] == ["false", "false"]:
            return GitFacts(is_repository=True, note="this directory is inside a repository's .git directory")
        if "not a git repository" in answer.errors:
            return GitFacts(is_repository=False)
        return GitFacts(is_repository=False, note=reason(answer, "git"))

    def is_record(self, root: Path, name: str) -> bool:
        """Whether an untracked path, named as git does below the root of a repository, is of our own records."""
        return self._records is not None and self._records.hold(root, name)

    async def head(self, root: Path) -> str | None:
        """The id of the current commit; None when there is none yet."""
        answer = await self.ask(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return answer.output.decode("ascii", "replace").strip() or None if answer is not None and answer.code == 0 else None

    async def ask(self, directory: Path, *arguments: str, filters_off: Sequence[str] = (), seconds: float = TIME_LIMIT) -> Captured | None:
        """One git call; None when git or the directory is missing. One that reads contents of files needs the place's `filters_off`."""
        flags = [part for setting in (*_SAFE, *filters_off) for part in ("-c", setting)]
        try:
            return await self._capture(directory, ("git", "--no-pager", "--literal-pathspecs", *flags, *arguments), seconds)
        except ProcessError:
            return None

    async def _filters_off(self, directory: Path) -> list[str]:
        """Settings that switch off the filters which the repository itself configures."""
        try:
            listed = await self._capture(directory, ("git", "config", "--list", "--show-scope", "-z", "--includes"))
        except ProcessError:
            return []
        fields = os.fsdecode(listed.output).split("\0")
        keys = {
            setting.partition("\n")[0] for scope, setting in zip(fields[::2], fields[1::2], strict=False) if scope in ("local", "worktree")
        }
        off = []
        for key in sorted(keys):
            section, _, name = key.rpartition(".")
            if section.startswith("filter.") and name in ("clean", "smudge", "process", "required"):
                off.append(f"{key}={'false' if name == 'required' else ''}")
        return off

    async def _capture(self, directory: Path, arguments: tuple[str, ...], seconds: float = TIME_LIMIT) -> Captured:
        limit = min(seconds, PATIENCE) if self._was_silent else seconds
        captured = await capture(Program(arguments, directory, self._environment), clock=self._clock, timeout=limit, limit=OUTPUT_LIMIT)
        self._was_silent = captured.timed_out
        return captured


def reason(answer: Captured | None, what: str) -> str:
    """Why a call gave no answer, in words."""
    if answer is None:
        return f"{what} could not be run"
    if answer.timed_out:
        return f"{what} did not answer in time"
    if answer.truncated:
        return f"{what} had too much to say"
    return f"{what} said: {answer.errors.strip()[:500] or 'nothing'}"


def absolute_only(path: str) -> str:
    """A search path without entries that mean a directory of the repository when git is looked for there."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry)) or os.defpath


def _parsed_status(output: bytes, root: Path, is_record: Callable[[Path, str], bool]) -> GitFacts:
    head: str | None = None
    branch: str | None = None
    counts = dict.fromkeys(("staged", "modified", "untracked", "conflicted"), 0)
    paths: list[bytes] = []
    entries = iter(output.split(b"\0"))
    for entry in entries:
        kind = entry[:2]
        if entry.startswith(b"# branch.oid "):
            head = None if entry.endswith(b"(initial)") else entry[13:].decode("ascii", "replace")
        elif entry.startswith(b"# branch.head "):
            branch = None if entry.endswith(b"(detached)") else os.fsdecode(entry[14:])
        elif kind in (b"1 ", b"2 "):
            paths.append(entry.split(b" ", 8 if kind == b"1 " else 9)[-1])
            counts["staged"] += entry[2:3] != b"."
            counts["modified"] += entry[3:4] != b"."
            if kind == b"2 ":
                next(entries, None)  # the path it was renamed from
        elif kind == b"? " and not is_record(root, os.fsdecode(entry[2:])):
            paths.append(entry[2:])
            counts["untracked"] += 1
        elif kind == b"u ":
            paths.append(entry.split(b" ", 10)[-1])
            counts["conflicted"] += 1
    return GitFacts(
        is_repository=True,
        root=root,
        branch=branch,
        head=head,
        staged=counts["staged"],
        modified=counts["modified"],
        untracked=counts["untracked"],
        conflicted=counts["conflicted"],
        note=None if head else "there is no commit yet",
        paths=tuple(os.fsdecode(path) for path in paths[:SHOWN_PATHS]),
    )
