"""Facts about the workspace for the first message: read once for each task, off the event loop where it takes time."""

import os
import platform
import stat
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from yagent.agents.delegation.spawn import Differences
from yagent.agents.director.context import DOCUMENT_LIMIT, DOCUMENTS, Document, Environment, fit_documents
from yagent.protocol.result import FileChange
from yagent.records import dataclass
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread, together
from yagent.workspace.changes import ChangedFile, WorkspaceState, changed_files, state
from yagent.workspace.git import SHOWN_PATHS, Git, GitFacts, Place
from yagent.workspace.inventory import Inventory, take_inventory

OWN: Final = "the user's own work, keep it (also from git stash, which runs unasked)"
EARLIER: Final = "made earlier in this session or by the user, look before you change it"
COMMITS: Final = 3  # shown to the Director
NEW_COMMITS: Final = 5  # told of what an agent committed
Change: TypeAlias = Literal["created", "modified", "deleted"]
_CHANGES: Final[Mapping[str, Change]] = {
    "added": "created",
    "modified": "modified",
    "deleted": "deleted",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at the workspace gave."""

    environment: Environment
    documents: tuple[Document, ...]
    git: GitFacts
    commits: tuple[str, ...]


class Surroundings:
    """The workspace as the Director's context and the task's account see it. `may_read` says whether a path is read without asking."""

    def __init__(self, workspace: Path, git: Git, clock: Clock, *, approvals: str, may_read: Callable[[str], bool]) -> None:
        self._workspace = workspace
        self._git = git
        self._clock = clock
        self._approvals = approvals
        self._may_read = may_read

    async def place(self) -> Place:
        """Where the workspace stands, for the look at it and the state of it."""
        return await self._git.place(self._workspace)

    async def look(self, place: Awaitable[Place], since: WorkspaceState | None = None, *, is_later: bool = False) -> Found:
        """What is true at this moment: the project's documents, the repository, the day.

        With the state before the task, what the task changed is told apart from the user's own uncommitted work. In a later task of a
        session (`is_later`) that may as well come from the tasks before, and nobody can tell.
        """
        work: list[tuple[str, Coroutine[Any, Any, Any]]] = [
            ("git facts", self._facts(place)),
            ("git log", self._recent_commits()),
            ("documents", in_thread(_read_documents, self._workspace, self._may_read)),
        ]
        facts, commits, documents = await together(work)
        git: GitFacts = facts.result()
        found, refused = documents.result()
        known = since is not None and since.root is not None
        changed = (await self.changes(since))[0] if since is not None and known else ()
        own = tuple(since.fingerprints) if since is not None and known else git.paths
        environment = Environment(
            workspace=str(self._workspace),
            system=f"{platform.system()} {platform.machine()}",
            date=f"{self._clock.wall():%Y-%m-%d}",
            git=_git_lines(git, commits.result(), own, changed, EARLIER if is_later else OWN),
            approvals=self._approvals,
            remarks=tuple(f"{name} was not read: it leads to a place that is not read unasked." for name in refused),
        )
        return Found(environment, fit_documents(found), git, commits.result())

    async def state(self, place: Awaitable[Place]) -> WorkspaceState:
        """What differs from the last commit now, to tell the task's changes from the user's own."""
        return await state(self._git, self._workspace, await place)

    async def inventory(self, state: WorkspaceState) -> Inventory | None:
        """What is there as the state was taken, to tell whose work a deletion would lose; None when that cannot be known."""
        return await take_inventory(self._git, self._workspace, state)

    async def watch(self) -> Callable[[], Awaitable[Differences]]:
        """Begin to watch the files and HEAD; the result gives what differs since then, each file with what happened to it."""
        since = await state(self._git, self._workspace)
        before = await self._standing()

        async def changed() -> Differences:
            if since.root is None:
                return Differences()
            files, _ = await self.changes(since)
            return Differences(tuple(f"{each.path} ({each.change})" for each in files), await self._moved(before))

        return changed

    async def _standing(self) -> tuple[str, str]:
        """The commit that HEAD is at, and its branch; empty where there is none."""
        answer = await self._git.ask(self._workspace, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")
        if answer is None or answer.code != 0:
            return "", ""
        commit, _, branch = answer.output.decode("utf-8", "replace").strip().partition("\n")
        return commit, "no branch" if branch == "HEAD" else branch

    async def _moved(self, before: tuple[str, str]) -> str:
        """How HEAD moved since, with the commits that are new in it; "" where it did not, or where nobody can tell."""
        now = await self._standing()
        if now == before or not now[0]:
            return ""
        new = await self._log("-n", str(NEW_COMMITS), f"{before[0]}..{now[0]}" if before[0] else now[0])
        branch = now[1] if now[1] == before[1] else f"{before[1] or 'no commit'} → {now[1]}"
        if new:
            return "\n".join([f"{branch}, new commits:", *new, *(["…"] if len(new) == NEW_COMMITS else [])])
        return "\n".join([f"{branch}, now at:", *await self._log("-n", "1", now[0])])

    async def _log(self, *which: str) -> list[str]:
        """Commits, a line each: where a line begins a replay expects an id that differs."""
        answer = await self._git.ask(self._workspace, "log", "--abbrev=10", "--format=%h %s", *which, "--")
        return [] if answer is None or answer.code != 0 else answer.output.decode("utf-8", "replace").splitlines()

    async def changes(self, since: WorkspaceState) -> tuple[tuple[FileChange, ...], str | None]:
        """The files that changed since, relative to the workspace, and a note when there may be more."""
        changed = await changed_files(self._git, since)
        files = tuple(self._change(each, since) for each in changed.files)
        return files, changed.note

    def completed(
        self, found: tuple[FileChange, ...], changed: Iterable[str], made: Collection[str], since: WorkspaceState
    ) -> tuple[FileChange, ...]:
        """What git found, and where it does not tell all, what else is known to have changed in the workspace, as it is on the disk now;
        `made` of that was not there before."""
        known = {change.path for change in found}
        more = []
        for path in changed:
            there = os.path.lexists(self._workspace / path)
            if path not in known and not os.path.isabs(path) and (there or path not in made):
                place = os.path.relpath(self._workspace / path, since.root or self._workspace)
                change: Change = "deleted" if not there else "created" if path in made else "modified"
                more.append(FileChange(path, change, before_task=place in since.fingerprints))
        return tuple(sorted((*found, *more), key=lambda change: change.path))

    async def _facts(self, place: Awaitable[Place]) -> GitFacts:
        return await self._git.facts(self._workspace, await place)

    async def _recent_commits(self) -> tuple[str, ...]:
        answer = await self._git.ask(self._workspace, "log", "-n", str(COMMITS), "--format=%h %s", "--")
        if answer is None or answer.code != 0:
            return ()
        return tuple(answer.output.decode("utf-8", "replace").splitlines())

    def _change(self, changed: ChangedFile, since: WorkspaceState) -> FileChange:
        path = os.path.relpath((since.root or self._workspace) / changed.path, self._workspace)
        return FileChange(path, _CHANGES[changed.kind], before_task=changed.path in since.fingerprints)

    def names_file(self, path: str) -> bool:
        """Whether a path an agent wrote names something in the workspace."""
        try:
            return (self._workspace / path).exists()
        except (OSError, ValueError):
            return False


def _git_lines(git: GitFacts, commits: Sequence[str], own: Sequence[str], changed: Sequence[FileChange], whose: str) -> tuple[str, ...]:
    """The repository in a few lines for the first message: `own` is what the user had not committed, `changed` what the task did so far."""
    if not git.is_repository:
        return (f"Whether this is a git repository is not known: {git.note}." if git.note else "Not a git repository.",)
    counts = [(git.staged, "staged"), (git.modified, "modified"), (git.untracked, "untracked"), (git.conflicted, "in conflict")]
    dirty = ", ".join(f"{count} {what}" for count, what in counts if count)
    state = dirty or ("clean" if git.dirty is False else "state unknown")
    lines = [f"Git branch: {git.branch or 'none (detached)'}; {state}"]
    if own:
        total = sum(count or 0 for count, _ in counts) if own is git.paths else len(own)
        more = ", …" if total > len(own[:SHOWN_PATHS]) else ""
        lines.append(f"Not committed before the user's request, {whose}: {', '.join(own[:SHOWN_PATHS])}{more}")
    if changed:
        more = ", …" if len(changed) > SHOWN_PATHS else ""
        shown = ", ".join(f"{each.path} ({each.change})" for each in changed[:SHOWN_PATHS])
        lines.append(f"Changed since the user's request: {shown}{more}")
    if commits:
        lines += ["Last commits:", *(f"  {commit}" for commit in commits)]
    elif git.head is None:
        lines.append("There is no commit yet.")
    return tuple(lines)


def _read_documents(workspace: Path, may_read: Callable[[str], bool]) -> tuple[list[Document], list[str]]:
    """The documents, and the names of those that are there but may not be read: links that lead to the user's keys, for example."""
    found: list[Document] = []
    refused: list[str] = []
    for name in DOCUMENTS:
        if not (workspace / name).is_file():
            continue
        if not may_read(name):
            refused.append(name)
            continue
        text = _read(workspace / name)
        if text is not None and not any(text == document.text for document in found):  # a link to the same document
            found.append(Document(name, text))
    return found, refused


def _read(path: Path) -> str | None:
    """A regular file's text, None for everything that cannot be read as one: a project's files never stop a task."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, DOCUMENT_LIMIT + 1).decode("utf-8-sig", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
