"""Where the path of a call leads, and how it is named in an answer."""

from pathlib import Path

from yagent.tools.spec import CallContext, Scope
from yagent.workspace.guard import Location


def locate(path: str, call: CallContext, *, follow_last: bool = True) -> Location:
    """Where a path leads, relative ones from the workspace. `follow_last=False` is for effects on a link itself. Raises GuardError."""
    return call.scope.permissions.guard.locate(path, follow_last=follow_last)


def label(path: Path, scope: Scope) -> str:
    """A path as answers and records name it: relative to the workspace when it is inside, else absolute."""
    for root in (scope.workspace, scope.permissions.guard.resolve(scope.workspace)):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return str(path)
