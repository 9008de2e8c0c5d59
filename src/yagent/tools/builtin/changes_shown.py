"""What a person sees of a change before allowing it: the change itself, as the disk would show it afterwards.

Nothing of this reaches the model: it is not told what is in files that it may not read.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from yagent.errors import YagentError
from yagent.tools.spec import CallContext
from yagent.workspace.actions import Decision, ReadPath
from yagent.workspace.named_path import printable

SHOWN_LINES: Final = 600


async def seen_or_asked(plan: Callable[[], Awaitable[str]], asked: Callable[[], str], call: CallContext, path: str) -> str:
    """The planned change of the file at `path`; what was asked for where that file is closed to every tool, or the plan fails."""
    if call.scope.permissions.judge("read_file", [ReadPath(path)]).decision is not Decision.DENY:
        try:
            return await plan()
        except YagentError:
            pass
    return f"{printable(path)}\n{asked()}"


def with_sign(sign: str, text: str) -> str:
    """Each line of a text behind a sign; what is left out of a huge one is counted."""
    lines = text.split("\n")
    left = len(lines) - SHOWN_LINES
    more = [f"… {left} more {'line' if left == 1 else 'lines'}"] if left > 0 else []
    return "\n".join([*(f"{sign}{line}" for line in lines[:SHOWN_LINES]), *more])
