"""Facts about the workspace for the first message: read once for each task, off the event loop where it takes time."""

import os
import platform
import stat
from collections.abc import Sequence
from pathlib import Path

from yagent.agents.director.context import DOCUMENT_LIMIT, DOCUMENTS, Document, Environment, fit_documents
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread


async def documents(workspace: Path) -> tuple[Document, ...]:
    """The project's own documents at the root of the workspace, in their order of precedence and within their size limit."""
    return fit_documents(await in_thread(_read_documents, workspace))


def environment(workspace: Path, clock: Clock, git: Sequence[str], *, can_ask: bool) -> Environment:
    """What is true at the start of this task. The date has no time, so that a retry on the same day says the same."""
    return Environment(
        workspace=str(workspace),
        system=f"{platform.system()} {platform.machine()}",
        date=f"{clock.wall():%Y-%m-%d}",
        git=tuple(git),
        nobody_to_ask=not can_ask,
    )


def _read_documents(workspace: Path) -> list[Document]:
    found = []
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
