"""Facts about the workspace for the first message: read once for each task, off the event loop where it takes time."""

import os
import platform
import stat
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from yagent.agents.director.context import DOCUMENT_LIMIT, DOCUMENTS, Document, Environment, fit_documents
from yagent.protocol.result import FileChange
from yagent.records import dataclass
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread, together
from yagent.workspace.changes import ChangedFile, WorkspaceState, changed_files, state
from yagent.workspace.git import Git, GitFacts, Place

COMMITS: Final = 3  # shown to the Director
_CHANGES: Final[Mapping[str, Literal["created", "modified", "deleted"]]] = {
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
    """The workspace as the Director's context and the task's account see it."""

    def __init__(self, workspace: Path, git: Git, clock: Clock, *, approvals: str) -> None:
        self._workspace = workspace
        self._git = git
        self._clock = clock
        self._approvals = approvals

    async def place(self) -> Place:
        """Where the workspace stands, for the look at it and the state of it."""
        return await self._git.place(self._workspace)

    async def look(self, place: Awaitable[Place]) -> Found:
        """What is true at this moment: the project's documents, the repository, the day."""
        work: list[tuple[str, Coroutine[Any, Any, Any]]] = [
            ("git facts", self._facts(place)),
            ("git log", self._recent_commits()),
            ("documents", in_thread(_read_documents, self._workspace)),
        ]
        facts, commits, documents = await together(work)
        git: GitFacts = facts.result()
        environment = Environment(
            workspace=str(self._workspace),
            system=f"{platform.system()} {platform.machine()}",
            date=f"{self._clock.wall():%Y-%m-%d}",
            git=_git_lines(git, commits.result()),
            approvals=self._approvals,
        )
        return Found(environment, fit_documents(documents.result()), git, commits.result())

    async def state(self, place: Awaitable[Place]) -> WorkspaceState:
        """What differs from the last commit now, to tell the task's changes from the user's own."""
        return await state(self._git, self._workspace, await place)

    async def tracked(self, state: WorkspaceState) -> frozenset[str]:
        """The paths git has, relative to the repository's root; empty where that is not known."""
        answer = None if state.root is None else await self._git.ask(state.root, "ls-files", "-z")
        if answer is None or answer.code != 0 or answer.truncated:
            return frozenset()
        return frozenset(os.fsdecode(name) for name in answer.output.split(b"\0") if name)

    async def changes(self, since: WorkspaceState) -> tuple[tuple[FileChange, ...], str | None]:
        """The files that changed since, relative to the workspace, and a note when there may be more."""
        changed = await changed_files(self._git, since)
        files = tuple(self._change(each, since) for each in changed.files)
        return files, changed.note

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


def _git_lines(git: GitFacts, commits: Sequence[str]) -> tuple[str, ...]:
    """The repository in a few lines for the first message."""
    if not git.is_repository:
        return ("Not a git repository.",)
    counts = [(git.staged, "staged"), (git.modified, "modified"), (git.untracked, "untracked"), (git.conflicted, "in conflict")]
    dirty = ", ".join(f"{count} {what}" for count, what in counts if count)
    state = dirty or ("clean" if git.dirty is False else "state unknown")
    lines = [f"Git branch: {git.branch or 'none (detached)'}; {state}"]
    if commits:
        lines += ["Last commits:", *(f"  {commit}" for commit in commits)]
    elif git.head is None:
        lines.append("There is no commit yet.")
    return tuple(lines)


def _read_documents(workspace: Path) -> list[Document]:
    found: list[Document] = []
    for name in DOCUMENTS:
        text = _read(workspace / name)
        if text is not None and not any(text == document.text for document in found):  # a link to the same document
            found.append(Document(name, text))
    return found


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
