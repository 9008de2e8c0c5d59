"""Where the path of a call leads, and how it is named in an answer."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from yagent.errors import YagentError
from yagent.tools.spec import CallContext, Scope
from yagent.workspace.actions import Decision, ReadPath
from yagent.workspace.guard import Location
from yagent.workspace.named_path import printable

WORKSPACE: Final = "."  # as a path of a call


class WorkspaceGoneError(YagentError):
    """The directory that a run works in was deleted or renamed while it ran."""


def locate(path: str, call: CallContext, *, follow_last: bool = True) -> Location:
    """Where a path leads, relative ones from the workspace. `follow_last=False` is for effects on a link itself.

    Raises `GuardError`, and `WorkspaceGoneError` rather than letting a write bring back a directory that is elsewhere now.
    """
    if not call.scope.workspace.is_dir():
        raise WorkspaceGoneError(
            f"The working directory {printable(str(call.scope.workspace))} is gone: it was deleted or renamed. "
            "Nothing was read or changed. Hand over what you have, and say so."
        )
    return call.scope.permissions.guard.locate(path, follow_last=follow_last)


def label(path: Path, scope: Scope) -> str:
    """A path as answers and records name it: relative to the workspace when it is inside, else absolute."""
    try:
        return str(path.relative_to(scope.workspace))
    except ValueError:  # the workspace may have another name
        root = scope.permissions.guard.resolve(scope.workspace)
        return str(path.relative_to(root) if path.is_relative_to(root) else path)


def may_look(call: CallContext, *paths: str) -> bool:
    """Whether the agent may read these paths without asking, so that an answer may say what is there."""
    looks = [ReadPath(path) for path in paths]
    return call.scope.permissions.judge("read_file", looks).decision is Decision.ALLOW


def counted(number: int, one: str, many: str) -> str:
    """A count in words: "1 line", "3 lines"."""
    return f"{number} {one if number == 1 else many}"


def remarks(notes: Iterable[str]) -> list[str]:
    """Remarks of ours, set off from foreign text by brackets."""
    return [f"[{note}]" for note in notes]
